"""Arguments of the rules of the C backend besides those that all have: means to write C."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tg_native.graphs import site as graphs

if TYPE_CHECKING:
    from tg_c.function import GraphFunction
    from tg_c.prelude import Prelude


@final
class Site(graphs.Site):
    """Place where an op becomes C."""

    __slots__ = ()

    function: GraphFunction

    @property
    def prelude(self) -> Prelude:
        """The declarations of the unit."""
        return self.function.unit.prelude

    def line(self, text: str) -> None:
        """Add a statement to the function."""
        self.function.line(text)
