"""Elementwise functions, reductions, shapes and joining."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from pytensor.graph.basic import Constant, Variable
from pytensor.tensor.basic import get_scalar_constant_value

import tg
from tg.backend import is_float
from tg_pytensor.conversion import as_dtype, rule_of
from tg_pytensor.registry import convert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_pytensor.conversion import Conversion


# --- elements and reductions -----------------------------------------------------------------------------------------


class ScalarNode:
    """View of a node that rules of scalar ops read: the op and the dtypes of operands and results, here of arrays."""

    def __init__(self, op: Any, node: Any) -> None:
        self.op, self.inputs, self.outputs = op, node.inputs, node.outputs


@convert.register("Elemwise", whole=True)
def elementwise(conversion: Conversion, node: Any) -> Any:
    """A scalar op for every element. No axis is repeated whose length PyTensor does not know to be 1.

    1 - n / (m + n) is m / (m + n): PyMC makes the mean of a negative binomial distribution of that, and where it is
    small nothing would be left of it. PyTensor's rewriting cancels it.
    """
    if (share := complement(node)) is not None:
        m, total = share
        return tg.divide(*one_shape([conversion[m], conversion[total]], [m.type.shape, total.type.shape]))
    operands = one_shape([conversion[v] for v in node.inputs], [v.type.shape for v in node.inputs])
    inner = ScalarNode(node.op.scalar_op, node)
    return conversion.of_node(rule_of(inner), inner, operands)


def complement(node: Any) -> tuple[Any, Any] | None:
    """m and m + n, where a node is 1 - n / (m + n) in floating numbers."""
    if type(node.op.scalar_op).__name__ != "Sub" or not is_float(node.outputs[0].type.dtype):
        return None
    one, share = node.inputs
    while one.owner is not None and type(one.owner.op).__name__ == "DimShuffle":
        (one,) = one.owner.inputs
    if not isinstance(one, Constant) or np.any(one.data != 1) or not is_scalar_op(share, "TrueDiv"):
        return None
    n, total = share.owner.inputs
    if not is_scalar_op(total, "Add") or len(total.owner.inputs) != 2:
        return None
    x, y = total.owner.inputs
    for m, other in ((x, y), (y, x)):
        if are_same(n, other):
            return m, total
    return None


def are_same(u: Any, v: Any) -> bool:
    """Whether two variables are one, or the same results of ops of the same."""
    a, b = u.owner, v.owner
    if u is v or a is None or b is None:
        return u is v
    return (
        a.op == b.op
        and a.outputs.index(u) == b.outputs.index(v)
        and len(a.inputs) == len(b.inputs)
        and all(map(are_same, a.inputs, b.inputs))
    )


def is_scalar_op(v: Any, name: str) -> bool:
    """Whether a variable is made by a scalar op of a name, for every element."""
    owner = v.owner
    return owner is not None and type(getattr(owner.op, "scalar_op", None)).__name__ == name


def one_shape(operands: Sequence[Any], shapes: Sequence[Sequence[int | None]]) -> list[Any]:
    """Operands of which those that have no known length of 1 along an axis are made sure to have one length there."""
    wanted: dict[int, Any] = {}
    arrays = []
    for x, shape in zip(operands, shapes, strict=True):
        lengths: list[Any] = list(x.shape)
        for k, n in enumerate(shape):
            if n != 1:
                lengths[k] = wanted.setdefault(k - len(shape), x.shape[k])
        arrays.append(tg.specify_shape(x, lengths))
    return arrays


REDUCTIONS = {
    "Add": tg.sum, "Mul": tg.prod, "Maximum": tg.max, "Minimum": tg.min, "ScalarMaximum": tg.max,
    "ScalarMinimum": tg.min, "MulWithoutZeros": lambda x, axis: tg.prod(tg.where(x == 0, 1, x), axis),
}  # fmt: skip
BITS = {"AND": tg.bitwise_and, "OR": tg.bitwise_or, "XOR": tg.bitwise_xor}


@convert.register("CAReduce")
def reduce(op: Any, node: Any, x: Any) -> Any:
    """A reduction, in the dtype that the op accumulates in."""
    axis = op.axis if x.type.ndim and op.axis is not None else tuple(range(x.type.ndim))  # a scalar has any axis
    name, dtype = type(op.scalar_op).__name__, node.outputs[0].type.dtype
    if name in REDUCTIONS:
        inner = getattr(op, "acc_dtype", None) or (dtype if name in ("Add", "Mul", "MulWithoutZeros") else x.type.dtype)
        return REDUCTIONS[name](as_dtype(x, inner), axis=axis)
    if x.type.dtype == "bool" and name != "XOR":
        return (tg.all if name == "AND" else tg.any)(x, axis=axis)
    function = BITS[name]
    for k in sorted(axis, reverse=True):
        none = tg.zeros(x.shape[:k] + x.shape[k + 1 :], dtype=x.type.dtype)
        first = tg.bitwise_invert(none) if name == "AND" else none
        x = tg.reduce(function, tg.moveaxis(x, k, 0), first)
    return x


@convert.register("Argmax")
def argmax(op: Any, node: Any, x: Any) -> Any:
    """The place of the greatest element, in C order where axes are several."""
    axes = tuple(range(x.type.ndim)) if op.axis is None else tuple(op.axis)
    rest = [k for k in range(x.type.ndim) if k not in axes]
    x = tg.transpose(x, (*rest, *axes))
    return tg.argmax(tg.reshape(x, (*x.shape[: len(rest)], -1)), axis=-1)


@convert.register("CumOp")
def cumulative(op: Any, node: Any, x: Any) -> Any:
    """Running sums or products, of all elements in C order where no axis is named."""
    x = as_dtype(tg.ravel(x) if op.axis is None else x, node.outputs[0].type.dtype)
    return (tg.cumsum if op.mode == "add" else tg.cumprod)(x, axis=0 if op.axis is None else op.axis)


# --- shapes ----------------------------------------------------------------------------------------------------------


def entries(conversion: Conversion, v: Any) -> list[Any]:
    """The elements of a vector of known length, each by itself: lengths of arrays stay lengths."""
    owner = v.owner
    name = type(owner.op).__name__ if owner is not None else ""
    if name == "MakeVector":
        return [as_length(conversion, u) for u in owner.inputs]
    if name == "Shape":
        return list(conversion[owner.inputs[0]].shape)
    if name == "Elemwise" and type(owner.op.scalar_op).__name__ in ("Cast", "Identity"):
        return entries(conversion, owner.inputs[0])
    vector = conversion[v]
    if isinstance(vector, tg.Constant):
        return [int(n) for n in vector.data]
    (count,) = v.type.shape
    return [vector[k] for k in range(count)]


def as_length(conversion: Conversion, v: Any) -> Any:
    """A length: an int where it is constant, as the -1 of `reshape` is behind PyTensor's casts."""
    n = get_scalar_constant_value(v, raise_not_constant=False)
    return conversion[v] if isinstance(n, Variable) else int(n)


@convert.register("Shape", whole=True)
def shape(conversion: Conversion, node: Any) -> Any:
    """The lengths of all axes."""
    lengths = conversion[node.inputs[0]].shape
    return tg.stack([tg.as_variable(n) for n in lengths]) if lengths else tg.zeros((0,), dtype="int64")


@convert.register("SpecifyShape")
def specify_shape(op: Any, node: Any, x: Any, *lengths: Any) -> Any:
    """x, which has the lengths given; that it has them is an assertion."""
    for k, n in enumerate(lengths):
        if n is not None and not (isinstance(n, tg.Constant) and n.data == x.type.shape[k]):
            own = tg.as_variable(x.shape[k])
            text = f"SpecifyShape: axis {k}: found the length {{0}}, needed {{1}}"
            x = tg.assert_(x, own == n, text, own, n, error=AssertionError)
    return tg.specify_shape(x, list(lengths))


@convert.register("Reshape", whole=True)
def reshape(conversion: Conversion, node: Any) -> Any:
    """The elements in another shape. A length that is not computed of lengths may be -1 when the program runs."""
    x, lengths = node.inputs
    wanted = entries(conversion, lengths)
    has_free = any(isinstance(n, int) and n == -1 for n in wanted)
    if not (has_free or of_lengths(lengths)):
        wanted = without_negative(wanted, math.prod(conversion[x].shape))
    return tg.reshape(conversion[x], wanted)


def of_lengths(v: Any) -> bool:
    """Whether a variable is computed of lengths and constants alone."""
    waiting, visited = [v], set()
    while waiting:
        u = waiting.pop()
        if u in visited or isinstance(u, Constant):
            continue
        visited.add(u)
        if u.owner is None:
            return False
        if type(u.owner.op).__name__ not in ("Shape", "Shape_i"):
            waiting.extend(u.owner.inputs)
    return True


def without_negative(lengths: Sequence[Any], size: Any) -> list[Any]:
    """Lengths, of which one that is -1 becomes what the others leave of a number of elements."""
    variables = [tg.as_variable(n) for n in lengths]
    for k, n in enumerate(variables):
        rest = math.prod([*variables[:k], *variables[k + 1 :]], start=tg.as_variable(1))
        is_free = tg.logical_and(n == -1, rest > 0)
        variables[k] = tg.where(is_free, tg.floor_divide(size, tg.where(is_free, rest, 1)), n)
    return variables


@convert.register("SplitDims", whole=True)
def split_dims(conversion: Conversion, node: Any) -> Any:
    """One axis made several."""
    x, k = conversion[node.inputs[0]], node.op.axis
    return tg.reshape(x, (*x.shape[:k], *entries(conversion, node.inputs[1]), *x.shape[k + 1 :]))


@convert.register("DimShuffle")
def dimshuffle(op: Any, node: Any, x: Any) -> Any:
    """Axes permuted, inserted and left out."""
    order = [k for k in op.new_order if k != "x"]
    dropped = [k for k in range(x.type.ndim) if k not in order]
    x = tg.squeeze(tg.transpose(x, (*dropped, *order)), axis=tuple(range(len(dropped)))) if x.type.ndim else x
    return tg.expand_dims(x, tuple(k for k, old in enumerate(op.new_order) if old == "x"))


# --- making and joining ----------------------------------------------------------------------------------------------


@convert.register("Join")
def join(op: Any, node: Any, *operands: Any) -> Any:
    """Arrays joined along an axis."""
    first = 0 if hasattr(op, "axis") else 1
    return tg.concatenate(in_result(node, *operands[first:]), axis=axis_of(op, operands[:first]))


def axis_of(op: Any, operands: Sequence[Any]) -> int:
    """The axis of an op: a field of it since PyTensor 3.2 or so, an operand before."""
    return int(known(operands[0], f"{type(op).__name__}: axis") if operands else op.axis)


@convert.register("Split", whole=True)
def split(conversion: Conversion, node: Any) -> Any:
    """An array cut along an axis into pieces of given lengths."""
    x, *places, lengths = node.inputs
    x, axis = conversion[x], axis_of(node.op, [conversion[v] for v in places])
    pieces, start = [], tg.as_variable(0)
    before: tuple[Any, ...] = (slice(None),) * (axis % x.type.ndim)
    for n in entries(conversion, lengths):
        pieces.append(x[(*before, slice(start, start + n))])
        start = start + n
    return pieces


def in_result(node: Any, *operands: Any) -> list[Any]:
    """Operands in the dtype of the node."""
    return [as_dtype(x, node.outputs[0].type.dtype) for x in operands]


convert.add({
    "Dot": lambda op, node, x, y: tg.dot(*in_result(node, x, y)),
    "MakeVector": lambda op, node, *x: tg.stack(in_result(node, *x)) if x else tg.zeros((0,), dtype=op.dtype),
    "Shape_i": lambda op, node, x: tg.as_variable(x.shape[op.i]),
    "JoinDims": lambda op, node, x: tg.reshape(
        x, (*x.shape[: op.start_axis], -1 if op.n_axes else 1, *x.shape[op.start_axis + op.n_axes :])
    ),
    "Alloc": lambda op, node, value, *lengths: tg.broadcast_to(value, list(lengths)),
    # elements that are to be set
    "AllocEmpty": lambda op, node, *lengths: tg.zeros(list(lengths), dtype=node.outputs[0].type.dtype),
    "Eye": lambda op, node, n, m, k: tg.cast(tg.arange(n)[:, None] + k == tg.arange(m), op.dtype),
})  # fmt: skip


@convert.register("ARange", batched=True)
def ranges(op: Any, node: Any, *limits: Any) -> Any:
    """Equally spaced numbers; those of a batch are as many as the first ones, which is checked."""
    start, stop, step = tg.broadcast_arrays(*limits)
    if start.type.ndim == 0:
        return tg.cast(tg.arange(start, stop, step), op.dtype)
    firsts = [x[(0,) * x.type.ndim] for x in (start, stop, step)]
    places = tg.arange(tg.arange(*firsts).shape[0])
    numbers = tg.cast(start[..., None] + places * step[..., None], op.dtype)
    counts = tg.cast(tg.maximum(tg.ceil((stop - start) / step), 0), "int64")
    text = "ARange: found lengths from {0} to {1} in a batch, needed one"
    are_as_many = tg.all(counts == places.shape[0])
    return tg.assert_(numbers, are_as_many, text, tg.min(counts), tg.max(counts), error=ValueError)


def known(v: Any, what: str) -> Any:
    """The value of a constant, or of what is made of constants alone.

    Raises:
        InputError: it depends on an input.
    """
    if isinstance(v, tg.Constant):
        return v.data
    try:
        return tg.as_variable(v).eval()
    except tg.InputError as error:
        raise tg.InputError(f"{what}: found {v!r}, needed what depends on no input") from error


# --- what passes its operand on --------------------------------------------------------------------------------------

convert.register("TypeCastingOp", "DeepCopyOp", "CpuContiguous")(lambda op, node, x: x)


@convert.register("CheckAndRaise")
def check_and_raise(op: Any, node: Any, x: Any, *conditions: Any) -> Any:
    """x, if all conditions hold."""
    return tg.assert_(x, all_hold(conditions), op.msg.replace("{", "{{").replace("}", "}}"), error=op.exc_type)


@convert.register("CheckParameterValue")
def check_parameter(op: Any, node: Any, x: Any, *conditions: Any) -> Any:
    """PyMC's check of a parameter: -inf where it does not hold, if it may be that."""
    if not op.can_be_replaced_by_ninf:
        return check_and_raise(op, node, x, *conditions)
    return tg.where(all_hold(conditions), x, -np.inf)


def all_hold(conditions: Sequence[Any]) -> Any:
    """Whether all of some conditions hold."""
    return functools.reduce(tg.logical_and, (tg.all(tg.cast(c, "bool")) for c in conditions))
