"""Special functions with loops: records whose reference is their expansion, on arrays.

A loop goes on until all elements have settled; one that has keeps what it has, so that no element depends on another.
All is computed in float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.arranging import broadcast_arrays
from tg.ops.elementwise.dtype_loops import real_floating
from tg.ops.elementwise.record import ElementwiseFunction
from tg.ops.elementwise.special.series import WIDEST, in_wider, interpreted
from tg.ops.iteration import while_loop
from tg.ops.reduction import any as any_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable

DIGIT: Final = 2.0**-53
"""What a sum has to grow by, relative to itself, for another term to count."""
MOST: Final = 3000
"""Steps of a loop: hundreds are needed but at the ends of what a function states."""


def iterated(name: str, arity: int, expansion: Callable[..., Variable], doc: str, **facts: Any) -> ElementwiseFunction:
    """The record of a function that a loop computes."""
    wide = in_double(expansion)
    return ElementwiseFunction(name, arity, interpreted(wide, of_vectors=True), _loops, doc, expansion=wide, **facts)


def _loops(kinds: tuple[Any, ...]) -> tuple[tuple[str, ...], str]:
    """The loops of functions of real numbers, for any number of operands."""
    first, *others = sorted(kinds, key=lambda kind: isinstance(kind, type))  # a weak scalar alone would be float64
    dtype = real_floating((first,))[1]
    for kind in others:
        dtype = real_floating((dtype, kind))[1]
    return (dtype,) * len(kinds), dtype


def in_double(function: Callable[..., Any]) -> Callable[..., Variable]:
    """A function of the operands in float64 and of one shape; the result has their dtype."""
    return in_wider(lambda *operands: function(*broadcast_arrays(*operands)), WIDEST)


def until_settled(step: Callable[..., tuple[Any, ...]], carry: tuple[Any, ...], most: int = MOST) -> tuple[Any, ...]:
    """The carry when no element goes on: the first that is carried says which do."""
    return while_loop(lambda c: any_of(c[0]), lambda c: step(*c), carry, max_steps=most)  # type: ignore[no-any-return]
