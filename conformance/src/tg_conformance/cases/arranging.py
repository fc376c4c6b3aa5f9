"""Cases of `ops/arranging`: turning, rolling, adding, joining and splitting axes; nearly all read alike in NumPy."""

from __future__ import annotations

from typing import Final

import numpy as np

import tg
from tg.errors import InputError, ShapeError
from tg.ops.arranging import FAMILY
from tg.plugin.case import SAME_SHAPE, Case, any_dtype, f32, f64, fixed
from tg.types.dtypes import DTYPES
from tg_conformance.cases.family import alike, of_family

BARE: Final = (*SAME_SHAPE, "empty", "one")
FEW: Final = ("int8", "float32", "float64")

ROLLED: Final = (
    alike(
        "roll",
        lambda m, x: (m.roll(x, 1), m.roll(x, -5, 0), m.roll(x, (1, 2), (0, 1)), m.roll(x, 2, (0, 1))),
        [any_dtype("n", "m")],
        dtypes=DTYPES,
        layouts=BARE,
        gradient=True,
    ),
    alike(
        "roll of nothing",
        lambda m, x: (m.roll(x, 3, 0), m.roll(x, -1, 1), m.roll(x, 2)),
        [f64(0, "m")],
        layouts=("C",),
    ),
    alike(
        "roll by a value",
        lambda m, x, s: (m.roll(x, s, 1), m.roll(x, -s, 0), m.roll(x, s)),
        [f64("n", "m"), fixed(3, "int32")],
        gradient=True,
    ),
    alike(
        "rot90",
        lambda m, x: (*(m.rot90(x, k) for k in range(-1, 4)), m.rot90(x, 1, (1, 0)), m.rot90(x, 3, (-1, 0))),
        [any_dtype("n", "m")],
        dtypes=FEW,
        layouts=BARE,
        gradient=True,
        traps=("T52",),
    ),
    alike(
        "flips",
        lambda m, x: (m.fliplr(x), m.flipud(x), m.flip(x, (0, 2))),
        [any_dtype("n", "m", "k")],
        dtypes=FEW,
        layouts=BARE,
        gradient=True,
        traps=("T39", "T52"),
    ),
    alike(
        "products of flips",
        lambda m, x: 2.0 * m.fliplr(x) + m.flipud(x) * m.roll(x, 1, 0),
        [f32("n", "m")],
        gradient=True,
        traps=("T39",),
        condition=lambda x: 2 * abs(x[:, ::-1]) + abs(x[::-1] * np.roll(x, 1, 0)),
    ),
)

AXES: Final = (
    alike(
        "atleast",
        lambda m, x, y: (
            *m.atleast_1d(x, y),
            *m.atleast_2d(x, y),
            *m.atleast_3d(x, y),
            m.atleast_3d(m.atleast_2d(x)),
        ),
        [any_dtype("n"), any_dtype()],
        dtypes=FEW,
        layouts=BARE,
        gradient=True,
    ),
    alike(
        "moves of axes",
        lambda m, x: (m.moveaxis(x, (0, 1), (-1, 0)), m.swapaxes(x, -1, 0), m.permute_dims(x, (1, 2, 0))),
        [any_dtype("n", "m", "k")],
        dtypes=FEW,
        layouts=BARE,
        gradient=True,
    ),
    Case(
        lambda x: (x.swapaxes(0, 1), x.flatten("F"), tg.flatten(x), tg.ravel(x, "F"), tg.reshape(x, (-1, 2), "F")),
        [f64(4, "m")],
        name="orders",
        oracle=lambda x: (
            x.swapaxes(0, 1),
            x.flatten("F"),
            x.flatten(),
            x.ravel("F"),
            x.reshape((-1, 2), order="F"),
        ),
        gradient=True,
        traps=("T40",),
    ),
    alike(
        "broadcast_arrays",
        lambda m, x, y, z: m.broadcast_arrays(x, y, z),
        [any_dtype("n", "m"), any_dtype("m"), any_dtype("n", 1)],
        dtypes=FEW,
        static=(False, True),
        gradient=True,
        traps=("T37", "T72"),
    ),
    alike(
        "meshgrid",
        lambda m, x, y: (*m.meshgrid(x, y), *m.meshgrid(x, y, indexing="ij"), *m.meshgrid(x)),
        [any_dtype("n"), any_dtype("m")],
        dtypes=FEW,
        gradient=True,
    ),
    alike(
        "meshgrid of three",
        lambda m, x, y, z: (*m.meshgrid(x, y, z), *m.meshgrid(x, y, z, sparse=True)),
        [f64("n"), f64("m"), f64("k")],
        gradient=True,
    ),
    Case(
        lambda x: (tg.join_dims(x), tg.join_dims(x, 1), tg.join_dims(x, 0, 2), tg.join_dims(x, 1, 0)),
        [any_dtype("n", "m", 2)],
        name="join_dims",
        dtypes=FEW,
        layouts=BARE,
        oracle=lambda x: (
            x.ravel(),
            x.reshape(len(x), x.shape[1] * 2),
            x.reshape(len(x) * x.shape[1], 2),
            x[:, None],
        ),
        gradient=True,
    ),
    Case(
        lambda x: (tg.split_dims(x, (2, 3)), tg.split_dims(x, (-1, 2), 0), tg.split_dims(tg.split_dims(x, (1, 6)), ())),
        [any_dtype(6, "m")],
        name="split_dims",
        dtypes=FEW,
        oracle=lambda x: (x.reshape(2, 3, -1), x.reshape(3, 2, -1), x),
        gradient=True,
    ),
    Case(
        lambda x: tg.specify_shape(x, (3, None)) * tg.constant(np.arange(3.0))[:, None],
        [f64(3, "m")],
        name="specify_shape",
        oracle=lambda x: x * np.arange(3.0)[:, None],
        gradient=True,
        traps=("T61",),
    ),
    Case(
        lambda x, y: x + tg.specify_shape(y, x.shape),
        [f64("n", "m"), f64("n", "m")],
        name="specify_shape as another",
        oracle=lambda x, y: x + y,
        gradient=True,
        condition=lambda x, y: abs(x) + abs(y),
    ),
    alike("sizes", lambda m, x: m.zeros(m.shape(x)) + m.size(x) + m.size(x, 0) * m.ndim(x), [f64("n", "m")]),
)


REFUSED: Final = (
    Case(
        lambda x: tg.specify_shape(x, (4, None)),
        [f64(3, "m")],
        name="specify_shape of another length",
        raises=ShapeError,
        static=(False,),
        traps=("T61",),
    ),
    Case(lambda x: tg.roll(x, (1, 2, 3), (0, 1)), [f64("n", "m")], name="roll of shifts too many", raises=InputError),
    Case(lambda x: tg.meshgrid(x, indexing="no"), [f64("n")], name="meshgrid of another indexing", raises=InputError),  # type: ignore[arg-type]
    Case(
        lambda x: tg.split_dims(x, (4, 5)),
        [f64("n")],
        name="split_dims of another length",
        raises=ShapeError,
        static=(False,),
    ),
)

CASES: Final = of_family(FAMILY.path, ROLLED, AXES, REFUSED)
