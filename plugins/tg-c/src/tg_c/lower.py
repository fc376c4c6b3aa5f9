"""What the C backend does to a graph before it is compiled: ops over one index space are gathered into loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.link.fused import fuse
from tg.link.fusion import Choices, is_scatter_of_elements
from tg.ops.reduction import Reduce
from tg.plugin.records import Rewrites
from tg.rewrite.phases import EXACT
from tg.rewrite.rule import Lowering
from tg_c.pointwise import has_lanes

if TYPE_CHECKING:
    from tg.graph.frozen import FrozenGraph, Node


def is_end(node: Node, graph: FrozenGraph) -> bool:
    """Whether a loop can finish with a node: reductions and scatters of what there are vectors of."""
    dtype = graph.types[node.outputs[0]].dtype
    return has_lanes(dtype) and (isinstance(node.op, Reduce) or is_scatter_of_elements(node, graph))


def is_column_end(node: Node, graph: FrozenGraph) -> bool:
    """Whether rows are combined in memory while a loop goes through them."""
    return is_end(node, graph) and graph.types[node.outputs[0]].dtype != "bool"


def fused(graph: FrozenGraph) -> FrozenGraph:
    """The graph with everything in loops that C loops can have."""
    return fuse(graph, Choices(gathers=True, ends=is_end, columns=is_column_end, rows=True))


REWRITES: Final = Rewrites(
    passes=(
        Lowering(
            "fuse_loops",
            kind=EXACT,
            why="One pass over memory instead of one for each op; what only the loop reads is never stored.",
            run=fused,
        ),
    )
)
