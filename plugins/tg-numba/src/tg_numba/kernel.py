"""A loop in the making: a function in LLVM's language, and how the function of a graph calls it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, NamedTuple, final

from tg_native.kernels.dtypes import PARTS, item_size
from tg_native.kernels.lanes import in_all_lanes
from tg_numba.assembly import Module, memory_cell
from tg_numba.body import Body
from tg_numba.engine import Written
from tg_numba.operands import elements, type_of
from tg_numba.processor import vector_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tg.types.lengths import Length
    from tg_native.kernels.lanes import Elements
    from tg_native.plan.values import Array, Scalar
    from tg_numba.function import GraphFunction

MOST: Final = 64  # lanes
ALIGNED: Final = "alignstack(64)"  # vectors that are kept over a call must not cross lines of the cache


class Block(NamedTuple):
    """Some lanes of the inner axis: the index of the first, and, where not all are inside, which are and how many."""

    first: str
    mask: str | None = None
    inside: str = ""


def lanes_for(dtypes: Iterable[str], vectors: int, length: int | Length) -> int:
    """As many lanes as some vectors have for the widest dtype, and no more than a length that is known."""
    widest = max((item_size(PARTS.get(d, d)) for d in dtypes), default=0)
    lanes = min(vectors * vector_bytes() // widest, MOST) if widest else 0
    while type(length) is int and lanes >= 2 * max(length, 2):
        lanes //= 2
    return lanes


@final
class Kernel:
    """Writes one function. Arguments are gathered as they are needed; the text does not depend on their names."""

    def __init__(
        self, function: GraphFunction, dtypes: Iterable[str] = (), *, vectors: int = 1, length: int | Length = MOST
    ) -> None:
        """Start with as many lanes as some vectors have for the widest dtype, and no more than a length that is known.

        Without dtypes: with single elements.
        """
        self.function = function
        self.module = Module()
        self.body = Body(self.module, lanes_for(dtypes, vectors, length))
        self.arguments: dict[tuple[str, str], str] = {}  # (type, operand in the function of the graph) -> name here
        self._heads: list[str] = []

    def _argument(self, kind: str, operand: str, attribute: str = "") -> str:
        known = self.arguments.get((kind, operand))
        if known is None:
            known = self.arguments[kind, operand] = f"%a{len(self.arguments)}"
            self._heads.append(f"{kind}{attribute} {known}")
        return known

    def read(self, array: Array) -> str:
        """The pointer of an array that is read."""
        return self.address(array.pointer)

    def write(self, array: Array) -> str:
        """The pointer of an array that is written and that nothing else reaches."""
        return self._argument("ptr", array.pointer, " noalias")

    def address(self, operand: str) -> str:
        """An address that the function of the graph knows."""
        return self._argument("ptr", operand)

    def length(self, length: int | Length) -> str:
        """A length, or the distance of elements."""
        text = self.function.length(length)
        return text if type(length) is int else self._argument("i64", text)

    def scalar(self, scalar: Scalar) -> Elements:
        """A scalar of the function in all lanes."""
        name = self._argument(type_of(scalar.dtype), scalar.text)
        with self.body.of(0):
            found = elements(self.body, scalar.dtype, name)
        return in_all_lanes(found)

    def offset(self, indices: Sequence[str], strides: Sequence[int | Length]) -> str:
        """The number of elements to a position."""
        total = "0"
        for index, stride in zip(indices, strides, strict=True):
            step = self.body.product(index, self.length(stride))
            if step != "0":
                total = step if total == "0" else self.body.find(f"add i64 {total}, {step}")
        return total

    @contextlib.contextmanager
    def loops(self, lengths: Sequence[int | Length]) -> Iterator[list[str]]:
        """Nested loops over axes; gives the indices."""
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(self.body.loop("0", self.length(n))) for n in lengths]

    def blocks(self, length: int | Length, write: Callable[[Block], None], *, twice: bool = False) -> None:
        """Run along an axis in blocks of lanes; `write` writes what is done with one block.

        Args:
            twice: full blocks have code of their own, apart from that for the last, partial one.
        """
        body, lanes = self.body, self.body.lanes
        n = self.length(length)
        if not lanes:
            with body.loop("0", n) as index:
                write(Block(index))
            return
        start = "0"
        if twice:
            start = body.find(f"and i64 {n}, {-lanes}")
            with body.loop("0", start, lanes) as index:
                write(Block(index))
        if type(length) is int and start != "0" and length % lanes == 0:
            return
        with body.loop(start, n, lanes) as index:
            write(self.partial(index, n))

    def partial(self, index: str, length: str) -> Block:
        """The block from an index on, of which some lanes may be outside."""
        body, lanes = self.body, self.body.lanes
        left = body.find(f"sub i64 {length}, {index}")
        count = body.called("llvm.umin.i64", "i64", [("i64", left), ("i64", str(lanes))])
        item = f"i{max(128 // lanes, 8)}"  # fills a register: else LLVM may keep lanes beyond the last over a call
        short = body.find(f"trunc i64 {count} to {item}") if item != "i64" else count
        places = ", ".join(f"{item} {k}" for k in range(lanes))
        mask = body.find(f"icmp ult <{lanes} x {item}> <{places}>, {body.repeated(item, short)}")
        return Block(index, mask, count)

    def moved(self, array: tuple[str, str], indices: Sequence[str], strides: Sequence[int | Length]) -> str:
        """The pointer (of a dtype, pointer pair) to a position."""
        dtype, pointer = array
        return self.body.place(memory_cell(dtype), pointer, self.offset(indices, strides))

    def finish(self) -> tuple[Written, list[str]]:
        """The function, and the arguments that it is called with."""
        self.body.do("ret void")
        head = f"define void @loop({', '.join(self._heads)}) nounwind {ALIGNED}"
        text = f"{head} {{\n{self.body.text()}\n}}"
        return Written(self.module, text), [" ".join(argument) for argument in self.arguments]
