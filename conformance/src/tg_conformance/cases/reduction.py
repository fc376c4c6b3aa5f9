"""Cases of `ops/reduction`: all combinations of axes, no elements, NaN in every position, ties, accumulators."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import DomainError, InputError
from tg.ops.reduction import FAMILY
from tg.plugin.case import SAME_SHAPE, Case, any_dtype, b1, f32, f64, fixed, i8, i32, u8
from tg.types.dtypes import DTYPES, SIGNED, UNSIGNED
from tg_conformance.cases.family import of_family, twin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

AXES: Final = (None, 0, 1, -1, (0, 1), (0, 2), (1, 2), (0, 1, 2), ())
NUMBERS: Final = tuple(d for d in DTYPES if d not in ("float16", "bfloat16"))
REAL: Final = ("bool", *SIGNED, *UNSIGNED, "float16", "bfloat16", "float32", "float64")
FLOATING: Final = ("float32", "float64")
BARE: Final = (*SAME_SHAPE, "empty", "one")


def wide_sum(x: Any, axis: Any = None) -> Any:
    """NumPy's sum in the accumulator that tg declares."""
    if x.dtype.kind in "fc":
        return np.sum(x, axis=axis)
    return np.sum(x, axis=axis, dtype=np.uint64 if x.dtype.kind == "u" else np.int64)


def wide_prod(x: Any, axis: Any = None) -> Any:
    """NumPy's product in the accumulator that tg declares."""
    if x.dtype.kind in "fc":
        return np.prod(x, axis=axis)
    return np.prod(x, axis=axis, dtype=np.uint64 if x.dtype.kind == "u" else np.int64)


def sum_terms(x: Any, axis: Any = None) -> Any:
    """n times the sum of magnitudes: what the error of a sum is held to."""
    return np.sum(abs(x), axis=axis) * (x.size + 1)


def average_terms(x: Any, axis: Any = None) -> Any:
    """The same for a mean."""
    n = max(1, x.size // max(1, np.sum(x, axis=axis).size))
    return sum_terms(x, axis) / n


def product_terms(x: Any, axis: Any = None) -> Any:
    """One rounding for each factor."""
    return np.abs(np.prod(x, axis=axis)) * (x.size + 1)


class Reduction:
    """A reduction of tg with its oracle and the terms of its error."""

    def __init__(
        self,
        ours: Callable[..., Any],
        oracle: Callable[..., Any],
        dtypes: tuple[str, ...],
        *,
        terms: Callable[..., Any] | None = None,
        layouts: Any = BARE,
        gradient: bool = False,
        accuracy: float = 1,
    ) -> None:
        self.ours, self.oracle, self.dtypes, self.terms = ours, oracle, dtypes, terms
        self.layouts, self.gradient, self.accuracy = layouts, gradient, accuracy


FULL: Final = tuple(layout for layout in BARE if layout != "empty")  # max and min need an element
REDUCTIONS: Final = (
    Reduction(tg.sum, wide_sum, DTYPES, terms=sum_terms, gradient=True),
    Reduction(tg.prod, wide_prod, NUMBERS, terms=product_terms, gradient=True),
    Reduction(tg.max, np.max, REAL, layouts=FULL, gradient=True, accuracy=0),
    Reduction(tg.min, np.min, REAL, layouts=FULL, gradient=True, accuracy=0),
    Reduction(tg.all, np.all, ("bool", "int32", "uint8", "float64"), accuracy=0),
    Reduction(tg.any, np.any, ("bool", "int32", "uint8", "float64"), accuracy=0),
)


def over_axes(reductions: Iterable[Reduction]) -> Iterator[Case]:
    """Every reduction over every combination of the axes of a cube; all dtypes over one of them."""
    for one, axis in itertools.product(reductions, AXES):
        few = tuple(d for d in one.dtypes if d in ("bool", "int8", "float64"))
        dtypes = one.dtypes if axis in (None, 1) else few
        values = "distinct" if one.accuracy == 0 and one.gradient else "balanced" if one.ours is tg.prod else "random"
        yield Case(
            functools.partial(one.ours, axis=axis),
            [any_dtype("n", "p", "k", values=values)],
            name=f"{one.ours.__name__} axis {axis}",
            dtypes=dtypes,
            layouts=one.layouts,
            oracle=functools.partial(one.oracle, axis=axis),
            accuracy=one.accuracy,
            condition=one.terms and functools.partial(one.terms, axis=axis),
            gradient=one.gradient and axis in (None, 1, (0, 2)),
        )


def kept(x: Any) -> Any:
    """The axes stay, of length 1."""
    return tg.sum(x, 0, keepdims=True), tg.max(x, (0, 1), keepdims=True), tg.mean(x, -1, keepdims=True)


def kept_oracle(x: Any) -> Any:
    """The same with NumPy."""
    return np.sum(x, 0, keepdims=True), np.max(x, (0, 1), keepdims=True), np.mean(x, -1, keepdims=True)


def nan_at(position: int) -> list[float]:
    """Twelve numbers with a NaN at one place."""
    numbers = [3.0, -1.0, 7.0, 2.0, 5.0, -4.0, 0.0, 6.0, 1.0, -2.0, 4.0, 8.0]
    numbers[position] = float("nan")
    return numbers


def extremes(x: Any) -> Any:
    """All that depends on order."""
    return tg.max(x), tg.min(x), tg.argmax(x), tg.argmin(x)


def extremes_oracle(x: Any) -> Any:
    """The same with NumPy."""
    return np.max(x), np.min(x), np.argmax(x), np.argmin(x)


def positions() -> Iterator[Case]:
    """NaN in every position; ties; argmax over axes and dtypes."""
    for place in range(12):
        yield Case(
            extremes,
            [fixed(nan_at(place))],
            name=f"extremes with nan at {place}",
            traps=("T23",),
            accuracy=0,
            oracle=extremes_oracle,
        )
    for place in (0, 5, 11):
        rows = np.reshape(nan_at(place), (3, 4)).tolist()
        for axis in (0, 1):
            yield Case(
                lambda x, axis=axis: (tg.max(x, axis), tg.min(x, axis), tg.argmax(x, axis), tg.argmin(x, axis)),
                [fixed(rows, None)],
                name=f"extremes axis {axis} with nan at {place}",
                dtypes=("float16", "bfloat16", "float32", "float64"),
                traps=("T23",),
                accuracy=0,
                oracle=lambda x, axis=axis: (np.max(x, axis), np.min(x, axis), np.argmax(x, axis), np.argmin(x, axis)),
            )
    for ours, oracle in ((tg.argmax, np.argmax), (tg.argmin, np.argmin)):
        for along, values in itertools.product((None, 0, 1, -1), ("distinct", "ties")):
            yield Case(
                functools.partial(ours, axis=along),
                [any_dtype("n", "m", values=values)],
                dtypes=REAL if along is None else ("int32", "float64"),
                name=f"{ours.__name__} axis {along} {values}",
                oracle=functools.partial(oracle, axis=along),
                traps=("T31",),
            )


NOTHING: Final = f64(0)
EMPTY: Final = f64(0, 3)

WRITTEN: Final = (
    Case(
        kept,
        [f64("n", "m")],
        name="keepdims",
        oracle=kept_oracle,
        condition=lambda x: (sum_terms(x, 0)[None], np.max(x), average_terms(x, -1)[:, None]),
    ),
    Case(tg.sum, [f64()], name="sum of a scalar", traps=("T36",), oracle=lambda x: x),
    Case(tg.sum, [i8()], name="sum of an int8 scalar", traps=("T36",), oracle=lambda x: x),
    Case(
        tg.sum,
        [fixed([127, 127, 127], "int8")],
        name="sum of int8 in int64",
        traps=("T14", "T19"),
        oracle=lambda x: 381,
    ),
    Case(tg.sum, [fixed([255, 255], "uint8")], name="sum of uint8 in uint64", traps=("T14",), oracle=lambda x: 510),
    Case(
        lambda x: (tg.sum(x), tg.prod(x[:2])),
        [fixed([3**19, 3**19, 2**53, 1], "int64")],
        name="sum and prod of integers with many digits",
        traps=("T14",),
        oracle=lambda x: (2 * 3**19 + 2**53 + 1, 3**38),
    ),
    Case(
        lambda x: (tg.max(x), tg.min(x), tg.argmax(x), tg.argmin(x)),
        [fixed([2**53, 2**53 + 1, -(2**53), -(2**53) - 1], "int64")],
        name="extremes of integers with many digits",
        traps=("T14",),
        oracle=extremes_oracle,
    ),
    Case(
        lambda x: (tg.sum(x), tg.max(x), tg.argmin(x)),
        [any_dtype(70_001, values="distinct")],
        name="reductions of a long vector",
        dtypes=("float32", "float64"),
        layouts=("C", "strided", "reversed"),
        traps=("T20",),
        oracle=lambda x: (np.sum(x), np.max(x), np.argmin(x)),
        condition=lambda x: (np.sum(abs(x)), 1, 1),
        accuracy=64,
    ),
    Case(
        lambda x: (tg.sum(x, 0), tg.sum(x, 1), tg.min(x, 0), tg.max(x, 1)),
        [f64(301, 203)],
        name="reductions of a large matrix",
        layouts=("C", "F", "strided"),
        oracle=lambda x: (np.sum(x, 0), np.sum(x, 1), np.min(x, 0), np.max(x, 1)),
        condition=lambda x: (np.sum(abs(x), 0), np.sum(abs(x), 1), 1, 1),
        accuracy=64,
    ),
    Case(
        lambda x: (tg.sum(tg.transpose(x), 0), tg.max(tg.transpose(x), 1), tg.sum(tg.transpose(x)[1:], -1)),
        [f64("n", "m")],
        name="reductions of a transposed array",
        traps=("T60",),
        oracle=lambda x: (np.sum(x.T, 0), np.max(x.T, 1), np.sum(x.T[1:], -1)),
        condition=lambda x: (sum_terms(x.T, 0), np.max(x.T, 1), sum_terms(x.T[1:], -1)),
    ),
    Case(
        lambda x: (tg.sum(tg.transpose(x), 0), tg.min(tg.transpose(x), 1)),
        [f64(4, 4, static=True)],
        name="reductions of a transposed square",
        traps=("T60",),
        oracle=lambda x: (np.sum(x.T, 0), np.min(x.T, 1)),
        condition=lambda x: (sum_terms(x.T, 0), np.min(x.T, 1)),
    ),
    Case(
        lambda x: (tg.sum(x), tg.mean(x)),
        [f32("n", "m")],
        name="float32 stays float32",
        traps=("T14",),
        oracle=lambda x: (np.sum(x), np.mean(x)),
        condition=lambda x: (sum_terms(x), average_terms(x)),
    ),
    Case(
        tg.sum,
        [fixed([2.0**24, *[1.0] * 1000], "float32")],
        name="sum of large and small",
        traps=("T20",),
        oracle=lambda x: 16778216.0,
        condition=sum_terms,
        accuracy=1,
    ),
    Case(tg.sum, [f64(1000, low=0.0)], name="sum of a thousand", oracle=np.sum, condition=sum_terms, accuracy=0.1),
    Case(lambda x: (tg.all(x), tg.any(x)), [b1("n", "m")], name="all and any", oracle=lambda x: (np.all(x), np.any(x))),
    Case(
        lambda x: (tg.max(x, 1), tg.min(x, 1), tg.max(x, 0), tg.min(x, 0)),
        [fixed([[complex(end, -1), complex(end, -2)] for end in (-np.inf, np.inf)], "complex128")],
        name="extremes of complex numbers with infinite real parts",
        oracle=lambda x: (np.max(x, 1), np.min(x, 1), np.max(x, 0), np.min(x, 0)),
        accuracy=0,
    ),
    Case(tg.max, [NOTHING], name="max of nothing", raises=DomainError, traps=("T32",)),
    Case(lambda x: tg.min(x, 0), [EMPTY], name="min of nothing", raises=DomainError, traps=("T32",)),
    Case(tg.argmax, [NOTHING], name="argmax of nothing", raises=DomainError, traps=("T32",)),
    Case(lambda x: tg.argmin(x, 0), [EMPTY], name="argmin of nothing", raises=DomainError, traps=("T32",)),
    Case(lambda x: tg.max(x, 1), [EMPTY], name="max of no rows", oracle=lambda x: np.zeros(0), traps=("T32",)),
    Case(
        lambda x: (tg.mean(x), tg.sum(x), tg.prod(x)),
        [NOTHING],
        name="mean of nothing",
        traps=("T32",),
        oracle=lambda x: (np.nan, 0, 1),
    ),
    Case(
        lambda x: (tg.prod(x, 0), tg.sum(x, 0), tg.logsumexp(x, 0)),
        [EMPTY],
        name="reductions of no rows",
        traps=("T32",),
        oracle=lambda x: (np.ones(3), np.zeros(3), np.full(3, -np.inf)),
    ),
    Case(
        lambda x: (tg.all(x), tg.any(x)), [b1(0)], name="all of nothing", traps=("T32",), oracle=lambda x: (True, False)
    ),
)


def of_zeros(*values: float) -> Any:
    """An input with zeros at known places."""
    return fixed(list(values))


GRADIENTS: Final = (
    Case(
        lambda x: tg.grad(tg.max(x), x),
        [of_zeros(3.0, 1.0, 3.0, 2.0)],
        name="grad of max at ties",
        traps=("T68",),
        oracle=lambda x: np.array([0.5, 0, 0.5, 0]),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.min(x, 0)), x),
        [fixed([[1.0, 2.0], [1.0, 0.0], [1.0, 5.0]])],
        name="grad of min at ties",
        traps=("T68",),
        oracle=lambda x: np.array([[1 / 3, 0], [1 / 3, 1], [1 / 3, 0]]),
    ),
    Case(
        lambda x: tg.grad(tg.prod(x), x),
        [of_zeros(2.0, 3.0, 4.0)],
        name="grad of prod",
        traps=("T74",),
        oracle=lambda x: np.array([12.0, 8, 6]),
    ),
    Case(
        lambda x: tg.grad(tg.prod(x), x),
        [of_zeros(2.0, 0.0, 4.0)],
        name="grad of prod with a zero",
        traps=("T74",),
        oracle=lambda x: np.array([0.0, 8, 0]),
    ),
    Case(
        lambda x: tg.grad(tg.prod(x), x),
        [of_zeros(0.0, 0.0, 4.0)],
        name="grad of prod with two zeros",
        traps=("T74",),
        oracle=lambda x: np.zeros(3),
    ),
    Case(
        lambda x: tg.grad(tg.prod(x), x),
        [of_zeros(1e-200, 1e-150, 1.0)],
        name="grad of prod that underflows",
        traps=("T74",),
        oracle=lambda x: np.array([1e-150, 1e-200, 0]),
    ),
    Case(
        lambda x: tg.grad(tg.prod(x), x),
        [of_zeros(1e200, 2.0, 1e200)],
        name="grad of prod that overflows",
        traps=("T74",),
        oracle=lambda x: np.array([2e200, np.inf, 2e200]),
    ),
    Case(
        lambda x: tg.jacobian(tg.grad(tg.prod(x), x), x),
        [of_zeros(0.0, 0.0, 4.0)],
        name="hessian of prod with two zeros",
        traps=("T74",),
        oracle=lambda x: np.array([[0.0, 4, 0], [4, 0, 0], [0, 0, 0]]),
    ),
    Case(
        lambda x: tg.grad(tg.sqrt(tg.sum(x * x) + 0.0), x),
        [of_zeros(3.0, 4.0)],
        name="grad of a norm",
        oracle=lambda x: x / 5,
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.sum(x, 0) ** 2), x),
        [f64("n", "m")],
        name="grad of a sum of sums",
        oracle=lambda x: np.broadcast_to(2 * np.sum(x, 0), x.shape),
        condition=lambda x: 2 * sum_terms(x, 0),
    ),
    Case(
        lambda x: tg.grad(tg.mean(tg.cast(x, "float32") ** 2), x),
        [f64("n")],
        name="grad of mean through float32",
        accuracy=1e10,
        oracle=lambda x: 2 * x / x.size,
    ),
)

CHOSEN: Final = (
    twin(
        "sum and prod with where and initial",
        lambda m, x: (m.sum(x, 0, where=x > 0, initial=2.0), m.prod(x, 1, where=x > 0, initial=-1.0)),
        f64("n", "k"),
        gradient=True,
        condition=lambda x: (sum_terms(x, 0), np.prod(np.where(x > 0, x, 1), 1) * x.size),
    ),
    twin(
        "max and min with where and initial",
        lambda m, x: (m.max(x, 1, where=x > 0, initial=0.5), m.min(x, initial=-0.25, keepdims=True)),
        f64("n", "m", values="distinct"),
        accuracy=0,
        layouts=BARE,
    ),
    twin("max of nothing with initial", lambda m, x: m.max(x, initial=-1.0), NOTHING, traps=("T32",)),
    twin(
        "all and any with where", lambda m, x: (m.all(x > -2, 0, where=x < 1), m.any(x > 2, where=x < 0)), f64("n", "m")
    ),
    twin("sum of integers with initial", lambda m, x: m.sum(x, initial=1000), i8("n"), traps=("T19",)),
    twin(
        "sum in a dtype", lambda m, x: (m.sum(x, dtype="float32"), m.prod(x, dtype="int64")), fixed([1, 2, 3], "uint8")
    ),
    twin("count_nonzero", lambda m, x: (m.count_nonzero(x), m.count_nonzero(x, 1)), f64("n", "m", values="ties")),
    twin(
        "ptp", lambda m, x: (m.ptp(x, 0), m.ptp(x, 1, keepdims=True)), f64("n", "m", values="distinct"), gradient=True
    ),
    twin(
        "argmax with keepdims", lambda m, x: (m.argmax(x, 1, keepdims=True), m.argmin(x, keepdims=True)), f64("n", "m")
    ),
    Case(tg.ptp, [NOTHING], name="ptp of nothing", raises=DomainError, traps=("T32",)),
    Case(lambda x: tg.max(x, where=x > 0), [f64("n")], name="max with where alone", raises=InputError),
    Case(
        lambda x: (np.sum(x, axis=0), np.add.reduce(x, axis=1, keepdims=True), np.logical_or.reduce(x > 2, axis=None)),
        [f64("n", "m")],
        name="numpy reductions",
        oracle=lambda x: (np.sum(x, axis=0), np.sum(x, axis=1, keepdims=True), np.any(x > 2)),
        condition=lambda x: (sum_terms(x, 0), sum_terms(x, 1)[:, None], 1),
    ),
)

MIXED: Final = (
    Case(
        lambda x, y: tg.sum(x * y, -1),
        [u8("n", "m"), i32("n", "m")],
        name="sum of a product of integers",
        oracle=lambda x, y: np.sum(x.astype(int) * y, -1),
    ),
    Case(
        lambda x, y: (tg.sum((x - y) ** 2), tg.mean(abs(x - y), 0)),
        [f64("n", "m"), f64("m")],
        name="sum of squared differences",
        oracle=lambda x, y: (np.sum((x - y) ** 2), np.mean(abs(x - y), 0)),
        gradient=False,
        condition=lambda x, y: (sum_terms((x - y) ** 2), sum_terms(x, 0)),
    ),
)

CASES: Final = of_family(FAMILY.path, over_axes(REDUCTIONS), positions(), WRITTEN, GRADIENTS, CHOSEN, MIXED)
