"""`Unit`: what a backend's compiler is told about a function of arrays that it is to compile."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, final

from tg.graph.text.printer import inner_graphs, is_opaque, to_text_with_constants

if TYPE_CHECKING:
    from tg.graph.frozen import FrozenGraph
    from tg.link.linker import Request


@final
class Unit:
    """The unit that a library compiles: the program of a graph, for one tuple of the sizes that depend on values.

    Attributes:
        name: the user's, of the function; it need not be an identifier.
        graph: the program.
        options: the backend's, validated.
        sizes: what the host has computed beforehand, compiled in as constants.
    """

    __slots__ = ("_request", "graph", "name", "options", "sizes")

    def __init__(self, name: str, graph: FrozenGraph, options: Any, sizes: tuple[Any, ...], request: Request) -> None:
        self.name, self.graph, self.options, self.sizes = name, graph, options, sizes
        self._request = request

    @property
    def fingerprint(self) -> str | None:
        """The name of the program in a cache on disk: 40 digits of everything that what is compiled depends on.

        That is the graph with its constants, the options, the sizes, and the versions of tg, of the plugins and of what
        the backend requires; of lengths only those that the graph tells. None where a graph has Python inside.
        """
        graphs = (*inner_graphs(self.graph), self.graph)
        if any(is_opaque(node.op) for graph in graphs for node in graph.nodes):
            return None
        text, _ = to_text_with_constants(self.graph)  # which has large constants by digest
        facts = (text, repr(self.options), repr(self.sizes), *self._request.versions())
        return hashlib.blake2b("\0".join(facts).encode(), digest_size=20).hexdigest()
