"""Forms of rules of gathers and scatters: indices of every kind along every axis."""

from __future__ import annotations

import numpy as np

import tg
from tests.mutants.forms_of_matrices import of
from tests.mutants.forms_of_slices import KNOWN, UNKNOWN
from tests.mutants.forms_of_updates import AT
from tg.graph.nodes import Constant
from tg.ops.creation import iota, zeros_like
from tg.ops.indexing import Gather, Nonzero, Scatter, WrapIndex
from tg.ops.reduction import Reduce
from tg.ops.shape import AxisLength, BroadcastTo, Transpose, broadcast_to

INDICES = (
    lambda n: Constant(np.array([2, 0, 3])),
    lambda n: Constant(np.array([3, 1])),
    lambda n: Constant(np.array([2])),
    lambda n: Constant(np.array(1)),
    lambda n: Constant(np.array([[2]])),
    lambda n: Constant(np.array([], np.int64)),
    lambda n: iota(3),
    lambda n: iota(3) + 1,
    lambda n: iota(2) * 2,
    lambda n: iota(n),
    lambda n: 3 - iota(3),
    lambda n: broadcast_to(Constant(np.array(1)), (4,)),
    lambda n: Constant(np.array([[2, 0], [1, 1]])),
)
SHAPES = (KNOWN, UNKNOWN, (2, 6, 5), (1, 5), (6, 1), (4,))


def gathers(change=lambda x: x, shapes=SHAPES, pairs=()):
    for i in INDICES:
        for shape in shapes:
            for axis in range(-len(shape), 0):
                yield of(shape)(lambda x, i=i, a=axis: Gather((a,))(change(x), i(change(x).shape[a])))
    for i, j in pairs:
        for axes in ((-2, -1), (-3, -1), (-3, -2)):
            shape = (6, 4, 5)[-max(2, -axes[0]) :]
            yield of(shape)(
                lambda x, i=i, j=j, a=axes: Gather(a)(change(x), i(change(x).shape[a[0]]), j(change(x).shape[a[1]]))
            )


PAIRS = ((INDICES[0], INDICES[0]), (INDICES[2], INDICES[2]), (INDICES[3], INDICES[3]), (INDICES[6], INDICES[0]))
RUN_TIME = tuple(
    of(shape, ("int64", places))(form)
    for shape in (KNOWN, UNKNOWN)
    for places in ((), (1,), (3,), (1, 1))
    for form in (
        lambda x, i: Gather((-2,))(x, WrapIndex("raise")(i, AxisLength(-2)(x))),
        lambda x, i: Gather((-2,))(x, WrapIndex("clip")(i, AxisLength(-2)(x))),
        lambda x, i: Gather((-2,))(x, WrapIndex("promise")(i, AxisLength(-2)(x))),
        lambda x, i: Gather((-2,))(x, tg.reshape(WrapIndex("raise")(i, AxisLength(-2)(x)), (-1,))),
        lambda x, i: Gather((-1,))(x, WrapIndex("raise")(i, AxisLength(-1)(x))),
        lambda x, i: Gather((-2, -1))(x, *(WrapIndex("raise")(i, AxisLength(k)(x)) for k in (-2, -1))),
        lambda x, i: Gather((-2,))(x, broadcast_to(WrapIndex("raise")(i, AxisLength(-2)(x)), (3, *i.shape))),
    )
)  # fmt: skip
GATHERED = tuple(gathers())
OF_POSITIONS = (*gathers(pairs=PAIRS), *RUN_TIME)
OF_REPEATED = (
    *gathers(lambda x: broadcast_to(x[:1], x.shape), (KNOWN, UNKNOWN)),
    *gathers(lambda x: broadcast_to(x[..., :1], x.shape), (KNOWN, (2, 6, 5))),
    *gathers(lambda x: broadcast_to(x, (4, *x.shape)), (KNOWN,)),
    *gathers(shapes=((1, 5), (6, 1), (1, 1), (2, 1, 5)), pairs=()),
    *(
        of(shape)(lambda x: Gather((-2, -1))(broadcast_to(x, (4, 5)), INDICES[0](4), INDICES[0](5)))
        for shape in ((1, 5), (4, 1), (1, 1), (4, 5), (5,), ())
    ),
)
OF_TRANSPOSED = (
    *gathers(lambda x: Transpose((-1, -2))(x), (KNOWN, UNKNOWN, (2, 6, 5)), PAIRS),
    *gathers(lambda x: Transpose((-2, -1, -3))(x), ((6, 4, 5),), ()),
    *gathers(lambda x: Transpose((-1, -3, -2))(x), ((6, 4, 5),), ()),
    of((6, 4, 5))(lambda x: Gather((-3, -1))(Transpose((-2, -1, -3))(x), INDICES[0](4), INDICES[0](6))),
    of((6, 4, 5))(lambda x: Gather((-3, -2))(Transpose((-1, -2, -3))(x), INDICES[0](5), INDICES[0](4))),
)
READ_SCATTERED = tuple(
    of(KNOWN)(lambda x, i=i, j=j, fn=fn: Gather((-2,))(Scatter((-2,), fn)(x, -x[: AT[i].data.size], AT[i]), j))
    for i in range(4)
    for j in (*AT, Constant(np.array([4, 1])), Constant(np.array([0])), Constant(np.array([0, 4])), iota(3))
    for fn in (None, tg.add, tg.maximum)
) + tuple(
    of(KNOWN)(lambda x, fn=fn, a=a: Gather(a)(Scatter((-1,), fn)(x, tg.swapaxes(x, 0, 1)[:3], AT[0]), AT[0]))
    for fn in (None, tg.add)
    for a in ((-1,), (-2,))
)
KNOWN_MASKS = tuple(
    of(KNOWN)(lambda x, m=m: x[:3] * 0 + tg.cast(Reduce(tg.add, (-1,))(Nonzero()(m(x))), x.dtype))
    for m in (
        lambda x: Constant(np.array([True, False, True])),
        lambda x: Constant(np.array([False, False])),
        lambda x: BroadcastTo((4,))(Constant(np.array(True))),
        lambda x: BroadcastTo((4,))(Constant(np.array(False))),
        lambda x: BroadcastTo((4,))(Constant(np.array([True]))),
        lambda x: BroadcastTo((2,))(Constant(np.array([True, False]))),
        lambda x: x[0] > 0,
    )
)
STEPS = tuple(
    of(shape)(lambda x, i=i, fn=fn, a=a: Scatter((a,), fn)(x, Gather((a,))(x, i(x.shape[a])) * 3, i(x.shape[a])))
    for shape in (KNOWN, UNKNOWN, (6,), (2, 6, 5))
    for i in (*INDICES[:2], *INDICES[5:11])
    for fn in (None, tg.add, tg.multiply)
    for a in ((-1,) if len(shape) == 1 else (-2, -1))
)
SCATTER_ZEROS = tuple(
    of(KNOWN)(lambda x, fn=fn, c=c: Scatter((-2,), fn)(x, c(x), AT[0]))
    for fn in (None, tg.add, tg.multiply)
    for c in (lambda x: zeros_like(x[:3]), lambda x: tg.full((3, 5), -0.0, dtype=x.dtype), lambda x: x[:3])
)
