"""Values of a program that is traced: tensors of ggml with shapes of any rank, and constants that NumPy still moves.

ggml has four axes at most, and the last of NumPy's is its first. A tensor here is C-contiguous, so that its axes can be
joined and split at no cost: `Tensor.dims` gives it any factorisation of four axes or fewer. Two kinds are lazy: a
constant is an array until a kernel wants it, so movements of weights are NumPy's views, and a transposed tensor is
copied where its user cannot take it as it is.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any, Final, final

import ggml as g
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_ggml.trace import Trace

    Array = np.ndarray[Any, Any]

AXES: Final = 4  # of a tensor of ggml
KINDS: Final = {
    "float32": g.GGML_TYPE_F32,
    "int64": g.GGML_TYPE_I64,
    "bool": g.GGML_TYPE_I8,
    "int32": g.GGML_TYPE_I32,  # positions of rows, as ggml reads them
    "float16": g.GGML_TYPE_F16,  # masks of attention
}
TRACING: Final = threading.local()  # `.stack`: the traces under way in a thread


def current() -> Trace:
    """The trace that is under way."""
    trace: Trace = TRACING.stack[-1]
    return trace


@final
class Tensor:
    """A value while a program is traced: an array, a tensor of ggml, or a transposed tensor that is not copied yet."""

    __slots__ = ("_node", "base", "data", "dtype", "order", "shape")

    def __init__(
        self,
        shape: Sequence[int],
        dtype: str = "float32",
        *,
        node: Any = None,
        data: Array | None = None,
        base: Tensor | None = None,
        order: tuple[int, ...] = (),
    ) -> None:
        self.shape, self.dtype = tuple(map(int, shape)), np.dtype(dtype)
        self._node, self.data, self.base, self.order = node, data, base, order

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def kind(self) -> int:
        """The type in ggml."""
        return int(KINDS[self.dtype.name])

    @property
    def node(self) -> Any:
        """The contiguous tensor of ggml."""
        if self._node is None:
            self._node = _copied(self.base, self.order) if self.base is not None else _constant(self)
        return self._node

    def dims(self, dims: Sequence[int]) -> Any:
        """The contiguous tensor of ggml under other lengths, four at most, in NumPy's order."""
        node, lengths = self.node, extents(dims)
        if [*node.contents.ne] == lengths:
            return node
        return g.ggml_reshape_4d(current().ctx, node, *lengths)

    def rows(self) -> Any:
        """The contiguous tensor of ggml under its own lengths, the first joined where there are more than four."""
        return self.dims(packed(self.shape))


def _constant(x: Tensor) -> Any:
    """The tensor of ggml that holds a constant; one without elements holds nothing."""
    return current().constant(np.zeros(x.shape, x.dtype) if x.data is None else x.data)


def constant(array: Array) -> Tensor:
    """An array as a constant."""
    return Tensor(array.shape, array.dtype.name, data=np.asarray(array))


def extents(dims: Sequence[int]) -> list[int]:
    """The four lengths that ggml has for up to four of NumPy's."""
    assert len(dims) <= AXES, dims
    return ([*reversed(dims)] + [1] * AXES)[:AXES]


def packed(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape with its first axes joined where it has more than four."""
    if len(shape) <= AXES:
        return tuple(shape)
    return (math.prod(shape[: 1 - AXES]), *shape[1 - AXES :])


def reshape(x: Tensor, shape: Sequence[int]) -> Tensor:
    """The same elements under another shape; of a constant a view."""
    shape = tuple(map(int, shape))
    if shape == x.shape:
        return x
    if x.data is not None:
        return constant(x.data.reshape(shape))
    return Tensor(shape, x.dtype.name, node=x.node)


def transpose(x: Tensor, order: Sequence[int]) -> Tensor:
    """The axes permuted, which costs nothing before somebody wants the elements in order."""
    order = tuple(order)
    shape = [x.shape[k] for k in order]
    if x.data is not None:
        return constant(np.transpose(x.data, order))
    if not moves(x.shape, order):
        return reshape(x, shape)
    if x.base is not None:
        return transpose(x.base, [x.order[k] for k in order])
    return Tensor(shape, x.dtype.name, base=x, order=order)


def moves(shape: Sequence[int], order: Sequence[int]) -> bool:
    """Whether elements change places: axes of length 1 may go anywhere."""
    own = [k for k in order if shape[k] != 1]
    return own != sorted(own) and 0 not in shape


def loose(x: Tensor) -> Any:
    """The tensor of ggml under its own lengths, a transposed one as it lies; rows are contiguous all the same."""
    if x.base is None or x.ndim > AXES or x.order[-1] != x.ndim - 1 or x._node is not None:
        return x.rows()
    return _permuted(x.base.dims(x.base.shape), x.order)


def _permuted(node: Any, order: Sequence[int]) -> Any:
    """A view with axes permuted; `order` is NumPy's."""
    n, places = len(order), [0, 1, 2, 3]
    for new, old in enumerate(order):
        places[n - 1 - old] = n - 1 - new
    return g.ggml_permute(current().ctx, node, *places)


def _copied(base: Tensor, order: Sequence[int]) -> Any:
    """The elements of a transposed tensor in order.

    Axes that stay neighbours are one. What has more than four then is transposed step by step: the axis whose turn it
    is comes before all that is not in its place yet.
    """
    lengths, order = joined(base.shape, order)
    ctx = current().ctx
    if len(order) <= AXES:
        return g.ggml_cont(ctx, _permuted(base.dims(lengths), order))
    left, node, before = [*range(len(order))], base.node, 1
    for axis in order:
        at = left.index(axis)
        skipped, own = math.prod(lengths[k] for k in left[:at]), lengths[axis]
        behind = math.prod(lengths[k] for k in left[at + 1 :])
        if skipped > 1 and own > 1:
            dims = extents((before, skipped, own, behind))
            node = g.ggml_cont(ctx, _permuted(g.ggml_reshape_4d(ctx, node, *dims), (0, 2, 1, 3)))
        left.pop(at)
        before *= own
    return node


def joined(shape: Sequence[int], order: Sequence[int]) -> tuple[list[int], list[int]]:
    """The lengths and the permutation with axes of length 1 dropped and neighbours joined that stay neighbours."""
    own = [k for k in order if shape[k] != 1]
    runs: list[list[int]] = []
    for k in own:
        gap = range(runs[-1][-1] + 1, k) if runs and k > runs[-1][-1] else None
        if gap is not None and all(shape[j] == 1 for j in gap):
            runs[-1].append(k)
        else:
            runs.append([k])
    firsts = sorted(run[0] for run in runs)
    lengths = {run[0]: math.prod(shape[k] for k in run) for run in runs}
    return [lengths[k] for k in firsts], [firsts.index(run[0]) for run in runs]


def expand(x: Tensor, shape: Sequence[int]) -> Tensor:
    """The elements repeated to a shape."""
    shape = tuple(map(int, shape))
    if x.shape == shape:
        return x
    if x.data is not None:
        return constant(np.broadcast_to(x.data, shape))
    lengths = (1,) * (len(shape) - x.ndim) + x.shape
    if x.size == math.prod(shape):
        return reshape(x, shape)
    runs = patterns([lengths], shape)
    if x.dtype != np.float32:
        from tg_ggml.host import hosted

        return hosted(lambda a: np.broadcast_to(a.reshape(lengths), shape), [x], shape, x.dtype.name)
    ctx = current().ctx
    if len(runs) <= AXES:
        node = x.dims([n if full else 1 for n, (full,) in runs])
        return Tensor(shape, node=g.ggml_repeat_4d(ctx, node, *extents([n for n, _ in runs])))
    node, before = x.node, 1
    behind = x.size
    for n, (full,) in runs:
        if full:
            behind //= n
        else:
            node = g.ggml_reshape_4d(ctx, node, *extents((before, 1, behind)))
            node = g.ggml_repeat_4d(ctx, node, *extents((before, n, behind)))
        before *= n
    return Tensor(shape, node=node)


def patterns(operands: Sequence[Sequence[int]], shape: Sequence[int]) -> list[tuple[int, tuple[bool, ...]]]:
    """The axes of a result, joined where all operands have them or repeat along them alike.

    Returns:
        the length of each, and of each operand whether it has that length; axes of length 1 are left out.
    """
    runs: list[tuple[int, tuple[bool, ...]]] = []
    for k, n in enumerate(shape):
        if n == 1:
            continue
        full = tuple(lengths[k] == n for lengths in operands)
        if runs and runs[-1][1] == full:
            runs[-1] = (runs[-1][0] * n, full)
        else:
            runs.append((n, full))
    return runs or [(1, (True,) * len(operands))]
