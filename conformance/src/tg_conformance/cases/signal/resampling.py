"""Cases of `ops/signal/resampling`: polyphase and Fourier resampling, decimation, analytic signals, beside SciPy."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import signal

import tg
from tg.errors import DtypeError, InputError, ShapeError
from tg.ops.signal.resampling import FAMILY
from tg.ops.signal.taps import EXTENSIONS
from tg.plugin.case import Case, any_dtype, f64
from tg_conformance.cases.family import in_double, of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

REAL: Final = ("float32", "float64")
TAPS: Final = np.array([0.2, 0.5, -0.3, 0.7, 0.1, 0.4, -0.2], "float32")


def terms(*arrays: Any) -> Any:
    """The size of all that is summed."""
    return 32 * max(np.abs(v).sum() for v in arrays) + 32


def case(name: str, inputs: list[Any], note: str, dtypes: tuple[str, ...] = ("float64",), **options: Any) -> Case:
    """A function with options, beside SciPy's with the same."""
    return Case(
        functools.partial(getattr(tg.signal, name), **options),
        inputs,
        name=f"{name} {note}",
        dtypes=dtypes,
        layouts=("C", "strided") if note == "plain" else ("C",),
        oracle=in_double(getattr(signal, name), **options),
        condition=terms,
        gradient=note in ("slopes", "plain"),
        analytic=note in ("slopes", "plain"),
    )


def polyphase() -> Iterator[Case]:
    """Taps between points and by steps, signals that go on in every mode, filters that are designed here."""
    for up, down in ((1, 1), (3, 1), (1, 4), (3, 2)):
        yield Case(
            functools.partial(tg.signal.upfirdn, TAPS, up=up, down=down),
            [any_dtype(2, "n")],
            name=f"upfirdn {up} / {down}",
            dtypes=(*REAL, "complex128"),
            layouts=("C",),
            oracle=in_double(signal.upfirdn, TAPS, up=up, down=down),
            condition=terms,
        )
    yield case("upfirdn", [f64(5), f64(3, 9)], "slopes", up=3, down=2, axis=1)
    for mode in EXTENSIONS[1:]:
        yield Case(
            functools.partial(tg.signal.upfirdn, TAPS, up=3, down=2, axis=0, mode=mode),
            [f64(4, 2)],
            name=f"upfirdn {mode}",
            layouts=("C",),
            oracle=in_double(signal.upfirdn, TAPS, up=3, down=2, axis=0, mode=mode),
            condition=terms,
        )
    yield case("resample_poly", [any_dtype(21, 2)], "plain", REAL, up=3, down=2)
    for padtype in ("mean", "median", "maximum", "line"):
        yield case("resample_poly", [f64(2, 14)], padtype, up=2, down=3, axis=1, padtype=padtype)
    yield case("decimate", [f64(13)], "by recurrences", q=3, n=3)
    yield case("decimate", [any_dtype(2, 40)], "by taps", REAL, q=3, ftype="fir")
    yield case("decimate", [any_dtype(40, 2)], "with phase", axis=0, q=3, n=7, ftype="fir", zero_phase=False)


def transformed() -> Iterator[Case]:
    """More and fewer points by transforms, of even and odd counts, real and complex."""
    for n in (8, 9):
        for num in (4, 5, 8, 9, 12, 13):
            note = f"from {n} to {num}"
            yield case("resample", [any_dtype(n, 2)], note, ("float32", "float64", "complex128"), num=num)
    matrix = signal.resample(np.eye(11), 6, axis=1)
    yield Case(
        functools.partial(tg.signal.resample, num=6, axis=1),
        [f64(2, 11)],
        name="slopes of resample",
        layouts=("C",),
        oracle=lambda x: x @ matrix,  # a complex step through a transform would lose itself in rounding
        condition=terms,
        gradient=True,
        analytic=True,
    )
    yield case("resample", [f64(12)], "hamming", num=7, window="hamming")
    yield case("hilbert", [any_dtype(16)], "even", REAL)
    yield case("hilbert", [f64(3, 9)], "odd", N=7)


def refused() -> Iterator[Case]:
    """Counts below 1, unknown words, complex numbers, signals without axis."""
    x = [f64(8)]
    yield Case(functools.partial(tg.signal.upfirdn, TAPS, up=0), x, name="up", raises=InputError)
    yield Case(functools.partial(tg.signal.upfirdn, TAPS, mode="zero"), x, name="mode", raises=InputError)  # type: ignore[arg-type]
    yield Case(functools.partial(tg.signal.upfirdn, np.ones((2, 2))), x, name="taps", raises=ShapeError)
    yield Case(lambda x: tg.signal.resample_poly(x, 2, 1, padtype="mean", cval=1.0), x, name="cval", raises=InputError)
    yield Case(functools.partial(tg.signal.decimate, q=2, ftype="bessel"), x, name="ftype", raises=InputError)  # type: ignore[arg-type]
    yield Case(functools.partial(tg.signal.resample, num=0), x, name="num", raises=ShapeError)
    yield Case(functools.partial(tg.signal.resample, num=4, window=np.ones(3)), x, name="window", raises=ShapeError)
    yield Case(lambda x: tg.signal.hilbert(x + 1j), x, name="complex", raises=DtypeError)


CASES: Final = of_family(FAMILY.path, *polyphase(), *transformed(), *refused())
