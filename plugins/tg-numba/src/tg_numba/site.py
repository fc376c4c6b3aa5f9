"""Arguments of the rules of the Numba backend besides those that all have: means to write LLVM's language."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tg_native.graphs import site as graphs

if TYPE_CHECKING:
    from tg_numba.body import Body
    from tg_numba.function import GraphFunction


@final
class Site(graphs.Site):
    """Place where an op becomes code."""

    __slots__ = ()

    function: GraphFunction

    @property
    def body(self) -> Body:
        """Body into which the function's instructions are written."""
        return self.function.body
