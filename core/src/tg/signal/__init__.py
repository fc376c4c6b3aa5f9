"""`tg.signal`: convolutions, windows, filters and spectra under SciPy's names, with derivatives.

frequencies, power = tg.signal.welch(x, fs=8000.0, nperseg=256)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tg
from tg.keywords import explain
from tg.ops.signal.convolving import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    correlation_lags,
    fftconvolve,
)
from tg.ops.signal.filters import filtfilt, lfilter, lfilter_zi, sosfilt, sosfilt_zi, sosfiltfilt
from tg.ops.signal.named_windows import get_window
from tg.ops.signal.resampling import decimate, hilbert, resample, resample_poly, upfirdn
from tg.ops.signal.smoothing import detrend, medfilt, savgol_coeffs, savgol_filter
from tg.ops.signal.spectra import coherence, csd, istft, periodogram, spectrogram, stft, welch
from tg.signal import windows
from tg.words import unknown_in

__all__ = [
    "coherence",
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "correlation_lags",
    "csd",
    "decimate",
    "detrend",
    "fftconvolve",
    "filtfilt",
    "get_window",
    "hilbert",
    "istft",
    "lfilter",
    "lfilter_zi",
    "medfilt",
    "periodogram",
    "resample",
    "resample_poly",
    "savgol_coeffs",
    "savgol_filter",
    "sosfilt",
    "sosfilt_zi",
    "sosfiltfilt",
    "spectrogram",
    "stft",
    "upfirdn",
    "welch",
    "windows",
]

explain(globals(), __all__)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        text = name if name.startswith("__") else unknown_in(__name__, __all__, name, dir(tg))
        raise AttributeError(text, name=name)


def __dir__() -> list[str]:
    return sorted(__all__)
