"""Programs read from their results: which node makes a value, and which value is a square, a mean or a number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.backend import AxisLength, Cast, ExpandDims, Reduce, arithmetic
from tg_onnx.writing.scope import agree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tg.backend import FrozenGraph, Node

NEAR: Final = 1e-6  # a constant of float32 is as near as this to the number that it stands for


class Match(NamedTuple):
    """A pattern that was found: the values that it is of, and what writes it."""

    operands: tuple[int, ...]
    write: Callable[..., Any]


@final
class Reader:
    """A program, read from its results: which node makes a value, of which operands."""

    def __init__(self, graph: FrozenGraph) -> None:
        self.graph = graph
        self._makers: dict[int, Node] = {k: node for node in graph.nodes for k in node.outputs}

    def operands(self, value: int, key: object) -> tuple[int, ...] | None:
        """The operands of the node that makes a value, if it is of an op: its class, or a function of elements."""
        node = self._makers.get(value)
        return node.inputs if node is not None and node.op.rule_key is key else None

    def op(self, value: int) -> Any:
        """The op that makes a value."""
        return self._makers[value].op

    def pairs(self, value: int, key: object) -> Iterator[tuple[int, int]]:
        """Both operands of a node that commutes, in either order."""
        operands = self.operands(value, key)
        if operands is not None:
            a, b = operands
            yield from ((a, b), (b, a))

    def number(self, value: int) -> float | None:
        """The number that a constant of one element is."""
        constant = self.graph.constant(value)
        return float(constant.data.reshape(())) if constant is not None and constant.data.size == 1 else None

    def is_number(self, value: int, wanted: float) -> bool:
        """Whether a value is a constant near a number."""
        number = self.number(value)
        return number is not None and math.isclose(number, wanted, rel_tol=NEAR)

    def shape(self, value: int) -> tuple[Any, ...]:
        """The lengths of a value."""
        return self.graph.symbolic[value].shape

    def unexpanded(self, value: int) -> int:
        """The value below axes of length 1 that were inserted."""
        operands = self.operands(value, ExpandDims)
        return value if operands is None else operands[0]

    def square(self, value: int) -> int | None:
        """The value that this one is the square of."""
        operands = self.operands(value, arithmetic.square)
        if operands is not None:
            return operands[0]
        operands = self.operands(value, arithmetic.multiply)
        return operands[0] if operands is not None and operands[0] == operands[1] else None

    def mean(self, value: int) -> Mean | None:
        """The mean that a value is: a sum over axes times or by the number of its elements."""
        for total, count, is_product in self._scaled(value):
            outside = self.operands(total, ExpandDims)
            sums = self.operands(total if outside is None else outside[0], Reduce)
            if sums is None:
                continue
            op = self.op(total if outside is None else outside[0])
            axes = tuple(sorted(k % len(self.shape(sums[0])) for k in op.axes))
            keeps = outside is not None
            if op.fn is not arithmetic.add or not axes:
                continue
            if keeps and tuple(sorted(k % len(self.shape(total)) for k in self.op(total).axes)) != axes:
                continue
            if self._counts(count, sums[0], axes, is_product=is_product):
                return Mean(sums[0], axes, keeps)
        inner = self.operands(value, ExpandDims)
        if inner is not None:
            mean = self.mean(inner[0])
            places = tuple(sorted(k % len(self.shape(value)) for k in self.op(value).axes))
            if mean is not None and not mean.keeps and places == mean.axes:
                return mean._replace(keeps=True)
        return None

    def _scaled(self, value: int) -> Iterator[tuple[int, int, bool]]:
        for a, b in self.pairs(value, arithmetic.multiply):
            yield a, b, True
        operands = self.operands(value, arithmetic.divide)
        if operands is not None:
            a, b = operands
            yield a, b, False

    def _counts(self, value: int, x: int, axes: Sequence[int], *, is_product: bool) -> bool:
        """Whether a value is the number of elements along axes, or its reciprocal."""
        lengths = [self.shape(x)[k] for k in axes]
        number = self.number(value)
        if number is not None:
            if not all(type(n) is int for n in lengths):
                return False
            count = math.prod(lengths)
            return count > 0 and math.isclose(number, 1 / count if is_product else count, rel_tol=NEAR)
        cast = self.operands(value, Cast)
        if is_product or cast is None or len(lengths) != 1:
            return False
        of = self.operands(cast[0], AxisLength)
        return of is not None and agree((self.shape(of[0])[self.op(cast[0]).axis],), tuple(lengths))


class Mean(NamedTuple):
    """A mean over axes, counted from the front, which are kept with length 1 or dropped."""

    x: int
    axes: tuple[int, ...]
    keeps: bool
