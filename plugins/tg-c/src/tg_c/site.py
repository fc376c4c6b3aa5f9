"""What the rules of the C backend are given besides what all have: means to write C."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tg_c.division import divide
from tg_c.kernel import Kernel
from tg_native.graphs import site as graphs
from tg_native.loops.costs import time_of, time_to_move
from tg_native.loops.joins import MOST_SHARED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.backend import Node, Op
    from tg.types.lengths import Length
    from tg_c.function import GraphFunction
    from tg_c.prelude import Element, Prelude
    from tg_native.loops import kernel as loops


@final
class Site(graphs.Site):
    """Where an op becomes C."""

    __slots__ = ()

    function: GraphFunction

    @property
    def prelude(self) -> Prelude:
        """The declarations of the unit."""
        return self.function.unit.prelude

    def element(self, op: Op, element: Element) -> str:
        """The C expression of an op on single elements."""
        return self.function.element(op, element)

    def local(self, dtype: str, expression: str) -> str:
        """A local that holds the value of an expression; its name."""
        return self.function.local(dtype, expression)

    def line(self, text: str) -> None:
        """Add a statement to the function."""
        self.function.line(text)

    def divide(
        self,
        kernel: loops.Kernel,
        space: Sequence[int | Length],
        programs: Iterable[tuple[Sequence[Node], Sequence[str]]],
        moved: Iterable[str],
        small: Sequence[int | Length] = (),
    ) -> None:
        assert isinstance(kernel, Kernel)
        if self.threads == 1 or any(type(n) is int and n > MOST_SHARED for n in small):
            return
        each = time_to_move(moved) + sum(time_of(nodes, dtypes) for nodes, dtypes in programs)
        division = divide(self, space, each, in_row=len(space) == 1)
        if division is None:
            return
        if small:
            fits = " && ".join(f"{self.length(n)} <= {MOST_SHARED}" for n in small)
            division = division._replace(parts=self.local("int64", f"{fits} ? {division.parts} : 1"))
        kernel.divided(division, self.most_parts, self.threads)
