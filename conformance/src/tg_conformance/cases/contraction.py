"""Cases of `ops/contraction`: batches that broadcast, vectors on either side, no elements, every layout."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import ShapeError
from tg.ops.contraction import FAMILY
from tg.plugin.case import SAME_SHAPE, Case, Input, any_dtype, f32, f64, fixed, i8
from tg_conformance.cases.family import of_family, twin

if TYPE_CHECKING:
    from collections.abc import Iterator

DTYPES: Final = ("int8", "int32", "int64", "uint8", "float32", "float64", "complex64", "complex128")
SHAPES: Final[tuple[tuple[tuple[int | str, ...], tuple[int | str, ...]], ...]] = (
    (("n", "m"), ("m", "k")),
    (("n",), ("n",)),
    (("n", "m"), ("m",)),
    (("m",), ("m", "k")),
    (("b", "n", "m"), ("b", "m", "k")),
    (("b", "n", "m"), ("m", "k")),
    (("n", "m"), ("b", "m", "k")),
    ((1, "n", "m"), ("b", "m", "k")),
    (("b", "n", "m"), ("m",)),
    (("m",), ("b", "m", "k")),
    (("n", 1), (1, "k")),
    ((1, "m"), ("m", 1)),
)


def terms(x: Any, y: Any) -> Any:
    """n times the product of magnitudes."""
    return np.matmul(abs(x), abs(y)) * (x.shape[-1] + 1)


def exact(x: Any, y: Any) -> Any:
    """NumPy's product, which wraps for integers."""
    return np.matmul(x, y)


def products() -> Iterator[Case]:
    """The product of every pair of shapes; all dtypes for the first."""
    for (a, b), dtypes in zip(SHAPES, itertools.chain([DTYPES], itertools.repeat(("int32", "float64"))), strict=False):
        inputs = [Input(None, s, static=1 in s) for s in (a, b)]
        yield Case(
            tg.matmul,
            inputs,
            name=f"matmul {'x'.join(map(str, a))} {'x'.join(map(str, b))}",
            dtypes=dtypes,
            layouts=(*SAME_SHAPE, *(("one",) if "b" not in b else ())),
            oracle=exact,
            condition=terms,
            accuracy=1,
            gradient=True,
            traps=("T38", "T41"),
        )


WRITTEN: Final = (
    Case(
        tg.matmul,
        [f64("n", 0), f64(0, "k")],
        name="matmul over nothing",
        traps=("T33",),
        oracle=lambda x, y: np.zeros((x.shape[0], y.shape[1])),
    ),
    Case(tg.matmul, [f64(0, "m"), f64("m", "k")], name="matmul of no rows", traps=("T33",), oracle=np.matmul),
    Case(
        lambda x, y: tg.matmul(x, y) + 1.0,
        [f32(0, 3), f32(3, 0)],
        name="matmul of nothing",
        traps=("T33",),
        oracle=lambda x, y: np.zeros((0, 0)),
    ),
    Case(
        tg.matmul,
        [i8("n", "m"), f64("m", "k")],
        name="matmul promotes",
        traps=("T18",),
        oracle=lambda x, y: x @ y,
        condition=terms,
        accuracy=1,
    ),
    Case(
        tg.matmul,
        [fixed([[2**31 + 1, 3], [-5, 7]], "int64"), fixed([[5, 1], [2**33 + 1, -(2**20)]], "int64")],
        name="matmul of integers with many digits",
        traps=("T18",),
        oracle=lambda x, y: x @ y,
    ),
    Case(
        tg.matmul,
        [any_dtype(70, 131), any_dtype(131, 67)],
        name="matmul of large matrices",
        dtypes=("float32", "float64"),
        layouts=("C", "F", "strided", "reversed"),
        traps=("T38",),
        oracle=lambda x, y: x @ y,
        condition=terms,
        accuracy=1,
    ),
    Case(
        lambda x, y: (x @ y, x[:1] @ y, x @ y[:, :1], x[1] @ y, y @ x[:, 2]),
        [f64(4, 4, static=True), f64(4, 4, static=True)],
        name="matmul of squares and their rows",
        traps=("T41", "T60"),
        oracle=lambda x, y: (x @ y, x[:1] @ y, x @ y[:, :1], x[1] @ y, y @ x[:, 2]),
        condition=lambda x, y: (terms(x, y), terms(x[:1], y), terms(x, y[:, :1]), terms(x[1], y), terms(y, x[:, 2])),
        gradient=True,
        accuracy=1,
    ),
    Case(
        lambda x: x @ x.T,
        [f64("n", "m")],
        name="matmul with its transpose",
        oracle=lambda x: x @ x.T,
        gradient=True,
        condition=lambda x: terms(x, x.T),
        accuracy=1,
    ),
    Case(
        lambda x: x.T @ x[:, ::-1],
        [f64("n", "m")],
        name="matmul of views",
        oracle=lambda x: x.T @ x[:, ::-1],
        gradient=True,
        condition=lambda x: terms(x.T, x[:, ::-1]),
        accuracy=1,
    ),
    Case(
        lambda a, x, y: a @ x - y,
        [f64("n", "m"), f64("m"), f64("n")],
        name="residual",
        oracle=lambda a, x, y: a @ x - y,
        gradient=True,
        condition=lambda a, x, y: terms(a, x) + abs(y),
        accuracy=2,
    ),
    Case(
        tg.dot, [f64("n"), f64("n")], name="dot of vectors", oracle=np.dot, condition=terms, accuracy=1, gradient=True
    ),
    Case(tg.dot, [f64(), f64("n", "m")], name="dot of a scalar", oracle=np.multiply, gradient=True),
    Case(
        tg.outer,
        [any_dtype("n"), any_dtype("m")],
        name="outer",
        dtypes=("int32", "float32", "float64"),
        oracle=np.outer,
        gradient=True,
    ),
    Case(
        tg.matmul,
        [f64("n", "m"), f64("k", "l")],
        name="matmul of lengths that differ",
        raises=ShapeError,
        static=(True,),
    ),
    Case(
        tg.matmul,
        [f64("n", "m"), f64("k", "l")],
        name="matmul of run-time lengths that differ",
        raises=ShapeError,
        static=(False,),
    ),
    Case(
        lambda x, y: tg.jacobian(tg.grad(tg.sum((x @ y) ** 2), y), y),
        [f64(3, 2), f64(2)],
        name="hessian of least squares",
        oracle=lambda x, y: 2 * x.T @ x,
        condition=lambda x, y: 8 * abs(x).T @ abs(x),
    ),
)

FEW: Final = ("int32", "float64", "complex128")


def general() -> Iterator[Case]:
    """Products over chosen axes, of operands of any rank."""
    shapes: Any = (
        (("n", "m"), ("b", "m", "k")),
        (("b", "n", "m"), ("m",)),
        (("b", "n", "m"), ("m", "k")),
        (("m",), ("b", "m", "k")),
        (("p", "n", "m"), ("b", "m", "k")),
    )
    for a, b in shapes:
        yield twin(
            f"dot {'x'.join(a)} {'x'.join(b)}",
            lambda m, x, y: m.dot(x, y),
            Input(None, a),
            Input(None, b),
            dtypes=FEW,
            gradient=True,
            condition=lambda x, y: np.dot(abs(x), abs(y)) * (x.shape[-1] + 1),
        )
    axes: Any = (
        (1, ("n", "m"), ("m", "k")),
        (2, ("b", "n", "m"), ("n", "m", "k")),
        (0, ("n",), ("k", "p")),
        (((0, 2), (1, 0)), ("n", "b", "m"), ("m", "n")),
        ((-1, 0), ("n", "m"), ("m", "k")),
        (((1, 0), (0, 1)), ("n", "m"), ("m", "n")),
    )
    for chosen, a, b in axes:
        yield twin(
            f"tensordot {chosen}",
            lambda m, x, y, chosen=chosen: m.tensordot(x, y, axes=chosen),
            Input(None, a),
            Input(None, b),
            dtypes=FEW,
            gradient=True,
            condition=lambda x, y, chosen=chosen: np.tensordot(abs(x), abs(y), axes=chosen) * (x.size + 1),
        )


VECTORS: Final = (
    twin(
        "vecdot",
        lambda m, x, y: (m.vecdot(x, y), m.vecdot(x, y[0], axis=-1)),
        any_dtype("n", "m"),
        any_dtype("n", "m"),
        dtypes=("int8", "float32", "float64", "complex64", "complex128"),
        gradient=True,
        layouts=(*SAME_SHAPE, "one"),
        condition=lambda x, y: (np.vecdot(abs(x), abs(y)) * x.size, np.vecdot(abs(x), abs(y[0])) * x.size),
    ),
    Case(
        lambda x, y: tg.vecdot(x, y, axis=0),
        [f64("n", "k"), f64("n", "k")],
        name="vecdot axis 0",
        oracle=lambda x, y: np.sum(x * y, 0),
        condition=lambda x, y: np.sum(abs(x * y), 0) * x.size,
        gradient=True,
    ),
    twin(
        "matvec and vecmat",
        lambda m, a, x, y: (m.matvec(a, x), m.vecmat(y, a), m.matvec(a, x[0])),
        any_dtype("b", "n", "m"),
        any_dtype("b", "m"),
        any_dtype("b", "n"),
        dtypes=FEW,
        layouts=("C", "F", "strided", "reversed"),
        gradient=True,
        condition=lambda a, x, y: (40 * a.size, 40 * a.size, 40 * a.size),
    ),
    twin(
        "inner",
        lambda m, x, y: (m.inner(x, y), m.inner(x[0], y[0]), m.inner(x[0, 0], y)),
        any_dtype("n", "m"),
        any_dtype("k", "m"),
        dtypes=FEW,
        gradient=True,
        condition=lambda x, y: (np.inner(abs(x), abs(y)) * x.size, 20 * x.size, 20),
    ),
    twin("outer of matrices", lambda m, x, y: m.outer(x, y), f64("n", "k"), f64("b", "p"), gradient=True),
    twin(
        "kron",
        lambda m, x, y: (m.kron(x, y), m.kron(x[0], y), m.kron(x, y[:, 0])),
        f64("n", "k"),
        f64("b", "p"),
        gradient=True,
    ),
    twin("kron of a cube", lambda m, x, y: m.kron(x, y), i8("b", "p", 2), i8("k", 3)),
    twin("dot of nothing", lambda m, x, y: (m.dot(x, y), m.inner(x, x)), f64(0), f64(0), traps=("T33",)),
    twin("tensordot over nothing", lambda m, x, y: m.tensordot(x, y, 1), f64("n", 0), f64(0, "k"), traps=("T33",)),
    Case(
        lambda x, y: tg.tensordot(x, y, ((0,), (1,))),
        [f64(3, 2), f64(2, 4)],
        name="tensordot of lengths that differ",
        raises=ShapeError,
        static=(True,),
    ),
    Case(
        lambda x, y: tg.tensordot(x, y, ((1, 2), (0, 1))),
        [f64(2, 2, 6), f64(3, 4, 2)],
        name="tensordot of other lengths with the same product",
        raises=ShapeError,
        static=(False,),
    ),
    Case(tg.vecdot, [f64(2, 1), f64(2, 3)], name="vecdot of one and several", raises=ShapeError, static=(False,)),
    twin(
        "products of bool",
        lambda m, x, y: (m.vecdot(x, y), m.vecmat(y[0], m.transpose(x)), m.matmul(x, m.transpose(y))),
        Input("bool", ("n", "m")),
        Input("bool", ("n", "m")),
    ),
    Case(tg.vecdot, [f64("n"), f64()], name="vecdot of a scalar", raises=ShapeError),
    Case(lambda x: tg.tensordot(x, x, ((0, 1), (0,))), [f64("n", "n")], name="tensordot of axes", raises=ShapeError),
)

CASES: Final = of_family(FAMILY.path, products(), general(), WRITTEN, VECTORS)
