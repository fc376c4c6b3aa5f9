"""Arguments in tables: many numbers, and many places in the memory of a tile, are not handed to a loop one by one.

The function of a graph is in one piece, and of calls with a hundred arguments each compilers take longer than of loops.
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Final

from tg_native.loops.costs import MANY_ARGUMENTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg_native.plan.values import Slot

NUMBERS: Final = {"float64": "doubles", "float32": "singles"}  # of these dtypes numbers go into tables of these names


class Tables(abc.ABC):
    """The arguments of a loop, in a printer's words."""

    def gather(self, operands: Sequence[str], slots: Mapping[str, Slot], numbers: Mapping[int, str]) -> None:
        """Hand over in tables what is in tables faster; what was an argument is a value that the loop begins with.

        Args:
            operands: what the loop is called with.
            slots: operands that are places in the memory of a tile.
            numbers: the arguments that are numbers, and their dtypes.
        """
        places = {k: slots[operand] for k, operand in enumerate(operands) if operand in slots}
        if len(places) + len(numbers) < MANY_ARGUMENTS:
            return
        self.keep([k for k in range(len(operands)) if k not in places and k not in numbers])
        bases: dict[str, str] = {}
        for slot in places.values():
            if slot.base not in bases:
                bases[slot.base] = self.add_base(f"m{len(bases)}", slot)
        if places:
            at = self.add_table("at", "int64", [str(slot.offset) for slot in places.values()])
            for j, (k, slot) in enumerate(places.items()):
                self.begin_with_place(k, slot, bases[slot.base], (at, j))
        for dtype, name in NUMBERS.items():
            own = [k for k, number in numbers.items() if number == dtype]
            if own:
                table = self.add_table(name, dtype, [operands[k] for k in own])
                for j, k in enumerate(own):
                    self.begin_with_number(k, dtype, (table, j))

    @abc.abstractmethod
    def keep(self, arguments: Sequence[int]) -> None:
        """Leave some arguments, by their numbers, and no others."""

    @abc.abstractmethod
    def add_base(self, name: str, slot: Slot) -> str:
        """Add the pointer behind which a slot is as an argument; what it is called in the loop."""

    @abc.abstractmethod
    def add_table(self, name: str, dtype: str, elements: Sequence[str]) -> str:
        """Add a table as an argument; what it is called in the loop."""

    @abc.abstractmethod
    def begin_with_place(self, argument: int, slot: Slot, base: str, offset: tuple[str, int]) -> None:
        """Let what was an argument be a place behind a base; its offset is an element of a table."""

    @abc.abstractmethod
    def begin_with_number(self, argument: int, dtype: str, element: tuple[str, int]) -> None:
        """Let what was an argument be an element of a table."""
