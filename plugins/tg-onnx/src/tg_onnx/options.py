"""The options of format "onnx", as keywords of `tg.export`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from tg.backend import option


@final
@dataclass(frozen=True)
class OnnxOptions:
    """Options of a model: the version of its operators, and where its weights are."""

    opset: int = option(21, "the version of the operators, from 17 to the newest that the installed onnx has")
    external: bool = option(
        False, "write a folder, with weights in a file beside model.onnx; above 2 GB that is done anyway"
    )
