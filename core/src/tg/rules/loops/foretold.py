"""Conditions of steps that are known when a function is compiled: sequences of constants in place of carries.

Derivatives of loops carry where something flows. That depends on which step it is, and seldom on the values in it: a
cotangent begins at the last step, a tangent of one parameter reaches one element after the other. The steps of such
conditions are made here, each of those that are different once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.interpret import interpret
from tg.graph.nodes import Constant, apply
from tg.ops.elementwise.comparison import logical_not, where
from tg.ops.iteration import scan
from tg.ops.loops import Scan
from tg.ops.shape import broadcast_to
from tg.rewrite.phases import EXACT
from tg.rewrite.rule import pass_of
from tg.rules.loops.halves import division_of, halves
from tg.types.dtypes import BOOL, is_inexact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import Node
    from tg.graph.nodes import Apply, Variable
    from tg.graph.view import View
    from tg.types.tensor_type import TensorType

    Array = np.ndarray[Any, Any]

LARGEST: Final = 1 << 16  # conditions of all steps that become constants
MOST_STEPS: Final = 1 << 12
MOST_MADE: Final = 64  # steps that are different


@pass_of(
    Scan,
    kind=EXACT,
    example=lambda x: scan(
        lambda c, v: ((where(c[1], c[0] + v, c[0] * v), logical_not(c[1])), None),
        (x, False),
        broadcast_to(x, (3, *x.shape)),
    )[0][0],
)
def _scan_of_known_conditions(view: View) -> dict[int, Variable]:
    """Conditions that no step computes of values are known before it."""
    replacements: dict[int, Variable] = {}
    for node in view.applies:
        if isinstance(node.op, Scan) and node.op.length is not None and 0 < node.op.length <= MOST_STEPS:
            replacements.update(_of_constants(node, node.op, view))
    return replacements


def _of_constants(node: Apply, op: Scan, view: View) -> dict[int, Variable]:
    """The results of a loop whose conditions of constants are constants."""
    body, n, operands = op.body, op.carries, node.inputs[op.first :]
    constants = [k for k, v in enumerate(operands) if isinstance(v, Constant)]
    conditions = [k for k in constants if k < n and body.types[k].dtype == BOOL]
    if not conditions:
        return {}
    inputs = [*(k for k in constants if k >= n), *range(body.arity, body.arity + len(body.constants))]

    def is_plain(one: Node) -> bool:
        is_whole = not any(is_inexact(body.types[v].dtype) for v in one.outputs)
        return is_whole and not (one.op.calls_python or one.op.has_effect or one.op.graph_fields)

    division = division_of(op, conditions, inputs, is_plain)
    if division is None or not division.alone:
        return {}
    traced = [*(body.outputs[j] for j in division.traces), *division.numbers]
    if sum(_size(body.types[v]) for v in traced) * (op.length or 0) > LARGEST:
        return {}
    first, second = halves(op, division)
    arrays = _made(first.op, [operands[k].data for k in first.operands])  # type: ignore[attr-defined]
    if arrays is None:
        return {}
    values = [Constant(a) for a in arrays]
    results = view.results(node)
    replacements: dict[int, Variable] = {id(results[j]): v for j, v in zip(first.results, values, strict=False)}
    if second.results or body.checks:
        traces = values[len(division.alone) :]
        parts = [operands[k] if k >= 0 else traces[~k] for k in second.operands]
        again = apply(second.op, parts)
        replacements |= {id(results[j]): v for j, v in zip(second.results, again, strict=False)}
        if body.checks:
            replacements[id(results[-1])] = again[-1]
    return replacements


def _size(t: TensorType) -> float:
    return math.inf if None in t.shape else math.prod(t.shape)  # type: ignore[arg-type]


def _made(op: Scan, arrays: Sequence[Array]) -> list[Array] | None:
    """The results of a loop of constants; None if too many of its steps are different."""
    carries, sequences, captured = op.parts(arrays)
    memo: dict[bytes, tuple[Array, ...]] = {}
    length, rows = op.length or 0, []
    for t in range(length):
        slices = [x[length - 1 - t if op.reverse else t] for x in sequences]
        key = b"".join(np.asarray(a).tobytes() for a in (*carries, *slices))
        if key not in memo:
            if len(memo) == MOST_MADE:
                return None
            memo[key] = interpret(op.body, [*carries, *slices, *captured])
        carries = memo[key][: op.carries]
        rows.append(memo[key][op.carries :])
    if op.reverse:
        rows.reverse()
    return [*(np.array(a) for a in carries), *(np.stack(column) for column in zip(*rows, strict=True))]


PASSES = (_scan_of_known_conditions,)
