"""A loop in the making: a C function of its own, so that `restrict` holds and equal ones are one."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tg.backend import Length, is_complex
from tg_c.body import SHARED
from tg_c.division import BEGIN
from tg_c.machine import vector_bytes
from tg_c.routine import CONST, Routine, Width
from tg_native.kernels.dtypes import PARTS, WORDS, is_half, working
from tg_native.kernels.index import Index, Pointer, index
from tg_native.kernels.lanes import Lanes, Pair
from tg_native.loops import kernel as loops
from tg_native.loops.kernel import MOST, Share, lanes_for
from tg_native.plan.values import Scalar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tg.backend import Length
    from tg_c.division import Division
    from tg_c.function import GraphFunction
    from tg_native.kernels.lanes import Elements
    from tg_native.plan.values import Array


def width_for(dtypes: Iterable[str], vectors: int, length: int | Length) -> Width:
    """As many lanes as some vectors have for the widest dtype, and no more than a length that is known.

    Halves are computed with in float32: vectors of these go abreast.
    """
    every = list(dtypes)
    lanes = lanes_for(vector_bytes(), every, vectors, length)
    return Width(lanes, lanes_for(vector_bytes(), map(working, every), 1, lanes) if lanes else 1)


@final
class Kernel(loops.Kernel):
    """Writes one function: its parameters have canonical names, and what it is called with is gathered beside them."""

    body: Routine

    def __init__(
        self, function: GraphFunction, dtypes: Iterable[str] = (), vectors: int = 1, length: int | Length = MOST
    ) -> None:
        self.function = function
        self.parameters: list[str] = []
        self.arguments: list[str] = []
        self.division: Division | None = None
        self._known: dict[object, str] = {}
        self.body = Routine(function.unit.prelude, width_for(dtypes, vectors, length))

    def lanes_for(self, dtypes: Iterable[str], vectors: int, length: int | Length) -> Width:
        return width_for(dtypes, vectors, length)

    def read(self, array: Array) -> Pointer:
        name = self._parameter("x", f"{CONST}{WORDS[array.dtype]} *{self._restrict(array)}", array.pointer)
        return Pointer(self.body, array.dtype, name, CONST)

    def write(self, array: Array) -> Pointer:
        name = self._parameter("y", f"{WORDS[array.dtype]} *{self._restrict(array)}", array.pointer)
        return Pointer(self.body, array.dtype, name)

    def _restrict(self, array: Array) -> str:
        """The qualifier of a pointer into an array: none if it is an input, or the output that may overwrite it."""
        return "" if array.pointer in self.function.overwriting.pointers else "restrict "

    def _parameter(self, letter: str, kind: str, argument: str, known: object = None) -> str:
        if known is not None and known in self._known:
            return self._known[known]
        name = f"{letter}{len(self.parameters)}"
        self.parameters.append(kind + name)
        self.arguments.append(argument)
        if known is not None:
            self._known[known] = name
        return name

    def length(self, length: int | Length) -> Index:
        if isinstance(length, int):
            return index(self.body, length)
        name = self._parameter("n", "i64 ", self.function.length(length), ("length", length.key))
        return Index(Lanes(self.body, "int64", name))

    def scalar(self, scalar: Scalar) -> Elements:
        text = scalar.text
        if text.isidentifier():  # else it is a literal
            text = self._parameter("v", f"{WORDS[scalar.dtype]} ", text, ("value", text))
        if is_complex(scalar.dtype):
            part = PARTS[scalar.dtype]
            return Pair(*(Lanes(self.body, part, f"__{which}__ {text}", SHARED) for which in ("real", "imag")))
        if is_half(scalar.dtype) and self.body.lanes:
            text = f"{text}.bits"
        return Lanes(self.body, scalar.dtype, text, SHARED)

    def text(self) -> str:
        """The function without its name: parameters and block."""
        more = () if self.division is None else (BEGIN,)
        lines = "\n".join(self.body.text())
        return f"({', '.join((*self.parameters, *more))}) {{\n{lines}\n}}"

    def divided(self, division: Division, most: int, threads: int) -> None:
        """Have a call run one part of the loop."""
        self.division = division
        low, high, part, slot = (Index(Lanes(self.body, "int64", name)) for name in ("lo", "hi", "part", "slot"))
        self.share = Share(low, high, part, slot, Scalar("int64", division.parts), most, threads)
