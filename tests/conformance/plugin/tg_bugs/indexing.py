"""Bugs of reading and writing at positions."""

import numpy as np

import tg
from tg.ops.indexing import Gather, Nonzero, Scatter, Slice, SliceUpdate, WrapIndex
from tg_bugs.record import Bug


def clamped_too_far(op, i, n):
    return np.minimum(op.perform(i, n)[0], np.maximum(n - 2, 0))


def wrapped_in_its_dtype(op, i, n):
    """`i + n` in the dtype of a short index."""
    if i.dtype != "int8" or op.mode == "clip":
        return op.perform(i, n)[0]
    wrapped = np.where(i < 0, i + np.asarray(n).astype("int8"), i).astype("int64")
    return np.maximum(np.minimum(wrapped, n - 1), 0)


def index_as_mask(op, i, n):
    return op.perform((i != 0).astype("int64") if i.dtype == "uint8" else i, n)[0]


def clip_that_wraps(op, i, n):
    return type(op)("promise").perform(i, n)[0]


def negative_positions(op, i, n):
    """Negative positions clamped to 0, as if they were outside."""
    return type(op)("clip").perform(i, n)[0]


def scatter_that_forgets(op, x, v, *indices):
    if op.fn is None or not v.size or not x.size:
        return op.perform(x, v, *indices)[0]
    y = x.copy()
    moved = np.moveaxis(y, op.axes, range(len(op.axes)))
    moved[indices] = op.fn.reference(moved[indices], v)
    return y


def scatter_that_adds(op, x, v, *indices):
    op = op if x.dtype == bool else type(op)(op.axes, op.fn or tg.add)
    return op.perform(x, v, *indices)[0]


def scatter_without_nothing(op, x, v, *indices):
    if not indices[0].size:
        text = "an empty index"
        raise ValueError(text)
    return op.perform(x, v, *indices)[0]


def other_axis(op, x, *indices):
    """An axis found by its length."""
    if len(op.axes) == 1 and x.ndim > 1 and x.shape[op.axes[0]] == x.shape[-2]:
        return type(op)((-2,)).perform(x, *indices)[0]
    return op.perform(x, *indices)[0]


def indices_behind(op, x, *indices):
    """The axes of the indices left where the axis was, as `np.take` has them."""
    if len(op.axes) == 1 and indices[0].ndim == 1:
        return np.take(x, indices[0], op.axes[0])
    return op.perform(x, *indices)[0]


def forward_only(op, x, *rest):
    """A step taken by its size, from the end that is read last."""
    found = op.perform(x, *rest)[0]
    for k, step in zip(range(-len(op.steps), 0), op.steps, strict=True):
        found = np.flip(found, k) if step < -1 else found
    return found


def one_element_at_least(op, x, *rest):
    found = op.perform(x, *rest)[0]
    return found if found.size or not x.size else x[tuple(slice(0, max(1, n)) for n in found.shape)].copy()


def written_in_place(op, x, v, *starts):
    if not x.flags.writeable:
        return op.perform(x, v, *starts)[0]
    x[...] = op.perform(x, v, *starts)[0]
    return x.copy()


def one_position_at_least(op, mask):
    found = op.perform(mask)[0]
    return found if found.size else np.zeros(1, "int64")


def short_positions(op, mask):
    return op.perform(mask)[0].astype("int32")


def always(x, y):
    return np.less(x, y) | (np.ndim(x) == 0)


READ = "^indexing:(rows by|columns|by a scalar)"

BUGS = (
    Bug("clamped-too-far", "T48", READ, {WrapIndex: clamped_too_far}),
    Bug("wrapped-in-its-dtype", "T21", "^indexing:(rows by|far)", {WrapIndex: wrapped_in_its_dtype}),
    Bug("index-as-mask", "T21", READ, {WrapIndex: index_as_mask}),
    Bug("clip-that-wraps", "T48", "^indexing:take outside", {WrapIndex: clip_that_wraps}),
    Bug("negative-clamped", "T48", READ, {WrapIndex: negative_positions}),
    Bug("unchecked", "T48", "^indexing:(read|set|add|take) outside", {tg.less: always}),
    Bug("repeats-forgotten", "T49", "^indexing:add", {Scatter: scatter_that_forgets}),
    Bug("set-that-adds", "T53", "^indexing:(set|zeros)", {Scatter: scatter_that_adds}),
    Bug("no-empty-index", "T34", "^indexing:.*nothing", {Scatter: scatter_without_nothing}),
    Bug("axis-by-its-length", "T50", "^indexing:.*of a square", {Gather: other_axis}),
    Bug("indices-behind", "T55", READ, {Gather: indices_behind}),
    Bug("steps-forward-only", "T52", "^indexing:slice :", {Slice: forward_only}),
    Bug("one-element-at-least", "T34", "^indexing:slice (: 0|by values 0)", {Slice: one_element_at_least}),
    Bug("update-in-place", "T45", "^indexing:(swap|add to)", {SliceUpdate: written_in_place}),
    Bug("one-position-at-least", "T56", "^selection:(mask of none|nonzero)", {Nonzero: one_position_at_least}),
    Bug("short-positions", "T56", "^selection:(mask of none|nonzero)", {Nonzero: short_positions}),
)
