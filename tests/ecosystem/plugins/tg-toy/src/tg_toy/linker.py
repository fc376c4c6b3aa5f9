"""The linker of toy: core's, told that arrays are NumPy's and which rules return views."""

import numpy as np

from tg.link.funcify import FuncifyLinker
from tg_toy.rules import VIEWS

LINKER = FuncifyLinker(
    to_native=np.array, to_numpy=np.asarray, views=VIEWS, scope=lambda options: np.errstate(all="ignore")
)
