"""Loops as C functions of their own, so that `restrict` holds and equal ones are one."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tg.types.lengths import Length, key
from tg_c.division import BEGIN
from tg_c.text import integer
from tg_native.kernels.dtypes import WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from tg_c.division import Division
    from tg_native.plan.values import Array, Scalar

INDENT = "  "


@final
class Nest:
    """A function in the making: its parameters under canonical names, the arguments of its one call, its lines."""

    def __init__(self, length_text: Callable[[int | Length], str], shared: Collection[str] = ()) -> None:
        """Start one.

        Args:
            length_text: how the caller writes a length.
            shared: pointers of the caller that may be equal: to an input, and to the output that overwrites it.
        """
        self._shared = shared
        self.parameters: list[str] = []
        self.arguments: list[str] = []
        self.lines: list[str] = []
        self.division: Division | None = None
        self._depth = 1
        self._length_text = length_text
        self._known: dict[object, str] = {}

    def read(self, array: Array) -> str:
        """The name of an array that is read."""
        return self._parameter("x", f"const {WORDS[array.dtype]} *{self.restrict(array)}", array.pointer)

    def write(self, array: Array) -> str:
        """The name of an array that is written, which no other parameter overlaps, shared ones apart."""
        return self._parameter("y", f"{WORDS[array.dtype]} *{self.restrict(array)}", array.pointer)

    def restrict(self, array: Array) -> str:
        """The qualifier of a pointer into an array."""
        return "" if array.pointer in self._shared else "restrict "

    def value(self, scalar: Scalar) -> str:
        """The name of a scalar, or itself if it is a literal."""
        if not scalar.text.isidentifier():
            return scalar.text
        return self._parameter("v", f"{WORDS[scalar.dtype]} ", scalar.text, ("value", scalar.text))

    def length(self, length: int | Length) -> str:
        """The text of a length: a number, or the name of a parameter."""
        if type(length) is not Length:
            return integer(length)
        return self._parameter("n", "i64 ", self._length_text(length), ("length", key(length)))

    def _parameter(self, letter: str, kind: str, argument: str, known: object = None) -> str:
        if known is not None and known in self._known:
            return self._known[known]
        name = f"{letter}{len(self.parameters)}"
        self.parameters.append(kind + name)
        self.arguments.append(argument)
        if known is not None:
            self._known[known] = name
        return name

    def line(self, text: str) -> None:
        """Add a line at the depth reached."""
        self.lines.append(INDENT * self._depth + text)

    def open(self, text: str) -> None:
        """Add a line that opens a block."""
        self.line(text + " {")
        self._depth += 1

    def close(self, count: int = 1) -> None:
        """Close blocks."""
        for _ in range(count):
            self._depth -= 1
            self.line("}")

    def loop(self, index: str, length: int | Length) -> None:
        """Open a loop over an axis."""
        self.open(f"for (i64 {index} = 0; {index} < {self.length(length)}; {index}++)")

    def loop_between(self, index: str, start: str, stop: str, step: int = 1) -> None:
        """Open a loop over a part of an axis, whose ends are texts."""
        self.open(f"for (i64 {index} = {start}; {index} < {stop}; {index} += {step})")

    def loops(self, lengths: Sequence[int | Length], letter: str = "i", *, divided: bool = False) -> list[str]:
        """Open nested loops over axes, the first over one part if it is divided; the names of the indices."""
        names = [f"{letter}{k}" for k in range(len(lengths))]
        for k, (name, n) in enumerate(zip(names, lengths, strict=True)):
            if divided and k == 0:
                self.loop_between(name, "lo", "hi")
            else:
                self.loop(name, n)
        return names

    def place(self, pointer: str, indices: Sequence[str], strides: Sequence[int | Length]) -> str:
        """The pointer moved to a position."""
        steps = [self.step(i, s) for i, s in zip(indices, strides, strict=True)]
        return " + ".join([pointer, *(s for s in steps if s != "0")])

    def step(self, index: str, stride: int | Length) -> str:
        """Index * stride, short where the stride is 0 or 1."""
        if type(stride) is int and stride in (0, 1):
            return index if stride else "0"
        return f"{index} * {self.length(stride)}"

    def at(self, pointer: str, indices: Sequence[str], strides: Sequence[int | Length]) -> str:
        """An element of an array."""
        steps = [self.step(i, s) for i, s in zip(indices, strides, strict=True)]
        return f"{pointer}[{' + '.join(s for s in steps if s != '0') or '0'}]"

    @property
    def body(self) -> str:
        """The function without its name: parameters and block."""
        more = () if self.division is None else (BEGIN,)
        return f"({', '.join((*self.parameters, *more))}) {{\n" + "\n".join(self.lines) + "\n}"
