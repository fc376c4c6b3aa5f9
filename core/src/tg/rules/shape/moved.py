"""A value below movements with its index map: the one way in which a rule looks through movements.

A rule that reads a sum through expand_dims must not lose where the axes were added: beside an array of equal lengths
the sum along another axis has the right shape and the wrong numbers. So what `Moved` finds below movements is given
out only together with a statement about its index map: that the axes of the result are those of the value but for
some that were added (`with_axes`, `beside`), that the elements are in the same order, that nothing depends on the
places (`every`); or it is made into another value that is moved in the same way (`again`).
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar, final

from tg.graph.nodes import Variable
from tg.ops.indexing import Gather, Slice
from tg.ops.shape_ops import ExpandDims, Squeeze, Transpose
from tg.ops.sized_ops import BroadcastTo, Reshape
from tg.rules.shape.terms import arranged, places_of, sized

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.nodes import Apply
    from tg.graph.op import Op
    from tg.rules.shape.terms import Entry, Places
    from tg.types.tensor_type import TensorType

    Axes = tuple[int, ...]

T = TypeVar("T")
S = TypeVar("S")

MOVEMENTS: Final = (BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose)
MOVED: Final = (*MOVEMENTS, Slice, Gather)  # and choices of elements
OF_AXES: Final = (ExpandDims, Squeeze, Transpose)
IN_ORDER: Final = (ExpandDims, Reshape, Squeeze)
DEPTH: Final = 64  # movements that are looked through


@final
class IndexMap:
    """Map from each element of a result to the element of a value that it reads, as the movements between them say.

    Two maps are equal if every value of one shape is moved alike by both, as far as that is seen without computing.
    """

    __slots__ = ("_key", "_nodes", "_places", "rank")

    def __init__(self, rank: int, nodes: tuple[Apply, ...]) -> None:
        self.rank, self._nodes = rank, nodes  # the rank of the value; the first movement first
        self._key: list[Step] | None = None
        self._places: Places | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IndexMap):
            return NotImplemented
        if self.rank != other.rank:
            return False
        mine, theirs = self._steps(), other._steps()
        return len(mine) == len(theirs) and all(map(Step.is_same, mine, theirs))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<index map of {self.rank} axes: {', '.join(str(node.op) for node in self._nodes) or 'identity'}>"

    @property
    def is_identity(self) -> bool:
        """Whether nothing is moved."""
        return not self._nodes

    @property
    def is_of_scalar(self) -> bool:
        """Whether the value is a scalar and the result."""
        return not self.rank and not self._nodes

    @property
    def places(self) -> Places | None:
        """For each axis of the result the axis of the value that it reads, from the front; None for one that is new.

        None in place of all where an element is found otherwise: after a reshape, or a choice of elements.
        """
        if self._places is None:
            places: Places = list(range(self.rank))
            for node in self._nodes:
                if type(node.op) is BroadcastTo:
                    missing = node.types[0].ndim - len(places)
                    places = [*(None for _ in range(missing)), *places]
                elif type(node.op) in OF_AXES:
                    places = [None if p is None else places[p] for p in places_of(node.op, len(places))]
                else:
                    return None
            self._places = places
        return list(self._places)

    @property
    def keeps_order(self) -> bool:
        """Whether the result has the elements of the value in the same order, C order."""
        return all(map(_keeps_order, self._nodes))

    @property
    def repeats(self) -> bool:
        """Whether an element of the value may be several of the result."""
        return any(type(node.op) is BroadcastTo for node in self._nodes)

    def source(self, axis: int) -> int | None:
        """The axis of the value, counted from the end, that an axis of the result reads, counted likewise."""
        places = self.places
        place = None if places is None else places[axis]
        return None if place is None else place - self.rank

    @property
    def added(self) -> Axes:
        """The axes of the result that are new, counted from the end."""
        places = self.places or []
        return tuple(k - len(places) for k, p in enumerate(places) if p is None)

    @property
    def dropped(self) -> Axes:
        """The axes of the value, of length 1, that the result does not have, counted from the end."""
        places = self.places or []
        return tuple(k - self.rank for k in range(self.rank) if k not in places)

    def arranged(self, items: Sequence[S]) -> tuple[S | None, ...]:
        """Items of the axes of the value, for the axes of the result; None for those that are new."""
        places = self.places
        assert places is not None
        return tuple(None if p is None else items[p] for p in places)

    def of(self, v: Variable) -> Variable:
        """Another value of that rank, moved alike."""
        assert v.type.ndim == self.rank
        for node in self._nodes:
            v = node.op(v, *node.inputs[1:])
        return v

    def beside(self, v: Variable) -> Variable:
        """A factor of the value, moved alike; a scalar stands beside anything as it is."""
        return v if v.type.ndim == 0 else self.of(v)

    def _steps(self) -> list[Step]:
        """The movements, those of axes that follow one another as one."""
        if self._key is None:
            steps: list[Step] = []
            rank = self.rank
            for node in self._nodes:
                if type(node.op) in OF_AXES:
                    places = places_of(node.op, rank)
                    if steps and steps[-1].places is not None:
                        before = steps.pop().places
                        places = [None if p is None else before[p] for p in places]  # type: ignore[index]
                    steps.append(Step(None, (), places))
                else:
                    steps.append(Step(node.op, node.inputs[1:], None))
                rank = node.types[0].ndim
            self._key = steps
        return self._key


class Step(NamedTuple):
    """Movements of axes that follow one another, by the places of their result; or another movement, by its op."""

    op: Op | None
    operands: tuple[Variable, ...]
    places: Places | None

    def is_same(self, other: Step) -> bool:
        """Whether both say the same of every value."""
        alike = self.op == other.op and self.places == other.places and len(self.operands) == len(other.operands)
        return alike and all(map(operator.is_, self.operands, other.operands))


def _keeps_order(node: Apply) -> bool:
    """Whether elements stay in C order: a transpose changes nothing where at most one axis is longer than 1."""
    return type(node.op) in IN_ORDER or (type(node.op) is Transpose and sum(n != 1 for n in node.types[0].shape) <= 1)


@final
class Moved(Generic[T]):
    """Match in a value below movements, and the index map from there to the result.

    Immutable, and without a way to the value that says nothing of the map.
    """

    __slots__ = ("_map", "_result", "_value")

    def __init__(self, value: T, index_map: IndexMap, result: TensorType) -> None:
        self._value, self._map, self._result = value, index_map, result

    @staticmethod
    def of(v: Variable, *kinds: type[Op], most: int = DEPTH) -> Moved[Variable]:
        """The value below movements of some kinds; v itself where none of them makes it.

        Args:
            kinds: classes of movements: an op whose result has elements of its first operand and no others.
            most: how many of them are looked through.
        """
        nodes: list[Apply] = []
        value = v
        while value.apply is not None and type(value.apply.op) in kinds and len(nodes) < most:
            nodes.append(value.apply)
            value = value.apply.inputs[0]
        return Moved(value, IndexMap(value.type.ndim, tuple(reversed(nodes))), v.type)

    # --- what is below, without leaving it ---------------------------------------------------------------------------

    def then(self, look: Callable[[T], S | None]) -> Moved[S] | None:
        """Match of `look` in the value, under the same map; None where there is none."""
        part = look(self._value)
        return None if part is None else Moved(part, self._map, self._result)

    def together(self, *others: Moved[Any]) -> Moved[tuple[Any, ...]] | None:
        """Several values as one, where all have the same map, or are scalars that nothing moves: these have any map."""
        if not all(other._map.is_of_scalar or other._map == self._map for other in others):
            return None
        return Moved((self._value, *(other._value for other in others)), self._map, self._result)

    def made_by(self, kind: type[Op]) -> Any:
        """The op that makes the value, if it is one of a class."""
        node = self._value.apply if isinstance(self._value, Variable) else None
        return node.op if node is not None and type(node.op) is kind else None

    def is_of(self, other: Moved[Any]) -> bool:
        """Whether both are of one value, however moved."""
        return self._value is other._value

    @property
    def is_moved(self) -> bool:
        """Whether there is a movement."""
        return not self._map.is_identity

    @property
    def added(self) -> Axes:
        """The axes of the result that the value has not."""
        return self._map.added

    def source(self, axis: int) -> int | None:
        """The axis of the value that an axis of the result reads, both counted from the end."""
        return self._map.source(axis)

    def is_alike_along(self: Moved[Variable], axis: int) -> bool:
        """Whether the value has no axis, or one of length 1, where the result has this one."""
        place = self._map.source(axis)
        return self._map.places is not None and (place is None or self._value.type.shape[place] == 1)

    def every(self, fact: Callable[[T], S]) -> S:
        """A fact about the value that is one under any map: about all its elements alike."""
        said = fact(self._value)
        assert not isinstance(said, Variable)
        return said

    # --- the value, with a statement about the map -------------------------------------------------------------------

    def with_axes(self, axes: Axes) -> T | None:
        """The value, where the result is it with axes of length 1 at some places, and nothing else."""
        places = self._map.places
        if places is None or self._map.repeats or self._map.dropped:
            return None
        sources = [p for p in places if p is not None]
        return self._value if self._map.added == axes and sources == sorted(sources) else None

    def beside(self, axes: Axes | Callable[[T], Axes]) -> T | None:
        """The value, where the result stands beside an array as its reduction to the value over axes does, kept.

        It may be repeated to the array's lengths or beyond; a scalar result stands beside anything.
        """
        places = self._map.places
        if callable(axes):
            axes = axes(self._value)
        if places is None or self._map.dropped:
            return None
        if not places:
            return self._value
        rank = self._map.rank + len(axes)
        left = iter(range(self._map.rank))
        standing = [None if k in axes else next(left, None) for k in range(-rank, 0)]
        are_axes = min(axes, default=-1) >= -rank
        return self._value if are_axes and places == [None] * (len(places) - rank) + standing else None

    def transposed(self) -> T | None:
        """The matrices of which the result has the transposes; a single column may have been a vector on the way."""
        places, rank = self._map.places, self._map.rank
        if places is None or rank < 2 or len(places) != rank or self._map.repeats:
            return None
        row, column = places[-2:]
        is_turned = column == rank - 2 and (row == rank - 1 or (row is None and self._map.dropped == (-1,)))
        return self._value if is_turned and places[:-2] == list(range(rank - 2)) else None

    def in_order(self) -> T | None:
        """The value, where the result has its elements in the same order, C order, under whatever shape."""
        return self._value if self._map.keeps_order else None

    def single(self: Moved[Variable]) -> Variable | None:
        """The value, where it has one element, which is all of the result."""
        return self._value if all(n == 1 for n in self._value.type.shape) else None

    # --- other values with the map -----------------------------------------------------------------------------------

    def here(self) -> T:
        """The match, moved as the value is."""
        return self._placed(self._value)  # type: ignore[no-any-return]

    def again(self, build: Callable[[T], S]) -> S:
        """Result of `build` for the value, moved as the value is: each variable in it, which has the value's rank."""
        return self._placed(build(self._value))  # type: ignore[no-any-return]

    def _placed(self, built: Any) -> Any:
        if isinstance(built, Variable):
            return self._map.of(built)
        if not isinstance(built, tuple):
            return built
        parts = map(self._placed, built)
        return type(built)(*parts) if hasattr(built, "_fields") else tuple(parts)

    def unrepeated(self: Moved[Variable], *, without: Sequence[int] = ()) -> Variable:
        """The value arranged as the result is, with length 1 where that repeats it; some axes of length 1 left out."""
        places = self._map.places
        assert places is not None
        return arranged(self._value, [p for k, p in enumerate(places, -len(places)) if k not in without])

    def repeated(self: Moved[Variable], lengths: Sequence[Entry]) -> Variable:
        """The value repeated to other lengths, where the result is it repeated."""
        return sized(BroadcastTo, self.unrepeated() if self._map.dropped else self._value, lengths)

    def along(
        self: Moved[Variable], axes: Axes, of: Callable[[Axes, Variable], Variable], *, leading: int = 0
    ) -> Variable | None:
        """Result of `of` for the value along axes that it loses, arranged as the result is without them.

        Args:
            axes: axes of the result, which the value has all: None is returned where one is new.
            of: makes it of the axes of the value, in the same order, and the value.
            leading: axes that come in front of what is left.
        """
        sources = [self._map.source(k) for k in axes]
        inner = tuple(k for k in sources if k is not None)
        places = self._map.places
        if places is None or len(inner) < len(axes):
            return None
        value = of(inner, self._value)
        left = [k for k in range(self._map.rank) if k - self._map.rank not in inner]
        rest = [p for k, p in enumerate(places, -len(places)) if k not in axes]
        moved = (None if p is None else leading + left.index(p) for p in rest)
        return arranged(value, [*range(leading), *moved])

    def read(self, how: Callable[[T, IndexMap], S]) -> S:
        """Result of a function of the value and of the map, for those whose subject is the map."""
        return how(self._value, self._map)


def untransposed(v: Variable) -> Variable | None:
    """The matrices of which v has the transposes, if a transpose of the last two axes alone makes it."""
    return Moved.of(v, Transpose).transposed()


def every(v: Variable, holds: Callable[[Variable], bool]) -> bool:
    """Whether something holds of a value that may be repeated: of all its elements alike."""
    return Moved.of(v, BroadcastTo).every(holds)


def is_repeated_along(v: Variable, axis: int) -> bool:
    """Whether a value is a broadcast of one that has no axis there, or one of length 1."""
    moved = Moved.of(v, BroadcastTo)
    return moved.is_moved and moved.is_alike_along(axis)
