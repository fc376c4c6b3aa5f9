"""Cases of `ops/cumulative`: the accumulator, every axis, nothing to sum."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import ShapeError
from tg.ops.cumulative import FAMILY
from tg.plugin.case import SAME_SHAPE, Case, any_dtype, f64, fixed
from tg.types.dtypes import DTYPES, SIGNED, UNSIGNED
from tg_conformance.cases.family import of_family, twin

if TYPE_CHECKING:
    from collections.abc import Iterator

FLOATING: Final = ("float16", "bfloat16", "float32", "float64")
REAL: Final = ("bool", *SIGNED, *UNSIGNED, *FLOATING)


def wide_cumsum(x: Any, axis: Any = None) -> Any:
    """NumPy's running sum in the accumulator that tg declares."""
    kind = x.dtype if x.dtype.kind in "fc" else np.uint64 if x.dtype.kind == "u" else np.int64
    return np.cumsum(x, axis=axis, dtype=kind)


def terms(x: Any, axis: Any = None) -> Any:
    """n times the running sum of magnitudes."""
    return np.cumsum(abs(x), axis=axis) * x.size


def along(axis: int | None, *shape: str) -> Case:
    """The running sum along an axis of an array."""
    return Case(
        functools.partial(tg.cumsum, axis=axis),
        [any_dtype(*shape)],
        name=f"cumsum {len(shape)}d axis {axis}",
        dtypes=DTYPES if axis == 0 else ("int32", "float64"),
        layouts=(*SAME_SHAPE, "empty", "one"),
        traps=("T19",),
        oracle=functools.partial(wide_cumsum, axis=axis),
        condition=functools.partial(terms, axis=axis),
        accuracy=1,
        gradient=True,
    )


def wide_cumprod(x: Any, axis: Any = None) -> Any:
    """NumPy's running product in the accumulator that tg declares."""
    kind = x.dtype if x.dtype.kind in "fc" else np.uint64 if x.dtype.kind == "u" else np.int64
    return np.cumprod(x, axis=axis, dtype=kind)


def others() -> Iterator[Case]:
    """Running products and extrema along each axis."""
    for axis in (None, 0, 1):
        yield Case(
            functools.partial(tg.cumprod, axis=axis),
            [any_dtype("n", "p", values="balanced")],
            name=f"cumprod axis {axis}",
            dtypes=("int8", "uint8", "float32", "float64", "complex128") if axis == 0 else ("int32", "float64"),
            layouts=(*SAME_SHAPE, "empty", "one"),
            oracle=functools.partial(wide_cumprod, axis=axis),
            condition=lambda x, axis=axis: abs(np.cumprod(x, axis=axis)) * x.size,
            accuracy=1,
            gradient=True,
        )
        for ours, ufunc in ((tg.cummax, np.maximum), (tg.cummin, np.minimum)):
            yield Case(
                functools.partial(ours, axis=axis),
                [any_dtype("n", "m", values="distinct")],
                name=f"{ours.__name__} axis {axis}",
                dtypes=tuple(d for d in REAL if d != "bool") if axis == 0 else ("int32", "float64"),
                layouts=(*SAME_SHAPE, "empty", "one"),
                oracle=lambda x, axis=axis, ufunc=ufunc: ufunc.accumulate(
                    x.ravel() if axis is None else x, axis=axis or 0, dtype=x.dtype
                ),
                accuracy=0,
                gradient=True,
            )


def tangent_of_cumprod(x: Any) -> Any:
    """The gradient of the sum of running products: sums of products of the others, term by term."""
    n = x.size
    return np.array([sum(np.prod(np.delete(x[: i + 1], j)) for i in range(j, n)) for j in range(n)])


EXTREMA: Final = [2.0, 1.0, 2.0, float("nan"), 3.0, -np.inf, 5.0]

WRITTEN: Final = (
    Case(
        lambda x: tg.grad(tg.sum(tg.cumprod(x)), x),
        [fixed([2.0, 0.0, 3.0])],
        name="grad of cumprod with a zero",
        traps=("T67",),
        oracle=lambda x: np.array([1.0, 8.0, 0.0]),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.cumprod(x)), x),
        [fixed([2.0, 0.0, 3.0, 0.0, 5.0])],
        name="grad of cumprod with two zeros",
        traps=("T67",),
        oracle=tangent_of_cumprod,
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.cumprod(x, 1)), x),
        [fixed([[0.0, 2.0, 3.0], [1.0, 4.0, 0.0]])],
        name="grad of cumprod of rows with zeros",
        traps=("T67",),
        oracle=lambda x: np.stack([tangent_of_cumprod(row) for row in x]),
    ),
    Case(
        lambda x: tg.jacobian(tg.grad(tg.sum(tg.cumprod(x)), x), x),
        [fixed([0.0, 0.0, 4.0])],
        name="hessian of cumprod with two zeros",
        traps=("T67",),
        oracle=lambda x: np.array([[0.0, 5.0, 0.0], [5.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
    ),
    Case(
        lambda x: (tg.cummax(x), tg.cummin(x)),
        [fixed(EXTREMA, None)],
        name="running extrema with nan",
        dtypes=FLOATING,
        traps=("T23",),
        oracle=lambda x: (np.maximum.accumulate(x), np.minimum.accumulate(x)),
    ),
    Case(
        lambda x: (tg.cummax(x), tg.cummin(x), tg.cumprod(x)),
        [fixed([True, False, True], "bool")],
        name="running results of bool",
        oracle=lambda x: (np.array([True, True, True]), np.array([True, False, False]), np.array([1, 0, 0])),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.cummax(x) * np.array([1.0, 10.0, 100.0, 1000.0])), x),
        [fixed([1.0, 3.0, 3.0, 2.0])],
        name="grad of cummax at ties",
        traps=("T68",),
        oracle=lambda x: np.array([1.0, 10 + 50 + 500, 50 + 500, 0]),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.cummin(x, 0)), x),
        [fixed([[1.0, 5.0], [1.0, 4.0], [1.0, 4.0]])],
        name="grad of cummin at ties",
        traps=("T68",),
        oracle=lambda x: np.array([[1 + 1 / 2 + 1 / 3, 1], [1 / 2 + 1 / 3, 1 + 1 / 2], [1 / 3, 1 / 2]]),
    ),
    twin(
        "cumulative_sum",
        lambda m, x: (m.cumulative_sum(x, axis=0), m.cumulative_sum(x, axis=1, include_initial=True)),
        f64("n", "m"),
        condition=lambda x: (terms(x, 0), np.cumulative_sum(abs(x), axis=1, include_initial=True) * x.size),
        gradient=True,
    ),
    twin(
        "cumulative_prod",
        lambda m, x: m.cumulative_prod(x, axis=0, include_initial=True),
        f64("n", "k", values="balanced"),
        condition=lambda x: x.size,
        gradient=True,
    ),
    twin("cumsum in a dtype", lambda m, x: m.cumsum(x, dtype="float32"), fixed([1, 2, 3], "int8")),
    Case(tg.cumulative_sum, [f64("n", "m")], name="cumulative_sum along no axis", raises=ShapeError),
    Case(
        tg.cumsum,
        [fixed([100, 100, 100], "int8")],
        name="cumsum of int8 in int64",
        traps=("T19",),
        oracle=lambda x: np.array([100, 200, 300]),
    ),
    Case(
        tg.cumsum,
        [fixed([200, 200], "uint8")],
        name="cumsum of uint8 in uint64",
        traps=("T19",),
        oracle=lambda x: np.array([200, 400]),
    ),
    Case(
        tg.cumsum,
        [fixed([True, True, False, True], "bool")],
        name="cumsum of bool",
        oracle=lambda x: np.array([1, 2, 2, 3]),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.cumsum(x) ** 2), x),
        [f64("n")],
        name="grad of a square of cumsum",
        condition=lambda x: 4 * np.sum(abs(x)) * x.size,
        oracle=lambda x: 2 * np.cumsum(np.cumsum(x)[::-1])[::-1],
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.cumprod(x) ** 2), x),
        [fixed([0.75, -1.5, 2.0, -0.5])],
        name="second derivative of a square of cumprod",
        note="the cotangent of the running product depends on x too",
        oracle=lambda x: np.cumsum((2 * np.cumprod(x) ** 2)[::-1])[::-1] / x,
        condition=lambda x: 64,
        gradient=True,
    ),
    Case(
        lambda x: (tg.cumsum(x), tg.cummax(x)),
        [f64(9001)],
        name="running results of a long vector",
        layouts=("C", "strided", "reversed"),
        oracle=lambda x: (np.cumsum(x), np.maximum.accumulate(x)),
        condition=lambda x: (np.cumsum(abs(x)) * x.size, 1),
        accuracy=1,
    ),
    Case(
        lambda x: (tg.cumsum(x), tg.cummin(x)),
        [fixed([2**53, 1, 1, -(2**60), 3], "int64")],
        name="running results of integers with many digits",
        traps=("T19",),
        oracle=lambda x: (np.cumsum(x), np.minimum.accumulate(x)),
    ),
    Case(
        lambda x: tg.logcumsumexp(x, -1),
        [any_dtype("p", "n", low=-5, high=5)],
        name="logcumsumexp",
        dtypes=FLOATING,
        oracle=lambda x: np.logaddexp.accumulate(x, -1),
        condition=lambda x: x.shape[-1] + np.abs(np.logaddexp.accumulate(x, -1)),
        gradient=True,
    ),
    Case(
        lambda x: (tg.logcumsumexp(x), tg.logcumsumexp(-x)),
        [fixed([-np.inf, -np.inf, -1000.0, -1e5, 3.0, 1000.0, 999.0])],
        name="logcumsumexp without overflow",
        traps=("T28",),
        oracle=lambda x: (np.logaddexp.accumulate(x), np.logaddexp.accumulate(-x)),
        condition=lambda x: (10, 10),
    ),
    Case(
        lambda x: tg.grad(tg.logcumsumexp(x)[-1], x),
        [fixed([-np.inf, 0.0, 1000.0, 1000.0, -50.0])],
        name="grad of logcumsumexp",
        traps=("T28",),
        oracle=lambda x: np.exp(x - np.logaddexp.reduce(x)),
        condition=lambda x: 1000 * np.exp(x - np.logaddexp.reduce(x)),
    ),
    Case(lambda x: tg.jacobian(tg.cumsum(x), x), [f64(4)], name="jacobian of cumsum", oracle=lambda x: np.tri(4)),
    Case(lambda x: tg.cumsum(x, 2), [f64("n", "m")], name="cumsum along no axis", raises=ShapeError),
)

CASES: Final = of_family(
    FAMILY.path,
    along(None, "n"),
    along(0, "n"),
    along(0, "n", "m"),
    along(-1, "n", "m"),
    along(1, "n", "p", "k"),
    along(None, "n", "m"),
    others(),
    WRITTEN,
)
