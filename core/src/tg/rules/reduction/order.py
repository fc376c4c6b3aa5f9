"""When a reduction may take its elements in another order, and how exactly the result then stays what it was.

That is what its record says: of bool and of integers every order gives the same, the extreme of floats may be a zero of
the other sign, sums and products of floats round differently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.ops.reduction import Reduce
from tg.rewrite.phases import CANONICALIZE, EXACT, REASSOCIATES, SIGNED_ZERO
from tg.rewrite.rule import Rule, node_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Apply, Variable

CLASSES = (("reduce", EXACT), ("extreme", SIGNED_ZERO), ("sum", REASSOCIATES))


def reordering(
    name: str,
    *,
    apply: Callable[[Apply], Variable | None],
    why: str,
    below: tuple[object, ...],
    examples: tuple[Callable[..., Variable], Callable[..., Variable], Callable[..., Variable]],
    extremes: str = CANONICALIZE,
) -> tuple[Rule, ...]:
    """One rule of `Reduce` for each class that reordering has: `reduce_…`, `extreme_…` and `sum_…` with `name`.

    Args:
        examples: one for each: of bool or integers, of an extreme of floats, of their sum.
        extremes: the phase of that of extremes.
    """
    return tuple(
        node_rule(
            f"{prefix}_{name}",
            keys=(Reduce,),
            apply=_of_class(apply, kind),
            phase=extremes if prefix == "extreme" else CANONICALIZE,
            kind=kind,
            why=why,
            below=below,
            example=example,
        )
        for (prefix, kind), example in zip(CLASSES, examples, strict=True)
    )


def _of_class(apply: Callable[[Apply], Variable | None], kind: str) -> Callable[[Apply, Any], Variable | None]:
    def chosen(node: Apply, outputs: Any) -> Variable | None:
        op: Any = node.op
        return apply(node) if op.reduction.class_of(node.inputs[0].type.dtype) == kind else None

    return chosen
