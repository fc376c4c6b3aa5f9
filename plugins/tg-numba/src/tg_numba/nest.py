"""What LLVM's text is not written for: loop nests in Python that Numba compiles, each a function of its own.

The function of a graph calls them as it calls loops. Equal nests are one, in all programs of a process.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, final

from tg_native.kernels.dtypes import WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.types.lengths import Length
    from tg_native.plan.values import Array
    from tg_numba.function import GraphFunction

INDENT = "    "
NAME: Final = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
LENGTH: Final = "n"  # the kind of an argument that is an int64; that of a pointer is the word for its elements


class Python(NamedTuple):
    """A finished nest: its text, the functions of rules that it names, and the kinds of its arguments."""

    text: str
    used: tuple[str, ...]
    kinds: tuple[str, ...]


@final
class Nest:
    """A function in the making. What it uses of the function around becomes an argument."""

    def __init__(self, function: GraphFunction) -> None:
        self.function = function
        self.lines: list[str] = []
        self.arguments: dict[tuple[str, str], str] = {}  # (kind, operand) -> name here
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
        return f"{letter}{self._count}"

    def local(self, expression: str, letter: str = "e") -> str:
        """A local that holds the value of an expression; its name."""
        name = self.fresh(letter)
        self.line(f"{name} = {expression}")
        return name

    # --- arguments ---------------------------------------------------------------------------------------------------

    def _argument(self, kind: str, operand: str) -> str:
        return self.arguments.setdefault((kind, operand), f"a{len(self.arguments)}")

    def pointer(self, array: Array) -> str:
        """The name of the pointer of an array."""
        return self._argument(WORDS[array.dtype], array.pointer)

    def length(self, length: int | Length) -> str:
        """The text of a length: a number, or the name of an argument."""
        operand = self.function.length(length)
        if type(length) is int:
            return f"({operand})" if length < 0 else operand
        return self._argument(LENGTH, operand)

    # --- loops and elements ------------------------------------------------------------------------------------------

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

    def finish(self, result: str = "0") -> tuple[Python, list[str]]:
        """The function, and the operands that it is called with.

        Args:
            result: the expression of the int64 that it returns.
        """
        body = "\n".join((*self.lines, f"return {result}"))
        used = (name for name in dict.fromkeys(NAME.findall(body)) if name in self.function.unit.functions)
        inside = "\n".join(INDENT + line for line in body.split("\n"))
        text = f"def loop({', '.join(self.arguments.values())}):\n{inside}\n"
        kinds = tuple(kind for kind, _ in self.arguments)
        return Python(text, tuple(used), kinds), [operand for _, operand in self.arguments]
