"""Cases of `ops/signal/smoothing`: trends, polynomials and medians of windows, beside SciPy."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import signal

import tg
from tg.errors import DtypeError, InputError, ShapeError
from tg.ops.signal.smoothing import EDGES, FAMILY
from tg.plugin.case import Case, any_dtype, f64, i64
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

REAL: Final = ("float32", "float64")


def terms(*arrays: Any) -> Any:
    """The size of all that is summed."""
    return 16 * max(np.abs(v).sum() for v in arrays) + 16


def in_double(name: str, **options: Any) -> Any:
    """SciPy's function in double precision, of the parts of complex numbers: it is linear, or they are real."""

    def function(x: Any) -> Any:
        own = functools.partial(getattr(signal, name), **options)
        if x.dtype.kind == "c":
            return own(x.real.astype(float)) + 1j * own(x.imag.astype(float))
        return own(x.astype(float))

    return function


def case(name: str, x: Any, note: str, dtypes: tuple[str, ...] = ("float64",), **options: Any) -> Case:
    """A function with options, beside SciPy's with the same."""
    return Case(
        functools.partial(getattr(tg.signal, name), **options),
        [x],
        name=f"{name} {note}",
        dtypes=dtypes,
        layouts=("C", "strided") if note == "plain" else ("C",),
        oracle=in_double(name, **options),
        condition=terms,
        gradient="plain" in note,
        analytic="plain" in note,
    )


def trends() -> Iterator[Case]:
    """Means, lines and lines that break, along axes."""
    yield case("detrend", f64(3, 7), "plain")
    yield case("detrend", any_dtype(2, "n"), "of a length", ("float32", "complex128"))
    yield case("detrend", f64(7, 2), "less its mean", type="constant", axis=0)
    yield case("detrend", f64(2, 9), "plain, in parts", bp=[5, 2, 9])
    yield case("detrend", f64(1), "of one point")


def polynomials() -> Iterator[Case]:
    """Every way to go on, windows of an odd and of an even number of points, derivatives."""
    yield case("savgol_filter", any_dtype(9, 2), "plain", REAL, window_length=5, polyorder=2, axis=0)
    yield case("savgol_filter", any_dtype(8), "of complex numbers", ("complex128",), window_length=5, polyorder=2)
    for points in (5, 6):
        options = [
            {"window_length": points, "polyorder": 3, "deriv": 1, "delta": 0.5, "mode": mode, "cval": 2.0}
            for mode in (*EDGES, "interp")
        ]
        yield Case(
            lambda x, options=options: tuple(tg.signal.savgol_filter(x, **one) for one in options),
            [f64(2, 8)],
            name=f"every mode by {points}",
            layouts=("C",),
            oracle=lambda x, options=options: tuple(in_double("savgol_filter", **one)(x) for one in options),
            condition=terms,
        )
    yield case("savgol_filter", f64(6), "of its own length", window_length=6, polyorder=2)
    yield case("savgol_filter", f64(4), "by one point", window_length=1, polyorder=0)
    yield case("savgol_filter", f64(7), "beyond its order", window_length=3, polyorder=1, deriv=2)
    for arguments in ((5, 2), (6, 3, 1, 0.5), (7, 2, 0, 1.0, 1.5), (7, 3, 2, 2.0, 0, "dot"), (5, 1, 2)):
        yield Case(
            functools.partial(tg.signal.savgol_coeffs, *arguments),
            name=f"savgol_coeffs{arguments}",
            oracle=functools.partial(signal.savgol_coeffs, *arguments),
            condition=lambda: 64.0,
        )


def medians() -> Iterator[Case]:
    """Windows of one length, of several, of one element; integers."""
    for x, kernel in ((f64("n"), None), (f64(4, "n"), [1, 5]), (f64(3, 4, 2), 3), (f64(2, 3), 1)):
        yield Case(
            functools.partial(tg.signal.medfilt, kernel_size=kernel),
            [x],
            name=f"medfilt by {kernel} of {len(x.shape)}",
            dtypes=REAL,
            layouts=("C",),
            oracle=in_double("medfilt", kernel_size=kernel),
        )
    yield Case(
        functools.partial(tg.signal.medfilt, kernel_size=5),
        [f64(11)],
        name="slopes of medfilt",
        layouts=("C",),
        oracle=in_double("medfilt", kernel_size=5),
        gradient=True,
    )
    yield Case(tg.signal.medfilt, [i64(4, 5)], name="medfilt of integers", oracle=signal.medfilt)


def refused() -> Iterator[Case]:
    """Options out of range, signals that are too short, bools."""
    x, own = [f64(5)], tg.signal
    yield Case(functools.partial(own.detrend, type="cubic"), x, name="type", raises=InputError)  # type: ignore[arg-type]
    yield Case(functools.partial(own.detrend, bp=6), x, name="bp", raises=ShapeError)
    yield Case(functools.partial(own.detrend, bp=-1), x, name="negative bp", raises=InputError)
    yield Case(lambda x: own.savgol_filter(x, 7, 2), x, name="short", raises=ShapeError)
    yield Case(lambda x: own.savgol_filter(x, 3, 3), x, name="order", raises=InputError)
    yield Case(lambda x: own.savgol_filter(x, 3, 1, mode="reflect"), x, name="mode", raises=InputError)  # type: ignore[arg-type]
    yield Case(functools.partial(own.savgol_coeffs, 5, 2, pos=5), name="pos", raises=InputError)
    yield Case(functools.partial(own.savgol_coeffs, 5, 2, use="corr"), name="use", raises=InputError)  # type: ignore[arg-type]
    yield Case(functools.partial(own.medfilt, kernel_size=4), x, name="even", raises=InputError)
    yield Case(functools.partial(own.medfilt, kernel_size=[3, 3]), x, name="axes", raises=InputError)
    yield Case(lambda x: own.medfilt(x > 0), x, name="bool", raises=DtypeError)


CASES: Final = of_family(FAMILY.path, *trends(), *polynomials(), *medians(), *refused())
