"""Models in ONNX's format: what is read becomes a program of tg, and a program of tg is written.

`load` reads a model; `tg.export(f, path, "onnx")` writes one. Neither imports onnx before it is called.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tg.backend import Exporter, hookimpl

if TYPE_CHECKING:
    from tg_onnx.reading import Model, load

__all__ = ["Model", "load"]


@hookimpl(optionalhook=True)
def tg_exports(format: str) -> Exporter | None:
    """The writer of format "onnx"."""
    if format != "onnx":
        return None
    from tg_onnx.options import OnnxOptions

    return Exporter(
        "onnx",
        distribution="tg-onnx",
        writer="tg_onnx.writing.write:write",
        options=OnnxOptions,
        requires=("onnx>=1.18",),
    )


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tg_onnx' has no attribute {name!r}", name=name)
    return getattr(importlib.import_module("tg_onnx.reading"), name)
