"""Cases of `ops/selection`, and masks as indices: lengths that depend on values, none, all, and with a stated size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import BoundsError, ShapeError
from tg.ops.selection import FAMILY
from tg.plugin.case import SAME_SHAPE, Case, any_dtype, b1, f64, fixed, i64
from tg.types.dtypes import DTYPES
from tg_conformance.cases.family import alike, of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

BARE: Final = (*SAME_SHAPE, "empty", "one")
FEW: Final = ("int8", "float32", "float64")
MASKED: Final = {
    "rows": (lambda m, x, a, b, c: x[a], lambda m, x, a, b, c: x[~a] * 2.0),
    "rows and columns": (lambda m, x, a, b, c: x[b],),
    "everywhere": (lambda m, x, a, b, c: x[c], lambda m, x, a, b, c: x[c] + x[c]),
    "beside an integer": (lambda m, x, a, b, c: x[a, ..., 1], lambda m, x, a, b, c: x[b, -1]),
    "beside slices": (lambda m, x, a, b, c: x[a, 1:, ::-2], lambda m, x, a, b, c: x[a, ::-1]),
    "behind a new axis": (lambda m, x, a, b, c: x[None, b],),
    "at the end": (lambda m, x, a, b, c: x[..., c[0, 0]], lambda m, x, a, b, c: x[:, c[0]]),
    "away from an integer": (lambda m, x, a, b, c: x[0, :, c[0, 0]],),
}


def masked() -> Iterator[Case]:
    """Masks over one, two and three axes, in every company that NumPy allows them."""
    for name, expressions in MASKED.items():
        yield alike(
            f"mask {name}",
            lambda m, *arrays, functions=expressions: tuple(one(m, *arrays) for one in functions),
            [f64("n", "m", "k"), b1("n"), b1("n", "m"), b1("n", "m", "k")],
            layouts=("C", "F", "strided", "reversed"),
            gradient=True,
            traps=("T21", "T55", "T61"),
        )
    yield alike(
        "mask of every dtype",
        lambda m, x, mask: x[mask],
        [any_dtype("n"), b1("n")],
        dtypes=DTYPES,
        layouts=BARE,
        traps=("T34",),
    )
    for name, values in (("all", [True] * 4), ("none", [False] * 4)):
        yield alike(
            f"mask of {name}",
            lambda m, x, mask: (x[mask], x[mask].sum(), x[mask] * 2.0 + 1.0),
            [f64(4, "m"), fixed(values, "bool")],
            gradient=True,
            traps=("T34", "T56"),
            condition=lambda x, mask: (0, np.sum(np.abs(x[mask])), 0),  # the sum of terms that cancel
        )
    yield Case(
        lambda x: (
            x[[True, False, True]],
            x[np.array([[True, False], [False, True], [True, True]])],
            x[True],
            x[False],
        ),
        [f64(3, 2)],
        name="known masks",
        oracle=lambda x: (
            x[[True, False, True]],
            x[np.array([[True, False], [False, True], [True, True]])],
            x[True],
            x[False],
        ),
        gradient=True,
    )
    yield alike(
        "what follows from a data-dependent length",
        lambda m, x, mask: (
            x[mask][1:] - x[mask][:-1],
            m.zeros(x[mask].shape[0]) + x[mask],
            m.concatenate([x[mask], x[~mask]]),
            m.sort(x[mask])[::-1],
            m.arange(x[mask].shape[0] * 2),
        ),
        [f64("n"), b1("n")],
        gradient=True,
        condition=lambda x, mask: (9.0, 9.0, 9.0, 9.0, 9.0),
    )


def put(x: Any, place: Any, v: Any) -> Any:
    """A copy of an array with a place overwritten."""
    y = x.copy()
    y[place] = v
    return y


def written() -> Iterator[Case]:
    """Updates at masks: values without an axis for the positions, with one, and with another number of them."""
    yield Case(
        lambda x, a, v: (x.at[a].set(v), x.at[a].add(2.0), x.at[a].multiply(v), x.at[a].max(v), x.at[a, ...].min(0.0)),
        [any_dtype("n", "m"), b1("n"), any_dtype("m")],
        name="write at a mask",
        dtypes=("float32", "float64"),
        oracle=lambda x, a, v: (
            put(x, a, v),
            put(x, a, x[a] + 2),
            put(x, a, x[a] * v),
            put(x, a, np.maximum(x[a], v)),
            put(x, a, np.minimum(x[a], 0)),
        ),
        gradient=True,
        traps=("T37", "T56"),
    )
    yield Case(
        lambda x, a: (x.at[a].set(7), x.at[~a].add(1)),
        [any_dtype("n", "m"), b1("n", "m")],
        name="write a number at a mask of two axes",
        dtypes=("int8", "uint64", "float32", "float64"),
        oracle=lambda x, a: (put(x, a, 7), put(x, ~a, x[~a] + 1)),
        gradient=True,
        traps=("T56",),
    )
    for name, mask in (("some", [1, 0, 1, 1, 0]), ("all", [1] * 5), ("none", [0] * 5)):
        count = sum(mask)
        facts: dict[str, Any] = {"gradient": True, "traps": ("T53", "T56")}
        yield Case(
            lambda x, a, v: (x.at[a].set(v), x.at[a].add(v), x.at[a].multiply(v)),
            [f64(5, 3), fixed(mask, "bool"), f64(count, 3)],
            name=f"write as many values at a mask of {name}",
            oracle=lambda x, a, v: (put(x, a, v), put(x, a, x[a] + v), put(x, a, x[a] * v)),
            **facts,
        )
        yield Case(
            lambda x, a, v: (x.at[:, a].set(v), x.at[0, a].set(v[0]), x.at[1:, a].add(1.0)),
            [f64(3, 5), fixed(mask, "bool"), f64(3, count)],
            name=f"write behind an axis at a mask of {name}",
            oracle=lambda x, a, v: (
                put(x, (slice(None), a), v),
                put(x, (0, a), v[0]),
                put(x, (slice(1, None), a), x[1:, a] + 1),
            ),
            **facts,
        )
    for count in (2, 4, 5):
        yield Case(
            lambda x, a, v: x.at[a].set(v),
            [f64(5), fixed([1, 0, 1, 1, 0], "bool"), f64(count)],
            name=f"write {count} values at a mask of 3",
            raises=ShapeError,
            static=(False,),
            traps=("T56",),
        )


def sized(x: Any, n: int, fill: Any) -> Any:
    """The first n entries, and a fill where there are fewer."""
    return np.concatenate([x[:n], np.full(max(0, n - len(x)), fill, x.dtype)])


FOUND: Final = (
    alike(
        "nonzero",
        lambda m, x: (*m.nonzero(x > 0.5), m.flatnonzero(x), m.argwhere(x < 0.0)),
        [f64("n", "m")],
        layouts=BARE,
    ),
    alike("nonzero of every dtype", lambda m, x: m.nonzero(x)[0], [any_dtype("n", values="ties")], dtypes=DTYPES),
    alike(
        "compress and extract",
        lambda m, x, a: (m.compress(a, x, 0), m.compress(a[:2], x, 1), m.compress(a, x), m.extract(x > 0, x)),
        [f64(4, "m"), fixed([True, False, True, True], "bool")],
    ),
    alike("gradient of compress", lambda m, x, a: m.compress(a, x, 0), [f64("n", "m"), b1("n")], gradient=True),
    alike(
        "unique",
        lambda m, x: (*m.unique(x, True, True, True), *m.unique_counts(x), m.sort(m.unique_values(x))),
        [any_dtype("n", "m", values="ties")],
        dtypes=("int8", "uint64", "int64", "float32", "float64"),
        layouts=BARE,
        traps=("T31", "T34"),
    ),
    alike(
        "unique with NaN",
        lambda m, x: (
            *m.unique(x, True, True, True),
            *m.unique(x, True, True, True, equal_nan=False),
            *m.unique_counts(x),
        ),
        [fixed([np.nan, 1.0, -0.0, np.nan, np.inf, 0.0, 1.0, -np.inf])],
    ),
    alike(
        "isin",
        lambda m, x, y: (m.isin(x, y), m.isin(x, y, invert=True), m.isin(x, y[:0]), m.isin(x[:0], y)),
        [i64("n", "m"), fixed([[3, -2], [0, 5]], "int8")],
    ),
    alike("isin of floats", lambda m, x, y: m.isin(x, y), [f64("n", values="ties"), fixed([2.0, np.nan, 0.0])]),
    Case(
        lambda x: tuple(
            v
            for n in (0, 2, 99)
            for v in (
                *tg.nonzero(x, size=n, fill_value=-1),
                tg.flatnonzero(x, size=n),
                tg.argwhere(x, size=n, fill_value=7),
                tg.extract(x, x * 2, size=n, fill_value=-1),
            )
        ),
        [i64("n", "m", values="ties")],
        name="with a size",
        layouts=BARE,
        oracle=lambda x: tuple(
            v
            for n in (0, 2, 99)
            for v in (
                *(sized(k, n, -1) for k in np.nonzero(x)),
                sized(np.flatnonzero(x), n, 0),
                np.stack([sized(k, n, 7) for k in np.nonzero(x)], 1),
                sized(2 * x[x != 0], n, -1),
            )
        ),
    ),
    Case(
        lambda x, n: (tg.flatnonzero(x > 0, size=n, fill_value=-1), tg.compress(x > 0, x, size=n)),
        [f64(6), fixed(4, "int64")],
        name="with a size that is a value",
        oracle=lambda x, n: (sized(np.flatnonzero(x > 0), 4, -1), sized(x[x > 0], 4, 0)),
        gradient=False,
    ),
    Case(
        lambda x: (
            *tg.unique(x, True, True, True, size=6, fill_value=9.0),
            *tg.unique(x, True, False, True, size=2),
        ),
        [fixed([3.0, 1, 2, 1, 2, 5])],
        name="unique with a size",
        oracle=lambda x: (
            np.array([1.0, 2, 3, 5, 9, 9]),
            np.array([1, 2, 0, 5, 0, 0]),
            np.array([2, 0, 1, 0, 1, 3]),
            np.array([2, 2, 1, 1, 0, 0]),
            np.array([1.0, 2]),
            np.array([1, 2]),
            np.array([2, 2]),
        ),
    ),
)

COMPUTED: Final = tuple(
    Case(
        lambda x: x[x[:, 0] > 2, x[0] > 2],
        [fixed(values, "float64")],
        name=f"masks of {rows} and {columns} elements together",
        oracle=lambda x: x[x[:, 0] > 2, x[0] > 2],
        gradient=True,
    )
    for rows, columns, values in (
        (1, 2, [[0.0, 3.0, 4.0], [5.0, 6.0, 7.0]]),
        (2, 1, [[0.0, 1.0, 3.0], [5.0, 6.0, 7.0], [8.0, 1.0, 2.0]]),
        (1, 1, [[0.0, 1.0, 3.0], [5.0, 6.0, 7.0]]),
    )
)

REFUSED: Final = (
    Case(
        lambda x, a: x[a],
        [f64(5), fixed([True] * 4, "bool")],
        name="mask of another length",
        raises=BoundsError,
    ),
    Case(
        lambda x, a: x[a],
        [f64(5, 4), fixed([[True] * 5] * 4, "bool")],
        name="mask of another run-time shape",
        raises=BoundsError,
        static=(False,),
    ),
    Case(
        lambda x, a: x[a],
        [f64(5), fixed([True], "bool")],
        name="mask of one element",
        raises=BoundsError,
        static=(False,),
    ),
    Case(
        lambda x, a: x.at[a].set(1.0),
        [f64(5), fixed([True] * 4, "bool")],
        name="write at a mask of another length",
        raises=BoundsError,
        static=(False,),
        traps=("T48", "T56"),
    ),
    Case(
        lambda x, a: x[a] + x,
        [f64(5), fixed([True, False, True, False, True], "bool")],
        name="data-dependent length against another",
        raises=ShapeError,
        static=(False,),
    ),
    Case(
        lambda x, a: tg.compress(a, x, 0),
        [f64(2, "m"), fixed([True, False, True], "bool")],
        name="compress behind the end",
        raises=BoundsError,
        static=(False,),
        traps=("T48",),
    ),
    Case(lambda x: tg.nonzero(x)[0], [f64()], name="nonzero of a scalar", raises=ShapeError),
)

CASES: Final = of_family(FAMILY.path, masked(), written(), FOUND, COMPUTED, REFUSED)
