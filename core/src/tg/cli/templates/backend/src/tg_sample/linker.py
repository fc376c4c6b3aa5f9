"""The linker: core's, told what the library's arrays are and which rules return views."""

from tg.backend import FuncifyLinker
from tg_sample.arrays import argument, copy, scope, to_native, to_numpy
from tg_sample.rules.shape import VIEWS

LINKER = FuncifyLinker(to_native=to_native, to_numpy=to_numpy, argument=argument, copy=copy, scope=scope, views=VIEWS)
