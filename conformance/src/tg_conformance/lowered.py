"""A case's program as compiling for a backend rewrites it, and the gaps that cover its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg import plugin
from tg.configuration import current
from tg.functions.compile import supported_by
from tg.functions.gaps import find_gap
from tg.graph.function_graph import FunctionGraph
from tg.plugin.records import key_name
from tg.rewrite.driver import rewrite
from tg.rewrite.phases import MODES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tg.graph.frozen import FrozenGraph, Node
    from tg.plugin import Gap
    from tg_conformance.program import Program


def lowered(backend: str, program: Program) -> FrozenGraph:
    """The program rewritten as compiling for the backend does."""
    registry = plugin.registry()
    supported = supported_by(backend)
    graph = FunctionGraph.of(program.arguments, program.outputs)
    config = current()
    mode = config.mode if config.mode in MODES else "default"  # debugging rewrites as the default does
    rewrites = [registry.rewrites(backend)]
    return rewrite(graph, rewrites, supported=supported, mode=mode, exclude=frozenset(config.exclude))


def nodes_of(frozen: FrozenGraph) -> Iterator[Node]:
    """The nodes of a graph and of the graphs inside."""
    for node in frozen.nodes:
        yield node
        for inner in node.op.inner_graphs():
            yield from nodes_of(inner)


def gaps_in(frozen: FrozenGraph, gaps: Sequence[Gap]) -> list[Gap]:
    """The gaps that cover nodes of a graph or of the graphs inside, the first of each node."""
    matches: list[Gap] = []
    for node in frozen.nodes:
        gap = find_gap(gaps, node.op, [frozen.types[k] for k in (*node.inputs, *node.outputs)])
        new = [gap] if gap is not None else []
        for inner in node.op.inner_graphs():
            new += gaps_in(inner, gaps)
        matches += [one for one in new if one not in matches]
    return matches


def covered(frozen: FrozenGraph, gap: Gap) -> set[str]:
    """The dtypes in which a gap covers nodes of a graph and of the graphs inside."""
    dtypes: set[str] = set()
    for node in frozen.nodes:
        types = [frozen.types[k] for k in (*node.inputs, *node.outputs)]
        if find_gap([gap], node.op, types) is not None:
            dtypes |= {t.dtype for t in types} & (gap.dtypes or {t.dtype for t in types})
        for inner in node.op.inner_graphs():
            dtypes |= covered(inner, gap)
    return dtypes


def gap_name(k: int, gap: Gap) -> str:
    """The id of a gap's own item."""
    return f"gap:{k}:{key_name(gap.op) if gap.op is not None else 'any'}[{'+'.join(sorted(gap.dtypes or ())) or 'all'}]"
