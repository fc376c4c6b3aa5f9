"""Lengths that meet along each axis of a value, and decide its length where some of them are 1.

Lengths that nothing says are equal must be so, or 1: a program is compiled for the pattern of ones that a call has.
Derivatives are taken before, when a value has one name for its length and may have another's: a form that leaves an
operand out has another shape wherever the others have a length of 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.graph.traversal import key_of
from tg.ops.elementwise.record import Elementwise
from tg.types.atoms import AxisLength
from tg.types.lengths import same

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

    Met = tuple[frozenset[object], ...]  # for each axis; a known length other than 1 alone

ONE: frozenset[object] = frozenset()


class LengthsMet:
    """The lengths that meet in values of one graph, found once for each."""

    def __init__(self) -> None:
        self.found: dict[tuple[int, int], Met] = {}
        self.held: list[Variable] = []  # keys are ids: what was asked about lives on, also forms that were refused

    def of(self, v: Variable) -> Met:
        """The lengths along the axes of a value."""
        lengths, stack = self.found, [v]
        self.held.append(v)
        while stack:
            u = stack[-1]
            key, node = key_of(u), u.apply
            own = _own(u)
            if node is None or all(axis == ONE or isinstance(next(iter(axis)), int) for axis in own):
                lengths[key] = own
            elif missing := [w for w in (*node.inputs, *_named(u)) if w.type.shape and key_of(w) not in lengths]:
                stack.extend(missing)
                continue
            elif key not in lengths:
                lengths[key] = self._together(u, node, own)
            stack.pop()
        return lengths[key_of(v)]

    def _together(self, v: Variable, node: Apply, own: Met) -> Met:
        """The lengths of a result: of operands along the same axis, or of the value by whose axis its own is known."""
        operands = [(_own(w), self.found[key_of(w)]) for w in node.inputs if w.type.shape]
        axes = []
        for k, axis in enumerate(own):
            last = len(own) - k
            if axis == ONE:
                met = [axis]
            elif type(node.op) is Elementwise:
                met = [lengths[-last] for _, lengths in operands if len(lengths) >= last]
            else:
                pairs = (pair for one in operands for pair in zip(*one, strict=True))
                met = [together for length, together in pairs if length == axis] or [self._by_name(v, k, axis)]
            axes.append(_merged(frozenset().union(*met)))
        return tuple(axes)

    def _by_name(self, v: Variable, axis: int, own: frozenset[object]) -> frozenset[object]:
        """The lengths of an axis that is known as that of another value."""
        atom: Any = getattr(v.shape[axis], "atom", None)
        if type(atom) is not AxisLength or key_of(atom.owner) not in self.found:  # type: ignore[arg-type]
            return own
        return self.found[key_of(atom.owner)][atom.axis]  # type: ignore[arg-type]


def _named(v: Variable) -> list[Variable]:
    """The values by whose axes the lengths of another are known."""
    atoms = [getattr(n, "atom", None) for n in v.shape]
    owners: list[Any] = [atom.owner for atom in atoms if type(atom) is AxisLength]
    return [w for w in owners if w.apply is not v.apply]


def _own(v: Variable) -> Met:
    return tuple(ONE if same(n, 1) else frozenset((n if isinstance(n, int) else n.key,)) for n in v.shape)


def _merged(lengths: frozenset[object]) -> frozenset[object]:
    """A known length other than 1 is that of all."""
    numbers = frozenset(n for n in lengths if isinstance(n, int))
    return numbers or lengths
