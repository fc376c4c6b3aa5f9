"""Cases of `ops/indexing`: slices of every step and bound, gathers and updates with negative and repeated positions."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import DomainError
from tg.ops.indexing import FAMILY
from tg.plugin.case import SAME_SHAPE, Case, any_dtype, f64, fixed, i64
from tg.types.dtypes import DTYPES, INTEGERS, SIGNED
from tg_conformance.cases.family import of_family
from tg_conformance.cases.outside import outside

if TYPE_CHECKING:
    from collections.abc import Iterator

FEW: Final = ("int8", "float32", "float64")
BOUNDS: Final = (None, 0, 1, 3, 4, 9, -1, -2, -5, -9)
STEPS: Final = (None, 1, 2, -1, -3)


def shown(*parts: Any) -> str:
    """An index as text without commas."""
    return " ".join(
        ":".join("" if v is None else str(v) for v in (p.start, p.stop, p.step)) if isinstance(p, slice) else str(p)
        for p in parts
    )


def bounds() -> Iterator[Case]:
    """One case for each pair of bounds: all steps at once."""
    for start, stop in itertools.product(BOUNDS, BOUNDS):
        parts = tuple(slice(start, stop, step) for step in STEPS)
        yield Case(
            lambda x, parts=parts: tuple(x[p] for p in parts),
            [f64("l")],
            name=f"slice {shown(slice(start, stop))}",
            oracle=lambda x, parts=parts: tuple(x[p] for p in parts),
            layouts=("C", "strided", "reversed"),
        )


def run_time_bounds() -> Iterator[Case]:
    """Bounds that are values, on either side of the array."""
    for start, stop in ((1, 4), (-3, 9), (0, 0), (4, 1), (-9, -1), (9, 12), (2, -1)):
        inputs = [f64("l"), fixed(start, "int64"), fixed(stop, "int32")]
        yield Case(
            lambda x, a, b: (x[a:b], x[a:], x[:b], x[a:b:2]),
            inputs,
            name=f"slice by values {start} {stop}",
            gradient=True,
            oracle=lambda x, a, b, i=start, j=stop: (x[i:j], x[i:], x[:j], x[i:j:2]),
        )
        yield Case(
            lambda x, a, b: (x[a:b:-1], x[a::-2]),
            inputs,
            name=f"slice backwards by values {start} {stop}",
            oracle=lambda x, a, b, i=start, j=stop: (x[i:j:-1], x[i::-2]),
        )


PLACES: Final[tuple[Any, ...]] = (
    (0,),
    (-1,),
    (slice(None), 1),
    (1, 2),
    (slice(1, 3), slice(None, None, -1)),
    (slice(None, None, -2), slice(1, None)),
    (Ellipsis, -1),
    (None, 1),
    (slice(None), None, slice(2)),
    (slice(0, 0),),
    (slice(3, 1, -1), slice(-2, None)),
    (Ellipsis,),
    (1, Ellipsis, None),
)


def parts_of() -> Iterator[Case]:
    """Basic indices of a matrix: read, set, added to."""
    for place in PLACES:
        name = shown(*place)
        yield Case(
            lambda x, p=place: x[p],
            [any_dtype("n", "m")],
            name=f"read {name}",
            dtypes=DTYPES if place == PLACES[4] else FEW,
            oracle=lambda x, p=place: x[p],
            gradient=True,
        )
        yield Case(
            lambda x, v, p=place: (x.at[p].set(v), x.at[p].add(v)),
            [any_dtype("n", "m"), any_dtype()],
            name=f"write {name}",
            dtypes=FEW,
            oracle=lambda x, v, p=place: (put(x, p, v), put(x, p, x[p] + v)),
            gradient=True,
        )


def put(x: Any, place: Any, v: Any) -> Any:
    """A copy of an array with a place overwritten."""
    y = x.copy()
    y[place] = v
    return y


def add_at(x: Any, place: Any, v: Any) -> Any:
    """A copy of an array with values added at a place, repeated positions too."""
    y = x.copy()
    np.add.at(y, place, v)
    return y


ROWS: Final = [3, 0, -1, 3, 1]
COLUMNS: Final = [0, -2, 1, 0, 2]
GRID: Final = [[0, 1], [-1, 2]]


def gathers() -> Iterator[Case]:
    """Integer arrays as indices, of every integer dtype, with repeats and negative ones."""
    for dtype in INTEGERS:
        rows = ROWS if dtype in SIGNED else [abs(v) for v in ROWS]
        yield Case(
            lambda x, i: (x[i], x.at[i].set(0.0), x.at[i].add(1.0)),
            [f64(5, 3), fixed(rows, dtype)],
            name=f"rows by {dtype}",
            traps=("T21", "T49"),
            gradient=True,
            oracle=lambda x, i: (x[i], put(x, i, 0), add_at(x, (i,), 1)),
        )
    yield Case(
        lambda x, i: x[i],
        [any_dtype(5, "m"), fixed(ROWS, "int64")],
        name="rows",
        dtypes=DTYPES,
        oracle=lambda x, i: x[i],
        layouts=SAME_SHAPE,
        gradient=True,
        traps=("T72",),
    )
    yield Case(
        lambda x, i: (x[i], x.at[i].set(0.0)),
        [f64(300), fixed([-1, -128, 127, 0], "int8")],
        name="far positions by int8",
        traps=("T21",),
        oracle=lambda x, i: (x[i.astype(int)], put(x, i.astype(int), 0)),
    )
    yield Case(
        lambda x, i: (x[i], x.at[i[:2]].set(2**53 + 1), x[::-1]),
        [fixed([2**53 + 1, -(2**62) - 1, 2**63 - 1], "int64"), fixed([2, 0, -1, 1], "int64")],
        name="integers with many digits",
        traps=("T17",),
        oracle=lambda x, i: (x[i], put(x, i[:2], 2**53 + 1), x[::-1]),
    )
    yield Case(
        lambda x, i: (x[:, i], x[i, :], x[:, i] + x[i]),
        [f64(4, 4, static=True), fixed([2, -1, 0, 2], "int64")],
        name="rows and columns of a square",
        traps=("T50",),
        oracle=lambda x, i: (x[:, i], x[i], x[:, i] + x[i]),
        gradient=True,
    )
    yield Case(
        lambda x, i: x[:, i],
        [any_dtype("n", 4), fixed(ROWS, "int32")],
        name="columns",
        dtypes=FEW,
        oracle=lambda x, i: x[:, i],
        gradient=True,
        traps=("T50",),
    )
    yield Case(
        lambda x, i, j: x[i, j],
        [any_dtype(5, 4), fixed(ROWS, "int64"), fixed(COLUMNS, "int64")],
        name="points",
        dtypes=FEW,
        oracle=lambda x, i, j: x[i, j],
        gradient=True,
    )
    yield Case(
        lambda x, i: x[i],
        [f64(4, "m"), fixed(GRID, "int64")],
        name="grid of rows",
        oracle=lambda x, i: x[i],
        gradient=True,
    )
    yield Case(
        lambda x, i, j: x[i, :, j],
        [f64(4, "m", 3), fixed([0, -1], "int64"), fixed([2, 1], "int64")],
        name="separated by a slice",
        traps=("T55",),
        oracle=lambda x, i, j: x[i, :, j],
        gradient=True,
    )
    yield Case(
        lambda x, i, j: x[:, i, j],
        [f64("n", 4, 3), fixed([0, -1], "int64"), fixed([2, 1], "int64")],
        name="adjacent behind a slice",
        traps=("T55",),
        oracle=lambda x, i, j: x[:, i, j],
        gradient=True,
    )
    yield Case(
        lambda x, i: x[i, None],
        [f64(4, "m"), fixed([0, -1], "int64")],
        name="beside a new axis",
        traps=("T55",),
        oracle=lambda x, i: x[i, None],
        gradient=True,
    )
    yield Case(
        lambda x, i, j: x[i, 1:, j],
        [f64(4, 5, 3), fixed([[0], [-1]], "int64"), fixed([2, 1, 0], "int64")],
        name="broadcast indices",
        traps=("T54", "T55"),
        oracle=lambda x, i, j: x[i, 1:, j],
        gradient=True,
    )
    yield Case(
        lambda x, i: (x[1:, i, ..., 0], x[:, i, 0, ...]),
        [f64(4, 3, 1), fixed([2, 1, 0], "int64")],
        name="with an ellipsis of no axes between",
        traps=("T55",),
        oracle=lambda x, i: (x[1:, i, ..., 0], x[:, i, 0, ...]),
        gradient=True,
    )
    yield Case(
        lambda x, i, v: x.at[:, i, ..., 0].add(v),
        [f64(4, 3, 1), fixed([2, 1, 2], "int64"), f64(3, 4)],
        name="add with an ellipsis of no axes between",
        traps=("T55",),
        oracle=lambda x, i, v: add_at(x, (slice(None), i, ..., 0), v),
        gradient=True,
    )
    yield Case(
        lambda x, i: x[1:, i],
        [f64(4, 5), fixed([3, 3, -1], "int64")],
        name="behind a part",
        traps=("T54",),
        oracle=lambda x, i: x[1:, i],
        gradient=True,
    )
    yield Case(
        lambda x, i: (x[i], x[-i], x[i, i]),
        [f64(4, 5), fixed(2, "int64")],
        name="by a scalar",
        oracle=lambda x, i: (x[2], x[-2], x[2, 2]),
        gradient=True,
    )
    yield Case(
        lambda x, i: x[i],
        [f64("n"), i64(0)],
        name="by nothing",
        oracle=lambda x, i: x[:0],
        gradient=True,
        traps=("T34",),
    )
    yield Case(
        lambda x, i: (x.at[i].set(3.0), x.at[i].add(x[i])),
        [f64("n"), i64(0)],
        name="write nothing",
        oracle=lambda x, i: (x, x),
        traps=("T34",),
    )
    for axis in (None, 0, 1, -1):
        for mode in ("raise", "clip", "promise"):
            yield Case(
                lambda x, i, axis=axis, mode=mode: tg.take(x, i, axis, mode=mode),
                [f64(4, 5), fixed([3, 0, 3, 1], "int64")],
                name=f"take axis {axis} {mode}",
                oracle=lambda x, i, axis=axis: np.take(x, i, axis),
                gradient=True,
            )
    yield Case(
        lambda x, i: tg.take(x, i, 0, mode="clip"),
        [f64(4, 5), fixed([-7, 9, 2, -1], "int64")],
        name="take outside clipped",
        oracle=lambda x, i: np.take(x, i, 0, mode="clip"),
        gradient=True,
    )


def writes() -> Iterator[Case]:
    """Updates at integer arrays: repeated positions accumulate, and the last stays."""
    yield Case(
        lambda x, i, v: x.at[i].add(v),
        [any_dtype(5), fixed(ROWS, "int64"), any_dtype(5)],
        name="add at repeats",
        dtypes=tuple(d for d in DTYPES if d != "bool"),
        oracle=add_at,
        traps=("T49",),
        gradient=True,
        condition=lambda x, i, v: add_at(abs(x), i, abs(v)),
    )
    yield Case(
        lambda x, i, v: x.at[i].set(v),
        [any_dtype(5), fixed([3, 0, -1, 1], "int64"), any_dtype(4)],
        name="set",
        dtypes=DTYPES,
        oracle=put,
        traps=("T50",),
        gradient=True,
    )
    yield Case(
        lambda x, i: x.at[i].set(7.0),
        [f64(5), fixed(ROWS, "int64")],
        name="set one value at repeats",
        oracle=lambda x, i: put(x, i, 7.0),
        traps=("T49",),
        gradient=True,
    )
    yield Case(
        lambda x, i, v: (x.at[i].set(v), x.at[:, i].add(v)),
        [f64(4, 4), fixed([2, -1], "int64"), f64()],
        name="set a scalar at rows",
        oracle=lambda x, i, v: (put(x, i, v), add_at(x, (slice(None), i), v)),
        traps=("T35", "T50"),
        gradient=True,
    )
    yield Case(
        lambda x, i, j, v: (x.at[i, j].add(v), x.at[i, j].set(v)),
        [f64(5, 4), fixed([0, -1, 0], "int64"), fixed([1, 2, 1], "int64"), f64()],
        name="add at points",
        oracle=lambda x, i, j, v: (add_at(x, (i, j), v), put(x, (i, j), v)),
        gradient=True,
    )
    yield Case(
        lambda x, i, v: x.at[1:, i].add(v),
        [f64(4, 5), fixed([3, 3, -1], "int64"), f64(3, 3)],
        name="add inside a part",
        traps=("T54",),
        oracle=lambda x, i, v: add_at(x, (slice(1, None), i), v),
        gradient=True,
    )
    yield Case(
        lambda i, v, y: tg.zeros(5).at[i].set(v) + y,
        [fixed([1, -1], "int64"), f64(), f64("n", 5)],
        name="zeros set, then broadcast",
        traps=("T53",),
        oracle=lambda i, v, y: put(np.zeros(5), i, v) + y,
        gradient=True,
    )
    yield Case(
        lambda i, v: tg.zeros(5).at[i].set(v),
        [fixed([1, -1, 1], "int64"), f64()],
        name="zeros set at repeats",
        traps=("T50", "T53"),
        oracle=lambda i, v: put(np.zeros(5), i, v),
    )
    yield Case(
        lambda x, v: x.at[1:3].set(v)[1:3] + 1,
        [f64(5), f64(2)],
        name="read of a write",
        traps=("T51",),
        oracle=lambda x, v: v + 1,
        gradient=True,
    )
    yield Case(
        lambda x, v: (x.at[1:3].set(v)[2:4], x.at[1:3].add(v)[::2]),
        [f64(5), f64(2)],
        name="read across a write",
        traps=("T51",),
        oracle=lambda x, v: (put(x, slice(1, 3), v)[2:4], add_at(x, slice(1, 3), v)[::2]),
        gradient=True,
    )
    yield Case(
        lambda x, s, v: x.at[s : s + 2].set(v),
        [f64("l"), fixed(2, "int64"), f64(2)],
        name="set a slice by value",
        oracle=lambda x, s, v: put(x, slice(2, 4), v),
        gradient=True,
    )
    yield Case(
        lambda x, v: x.at[::-2].add(v),
        [f64(5), f64(3)],
        name="add backwards",
        oracle=lambda x, v: add_at(x, slice(None, None, -2), v),
        gradient=True,
    )
    yield Case(
        lambda x, v: x.at[1].set(v),
        [f64("n", "m"), f64("m")],
        name="set a row",
        oracle=lambda x, v: put(x, 1, v),
        gradient=True,
        traps=("T72",),
    )
    yield Case(
        lambda x: (x.at[0].set(x[1]).at[1].set(x[0]), x),
        [f64("n", "m")],
        name="swap rows",
        traps=("T45",),
        gradient=True,
        oracle=lambda x: (put(put(x, 0, x[1]), 1, x[0]), x),
    )
    yield Case(
        lambda x: (x.at[1:].add(x[:-1]), x.at[:-1].add(x[1:]), x),
        [f64("n")],
        name="add to its neighbour",
        traps=("T42", "T45"),
        oracle=lambda x: (add_at(x, slice(1, None), x[:-1]), add_at(x, slice(-1), x[1:]), x),
        gradient=True,
    )
    yield Case(
        lambda x, i, v: tg.grad(tg.sum(x.at[i].set(v) ** 2), v),
        [f64(4), fixed([1, 1, 2], "int64"), f64(3)],
        name="grad of overwritten values",
        traps=("T72",),
        oracle=lambda x, i, v: np.array([0.0, 2, 2]) * v,
    )


WRITTEN: Final = (
    Case(
        lambda x: x[4:0:-1][1:3],
        [f64(6)],
        name="slice of a slice backwards",
        traps=("T52",),
        oracle=lambda x: x[4:0:-1][1:3],
        gradient=True,
    ),
    Case(
        lambda x: (x[5:1:-1][2], x[1:][::-2][1:], x[::-1][::-1]),
        [f64("l")],
        name="slices of slices",
        traps=("T52",),
        gradient=True,
        oracle=lambda x: (x[5:1:-1][2] if len(x) > 5 else x[4:1:-1][2], x[1:][::-2][1:], x),
    ),
    Case(
        lambda x: (tg.flip(x), tg.flip(x, -1), tg.flip(x, 0)),
        [any_dtype("n", "m")],
        name="flip",
        dtypes=DTYPES,
        traps=("T52",),
        oracle=lambda x: (np.flip(x), np.flip(x, -1), np.flip(x, 0)),
        layouts=(*SAME_SHAPE, "empty", "one"),
    ),
    Case(
        lambda x, n: x[: x.shape[0] // 2] + n,
        [f64("l"), f64()],
        name="slice by half a length",
        oracle=lambda x, n: x[: len(x) // 2] + n,
        gradient=True,
    ),
    Case(
        lambda x: x[1:] - x[:-1],
        [f64("n", "m")],
        name="differences",
        oracle=lambda x: x[1:] - x[:-1],
        gradient=True,
        condition=lambda x: abs(x[1:]) + abs(x[:-1]),
    ),
    Case(
        lambda x: x[1:] * x[:-1],
        [f64(1)],
        name="differences of one element",
        oracle=lambda x: np.zeros(0),
        gradient=True,
        static=(False,),
    ),
    Case(
        lambda x, i: tg.sum(x[i] ** 2),
        [f64(6), fixed([5, 5, 0, -1], "int32")],
        name="sum of a gather",
        gradient=True,
        traps=("T72",),
        oracle=lambda x, i: np.sum(x[i] ** 2),
        condition=lambda x, i: 4 * np.sum(x[i] ** 2),
    ),
    Case(
        lambda x, i: x[i % x.shape[0]],
        [f64("n"), fixed([7, -3, 100], "int64")],
        name="index modulo a length",
        oracle=lambda x, i: x[i % len(x)],
        gradient=True,
    ),
    Case(
        lambda x: x[tg.argmax(x)], [f64("n", values="distinct")], name="index by argmax", oracle=np.max, gradient=True
    ),
    Case(
        lambda x, i: tg.jacobian(x[i], x),
        [f64(4), fixed([2, 2, -1], "int64")],
        name="jacobian of a gather",
        oracle=lambda x, i: np.eye(4)[i],
    ),
    *(
        Case(
            lambda x, k: (x[::k], x[3::k], x[:, -2::k]),
            [f64(5, 4), fixed(step, "int64")],
            name=f"slices by a run-time step of {step}",
            oracle=lambda x, k: (x[::k], x[3::k], x[:, -2::k]),
            gradient=True,
        )
        for step in (2, -1, 7, -(2**63))
    ),
    Case(
        lambda x, k: x[::k],
        [f64(5), fixed(0, "int64")],
        name="a slice by steps of 0",
        raises=DomainError,
        static=(False,),
    ),
    *(
        Case(
            lambda x, k: x.at[:3].add(x[k : k + 2]),
            [f64(5), fixed(place, "int64")],
            name=f"update by values of a computed length, {count}",
            oracle=lambda x, k: np.concatenate([x[:3] + x[k : k + 2], x[3:]]),
            gradient=True,
        )
        for place, count in ((4, 1),)
    ),
)

CASES: Final = of_family(FAMILY.path, bounds(), run_time_bounds(), parts_of(), gathers(), writes(), outside(), WRITTEN)
