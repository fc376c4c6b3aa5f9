"""Models in ONNX's format: what is read becomes a program of tg, and a program of tg is written."""

from __future__ import annotations

from tg_onnx.reading import Model, load

__all__ = ["Model", "load"]
