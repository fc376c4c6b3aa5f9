"""Places: where in the user's program PyTensor's nodes were made, as their `tag.trace` tells."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import pytensor

import tg

if TYPE_CHECKING:
    from collections.abc import Iterator

STANDARD = str(Path(os.__file__).parent)
SITE = Path(pytensor.__file__).parents[1]
LIBRARIES = ("<frozen ", str(Path(__file__).parent), str(SITE / "pytensor"), str(SITE / "pymc"))


def origin(node: Any) -> tuple[str, int, str, str | None] | None:
    """The user's innermost frame in which a node of PyTensor's was made: file, line, function and text."""
    traces = getattr(node.outputs[0].tag, "trace", None) or []
    for frame in reversed([frame for trace in traces for frame in trace]):
        file, _, function, _ = frame
        if file is not None and not is_library(file) and function != "make_node":  # an op of the user's own
            return frame  # type: ignore[no-any-return]
    return None


def is_library(file: str) -> bool:
    """Whether a file is PyTensor's, PyMC's, Python's or of this package: no line in it is the user's."""
    return file.startswith(LIBRARIES) or (file.startswith(STANDARD) and "-packages" not in file)


@contextlib.contextmanager
def located(node: Any) -> Iterator[None]:
    """Give what is built in a `with` block the place where the user made a node of PyTensor's, and errors its name."""
    frame = origin(node)
    with contextlib.nullcontext() if frame is None else tg.created_at(*frame[:3]):
        try:
            yield
        except Exception as error:
            error.add_note(f"  of PyTensor's {node}")
            raise


def place_of(node: Any) -> str:
    """The user's line where a node was made, empty where that is not known."""
    frame = origin(node)
    if frame is None:
        return ""
    file, line, function, text = frame
    where = f"{PurePath(file).name}:{line}" + (f" in {function}" if function != "<module>" else "")
    return f"{where}: {text}" if text else where
