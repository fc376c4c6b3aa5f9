"""A loop in the making: a function of its own, and how the function of a graph calls it."""

from __future__ import annotations

import abc
import contextlib
from typing import TYPE_CHECKING, Final

from tg_native.kernels.dtypes import PARTS, item_size
from tg_native.kernels.index import index
from tg_native.kernels.routine import Block
from tg_native.plan.values import is_one, is_zero

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tg.types.lengths import Length
    from tg_native.kernels.index import Index, Pointer
    from tg_native.kernels.lanes import Elements
    from tg_native.kernels.routine import Routine
    from tg_native.plan.values import Array, Scalar

MOST: Final = 64  # lanes


def lanes_for(vector_bytes: int, dtypes: Iterable[str], vectors: int, length: int | Length) -> int:
    """As many lanes as some vectors have for the widest dtype, and no more than a length that is known."""
    widest = max((item_size(PARTS.get(d, d)) for d in dtypes), default=0)
    lanes = min(vectors * vector_bytes // widest, MOST) if widest else 0
    while type(length) is int and lanes >= 2 * max(length, 2):
        lanes //= 2
    return lanes


class Kernel(abc.ABC):
    """Writes one function to `body`; arguments are gathered as they are needed."""

    body: Routine

    @abc.abstractmethod
    def read(self, array: Array) -> Pointer:
        """The place of an array that is read."""

    @abc.abstractmethod
    def write(self, array: Array) -> Pointer:
        """The place of an array that is written and that nothing else reaches."""

    @abc.abstractmethod
    def length(self, length: int | Length) -> Index:
        """A length, or the distance of elements."""

    @abc.abstractmethod
    def scalar(self, scalar: Scalar) -> Elements:
        """A scalar of the function in all lanes."""

    def lanes_for(self, dtypes: Iterable[str], vectors: int, length: int | Length) -> int:
        """As many lanes as some vectors have for the widest dtype, and no more than a length that is known."""
        return lanes_for(self.body.machine.vector_bytes, dtypes, vectors, length)

    def offset(self, indices: Sequence[Index | int], strides: Sequence[int | Length]) -> Index:
        """The number of elements to a position."""
        total = index(self.body, 0)
        for at, stride in zip(indices, strides, strict=True):
            total = total + index(self.body, at) * self.length(stride)
        return total

    def moved(self, place: Pointer, indices: Sequence[Index | int], strides: Sequence[int | Length]) -> Pointer:
        """The place at a position."""
        return place.moved(self.offset(indices, strides))

    @contextlib.contextmanager
    def loops(self, lengths: Sequence[int | Length]) -> Iterator[list[Index]]:
        """Nested loops over axes; gives the indices."""
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(self.body.loop(0, self.length(n))) for n in lengths]

    def blocks(self, length: int | Length, write: Callable[[Block], None], *, twice: bool = False) -> None:
        """Run along an axis in blocks of lanes; `write` writes what is done with one block.

        Args:
            twice: full blocks have code of their own, apart from that for the last, partial one.
        """
        body, lanes = self.body, self.body.lanes
        n = self.length(length)
        if not lanes:
            with body.loop(0, n) as at:
                write(Block(at))
            return
        start = index(body, 0)
        if twice:
            start = n & -lanes
            with body.loop(0, start, lanes) as at:
                write(Block(at))
        if type(length) is int and twice and length % lanes == 0:
            return
        with body.loop(start, n, lanes) as at:
            write(self.partial(at, n))

    def partial(self, at: Index, length: Index) -> Block:
        """The block from an index on, of which some lanes may be outside."""
        count = (length - at).least(self.body.lanes)
        return Block(at, self.body.first_lanes(count), count)

    # --- elements ----------------------------------------------------------------------------------------------------

    def load(self, place: Pointer, stride: int | Length, block: Block) -> Elements:
        """The elements of a block; lanes outside get some number."""
        if is_zero(stride):
            return self.body.load(place)
        if not self.body.lanes:
            return self.body.load(self.moved(place, [block.first], [stride]))
        if is_one(stride):
            return self.body.load_row(place.moved(block.first), block)
        return self.body.load_apart(place, self.length(stride), block)

    def store(self, value: Elements, place: Pointer, stride: int | Length, block: Block) -> None:
        """Write the elements of a block: where they follow one another, or, without lanes, at any distance."""
        if not self.body.lanes:
            self.body.store(value, self.moved(place, [block.first], [stride]))
            return
        assert is_one(stride)
        self.body.store_row(value, place.moved(block.first), block)
