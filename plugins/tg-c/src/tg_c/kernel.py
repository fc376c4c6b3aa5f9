"""A loop in the making: a C function of its own, so that `restrict` holds and equal ones are one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from tg.backend import Length, is_complex
from tg_c.body import SHARED
from tg_c.division import BEGIN
from tg_c.machine import vector_bytes
from tg_c.routine import CONST, Routine, Width
from tg_c.text import INDENT
from tg_native.kernels.dtypes import PARTS, WORDS, is_half, working
from tg_native.kernels.index import Index, Pointer, index
from tg_native.kernels.lanes import Lanes, Pair
from tg_native.loops import kernel as loops
from tg_native.loops.costs import MANY_ARGUMENTS
from tg_native.loops.kernel import MOST, Share, lanes_for
from tg_native.plan.values import Scalar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tg.backend import Length
    from tg_c.division import Division
    from tg_c.function import GraphFunction
    from tg_native.kernels.lanes import Elements
    from tg_native.plan.values import Array

NUMBERS: Final = {"float64": "doubles", "float32": "singles"}  # what tables of them are called


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
        self._numbers: list[int] = []  # the places of arguments that are numbers
        self._begin: list[str] = []  # what comes before the first line of the body
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
        if scalar.operand is not None:
            count = len(self.parameters)
            argument, text = text, self._parameter("v", f"{WORDS[scalar.dtype]} ", text, ("operand", scalar.operand))
            if len(self.parameters) > count and not argument.isidentifier():
                self._numbers.append(count)
        elif text.isidentifier():  # else it is a literal
            text = self._parameter("v", f"{WORDS[scalar.dtype]} ", text, ("value", text))
        if is_complex(scalar.dtype):
            part = PARTS[scalar.dtype]
            return Pair(*(Lanes(self.body, part, f"__{which}__ {text}", SHARED) for which in ("real", "imag")))
        if is_half(scalar.dtype) and self.body.lanes:
            text = f"{text}.bits"
        return Lanes(self.body, scalar.dtype, text, SHARED)

    def named(self) -> dict[str, str]:
        """The arguments by the names of the parameters."""
        names = (text.split()[-1].lstrip("*") for text in self.parameters)
        return dict(zip(names, self.arguments, strict=True))

    def gather(self) -> None:
        """Have many numbers, and many places in the memory of a tile, handed over in tables, not one by one.

        The function of the graph is in one piece, and of calls with a hundred arguments each the compiler takes longer
        than of the loops.
        """
        slots = {k: slot for k, a in enumerate(self.arguments) if (slot := self.function.slots.get(a)) is not None}
        if len(slots) + len(self._numbers) < MANY_ARGUMENTS:
            return
        unit, begin = self.function.unit, dict[int, str]()
        left = [k for k in range(len(self.parameters)) if k not in slots and k not in self._numbers]
        parameters, arguments = [self.parameters[k] for k in left], [self.arguments[k] for k in left]
        bases: dict[str, str] = {}
        for j, (k, (base, _)) in enumerate(slots.items()):
            word = self.parameters[k].removeprefix(CONST).split()[0]
            if base not in bases:
                bases[base] = f"m{len(bases)}"
                parameters.append(f"{word} *{bases[base]}")
                arguments.append(base)
            begin[k] = f"{self.parameters[k]} = {bases[base]} + at[{j}];"
        if slots:
            parameters.append("const i64 *at")
            arguments.append(unit.table("int64", ", ".join(str(offset) for _, offset in slots.values())))
        for dtype, name in NUMBERS.items():
            own = [k for k in self._numbers if self.parameters[k].startswith(f"{WORDS[dtype]} ")]
            if own:
                parameters.append(f"const {WORDS[dtype]} *{name}")
                arguments.append(unit.table(dtype, ", ".join(self.arguments[k] for k in own)))
            begin.update((k, f"const {self.parameters[k]} = {name}[{j}];") for j, k in enumerate(own))
        self.parameters, self.arguments = parameters, arguments
        self._begin = [INDENT + begin[k] for k in sorted(begin)]

    def text(self) -> str:
        """The function without its name: parameters and block."""
        more = () if self.division is None else (BEGIN,)
        lines = "\n".join((*self._begin, *self.body.text()))
        return f"({', '.join((*self.parameters, *more))}) {{\n{lines}\n}}"

    def divided(self, division: Division, most: int, threads: int) -> None:
        """Have a call run one part of the loop."""
        self.division = division
        low, high, part, slot = (Index(Lanes(self.body, "int64", name)) for name in ("lo", "hi", "part", "slot"))
        self.share = Share(low, high, part, slot, Scalar("int64", division.parts), most, threads)
