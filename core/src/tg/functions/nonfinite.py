"""NaN guard: find the node of a program that first makes a NaN or an infinity.

The program is compiled in parts on its own backend, as it is before what the backend itself rewrites. A first part has
one flag for each value: whether it is finite. A second one tells NaN from infinity for the values through which a
result came to be what it is; a third gives the values of the node found. So the number of runs does not grow with the
program: it is at most four, for each level of graphs inside nodes.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg import plugin
from tg.errors import NonFiniteError, message
from tg.functions.backends import in_line
from tg.functions.compile import Program, Setting, imported, link, rewritten, supported_by
from tg.functions.debug.report import element, place, place_in
from tg.functions.debug.rounding import is_inexact, wide
from tg.functions.formula import node_text, operand_text
from tg.graph.frozen import FrozenGraph
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret_with_status
from tg.graph.operators import NAMESPACE
from tg.plugin.records import Rewrites
from tg.rewrite.driver import FOLD, rewrite
from tg.rewrite.phases import BACKEND
from tg.types.dtypes import is_complex, is_float

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.functions.backends import BackendChoice
    from tg.graph.loc import Loc
    from tg.graph.nodes import Variable
    from tg.graph.op import Op

    Array = np.ndarray[Any, Any]

OPERANDS: Final = 6  # how many a message shows


@dataclasses.dataclass(frozen=True)
class NonFinite:
    """The node of a program that first made a NaN or an infinity which reached a result."""

    title: str
    node: str  # as it is in the rewritten program; "" where an input or a constant has it
    loc: Loc | None
    place: tuple[int, ...]  # the index of the first such element
    value: Any
    operands: tuple[str, ...]
    rules: tuple[str, ...]  # that made the node
    spread: tuple[str, ...]  # where an infinity became a NaN
    runs: int  # how many partial programs were run to find it

    def __str__(self) -> str:
        rows = [("node", self.node)] if self.node else []
        rows += place(self.loc)
        rows += [("made by", ", ".join(self.rules))] if self.rules else []
        rows.append(("value", element_text(self.value, self.place)))
        rows += [(f"operand {k}", text) for k, text in enumerate(self.operands)]
        rows += [("then", text) for text in self.spread]
        return message(self.title, *rows)

    def error(self) -> NonFiniteError:
        """The exception that tells it."""
        error = NonFiniteError(str(self))
        error.found = self
        return error


def element_text(value: Any, index: tuple[int, ...]) -> str:
    """An element and its index."""
    return f"{value}" + (f" at {list(index)}" if index else "")


class Flags(NamedTuple):
    """For each value, by number, whether it has NaNs, and whether it has infinities."""

    nan: frozenset[int]
    inf: frozenset[int]


@final
class Guard:
    """Looks for what made results of one specialisation not finite."""

    def __init__(
        self, inputs: Sequence[Variable], results: Sequence[Variable], ones: Iterable[tuple[int, int]], setting: Setting
    ) -> None:
        setting = setting._replace(fixed=None)
        self.setting, self._labels = setting, [v.name or f"input {k}" for k, v in enumerate(inputs)]
        own = _lowering(plugin.registry().rewrites(setting.choice.name))
        hidden = setting._replace(exclude=setting.exclude.union(one.name for one in (*own.rules, *own.passes)))  # type: ignore[attr-defined]
        self._frozen = rewritten(imported(inputs, results, ones, setting), hidden)

    def find(self, arrays: Sequence[Array]) -> NonFinite | None:
        """The maker of the first result that is not finite; None where all are finite."""
        return _Search(self, self._frozen, self._labels).find(list(arrays))

    def run(self, graph: FunctionGraph, arrays: Sequence[Array]) -> list[Array]:
        """Compile a part of the program and run it, where "auto" chose on another backend if this one lacks an op."""
        part = graph.freeze()
        program, _ = in_line(self.setting.choice, lambda choice: self._linked(FunctionGraph.thaw(part), choice))
        outputs, _ = program.executable.run(list(arrays))
        return [program.executable.to_numpy(v) for v in outputs]

    def _linked(self, graph: FunctionGraph, choice: BackendChoice) -> Program:
        setting = self.setting._replace(choice=choice, exclude=self.setting.exclude | {FOLD})
        lowering, supported = _lowering(plugin.registry().rewrites(choice.name)), supported_by(choice.name)
        mode, exclude = setting.rewrite_mode, setting.exclude
        return link(rewrite(graph, [lowering], supported=supported, mode=mode, exclude=exclude), setting)


def _lowering(rewrites: Rewrites) -> Rewrites:
    """The rewrites that are a backend's own."""
    rules, passes = (tuple(one for one in group if _is_own(one)) for group in (rewrites.rules, rewrites.passes))
    return Rewrites(rules, passes)


def _is_own(rewrite: Any) -> bool:
    return bool(rewrite.phase == BACKEND)


class _Search:
    """The search through one program, or through a graph inside it."""

    def __init__(self, guard: Guard, frozen: FrozenGraph, labels: Sequence[str], runs: int = 0) -> None:
        self.guard, self.frozen, self.labels, self.runs = guard, frozen, labels, runs
        self.makers = {k: n for n, node in enumerate(frozen.nodes) for k in node.outputs}

    def find(self, arrays: list[Array]) -> NonFinite | None:
        flags = self.flags(arrays)
        bad = [k for k, number in enumerate(self.frozen.outputs) if number in flags.nan or number in flags.inf]
        if not bad:
            return None
        output = next((k for k in bad if self.frozen.outputs[k] in flags.nan), bad[0])
        number = self.frozen.outputs[output]
        if number not in flags.nan:
            return self.report(output, "an infinity", self.source(number, flags.inf), arrays, ())
        first = self.source(number, flags.nan)
        node = self.makers.get(first)
        if node is None:
            return self.report(output, "NaN", first, arrays, ())
        infinite = [k for k in self.frozen.nodes[node].inputs if k in flags.inf]
        if infinite and not self.is_maker(node, arrays):
            source = min(self.source(k, flags.inf) for k in infinite)
            if source in self.makers:
                return self.report(output, "NaN", source, arrays, (node,))
        return self.report(output, "NaN", first, arrays, ())

    def source(self, number: int, marked: frozenset[int]) -> int:
        """The first marked value in program order, of those that a marked value comes from, that none came from."""
        stack, visited, sources = [number], {number}, list[int]()
        while stack:
            k = stack.pop()
            node = self.makers.get(k)
            below = [j for j in (self.frozen.nodes[node].inputs if node is not None else ()) if j in marked]
            if not below:
                sources.append(k)
            stack.extend(j for j in below if j not in visited)
            visited.update(below)
        results = [k for k in sources if k in self.makers]
        return min(results or sources)

    def flags(self, arrays: Sequence[Array]) -> Flags:
        """The values that have NaNs and infinities: one run says which are not finite, one more what these have."""
        frozen = self.frozen
        leaves = {**dict(enumerate(arrays)), **{frozen.arity + k: c.data for k, c in enumerate(frozen.constants)}}
        numbers = [k for k in sorted(self.makers) if _is_floating(frozen, k)]
        bad = {k for k, marks in self.marks(numbers, arrays, (_not_finite,)).items() if marks[0]}
        bad.update(k for k, array in leaves.items() if is_inexact(array) and not np.isfinite(wide(array)).all())
        reached = self.reached(bad)
        kinds = self.marks([k for k in reached if k in self.makers], arrays, (NAMESPACE.isnan, NAMESPACE.isinf))
        for k in reached:
            if k in leaves:
                kinds[k] = (bool(np.isnan(wide(leaves[k])).any()), bool(np.isinf(wide(leaves[k])).any()))
        return Flags(*(frozenset(k for k, marks in kinds.items() if marks[place]) for place in (0, 1)))

    def marks(
        self, numbers: Sequence[int], arrays: Sequence[Array], tests: Sequence[Any]
    ) -> dict[int, tuple[bool, ...]]:
        """For some values whether tests are true anywhere: one run of the program with so many flags."""
        if not numbers:
            return {}
        graph = _thawed(self.frozen, numbers)
        flags = [NAMESPACE.any(test(v)) for test in tests for v in graph.outputs]
        with graph.needs:
            graph.outputs = (graph.absorb(NAMESPACE.stack(flags)),)
        self.runs += 1
        rows = self.guard.run(graph, arrays)[0].reshape(len(tests), len(numbers))
        return {k: tuple(map(bool, row)) for k, row in zip(numbers, rows.T, strict=True)}

    def reached(self, marked: Iterable[int]) -> list[int]:
        """The marked values from which an output is made through nothing but marked values."""
        wanted, live = set(marked), dict[int, None]()
        stack = [k for k in self.frozen.outputs if k in wanted]
        while stack:
            k = stack.pop()
            if k not in live:
                live[k] = None
                node = self.makers.get(k)
                stack.extend(j for j in (self.frozen.nodes[node].inputs if node is not None else ()) if j in wanted)
        return sorted(live)

    def values(self, numbers: Sequence[int], arrays: Sequence[Array]) -> dict[int, Array]:
        """Some values, by a run of the program up to them."""
        frozen = self.frozen
        by_number = {k: arrays[k] for k in numbers if k < frozen.arity}
        for k in numbers:
            constant = frozen.constant(k)
            if constant is not None:
                by_number[k] = constant.data
        wanted = [k for k in dict.fromkeys(numbers) if k not in by_number]
        if wanted:
            self.runs += 1
            by_number.update(zip(wanted, self.guard.run(_thawed(frozen, wanted), arrays), strict=True))
        return by_number

    def is_maker(self, n: int, arrays: Sequence[Array]) -> bool:
        """Whether a node makes a NaN of operands that are finite at that element."""
        node = self.frozen.nodes[n]
        if not node.op.pointwise:
            return False
        by_number = self.values((*node.inputs, *node.outputs), arrays)
        bad = np.isnan(wide(by_number[node.outputs[0]]))
        with np.errstate(all="ignore"):
            for k in node.inputs:
                if is_inexact(by_number[k]):
                    bad = bad & np.isfinite(wide(by_number[k]))
        return bool(bad.any())

    def report(self, output: int, what: str, number: int, arrays: list[Array], then: Sequence[int]) -> NonFinite:
        """The report of the value in which a NaN or an infinity first stands."""
        frozen, n = self.frozen, self.makers.get(number)
        title = f"{self.guard.setting.name}: result {output} has {what}"
        if n is None:
            array = self.values([number], arrays)[number]
            index = _first(array, finite=())
            source = f"input {self.labels[number]!r}" if number < frozen.arity else "a constant"
            return NonFinite(f"{title}, which {source} has", "", None, index, array[index], (), (), (), self.runs)
        node, origin = frozen.nodes[n], frozen.origins.get(n)
        data = self.values((*node.inputs, number), arrays)
        inner = self.inside(node.op, [data[k] for k in node.inputs])
        if inner is not None:
            return inner
        array = data[number]
        index = _first(array, [data[k] for k in node.inputs] if node.op.pointwise else ())
        operands = tuple(
            f"{operand_text(frozen, k)}: {_summary(data[k], place_in(data[k], index) if node.op.pointwise else None)}"
            for k in node.inputs[:OPERANDS]
        )
        return NonFinite(
            f"{title}: {node.op.name} makes {_kind(array[index])} of finite operands",
            node_text(frozen, n),
            origin.locs[0] if origin is not None and origin.locs else None,
            index,
            array[index],
            operands,
            origin.rules if origin is not None else (),
            tuple(_then(frozen, k) for k in then),
            self.runs,
        )

    def inside(self, op: Op, arrays: list[Array]) -> NonFinite | None:
        """The node inside an inner graph, in the first application of one whose results are not finite."""
        for graph, operands in op.applications(*arrays):
            outputs, _ = interpret_with_status(graph, operands)
            if all(not is_inexact(v) or np.isfinite(wide(v)).all() for v in outputs):
                continue
            search = _Search(self.guard, graph, [f"operand {k}" for k in range(graph.arity)], self.runs)
            cause = search.find([*map(np.asarray, operands)])
            return None if cause is None else dataclasses.replace(cause, runs=search.runs)
        return None


def _thawed(frozen: FrozenGraph, numbers: Sequence[int]) -> FunctionGraph:
    """A graph of some of the values of a program, without its checks, which have held."""
    parts = (frozen.arity, frozen.types, frozen.constants, frozen.nodes, numbers, (), frozen.names, frozen.origins)
    return FunctionGraph.thaw(FrozenGraph(*parts))


def _not_finite(v: Variable) -> Any:
    return NAMESPACE.logical_not(NAMESPACE.isfinite(v))


def _is_floating(frozen: FrozenGraph, number: int) -> bool:
    dtype = frozen.types[number].dtype
    return is_float(dtype) or is_complex(dtype)


def _first(array: Array, finite: Sequence[Array]) -> tuple[int, ...]:
    """The first element that is not finite, of those whose operands are, where there are such."""
    bad = ~np.isfinite(wide(array))
    own = bad
    for x in finite:
        if is_inexact(x):
            own = own & np.isfinite(wide(x))
    return tuple(int(k) for k in np.argwhere(own if own.any() else bad)[0])


def _kind(value: Any) -> str:
    return "NaN" if np.isnan(wide(np.asarray(value))) else "an infinity"


def _summary(array: Array, index: tuple[int, ...] | None) -> str:
    """The range of an operand, and its element at an index."""
    if not array.size:
        return "empty"
    real = array if array.dtype.kind in "biu" else np.abs(array) if array.dtype.kind == "c" else wide(array)
    text = f"from {real.min()} to {real.max()}" + (" in size" if array.dtype.kind == "c" else "")
    return text if index is None or (array.size == 1 and not index) else f"{text}; {element(array, index)}"


def _then(frozen: FrozenGraph, n: int) -> str:
    origin = frozen.origins.get(n)
    where = f"   at {origin.locs[0]}" if origin is not None and origin.locs else ""
    return f"{node_text(frozen, n)} makes NaN of it{where}"
