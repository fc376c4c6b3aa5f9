"""Values that are the same in all steps as captured ones, and steps that hand nothing on as one operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tg.graph.nodes import Constant, Variable, apply
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.exponential import exp
from tg.ops.iteration import scan
from tg.ops.loops import Scan
from tg.ops.shape import broadcast_to
from tg.ops.sized_ops import BroadcastTo
from tg.rewrite.phases import EXACT
from tg.rewrite.rule import rule_of
from tg.rules.loops.steps import constants_of, is_safe, over_numbers, with_parts
from tg.rules.shape.moved import Moved, is_repeated_along
from tg.types.lengths import same

if TYPE_CHECKING:
    from tg.rewrite.rule import Outputs


def _with_one_captured(x: Variable) -> Variable:
    """Traces of steps over the elements of an array that are given the number 1."""
    held = Variable(x.type.with_shape(()))
    traced = over_numbers(x, lambda c, v: (c + v * held, c))
    assert traced.apply is not None
    one = Constant(np.ones((), x.type.numpy_dtype))
    return apply(traced.apply.op, [one if v is held else v for v in traced.inputs])[traced.index]


@rule_of(Scan, kind=EXACT, below=(Constant,), example=_with_one_captured)
def _scan_of_constants(op: Scan, *inputs: Variable) -> Outputs | None:
    """A loop whose step knows the numbers that it captures.

    A step that knows a number may need less than one that is given it.
    """
    operands, held = inputs[op.first :], op.carries + op.sequences
    constants = {k: v for k, v in enumerate(operands) if k >= held and isinstance(v, Constant) and not v.type.ndim}
    if not constants:
        return None
    order = [k for k in range(len(operands)) if k not in constants]
    body = with_parts(op.body, order, op.body.outputs, constants)
    return apply(op.with_body(body), [*inputs[: op.first], *(operands[k] for k in order)])


@rule_of(
    Scan,
    kind=EXACT,
    below=(BroadcastTo, Constant),
    example=lambda x: scan(lambda c, v: (c + v, c * v), x, broadcast_to(x, (3, *x.shape)))[1],
)
def _scan_of_repeated(op: Scan, *inputs: Variable) -> Outputs | None:
    """A loop that captures what a sequence has in all its places.

    What is the same in all steps needs no array of them, and what depends on it alone is computed once.
    """
    operands, n = inputs[op.first :], op.carries
    values = {k: v for k in range(n, n + op.sequences) if (v := _repeated(operands[k])) is not None}
    if not values:
        return None
    others = [k for k in range(len(operands)) if k not in values]
    body = with_parts(op.body, [*others, *values], op.body.outputs)
    loop = Scan(body, n, op.sequences - len(values), op.length, op.reverse, op.told)
    return apply(loop, [*inputs[: op.first], *(operands[k] for k in others), *values.values()])


@rule_of(Scan, kind=EXACT, example=lambda x: scan(lambda c, v: (None, exp(v) * v), None, x)[1])
def _scan_without_carries(op: Scan, *inputs: Variable) -> Outputs | None:
    """Results of steps that hand nothing on, for each element of their sequences, as operations on whole sequences.

    Steps on elements that hand nothing on are one operation, shared by the lanes of vectors and by threads.
    """
    body, operands = op.body, inputs[op.first :]
    if op.carries or body.checks or not all(is_safe(one) or type(one.op) is Cast for one in body.nodes):
        return None
    ranks = {t.ndim for t in body.input_types[: op.sequences]}
    held = (*body.input_types[op.sequences :], *(c.type for c in body.constants))
    if len(ranks) != 1 or any(t.ndim for t in held):
        return None
    values = {**dict(enumerate(operands)), **constants_of(body)}
    of_slices = set(range(op.sequences))
    for one in body.nodes:
        (number,) = one.outputs
        (values[number],) = apply(one.op, [values[k] for k in one.inputs])
        if not of_slices.isdisjoint(one.inputs):
            of_slices.add(number)
    return tuple(values[k] for k in body.outputs) if of_slices.issuperset(body.outputs) else None


def _repeated(v: Variable) -> Variable | None:
    """The slice of which a sequence consists."""
    if isinstance(v, Constant):
        count = len(v.data)
        return Constant(v.data[0].copy()) if count and v.data.tobytes() == v.data[:1].tobytes() * count else None
    if not is_repeated_along(v, -v.type.ndim):
        return None
    x = Moved.of(v, BroadcastTo).unrepeated(without=(-v.type.ndim,))
    wanted = v.shape[1:]
    if len(wanted) == x.type.ndim and all(map(same, x.shape, wanted)):
        return x
    return broadcast_to(x, wanted)


RULES = (_scan_of_constants, _scan_of_repeated, _scan_without_carries)
