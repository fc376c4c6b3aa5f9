"""When a reduction may take its elements in another order, and how exactly the result then stays what it was.

Of bool and of integers every order gives the same. The extreme of floats may be a zero of the other sign. Sums and
products of floats round differently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.ops.elementwise.arithmetic import maximum, minimum
from tg.ops.reduction import Reduce
from tg.rewrite.phases import CANONICALIZE, EXACT, REASSOCIATES, SIGNED_ZERO
from tg.rewrite.rule import Rule, node_rule
from tg.types.dtypes import is_inexact

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Apply, Variable

EXTREMES = frozenset((maximum, minimum))
CLASSES = (("reduce", EXACT), ("extreme", SIGNED_ZERO), ("sum", REASSOCIATES))


def class_of(fn: Any, dtype: str) -> str:
    """The class of a rule that changes the order in which elements of a dtype are combined."""
    if not is_inexact(dtype):
        return EXACT
    return SIGNED_ZERO if fn in EXTREMES else REASSOCIATES


def reordering(
    name: str,
    *,
    apply: Callable[[Apply], Variable | None],
    why: str,
    below: tuple[object, ...],
    examples: tuple[Callable[..., Variable], Callable[..., Variable], Callable[..., Variable]],
) -> tuple[Rule, ...]:
    """One rule of `Reduce` for each class that reordering has: `reduce_…`, `extreme_…` and `sum_…` with `name`.

    Args:
        examples: one for each: of bool or integers, of an extreme of floats, of their sum.
    """
    return tuple(
        node_rule(
            f"{prefix}_{name}",
            keys=(Reduce,),
            apply=_of_class(apply, kind),
            phase=CANONICALIZE,
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
        return apply(node) if class_of(op.fn, node.inputs[0].type.dtype) is kind else None

    return chosen
