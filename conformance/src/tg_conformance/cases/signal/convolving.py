"""Cases of `ops/signal/convolving`: modes, methods, axes and boundaries, beside SciPy."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import signal

import tg
from tg.errors import InputError, ShapeError
from tg.ops.signal.convolving import FAMILY
from tg.plugin.case import Case, any_dtype, f64
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

MODES: Final = ("full", "same", "valid")
LAYOUTS: Final = ("C", "F", "strided", "reversed")


def terms(a: Any, v: Any, **_: Any) -> Any:
    """The size of all products, times the steps by which transforms are summed."""
    return 8 * np.abs(a).sum() * np.abs(v).sum() + 1


def _direct(name: str, **options: Any) -> Any:
    """SciPy's function by sums of products, in double precision."""
    return functools.partial(_wide, getattr(signal, name), **options)


def _wide(function: Any, a: Any, v: Any, **options: Any) -> Any:
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    return function(a.astype(wide), v.astype(wide), **options).astype(a.dtype)


def _analytic(name: str, a: Any, v: Any, mode: str) -> Any:
    """Sums of products without a conjugate: of complex steps."""
    return signal.convolve(a, v if name == "convolve" else v[::-1, ::-1], mode=mode, method="direct")


def _by_rows(a: Any, v: Any, mode: str) -> Any:
    """Sums of products, row by row."""
    return np.stack([signal.convolve(row, v[0], mode=mode, method="direct") for row in a])


def products() -> Iterator[Case]:
    """Vectors and arrays of two and three axes."""
    for name in ("convolve", "correlate"):
        for mode in MODES:
            for method in ("direct", "fft", "auto"):
                halves = ("float16",) if method == "direct" and mode == "same" else ()
                yield Case(
                    functools.partial(getattr(tg.signal, name), mode=mode, method=method),
                    [any_dtype(4, 7), any_dtype(3, 2)],
                    name=f"{name} {mode} {method}",
                    dtypes=("float32", "complex128", *halves) if method == "fft" else ("float64", *halves),
                    layouts=LAYOUTS if mode == "same" else ("C",),
                    oracle=_direct(name, mode=mode, method="direct"),
                    condition=terms,
                )
            yield Case(
                functools.partial(getattr(tg.signal, name), mode=mode, method="fft" if mode == "valid" else "direct"),
                [f64(4, 7), f64(3, 2)],
                name=f"slopes of {name} {mode}",
                layouts=("C",),
                oracle=functools.partial(_analytic, name, mode=mode),
                condition=terms,
                gradient=True,
                analytic=True,
            )
        yield Case(
            getattr(tg.signal, name),
            [any_dtype(2, 3, 4), any_dtype(2, 1, 3)],
            name=f"{name} of three axes",
            dtypes=("float64",),
            layouts=("C",),
            oracle=_direct(name, method="direct"),
            condition=terms,
        )
        yield Case(
            functools.partial(getattr(tg.signal, name), method="fft"),
            [any_dtype(9), any_dtype(3)],
            name=f"{name} of integers by transforms",
            dtypes=("int32",),
            layouts=("C",),
            oracle=_direct(name, method="direct"),
        )


def along_axes() -> Iterator[Case]:
    """Transforms along one axis, in batches that broadcast."""
    for mode in MODES:
        yield Case(
            functools.partial(tg.signal.fftconvolve, mode=mode, axes=-1),
            [any_dtype(3, 8), any_dtype(1, 3)],
            name=f"fftconvolve {mode} along an axis",
            dtypes=("float32", "float64", "complex128"),
            layouts=LAYOUTS,
            oracle=functools.partial(_by_rows, mode=mode),
            condition=terms,
            gradient=mode == "full",
            analytic=True,
        )


def boundaries() -> Iterator[Case]:
    """Images that go on beyond their border."""
    for boundary in ("fill", "wrap", "symm"):
        for mode in ("full", "same") if boundary == "fill" else ("same",):
            options = {"mode": mode, "boundary": boundary} | ({"fillvalue": 2} if boundary == "fill" else {})
            for name in ("convolve2d", "correlate2d"):
                yield Case(
                    functools.partial(getattr(tg.signal, name), **options),
                    [any_dtype(5, 6), any_dtype(3, 4)],
                    name=f"{name} {mode} {boundary}",
                    dtypes=("float64",),
                    layouts=("C",),
                    oracle=functools.partial(getattr(signal, name), **options),
                    condition=terms,
                )


def lags() -> Iterator[Case]:
    """The lags of a correlation."""
    for mode in MODES:
        for n, m in ((7, 4), (3, 6)):
            yield Case(
                functools.partial(tg.signal.correlation_lags, n, m, mode),
                name=f"lags {mode} of {n} and {m}",
                oracle=functools.partial(signal.correlation_lags, n, m, mode),
                accuracy=0,
            )


def refused() -> Iterator[Case]:
    """Unknown words, other ranks, and arrays of which none is the longer one."""
    pair = [f64("n"), f64("m")]
    yield Case(functools.partial(tg.signal.convolve, mode="whole"), pair, name="mode", raises=InputError)  # type: ignore[arg-type]
    yield Case(functools.partial(tg.signal.correlate, method="fast"), pair, name="method", raises=InputError)  # type: ignore[arg-type]
    yield Case(tg.signal.convolve, [f64("n"), f64(2, "m")], name="ranks", raises=ShapeError)
    crossed = [f64(3, 5), f64(4, 2)]
    yield Case(functools.partial(tg.signal.convolve, mode="valid"), crossed, name="valid", raises=ShapeError)


CASES: Final = of_family(FAMILY.path, *products(), *along_axes(), *boundaries(), *lags(), *refused())
