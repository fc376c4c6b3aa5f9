"""Functions with memory, branches and loops: what loops over arrays are written to, kernels inside of them."""

from __future__ import annotations

import abc
import contextlib
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

from tg_native.kernels.body import Body

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_native.kernels.index import Condition, Index, Pointer
    from tg_native.kernels.lanes import Elements, Lanes


class Block(NamedTuple):
    """Some elements along an axis, one for each lane.

    Args:
        first: the index of the first.
        inside: how many are inside of the axis, where not all are.
        whole: whether all are after all, where that is asked at each block.
    """

    first: Index
    inside: Index | None = None
    whole: Condition | None = None

    @property
    def mask(self) -> Lanes | None:
        """Mask of the lanes that are inside of the axis; None if all are. It is computed where it is asked for."""
        return None if self.inside is None else self.first.body.first_lanes(self.inside)


class Variable(abc.ABC):
    """Memory of the running function for values of a real dtype, as many lanes each as the body had."""

    @abc.abstractmethod
    def get(self, at: Index | None = None) -> Lanes:
        """The value, or that at a number from 0 on."""

    @abc.abstractmethod
    def set(self, value: Lanes, at: Index | None = None) -> None:
        """Change the value, or that at a number."""


Operand: TypeAlias = "Variable | Index | Lanes | Pointer"
"""What a subroutine is given."""


class Routine(Body):
    """The inside of a function of memory, whose blocks may be repeated or left out."""

    asks_whole: ClassVar[bool] = False
    """Whether blocks that may be partial are asked whether they are, so that long steps need not be written twice."""

    shares_from: ClassVar[int] = 1
    """From how many uses in a function on `subroutine` is asked, rather than written in place."""

    long_abreast: ClassVar[int] = 1
    """Vectors for which a long step in place is written at once where processors have 16 registers for them."""

    # --- lanes -----------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def halves(self, value: Lanes) -> tuple[Lanes, Lanes]:
        """The first half of the lanes, and the second: each for a body of half as many."""

    @abc.abstractmethod
    def interleaved(self, x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
        """The lanes of two vectors in turn: those of the first halves, then those of the second."""

    def width_of(self, dtype: str) -> int:
        """As many lanes as now, in vectors of a dtype: what a printer that has vectors of one width is told by `of`."""
        return self.lanes

    def regrouped(self, value: Lanes) -> Lanes:
        """The lanes of a value in vectors of the width that the body has now."""
        return value

    @abc.abstractmethod
    def everywhere(self, condition: Lanes) -> Condition:
        """Whether a condition holds in all lanes."""

    # --- numbers that all lanes share ------------------------------------------------------------------------------

    @abc.abstractmethod
    def extreme(self, x: Index, y: Index, *, largest: bool) -> Index:
        """The larger or the lesser of two numbers."""

    @abc.abstractmethod
    def bits_of(self, x: Index, *, trailing: bool) -> Index:
        """Number of bits of a number, or of its last bits that are 0: `Index.length` and `trailing`."""

    @abc.abstractmethod
    def first_lanes(self, count: Index) -> Lanes:
        """The mask of as many lanes."""

    @abc.abstractmethod
    def own_numbers(self) -> Lanes:
        """The number of each lane, from 0 on, as int64."""

    # --- branches and loops ----------------------------------------------------------------------------------------

    @abc.abstractmethod
    def loop(self, start: Index | int, end: Index | int, step: int = 1) -> contextlib.AbstractContextManager[Index]:
        """A loop from `start` to before `end`; gives the index."""

    @abc.abstractmethod
    def fold(
        self,
        start: Index | int,
        end: Index | int,
        step: int,
        first: Sequence[Lanes],
        write: Callable[..., Sequence[Lanes]],
    ) -> list[Lanes]:
        """A loop that hands values on: `write` makes, of the index and the last ones, the next ones.

        Args:
            first: the values to begin with, which are the result if there is no round.
        """

    def vector_by_vector(self) -> contextlib.AbstractContextManager[None]:
        """Context whose statements are written once in a round: no vector reads of memory what another writes there."""
        return contextlib.nullcontext()

    @abc.abstractmethod
    def while_loop(
        self, first: Sequence[Lanes], holds: Callable[..., Condition], write: Callable[..., Sequence[Lanes]]
    ) -> list[Lanes]:
        """A loop that hands values on for as long as a condition of them holds; the values of which it does not.

        Args:
            first: the values to begin with.
            holds: the condition, of the last ones.
            write: the next ones, of the last ones; it may use what `holds` has computed.
        """

    @abc.abstractmethod
    def when(self, condition: Condition) -> contextlib.AbstractContextManager[None]:
        """Context whose statements are done only if a condition holds."""

    @abc.abstractmethod
    def either(
        self, condition: Condition, then: Callable[[], Sequence[Lanes]], otherwise: Callable[[], Sequence[Lanes]]
    ) -> list[Lanes]:
        """One of two pieces of code, by a condition; the values that they give, of the same dtypes."""

    @abc.abstractmethod
    def interrupted(self, left: Pointer, second: Pointer) -> Condition:
        """Whether an interrupt waits for the call to end, or another thread has found one, as an int64 at `left` says.

        Python is asked in another second than `second` holds.
        """

    def subroutine(self, name: str, write: Callable[..., Lanes | None], operands: Sequence[Operand]) -> Lanes | None:
        """The value of a function of its own, if it has one, which is written once for a name and these lanes.

        In place where compilers know what is worth a function.
        """
        return write(*operands)

    def outlined(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Context whose statements are a function of their own, one for equal ones, where compilers have less to do so.

        It computes no value that is used behind it: what it finds is in memory.
        """
        return contextlib.nullcontext()

    # --- memory ------------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def variable(self, dtype: str, count: int = 1) -> Variable:
        """Memory of the running function for values of a real dtype; they are not initialised."""

    @abc.abstractmethod
    def cell(self, dtype: str) -> Pointer:
        """A place for one element, in memory of the running function; it is 0."""

    @abc.abstractmethod
    def shifted(self, pointer: Pointer, offset: Index) -> Pointer:
        """The place some elements on."""

    @abc.abstractmethod
    def nearer(self, condition: Condition, x: Pointer, y: Pointer) -> Pointer:
        """The first place where a condition holds, else the second."""

    @abc.abstractmethod
    def held(self, pointer: Pointer) -> Pointer:
        """The same place, by an address that is computed here: in a loop it is not added up again of its terms."""

    @abc.abstractmethod
    def parts_at(self, pointer: Pointer) -> Pointer:
        """The place of a complex number as that of its real part, which its imaginary part follows."""

    @abc.abstractmethod
    def load(self, pointer: Pointer) -> Elements:
        """One element in all lanes."""

    @abc.abstractmethod
    def load_row(self, pointer: Pointer, block: Block) -> Elements:
        """The elements of a block, which follow one another; what is outside is not read, and is some number."""

    @abc.abstractmethod
    def load_apart(self, pointer: Pointer, stride: Index, block: Block) -> Elements:
        """The elements of a block, at a distance, from the one at index 0 on; outside it has some number."""

    @abc.abstractmethod
    def gathered(self, pointer: Pointer, offsets: Lanes, *, one_by_one: bool = False) -> Elements:
        """The elements at some offsets: by an instruction, if there is one, or one by one."""

    @abc.abstractmethod
    def prefetch(self, pointer: Pointer) -> None:
        """Have the caches fetch the line that an element lies in, without waiting for it."""

    @abc.abstractmethod
    def store(self, value: Elements, pointer: Pointer) -> None:
        """Write the first lane."""

    @abc.abstractmethod
    def store_row(self, value: Elements, pointer: Pointer, block: Block) -> None:
        """Write the lanes of a block that are inside, one after the other."""
