"""The least and the largest of some integers in one reduction: what index checks want of indices.

On processors XLA makes trees of windows of reductions of one array, which take ten times as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from jax import lax

from tg.backend import INTEGERS, Op, Reduce, arithmetic, identity

if TYPE_CHECKING:
    from tg.backend import Apply, Rule, TensorType, Variable, View

    Array = np.ndarray[Any, Any]


EXTREMES: Final = (arithmetic.minimum, arithmetic.maximum)


@final
class Extrema(Op):
    """The minimum and the maximum along the axes, counted from the end: each as `Reduce` gives it."""

    axes: tuple[int, ...]

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """As `Reduce`."""
        return tuple(t for fn in EXTREMES for t in Reduce(fn, self.axes).infer(x))

    def perform(self, x: Array) -> tuple[Array, ...]:
        """As `Reduce`."""
        return tuple(a for fn in EXTREMES for a in Reduce(fn, self.axes).perform(x))


def pairs(view: View) -> dict[int, Variable]:
    """Minima and maxima of the same integers, along the last axis at least."""
    groups: dict[tuple[int, tuple[int, ...]], dict[object, Apply]] = {}
    for node in view.applies:
        if type(node.op) is Reduce and node.op.fn in EXTREMES and -1 in node.op.axes:
            (x,) = node.inputs
            if x.type.dtype in INTEGERS:
                groups.setdefault((id(x), node.op.axes), {})[node.op.fn] = node
    replaced: dict[int, Variable] = {}
    for (_, axes), by_fn in groups.items():
        if len(by_fn) == 2:
            both = Extrema(axes)(*by_fn[arithmetic.minimum].inputs)
            replaced.update({id(view.results(by_fn[fn])[0]): v for fn, v in zip(EXTREMES, both, strict=True)})
    return replaced


def extrema(op: Extrema, x: Any) -> Any:
    """The rule."""
    starts = tuple(np.asarray(identity(fn, x.dtype.name)) for fn in EXTREMES)

    def combine(a: Any, b: Any) -> Any:
        return lax.min(a[0], b[0]), lax.max(a[1], b[1])

    return lax.reduce((x, x), starts, combine, [k + x.ndim for k in op.axes])


RULES: Final[dict[object, Rule]] = {Extrema: extrema}
