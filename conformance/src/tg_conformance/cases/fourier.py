"""Cases of `ops/fourier`: short and prime numbers of points, each norm, rows that are strided."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import DtypeError, ShapeError
from tg.ops.fourier import FAMILY, Fourier, InverseRealFourier, RealFourier
from tg.plugin.case import Case, any_dtype, f64
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

NORMS: Final = ("backward", "ortho", "forward")
LENGTHS: Final = (1, 2, 7, 16)


def terms(x: Any, **_: Any) -> Any:
    """The sum of magnitudes of each row, times the steps by which it is summed."""
    return np.abs(x).sum(-1, keepdims=True) * (1 + np.log2(x.shape[-1] + 1)) + 1


def _parts(y: Any, m: int, module: Any) -> Any:
    """Real and imaginary parts with other weights each, summed: its gradient asks for every entry."""
    k = np.arange(m, dtype="float32")
    return module.sum(module.real(y) * np.cos(k) + module.imag(y) * np.sin(k + 1), -1)


def of_complex() -> Iterator[Case]:
    """Both directions."""
    for inverse in (False, True):
        transform = np.fft.ifft if inverse else np.fft.fft
        for norm in NORMS:
            yield Case(
                Fourier(inverse, norm),
                [any_dtype("n", 7)],
                name=f"{transform.__name__} norm {norm}",
                dtypes=("complex64", "complex128"),
                oracle=functools.partial(transform, norm=norm),
                condition=terms,
            )
        for n in LENGTHS:
            yield Case(
                Fourier(inverse),
                [any_dtype(2, 3, n)],
                name=f"{transform.__name__} of {n}",
                dtypes=("complex64", "complex128"),
                oracle=transform,
                condition=terms,
            )


def of_real() -> Iterator[Case]:
    """Half the frequencies, and back: of even and of odd numbers of points."""
    for n in (*LENGTHS, 10):
        for norm in NORMS:
            yield Case(
                RealFourier(norm),
                [any_dtype(3, n)],
                name=f"rfft of {n} norm {norm}",
                dtypes=("float32", "float64"),
                oracle=functools.partial(np.fft.rfft, norm=norm),
                condition=terms,
            )
            yield Case(
                lambda x, norm=norm, m=n // 2 + 1: _parts(RealFourier(norm)(x), m, tg),
                [any_dtype(3, n)],
                name=f"parts of rfft of {n} norm {norm}",
                dtypes=("float32", "float64"),
                oracle=lambda x, norm=norm, m=n // 2 + 1: _parts(np.fft.rfft(x, norm=norm), m, np),
                condition=lambda x: 3 * terms(x).max(-1),
                gradient=True,
            )
            yield Case(
                InverseRealFourier(n, norm),
                [any_dtype(3, n // 2 + 1)],
                name=f"irfft of {n} norm {norm}",
                dtypes=("complex64", "complex128"),
                oracle=functools.partial(np.fft.irfft, n=n, norm=norm),
                condition=lambda x: 2 * terms(x),
                gradient=n in {7, 10},
            )


def refused() -> Iterator[Case]:
    """Real numbers where complex ones are needed, and no points."""
    yield Case(Fourier(), [f64("n")], name="fft of real numbers", raises=DtypeError)
    yield Case(RealFourier(), [f64(3, 0)], name="rfft of nothing", layouts=("C",), raises=ShapeError)


CASES: Final = of_family(FAMILY.path, *of_complex(), *of_real(), *refused())
