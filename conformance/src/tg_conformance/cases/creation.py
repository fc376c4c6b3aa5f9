"""Cases of `ops/creation`: arrays made of numbers and of lengths that are known at run time only."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.ops.creation import FAMILY
from tg.plugin.case import Case, any_dtype, f32, f64, fixed, i32, i64
from tg.types.dtypes import DTYPES
from tg_conformance.cases.family import of_family


def like(x: Any) -> Any:
    """Arrays of the shape and dtype of another."""
    return tg.zeros_like(x), tg.ones_like(x), tg.full_like(x, 1)


def scalar(value: int, dtype: str = "int64") -> Any:
    """An integer that is known at run time only."""
    return fixed(value, dtype)


WRITTEN: Final = (
    Case(
        like,
        [any_dtype("n", "m")],
        name="like",
        dtypes=DTYPES,
        oracle=lambda x: (np.zeros_like(x), np.ones_like(x), np.ones_like(x)),
    ),
    Case(
        lambda: (tg.zeros((2, 3)), tg.ones(4, dtype="int8"), tg.full((2,), 7.5), tg.full((), 3)),
        [],
        name="constants",
        static=(True,),
        oracle=lambda: (np.zeros((2, 3)), np.ones(4), np.full(2, 7.5), 3),
    ),
    Case(tg.arange, [scalar(5)], name="arange of a value", oracle=lambda n: np.arange(5)),
    Case(tg.arange, [scalar(0)], name="arange of 0", oracle=lambda n: np.arange(0)),
    Case(tg.arange, [scalar(-3)], name="arange of a negative value", oracle=lambda n: np.arange(0)),
    Case(
        lambda n: tg.arange(2, n, 3), [scalar(12)], name="arange start stop step", oracle=lambda n: np.arange(2, 12, 3)
    ),
    Case(lambda n: tg.arange(n, 0, -2), [scalar(7)], name="arange downwards", oracle=lambda n: np.arange(7, 0, -2)),
    Case(
        lambda n: tg.arange(n, dtype="float32"),
        [scalar(4, "int32")],
        name="arange of int32 as float32",
        oracle=lambda n: np.arange(4),
    ),
    Case(tg.arange, [scalar(9, "uint8")], name="arange of uint8", oracle=lambda n: np.arange(9)),
    Case(
        lambda x: tg.arange(x.shape[0]) * 1.5,
        [f64("n", "m")],
        name="arange of a length",
        oracle=lambda x: np.arange(len(x)) * 1.5,
    ),
    Case(
        lambda x: tg.arange(x.shape[0] // 2, x.shape[0] * 2 + x.shape[1]),
        [f64("n", "m")],
        name="arange of arithmetic on lengths",
        oracle=lambda x: np.arange(len(x) // 2, len(x) * 2 + x.shape[1]),
    ),
    Case(
        lambda: tg.arange(0.0, 1.0, 0.25),
        [],
        name="arange of floats",
        oracle=lambda: np.arange(0, 1, 0.25),
        static=(True,),
    ),
    Case(
        lambda n, m: tg.zeros((n, m)) + 1,
        [scalar(3), scalar(2, "int32")],
        name="zeros of values",
        oracle=lambda n, m: np.ones((3, 2)),
    ),
    Case(
        lambda n, x: tg.full((n, x.shape[0]), x[0]),
        [scalar(3), f64("n")],
        name="full of a value",
        oracle=lambda n, x: np.full((3, len(x)), x[0]),
        gradient=True,
    ),
    Case(
        lambda x: (tg.eye(x.shape[0]), tg.eye(x.shape[0], x.shape[1], 1), tg.eye(x.shape[1], k=-2, dtype="int32")),
        [f64("n", "m")],
        name="eye",
        oracle=lambda x: (np.eye(len(x)), np.eye(x.shape[0], x.shape[1], 1), np.eye(x.shape[1], k=-2)),
    ),
    Case(tg.eye, [scalar(1)], name="eye of 1", traps=("T36",), oracle=lambda n: np.eye(1)),
    Case(lambda n: tg.sum(tg.arange(n)), [scalar(0)], name="sum of nothing made", oracle=lambda n: 0),
    Case(
        lambda x, n: x * tg.cast(tg.arange(n), "float32"),
        [f32(4), scalar(4)],
        name="a length that must match",
        oracle=lambda x, n: x * np.arange(4),
        gradient=True,
    ),
    Case(
        lambda i, j: tg.arange(i * j + 1),
        [i64(values=3), i32(values=2)],
        name="arange of a product of values",
        oracle=lambda i, j: np.arange(7),
    ),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
