"""Rules for `shape`: mostly views of the operand. Lengths that the program does not know are operands, ints."""

from tg.backend import shape as ops
from tg_sample.arrays import ml


def reshape(op, x, *sizes):
    """The elements in C order under another shape."""
    return ml.reshape(x, ops.merge_sizes(op.shape, sizes))


def broadcast_to(op, x, *sizes):
    """The array repeated."""
    return ml.broadcast_to(x, ops.merge_sizes(op.shape, sizes))


def transpose(op, x):
    """The axes permuted."""
    return ml.transpose(x, op.order(x.ndim))


def expand_dims(op, x):
    """Axes of length 1 inserted."""
    return ml.expand_dims(x, op.axes)


def squeeze(op, x):
    """Axes of length 1 dropped."""
    return ml.squeeze(x, op.axes)


def concatenate(op, *arrays):
    """Arrays joined along an axis."""
    return ml.concatenate(arrays, op.axis)


VIEWS = frozenset({ops.Reshape, ops.BroadcastTo, ops.Transpose, ops.ExpandDims, ops.Squeeze})

RULES = {
    ops.Reshape: reshape,
    ops.BroadcastTo: broadcast_to,
    ops.Transpose: transpose,
    ops.ExpandDims: expand_dims,
    ops.Squeeze: squeeze,
    ops.Concatenate: concatenate,
}
