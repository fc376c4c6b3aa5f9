"""The linker: core's, told what the library's arrays are and which rules return views."""

import numpy as ml  # the array library

from tg.link.funcify import FuncifyLinker
from tg_sample.arrays import to_native, to_numpy
from tg_sample.rules.shape import VIEWS

LINKER = FuncifyLinker(
    to_native=to_native,
    to_numpy=to_numpy,
    copy=ml.copy,
    scope=lambda options: ml.errstate(all="ignore"),
    views=VIEWS,
)
