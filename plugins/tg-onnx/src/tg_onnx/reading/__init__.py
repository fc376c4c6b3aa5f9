"""Models that are read: what a file of ONNX says becomes variables and weights of tg."""

from __future__ import annotations

from tg.backend import claim
from tg_onnx.reading.model import Model, load

claim(__name__)  # lines of this package are no user's: nodes are told as made where a model is read

__all__ = ["Model", "load"]
