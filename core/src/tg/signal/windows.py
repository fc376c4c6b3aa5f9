"""`tg.signal.windows`: window functions under SciPy's names.

tg.signal.windows.hann(256, sym=False)
"""

from __future__ import annotations

from typing import Any

import tg
from tg.keywords import explain
from tg.ops.signal.designed_windows import chebwin, dpss, kaiser_bessel_derived, taylor
from tg.ops.signal.named_windows import get_window
from tg.ops.signal.window_functions import (
    barthann,
    bartlett,
    blackman,
    blackmanharris,
    bohman,
    boxcar,
    cosine,
    exponential,
    flattop,
    gaussian,
    general_cosine,
    general_gaussian,
    general_hamming,
    hamming,
    hann,
    kaiser,
    lanczos,
    nuttall,
    parzen,
    triang,
    tukey,
)
from tg.words import unknown_in

__all__ = [
    "barthann",
    "bartlett",
    "blackman",
    "blackmanharris",
    "bohman",
    "boxcar",
    "chebwin",
    "cosine",
    "dpss",
    "exponential",
    "flattop",
    "gaussian",
    "general_cosine",
    "general_gaussian",
    "general_hamming",
    "get_window",
    "hamming",
    "hann",
    "kaiser",
    "kaiser_bessel_derived",
    "lanczos",
    "nuttall",
    "parzen",
    "taylor",
    "triang",
    "tukey",
]

explain(globals(), __all__)


def __getattr__(name: str) -> Any:
    text = name if name.startswith("__") else unknown_in(__name__, __all__, name, dir(tg))
    raise AttributeError(text, name=name)


def __dir__() -> list[str]:
    return sorted(__all__)
