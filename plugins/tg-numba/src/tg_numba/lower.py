"""What the Numba backend does to a graph before it is compiled: ops over one index space are gathered into loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.backend import EXACT, Reduce, Rewrites
from tg.rewrite.rule import Lowering
from tg_native.fusion.fused import fuse
from tg_native.fusion.fusion import Choices, every, is_scatter_of_elements, none

if TYPE_CHECKING:
    from tg.backend import FrozenGraph, Node


def is_end(node: Node, graph: FrozenGraph) -> bool:
    """Whether a loop can finish with a node: reductions and scatters of elements."""
    return isinstance(node.op, Reduce) or is_scatter_of_elements(node, graph)


def is_column_end(node: Node, graph: FrozenGraph) -> bool:
    """Whether rows are combined in memory while a loop goes through them."""
    return isinstance(node.op, Reduce)


CHOICES: Final = Choices(gathers=True, ends=is_end, columns=is_column_end, rows=True, guards=every)


def fused(graph: FrozenGraph) -> FrozenGraph:
    """The graph with everything in loops that loops of this backend can have."""
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
