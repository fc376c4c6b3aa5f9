"""Cases of `ops/creation`: arrays made of numbers and of lengths that are known at run time only."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import ShapeError
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
    Case(
        lambda x, i: (x + np.arange(700.0), tg.constant(np.arange(900.0) ** 2)[i], tg.sum(x) * np.arange(700.0)[::-1]),
        [f64("n", 1), fixed([0, 899, -2], "int64")],
        name="large constants",
        traps=("T16",),
        oracle=lambda x, i: (x + np.arange(700.0), (np.arange(900.0) ** 2)[i], np.sum(x) * np.arange(700.0)[::-1]),
        condition=lambda x, i: (abs(x) + np.arange(700.0), 1, np.sum(abs(x)) * len(x) * np.arange(700.0)[::-1]),
        gradient=True,
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

ENDS: Final = (f64(values=1.0), f64(values=4.2))

SPACED: Final = (
    Case(
        lambda a, b: tg.arange(a, b, 0.5),
        ENDS,
        name="arange of run-time floats",
        oracle=lambda a, b: np.arange(1.0, 4.2, 0.5),
    ),
    Case(
        lambda a, b: tg.arange(b, a, -0.7),
        ENDS,
        name="arange of run-time floats downwards",
        oracle=lambda a, b: np.arange(4.2, 1.0, -0.7),
        condition=lambda a, b: 4.2,
    ),
    Case(
        lambda a, n: (tg.arange(0, 17, n), tg.arange(9, -2, -n), tg.arange(a, n), tg.arange(n, 3 * n, n)),
        [i32(values=2), scalar(5)],
        name="arange of run-time steps",
        oracle=lambda a, n: (np.arange(0, 17, 5), np.arange(9, -2, -5), np.arange(2, 5), np.arange(5, 15, 5)),
    ),
    Case(
        lambda a, b: tg.sum(tg.arange(a, b, 0.5) ** 2),
        [f64(values=1.0), f64(values=3.2)],
        name="gradient of arange",
        gradient=True,
        oracle=lambda a, b: np.sum((a + 0.5 * np.arange(5)) ** 2),
    ),
    Case(
        lambda a, b, n: (
            tg.linspace(a, b, n),
            tg.linspace(a, b, n, endpoint=False),
            tg.linspace(a, b, 1),
            tg.linspace(b, a, 0),
            tg.linspace(a, b, n, retstep=True)[1],
        ),
        [*ENDS, scalar(6)],
        name="linspace",
        gradient=True,
        oracle=lambda a, b, n: (
            a + (b - a) * np.arange(6) / 5,
            a + (b - a) * np.arange(6) / 6,
            np.reshape(a, 1),
            np.zeros(0),
            (b - a) / 5,
        ),
    ),
    Case(
        lambda x, y: (tg.linspace(x, y, 5, axis=1), tg.linspace(x, 1.0, 4)),
        [f64("n"), f64("n")],
        name="linspace of arrays",
        oracle=lambda x, y: (np.linspace(x, y, 5, axis=1), np.linspace(x, 1.0, 4)),
        condition=lambda x, y: (6, 6),
    ),
    Case(
        lambda a: tg.linspace(a, 1.0, 3, retstep=True),
        [f32(values=0.25)],
        name="linspace keeps float32",
        traps=("T22",),
        oracle=lambda a: (np.array([0.25, 0.625, 1.0]), 0.375),
    ),
    Case(
        lambda a: (tg.linspace(a, -7, 5, dtype="int64"), tg.linspace(0, 10, a, retstep=True)[1]),
        [i64(values=4)],
        name="linspace of integers",
        traps=("T22",),
        oracle=lambda a: (np.linspace(4, -7, 5, dtype=int), 10 / 3),
    ),
    Case(
        lambda a, b: (
            tg.logspace(a, b, 4),
            tg.logspace(a, b, 3, base=2.0),
            tg.geomspace(a, b, 5),
            tg.geomspace(-b, -a, 3),
        ),
        ENDS,
        name="logspace and geomspace",
        oracle=lambda a, b: (
            np.logspace(1.0, 4.2, 4),
            np.logspace(1.0, 4.2, 3, base=2.0),
            np.geomspace(1.0, 4.2, 5),
            np.geomspace(-4.2, -1.0, 3),
        ),
        accuracy=32,
    ),
    Case(
        lambda n: (tg.indices((n, 2)), *tg.indices((n, 4), sparse=True)),
        [scalar(3)],
        name="indices",
        oracle=lambda n: (np.indices((3, 2)), *np.indices((3, 4), sparse=True)),
    ),
    Case(
        lambda x: (tg.vander(x), tg.vander(x, 3), tg.vander(x, 4, increasing=True)),
        [any_dtype("k")],
        name="vander",
        dtypes=("int32", "float64"),
        oracle=lambda x: (np.vander(x), np.vander(x, 3), np.vander(x, 4, increasing=True)),
        gradient=True,
        accuracy=8,
    ),
    Case(
        lambda i, n: (tg.one_hot(i, n), tg.one_hot(i, 3, dtype="int8")),
        [fixed([[0, 2], [-1, 5]], "int64"), scalar(4)],
        name="one_hot",
        oracle=lambda i, n: (
            np.where(i[..., None] == np.arange(4), 1.0, 0.0),
            np.where(i[..., None] == np.arange(3), 1, 0),
        ),
    ),
    Case(
        lambda x: (tg.zeros_like(tg.empty(x.shape)), tg.ones_like(tg.empty_like(x))),
        [f64("n", "m")],
        name="empty",
        oracle=lambda x: (np.zeros(x.shape), np.ones(x.shape)),
    ),
    Case(
        lambda x, y: tg.array([[x, 1.0], [2.0, x * y]]),
        [f64(), f32()],
        name="array of variables",
        gradient=True,
        oracle=lambda x, y: np.array([[x, 1.0], [2.0, x * y]]),
    ),
    Case(tg.arange, [f64("n")], name="arange of a vector", raises=ShapeError),
)

CASES: Final = of_family(FAMILY.path, WRITTEN, SPACED)
