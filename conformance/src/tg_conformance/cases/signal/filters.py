"""Cases of `ops/signal/filters`: recurrences, their states and slopes, beside SciPy."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import signal

import tg
from tg.errors import InputError, ShapeError
from tg.ops.signal.filters import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.family import in_double, of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

B: Final = np.array([0.2, 0.3, 0.1])
A: Final = np.array([2.0, -0.8, 0.3])
SOS: Final = signal.butter(4, 0.3, output="sos")


def terms(*arrays: Any) -> Any:
    """The size of all that is summed."""
    return 16 * max(np.abs(v).sum() for v in arrays) + 16


def _filtered(b: Any, a: Any, x: Any, namespace: Any, **options: Any) -> Any:
    return namespace.lfilter(b, a, x, **options)


def _steady(b: Any, a: Any) -> Any:
    return signal.lfilter_zi(b.astype(float), a.astype(float))


def _in(function: Any, *arrays: Any, **options: Any) -> Any:
    """SciPy's function in the precision of the signal, the last of the arrays."""
    results = function(*arrays, **options)
    dtype = arrays[-1].dtype
    if isinstance(results, tuple):
        return tuple(y.astype(dtype) for y in results)
    return results.astype(dtype)


def recurrences() -> Iterator[Case]:
    """Filters of several orders, along axes, with states."""
    filters = {
        "of two poles": (B, A),
        "without poles": (B, A[:1]),
        "of one zero": (B[:1], A),
        "of a factor": ([2.0], 4.0),
    }
    for name, (b, a) in filters.items():
        yield Case(
            functools.partial(tg.signal.lfilter, np.asarray(b, "float32"), np.asarray(a, "float32")),
            [any_dtype("n")],
            name=name,
            dtypes=("float32", "float64", "complex128"),
            layouts=("C", "strided"),
            oracle=functools.partial(_in, signal.lfilter, np.asarray(b, "float32"), np.asarray(a, "float32")),
            condition=terms,
        )
    yield Case(
        lambda x, z: tg.signal.lfilter(B, A, x, axis=1, zi=z),
        [f64(2, 7, 3), f64(2, 2, 3)],
        name="with a state",
        layouts=("C",),
        oracle=lambda x, z: signal.lfilter(B, A, x, axis=1, zi=z),
        condition=terms,
    )
    yield Case(
        functools.partial(_filtered, namespace=tg.signal),
        [fixed(B), fixed(A), f64(12)],
        name="slopes by coefficients",
        layouts=("C",),
        oracle=functools.partial(_filtered, namespace=signal),
        condition=terms,
        gradient=True,
    )
    yield Case(
        tg.signal.lfilter_zi, [fixed(B), fixed(A)], name="steady state", layouts=("C",), oracle=_steady,
        condition=terms,
    )  # fmt: skip


def cascades() -> Iterator[Case]:
    """Sections of the second order, and filters there and back."""
    yield Case(
        functools.partial(tg.signal.sosfilt, SOS),
        [f64(2, "n")],
        name="sections",
        layouts=("C",),
        oracle=functools.partial(signal.sosfilt, SOS),
        condition=terms,
        gradient=True,
    )
    yield Case(
        lambda x, z: tg.signal.sosfilt(SOS, x, axis=0, zi=z),
        [f64(9, 2), f64(2, 2, 2)],
        name="sections with states",
        layouts=("C",),
        oracle=lambda x, z: signal.sosfilt(SOS, x, axis=0, zi=z),
        condition=terms,
    )
    for padtype in ("odd", "even", "constant", None):
        yield Case(
            functools.partial(tg.signal.filtfilt, B, A, padtype=padtype, axis=0),
            [f64(14, 2)],
            name=f"there and back, {padtype}",
            layouts=("C",),
            oracle=functools.partial(signal.filtfilt, B, A, padtype=padtype, axis=0),
            condition=terms,
        )


def sections_there_and_back() -> Iterator[Case]:
    """Sections forward and backward, one of the first order among them, and the states they begin with."""
    odd = signal.butter(3, 0.3, output="sos")
    yield Case(
        tg.signal.sosfilt_zi, [fixed(SOS)], name="steady states of sections", layouts=("C",),
        oracle=in_double(signal.sosfilt_zi), condition=terms,
    )  # fmt: skip
    for name, sos, options in (
        ("first order among sections there and back", odd, {"padtype": "even"}),
        ("few points before sections", SOS, {"padlen": 4, "padtype": "constant"}),
    ):
        yield Case(
            functools.partial(tg.signal.sosfiltfilt, sos, axis=0, **options),
            [f64(7 if "padlen" in options else 13, 1)],
            name=name,
            layouts=("C",),
            oracle=in_double(signal.sosfiltfilt, sos, axis=0, **options),
            condition=terms,
            gradient="padlen" in options,
            analytic="padlen" in options,
        )


def refused() -> Iterator[Case]:
    """Matrices for coefficients, states of other orders, signals that are too short."""
    x = [f64(5)]
    yield Case(functools.partial(tg.signal.lfilter, np.ones((2, 2)), A), x, name="matrix", raises=ShapeError)
    yield Case(functools.partial(tg.signal.lfilter, B, A, zi=np.ones(3)), x, name="zi", raises=ShapeError)
    yield Case(functools.partial(tg.signal.sosfilt, np.ones((2, 5))), x, name="sos", raises=ShapeError)
    yield Case(functools.partial(tg.signal.sosfiltfilt, SOS), x, name="short for sections", raises=ShapeError)
    yield Case(functools.partial(tg.signal.filtfilt, B, A), x, name="short", raises=ShapeError)
    yield Case(functools.partial(tg.signal.filtfilt, B, A, padtype="zero"), x, name="padtype", raises=InputError)  # type: ignore[arg-type]
    yield Case(functools.partial(tg.signal.filtfilt, B, A, method="gust"), x, name="gust", raises=InputError)  # type: ignore[arg-type]


CASES: Final = of_family(FAMILY.path, *recurrences(), *cascades(), *sections_there_and_back(), *refused())
