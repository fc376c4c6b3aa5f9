"""Loops of one step, which are none, and of a few, which are written out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tg.graph.nodes import Constant, apply
from tg.ops.iteration import scan
from tg.ops.loops import Scan
from tg.ops.shape import broadcast_to, expand_dims, stack
from tg.rewrite.phases import EXACT, SPECIALIZE
from tg.rewrite.rule import rule_of, rule_of_node
from tg.rules.loops.steps import VIEWS, has_effect
from tg.types.substitution import atoms

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable
    from tg.rewrite.rule import Outputs

MOST_STEPS: Final = 8  # of a loop that is written out, and
MOST_NODES: Final = 32  # nodes of what takes its place: on `c` 48, over vectors, took 1.7 times as long as the loop


@rule_of(
    Scan,
    kind=EXACT,
    below=(Constant,),
    example=lambda x: scan(lambda c, _: (c + x, c * x), x, None, Constant(np.asarray(3)))[1],
)
def _scan_of_known_length(op: Scan, *operands: Variable) -> Outputs | None:
    """A loop whose length is a constant.

    A length that is known needs no operand, and what follows from it is known as well.
    """
    length = operands[0] if op.first else None
    if not isinstance(length, Constant) or int(length.data) < 0:
        return None
    return apply(Scan(op.body, op.carries, op.sequences, int(length.data), op.reverse, op.told), operands[1:])


@rule_of_node(Scan, kind=EXACT, example=lambda x: scan(lambda c, v: (c * v, c + v), x, expand_dims(x, 0))[1])
def _scan_of_one_step(node: Apply, outputs: Outputs) -> Outputs | None:
    """Results of a loop of no step or one, without a loop.

    One step is no loop, and without a step the carries are what they were.
    """
    op = node.op
    assert isinstance(op, Scan)
    return _unrolled(op, node, outputs) if op.length in (0, 1) else None


@rule_of_node(
    Scan, phase=SPECIALIZE, kind=EXACT, example=lambda x: scan(lambda c, v: (c * v, c + v), x, stack([x, x, x]))[1]
)
def _scan_of_few_steps(node: Apply, outputs: Outputs) -> Outputs | None:
    """Results of a loop of few steps, written out, where these can be computed with one another.

    Steps that are written out are computed with one another and with what surrounds them.
    """
    op = node.op
    assert isinstance(op, Scan)
    if op.length is None or op.length > MOST_STEPS or op.length * len(op.body.nodes) > MOST_NODES:
        return None
    is_fusible = all(one.op.pointwise or isinstance(one.op, VIEWS) for one in op.body.nodes)
    return _unrolled(op, node, outputs) if is_fusible else None


def _unrolled(op: Scan, node: Apply, outputs: Outputs) -> Outputs | None:
    body, n, length = op.body, op.carries, op.length
    carries, sequences, captured = op.parts(node.inputs)
    if length is None or body.checks or body.assumed or has_effect(body):
        return None
    if any(v.type.shape[0] != length for v in sequences):
        return None
    traces: list[list[Variable]] = [[] for _ in range(op.traces)]
    for t in reversed(range(length)) if op.reverse else range(length):
        values = body.instantiate([*carries, *(v[t] for v in sequences), *captured])
        carries = values[:n]
        for trace, v in zip(traces, values[n:], strict=True):
            trace.append(v)
    results = list(carries)
    for old, trace in zip(outputs[n:], traces, strict=True):
        if trace:
            results.append(stack(trace[::-1] if op.reverse else trace))
        elif any(getattr(a, "owner", None) is old for k in old.shape for a in atoms(k)):
            return None  # a length that nothing but the trace has
        else:
            results.append(broadcast_to(Constant(np.zeros((), old.type.numpy_dtype)), old.shape))
    return tuple(results) if all(new.type.refines(v.type) for new, v in zip(results, outputs, strict=True)) else None


RULES = (_scan_of_known_length, _scan_of_one_step, _scan_of_few_steps)
