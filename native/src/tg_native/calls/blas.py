"""The BLAS that this process has already loaded, as a table of addresses for generated code.

NumPy's wheels bring an OpenBLAS with 64-bit integers, found in 1 ms. Where NumPy has another BLAS (conda, Linux
distributions, Accelerate), SciPy's `cython_blas` offers that one with 32-bit integers, through pointers to its Fortran
interface. Where neither is there, generated code has plain loops of its own.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["NO_BLAS", "TABLE", "Blas", "blas", "numpy_blas", "scipy_blas"]

Source = Literal["numpy-openblas64", "scipy", "none"]

TABLE = ("dgemm", "sgemm", "dgemv", "sgemv", "ddot", "sdot", "zgemm", "cgemm")
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
    for path in _openblas_files():
        library = _loaded(path)
        if library is None:
            continue
        table = {name: _address(library, f"scipy_cblas_{name}64_") for name in TABLE}
        if all(table.values()):
            found = MappingProxyType({name: address for name, address in table.items() if address})
            return Blas("numpy-openblas64", _core_name(library), found, 64)
    return None


def scipy_blas() -> Blas | None:
    """The BLAS that SciPy was built with, or None; importing it takes about 0.1 s."""
    try:
        module = importlib.import_module("scipy.linalg.cython_blas")
        table = {name: _capsule_address(module.__pyx_capi__[name]) for name in TABLE}
    except (ImportError, AttributeError, KeyError, ValueError):
        return None
    return Blas("scipy", None, MappingProxyType(table), 32)


def _openblas_files() -> Iterator[str]:
    """Beside NumPy as its wheels have it, else wherever a repackaging put what is loaded."""
    package = Path(np.__file__).parent
    for folder in (package.parent / "numpy.libs", package / ".dylibs"):
        yield from map(os.fspath, sorted(folder.glob("*openblas64*")))
    yield from _mapped("openblas64")


def _mapped(part: str) -> Iterable[str]:
    try:
        with Path("/proc/self/maps").open(encoding="utf-8", errors="replace") as lines:
            paths = {line.split(maxsplit=5)[-1].rstrip("\n") for line in lines if part in line}
    except OSError:  # not Linux
        return ()
    return sorted(paths)


def _loaded(path: str) -> ctypes.CDLL | None:
    """The library at `path` if this process has loaded it; never loads one."""
    try:
        return ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return None


def _address(library: ctypes.CDLL, symbol: str) -> int | None:
    try:
        function = getattr(library, symbol)
    except AttributeError:
        return None
    return ctypes.cast(function, ctypes.c_void_p).value


def _core_name(library: ctypes.CDLL) -> str | None:
    """The kernels that OpenBLAS chose for this processor, or that OPENBLAS_CORETYPE chose for it."""
    try:
        ask = library.scipy_openblas_get_corename64_
    except AttributeError:
        return None
    ask.argtypes, ask.restype = (), ctypes.c_char_p
    answer = ask()
    return answer.decode() if isinstance(answer, bytes) else None


def _capsule_address(capsule: object) -> int:
    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    signature = name_of(capsule)
    if b"int *" not in signature or b"long" in signature:
        msg = f"cython_blas: integers are not 32 bits wide: {signature.decode()}"
        raise ValueError(msg)
    address = pointer_of(capsule, signature)
    assert isinstance(address, int), "a capsule's pointer is never null"
    return address
