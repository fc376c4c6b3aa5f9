"""Text in LLVM's language: modules of functions, and the bodies of functions in the making.

A body computes some lanes at a time, or single elements; what has been computed once in a block is not computed again.
Rules and loops are written this way because Numba's own front end takes most of its time to compile, and because
vectors have no words in Python.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.backend import is_float, numpy_dtype
from tg_native.kernels.dtypes import PARTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ITEMS: Final[Mapping[str, str]] = {
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "i8",
    "uint16": "i16",
    "uint32": "i32",
    "uint64": "i64",
    "float16": "i16",
    "bfloat16": "i16",
    "float32": "float",
    "float64": "double",
}
"""LLVM's type of an element in a register; a half is its bits. Complex numbers are two elements."""

SHORT_NAMES: Final[Mapping[str, str]] = {"float": "f32", "double": "f64"}
"""LLVM's types as they stand in the names of its intrinsics, where that differs."""


def memory_item(dtype: str) -> str:
    """LLVM's type of an element in memory, of a complex one's parts; a bool is a byte."""
    return "i8" if dtype == "bool" else ITEMS[PARTS.get(dtype, dtype)]


def memory_cell(dtype: str) -> str:
    """LLVM's type of an element in memory."""
    return f"[2 x {memory_item(dtype)}]" if dtype in PARTS else memory_item(dtype)


def constant_text(value: Any, dtype: str) -> str:
    """A number of a real dtype as LLVM writes constants, exact."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtype in ("float16", "bfloat16"):
        return str(int(np.asarray(value, numpy_dtype(dtype)).view(np.uint16)))
    if is_float(dtype):
        with np.errstate(all="ignore"):
            wide = float(numpy_dtype(dtype).type(value))
        return f"0x{struct.pack('>d', wide).hex().upper()}"
    return str(int(value))


class Declaration(NamedTuple):
    """The types of a function that is somewhere else."""

    result: str
    arguments: tuple[str, ...]
    attributes: str


@final
class Module:
    """Declarations and definitions, each once."""

    __slots__ = ("_uses", "declared", "defined", "results")

    def __init__(self) -> None:
        self.declared: dict[str, Declaration] = {}
        self.defined: dict[str, str] = {}
        self.results: dict[str, str] = {}  # of subroutines: the dtypes, "" where there is none
        self._uses: dict[str, int] = {}

    def declare(self, name: str, result: str, arguments: Sequence[str], attributes: str = "nounwind") -> None:
        """Say that there is a function of this name."""
        self.declared.setdefault(name, Declaration(result, tuple(arguments), attributes))

    def define(self, name: str, text: str) -> None:
        """Add a function, unless there is one of this name."""
        self.defined.setdefault(name, text)

    def used(self, name: str, count: int) -> int:
        """Number of uses of something, after so many uses more."""
        self._uses[name] = self._uses.get(name, 0) + count
        return self._uses[name]

    def include(self, other: Module) -> None:
        """Add what another module has."""
        self.declared.update(other.declared)
        self.defined.update(other.defined)

    def declarations(self) -> dict[str, str]:
        """The texts of the declarations."""
        return {
            name: f"declare {d.result} @{name}({', '.join(d.arguments)}) {d.attributes}"
            for name, d in self.declared.items()
        }

    def text(self) -> str:
        """The whole module."""
        return "\n".join((*self.declarations().values(), *self.defined.values())) + "\n"


class Lines:
    """The text of a function of `module` that computes `lanes` elements at a time; 0 stands for single ones."""

    def __init__(self, module: Module, lanes: int = 0) -> None:
        self.module, self.lanes = module, lanes
        self.lines: list[str | None] = []  # None: one that was taken back
        self._frame: list[str] = []  # what comes before the first line
        self.label = "entry"  # of the block that lines are added to
        self.count = 0
        self.known: list[dict[str, str]] = [{}]  # of each block around: expressions and where their values are

    def kind(self, dtype: str) -> str:
        """The type of the elements of a dtype in a register."""
        return self.type(ITEMS[dtype])

    def type(self, item: str) -> str:
        """The type of some elements."""
        return f"<{self.lanes} x {item}>" if self.lanes else item

    def short(self, item: str) -> str:
        """`type` as it stands in the name of an intrinsic."""
        name = SHORT_NAMES.get(item, item)
        return f"v{self.lanes}{name}" if self.lanes else name

    def all(self, constant: str, item: str) -> str:
        """The operand that is a constant in all lanes."""
        return f"splat ({item} {constant})" if self.lanes else constant

    # --- instructions --------------------------------------------------------------------------------------------

    def fresh(self) -> str:
        """A name that nothing else has."""
        self.count += 1
        return f"%v{self.count}"

    def find(self, expression: str) -> str:
        """The name of the value of an expression that depends on nothing but its text."""
        for block in reversed(self.known):
            if expression in block:
                return block[expression]
        name = self.known[-1][expression] = self.made(expression)
        return name

    def made(self, expression: str) -> str:
        """The name of the value of an expression, computed here and now."""
        name = self.fresh()
        self.do(f"{name} = {expression}")
        return name

    def do(self, instruction: str) -> None:
        """Add an instruction."""
        self.lines.append(f"  {instruction}")

    def called(self, name: str, result: str, arguments: Sequence[tuple[str, str]], attributes: str = "") -> str:
        """The value of a function that has no effects, for (type, operand) pairs."""
        if not name.startswith("tg."):
            self.module.declare(name, result, [kind for kind, _ in arguments], attributes or "nounwind")
        return self.find(f"call {result} @{name}({', '.join(f'{kind} {x}' for kind, x in arguments)})")

    def product(self, a: str, b: str) -> str:
        """The product of two int64."""
        if "0" in (a, b):
            return "0"
        if "1" in (a, b):
            return b if a == "1" else a
        return self.find(f"mul i64 {a}, {b}")

    def place(self, item: str, pointer: str, offset: str) -> str:
        """A pointer some elements on."""
        return pointer if offset == "0" else self.find(f"getelementptr {item}, ptr {pointer}, i64 {offset}")

    def repeated(self, item: str, value: str) -> str:
        """A value in all lanes."""
        if not self.lanes:
            return value
        kind = self.type(item)
        first = self.find(f"insertelement {kind} poison, {item} {value}, i64 0")
        return self.find(f"shufflevector {kind} {first}, {kind} poison, <{self.lanes} x i32> zeroinitializer")

    def frame(self, kind: str, count: int = 1) -> str:
        """Memory of the running function for some values of a type, at a multiple of 64 bytes."""
        name = self.fresh()
        self._frame.append(f"  {name} = alloca {kind}, i64 {count}, align 64")
        return name

    def open(self, label: str) -> None:
        """Begin a block."""
        self.label = label
        self.lines.append(f" {label}:")

    def text(self, begin: Iterable[str] = ()) -> str:
        """The lines, and instructions before all others."""
        first = (*self._frame, *(f"  {instruction}" for instruction in begin))
        return "\n".join(("entry:", *first, *(line for line in self.lines if line is not None)))
