"""Who calls tg: the frame of the user's line, for places of nodes and for warnings."""

from __future__ import annotations

import functools
import sys
import warnings
from typing import TYPE_CHECKING

from tg.errors import TgWarning

if TYPE_CHECKING:
    from types import FrameType

# contextlib runs tg's context managers, importlib its modules; what the others do with a variable is done where the
# user called them
_PACKAGES = {"tg", "pluggy", "contextlib", "importlib", "numpy", "scipy", "jax", "torch"}
_PROTOCOL = {"tg.graph.operators", "tg.keywords"}  # whose methods, operators and wrappers call the functions of ops
_PROGRAMS = {"tg.demo."}  # in those packages: modules whose lines are a user's all the same


@functools.cache
def is_inside(module: str) -> bool:
    """Whether a module belongs to tg or a plugin: asked by name, since code objects of two files may be equal."""
    return module.partition(".")[0] in _PACKAGES and not module.startswith(tuple(_PROGRAMS))


def claim(module: str) -> None:
    """Take the package of a module, a plugin's, for a part of tg: no line in it is the user's."""
    package = module.partition(".")[0]
    if package not in _PACKAGES:
        _PACKAGES.add(package)
        is_inside.cache_clear()


def disclaim(prefix: str) -> None:
    """Take the modules whose names begin so for a user's, although their package is a part of tg."""
    _PROGRAMS.add(prefix)
    is_inside.cache_clear()


def outside() -> FrameType | None:
    """The innermost frame that is not tg's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_inside(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return frame


def is_direct() -> bool:
    """Whether a line outside tg has called the function of an op itself, by its name, an operator or a method."""
    frame = sys._getframe(2)
    while frame.f_globals.get("__name__") in _PROTOCOL and frame.f_back is not None:
        frame = frame.f_back
    return not is_inside(frame.f_globals.get("__name__", ""))


def warn(text: str, category: type[TgWarning] = TgWarning) -> None:
    """Warn at the user's line: of a library's own line a warning is shown once, and says nothing."""
    frame = outside()
    if frame is None:
        warnings.warn(text, category, stacklevel=2)
        return
    module, registry = frame.f_globals.get("__name__"), frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(text, category, frame.f_code.co_filename, frame.f_lineno, module, registry)
