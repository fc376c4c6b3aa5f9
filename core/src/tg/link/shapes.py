"""The shapes of the values of a program for the shapes of its inputs, and their bytes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tg.types.atoms import AxisLength
from tg.types.substitution import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import FrozenGraph

    Shape = Sequence[int | None]


def value_shapes(graph: FrozenGraph, inputs: Sequence[Shape] = (), unknown: int | None = None) -> list[tuple[int, ...]]:
    """The shapes of all values of a program.

    Args:
        inputs: the shapes of the inputs, None for lengths that are not known; none unless given.
        unknown: a length in place of those that do not follow.
    Raises:
        OpenLengthError: a length does not follow, and there is no other in its place.
    """

    def value_of(atom: Any) -> int | None:
        number = getattr(getattr(atom, "owner", None), "number", graph.arity)
        is_given = type(atom) is AxisLength and number < len(inputs)
        length = inputs[number][atom.axis] if is_given else None
        return unknown if length is None else length

    def number(length: Any) -> int:
        value = evaluate(length, value_of)
        if type(value) is not int and unknown is None:
            raise OpenLengthError
        return max(value, 0) if type(value) is int else unknown or 0

    is_static = all(type(n) is int for t in graph.types for n in t.shape)
    types = graph.types if is_static else graph.symbolic
    return [tuple(map(number, t.shape)) for t in types]


class OpenLengthError(Exception):
    """A length is known only when a program runs."""


def value_bytes(graph: FrozenGraph, shapes: Sequence[tuple[int, ...]]) -> list[int]:
    """The bytes of values of such shapes."""
    return [math.prod(shape) * t.numpy_dtype.itemsize for shape, t in zip(shapes, graph.types, strict=True)]


def makers_of(graph: FrozenGraph) -> dict[int, int]:
    """The number of the node that makes a value, by the value's number."""
    return {v: k for k, node in enumerate(graph.nodes) for v in node.outputs}
