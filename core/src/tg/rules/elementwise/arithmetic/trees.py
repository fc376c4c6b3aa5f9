"""Trees of one kind of arithmetic in a graph: what is used once below a root, which a pass may arrange anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tg.ops.elementwise.record import Elementwise
from tg.ops.shape import broadcast_to
from tg.types.requirements import equal_here
from tg.types.substitution import atoms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tg.graph.nodes import Variable
    from tg.graph.view import View
    from tg.types.lengths import Length

    Rebuild = Callable[[Variable, "Inside"], Variable | None]


class Kind(Protocol):
    """A kind of tree: which values belong to one, and what below them may."""

    functions: frozenset[object]  # those that make its values
    dtypes: frozenset[str]

    def is_member(self, v: Variable) -> bool:
        """Whether a value made by one of the functions is an inner node or the root of a tree."""

    def operands(self, v: Variable) -> tuple[Variable, ...]:
        """The operands of a member that belong to its tree if they are members used nowhere else."""

    def factored(self, v: Variable) -> tuple[Variable, ...]:
        """The operands of a member that may be taken into its tree, but are roots otherwise."""


class Inside:
    """The inner nodes of trees: members used once, by a member of the same shape and dtype.

    Those that a factor can be taken out of, or multiplied into, may have another shape.
    """

    __slots__ = ("_factored", "_inner", "roots")

    def __init__(self, view: View, kind: Kind) -> None:
        members = {id(v): v for v in _members(view, kind)}
        self._inner: set[int] = set()
        self._factored: set[int] = set()
        reading: list[Variable] = []
        for v in members.values():
            inner = [id(u) for u in kind.operands(v) if id(u) in members and view.uses(u) == 1 and is_shaped_like(u, v)]
            factored = [id(u) for u in kind.factored(v) if id(u) in members and view.uses(u) == 1]
            if inner or factored:
                reading.append(v)
                self._inner.update(inner)
                self._factored.update(factored)
        self.roots = [v for v in reading if id(v) not in self._inner]  # those of more than one node

    def __contains__(self, v: Variable) -> bool:
        return id(v) in self._inner

    def has_factored(self, v: Variable) -> bool:
        """Whether a value may be taken into the tree of its only reader."""
        return id(v) in self._factored


def _members(view: View, kind: Kind) -> Iterator[Variable]:
    for node in view.applies:
        op = node.op
        if type(op) is Elementwise and op.fn in kind.functions:
            (v,) = view.results(node)
            if v.type.dtype in kind.dtypes and kind.is_member(v):
                yield v


def function_of(v: Variable) -> object:
    """The elementwise function that makes a value."""
    op = v.op
    return op.fn if type(op) is Elementwise else None


def replacements(view: View, kind: Kind, rebuild: Rebuild) -> Mapping[int, Variable]:
    """Results of `rebuild` for the roots of all trees, by the ids of the roots.

    Args:
        rebuild: from a root and what is inside of trees to a replacement, None where the root stays.
    """
    inside = Inside(view, kind)
    by_id: dict[int, Variable] = {}
    for v in inside.roots:
        new = rebuild(v, inside)
        shaped = None if new is None else in_shape_of(new, v)
        if shaped is not None:
            by_id[id(v)] = shaped
    return by_id


def is_shaped_like(v: Variable, other: Variable) -> bool:
    """Whether two values are known to have one shape and dtype."""
    a, b = v.type, other.type
    return a.dtype == b.dtype and len(a.shape) == len(b.shape) and all(map(equal_here, v.shape, other.shape))


def in_shape_of(new: Variable, old: Variable) -> Variable | None:
    """A replacement repeated to the shape of what it replaces; None where only that value knows its shape."""
    if len(new.shape) == len(old.shape) and all(map(equal_here, new.shape, old.shape)):
        return new
    return None if any(_is_own(n, old) for n in old.shape) else broadcast_to(new, old.shape)


def _is_own(length: int | Length, v: Variable) -> bool:
    return any(getattr(a, "owner", None) is v for a in atoms(length))
