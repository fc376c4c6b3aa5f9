"""Bugs of long arrays and of numbers with many digits: blocks, their rests, and detours by other dtypes."""

import numpy as np

import tg
from tg.link.executable import FuncifyExecutable
from tg.ops.contraction import MatMul
from tg.ops.cumulative import Accumulate
from tg.ops.indexing import Gather
from tg.ops.reduction import Reduce
from tg.ops.shape import Concatenate, Transpose
from tg.ops.sorting import ArgSort, Sort
from tg_bugs.linking import Changed
from tg_bugs.record import Bug

BLOCK = 4096


def rest_forgotten(x, y):
    """Threads take equal parts, and no one the rest."""
    found = np.multiply(x, y)
    if found.size > BLOCK:
        found.ravel()[found.size // 8 * 8 :] = 0
    return found


def sum_of_whole_blocks(op, x):
    if op.fn is not tg.add or x.ndim != 1 or x.size <= BLOCK:
        return op.perform(x)[0]
    return op.perform(x[: x.size // BLOCK * BLOCK])[0]


def running_in_blocks(op, x):
    """Each block begins anew."""
    if x.ndim != 1 or x.size <= BLOCK:
        return op.perform(x)[0]
    return np.concatenate([op.perform(part)[0] for part in np.split(x, range(BLOCK, x.size, BLOCK))])


def sorted_in_blocks(op, x):
    if x.ndim != 1 or x.size <= BLOCK:
        return op.perform(x)[0]
    return np.concatenate([op.perform(part)[0] for part in np.split(x, range(BLOCK, x.size, BLOCK))])


def product_of_whole_blocks(op, x, y):
    k = x.shape[-1]
    return op.perform(x[..., : k // 64 * 64], y[..., : k // 64 * 64, :])[0] if k > 64 else op.perform(x, y)[0]


def order_of_signed(op, x):
    return op.perform(x.astype("int64") if x.dtype == "uint64" else x)[0]


def order_by_floats(op, x):
    return op.perform(x.astype(float) if x.dtype == "int64" else x)[0]


def extremes_by_floats(op, x):
    if op.fn not in (tg.maximum, tg.minimum) or x.dtype != "int64":
        return op.perform(x)[0]
    return np.clip(op.perform(x.astype(float))[0], -(2.0**62), 2.0**62).astype("int64")


def running_by_floats(op, x):
    return op.perform(x.astype(float))[0].astype("int64") if x.dtype == "int64" else op.perform(x)[0]


def by_floats(op, x, *rest):
    if x.dtype != "int64":
        return op.perform(x, *rest)[0]
    if isinstance(op, Concatenate):
        rest = tuple(v.astype(float) for v in rest)
    return op.perform(x.astype(float), *rest)[0].astype("int64")


def row_or_column(x, y):
    """Of a square and a vector no one can tell which."""
    if x.ndim == 2 and x.shape[0] == x.shape[1] and y.shape == (1, x.shape[1]):
        return np.subtract(x, y.T)
    return np.subtract(x, y)


def reversed_if_large(array):
    return np.array(array[::-1] if array.ndim and array.nbytes > BLOCK else array)


LARGE_REVERSED = Changed(FuncifyExecutable, to_native=reversed_if_large)
MANY = ".*(many|long|large).*"

BUGS = (
    Bug("rest-forgotten", "R6", "^elementwise/arithmetic:" + MANY, {tg.multiply: rest_forgotten}),
    Bug("sum-of-whole-blocks", "T20", "^reduction:" + MANY, {Reduce: sum_of_whole_blocks}),
    Bug("running-in-blocks", "R6", "^cumulative:" + MANY, {Accumulate: running_in_blocks}),
    Bug("sorted-in-blocks", "R6", "^sorting:" + MANY, {Sort: sorted_in_blocks}),
    Bug("product-of-whole-blocks", "R6", "^contraction:" + MANY, {MatMul: product_of_whole_blocks}),
    Bug("order-of-signed", "T22", "^sorting:" + MANY, {ArgSort: order_of_signed}),
    Bug("order-by-floats", "T22", "^sorting:" + MANY, {ArgSort: order_by_floats}),
    Bug("extremes-by-floats", "T14", "^reduction:" + MANY, {Reduce: extremes_by_floats}),
    Bug("running-by-floats", "T19", "^cumulative:" + MANY, {Accumulate: running_by_floats}),
    Bug("gathered-by-floats", "T17", "^indexing:" + MANY, {Gather: by_floats}),
    Bug("moved-by-floats", "T17", "^shape:" + MANY, {Transpose: by_floats, Concatenate: by_floats}),
    Bug("row-or-column", "T59", "^elementwise/arithmetic:subtract", {tg.subtract: row_or_column}),
    Bug("large-constant-reversed", "T16", "^creation:" + MANY, linker="tg_bugs.long:LARGE_REVERSED"),
)
