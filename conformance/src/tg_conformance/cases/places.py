"""Cases of `ops/places`, and what `x.at` has beside `set` and `add`: modes of indices, and ways to combine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import BoundsError, DtypeError, ShapeError
from tg.ops.places import FAMILY
from tg.plugin.case import Case, any_dtype, b1, f32, f64, fixed, i64
from tg.types.dtypes import INTEGERS, SIGNED
from tg_conformance.cases.family import alike, of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

FEW: Final = ("int8", "float32", "float64")
SHIFTS: Final = [[0, 7, -1, 2], [-9, 3, 1, 100], [2, 2, -4, 4]]
WAYS: Final = {"multiply": np.multiply, "min": np.minimum, "max": np.maximum}


def along() -> Iterator[Case]:
    """One position for each row: read and written, repeated, of every integer dtype."""
    for dtype in INTEGERS:
        columns = [[3, 0, 3], [1, 2, 0]]
        places = [[-1, 0, 3], [1, -4, 0]] if dtype in SIGNED else columns
        yield alike(
            f"take_along_axis {dtype}",
            lambda m, x, i: (m.take_along_axis(x, i, 1), m.take_along_axis(x, i.ravel(), None)),
            [f64(2, 4), fixed(places, dtype)],
            gradient=True,
            traps=("T21",),
        )
    yield alike(
        "take_along_axis of rows",
        lambda m, x, i: (m.take_along_axis(x, i, 0), m.take_along_axis(x[None], i[None], 1)),
        [any_dtype(3, "m"), fixed([[0], [-1], [1], [1]], "int64")],
        dtypes=FEW,
        gradient=True,
        traps=("T37",),
    )
    yield alike(
        "take_along_axis of argsort",
        lambda m, x: m.take_along_axis(x, m.argsort(x, 0), 0),
        [f64("n", "m", values="distinct")],
        gradient=True,
    )
    for way, ufunc in (("set", None), ("add", np.add), *WAYS.items()):
        yield Case(
            lambda x, i, v, way=way: tg.put_along_axis(x, i, v, 1, combine=way),
            [f64(2, 4), fixed([[3, 0, 3], [1, 2, 1]] if ufunc else [[3, 0, 1], [1, 2, 0]], "int64"), f64(2, 3)],
            name=f"put_along_axis {way}",
            oracle=lambda x, i, v, ufunc=ufunc: combined(x, (np.arange(2)[:, None], i), v, ufunc),
            gradient=True,
            condition=(lambda x, i, v: 40.0) if ufunc is not None else None,
            traps=("T49",),
        )


def combined(x: Any, place: Any, v: Any, ufunc: Any) -> Any:
    """A copy of an array with values put, or combined by a ufunc, at a place."""
    y = x.copy()
    if ufunc is None:
        y[place] = v
    else:
        ufunc.at(y, place, v)
    return y


def ways() -> Iterator[Case]:
    """Each way to combine at repeated positions, slices, points and scalars."""
    for way, ufunc in WAYS.items():
        yield Case(
            lambda x, i, v, way=way: getattr(x.at[i], way)(v),
            [any_dtype(5, 2), fixed([3, 0, -1, 3, 3], "int64"), any_dtype(5, 2)],
            name=f"{way} at repeats",
            dtypes=("bool", "int8", "uint16", "int64", "float32", "float64"),
            oracle=lambda x, i, v, ufunc=ufunc: combined(x, i, v, ufunc),
            gradient=True,
            traps=("T49", "T72"),
        )
        yield Case(
            lambda x, i, v, way=way: (
                getattr(x.at[1:3], way)(v),
                getattr(x.at[0], way)(v),
                getattr(x.at[:, i], way)(0.5),
                getattr(x.at[1:, i], way)(v[:2]),
                getattr(x.at[...], way)(v),
            ),
            [f64(4, 3), fixed([2, 0], "int32"), f64(3)],
            name=f"{way} at slices",
            oracle=lambda x, i, v, ufunc=ufunc: (
                combined(x, slice(1, 3), v, ufunc),
                combined(x, 0, v, ufunc),
                combined(x, (slice(None), i), 0.5, ufunc),
                combined(x, (slice(1, None), i), v[:2], ufunc),
                combined(x, ..., v, ufunc),
            ),
            gradient=True,
            traps=("T54",),
        )
    yield Case(
        lambda x, i, v: x.at[i].multiply(v),
        [f64(4), fixed([0, 0, 1, 1, 1, 2], "int64"), fixed([0.0, 2, 0, 3, 0, 0])],
        name="multiply by zeros",
        oracle=lambda x, i, v: combined(x, i, v, np.multiply),
        gradient=True,
        traps=("T74",),
    )
    yield Case(
        lambda x, i, v: tuple(tg.grad(tg.sum(w * tg.arange(1, 4)), v) for w in (x.at[i].max(v), x.at[i].min(v))),
        [fixed([1.0, 1, 5]), fixed([0, 0, 1, 2], "int64"), fixed([1.0, 1, 1, 3])],
        name="gradient at ties of max and min",
        oracle=lambda x, i, v: (np.array([1 / 3, 1 / 3, 1, 0]), np.array([1 / 3, 1 / 3, 1, 3])),
        traps=("T68",),
    )
    yield Case(
        lambda x, i: (x.at[i].max(np.nan), x.at[i].min(1.0)),
        [fixed([1.0, np.nan, 2.0]), fixed([0, 1, 1], "int64")],
        name="NaN in max and min",
        oracle=lambda x, i: (np.array([np.nan, np.nan, 2]), np.array([1, np.nan, 2])),
        traps=("T23",),
    )
    yield Case(
        lambda x, i, v: (x.at[i].subtract(v), x.at[i].divide(v), x.at[1:].divide(v[0])),
        [f64(4), fixed([3, 0, 3], "int64"), f64(3, low=0.5, high=2.0)],
        name="subtract and divide",
        oracle=lambda x, i, v: (
            combined(x, i, v, np.subtract),
            combined(x, i, v, np.divide),
            combined(x, slice(1, None), v[0], np.divide),
        ),
        gradient=True,
        condition=lambda x, i, v: (9.0, 20.0, 9.0),
    )
    yield Case(
        lambda x, i: (x.at[i].power(2.0), x.at[0].power(0.5)),
        [f64(4, low=0.5), fixed([3, 1, 3], "int64")],
        name="power",
        oracle=lambda x, i: (combined(x, i, 2.0, np.power), combined(x, 0, 0.5, np.power)),
        gradient=True,
        accuracy=16.0,
    )


def modes() -> Iterator[Case]:
    """Indices outside their axis in every mode that allows them: read, and written nowhere else."""
    i = np.array(SHIFTS)
    inside = (i >= -5) & (i < 5)
    yield Case(
        lambda x, i: (
            x.at[i].get(mode="clip"),
            x.at[i].get(mode="wrap"),
            x.at[i].get(mode="fill", fill_value=-1.0),
            x.at[1:, i].get(mode="fill"),
            tg.take(x, i, 0, mode="fill", fill_value=2.0),
            tg.take(x, i, 1, mode="wrap"),
        ),
        [f64(5, 5), fixed(SHIFTS, "int64")],
        name="read in modes",
        oracle=lambda x, i: (
            x[np.clip(i, 0, 4)],
            x[i % 5],
            np.where(inside[..., None], x[np.clip(i, -5, 4)], -1),
            np.where(inside, x[1:, np.clip(i, -5, 4)], 0),
            np.where(inside[..., None], x[np.clip(i, -5, 4)], 2),
            x[:, i % 5],
        ),
        gradient=True,
        traps=("T48",),
    )
    for dtype, rows in (("int8", [-128, 127, 0]), ("uint64", [2**64 - 1, 0, 4]), ("uint8", [255, 4, 0])):
        valid = [0 <= r < 5 for r in rows]
        yield Case(
            lambda x, i: (x.at[i].get(mode="fill"), x.at[i].set(1.0, mode="fill"), x.at[i].add(1.0, mode="clip")),
            [f64(5), fixed(rows, dtype)],
            name=f"modes of {dtype}",
            oracle=lambda x, i, valid=valid, rows=rows: (
                np.where(valid, x[np.where(valid, i, 0).astype(int)], 0),
                combined(x, i[valid].astype(int), 1.0, None),
                combined(x, np.array([min(max(r, 0), 4) for r in rows]), 1.0, np.add),
            ),
            traps=("T21", "T48"),
        )
    yield Case(
        lambda x, i, v: (
            *(getattr(x.at[i], way)(v, mode="fill") for way in ("set", "add", "multiply", "min", "max")),
            x.at[:, i].set(7.0, mode="fill"),
            x.at[i, 1].add(v[:, 0], mode="fill"),
        ),
        [f64(5, 5), fixed([7, 0, -1, -9, 3], "int64"), f64(5, 5)],
        name="write in mode fill",
        oracle=lambda x, i, v: (
            *(combined(x, i[[1, 2, 4]], v[[1, 2, 4]], f) for f in (None, np.add, np.multiply, np.minimum, np.maximum)),
            combined(x, (slice(None), i[[1, 2, 4]]), 7.0, None),
            combined(x, (i[[1, 2, 4]], 1), v[[1, 2, 4], 0], np.add),
        ),
        gradient=True,
        traps=("T48",),
    )
    yield Case(
        lambda x, k: (
            x.at[k].get(mode="fill", fill_value=3.0),
            x.at[k].set(0.0, mode="fill"),
            x.at[k, 1].get(mode="clip"),
            x.at[k].add(1.0, mode="wrap"),
        ),
        [f64(4, "m"), fixed(6, "int64")],
        name="scalars outside in modes",
        oracle=lambda x, k: (np.full(x.shape[1], 3.0), x, x[3, 1], combined(x, 2, 1.0, np.add)),
        gradient=True,
        traps=("T35", "T48"),
    )


WRITTEN: Final = (
    alike(
        "choose",
        lambda m, i, x, y: (m.choose(i, [x, y, y[0]]), m.choose(i + 5, [x, y], mode="clip")),
        [fixed([[0, 1, 2], [2, 0, 1]], "int64"), f64(2, 3), f64(2, 3)],
        gradient=True,
    ),
    alike(
        "choose wrapped",
        lambda m, i, x, y: m.choose(i, [x, y], mode="wrap"),
        [i64("n"), f64("n"), f64()],
        gradient=True,
    ),
    alike(
        "ravel_multi_index",
        lambda m, i, j: (
            m.ravel_multi_index((i, j), (3, 4)),
            m.ravel_multi_index((i, j), (3, 4), order="F"),
            m.ravel_multi_index((i + 9, j - 9), (3, 4), mode="clip"),
            m.ravel_multi_index((i + 9, j - 9), (3, 4), mode=("wrap", "clip")),
        ),
        [fixed([0, 2, 1], "int64"), fixed([3, 0, 2], "int64")],
    ),
    alike(
        "unravel_index",
        lambda m, i: (
            *m.unravel_index(i, (2, 3, 4)),
            *m.unravel_index(i, (2, 3, 4), order="F"),
            *m.unravel_index(i, 24),
        ),
        [fixed([[0, 23], [7, 16]], "int64")],
    ),
    Case(
        lambda x, i: tg.ravel_multi_index(tg.unravel_index(i, x.shape), x.shape),
        [f64("n", "m"), fixed([0, 3, 7], "int32")],
        name="there and back",
        oracle=lambda x, i: i.astype("int64"),
    ),
)

REFUSED: Final = (
    Case(
        lambda x, i: tg.take_along_axis(x, i, 1),
        [f64(2, 3), fixed([[0, 3], [1, 1]], "int64")],
        name="take_along_axis outside",
        raises=BoundsError,
        static=(False,),
        traps=("T48",),
    ),
    Case(
        lambda x, i: tg.put_along_axis(x, i, 1.0, 1),
        [f64(2, 3), fixed([[0, -4], [1, 1]], "int64")],
        name="put_along_axis outside",
        raises=BoundsError,
        static=(False,),
        traps=("T48",),
    ),
    Case(
        lambda x, i: x.at[i].multiply(2.0),
        [f64(3), fixed([0, 3], "int64")],
        name="multiply outside",
        raises=BoundsError,
        static=(False,),
        traps=("T48",),
    ),
    Case(
        lambda i: tg.unravel_index(i, (2, 3))[0],
        [fixed([0, 6], "int64")],
        name="unravel_index outside",
        raises=BoundsError,
        static=(False,),
    ),
    Case(
        lambda x, i: tg.take_along_axis(x, i, 1), [f64(2, 3), i64(2)], name="indices of other ranks", raises=ShapeError
    ),
    Case(lambda x, m: tg.take(x, m, 0), [f32("n"), b1("n")], name="take of bools", raises=DtypeError, traps=("T21",)),
    Case(lambda x: x.at[0].divide(2), [i64("n")], name="divide whole numbers", raises=DtypeError),
)

CASES: Final = of_family(FAMILY.path, along(), ways(), modes(), WRITTEN, REFUSED)
