"""Rules for `contraction`."""

import numpy as ml  # the array library

from tg.ops import contraction as ops


def matmul(op, x, y):
    """The matrix product over the last two axes; leading axes broadcast."""
    return ml.matmul(x, y)


RULES = {
    ops.MatMul: matmul,
}
