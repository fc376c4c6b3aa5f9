"""Lowering of a graph by a native backend before it is compiled: ops over one index space are gathered into loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg.ops.reduction import Reduce
from tg.plugin.records import Rewrites
from tg.rewrite.phases import EXACT
from tg.rewrite.rule import Lowering
from tg.rules.loops.dear import STEPS_AHEAD
from tg.rules.loops.repetition import EXPANSIONS
from tg.rules.loops.settled import SETTLED
from tg.rules.loops.siblings import CHAINS
from tg_native.fusion import epilogue
from tg_native.fusion.epilogue import with_epilogues
from tg_native.fusion.fused import fuse
from tg_native.fusion.fusion import Choices, every, is_scatter_of_elements, none
from tg_native.fusion.interchange import NAME, interchanged
from tg_native.fusion.marked import MARKED
from tg_native.fusion.registers import RULES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.frozen import FrozenGraph, Node


class Loops(NamedTuple):
    """Strengths of a backend's loops, by dtypes.

    Args:
        reduces: what they reduce and scatter.
        columns: what rows are combined of in memory, while a loop goes through them.
    """

    reduces: Callable[[str], bool]
    columns: Callable[[str], bool]

    def is_end(self, node: Node, graph: FrozenGraph) -> bool:
        """Whether a loop can finish with a node."""
        is_one = isinstance(node.op, Reduce) or is_scatter_of_elements(node, graph)
        return is_one and self.reduces(graph.types[node.outputs[0]].dtype)

    def is_column_end(self, node: Node, graph: FrozenGraph) -> bool:
        """Whether rows are combined in memory while a loop goes through them."""
        return isinstance(node.op, Reduce) and self.columns(graph.types[node.outputs[0]].dtype)

    @property
    def _choices(self) -> Choices:
        return Choices(gathers=True, ends=self.is_end, columns=self.is_column_end, rows=True, guards=every)

    def fused(self, graph: FrozenGraph) -> FrozenGraph:
        """The graph with everything in loops that these can have."""
        return fuse(graph, self._choices)

    def fused_inside(self, graph: FrozenGraph) -> FrozenGraph:
        """An inner graph likewise, its checks in the order that they had: none is made with the loop that it guards."""
        return fuse(graph, self._choices._replace(guards=none))

    def rewrites(self) -> Rewrites:
        """The lowerings of a backend."""
        why = "Steps on elements alone are run for a few elements at a time, which then stay in registers."
        interchange = Lowering(NAME, kind=EXACT, why=why, run=interchanged)
        why = "One pass over memory instead of one for each op; what only the loop reads is never stored."
        fusion = Lowering("fuse_loops", kind=EXACT, why=why, run=self.fused, inner=self.fused_inside)
        why = "What a convolution has just made is read from the cache, and stored once."
        epilogues = Lowering(epilogue.NAME, kind=EXACT, why=why, run=with_epilogues)
        return Rewrites(RULES, (STEPS_AHEAD, CHAINS, EXPANSIONS, SETTLED, MARKED, interchange, fusion, epilogues))
