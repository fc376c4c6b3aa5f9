"""Cases of `ops/rewritten`: elements replaced and repeated, arrays joined from nested lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import BoundsError, DtypeError, InputError, ShapeError
from tg.ops.rewritten import FAMILY
from tg.plugin.case import Case, f64, fixed
from tg_conformance.cases.family import of_family, twin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _written(x: Any, v: Any) -> Iterator[Any]:
    """The results of NumPy, which writes in place."""
    writes: tuple[Callable[[Any], Any], ...] = (
        lambda y: np.put(y, [0, -1], v),
        lambda y: np.put(y, [7, -9], 3.0, mode="clip"),
        lambda y: np.place(y, x > 0, v),
        lambda y: np.putmask(y, x > 0, v),
        lambda y: np.copyto(y, 5.0, where=x > 0),
    )
    for write in writes:
        y = np.array(x, order="C")
        write(y)
        yield y


WRITTEN: Final = (
    twin(
        "block, resize, rollaxis, apply_over_axes",
        lambda m, x: (
            m.block([[x, x], [x, x]]),
            m.resize(x, (5, 4)),
            m.rollaxis(x, 1),
            m.apply_over_axes(m.sum, x, [0, 1]),
            m.vdot(x, x),
        ),
        f64("n", "m"),
        layouts=("C", "F"),
        gradient=True,
        condition=lambda x: (1, 1, 1, x.size, x.size),
    ),
    twin(
        "cross",
        lambda m, x, y: (m.cross(x, y), m.cross(x, y, axis=0)),
        f64(3, 3),
        f64(3, 3),
        gradient=True,
        condition=lambda x, y: (4 * np.abs(x).max() * np.abs(y).max(),) * 2,
    ),
    Case(
        lambda x, v: (
            tg.put(x, [0, -1], v),
            tg.put(x, [7, -9], 3.0, mode="clip"),
            tg.place(x, x > 0, v),
            tg.putmask(x, x > 0, v),
            tg.copyto(x, 5.0, where=x > 0),
        ),
        [fixed([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]), fixed([10.0, 20.0])],
        name="put, place, putmask, copyto",
        gradient=True,
        oracle=lambda x, v: tuple(_written(x, v)),
    ),
    twin("vdot of complex", lambda m, x: m.vdot(x * (1 + 2j), x), f64("n"), condition=lambda x: x.size + 1),
    twin("array_equiv", lambda m, x: (m.array_equiv(x, x), m.array_equiv(x, x[0])), f64(3, 2)),
    Case(lambda x: tg.put(x, [9], 1.0), [f64(3)], name="put outside", raises=BoundsError),
    Case(lambda x: tg.copyto(tg.cast(x, "int8"), x), [f64(3)], name="copyto of another kind", raises=DtypeError),
    Case(lambda x: tg.block([[x], x]), [f64(3)], name="block of two depths", raises=InputError),
    Case(lambda x: tg.vdot(x, x[1:]), [f64(3, static=True)], name="vdot of two lengths", raises=ShapeError),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
