"""A loop in the making: a function in LLVM's language, and how the function of a graph calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from tg.backend import Length
from tg_native.kernels.index import Index, Pointer, index
from tg_native.kernels.lanes import Lanes, in_all_lanes
from tg_native.loops import kernel as loops
from tg_native.loops.kernel import MOST, Wanted, lanes_for
from tg_native.loops.tables import NUMBERS, Tables
from tg_numba.assembly import Module, memory_cell
from tg_numba.body import Body
from tg_numba.engine import Written
from tg_numba.operands import elements, type_of
from tg_numba.processor import vector_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg_native.kernels.lanes import Elements
    from tg_native.plan.values import Array, Scalar, Slot
    from tg_numba.function import GraphFunction

ALIGNED: Final = "alignstack(64)"  # vectors that are kept over a call must not cross lines of the cache


@final
class Kernel(loops.Kernel, Tables):
    """Writes one function. Arguments are gathered as they are needed; the text does not depend on their names."""

    body: Body

    def __init__(
        self, function: GraphFunction, dtypes: Iterable[str] = (), *, vectors: int = 1, length: int | Length = MOST
    ) -> None:
        """Start with as many lanes as some vectors have for the widest dtype, and no more than a length that is known.

        Without dtypes: with single elements.
        """
        super().__init__()
        self.function = function
        self.body = Body(Module(), lanes_for(vector_bytes(), dtypes, vectors, length))
        self.arguments: list[tuple[str, str]] = []  # type, and operand in the function of the graph
        self._names: dict[tuple[str, str, object], str] = {}  # of these here
        self._heads: list[str] = []
        self._begin: list[str] = []  # what the function begins with
        self._numbers: dict[int, str] = {}  # the arguments that are numbers, and their dtypes

    def _argument(
        self, kind: str, operand: str, attribute: str = "", place: object = None, wanted: Wanted | None = None
    ) -> str:
        """The name of an argument; `place` among the operands of the loop, if equal ones are not to be one."""
        name = self._names.get((kind, operand, place))
        if name is None:
            name = self._names[kind, operand, place] = f"%a{len(self.arguments)}"
            self.arguments.append((kind, operand))
            self._heads.append(f"{kind}{attribute} {name}")
            if wanted is not None:
                self.wanted.append(wanted)
        return name

    @property
    def is_told(self) -> bool:
        return len(self.wanted) == len(self.arguments)

    def read(self, array: Array) -> Pointer:
        name = self._argument("ptr", array.pointer, wanted=Wanted("read", array))
        return Pointer(self.body, array.dtype, name)

    def write(self, array: Array) -> Pointer:
        name = self._argument("ptr", array.pointer, " noalias", wanted=Wanted("write", array))
        return Pointer(self.body, array.dtype, name)

    def outside(self, operand: str) -> str:
        """An address that the function of the graph knows."""
        return self._argument("ptr", operand)

    def length(self, length: int | Length, role: object = None) -> Index:
        text = self.function.length(length)
        if type(length) is int and role is None:
            return index(self.body, length)
        key = role if role is not None else length.key if type(length) is Length else length
        place = ("length", key)
        name = self._argument("i64", text, place=place, wanted=Wanted("length", length, role))
        return Index(Lanes(self.body, "int64", name))

    def scalar(self, scalar: Scalar) -> Elements:
        count = len(self.arguments)
        wanted = Wanted("scalar", scalar)
        name = self._argument(type_of(scalar.dtype), scalar.text, place=scalar.operand, wanted=wanted)
        is_number = scalar.operand is not None and not scalar.text.startswith("%") and scalar.dtype in NUMBERS
        if is_number and len(self.arguments) > count:
            self._numbers[count] = scalar.dtype
        with self.body.of(0):
            value = elements(self.body, scalar.dtype, name)
        return in_all_lanes(value)

    # --- arguments in tables -----------------------------------------------------------------------------------------

    def keep(self, arguments: Sequence[int]) -> None:
        self._heads, self.arguments = [self._heads[k] for k in arguments], [self.arguments[k] for k in arguments]

    def add_base(self, name: str, slot: Slot) -> str:
        return self._added(f"%{name}", slot.base)

    def add_table(self, name: str, dtype: str, elements: Sequence[str]) -> str:
        return self._added(f"%{name}", self.function.unit.table(type_of(dtype), elements))

    def _added(self, name: str, operand: str) -> str:
        self._heads.append(f"ptr {name}")
        self.arguments.append(("ptr", operand))
        return name

    def begin_with_place(self, argument: int, slot: Slot, base: str, offset: tuple[str, int]) -> None:
        name = f"%a{argument}"
        place = f"{name} = getelementptr {memory_cell(slot.dtype)}, ptr {base}, i64 {name}.offset"
        self._begin += (*_element(f"{name}.offset", "i64", *offset), place)

    def begin_with_number(self, argument: int, dtype: str, element: tuple[str, int]) -> None:
        self._begin += _element(f"%a{argument}", type_of(dtype), *element)

    # --- the function ------------------------------------------------------------------------------------------------

    def finish(self) -> Written:
        """The function; `arguments` are what it is called with from now on."""
        self.gather([operand for _, operand in self.arguments], self.function.slots, self._numbers)
        head = f"define void @loop({', '.join(self._heads)}) nounwind {ALIGNED}"
        return Written(self.body.module, f"{head} {{\n{self.body.text(self._begin)}\n  ret void\n}}")


def _element(name: str, kind: str, table: str, number: int) -> tuple[str, str]:
    """The instructions that read an element of a table."""
    return f"{name}.at = getelementptr {kind}, ptr {table}, i64 {number}", f"{name} = load {kind}, ptr {name}.at"
