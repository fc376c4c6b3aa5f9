"""Sums of s * x + c, with s and c the same for all elements: x is summed, and the rest waits for the end.

The sums of -z * z / 2 - c and of z * z / d then are one, of z * z. A c is taken out only where that makes two sums one,
and only if x is a product, which has an error of its own.

What all elements share is whatever a loop writer has for it, with the operators of numbers.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.ops.elementwise.arithmetic import add, divide, multiply, negative, square, subtract

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.graph.frozen import Node

FLOAT: Final = "float64"


class Affine(NamedTuple):
    """A value as scale * x + shift, where x is the product of one or two values that differ along the axis."""

    factors: tuple[int, ...]
    scale: Any = None  # None is 1
    shift: Any = None  # None is 0

    def times(self, factor: Any) -> Affine:
        """A multiple."""
        shift = None if self.shift is None else self.shift * factor
        return self._replace(scale=factor if self.scale is None else self.scale * factor, shift=shift)

    def plus(self, term: Any) -> Affine:
        """The sum with a value that all elements share."""
        return self._replace(shift=term if self.shift is None else self.shift + term)

    @property
    def regroups(self) -> bool:
        """Whether other products are made than as they are written."""
        return len(self.factors) > 1 and self.scale is not None


@final
class _Forms:
    """The values of a scalar program, taken apart where they are multiples, products or sums with what is shared."""

    def __init__(self, nodes: Sequence[Node], dtypes: Sequence[str], shared: Mapping[int, Any]) -> None:
        self.shared = shared
        self._found: dict[int, Affine] = {}
        for node in nodes:
            (number,) = node.outputs
            if dtypes[number] == FLOAT:
                self._found[number] = self._form(node, number)

    def of(self, number: int) -> Affine:
        """The form of a value."""
        return self._found.get(number) or Affine((number,))

    def _form(self, node: Node, number: int) -> Affine:
        fn, x, y = node.op.rule_key, node.inputs[0], node.inputs[-1]
        if fn is negative:
            return self._negated(self.of(x))
        if fn is square:
            return self._product(x, x)
        place = next((k for k in (y, x) if k in self.shared), None)
        if place is None:
            return self._product(x, y) if fn is multiply else Affine((number,))
        value, other = self.shared[place], self.of(x if place == y else y)
        if fn is multiply:
            return other.times(value)
        if fn is divide and place == y:
            return other.times(1.0 / value)
        if fn not in (add, subtract) or len(other.factors) == 1:
            return Affine((number,))
        if fn is add:
            return other.plus(value)
        return other.plus(-value) if place == y else self._negated(other).plus(value)

    def _negated(self, form: Affine) -> Affine:
        return form._replace(
            scale=-1.0 if form.scale is None else -form.scale, shift=None if form.shift is None else -form.shift
        )

    def _product(self, x: int, y: int) -> Affine:
        (p, scale), (q, other) = self._factor(x), self._factor(y)
        factors = (min(p, q), max(p, q))
        return (
            Affine(factors, scale) if other is None else Affine(factors, other).times(1.0 if scale is None else scale)
        )

    def _factor(self, number: int) -> tuple[int, Any]:
        """A value, or what it is a multiple of, with the scale."""
        form = self.of(number)
        return (number, None) if len(form.factors) > 1 else (form.factors[0], form.scale)


class SharedSums(NamedTuple):
    """Values that are summed in place of some others: their forms, the summands' factors, the nodes that make them."""

    forms: tuple[Affine, ...]
    summed: tuple[tuple[int, ...], ...]
    nodes: tuple[Node, ...]


def shared_sums(
    numbers: Sequence[int], nodes: Sequence[Node], dtypes: Sequence[str], shared: Mapping[int, Any]
) -> SharedSums | None:
    """Values that are summed in place of some others, None if these are what is written.

    Args:
        numbers: the values, of float64.
        nodes: those that make them, whose results differ along the axis.
        dtypes: of all values.
        shared: the values that all elements share.
    """
    every = _Forms(nodes, dtypes, shared)
    all_forms = [every.of(number) for number in numbers]
    counts = Counter(form.factors for form in all_forms)
    forms = tuple(
        Affine((number,)) if form.shift is not None and counts[form.factors] == 1 else form
        for number, form in zip(numbers, all_forms, strict=True)
    )
    if all(form.factors == (number,) for form, number in zip(forms, numbers, strict=True)):
        return None
    summed = tuple(dict.fromkeys(form.factors for form in forms))
    return SharedSums(forms, summed, _needed(nodes, {number for factors in summed for number in factors}))


def _needed(nodes: Sequence[Node], numbers: set[int]) -> tuple[Node, ...]:
    """The nodes that make some numbers, and what they are made of."""
    makers: list[Node] = []
    for node in reversed(nodes):
        if not numbers.isdisjoint(node.outputs):
            numbers.update(node.inputs)
            makers.append(node)
    return tuple(reversed(makers))
