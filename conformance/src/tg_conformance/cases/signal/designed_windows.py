"""Cases of `ops/signal/designed_windows`: symmetric and periodic, even and odd, beside SciPy."""

from __future__ import annotations

import functools
import itertools
import warnings
from typing import TYPE_CHECKING, Any, Final

from scipy.signal import windows

import tg
from tg.errors import InputError
from tg.ops.signal.designed_windows import FAMILY
from tg.plugin.case import Case, f64
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Iterator


def lobes(*_: Any) -> Any:
    """The size of a transform's sum of 60 dB and 9 points, beside a greatest value of 1."""
    return 64.0


def of_scipy(name: str, *arguments: Any, **options: Any) -> Any:
    """SciPy's window, without its warning about low attenuations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(windows, name)(*arguments, **options)


def of_points(name: str, more: tuple[Any, ...], sym: bool, x: Any) -> Any:
    """SciPy's window of as many points as x has."""
    return of_scipy(name, len(x), *more, sym=sym)


def programs() -> Iterator[Case]:
    """Windows of as many points as another array has."""
    calls: tuple[tuple[str, tuple[Any, ...]], ...] = (
        ("chebwin", (60.0,)),
        ("chebwin", (30.0,)),
        ("taylor", ()),
        ("taylor", (6, 50.0, False)),
    )
    for (name, more), sym, points in itertools.product(calls, (True, False), (8, 9)):
        window = functools.partial(getattr(tg.signal.windows, name), sym=sym)
        yield Case(
            lambda x, window=window, more=more: window(x.shape[0], *more),
            [f64(points)],
            name=f"{name}{more} of {points} points, {'symmetric' if sym else 'periodic'}",
            layouts=("C",),
            oracle=functools.partial(of_points, name, more, sym),
            condition=lobes,
        )
    yield Case(
        lambda at: tg.signal.windows.chebwin(6, at),
        [f64(low=50.0, high=70.0)],
        name="chebwin of a level that is a value",
        layouts=("C",),
        oracle=lambda at: of_scipy("chebwin", 6, float(at)),
        condition=lobes,
    )


def computed_before() -> Iterator[Case]:
    """Tapers of an even number of points and of an odd one, in each scale; windows of which the parts sum to 1."""
    for M, NW, Kmax, sym, norm in (
        (32, 2.5, 4, True, None),
        (33, 3.0, None, True, None),
        (32, 2.5, None, False, "subsample"),
        (32, 2.5, 3, True, "approximate"),
        (31, 4.0, 7, False, 2),
    ):
        arguments = (M, NW, Kmax, sym, norm, True)
        yield Case(
            functools.partial(tg.signal.windows.dpss, *arguments),
            name=f"dpss{arguments}",
            oracle=functools.partial(windows.dpss, *arguments),
            condition=lobes,
        )
    for M in (0, 2, 10):
        yield Case(
            functools.partial(tg.signal.windows.kaiser_bessel_derived, M, 3.0),
            name=f"kaiser_bessel_derived of {M}",
            oracle=functools.partial(windows.kaiser_bessel_derived, M, 3.0),
            condition=lobes,
        )


def refused() -> Iterator[Case]:
    """Numbers of points that are no ints, bands that are too wide, options out of range."""
    own = tg.signal.windows
    for name, call in {
        "half of the points": functools.partial(own.dpss, 8, 4.0),
        "too many": functools.partial(own.dpss, 8, 2.0, 9),
        "norm": functools.partial(own.dpss, 8, 2.0, norm="l2"),
        "odd": functools.partial(own.kaiser_bessel_derived, 5, 2.0),
        "periodic": functools.partial(own.kaiser_bessel_derived, 4, 2.0, sym=False),
        "nbar": functools.partial(own.taylor, 8, 0),
        "sll": functools.partial(own.taylor, 8, 4, -1.0),
    }.items():
        yield Case(call, name=name, raises=InputError)
    yield Case(lambda x: own.dpss(x.shape[0], 2.0), [f64("n")], name="length of a call", raises=InputError)


CASES: Final = of_family(FAMILY.path, *programs(), *computed_before(), *refused())
