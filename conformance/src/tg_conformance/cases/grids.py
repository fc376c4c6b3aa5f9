"""Cases of `ops/grids`: coordinates, and positions of parts."""

from __future__ import annotations

from typing import Final

import numpy as np

import tg
from tg.errors import InputError, ShapeError
from tg.ops.grids import FAMILY
from tg.plugin.case import Case, b1, f64, fixed
from tg_conformance.cases.family import of_family, twin

WRITTEN: Final = (
    twin(
        "positions of parts",
        lambda m, x: (
            *m.diag_indices_from(x),
            *m.tril_indices_from(x, -1),
            *m.triu_indices_from(x),
            *m.mask_indices(3, m.triu, 1),
            x[m.ix_([0, 2], [1, 0])],
        ),
        f64(3, 3),
    ),
    twin("ix_ of a mask", lambda m, x, mask: x[m.ix_(mask, [0, 1])], f64(4, 3), b1(4)),
    twin(
        "mgrid and ogrid",
        lambda m, x: (m.mgrid[0:3, 0:2] + x, m.mgrid[0:1:3j] * x, *m.ogrid[0:3, 0:1:4j], *m.diag_indices(2, 3)),
        f64(),
    ),
    Case(
        lambda n: tg.mgrid[0:n, 0:2],
        [fixed(3, "int64")],
        name="mgrid of a length that is computed",
        oracle=lambda n: np.mgrid[0:3, 0:2],
    ),
    Case(tg.ix_, [f64(2, 3)], name="ix_ of a matrix", raises=ShapeError),
    Case(lambda x: tg.mgrid[0:2, 1] + x, [f64()], name="mgrid of a number", raises=InputError),
    Case(lambda x: tg.diag_indices_from(x)[0], [f64(2, 3, static=True)], name="diag_indices_from", raises=ShapeError),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
