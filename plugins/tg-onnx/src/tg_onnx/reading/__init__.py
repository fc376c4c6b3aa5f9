"""Models that are read: what a file of ONNX says becomes variables and weights of tg."""

from __future__ import annotations

from tg_onnx.reading.model import Model, load

__all__ = ["Model", "load"]
