"""What a stage scatters: values that are combined into arrays at computed positions, several elements at a time.

Neighbours for one position, as most are where positions are sorted, are added to one another before they are added to
the array: here those of a vector, in `tg_c.runs` more of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, final

from tg.ops.elementwise.arithmetic import add
from tg.types.dtypes import is_float
from tg_c.ends import tree
from tg_c.lanes import as_vector
from tg_c.machine import vector_bytes
from tg_c.positions import position
from tg_c.prelude import Element
from tg_native.kernels.dtypes import WORDS

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from tg_c.block import Block
    from tg_c.positions import Table
    from tg_native.plan.values import Array


class Scatter(NamedTuple):
    """One array that has elements, with the name that it has in the kernel, and what is combined into it.

    Value `number` of the program goes to the positions that the values `at` are, one for each axis; `fn` combines it
    with what is there, None replaces that. `name` ends the names of locals.
    """

    name: str
    table: Table
    fn: Any
    number: int
    at: tuple[int, ...]

    @property
    def base(self) -> Array:
        """The array."""
        return self.table.array

    @property
    def is_sum(self) -> bool:
        """Whether elements may be added to one another first."""
        return self.fn is add and is_float(self.base.dtype)

    def combined(self, block: Block, at: str, given: str) -> str:
        """The statement that combines one value."""
        to, dtype = f"{self.base.pointer}[{at}]", self.base.dtype
        if self.fn is None:
            return f"{to} = {given};"
        operands, prelude = (to, given), block.site.prelude
        return f"{to} = {block.site.element(self.fn.op, Element(operands, (dtype, dtype), dtype, prelude))};"


@final
class Scatters:
    """All that a stage scatters."""

    def __init__(self, every: Sequence[Scatter], safe: Container[int]) -> None:
        """With the positions that are known to be inside."""
        self.every, self.safe = every, safe

    # --- one round ---------------------------------------------------------------------------------------------------

    def write(self, block: Block) -> None:
        """Combine the values of a round."""
        for one in self.every:
            if block.vectors is None:
                at, given = position(block, one.table, one.at, self.safe), block.values[one.number]
                block.kernel.line(one.combined(block, at.text, given.text))
            else:
                self._write_lanes(block, one)

    def _write_lanes(self, block: Block, one: Scatter) -> None:
        """Combine the values of a block, through memory: to take vectors apart takes longer."""
        kernel, vectors = block.kernel, block.vectors
        assert vectors is not None
        place, given = position(block, one.table, one.at, self.safe), block.values[one.number]
        kind = WORDS[one.base.dtype] if one.base.dtype != "bool" else given.kind or "i8"
        at, values, count = f"at{one.name}", f"given{one.name}", vectors.count
        for name, lane, element in ((at, place, "i64"), (values, given, kind)):
            kernel.line(f"{element} {name}[{count}] __attribute__((aligned({vector_bytes()})));")
            kernel.line(f"{vectors.function('store', element)}({name}, {as_vector(vectors, lane, element)});")
        many = f"({block.rest} < {count} ? {block.rest} : {count})" if block.rest else str(count)
        element = f"{values}[k]" if one.base.dtype != "bool" else f"({values}[k] & 1)"
        each = f"for (int k = 0; k < {many}; k++) {one.combined(block, f'{at}[k]', element)}"
        if not one.is_sum:
            kernel.line(each)
            return
        same = " && ".join(f"{at}[0] == {at}[{k}]" for k in (count - 1, *range(1, count - 1)))
        total = tree([f"{values}[{k}]" for k in range(count)], "+")
        kernel.line(
            f"if ({f'{block.rest} >= {count} && ' if block.rest else ''}{same}) {one.base.pointer}[{at}[0]] += {total};"
        )
        kernel.line(f"else {each}")

    # --- several rounds of one element -------------------------------------------------------------------------------

    def declare(self, block: Block, count: int) -> None:
        """Declare what keeps positions and values of some rounds."""
        for one in self.every:
            for text in (f"i64 at{one.name}", f"{WORDS[one.base.dtype]} given{one.name}"):
                block.kernel.line(f"{', '.join(f'{text if not k else text.split()[1]}_{k}' for k in range(count))};")

    def keep(self, block: Block, k: int) -> None:
        """Keep those of one round."""
        for one in self.every:
            block.kernel.line(f"at{one.name}_{k} = {position(block, one.table, one.at, self.safe).text};")
            block.kernel.line(f"given{one.name}_{k} = {block.values[one.number].text};")

    def combine(self, block: Block, count: int) -> None:
        """Combine what has been kept, in the order of the rounds."""
        for k in range(count):
            for one in self.every:
                block.kernel.line(one.combined(block, f"at{one.name}_{k}", f"given{one.name}_{k}"))
