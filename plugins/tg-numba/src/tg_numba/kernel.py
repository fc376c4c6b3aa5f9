"""A loop in the making: a function in LLVM's language, and how the function of a graph calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from tg_native.kernels.index import Index, Pointer, index
from tg_native.kernels.lanes import Lanes, in_all_lanes
from tg_native.loops import kernel as loops
from tg_native.loops.kernel import MOST, lanes_for
from tg_numba.assembly import Module
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

    def _argument(self, kind: str, operand: str, attribute: str = "", place: int | None = None) -> str:
        """The name of an argument; `place` among the operands of the loop, if equal ones are not to be one."""
        known = self._names.get((kind, operand, place))
        if known is None:
            known = self._names[kind, operand, place] = f"%a{len(self.arguments)}"
            self.arguments.append((kind, operand))
            self._heads.append(f"{kind}{attribute} {known}")
        return known

    def read(self, array: Array) -> Pointer:
        return Pointer(self.body, array.dtype, self.address(array.pointer))

    def write(self, array: Array) -> Pointer:
        return Pointer(self.body, array.dtype, self._argument("ptr", array.pointer, " noalias"))

    def address(self, operand: str) -> str:
        """An address that the function of the graph knows."""
        return self._argument("ptr", operand)

    def length(self, length: int | Length) -> Index:
        text = self.function.length(length)
        if type(length) is int:
            return index(self.body, length)
        return Index(Lanes(self.body, "int64", self._argument("i64", text)))

    def scalar(self, scalar: Scalar) -> Elements:
        name = self._argument(type_of(scalar.dtype), scalar.text, place=scalar.operand)
        with self.body.of(0):
            found = elements(self.body, scalar.dtype, name)
        return in_all_lanes(found)

    def finish(self) -> tuple[Written, list[str]]:
        """The function, and the arguments that it is called with."""
        self.body.do("ret void")
        head = f"define void @loop({', '.join(self._heads)}) nounwind {ALIGNED}"
        text = f"{head} {{\n{self.body.text()}\n}}"
        return Written(self.body.module, text), [" ".join(argument) for argument in self.arguments]
