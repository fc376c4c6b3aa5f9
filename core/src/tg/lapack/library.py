"""The libraries with BLAS and LAPACK that this process has loaded, and the addresses of their functions.

NumPy's wheels bring an OpenBLAS with 64-bit integers, reached in 1 ms. Where NumPy has another BLAS (conda, Linux
distributions, Accelerate), SciPy's `cython_blas` and `cython_lapack` offer what SciPy was built with, with 32-bit
integers, through pointers to Fortran's interface.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from tg.errors import BackendUnavailable, message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Source = Literal["numpy-openblas64", "scipy", "none"]


@dataclass(frozen=True)
class Lapack:
    """The library with LAPACK's functions: in Fortran's convention, with integers of `int_width` bits.

    With `has_lengths` the length of each string is a last argument (`size_t`), as gfortran has it.
    """

    source: Source
    int_width: Literal[32, 64]
    has_lengths: bool
    find: Callable[[str], int | None] = field(repr=False, compare=False)

    def address(self, name: str) -> int:
        """The address of a function by its whole name, `dpotrf`."""
        address = self.find(name)
        if address is None:
            msg = message(f"{name}: not in this LAPACK: {self.source}, needed one that has it", hint=HINT)
            raise BackendUnavailable(msg)
        return address


HINT = "pip install 'tg-core[blas]' brings SciPy's"


def lapack() -> Lapack:
    """The LAPACK of this process.

    Raises:
        BackendUnavailable: there is none.
    """
    library = find_lapack()
    if library is None:
        fact = "NumPy has no OpenBLAS of its own here and SciPy cannot be imported, needed one of them"
        raise BackendUnavailable(message(f"lapack: not found: {fact}", hint=HINT))
    return library


def has_lapack() -> bool:
    """Whether there is a LAPACK."""
    return find_lapack() is not None


@functools.cache
def find_lapack() -> Lapack | None:
    """The best LAPACK there is, looked for once."""
    return numpy_lapack() or scipy_lapack()


def numpy_lapack() -> Lapack | None:
    """The LAPACK of the OpenBLAS in NumPy's wheels, or None."""
    for library in numpy_openblas():
        if symbol_address(library, "scipy_dpotrf_64_") is not None:
            find = functools.partial(_numpy_address, library)
            return Lapack("numpy-openblas64", 64, has_lengths=True, find=find)
    return None


def scipy_lapack() -> Lapack | None:
    """The LAPACK that SciPy was built with, or None; importing it takes about 0.1 s."""
    try:
        module = importlib.import_module("scipy.linalg.cython_lapack")
        pointers = module.__pyx_capi__
        capsule_address(pointers["dpotrf"])
    except (ImportError, AttributeError, KeyError, ValueError):
        return None

    def find(name: str) -> int | None:
        return capsule_address(pointers[name]) if name in pointers else None

    return Lapack("scipy", 32, has_lengths=False, find=find)


def _numpy_address(library: ctypes.CDLL, name: str) -> int | None:
    return symbol_address(library, f"scipy_{name}_64_")


# --- libraries and addresses -----------------------------------------------------------------------------------------


def numpy_openblas() -> Iterator[ctypes.CDLL]:
    """The libraries loaded here that can be the OpenBLAS of NumPy's wheels."""
    for path in _openblas_files():
        library = _loaded(path)
        if library is not None:
            yield library


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


def symbol_address(library: ctypes.CDLL, symbol: str) -> int | None:
    """The address of a symbol, or None where the library has no such symbol."""
    try:
        function = getattr(library, symbol)
    except AttributeError:
        return None
    return ctypes.cast(function, ctypes.c_void_p).value


def capsule_address(capsule: object) -> int:
    """The address in a capsule of Cython whose function has integers of 32 bits.

    Raises:
        ValueError: its signature has other ones.
    """
    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    signature = name_of(capsule)
    if b"int *" not in signature or b"long" in signature:
        msg = f"capsule: integers are not 32 bits wide: {signature.decode()}"
        raise ValueError(msg)
    address = pointer_of(capsule, signature)
    assert isinstance(address, int), "a capsule's pointer is never null"
    return address
