"""Cases of `ops/joining`: stacks, splits, repeats and what is put in or left out, against NumPy."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import BoundsError, InputError, ShapeError
from tg.ops.joining import FAMILY
from tg.plugin.case import SAME_SHAPE, Case, any_dtype, f64, fixed, i32
from tg.types.dtypes import DTYPES
from tg_conformance.cases.family import alike, of_family

BARE: Final = (*SAME_SHAPE, "empty", "one")
FEW: Final = ("int8", "float32", "float64")


def diagonal_blocks(*blocks: Any) -> Any:
    """Matrices along the diagonal of zeros."""
    y = np.zeros([sum(b.shape[k] for b in blocks) for k in (0, 1)], np.result_type(*blocks))
    row = column = 0
    for b in blocks:
        y[row : row + b.shape[0], column : column + b.shape[1]] = b
        row, column = row + b.shape[0], column + b.shape[1]
    return y


STACKED: Final = (
    alike(
        "stacks of matrices",
        lambda m, x, y: (m.hstack([x, y]), m.vstack([x, y]), m.dstack([x, y]), m.column_stack([x[:, 0], y])),
        [any_dtype("n", "m"), any_dtype("n", "m")],
        dtypes=FEW,
        gradient=True,
    ),
    alike(
        "stacks of vectors",
        lambda m, x, y: (
            m.hstack([x, y]),
            m.vstack([x, y]),
            m.dstack([x, y]),
            m.column_stack([x, y]),
            m.concat([x, y]),
        ),
        [any_dtype("n"), any_dtype("n")],
        dtypes=DTYPES,
        layouts=BARE,
        gradient=True,
    ),
    alike(
        "append",
        lambda m, x, y: (m.append(x, y), m.append(x, y[None], 0), m.append(x, 1)),
        [any_dtype("n", "m"), any_dtype("m")],
        dtypes=FEW,
        gradient=True,
    ),
    Case(
        tg.block_diag,
        [any_dtype("n", "m"), any_dtype(1, 2), any_dtype("k", "p")],
        name="block_diag",
        dtypes=FEW,
        oracle=diagonal_blocks,
        gradient=True,
        traps=("T40",),
    ),
    Case(
        tg.block_diag,
        [i32("n", 0), f64(0, "m")],
        name="block_diag of nothing",
        oracle=lambda x, y: np.zeros((len(x), y.shape[1])),
    ),
    Case(
        lambda x, y, z: (tg.pack(x, y, z)[0], *tg.unpack(*tg.pack(x, y, z))),
        [f64("n", "m"), f64("k"), f64()],
        name="pack",
        oracle=lambda x, y, z: (np.concatenate([x.ravel(), y, z[None]]), x, y, z),
        gradient=True,
    ),
    Case(
        lambda x, y: (tg.pack(x, y, axes=-1)[0], *tg.unpack(*tg.pack(x, y, axes=-1), axes=-1)),
        [f64("n", "m"), f64("k", 2, "m")],
        name="pack with an axis kept",
        oracle=lambda x, y: (np.concatenate([x, y.reshape(-1, y.shape[2])]), x, y),
        gradient=True,
    ),
)

CUT: Final = (
    alike(
        "split in parts",
        lambda m, x: (*m.split(x, 2, 1), *m.vsplit(x, 3), *m.hsplit(x, 4), *m.split(x, 1), *m.hsplit(x[0], 2)),
        [any_dtype(3, 4)],
        dtypes=FEW,
        gradient=True,
    ),
    alike(
        "split at positions",
        lambda m, x: (*m.split(x, [1, 3], 1), *m.array_split(x, [2], 0), *m.split(x, [0, -1, 99]), *m.hsplit(x, [1])),
        [any_dtype("n", "m")],
        dtypes=FEW,
        layouts=BARE,
        gradient=True,
    ),
    alike(
        "array_split",
        lambda m, x: (*m.array_split(x, 2), *m.array_split(x, 3, 1), *m.array_split(x, 8, -1)),
        [any_dtype("n", "m")],
        dtypes=FEW,
        layouts=BARE,
        gradient=True,
    ),
    Case(
        lambda x: (*tg.unstack(x), *tg.unstack(x, 1)),
        [any_dtype(3, 2, "m", static=True)],
        name="unstack",
        dtypes=FEW,
        oracle=lambda x: (*x, *np.moveaxis(x, 1, 0)),
        gradient=True,
    ),
    alike(
        "delete",
        lambda m, x: (
            m.delete(x, 1, 0),
            m.delete(x, [0, -1], 1),
            m.delete(x, slice(None, None, 2)),
            m.delete(x, -2, 1),
        ),
        [any_dtype(3, 5, static=True)],
        dtypes=FEW,
        gradient=True,
    ),
    alike(
        "delete of a run-time length",
        lambda m, x: (m.delete(x, 1, 0), m.delete(x, -2, 1)),
        [f64("n", "m")],
        gradient=True,
    ),
    alike(
        "insert",
        lambda m, x, v: (
            m.insert(x, 1, 9.0, 0),
            m.insert(x, [0, 3], x[:2], 0),
            m.insert(x, 1, v, 1),
            m.insert(x, [1], v[:, None], 1),
            m.insert(x, [1, -1], v[:2]),
        ),
        [f64(3, 4, static=True), f64(3)],
        gradient=True,
    ),
    alike(
        "trim_zeros",
        lambda m, x: (m.trim_zeros(x), m.trim_zeros(x, "f"), m.trim_zeros(x, "b"), m.trim_zeros(x * 0)),
        [fixed([0.0, 0, 1, 0, 2, 0])],
    ),
)

REPEATED: Final = (
    alike(
        "tile",
        lambda m, x: (m.tile(x, 2), m.tile(x, (2, 3)), m.tile(x, (2, 1, 3)), m.tile(x, (0, 1))),
        [any_dtype("n", "m")],
        dtypes=DTYPES,
        layouts=BARE,
        gradient=True,
    ),
    alike(
        "repeat",
        lambda m, x: (m.repeat(x, 2), m.repeat(x, 3, 1), m.repeat(x, 0, 0), m.repeat(x, [2], -1), m.repeat(x, 1, 0)),
        [any_dtype("n", "m")],
        dtypes=DTYPES,
        layouts=BARE,
        gradient=True,
    ),
    alike("repeat by known numbers", lambda m, x: m.repeat(x, [1, 0, 2], 0), [f64(3, "m")], gradient=True),
    alike(
        "repeat by values",
        lambda m, x, r, s: (m.repeat(x, r, 0), m.repeat(x, s, 1), m.repeat(x, r[1], 1)),
        [f64(4, "m"), fixed([2, 3, 0, 1], "int32"), fixed(2, "int64")],
        gradient=True,
    ),
    alike("repeat by no times", lambda m, x, r: m.repeat(x, r, 0), [f64(3, "m"), fixed([0, 0, 0], "int64")]),
    Case(
        lambda x, n: tg.tile(x, (n, 2)),
        [f64("n"), fixed(3, "int64")],
        name="tile by a value",
        oracle=lambda x, n: np.tile(x, (3, 2)),
        gradient=True,
    ),
)

REFUSED: Final = (
    Case(lambda x: tg.split(x, 2)[0], [f64(5)], name="split in unequal parts", raises=ShapeError, static=(True,)),
    Case(
        lambda x: tg.split(x, 2)[0],
        [f64(5)],
        name="split of a run-time length in unequal parts",
        raises=ShapeError,
        static=(False,),
    ),
    Case(lambda x: tg.split(x, 0)[0], [f64("n")], name="split in no parts", raises=InputError),
    Case(lambda x: tg.delete(x, 9, 0), [f64(3)], name="delete outside", raises=BoundsError, static=(True,)),
    *(
        Case(
            lambda x, k=k: tg.delete(x, k, 0),
            [f64(3)],
            name=f"delete {k} of a run-time length",
            raises=BoundsError,
            static=(False,),
        )
        for k in (3, 9, -4)
    ),
    Case(lambda x: tg.insert(x, 9, 1.0, 0), [f64(3)], name="insert outside", raises=BoundsError, static=(True,)),
    Case(
        lambda x, r: tg.repeat(x, r, 0),
        [f64(3), fixed([1, -1, 2], "int64")],
        name="repeat by a negative number",
        raises=ShapeError,
        static=(False,),
    ),
    Case(
        lambda x: tg.unstack(x)[0], [f64("n")], name="unstack of a run-time length", raises=ShapeError, static=(False,)
    ),
    Case(
        lambda x, r: tg.repeat(x, r, 0),
        [f64(3), fixed([1, 2], "int64")],
        name="repeat by numbers too few",
        raises=ShapeError,
        static=(False,),
    ),
)

CASES: Final = of_family(FAMILY.path, STACKED, CUT, REPEATED, REFUSED)
