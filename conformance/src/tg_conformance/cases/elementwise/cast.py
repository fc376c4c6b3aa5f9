"""Cases of `ops/elementwise/cast`: every dtype to every other, with declared results for what does not fit."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.ops.elementwise.cast import FAMILY
from tg.plugin.case import OTHER_SHAPE, SAME_SHAPE, Case, Input, any_dtype, f32, fixed
from tg.types.dtypes import BOOL, DTYPES, is_complex, is_float, is_integer, numpy_dtype
from tg_conformance import draw
from tg_conformance.cases.elementwise.record import wrapped
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, Any]


def to_integer(value: Any, limits: np.iinfo[Any]) -> int:
    """A floating value as an integer: truncated, NaN 0, saturated."""
    if np.isnan(value):
        return 0
    if np.isinf(value):
        return int(limits.max if value > 0 else limits.min)
    return max(int(limits.min), min(int(limits.max), int(value)))


def oracle(dtype: str, x: Array) -> Array:
    """The declared conversion, element by element."""
    source = x.dtype.kind
    if dtype == BOOL:
        return np.asarray(x != 0)
    if source == "c" and not is_complex(dtype):
        x = x.real
        source = "f"
    if is_integer(dtype):
        limits = np.iinfo(dtype)
        one = (lambda v: to_integer(v, limits)) if source == "f" else (lambda v: wrapped(int(v), np.dtype(dtype)))
        return np.array([one(v) for v in x.ravel()], dtype).reshape(x.shape)
    return x.astype(numpy_dtype(dtype))


def hostile(rng: Any, dtype: str, shape: Any) -> Array:
    """Special values, and those around the limits of integers."""
    values = draw.specials(dtype)
    if not is_float(dtype):
        return values
    limits = [
        float(v) for name in ("int8", "uint8", "int32", "int64") for v in (np.iinfo(name).min, np.iinfo(name).max)
    ]
    more = [*limits, 300.7, -300.7, 1e20, -1e20, 254.9, 255.5, -0.9]
    with np.errstate(over="ignore"):
        return np.concatenate([values.astype(np.float64), more]).astype(numpy_dtype(dtype))


def conversions() -> Iterator[Case]:
    """A case for each target dtype, with each source dtype."""
    for target in DTYPES:
        sources = tuple(d for d in DTYPES if d != target)
        facts: dict[str, Any] = {
            "needs": frozenset({target}),
            "accuracy": 0,
            "oracle": functools.partial(oracle, target),
        }
        subject = functools.partial(tg.cast, dtype=target)
        yield Case(
            subject,
            [any_dtype("n", "m")],
            name=f"to {target}",
            dtypes=sources,
            layouts=(*SAME_SHAPE, *OTHER_SHAPE),
            **facts,
        )
        source = Input(None, ("n",), values=hostile)
        yield Case(
            subject,
            [source],
            name=f"to {target} hostile",
            dtypes=sources,
            layouts=("C", "strided", "reversed"),
            static=(False,),
            traps=("T11", "T12"),
            **facts,
        )


WRITTEN: Final = (
    Case(
        lambda x: tg.cast(x, "uint8"),
        [fixed([float("nan"), float("inf"), -1.5, 300.7, 1e20, -float("inf")])],
        name="to uint8 declared",
        oracle=lambda x: np.array([0, 255, 0, 255, 255, 0], np.uint8),
        traps=("T12",),
    ),
    Case(
        lambda x: tg.cast(x, "int64"),
        [fixed([float("nan"), 1e20, -1e20, 9.2e18])],
        name="to int64 saturates",
        traps=("T12",),
        oracle=lambda x: np.array([0, 2**63 - 1, -(2**63), 9_200_000_000_000_000_000]),
    ),
    Case(
        lambda x: (tg.cast(x, "float64"), x * 0.5),
        [fixed([2**24 + 1, 2**53 - 1, -123_456_789_012_345, 2**31 + 1], "int64")],
        name="integers with many digits",
        traps=("T17",),
        accuracy=0,
        oracle=lambda x: (np.array([float(int(v)) for v in x]), np.array([int(v) / 2 for v in x])),
    ),
    Case(
        lambda x: tg.cast(tg.cast(x, "float64") * 2, "float32"),
        [f32("n", "m")],
        name="there and back",
        oracle=lambda x: 2 * x,
        gradient=True,
    ),
    Case(
        lambda x, p: (x * p, p * x, x * (x > 0)),
        [fixed([float("nan"), float("inf"), -2.0, 3.0]), fixed([False, False, False, True], "bool")],
        name="products with bool",
        note="NaN * False is NaN, -2.0 * False is -0.0",
        oracle=lambda x, p: (x * p, p * x, x * (x > 0)),
        signed_zero=True,
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.cast(tg.cast(x, "int32"), "float32") * x), x),
        [f32("n")],
        name="grad through an integer",
        oracle=np.trunc,
    ),
)

CASES: Final = of_family(FAMILY.path, conversions(), WRITTEN)
