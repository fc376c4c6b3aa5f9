"""Checkpointing: which values of the forward pass are kept for the backward pass, and which are computed again."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Final, NamedTuple, final

from tg.errors import OptionError, message
from tg.graph.timing import current_span
from tg.link.directions import Directions
from tg.link.memory import peak_bytes
from tg.link.recomputing import Recomputing
from tg.link.segments import by_layers, evenly, saved_values
from tg.link.shapes import OpenLengthError, value_bytes, value_shapes
from tg.ops.elementwise.record import Elementwise
from tg.rewrite.phases import EXACT
from tg.rewrite.rule import Lowering

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.link.shapes import Shape

NONE: Final = "none"
UNKNOWN: Final = 64  # a length that no type says, where bytes are compared
MOST: Final = 64  # segments that a limit is tried with
PER_ADDITION: Final = 8  # operations of matrix products in the time of an addition of float64, which costs count


def lowering(checkpointing: str | int, inputs: Sequence[Shape] = ()) -> Lowering | None:
    """The step of rewriting that keeps less; None where all is kept.

    Args:
        inputs: the shapes of the program's inputs, None for lengths that are not known; none unless given.
    """
    if checkpointing == NONE:
        return None
    why = "Memory grows with what the backward pass reads of the forward pass; some of that is computed again."
    run = functools.partial(checkpointed, checkpointing=checkpointing, inputs=inputs)
    return Lowering("checkpointing", kind=EXACT, why=why, run=run, inner=lambda graph: graph)


def checkpointed(graph: FrozenGraph, checkpointing: str | int, inputs: Sequence[Shape] = ()) -> FrozenGraph:
    """A program that keeps less for its backward pass; itself where there is none.

    Raises:
        OptionError: no choice needs as little as the limit, or a length is known only when the program runs.
    """
    directions = Directions(graph)
    if not any(directions.is_backward) and not isinstance(checkpointing, int):
        return graph
    if checkpointing == "layers":
        return Recomputing(directions, by_layers(directions)).program()
    if checkpointing == "sqrt":
        sizes = value_bytes(graph, value_shapes(graph, inputs, UNKNOWN))
        count = round(math.sqrt(saved_values(directions)))
        return Recomputing(directions, evenly(directions, sizes, count)).program()
    assert isinstance(checkpointing, int)
    try:
        shapes = value_shapes(graph, inputs)
    except OpenLengthError:
        hint = 'inputs of known shapes, as tg.matrix("x", shape=(64, 784)); "sqrt" takes any'
        raise OptionError(  # noqa: B904 (it says all)
            message("function: checkpointing: found a number of bytes, needed lengths that are known", hint=hint)
        )
    return _Search(directions, inputs, shapes).within(checkpointing)


class _Choice(NamedTuple):
    """A program that keeps less: the cost of what it computes again, its peak, and how it was made."""

    cost: float
    peak: int
    segments: Mapping[int, int]
    recomputing: Recomputing
    program: FrozenGraph


@final
class _Search:
    """The search for a program within a limit: by lengths of segments, then by the segments that are kept whole."""

    def __init__(self, directions: Directions, inputs: Sequence[Shape], shapes: Sequence[tuple[int, ...]]) -> None:
        self.directions, self.graph, self.inputs = directions, directions.graph, inputs
        self.shapes, self.sizes = shapes, value_bytes(directions.graph, shapes)

    def within(self, limit: int) -> FrozenGraph:
        """The program that computes least again of those tried that need no more bytes at a time than the limit.

        Raises:
            OptionError: there is none.
        """
        plain = peak_bytes(self.graph, self.shapes)
        if plain <= limit:
            _note(f"nothing is computed again; peak {plain:,} bytes")
            return self.graph
        choices = [
            self._choice(evenly(self.directions, self.sizes, n), None) for n in _counts(saved_values(self.directions))
        ]
        fitting = [c for c in choices if c.peak <= limit]
        if not fitting:
            least = min((plain, *(c.peak for c in choices)))
            raise OptionError(message(f"function: checkpointing: found {limit:,} bytes, needed at least {least:,}"))
        best = self._with_more_kept(min(fitting, key=lambda c: (c.cost, c.peak)), limit)
        _note(f"peak {best.peak:,} bytes")
        return best.program

    def _choice(self, segments: Mapping[int, int], only: frozenset[int] | None) -> _Choice:
        recomputing = Recomputing(self.directions, segments, only)
        program = recomputing.program()
        cost = sum(self._cost(group.again) for group in recomputing.groups)
        return _Choice(cost, peak_bytes(program, self.shapes), segments, recomputing, program)

    def _with_more_kept(self, choice: _Choice, limit: int) -> _Choice:
        """The choice with segments kept whole, first those whose computing again costs most for the bytes it saves."""
        groups = [g for g in choice.recomputing.groups if g.again]
        only = frozenset(g.segment for g in groups)
        for group in sorted(groups, key=lambda g: (-self._worth(g.again), g.segment)):
            other = self._choice(choice.segments, only - {group.segment})
            if other.peak <= limit:
                choice, only = other, only - {group.segment}
        return choice

    def _worth(self, nodes: Sequence[int]) -> float:
        values = (v for k in nodes for v in self.graph.nodes[k].outputs)
        return self._cost(nodes) / max(sum(self.sizes[v] for v in values if self.directions.is_saved(v)), 1)

    def _cost(self, nodes: Sequence[int]) -> float:
        """The time that nodes take, in additions of float64: an estimate for comparing."""
        return sum(map(self._cost_of, nodes))

    def _cost_of(self, k: int) -> float:
        node = self.graph.nodes[k]
        from tg.ops.operation_counts import operations_of  # networks' ops, which few programs have

        operations = operations_of(node.op, [self.shapes[v] for v in (*node.inputs, *node.outputs)])
        if operations is not None:
            return operations / PER_ADDITION
        elements = sum(math.prod(self.shapes[v]) for v in node.outputs)
        return elements * (node.op.fn.cost if isinstance(node.op, Elementwise) else 1.0)


def _counts(saved: int) -> Iterator[int]:
    """The numbers of segments that are tried."""
    count = 2
    while count <= min(saved, MOST):
        yield count
        count += max(1, count // 3)


def _note(text: str) -> None:
    span = current_span()
    if span is not None:
        span.note = text
