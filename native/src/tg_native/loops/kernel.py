"""A loop in the making: a function of its own, and how the function of a graph calls it."""

from __future__ import annotations

import abc
import contextlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, overload

from tg_native.kernels.dtypes import PARTS, item_size
from tg_native.kernels.index import INT64, Counted, Index, Pointer, index
from tg_native.kernels.routine import Block
from tg_native.plan.values import Array, Scalar, is_one, is_zero

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tg.types.lengths import Length
    from tg_native.kernels.lanes import Elements
    from tg_native.kernels.routine import Routine

MOST: Final = 64  # lanes
NO_LENGTHS: Final[Mapping[object, int | Length]] = MappingProxyType({})


def lanes_for(vector_bytes: int, dtypes: Iterable[str], vectors: int, length: int | Length) -> int:
    """As many lanes as some vectors have for the widest dtype, and no more than a length that is known."""
    widest = max((item_size(PARTS.get(d, d)) for d in dtypes), default=0)
    lanes = min(vectors * vector_bytes // widest, MOST) if widest else 0
    while type(length) is int and lanes >= 2 * max(length, 2):
        lanes //= 2
    return lanes


class Wanted(NamedTuple):
    """Argument of a loop: the word that asks for it (read, write, scalar, length), what it is, a length's role."""

    word: str
    what: Array | Scalar | int | Length
    role: object = None


class Share(NamedTuple):
    """The part of a loop that one of several threads runs.

    Args:
        low: where it begins along the first axis.
        high: before which index it ends.
        part: its number.
        slot: the number of the thread.
        parts: how many parts there are, in the function of the graph.
        most: as many as there may be.
        threads: of them, for which there may be memory.
    """

    low: Index
    high: Index
    part: Index
    slot: Index
    parts: Scalar
    most: int
    threads: int


class Kernel(abc.ABC):
    """Writes one function to `body`; arguments are gathered as they are needed."""

    body: Routine
    share: Share | None = None
    """The part that a call runs, where threads share the loop: along its first axis."""
    streams: bool = False
    """Whether no place in memory is come back to, as sums in memory are and what is read at positions."""
    sums: int = 0
    """How many sums are added pairwise, each with memory of its own."""

    def __init__(self) -> None:
        self.wanted: list[Wanted] = []  # what its arguments are, in their order

    @property
    @abc.abstractmethod
    def is_told(self) -> bool:
        """Whether `wanted` has all arguments."""

    @abc.abstractmethod
    def read(self, array: Array) -> Pointer:
        """The place of an array that is read."""

    @abc.abstractmethod
    def write(self, array: Array) -> Pointer:
        """The place of an array that is written and that nothing else reaches."""

    @abc.abstractmethod
    def length(self, length: int | Length, role: object = None) -> Index:
        """A length, or the distance of elements.

        Args:
            role: what it is the length of, where it is an argument whether it is known or not and whatever others it
                is equal to, so that functions that differ in lengths alone are one.
        """

    @abc.abstractmethod
    def scalar(self, scalar: Scalar) -> Elements:
        """A scalar of the function in all lanes."""

    def repeat(self, other: Self, texts: Mapping[str, str], lengths: Mapping[object, int | Length]) -> None:
        """Have the body of another loop, which has been written, in place of one's own.

        Args:
            other: so far it had the same arguments in the same order.
            texts: of arrays and scalars of this loop, by those of the other that are arguments from there on.
            lengths: those of this loop by their roles; all others are those of the other.
        """
        for word, what, role in other.wanted[len(self.wanted) :]:
            if isinstance(what, Array):
                (self.read if word == "read" else self.write)(what._replace(pointer=texts[what.pointer]))
            elif isinstance(what, Scalar):
                self.scalar(what._replace(text=texts[what.text]))
            else:
                self.length(lengths.get(role, what), role)
        self.body, self.streams, self.sums = other.body, other.streams, other.sums

    def lanes_for(self, dtypes: Iterable[str], vectors: int, length: int | Length) -> int:
        """As many lanes as some vectors have for the widest dtype, and no more than a length that is known."""
        return lanes_for(self.body.machine.vector_bytes, dtypes, vectors, length)

    def offset(self, indices: Sequence[Index | int], strides: Sequence[int | Length | Index]) -> Index:
        """The number of elements to a position."""
        total = index(self.body, 0)
        for at, stride in zip(indices, strides, strict=True):
            total = total + index(self.body, at) * self.as_index(stride)
        return total

    def as_index(self, length: int | Length | Index) -> Index:
        """A length, or one that is an index already."""
        return length if isinstance(length, Index) else self.length(length)

    @overload
    def moved(
        self, place: Pointer, indices: Sequence[Index | int], strides: Sequence[int | Length | Index]
    ) -> Pointer: ...
    @overload
    def moved(
        self, place: Counted, indices: Sequence[Index | int], strides: Sequence[int | Length | Index]
    ) -> Counted: ...
    def moved(
        self, place: Pointer | Counted, indices: Sequence[Index | int], strides: Sequence[int | Length | Index]
    ) -> Pointer | Counted:
        """The place at a position."""
        return place.moved(self.offset(indices, strides))

    @contextlib.contextmanager
    def loops(self, lengths: Sequence[int | Length | Index], *, first: bool = False) -> Iterator[list[Index]]:
        """Nested loops over axes; gives the indices.

        Args:
            first: the outermost is over the first axis, which threads may share.
        """
        with contextlib.ExitStack() as stack:
            yield [
                stack.enter_context(self.body.loop(*self.bounds(n, first=first and not k)))
                for k, n in enumerate(lengths)
            ]

    def bounds(self, length: int | Length | Index, *, first: bool) -> tuple[Index, Index]:
        """Begin and end of a loop over an axis: over a part of the first one where threads share it."""
        if first and self.share is not None:
            return self.share.low, self.share.high
        return index(self.body, 0), self.as_index(length)

    def blocks(
        self,
        length: int | Length | Index,
        write: Callable[[Block], None],
        *,
        twice: bool = False,
        asks: bool = False,
        first: bool = False,
    ) -> None:
        """Run along an axis in blocks of lanes; `write` writes what is done with one block.

        Args:
            twice: full blocks have code of their own, apart from that for the last, partial one.
            asks: where they have not, what is loaded and stored asks which one it is.
            first: the axis is the first one, which threads may share.
        """
        is_part = first and self.share is not None
        is_whole = type(length) is int and length % max(self.body.lanes, 1) == 0 and not is_part
        self.rounds(*self.bounds(length, first=first), write, twice=twice, asks=asks, is_whole=is_whole)

    def rounds(
        self,
        start: Index,
        end: Index,
        write: Callable[[Block], None],
        *,
        twice: bool = False,
        asks: bool = False,
        is_whole: bool = False,
    ) -> None:
        """Run from an index to before another in blocks of lanes, as `blocks`; `is_whole`: all are known to be full."""
        body, lanes = self.body, self.body.lanes
        if not lanes:
            with body.loop(start, end) as at:
                write(Block(at))
            return
        if not twice:
            with body.loop(start, end, lanes) as at:
                write(self.some(at, end) if asks else self.partial(at, end))
            return
        low, start = start, start + ((end - start) & -lanes)
        with body.loop(low, start, lanes) as at:
            write(Block(at))
        if is_whole:
            return
        with body.when(start < end):
            write(self.partial(start, end))

    def partial(self, at: Index, length: Index) -> Block:
        """The block from an index on, of which some lanes may be outside."""
        return Block(at, (length - at).least(self.body.lanes))

    def some(self, at: Index, length: Index) -> Block:
        """The block from an index on, which may be whole or partial."""
        block = self.partial(at, length)
        assert block.inside is not None
        return block._replace(whole=block.inside == self.body.lanes) if self.body.asks_whole else block

    # --- elements ----------------------------------------------------------------------------------------------------

    def operand(self, array: Array) -> Pointer | Counted:
        """The place of an array of which a loop reads elements by their numbers."""
        if not array.counts:
            return self.read(array)
        with self.body.of(0):
            first: Any = self.scalar(Scalar(INT64, array.pointer)) if array.pointer else None
        return Counted(index(self.body, 0) if first is None else Index(first))

    def load_one(self, place: Pointer | Counted) -> Elements:
        """An element, in all lanes."""
        return place.load() if isinstance(place, Counted) else self.body.load(place)

    def load(self, place: Pointer | Counted, stride: int | Length | Index, block: Block) -> Elements:
        """The elements of a block; lanes outside get some number."""
        if not isinstance(stride, Index) and is_zero(stride):
            return self.load_one(place)
        if isinstance(place, Counted):
            first = self.moved(place, [block.first], [stride])
            return first.load_apart(self.as_index(stride)) if self.body.lanes else first.load()
        if not self.body.lanes:
            return self.body.load(self.moved(place, [block.first], [stride]))
        if not isinstance(stride, Index) and is_one(stride):
            return self.body.load_row(place.moved(block.first), block)
        return self.body.load_apart(place, self.as_index(stride), block)

    def store(self, value: Elements, place: Pointer, stride: int | Length | Index, block: Block) -> None:
        """Write the elements of a block: where they follow one another, or, without lanes, at any distance."""
        if not self.body.lanes:
            self.body.store(value, self.moved(place, [block.first], [stride]))
            return
        assert not isinstance(stride, Index)
        assert is_one(stride)
        self.body.store_row(value, place.moved(block.first), block)
