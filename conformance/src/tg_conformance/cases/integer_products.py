"""Cases of `ops/integer_products`: the whole range of both dtypes, more terms than float32 holds, zero points.

The oracle adds up int64.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import DtypeError, ShapeError
from tg.ops.integer_products import FAMILY
from tg.plugin.case import SAME_SHAPE, Case, Input, f32, i8, u8
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

FACTORS: Final = ("int8", "uint8")
SHAPES: Final[tuple[tuple[tuple[int | str, ...], tuple[int | str, ...]], ...]] = (
    (("n", "m"), ("m", "k")),
    (("m",), ("m", "k")),
    (("n", "m"), ("m",)),
    (("b", "n", "m"), ("m", "k")),
    ((1, "n", "m"), ("b", "m", "k")),
)


def whole(draws: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
    """Integers of the whole range of a dtype, of which every fourth is a limit."""
    limits = np.iinfo(dtype)
    values = draws.integers(limits.min, limits.max, shape, endpoint=True)
    ends = draws.choice([limits.min, limits.max], shape)
    return np.where(draws.random(shape) < 0.25, ends, values).astype(dtype)


def largest(draws: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
    """The number of the largest magnitude everywhere: no sum of as many terms is larger."""
    return np.full(shape, -128 if dtype == "int8" else 255, dtype)


def product(x: Any, y: Any, a: Any = 0, b: Any = 0) -> Any:
    """The product of factors less their zero points, in int64."""
    return np.matmul(x.astype(np.int64) - a, y.astype(np.int64) - b).astype(np.int32)


def products() -> Iterator[Case]:
    """The product of every pair of shapes; all pairs of dtypes for the first."""
    for number, (a, b) in enumerate(SHAPES):
        for pair in itertools.product(FACTORS, FACTORS) if number == 0 else [("uint8", "int8")]:
            yield Case(
                tg.integer_matmul,
                [Input(t, s, values=whole, static=1 in s) for t, s in zip(pair, (a, b), strict=True)],
                name=f"integer_matmul {pair[0]} {pair[1]} {'x'.join(map(str, a))} {'x'.join(map(str, b))}",
                layouts=(*SAME_SHAPE, *(("one",) if number == 0 else ())),
                oracle=product,
            )


def deep() -> Iterator[Case]:
    """Sums of more terms than float32 holds, of the largest numbers and of others."""
    for pair, depth in (
        (("int8", "int8"), 1025), (("uint8", "uint8"), 259), (("uint8", "int8"), 1100), (("int8", "uint8"), 515),
    ):  # fmt: skip
        for values in (largest, whole):
            yield Case(
                tg.integer_matmul,
                [Input(pair[0], (5, depth), values=values), Input(pair[1], (depth, 19), values=values)],
                name=f"integer_matmul of {depth} terms, {pair[0]} {pair[1]}, {values.__name__}",
                layouts=("C", "F", "reversed") if values is whole else ("C",),
                oracle=product,
            )


WRITTEN: Final = (
    Case(
        lambda x, y: (
            tg.integer_matmul(x, y, 128, -3),
            tg.integer_matmul(x, y, 128),
            tg.integer_matmul(x, y, y_zero_point=-3),
            tg.integer_matmul(x[0], y[:, 1], 7, -128),
        ),
        [u8("n", "m", values=whole), i8("m", "k", values=whole)],
        name="integer_matmul of zero points",
        oracle=lambda x, y: (
            product(x, y, 128, -3),
            product(x, y, 128),
            product(x, y, 0, -3),
            product(x[0], y[:, 1], 7, -128),
        ),
    ),
    Case(
        tg.integer_matmul,
        [i8("n", "m", values=whole), u8("m", "k", values=whole), i8("n", values=whole), u8("k", values=whole)],
        name="integer_matmul of zero points for rows and columns",
        oracle=lambda x, y, a, b: product(x, y, a.astype(int)[:, None], b.astype(int)),
    ),
    Case(
        tg.integer_matmul,
        [
            u8("b", "n", "m", values=whole),
            i8("b", "m", "k", values=whole),
            u8("b", "n", 1, values=whole, static=True),
            i8("b", 1, "k", values=whole, static=True),
        ],
        name="integer_matmul of zero points in batches",
        oracle=lambda x, y, a, b: product(x, y, a.astype(int), b.astype(int)),
    ),
    Case(
        tg.integer_matmul, [i8("n", 0), u8(0, "k")], name="integer_matmul over nothing", traps=("T33",), oracle=product
    ),
    Case(
        tg.integer_matmul, [i8(0, "m"), i8("m", "k")], name="integer_matmul of no rows", traps=("T33",), oracle=product
    ),
    Case(
        lambda x, y: tg.integer_matmul(x, y).astype("float32") * np.float32(0.25) + 1.5,
        [u8("n", "m", values=whole), i8("m", "k", values=whole)],
        name="integer_matmul rescaled",
        oracle=lambda x, y: product(x, y).astype(np.float32) * np.float32(0.25) + np.float32(1.5),
    ),
    Case(
        tg.integer_matmul,
        [u8(70, 131, values=whole), i8(131, 67, values=whole)],
        name="integer_matmul of large matrices",
        layouts=("C", "F", "strided", "reversed"),
        oracle=product,
    ),
    Case(tg.integer_matmul, [f32("n", "m"), i8("m", "k")], name="integer_matmul of floats", raises=DtypeError),
    Case(
        lambda x, y: tg.integer_matmul(x, y, np.int8(3)),
        [u8("n", "m"), i8("m", "k")],
        name="integer_matmul of a zero point of another dtype",
        raises=DtypeError,
    ),
    Case(
        tg.integer_matmul,
        [i8("n", "m"), i8("k", "l")],
        name="integer_matmul of lengths that differ",
        raises=ShapeError,
        static=(True,),
    ),
    Case(
        tg.integer_matmul,
        [i8("n", "m"), i8("k", "l")],
        name="integer_matmul of run-time lengths that differ",
        raises=ShapeError,
        static=(False,),
    ),
)

CASES: Final = of_family(FAMILY.path, products(), deep(), WRITTEN)
