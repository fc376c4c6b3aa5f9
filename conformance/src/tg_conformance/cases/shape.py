"""Cases of `ops/shape`: run-time sizes, broadcasting of lengths that happen to be 1, joining, permuting."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import ShapeError
from tg.ops.shape import FAMILY
from tg.plugin.case import SAME_SHAPE, Case, Input, any_dtype, f32, f64, fixed, i8, i64
from tg.types.dtypes import DTYPES
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

BARE: Final = (*SAME_SHAPE, "empty", "one")
FEW: Final = ("int8", "float32", "float64")


def permutations() -> Iterator[Case]:
    """Every permutation of three axes."""
    for axes in itertools.permutations(range(3)):
        yield Case(
            lambda x, axes=axes: tg.transpose(x, axes),
            [any_dtype("n", "m", "k")],
            name=f"transpose {axes}".replace(",", ""),
            dtypes=DTYPES if axes == (2, 0, 1) else FEW,
            layouts=BARE,
            oracle=lambda x, axes=axes: np.transpose(x, axes),
            gradient=True,
        )


def joined() -> Iterator[Case]:
    """Concatenation along each axis."""
    for axis in (0, 1, -1, -2):
        yield Case(
            lambda x, y, axis=axis: tg.concatenate([x, y, x], axis),
            [any_dtype("n", "m"), any_dtype("n", "m")],
            name=f"concatenate axis {axis}",
            dtypes=DTYPES if axis == 0 else FEW,
            layouts=BARE,
            gradient=True,
            oracle=lambda x, y, axis=axis: np.concatenate([x, y, x], axis),
        )


def added(x: Any, y: Any) -> Any:
    """Operations that broadcast: the sum, the product, the larger."""
    return x + y, x * y, tg.maximum(x, y)


def added_oracle(x: Any, y: Any) -> Any:
    """The same with NumPy."""
    return x + y, x * y, np.maximum(x, y)


def terms(x: Any, y: Any) -> Any:
    """The sizes of what is added."""
    return abs(x) + abs(y), abs(x * y), abs(x) + abs(y)


def of_length_one() -> Iterator[Case]:
    """Lengths that are 1 when the function is called and not known before: either operand, both, in turn."""
    sides: tuple[tuple[str, tuple[int | str, ...], tuple[int | str, ...]], ...] = (
        ("left", (1, "m"), ("n", "m")),
        ("right", ("n", "m"), ("n", 1)),
        ("both", (1, "m"), ("n", 1)),
        ("all", (1, 1), (1, 1)),
        ("left of empty", (1, 4), (0, 4)),
        ("right is 0-d", ("n", 1), ()),
        ("ranks", (1,), ("n", "m")),
    )
    for name, a, b in sides:
        for dtype in ("float64", "float32", "int32"):
            yield Case(
                added,
                [Input(dtype, a), Input(dtype, b)],
                name=f"length 1 {name} {dtype}",
                static=(False,),
                layouts=("C", "strided"),
                oracle=added_oracle,
                gradient=dtype == "float64",
                condition=terms,
                traps=("T37",),
            )


def resized(x: Any, n: Any, m: Any) -> Any:
    """A reshape to sizes that are values."""
    return tg.reshape(x, (n, m)) * 2


def folded(x: Any) -> Any:
    """A reshape to sizes that are lengths."""
    return tg.reshape(x, (x.shape[1], x.shape[0])), tg.reshape(x, (-1,)), tg.reshape(x, (x.shape[0], 1, -1))


def folded_oracle(x: Any) -> Any:
    """The same with NumPy."""
    return x.reshape(x.shape[1], x.shape[0]), x.ravel(), x.reshape(x.shape[0], 1, -1)


def stood(x: Any, n: Any) -> Any:
    """Repeated to a size that is a value."""
    return tg.broadcast_to(x, (n, x.shape[0])), tg.broadcast_to(x, (2, n, x.shape[0]))


def sizes_in_a_row(compile: Any, x: Any) -> Any:
    """One function for sizes that are values, in any order: what is compiled for one must not serve another."""
    v, n = tg.vector("v"), tg.tensor("n", "int64")
    f = compile([v, n], (tg.reshape(v, (n, -1)), tg.arange(n) * 2, tg.full((n, 2), 0.5), v[: n - 1]))
    return tuple(y for size in SIZES for y in f(x, np.array(size)))


def sizes_in_a_row_oracle(x: Any) -> Any:
    """The same with NumPy."""
    return tuple(y for n in SIZES for y in (x.reshape(n, -1), np.arange(n) * 2, np.full((n, 2), 0.5), x[: n - 1]))


SIZES: Final = (3, 4, 3, 12, 2)

WRITTEN: Final = (
    Case(
        folded,
        [any_dtype("n", "m")],
        name="reshape by lengths",
        dtypes=DTYPES,
        layouts=(*SAME_SHAPE, "one"),
        oracle=folded_oracle,
        gradient=True,
        traps=("T40",),
    ),
    Case(
        resized,
        [f64(12), fixed(3, "int64"), fixed(4, "int32")],
        name="reshape by values",
        oracle=lambda x, n, m: 2 * x.reshape(3, 4),
        gradient=True,
    ),
    Case(
        sizes_in_a_row,
        [f64(12)],
        name="sizes in a row",
        script=True,
        traps=("T79",),
        oracle=sizes_in_a_row_oracle,
    ),
    Case(
        resized,
        [f64(12), fixed(5, "int64"), fixed(2, "int32")],
        name="reshape to another number",
        raises=ShapeError,
        static=(False,),
    ),
    Case(
        lambda x: tg.reshape(x, (x.shape[0], 5)),
        [f64("n", "m")],
        name="reshape of lengths that differ",
        raises=ShapeError,
        static=(False,),
    ),
    Case(
        lambda x: tg.reshape(x, (7, 5)),
        [f64("n", "m")],
        name="reshape known not to fit",
        raises=ShapeError,
        static=(True,),
    ),
    Case(lambda x: tg.reshape(x, (3, -1)), [f64(0, 3)], name="reshape of nothing", oracle=lambda x: x.reshape(3, 0)),
    Case(
        lambda x: tg.ravel(tg.transpose(x)),
        [f64("n", "m")],
        name="ravel of a transpose",
        oracle=lambda x: x.T.ravel(),
        gradient=True,
        traps=("T40",),
    ),
    Case(
        lambda x: (x.T, tg.matrix_transpose(x), tg.swapaxes(x, 0, 1), tg.moveaxis(x, 0, 1)),
        [f64("n", "m")],
        name="ways to transpose",
        oracle=lambda x: (x.T,) * 4,
    ),
    Case(
        lambda x: (x.T, tg.concatenate([x, x + 1]), tg.stack([x, -x]), tg.broadcast_to(x[0], (3, 2)), tg.ravel(x)),
        [fixed([[2**53 + 1, 3 - 2**62], [2**60 + 1, -1]], "int64")],
        name="integers with many digits moved",
        oracle=lambda x: (x.T, np.concatenate([x, x + 1]), np.stack([x, -x]), np.broadcast_to(x[0], (3, 2)), x.ravel()),
        traps=("T17",),
    ),
    Case(
        lambda x: (x.T, x.T + x, x.T * 2),
        [f64(4, 4, static=True)],
        name="transpose of a square matrix",
        oracle=lambda x: (x.T, x.T + x, 2 * x.T),
        traps=("T60",),
        gradient=True,
    ),
    Case(
        lambda x: tg.moveaxis(x, 0, 2) + tg.swapaxes(x, 0, 2)[:, :, :1].T[0].sum(),
        [f64("n", "m", "k")],
        name="moveaxis",
        gradient=True,
        oracle=lambda x: np.moveaxis(x, 0, 2) + np.swapaxes(x, 0, 2)[:, :, :1].T[0].sum(),
        condition=lambda x: 50 * np.abs(x).max(),
    ),
    Case(
        lambda x: (tg.expand_dims(x, 0), tg.expand_dims(x, (1, 3)), tg.expand_dims(x, -1)),
        [any_dtype("n", "m")],
        name="expand_dims",
        dtypes=FEW,
        oracle=lambda x: (x[None], x[:, None, :, None], x[..., None]),
        gradient=True,
        layouts=BARE,
    ),
    Case(lambda x: tg.squeeze(x, 1), [f64("n", 1)], name="squeeze", oracle=lambda x: x[:, 0], gradient=True),
    Case(
        lambda x: tg.squeeze(x, (0, 2))[0],
        [f64(1, "n", 1)],
        name="squeeze and index",
        traps=("T52",),
        oracle=lambda x: x[0, 0, 0],
        gradient=True,
    ),
    Case(
        lambda x: tg.squeeze(x, 0),
        [f64("n", "m")],
        name="squeeze of another length",
        raises=ShapeError,
        static=(False,),
    ),
    Case(
        lambda x: tg.squeeze(x, 0), [f64("n", "m")], name="squeeze known not to be 1", raises=ShapeError, static=(True,)
    ),
    Case(
        stood,
        [f64("n"), fixed(3, "int64")],
        name="broadcast_to a value",
        oracle=lambda x, n: (np.broadcast_to(x, (3, len(x))), np.broadcast_to(x, (2, 3, len(x)))),
        gradient=True,
        traps=("T72",),
    ),
    Case(
        stood,
        [f64("n"), fixed(1, "int64")],
        name="broadcast_to 1",
        oracle=lambda x, n: (x[None], np.broadcast_to(x, (2, 1, len(x)))),
        gradient=True,
    ),
    Case(
        stood,
        [f64("n"), fixed(0, "int64")],
        name="broadcast_to 0",
        oracle=lambda x, n: (np.zeros((0, len(x))), np.zeros((2, 0, len(x)))),
        gradient=True,
    ),
    Case(
        lambda x: tg.broadcast_to(x, (4, 3)),
        [any_dtype(3)],
        name="broadcast_to",
        dtypes=DTYPES,
        oracle=lambda x: np.broadcast_to(x, (4, 3)),
        gradient=True,
    ),
    Case(
        lambda x, y: tg.broadcast_to(x, y.shape) + y,
        [f64(1, "m"), f64("n", "m")],
        name="broadcast_to a shape",
        static=(False,),
        gradient=True,
        oracle=lambda x, y: x + y,
        condition=lambda x, y: abs(x) + abs(y),
        traps=("T37", "T72"),
    ),
    Case(
        lambda x: tg.broadcast_to(x, (4, 3)),
        [f64("n")],
        name="broadcast_to another length",
        raises=ShapeError,
        static=(False,),
    ),
    Case(lambda x, y: x + y, [f64("n"), f64("m")], name="lengths that differ", raises=ShapeError, static=(True,)),
    Case(
        lambda x, y: x + y,
        [f64("n"), f64("m")],
        name="run-time lengths that differ",
        raises=ShapeError,
        static=(False,),
    ),
    Case(
        lambda x, y: x + y,
        [f64("n", "m"), f64("n")],
        name="run-time lengths of ranks that differ",
        raises=ShapeError,
        static=(False,),
    ),
    Case(
        lambda x, y: tg.concatenate([x, y], 1),
        [f64("n", "m"), f64("m", "n")],
        name="concatenate of lengths that differ",
        raises=ShapeError,
        static=(False,),
    ),
    Case(
        lambda x, y: tg.concatenate([x, y]),
        [f64("n"), f64(0)],
        name="concatenate with nothing",
        oracle=lambda x, y: x,
        gradient=True,
    ),
    Case(
        lambda x, y: tg.concatenate([x, y]),
        [i8("n"), f32("m")],
        name="concatenate promotes",
        oracle=lambda x, y: np.concatenate([x.astype(float), y]),
    ),
    Case(
        lambda x, y: (tg.stack([x, y]), tg.stack([x, y], -1)),
        [any_dtype("n"), any_dtype("n")],
        name="stack",
        dtypes=FEW,
        gradient=True,
        oracle=lambda x, y: (np.stack([x, y]), np.stack([x, y], -1)),
    ),
    Case(
        lambda x, y: tg.array([[x, 1.0], [2.0, x * y]]),
        [f64(), f64()],
        name="array of variables",
        oracle=lambda x, y: np.array([[x, 1.0], [2.0, x * y]]),
        gradient=True,
    ),
    Case(lambda x: tg.named(x * 2, "twice") + 1, [f64("n")], name="named", oracle=lambda x: 2 * x + 1, gradient=True),
    Case(
        lambda x: x.shape[0] * x.shape[1] + tg.cast(x.shape[0], "int64"),
        [f64("n", "m")],
        name="lengths as values",
        oracle=lambda x: np.array(x.shape[0] * x.shape[1] + x.shape[0]),
    ),
    Case(
        lambda x: x / x.shape[0],
        [f32("n", "m")],
        name="a length is weak",
        traps=("T14",),
        oracle=lambda x: x / x.shape[0],
        gradient=True,
    ),
    Case(
        lambda x: (x, x),
        [any_dtype("n", "m")],
        name="the input itself, twice",
        dtypes=DTYPES,
        layouts=BARE,
        oracle=lambda x: (x, x),
        traps=("T43",),
    ),
    Case(
        lambda x: (tg.transpose(x), x[0], x[::-1], tg.expand_dims(x, 0), tg.reshape(x, (-1,))),
        [f64("n", "m")],
        name="views of the input",
        oracle=lambda x: (x.T, x[0], x[::-1], x[None], x.ravel()),
        traps=("T43",),
    ),
    Case(
        lambda x: (tg.constant(np.arange(6.0).reshape(2, 3)), x),
        [f64("n")],
        name="a constant as a result",
        oracle=lambda x: (np.arange(6.0).reshape(2, 3), x),
    ),
    Case(
        lambda x: (x + 1, (x + 1) * 2, x + 1),
        [f64("n", "m")],
        name="one result twice",
        oracle=lambda x: (x + 1, (x + 1) * 2, x + 1),
        traps=("T43", "T44"),
    ),
    Case(
        lambda x, y: (x + y, x - y, (x + y) * (x - y)),
        [f64("n", "m"), f64("n", "m")],
        name="several results of the same inputs",
        oracle=lambda x, y: (x + y, x - y, (x + y) * (x - y)),
        gradient=True,
        traps=("T44",),
        condition=lambda x, y: (abs(x) + abs(y),) * 2 + ((abs(x) + abs(y)) ** 2,),
    ),
    Case(
        lambda x, n: tg.sum(tg.reshape(x, (n, -1)), 1),
        [f64(12), fixed(4, "int64")],
        name="sum of a reshape by value",
        gradient=True,
        oracle=lambda x, n: x.reshape(4, 3).sum(1),
        condition=lambda x, n: 12 * np.abs(x).max(),
    ),
    Case(
        lambda x, i: tg.reshape(x, (i + 1, i)) + 1,
        [i64(6), fixed(2, "int64")],
        name="reshape by arithmetic on values",
        oracle=lambda x, i: x.reshape(3, 2) + 1,
    ),
)


def named_lengths(compile: Any, x: Any, y: Any) -> Any:
    """Inputs that share the names of lengths, in calls of several lengths, and what they say where they differ."""
    n, m = tg.dim("n"), tg.dim("m")
    a, b, c = tg.matrix("a", shape=(n, m)), tg.vector("b", shape=(m,)), tg.vector("c", shape=(n + m,))
    f = compile([a, b, c], (a @ b / n, tg.concatenate([tg.zeros(n), b]) + c, tg.grad(tg.sum(a * b), b)))
    results = []
    for k in (len(x), 1, 0):
        results += f(x[:k], y, np.ones(k + len(y)))
    for lengths in ((len(y) - 1, len(x) + len(y)), (len(y), len(x))):
        try:
            f(x, y[: lengths[0]], np.ones(lengths[1]))
        except ShapeError as error:
            results.append(np.array("dim" in str(error)))
    return tuple(results)


def named_lengths_oracle(x: Any, y: Any) -> Any:
    """The same with NumPy."""
    results: list[Any] = []
    for k in (len(x), 1, 0):
        results += [x[:k] @ y / np.int64(k), np.concatenate([np.zeros(k), y]) + 1, x[:k].sum(0)]
    return (*results, np.True_, np.True_)


NAMED: Final = (
    Case(
        named_lengths,
        [f64("n", "m"), f64("m")],
        name="named lengths",
        script=True,
        accuracy=64,
        oracle=named_lengths_oracle,
    ),
)

CASES: Final = of_family(FAMILY.path, permutations(), joined(), of_length_one(), WRITTEN, NAMED)
