"""The BLAS that this process has already loaded, as a table of addresses for generated code.

NumPy's wheels bring an OpenBLAS with 64-bit integers, found in 1 ms. Where NumPy has another BLAS (conda, Linux
distributions, Accelerate), SciPy's `cython_blas` and `cython_lapack` offer that one with 32-bit integers, through
pointers to its Fortran interface. Where neither is there, generated code has plain loops of its own.
`tg.lapack` looks for the libraries, and has their LAPACK.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from tg.lapack.library import Source, capsule_address, numpy_openblas, symbol_address

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NO_BLAS", "TABLE", "THREADS", "Blas", "blas", "numpy_blas", "scipy_blas"]

CBLAS = ("dgemm", "sgemm", "dgemv", "sgemv", "ddot", "sdot", "zgemm", "cgemm")
FORTRAN = (
    *(letter + name for name in ("potrf", "getrf", "trsm", "gelqf", "gesdd", "geev", "gees") for letter in "dszc"),
    *(letter + name for name in ("orglq", "syevd") for letter in "ds"),
    *(letter + name for name in ("unglq", "heevd") for letter in "zc"),
)
THREADS = "threads"  # how many threads share a product, where the library says it
TABLE = (*CBLAS, *FORTRAN, THREADS)
CONVENTIONS: dict[Source, int] = {"none": 0, "numpy-openblas64": 1, "scipy": 2}


@dataclass(frozen=True, slots=True)
class Blas:
    """A BLAS: where it is from, its kernels' name where known, the address of each function of `TABLE`."""

    source: Source
    core: str | None
    table: Mapping[str, int]
    int_width: Literal[0, 32, 64]

    def pointers(self) -> tuple[int, ...]:
        """The table as `tg_bind` gets it: the convention, then the addresses."""
        return (CONVENTIONS[self.source], *(self.table.get(name, 0) for name in TABLE))


NO_BLAS = Blas("none", None, MappingProxyType({}), 0)


@functools.cache
def blas() -> Blas:
    """The best BLAS there is, looked for once."""
    return numpy_blas() or scipy_blas() or NO_BLAS


def numpy_blas() -> Blas | None:
    """The OpenBLAS of NumPy's wheels, or None."""
    for library in numpy_openblas():
        table = {name: symbol_address(library, f"scipy_cblas_{name}64_") for name in CBLAS}
        table.update((name, symbol_address(library, f"scipy_{name}_64_")) for name in FORTRAN)
        table[THREADS] = symbol_address(library, "scipy_openblas_get_num_threads64_")
        if all(table.values()):
            addresses = MappingProxyType({name: address for name, address in table.items() if address})
            return Blas("numpy-openblas64", _core_name(library), addresses, 64)
    return None


def scipy_blas() -> Blas | None:
    """The BLAS that SciPy was built with, or None; importing it takes about 0.1 s."""
    try:
        modules = [importlib.import_module(f"scipy.linalg.cython_{name}") for name in ("blas", "lapack")]
        pointers = {**modules[0].__pyx_capi__, **modules[1].__pyx_capi__}
        table = {name: capsule_address(pointers[name]) for name in (*CBLAS, *FORTRAN)}
    except (ImportError, AttributeError, KeyError, ValueError):
        return None
    return Blas("scipy", None, MappingProxyType(table), 32)


def _core_name(library: ctypes.CDLL) -> str | None:
    """The kernels that OpenBLAS chose for this processor, or that OPENBLAS_CORETYPE chose for it."""
    try:
        ask = library.scipy_openblas_get_corename64_
    except AttributeError:
        return None
    ask.argtypes, ask.restype = (), ctypes.c_char_p
    answer = ask()
    return answer.decode() if isinstance(answer, bytes) else None
