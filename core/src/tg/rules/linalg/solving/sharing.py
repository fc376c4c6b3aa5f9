"""One factorisation for all that is asked of a matrix: solutions, the inverse, the determinant, gradients of them.

A backend without rules for these expands each to the factors, and equal nodes are one. Here the same is done for those
with rules, the reference among them, wherever a matrix has more than one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.linalg.cholesky import Cholesky
from tg.ops.linalg.linear_systems import Inv, Solve
from tg.ops.linalg.lu import LU
from tg.ops.linalg.solving import Det, SlogDet
from tg.rewrite.phases import REASSOCIATES, SPECIALIZE
from tg.rewrite.rule import pass_of
from tg.rules.linalg.solving.structure import bounded

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable
    from tg.graph.view import View

MOST_REPEATED: Final = 6
"""Rows of a matrix, if known, that is factorised again: to hold it in registers is cheaper than to keep its factors."""


@pass_of(
    Cholesky,
    Det,
    Inv,
    SlogDet,
    Solve,
    phase=SPECIALIZE,
    kind=REASSOCIATES,
    example=lambda x, y: _asked_twice(bounded(x[..., : x.shape[-2]]), bounded(y)),
)
def _shared_factors(view: View) -> dict[int, Variable]:
    """Ops that read factors, for each matrix of which more than one thing is asked.

    A factorisation takes most of the work, and is the same whatever is asked of the matrix.
    """
    groups: dict[tuple[int, type], list[Apply]] = {}
    for node in view.applies:
        kind = _factor(node.op)
        if kind is not None:
            groups.setdefault((id(node.inputs[0]), kind), []).append(node)
    replacements: dict[int, Variable] = {}
    for nodes in groups.values():
        if len(nodes) > 1 and not _is_small(nodes[0].inputs[0]):
            for node in nodes:
                replacements.update(_by_factors(node, view))
    return replacements


def _factor(op: Any) -> type | None:
    """The factorisation that an op needs."""
    if type(op) is Cholesky or (type(op) is Solve and op.positive):
        return Cholesky
    return LU if type(op) in (LU, Solve, Inv, Det, SlogDet) else None


def _is_small(a: Variable) -> bool:
    n = a.type.shape[-1]
    return n is not None and n <= MOST_REPEATED


def _by_factors(node: Apply, view: View) -> dict[int, Variable]:
    """The results of an op by the factors, which are the same ones whether or not a check asks for their info."""
    op: Any = node.op
    if type(op) is LU or op == Cholesky(raises=False):
        return {}
    if type(op) is Cholesky:
        results = Cholesky(raises=False)(*node.inputs)
    else:
        if type(op) is Solve:
            op = Solve(op.transpose, op.positive, raises=False)
        results = op.expansion(*node.inputs)
    new = results if isinstance(results, tuple) else (results,)
    return {id(v): w for v, w in zip(view.results(node), new, strict=True)}


def _asked_twice(a: Variable, b: Variable) -> list[Variable]:
    return [Solve("n", False, False)(a, b)[0], Det()(a)]


PASSES = (_shared_factors,)
