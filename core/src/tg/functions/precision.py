"""The precision of float32 contractions: `amp=` and `precision=` of a backend, as changes to an imported program.

They are made before anything is rewritten, of the program with its derivatives, so every backend runs the same one. An
op says which of its operands it multiplies (`Op.factors`). All else stays as it is: elementwise functions, reductions
and what is made of these read and give float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from tg.errors import DtypeError, message
from tg.graph import loc as locs
from tg.graph.checks import checks_of
from tg.graph.function_graph import FunctionGraph
from tg.graph.nodes import apply
from tg.ops.contraction import MatMul
from tg.ops.elementwise.arithmetic import add, subtract
from tg.ops.elementwise.cast import Cast, cast_variable
from tg.ops.elementwise.comparison import isfinite, where

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.graph.checks import Check
    from tg.graph.frozen import FrozenGraph
    from tg.graph.loc import Loc
    from tg.graph.nodes import Apply, Variable
    from tg.plugin.records import General

    Outputs = tuple[Variable, ...]

SINGLE: Final = "float32"
PART: Final = "bfloat16"
PAIRS: Final = {"bfloat16": ((0, 0),), "bfloat16x3": ((2, 1), (1, 2), (0, 0))}
"""For an algorithm the parts (`_parts`) of both factors that are multiplied, of the products the smallest first."""


def change_precision(graph: FunctionGraph, general: General, places: dict[int, Variable] | None = None) -> None:
    """Put the contractions of an imported program into the precision that the options say.

    Args:
        places: what each variable of the expression, by its id, is in the graph: kept true.
    Raises:
        DtypeError: they say one, and all contractions are of float64.
    """
    if general.amp is not None:
        _Change("amp", general.amp).run(graph, places)
    if general.precision != "highest":
        _Change("precision", general.precision).run(graph, places)


@final
class _Change:
    """The change that one option makes of a program and of the graphs inside its ops."""

    def __init__(self, option: str, value: str) -> None:
        self.option, self.value = option, value
        self.inner: dict[FrozenGraph, FrozenGraph] = {}
        self.single = False  # whether there was a contraction of float32
        self.double: Apply | None = None  # the first one of float64

    def run(self, graph: FunctionGraph, places: dict[int, Variable] | None) -> None:
        """Change a graph, and what variables are in it.

        Raises:
            DtypeError: all contractions are of float64.
        """
        if places is not None:
            graph.recorder = _Places(places)
        self.sweep(graph)
        graph.recorder = None
        if self.double is not None and not self.single:
            loc = self.double.loc
            place = None if loc is None else f"{loc}:  {loc.source}"
            text = f"{self.option}: {self.double.op.spelled}: found float64, needed float32"
            hint = 'with tg.config(dtype="float32"): makes float32 the default'
            raise DtypeError(message(text, hint=hint, at=place))

    def sweep(self, graph: FunctionGraph) -> None:
        """Change a graph, the graphs inside it first."""
        checks: list[tuple[Check, Apply]] = []

        def transform(node: Apply, outputs: Outputs) -> tuple[str, Outputs] | None:
            locs.fix(node.loc)
            results = self._with_inner(node) if type(node.op).graph_fields else self._replacement(node)
            if results is None:
                return None
            results = results[: len(outputs)]  # a new status is read by its check alone
            checks.extend((check, new) for new in _new_applies(graph, results) for check in checks_of(new))
            return f"{self.option}={self.value}", results

        with locs.at(None):
            graph.rewrite(transform, checks)

    def _with_inner(self, node: Apply) -> Outputs | None:
        before = node.op.inner_graphs()
        after = tuple(map(self._changed, before))
        return None if after == before else apply(node.op.with_inner_graphs(after), node.inputs)

    def _changed(self, frozen: FrozenGraph) -> FrozenGraph:
        """An inner graph after the change, once for equal ones; what the change gave it leaves alone."""
        changed = self.inner.get(frozen)
        if changed is None:
            graph = FunctionGraph.thaw(frozen)
            self.sweep(graph)
            changed = graph.freeze_inside(frozen)
            self.inner[frozen] = self.inner[changed] = changed
        return changed

    def _replacement(self, node: Apply) -> Outputs | None:
        """The results of a contraction of float32 by other ops; None for what stays."""
        factors = node.op.factors(len(node.inputs))
        dtypes = {node.inputs[k].type.dtype for k in factors}
        if "float64" in dtypes:
            self.double = self.double or node
        if SINGLE not in dtypes:
            return None
        self.single = True
        return self._narrowed(node, factors) if self.option == "amp" else self._by_parts(node, factors)

    def _narrowed(self, node: Apply, factors: Sequence[int]) -> Outputs | None:
        """The op on narrow factors, its results widened; an inner product of vectors is a reduction."""
        if isinstance(node.op, MatMul) and node.types[0].shape[-2:] == (1, 1):
            return None
        narrow = {k: cast_variable(node.inputs[k], self.value) for k in factors if _is_single(node.inputs[k])}
        results = _results(node, narrow)
        return tuple(cast_variable(v, t.dtype) for v, t in zip(results, node.types, strict=True))

    def _by_parts(self, node: Apply, factors: Sequence[int]) -> Outputs | None:
        """The sum of products of parts that bfloat16 holds; of what is no product the expansion, which has some."""
        if len(factors) != 2:
            expansion = node.op.expansion(*node.inputs) if node.op.expands else None
            return expansion if expansion is None or isinstance(expansion, tuple) else (expansion,)
        if all(_is_rounded(node.inputs[k]) for k in factors):
            return None
        parts = [_parts(node.inputs[k]) for k in factors]
        products = [
            _results(node, {k: parts[n][pair[n]] for n, k in enumerate(factors)})[0] for pair in PAIRS[self.value]
        ]
        total = products[0]
        for product in products[1:]:
            total = add(total, product)
        return (total,)


@final
class _Places:
    """A recorder that follows values through a sweep."""

    def __init__(self, places: dict[int, Variable]) -> None:
        self._places = places

    def rebuilt(self, node: Apply, outputs: Outputs) -> None:
        """Nothing: the end says it."""

    def replaced(self, name: str, old: Outputs, new: Outputs, loc: Loc | None) -> None:
        """Nothing: the end says it."""

    def swept(self, graph: FunctionGraph, done: Mapping[int, Variable], references: object) -> None:
        """Note what each value became."""
        self._places.update({key: done.get(id(v), v) for key, v in self._places.items()})


def _results(node: Apply, others: Mapping[int, Variable]) -> Outputs:
    """The op of a node on its operands, some replaced by others."""
    return apply(node.op, [others.get(k, v) for k, v in enumerate(node.inputs)])


def _is_single(v: Variable) -> bool:
    return v.type.dtype == SINGLE


def _is_rounded(v: Variable) -> bool:
    """Whether bfloat16 is seen to hold all elements."""
    return isinstance(v.op, Cast) and v.inputs[0].type.dtype == PART


def _parts(v: Variable) -> tuple[Variable, Variable, Variable]:
    """Values rounded to bfloat16, the same with 0 for what is not finite, and what rounding lost, rounded as well.

    An infinity comes of the first alone: times what the other factor lost, which is often 0, it would be NaN.
    """
    narrow = Cast(PART)(v)
    high, is_whole = Cast(SINGLE)(narrow), isfinite(narrow)
    lost = where(is_whole, subtract(v, high), 0)
    return high, Cast(SINGLE)(where(is_whole, narrow, 0)), Cast(SINGLE)(Cast(PART)(lost))


def _new_applies(graph: FunctionGraph, results: Outputs) -> list[Apply]:
    """The applies of a replacement that the graph does not have, operands first."""
    applies: dict[int, Apply] = {}
    stack = list(results)
    while stack:
        v = stack.pop()
        if v.apply is not None and not graph.has(v):
            applies.pop(id(v.apply), None)
            applies[id(v.apply)] = v.apply
            stack.extend(v.apply.inputs)
    return list(reversed(applies.values()))
