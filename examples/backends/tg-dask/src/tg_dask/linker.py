"""The linker: core's, told what lazy arrays are."""

from tg.backend import FuncifyLinker
from tg_dask.arrays import argument, copy, ready, scope, to_native, to_numpy

LINKER = FuncifyLinker(to_native=to_native, to_numpy=to_numpy, argument=argument, copy=copy, ready=ready, scope=scope)
