"""Cases of `ops/cumulative`: the accumulator, every axis, nothing to sum."""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np

import tg
from tg.errors import ShapeError
from tg.ops.cumulative import FAMILY
from tg.plugin.case import SAME_SHAPE, Case, any_dtype, f64, fixed
from tg.types.dtypes import DTYPES
from tg_conformance.cases.family import of_family


def wide_cumsum(x: Any, axis: Any = None) -> Any:
    """NumPy's running sum in the accumulator that tg declares."""
    kind = x.dtype if x.dtype.kind in "fc" else np.uint64 if x.dtype.kind == "u" else np.int64
    return np.cumsum(x, axis=axis, dtype=kind)


def terms(x: Any, axis: Any = None) -> Any:
    """N times the running sum of magnitudes."""
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


WRITTEN: Final = (
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
    WRITTEN,
)
