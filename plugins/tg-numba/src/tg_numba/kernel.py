"""A loop in the making: a function in LLVM's language, and how the function of a graph calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from tg_native.kernels.index import Index, Pointer, index
from tg_native.kernels.lanes import Lanes, in_all_lanes
from tg_native.loops import kernel as loops
from tg_native.loops.costs import MANY_ARGUMENTS
from tg_native.loops.kernel import MOST, lanes_for
from tg_numba.assembly import Module, memory_cell
from tg_numba.body import Body
from tg_numba.engine import Written
from tg_numba.operands import elements, type_of
from tg_numba.processor import vector_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tg.backend import Length
    from tg_native.kernels.lanes import Elements
    from tg_native.plan.values import Array, Scalar
    from tg_numba.function import GraphFunction

NUMBERS: Final = {"float64": ("double", "%doubles"), "float32": ("float", "%singles")}  # types and names of these
ALIGNED: Final = "alignstack(64)"  # vectors that are kept over a call must not cross lines of the cache


@final
class Kernel(loops.Kernel):
    """Writes one function. Arguments are gathered as they are needed; the text does not depend on their names."""

    body: Body

    def __init__(
        self, function: GraphFunction, dtypes: Iterable[str] = (), *, vectors: int = 1, length: int | Length = MOST
    ) -> None:
        """Start with as many lanes as some vectors have for the widest dtype, and no more than a length that is known.

        Without dtypes: with single elements.
        """
        self.function = function
        self.body = Body(Module(), lanes_for(vector_bytes(), dtypes, vectors, length))
        self.arguments: list[tuple[str, str]] = []  # type, and operand in the function of the graph
        self._names: dict[tuple[str, str, int | None], str] = {}  # of these here
        self._heads: list[str] = []
        self._cells: dict[int, str] = {}  # of the arguments that are arrays: LLVM's type of an element
        self._numbers: list[int] = []  # the arguments that are numbers

    def _argument(self, kind: str, operand: str, attribute: str = "", place: int | None = None) -> str:
        """The name of an argument; `place` among the operands of the loop, if equal ones are not to be one."""
        known = self._names.get((kind, operand, place))
        if known is None:
            known = self._names[kind, operand, place] = f"%a{len(self.arguments)}"
            self.arguments.append((kind, operand))
            self._heads.append(f"{kind}{attribute} {known}")
        return known

    def read(self, array: Array) -> Pointer:
        return Pointer(self.body, array.dtype, self._place(array))

    def write(self, array: Array) -> Pointer:
        return Pointer(self.body, array.dtype, self._place(array, " noalias"))

    def _place(self, array: Array, attribute: str = "") -> str:
        count = len(self.arguments)
        name = self._argument("ptr", array.pointer, attribute)
        if len(self.arguments) > count:
            self._cells[count] = memory_cell(array.dtype)
        return name

    def outside(self, operand: str) -> str:
        """An address that the function of the graph knows."""
        return self._argument("ptr", operand)

    def length(self, length: int | Length) -> Index:
        text = self.function.length(length)
        if type(length) is int:
            return index(self.body, length)
        return Index(Lanes(self.body, "int64", self._argument("i64", text)))

    def scalar(self, scalar: Scalar) -> Elements:
        count = len(self.arguments)
        name = self._argument(type_of(scalar.dtype), scalar.text, place=scalar.operand)
        is_number = scalar.operand is not None and not scalar.text.startswith("%") and scalar.dtype in NUMBERS
        if is_number and len(self.arguments) > count:
            self._numbers.append(count)
        with self.body.of(0):
            found = elements(self.body, scalar.dtype, name)
        return in_all_lanes(found)

    def finish(self) -> tuple[Written, list[tuple[str, str]]]:
        """The function, and the arguments that it is called with: types and operands."""
        self.body.do("ret void")
        heads, arguments = self._gathered()
        head = f"define void @loop({', '.join(heads)}) nounwind {ALIGNED}"
        text = f"{head} {{\n{self.body.text()}\n}}"
        return Written(self.body.module, text), arguments

    def _gathered(self) -> tuple[list[str], list[tuple[str, str]]]:
        """The parameters and what they are given: many numbers, and many places in the memory of a tile, in tables.

        With a hundred arguments in each call LLVM took longer for the function of the graph than for the loops.
        """
        places = {k: self.function.slots[a] for k, (_, a) in enumerate(self.arguments) if a in self.function.slots}
        if len(places) + len(self._numbers) < MANY_ARGUMENTS:
            return self._heads, self.arguments
        left = [k for k in range(len(self.arguments)) if k not in places and k not in self._numbers]
        heads, arguments = [self._heads[k] for k in left], [self.arguments[k] for k in left]

        def added(name: str, argument: str) -> None:
            heads.append(f"ptr {name}")
            arguments.append(("ptr", argument))

        bases = {base: f"%m{k}" for k, base in enumerate(dict.fromkeys(slot.base for slot in places.values()))}
        for base, name in bases.items():
            added(name, base)
        if places:
            added("%at", self.function.unit.table("i64", [str(slot.offset) for slot in places.values()]))
        for j, (k, slot) in enumerate(places.items()):
            offset = self._element("i64", "%at", j, f"%a{k}.offset")
            self.body.begin(
                *offset, f"%a{k} = getelementptr {self._cells[k]}, ptr {bases[slot.base]}, i64 %a{k}.offset"
            )
        for kind, name in NUMBERS.values():
            own = [k for k in self._numbers if self.arguments[k][0] == kind]
            if own:
                added(name, self.function.unit.table(kind, [self.arguments[k][1] for k in own]))
            for j, k in enumerate(own):
                self.body.begin(*self._element(kind, name, j, f"%a{k}"))
        return heads, arguments

    def _element(self, kind: str, table: str, place: int, name: str) -> tuple[str, str]:
        """The instructions that read an element of a table."""
        return f"{name}.at = getelementptr {kind}, ptr {table}, i64 {place}", f"{name} = load {kind}, ptr {name}.at"
