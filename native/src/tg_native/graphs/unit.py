"""Unit of compilation: the functions of a graph and of those inside of it, and what people are shown of them."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tg.graph.collector import paused
from tg_native.graphs.written import NAMES
from tg_native.plan.shapes import needs_plan, shapes_of
from tg_native.show.shown import Calls, renamed, values_named, with_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tg.graph.frozen import FrozenGraph
    from tg.graph.nodes import Constant
    from tg.graph.op import Op
    from tg.link.linker import Request
    from tg.plugin.records import Rule
    from tg_native.graphs.function import GraphFunction
    from tg_native.graphs.ticks import Ticks
    from tg_native.loops.repeats import Forms
    from tg_native.plan.shapes import Shapes
    from tg_native.show.shown import Language


class Unit(abc.ABC):
    """Collects the functions of graphs, and the rules that they have in loops."""

    language: ClassVar[Language]
    more: ClassVar[str]
    """What ends the short form, with the `{count}` of the lines of the whole."""
    threads: int = 1

    def __init__(self, request: Request, ticks: Ticks | None = None) -> None:
        """Begin one; with `ticks`, one that takes the time of its parts."""
        self.request, self.ticks = request, ticks
        self.calls = Calls()
        self.forms: Forms = {}
        self.texts: list[tuple[str, GraphFunction]] = []  # of each function its own, those first that others call
        self._names: dict[FrozenGraph, str] = {}
        self._rules: dict[object, Rule] = {}
        self._shapes: dict[FrozenGraph, Shapes] = {}
        self._makers: dict[FrozenGraph, dict[int, int]] = {}
        self.arrays: list[np.ndarray[Any, Any]] = []  # that the code is given besides inputs and outputs
        self._places: dict[object, int] = {}

    @abc.abstractmethod
    def graph_function(self, graph: FrozenGraph, name: str, *, is_main: bool, plans: bool = False) -> GraphFunction:
        """The function of a graph, to be written."""

    def write(self, graph: FrozenGraph) -> GraphFunction:
        """Write the functions of the program: the main one, and, where there is to be one, that of lengths."""
        return paused(self._write)(graph)

    def _write(self, graph: FrozenGraph) -> GraphFunction:
        main = self.graph_function(graph, NAMES["run"], is_main=True)
        text = main.text()
        if main.overwriting.fails_late:
            main = self.graph_function(graph, NAMES["run"], is_main=True)
            main.overwrites_late = True
            text = main.text()
        self.texts.append((text, main))
        if needs_plan(graph):
            self._add(self.graph_function(graph, NAMES["plan"], is_main=True, plans=True))
        return main

    def function(self, graph: FrozenGraph) -> str:
        """The name of the function of an inner graph: one for equal graphs."""
        name = self._names.get(graph)
        if name is None:
            name = self._names[graph] = f"graph{len(self._names) + 1}"
            self._add(self.graph_function(graph, name, is_main=False))
        return name

    def _add(self, function: GraphFunction) -> None:
        self.texts.append((function.text(), function))

    def rule(self, op: Op) -> Rule:
        """The rule for an op inside a scalar program."""
        scalar_rule = self._rules.get(op.rule_key)
        if scalar_rule is None:
            new_rule = self.request.rule_for(op.rule_key)
            assert new_rule is not None, f"{op.name} in a loop has a rule"
            scalar_rule = self._rules[op.rule_key] = new_rule
        return scalar_rule

    def argument(self, constant: Constant) -> int:
        """The place of a constant, whose elements are contiguous, among the arrays that the code is given."""
        place = self._places.setdefault(constant.key, len(self.arrays))
        if place == len(self.arrays):
            self.arrays.append(np.ascontiguousarray(constant.data))
        return place

    def shapes(self, graph: FrozenGraph) -> Shapes:
        """The lengths in a graph."""
        lengths = self._shapes.get(graph)
        if lengths is None:
            lengths = self._shapes[graph] = shapes_of(graph)
        return lengths

    def makers(self, graph: FrozenGraph) -> dict[int, int]:
        """The node that makes each value."""
        table = self._makers.get(graph)
        if table is None:
            table = {number: k for k, node in enumerate(graph.nodes) for number in node.outputs}
            self._makers[graph] = table
        return table

    # --- what people are shown ---------------------------------------------------------------------------------------

    def named(self, name: str, text: str, language: Language) -> str:
        """A loop with its parameters under the user's names."""
        return renamed(text, self.calls.parameters(name), language)

    def short(self, loops: Mapping[str, str], functions: Iterable[tuple[str, GraphFunction]], count: int) -> str:
        """The short form: loops in the order of their calls, and functions, under the user's names.

        Args:
            loops: their texts, in which parameters have these names.
            functions: their texts, with the user's lines.
            count: of the lines of the whole.
        """
        parts = [*self.calls.in_order(loops).values()]
        for text, function in functions:
            if not function.plans:
                parts.append(renamed(text, values_named(function.values, function.graph), self.language))
        parts.append(self.more.format(count=count))
        return with_names("\n\n".join(parts) + "\n", self.language)
