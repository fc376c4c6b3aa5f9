"""Loop nests, each a function of its own: equal nests are one, in all programs of a process."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, final

from tg_numba.text import WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.link.values import Array
    from tg.types.lengths import Length
    from tg_numba.function import GraphFunction

INDENT = "    "
NAME: Final = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
OWN: Final = re.compile(r"_[ekp]\d+")  # names that a nest gives


@final
class Nest:
    """A function in the making. Lines may use any names of the function around, which become parameters."""

    def __init__(self, function: GraphFunction) -> None:
        self.function = function
        self.lines: list[str] = []
        self._depth = 0
        self._count = 0

    def line(self, text: str) -> None:
        """Add a line at the depth reached."""
        self.lines.append(INDENT * self._depth + text)

    def open(self, text: str) -> None:
        """Add a line that opens a block."""
        self.line(text + ":")
        self._depth += 1

    def close(self, count: int = 1) -> None:
        """Close blocks."""
        self._depth -= count

    def fresh(self, letter: str) -> str:
        """A name that nothing else has."""
        self._count += 1
        return f"_{letter}{self._count}"

    def local(self, expression: str, letter: str = "e") -> str:
        """A local that holds the value of an expression; its name."""
        name = self.fresh(letter)
        self.line(f"{name} = {expression}")
        return name

    def length(self, length: int | Length) -> str:
        """The text of a length: a number, or a name that is known before the nest."""
        return self.function.length(length)

    def loop(self, length: int | Length) -> str:
        """Open a loop over an axis; the name of the index."""
        name = self.fresh("k")
        self.open(f"for {name} in range({self.length(length)})")
        return name

    def loops(self, lengths: Sequence[int | Length]) -> list[str]:
        """Open nested loops over axes; the names of the indices."""
        return [self.loop(n) for n in lengths]

    def offset(self, indices: Sequence[str], strides: Sequence[int | Length]) -> str:
        """The number of elements to a position."""
        steps = [self.step(i, s) for i, s in zip(indices, strides, strict=True)]
        return " + ".join(s for s in steps if s != "0") or "0"

    def step(self, index: str, stride: int | Length) -> str:
        """Index * stride, short where the stride is 0 or 1."""
        if type(stride) is int and stride in (0, 1):
            return index if stride else "0"
        return f"{index} * {self.length(stride)}"

    def place(self, pointer: str, indices: Sequence[str], strides: Sequence[int | Length]) -> str:
        """The pointer moved to a position: a name."""
        offset = self.offset(indices, strides)
        return pointer if offset == "0" else self.local(f"shift({pointer}, {offset})", "p")

    def read(self, dtype: str, pointer: str, offset: str = "0") -> str:
        """The expression of an element that is read."""
        element = f"{pointer}[{offset}]"
        return f"{element} != 0" if dtype == "bool" else element

    def at(self, array: Array, indices: Sequence[str]) -> str:
        """The expression of an element of an array that is read."""
        return self.read(array.dtype, array.pointer, self.offset(indices, array.strides))

    def word(self, dtype: str) -> str:
        """The word for the element of a dtype in memory."""
        return WORDS[dtype]

    def finish(self, result: str = "0") -> tuple[str, list[str], list[str]]:
        """The text of the function, the arguments of its one call, and the functions that it uses.

        Args:
            result: the expression that it returns.
        """
        body = "\n".join((*self.lines, f"return {result}"))
        names = dict.fromkeys(NAME.findall(body))
        used = [name for name in names if name in self.function.unit.functions]
        arguments = [n for n in names if not OWN.fullmatch(n) and n not in used and n not in self.function.unit.known]
        renamed = {name: f"a{k}" for k, name in enumerate(arguments)}
        body = NAME.sub(lambda m: renamed.get(m[0], m[0].removeprefix("_")), body)
        inside = "\n".join(INDENT + line for line in body.split("\n"))
        return f"def loop({', '.join(renamed.values())}):\n{inside}\n", arguments, used
