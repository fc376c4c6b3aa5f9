"""A loop in the making: a C function of its own, so that `restrict` holds and equal ones are one."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tg.backend import Length, is_complex
from tg_c.abreast import CONST, Width
from tg_c.body import SHARED
from tg_c.division import BEGIN
from tg_c.machine import vector_bytes
from tg_c.routine import Routine
from tg_c.text import INDENT
from tg_native.kernels.dtypes import PARTS, WORDS, is_half, working
from tg_native.kernels.index import Index, Pointer, index
from tg_native.kernels.lanes import Lanes, Pair
from tg_native.loops import kernel as loops
from tg_native.loops.kernel import MOST, Share, Wanted, lanes_for
from tg_native.loops.tables import NUMBERS, Tables
from tg_native.plan.values import Scalar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg_c.division import Division
    from tg_c.function import GraphFunction
    from tg_native.kernels.lanes import Elements
    from tg_native.plan.values import Array, Slot


def width_for(dtypes: Iterable[str], vectors: int, length: int | Length) -> Width:
    """As many lanes as some vectors have for the widest dtype, and no more than a length that is known.

    Halves are computed with in float32: vectors of these go abreast.
    """
    every = list(dtypes)
    lanes = lanes_for(vector_bytes(), every, vectors, length)
    return Width(lanes, lanes_for(vector_bytes(), map(working, every), 1, lanes) if lanes else 1)


@final
class Kernel(loops.Kernel, Tables):
    """Writes one function: its parameters have canonical names, and what it is called with is gathered beside them."""

    body: Routine

    def __init__(
        self, function: GraphFunction, dtypes: Iterable[str] = (), vectors: int = 1, length: int | Length = MOST
    ) -> None:
        super().__init__()
        self.function = function
        self.parameters: list[str] = []
        self.arguments: list[str] = []
        self.division: Division | None = None
        self._known: dict[object, str] = {}
        self._numbers: dict[int, str] = {}  # the arguments that are numbers, and their dtypes
        self._heads: list[str] = []  # the parameters before tables took some
        self._begin: dict[int, str] = {}  # what the body begins with, by the arguments that were there
        self.body = Routine(function.unit.prelude, width_for(dtypes, vectors, length))

    def lanes_for(self, dtypes: Iterable[str], vectors: int, length: int | Length) -> Width:
        return width_for(dtypes, vectors, length)

    @property
    def is_told(self) -> bool:
        return len(self.wanted) == len(self.parameters)

    def read(self, array: Array) -> Pointer:
        name = self._parameter("x", f"{CONST}{WORDS[array.dtype]} *{self._restrict(array)}", array.pointer)
        self.wanted.append(Wanted("read", array))
        return Pointer(self.body, array.dtype, name, CONST)

    def write(self, array: Array) -> Pointer:
        name = self._parameter("y", f"{WORDS[array.dtype]} *{self._restrict(array)}", array.pointer)
        self.wanted.append(Wanted("write", array))
        return Pointer(self.body, array.dtype, name)

    def _restrict(self, array: Array) -> str:
        """The qualifier of a pointer into an array: none if it is an input, or the output that may overwrite it."""
        return "" if array.pointer in self.function.overwriting.pointers else "restrict "

    def _parameter(self, letter: str, kind: str, argument: str, key: object = None) -> str:
        if key is not None and key in self._known:
            return self._known[key]
        name = f"{letter}{len(self.parameters)}"
        self.parameters.append(kind + name)
        self.body.kinds[name] = kind.replace("restrict ", "")
        self.arguments.append(argument)
        if key is not None:
            self._known[key] = name
        return name

    def length(self, length: int | Length, role: object = None) -> Index:
        if type(length) is int and role is None:
            return index(self.body, length)
        count = len(self.parameters)
        key = role if role is not None else length.key if type(length) is Length else length
        name = self._parameter("n", "i64 ", self.function.length(length), ("length", key))
        if len(self.parameters) > count:
            self.wanted.append(Wanted("length", length, role))
        return Index(Lanes(self.body, "int64", name))

    def scalar(self, scalar: Scalar) -> Elements:
        text, count = scalar.text, len(self.parameters)
        if scalar.operand is not None:
            argument, text = text, self._parameter("v", f"{WORDS[scalar.dtype]} ", text, ("operand", scalar.operand))
            if len(self.parameters) > count and not argument.isidentifier() and scalar.dtype in NUMBERS:
                self._numbers[count] = scalar.dtype
        elif text.isidentifier():  # else it is a literal
            text = self._parameter("v", f"{WORDS[scalar.dtype]} ", text, ("value", text))
        if len(self.parameters) > count:
            self.wanted.append(Wanted("scalar", scalar))
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

    # --- arguments in tables -----------------------------------------------------------------------------------------

    def keep(self, arguments: Sequence[int]) -> None:
        self._heads, self.parameters = self.parameters, [self.parameters[k] for k in arguments]
        self.arguments = [self.arguments[k] for k in arguments]

    def add_base(self, name: str, slot: Slot) -> str:
        self.parameters.append(f"{WORDS[slot.dtype]} *{name}")
        self.arguments.append(slot.base)
        return name

    def add_table(self, name: str, dtype: str, elements: Sequence[str]) -> str:
        self.parameters.append(f"const {WORDS[dtype]} *{name}")
        self.arguments.append(self.function.unit.table(dtype, ", ".join(elements)))
        return name

    def begin_with_place(self, argument: int, slot: Slot, base: str, offset: tuple[str, int]) -> None:
        table, number = offset
        self._begin[argument] = f"{self._heads[argument]} = {base} + {table}[{number}];"

    def begin_with_number(self, argument: int, dtype: str, element: tuple[str, int]) -> None:
        table, number = element
        self._begin[argument] = f"const {self._heads[argument]} = {table}[{number}];"

    # --- the function ------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Put what is in tables faster into tables, after all has been written."""
        self.gather(self.arguments, self.function.slots, self._numbers)

    def text(self) -> str:
        """The function without its name: parameters and block."""
        more = () if self.division is None else (BEGIN,)
        begin = (INDENT + self._begin[k] for k in sorted(self._begin))
        lines = "\n".join((*begin, *self.body.text()))
        return f"({', '.join((*self.parameters, *more))}) {{\n{lines}\n}}"

    def divided(self, division: Division, most: int, threads: int) -> None:
        """Have a call run one part of the loop."""
        self.division = division
        low, high, part, slot = (Index(Lanes(self.body, "int64", name)) for name in ("lo", "hi", "part", "slot"))
        self.share = Share(low, high, part, slot, Scalar("int64", division.parts), most, threads)
