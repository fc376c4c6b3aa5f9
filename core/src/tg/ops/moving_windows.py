"""Windows that stand elsewhere in each element of a batch: slices and their updates as positions, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tg.graph.nodes import Variable, as_size_variable
from tg.ops.creation import iota
from tg.ops.elementwise.arithmetic import add, maximum, minimum, multiply, negative, subtract
from tg.ops.indexing import Gather, Scatter, WrapIndex
from tg.ops.shape import broadcast_to, expand_dims_at, transpose
from tg.types.lengths import Length, same
from tg.types.lengths import multiply as multiply_lengths
from tg.types.lengths import subtract as subtract_lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.ops.elementwise.record import ElementwiseFunction


def rows(index: Variable) -> Variable:
    """For each entry of a batched index the number of the element of the batch that it stands in."""
    numbers = iota(index.shape[0])
    behind = tuple(range(1 - index.type.ndim, 0))
    return broadcast_to(expand_dims_at(numbers, behind) if behind else numbers, index.shape)


@final
class MovingWindows:
    """Windows along the last axes that stand elsewhere in each element of a batch: their positions.

    Args:
        shape: that of an array without the batch.
        starts: an int, or an int64 scalar and whether it carries the batch.
    """

    def __init__(
        self,
        size: int | Length,
        shape: Sequence[int | Length],
        starts: Sequence[tuple[int | Variable, bool]],
        sizes: Sequence[int | Length],
        steps: Sequence[int],
    ) -> None:
        self.ndim = len(shape)
        windows = list(zip(range(-len(sizes), 0), starts, sizes, steps, strict=True))
        inner = [w for w in windows if not self._is_whole(shape[w[0]], *w[1:])]
        self.axes = tuple(axis for axis, *_ in inner)
        grid = (size, *(m for _, _, m, _ in inner))
        self.indices = []
        for place, (axis, (start, batched), m, step) in enumerate(inner):
            at = _positions(shape[axis], start, batched, m, step)
            others = tuple(k - len(inner) for k in range(len(inner)) if k != place)
            at = expand_dims_at(at, others) if others else at
            self.indices.append(broadcast_to(at, grid))

    @staticmethod
    def _is_whole(n: int | Length, start: tuple[int | Variable, bool], size: int | Length, step: int) -> bool:
        return type(start[0]) is int and start[0] == 0 and step == 1 and same(n, size)

    @property
    def order(self) -> tuple[int, ...]:
        """The positions of a window's axes in what is gathered, behind the batch: first those that have positions."""
        others = iter(range(len(self.axes), self.ndim))
        return tuple(self.axes.index(k) if k in self.axes else next(others) for k in range(-self.ndim, 0))

    def read(self, x: Variable, batched: bool) -> Variable:
        """The elements of the windows, the batch in front."""
        elements = self._gathered(x) if batched else Gather(self.axes)(x, *self.indices)
        return transpose(elements, (0, *(1 + k for k in self.order)))

    def write(self, x: Variable, v: Variable, fn: ElementwiseFunction | None) -> Variable:
        """The batched array with values in the windows, or with values combined into them."""
        order = self.order
        v = transpose(v, (0, *(1 + order.index(k) for k in range(self.ndim))))
        if fn is not None and fn is not add:
            v, fn = fn(self._gathered(x), v), None
        return Scatter((-x.type.ndim, *self.axes), fn)(x, v, rows(self.indices[0]), *self.indices)  # type: ignore[no-any-return]

    def _gathered(self, x: Variable) -> Variable:
        return Gather((-x.type.ndim, *self.axes))(x, rows(self.indices[0]), *self.indices)  # type: ignore[no-any-return]


def _positions(n: int | Length, start: int | Variable, batched: bool, size: int | Length, step: int) -> Variable:
    """The positions of a window in an axis of length n, its start clamped: (batch, size), or (size) of one for all."""
    span = multiply_lengths(subtract_lengths(size, 1), step)
    low, high = as_size_variable(0), as_size_variable(subtract_lengths(n, 1))
    if step > 0:
        high = subtract(high, as_size_variable(span))
    else:
        low = negative(as_size_variable(span))
    first = maximum(low, minimum(as_size_variable(start), high))
    first = expand_dims_at(first, (-1,)) if batched else first
    return WrapIndex("promise")(add(first, multiply(iota(size), step)), as_size_variable(n))  # type: ignore[no-any-return]
