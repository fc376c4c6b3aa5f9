"""`tg.signal`: convolutions, windows, filters and spectra under SciPy's names, with derivatives.

frequencies, power = tg.signal.welch(x, fs=8000.0, nperseg=256)
"""

from __future__ import annotations

from typing import Any

import tg
from tg.ops.signal.convolving import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    correlation_lags,
    fftconvolve,
)
from tg.words import unknown_in

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "correlation_lags",
    "fftconvolve",
]


def __getattr__(name: str) -> Any:
    text = name if name.startswith("__") else unknown_in(__name__, __all__, name, dir(tg))
    raise AttributeError(text, name=name)


def __dir__() -> list[str]:
    return sorted(__all__)
