"""What the rules of the Numba backend are given besides what all have: means to write LLVM's language."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tg_native.graphs import site as graphs
from tg_native.loops.kernel import MOST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tg.backend import Length
    from tg_numba.body import Body
    from tg_numba.function import GraphFunction
    from tg_numba.kernel import Kernel
    from tg_numba.program import Unit


@final
class Site(graphs.Site):
    """Where an op becomes code."""

    __slots__ = ()

    function: GraphFunction

    @property
    def unit(self) -> Unit:
        """The generated module."""
        return self.function.unit

    @property
    def body(self) -> Body:
        """Where the function's instructions are written."""
        return self.function.body

    def kernel(self, dtypes: Iterable[str] = (), vectors: int = 1, length: int | Length = MOST) -> Kernel:
        return self.function.kernel(dtypes, vectors, length)
