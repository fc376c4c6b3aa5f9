"""What the C backend does to a graph before it is compiled: ops over one index space are gathered into loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.backend import EXACT, Gather, Reduce, Rewrites, Scatter
from tg.rewrite.rule import Lowering
from tg_c.machine import masked_moves
from tg_native.fusion.fused import fuse
from tg_native.fusion.fusion import Choices, is_scatter_of_elements, is_sum_of_floats, none
from tg_native.kernels.dtypes import item_size, kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.backend import FrozenGraph, Node

GATHERED: Final = 8  # bytes of the elements that one instruction reads at computed positions faster than single loads


def is_end(node: Node, graph: FrozenGraph) -> bool:
    """Whether a loop can finish with a node: reductions and scatters of what there are vectors of."""
    dtype = graph.types[node.outputs[0]].dtype
    return kind_of(dtype) not in ("half", "complex") and (
        isinstance(node.op, Reduce) or is_scatter_of_elements(node, graph)
    )


def is_column_end(node: Node, graph: FrozenGraph) -> bool:
    """Whether rows are combined in memory while a loop goes through them."""
    return is_end(node, graph) and graph.types[node.outputs[0]].dtype != "bool"


def takes_guards(nodes: Sequence[Node], graph: FrozenGraph) -> bool:
    """Whether a loop goes through its indices in vectors: for instructions that gather, or in search of runs."""
    dtypes = {graph.types[node.outputs[0]].dtype for node in nodes if type(node.op) is Gather}
    scatters = [node for node in nodes if type(node.op) is Scatter]
    if scatters:
        return all(is_sum_of_floats(node, graph) for node in scatters)
    return all(item_size(dtype) == GATHERED for dtype in dtypes) and masked_moves() == "avx512"


CHOICES: Final = Choices(gathers=True, ends=is_end, columns=is_column_end, rows=True, guards=takes_guards)


def fused(graph: FrozenGraph) -> FrozenGraph:
    """The graph with everything in loops that C loops can have."""
    return fuse(graph, CHOICES)


def fused_inside(graph: FrozenGraph) -> FrozenGraph:
    """An inner graph likewise, its checks in the order that they had: none is made with the loop that it guards."""
    return fuse(graph, CHOICES._replace(guards=none))


REWRITES: Final = Rewrites(
    passes=(
        Lowering(
            "fuse_loops",
            kind=EXACT,
            why="One pass over memory instead of one for each op; what only the loop reads is never stored.",
            run=fused,
            inner=fused_inside,
        ),
    )
)
