"""Bugs of memory: strides, alignment, views, results that share memory, inputs that are written, and no elements."""

import numpy as np

import tg
from tg.ops.elementwise import trigonometric
from tg.ops.shape import BroadcastTo, Concatenate, ExpandDims, Reshape, Transpose
from tg_bugs.record import Bug


def in_memory_order(x, y):
    if x.shape != y.shape or x.ndim != 2:
        return np.add(x, y)
    return np.add(x.ravel("K"), y.ravel("K")).reshape(x.shape)


def first_row_of_reversed(found, x, *rest):
    """A kernel that walks one row backwards and does not move to the next."""
    if found.ndim == 2 and x.ndim == 2 and min(x.strides) < 0:
        found[1:] = found[:1]
    return found


def neighbours(x):
    """The elements read one after the other, whatever the stride is."""
    if x.ndim and x.size > 1 and x.strides[-1] == 2 * x.itemsize:
        return np.lib.stride_tricks.as_strided(x, x.shape, (*x.strides[:-1], x.itemsize))
    return x


def rounded_address(x):
    """The address rounded down to a multiple of the element's size."""
    if x.flags.aligned or not x.flags.c_contiguous or x.itemsize == 1:
        return x
    data = x.tobytes()
    return np.frombuffer(data[-1:] + data[:-1], x.dtype).reshape(x.shape)


def reshaped_in_memory_order(op, x, *sizes):
    return op.perform(x.ravel("K").reshape(x.shape) if x.flags.f_contiguous else x, *sizes)[0]


def inverse_transpose(op, x):
    return np.transpose(x, np.argsort(op.order(x.ndim))).copy()


def written_input(x):
    if x.flags.writeable:
        np.negative(x, out=x)
        return x.copy()
    return np.negative(x)


def written_operand(x, y, dying=frozenset()):
    """The first operand is overwritten when any of both is no longer needed, if it was computed here."""
    if dying and np.shape(x) == np.broadcast_shapes(x.shape, y.shape) and x.ndim and x.flags.owndata:
        x += y
        return x
    return np.add(x, y)


def first_result(x, kept={}):  # noqa: B006 (that is the bug)
    return kept.setdefault((x.shape, x.dtype), np.square(x)).copy()


def one_for_nothing(found, *operands):
    return found if found.size else np.zeros(tuple(max(1, n) for n in found.shape), found.dtype)


def vector_for_scalar(found, *operands):
    return np.atleast_1d(found)


def all_functions(*, read=lambda x: x, give=lambda found, *operands: found):
    """The functions of a family whose operands are read, and whose results given, in another way."""

    def rule(fn):
        return lambda *operands: give(fn.op.perform(*map(read, operands))[0], *operands)

    return {fn: rule(fn) for fn in trigonometric.FAMILY.elementwise}


def joined_without_nothing(op, *arrays):
    """Arrays without elements are left out, and with them their lengths along the axis."""
    some = [x for x in arrays if x.size]
    return np.concatenate(some, op.axis) if some else arrays[0].copy()


LEAKY = "tg_bugs.linking:LEAKY"
SHAPES = "^shape:(views|ways|input|one result|several|named|reshape by lengths|ravel|a constant|the input)"

FUNCTIONS = r"^elementwise/trigonometric:\w+\["

BUGS = (
    Bug("in-memory-order", "T38", r"^elementwise/arithmetic:add[ \[]", {tg.add: in_memory_order}),
    Bug("first-row-of-reversed", "T39", FUNCTIONS, all_functions(give=first_row_of_reversed)),
    Bug("stride-ignored", "T39", FUNCTIONS, all_functions(read=neighbours)),
    Bug("rounded-address", "T40", FUNCTIONS, all_functions(read=rounded_address)),
    Bug("reshaped-in-memory-order", "T40", "^shape:(reshape|ravel)", {Reshape: reshaped_in_memory_order}),
    Bug("inverse-transpose", "T60", "^shape:transpose", {Transpose: inverse_transpose}),
    Bug("view-of-transpose", "T43", SHAPES, {Transpose: lambda op, x: np.transpose(x, op.order(x.ndim))}, LEAKY),
    Bug("view-of-reshape", "T43", SHAPES, {Reshape: lambda op, x, *n: x.reshape(op.perform(x, *n)[0].shape)}, LEAKY),
    Bug("view-of-expanded", "T43", "^shape:expand_dims", {ExpandDims: lambda op, x: np.expand_dims(x, op.axes)}, LEAKY),
    Bug("repeated-view", "T41", "^shape:broadcast_to",
        {BroadcastTo: lambda op, x, *n: np.broadcast_to(x, op.perform(x, *n)[0].shape)}, LEAKY),
    Bug("input-written", "T42", "^elementwise/arithmetic:negative", {tg.negative: written_input}),
    Bug("operand-overwritten", "T44", "^elementwise/arithmetic:operands", {tg.add: written_operand}),
    Bug("result-kept", "T81", "^elementwise/arithmetic:square", {tg.square: first_result}),
    Bug("one-for-nothing", "T34", FUNCTIONS, all_functions(give=one_for_nothing)),
    Bug("vector-for-scalar", "T35", FUNCTIONS, all_functions(give=vector_for_scalar)),
    Bug("joined-without-nothing", "T34", "^shape:(concatenate|stack)", {Concatenate: joined_without_nothing}),
)  # fmt: skip
