"""The driver: runs the phases over a function graph, one sweep each, and gives back the frozen program."""

from __future__ import annotations

import functools
from itertools import starmap
from typing import TYPE_CHECKING, Any, Final, Protocol, final

import numpy as np

from tg.errors import RewriteError, TgError, blamed, message
from tg.graph import loc as locs
from tg.graph.checks import STATUS_LENGTH, checks_of
from tg.graph.collector import paused
from tg.graph.function_graph import FunctionGraph
from tg.graph.nodes import Constant, Variable
from tg.graph.operators import NAMESPACE
from tg.graph.timing import Span
from tg.rewrite.fold import folded
from tg.rewrite.journal import Journal
from tg.rewrite.pattern import kind_of
from tg.rewrite.phases import BACKEND, CANONICALIZE, EXPAND, PHASES, SWEEPS, allowed_kinds
from tg.rewrite.rule import Checked, Lowering, Pass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.checks import Check
    from tg.graph.frozen import FrozenGraph
    from tg.graph.nodes import Apply
    from tg.graph.op import Op
    from tg.graph.view import View
    from tg.rewrite.rule import Attempt, Rule
    from tg.types.tensor_type import TensorType

    Outputs = tuple[Variable, ...]
    Replacement = tuple[str, Outputs] | None
    Supported = Callable[[Op, tuple[TensorType, ...]], bool]
    SourceOf = Callable[[str], tuple[str, str] | None]
    Signature = tuple[object, ...]  # the key of an op and the kinds of its operands
    Attempts = tuple[
        tuple[int, tuple[tuple[str, Attempt], ...]], ...
    ]  # by the bit of a phase: names and what tries them

FOLD: Final = "fold_constants"
INNER: Final = "inner_graph"
MOST_KINDS: Final = 4  # of more operands only the set of what makes them selects the rules to try
BITS: Final = {phase: 1 << k for k, phase in enumerate(PHASES)}
EXPANDING: Final = (EXPAND, BACKEND)  # the second for checks of lengths whose equality came to light there


class HasRewrites(Protocol):
    """One plugin's rules and passes, as `tg.plugin.Rewrites` is."""

    @property
    def rules(self) -> tuple[Any, ...]:
        """The local rules."""

    @property
    def passes(self) -> tuple[Any, ...]:
        """The passes over whole graphs."""


@paused
def rewrite(
    graph: FunctionGraph,
    rewrites: Sequence[HasRewrites],
    *,
    supported: Supported,
    mode: str = "default",
    exclude: frozenset[str] = frozenset(),
    journal: Journal | None = None,
    source_of: SourceOf = lambda name: None,
    arrange: Callable[[FrozenGraph], FrozenGraph] = lambda frozen: frozen,
    before_lowering: Lowering | None = None,
) -> FrozenGraph:
    """Run all phases over a graph, which is used up, and freeze it.

    Args:
        supported: whether the backend has a rule for an op with operands of these types; others are expanded.
        mode: "default": all classes of rules but nan_unsafe; "strict": exact ones; "finite": all; "off": expansions
            only.
        exclude: names of rules, passes and classes not to apply; "fold_constants" is folding.
        journal: is told everything.
        source_of: for messages the plugin that gave a rewrite, and how to do without it; None for core's own.
        arrange: rearranges the program before it is lowered.
        before_lowering: a step between the phases and the backend's lowerings, in every mode.
    Raises:
        PluginError: a plugin's rewrite has raised, which is the cause.
        RewriteError: the rules do not come to an end, or one changes a dtype or a rank.
        OptionError: there is no such mode.
    """
    rules = tuple(r for one in rewrites for r in one.rules)
    passes = tuple(p for one in rewrites for p in one.passes)
    with Span("index"):
        index = _index(rules, mode, exclude)
    driver = _Driver(index, passes, supported, mode, exclude)
    driver.journal, driver.source_of = journal, source_of
    if before_lowering is not None:
        driver.lowerings.insert(0, before_lowering)
    return driver.run(graph, arrange)


@final
class Index:
    """The rules that a mode lets run: by phase, by what they are tried on, and by what is below it.

    How long a node takes does not grow with the number of rules: which ones can apply to an op over operands of these
    kinds is found once, and kept for all nodes and compilations.
    """

    __slots__ = ("_found", "by_phase")

    def __init__(self, rules: Sequence[Rule], kinds: frozenset[str], exclude: frozenset[str]) -> None:
        self.by_phase: dict[str, dict[object, list[Rule]]] = {phase: {} for phase in PHASES}
        self._found: dict[str, dict[Signature, Attempts]] = {phase: {} for phase in PHASES}
        for one in rules:
            if one.kind in kinds and one.kind not in exclude and one.name not in exclude:
                for key in one.keys:
                    self.by_phase[one.phase].setdefault(key, []).append(one)

    def attempts(self, phase: str) -> dict[Signature, Attempts]:
        """Attempts that are known for the sweep of a phase, by the op's key and the kinds of its operands."""
        return self._found[phase]

    def find(self, op: Op, signature: Signature, phase: str) -> Attempts:
        """Rules that a phase's sweep tries on an op over operands of these kinds, each phase's rules with its bit."""
        groups = []
        for p in SWEEPS[phase]:
            tried = [(one.name, one.for_kinds(signature[1:])) for one in self._rules_for(op, p)]
            possible = tuple((name, attempt) for name, attempt in tried if attempt is not None)
            if possible:
                groups.append((BITS[p], possible))
        attempts = self._found[phase][signature] = tuple(groups)
        return attempts

    def _rules_for(self, op: Op, phase: str) -> list[Rule]:
        """The rules of a phase for an op, those for its function before those for its class."""
        table = self.by_phase[phase]
        key, cls = op.rule_key, type(op)
        rules = table.get(key, [])
        return rules + table.get(cls, []) if key is not cls else rules


@functools.lru_cache(maxsize=32)
def _index(rules: tuple[Rule, ...], mode: str, exclude: frozenset[str]) -> Index:
    return Index(rules, allowed_kinds(mode), exclude)


@final
class _Driver:
    """Shared state of one compilation's rewriting over its phases and inner graphs."""

    def __init__(
        self, index: Index, passes: Sequence[Pass | Lowering], supported: Supported, mode: str, exclude: frozenset[str]
    ) -> None:
        kinds = allowed_kinds(mode)
        self.index, self.supported, self.mode = index, supported, mode
        self.folds = mode != "off" and FOLD not in exclude
        chosen = [p for p in passes if p.kind in kinds and p.kind not in exclude and p.name not in exclude]
        self.passes = [p for p in chosen if isinstance(p, Pass)]
        self.lowerings = [p for p in chosen if isinstance(p, Lowering)]
        self.phases = PHASES if mode != "off" else (EXPAND,)
        self.inner: dict[tuple[str, FrozenGraph], FrozenGraph] = {}
        self.journal: Journal | None = None
        self.source_of: SourceOf = lambda name: None
        self.failure: Exception | None = None  # that says already what has failed

    def failed(self, error: Exception, what: str, name: str, node: Apply | None = None) -> Exception:
        """The error to raise for one of a rewrite: a plugin's is named; one of core's keeps its class and gets a note.

        What tg itself finds wrong goes on as it is, but for a note where a plugin is to blame.
        """
        source = self.source_of(name)
        if (source is None and isinstance(error, TgError)) or error is self.failure:
            return error
        lines: list[tuple[str, str]] = []
        if node is not None:
            operands = ", ".join(str(v.type) for v in node.inputs)
            lines.append(("node", f"{node.op.name}({operands})"))
            if node.loc is not None:
                lines.append(("at", f"{node.loc}:  {node.loc.source}"))
        if source is None:
            error.add_note("  in " + message(f"{what} {name}", *lines).replace("\n", "\n  "))
            self.failure = error
        else:
            self.failure = blamed(error, f"{what} {name}", *lines, ("plugin", source[0]), hint=source[1])
        return self.failure

    def run(self, graph: FunctionGraph, arrange: Callable[[FrozenGraph], FrozenGraph]) -> FrozenGraph:
        tried: dict[int, int] = {}
        journal = self.journal
        if journal is not None:
            journal.begins(graph)
        for phase in self.phases:
            with Span(phase):
                if self.has_work(graph, phase):
                    with Span("rules"):
                        _Sweeper(self, graph, phase, tried).run()
                self.run_passes(graph, phase, tried)
            if journal is not None:
                journal.ends_phase(graph, phase)
        with Span("freeze"):
            frozen = arrange(graph.freeze())
        for one in self.lowerings:
            with Span(one.name):
                before = frozen
                try:
                    frozen = _lowered(frozen, one, one.run)
                except Exception as error:  # noqa: BLE001 (raised again, named)
                    raise self.failed(error, "lowering", one.name)  # noqa: B904 (it has its cause)
            if journal is not None:
                journal.lowers(one.name, before, frozen)
        return frozen

    def run_passes(self, graph: FunctionGraph, phase: str, tried: dict[int, int]) -> None:
        """The passes of a phase over one graph, each followed by a sweep over what it replaced."""
        for one in self.passes:
            if one.phase == phase:
                view = graph._view or _viewed(graph)
                if one.keys and view.kinds.isdisjoint(one.keys):
                    continue
                with Span(one.name):
                    try:
                        with graph.needs, locs.at(None):
                            replacements = dict(one.run(view) or {})
                    except Exception as error:  # noqa: BLE001 (raised again, named)
                        raise self.failed(error, "pass", one.name)  # noqa: B904 (it has its cause)
                    if replacements:
                        _Sweeper(self, graph, phase, tried, one.name, replacements).run()

    def has_work(self, graph: FunctionGraph, phase: str) -> bool:
        """Whether a phase has rules, or something to expand; new nodes have been swept when they were made."""
        if phase == CANONICALIZE or self.index.by_phase[phase]:
            return True
        ops = graph.ops
        return any(type(op).graph_fields or (phase == EXPAND and op.expands) for op in ops)

    def inner_phase(self, frozen: FrozenGraph, phase: str) -> FrozenGraph:
        """An inner graph after a phase, once for equal graphs; what a phase gave it leaves alone."""
        result = self.inner.get((phase, frozen))
        if result is None:
            graph = FunctionGraph.thaw(frozen)
            if self.journal is not None:
                self.journal.inside(phase, frozen, graph)
            tried: dict[int, int] = {}
            _Sweeper(self, graph, phase, tried).run()
            self.run_passes(graph, phase, tried)
            result = graph.freeze_inside(frozen)
            self.inner[phase, frozen] = self.inner[phase, result] = result
        return result


def _viewed(graph: FunctionGraph) -> View:
    """The graph as passes see it, and which ops it has."""
    with Span("view"):
        view = graph.view()
        assert view.kinds is not None
        return view


def _lowered(frozen: FrozenGraph, lowering: Lowering, run: Callable[[FrozenGraph], FrozenGraph]) -> FrozenGraph:
    """A program after a lowering of its inner graphs and of itself.

    Raises:
        RewriteError: the checks of an inner graph are not what they were.
    """
    nodes = list(frozen.nodes)
    for k, node in enumerate(nodes):
        if type(node.op).graph_fields:
            inner = [_lowered(g, lowering, lowering.inner) for g in node.op.inner_graphs()]
            nodes[k] = node._replace(op=node.op.with_inner_graphs(inner))
            if nodes[k].op.inner_descriptors != node.op.inner_descriptors:
                text = f"rewrite: {lowering.name} has changed the checks of an inner graph"
                raise RewriteError(message(text, ("node", node.op.name)))
    return run(frozen.with_nodes(nodes))


@final
class _Sweeper:
    """One phase over one graph: the transform of the sweep and the checks that its replacements need.

    A sweep for a pass makes the pass's replacements, by the values' ids, before it tries any rule.
    """

    def __init__(
        self,
        driver: _Driver,
        graph: FunctionGraph,
        phase: str,
        tried: dict[int, int],
        pass_name: str = "",
        changes: dict[int, Variable] | None = None,
    ) -> None:
        self.pass_name, self.given = pass_name, changes
        self.driver, self.graph, self.phase = driver, graph, phase
        self.tried = tried  # by node: the phases whose rules all declined; what is below a node never changes
        self.bits = sum(BITS[p] for p in SWEEPS[phase])
        self.attempts = driver.index.attempts(phase)
        self.checks: list[tuple[Check, Apply]] = []  # those that replacements need, and what each protects
        self.last: tuple[str, Apply | None] | None = (pass_name, None) if changes else None  # what has replaced a value

    def run(self) -> None:
        if isinstance(self.graph.recorder, Journal):
            self.graph.recorder.begins_sweep(self.phase)
        try:
            with locs.at(None):
                self.graph.rewrite(self.transform, self.checks, self.given, self.pass_name)
        except Exception as error:
            if self.last is not None and error is not self.driver.failure and self.driver.source_of(self.last[0]):
                raise self.driver.failed(error, "rewrite", *self.last)  # noqa: B904 (it has its cause)
            raise

    def transform(self, node: Apply, outputs: Outputs) -> Replacement:
        """The replacement of a node by the first rule that applies."""
        done = self.tried.get(id(node), 0)
        if done & self.bits == self.bits:
            return None
        inputs = node.inputs
        count = len(inputs)
        if count == 1:
            signature: Signature = (node.key, kind_of(inputs[0]))
        elif count == 2:
            signature = (node.key, kind_of(inputs[0]), kind_of(inputs[1]))
        elif count <= MOST_KINDS:
            signature = (node.key, *map(kind_of, inputs))
        else:
            signature = (node.key, *frozenset(map(kind_of, inputs)))
        attempts = self.attempts.get(signature)
        if attempts is None:
            attempts = self.driver.index.find(node.op, signature, self.phase)
        op = node.op
        if not attempts and not type(op).graph_fields and not (op.expands and self.phase in EXPANDING):
            if self.driver.folds and not (count and type(inputs[-1]) is not Constant):
                locs.fix(node.loc)
                return self._folded(node, outputs)
            return None
        locs.fix(node.loc)
        replacement = self._engine(node, outputs) or self._by_rule(attempts, done, node, outputs)
        if replacement is None:
            self.tried[id(node)] = done | self.bits
        return replacement

    def _by_rule(self, attempts: Attempts, done: int, node: Apply, outputs: Outputs) -> Replacement:
        for bit, group in attempts:
            if not done & bit:
                for name, attempt in group:
                    try:
                        target = attempt(node, outputs)
                        if target is not None and all(map(self._is_precise, outputs, target)):
                            self.last = name, node
                            if node.op.inner_descriptors:
                                self._recheck(node, target)
                            if type(target) is Checked:
                                self._check_new(target, node)
                            return name, target
                    except Exception as error:  # noqa: BLE001 (raised again, named)
                        raise self.driver.failed(error, "rewrite", name, node)  # noqa: B904 (it has its cause)
        return None

    def _recheck(self, node: Apply, target: Outputs) -> None:
        """Let the status of inner graphs be told by the checks that a rule has left in them."""
        new_node = target[-1].apply
        if new_node is not None and new_node.op.inner_descriptors not in ((), node.op.inner_descriptors):
            self.checks.extend((check, new_node) for check in checks_of(new_node))

    def _is_precise(self, old: Variable, new: Variable) -> bool:
        """Whether a replacement loses no static length.

        A value of the graph may know less than what it would replace: a length was found equal to a known one after it
        was made. New nodes are not judged by this: their types follow again when they are interned.
        """
        return new.type.refines(old.type) or not self.graph.has(new)

    def _folded(self, node: Apply, outputs: Outputs) -> Replacement:
        constants = folded(node, outputs)
        return None if constants is None else (FOLD, constants)

    def _engine(self, node: Apply, outputs: Outputs) -> Replacement:
        """The engine's own rewrites: folding, inner graphs, and in its phase expansion."""
        if self.driver.folds:
            replacement = self._folded(node, outputs)
            if replacement is not None:
                return replacement
        op = node.op
        if type(op).graph_fields:
            replacement = self._inner(node, outputs)
            if replacement is not None:
                return replacement
        if op.expands and self.phase in EXPANDING:
            return self._expanded(node, outputs)
        return None

    def _expanded(self, node: Apply, outputs: Outputs) -> Replacement:
        op = node.op
        if self.driver.supported(op, tuple(v.type for v in node.inputs)):
            return None
        try:
            expansion = op.expansion(*node.inputs)
        except Exception as error:  # noqa: BLE001 (raised again, named)
            raise self.driver.failed(error, "expansion of", op.name, node)  # noqa: B904 (it is the same)
        target = expansion if isinstance(expansion, tuple) else (expansion,)
        pairs = zip(target, outputs, strict=True)
        target = tuple(new if self.graph.refines(new, old) else _with_numbers(new, old) for new, old in pairs)
        self._check_new(target, node)
        return f"expand {op.name}", target

    def _check_new(self, target: Outputs, node: Apply) -> None:
        """Ask for what the ops of a replacement need."""
        for new in self._new_applies(target, node):
            self.checks.extend((check, new) for check in checks_of(new))

    def _new_applies(self, target: Outputs, node: Apply) -> list[Apply]:
        """The applies below an expansion that no sweep has met, operands first."""
        applies: dict[int, Apply] = {}
        stack = list(target)
        while stack:
            new = stack.pop().apply
            if new is not None and new is not node and id(new) not in self.tried and id(new) not in applies:
                applies[id(new)] = new
                stack.extend(new.inputs)
        return list(reversed(applies.values()))

    def _inner(self, node: Apply, outputs: Outputs) -> Replacement:
        op = node.op
        before = op.inner_graphs()
        after = tuple(self.driver.inner_phase(g, self.phase) for g in before)
        if all(a is b or a == b for a, b in zip(before, after, strict=True)):
            return None
        changed = op.with_inner_graphs(after)
        target = self.graph.intern(changed, node.inputs, node)
        if target and changed.inner_descriptors != op.inner_descriptors:
            new_node = target[0].apply
            assert new_node is not None
            self.checks.extend((check, new_node) for check in checks_of(new_node))
        if len(target) < len(outputs):  # no check is left inside: the status is 0
            target = (*target, Constant(np.zeros(STATUS_LENGTH, np.int64)))
        # the status of the first check inside is read by its check alone
        return INNER, tuple(starmap(_with_numbers, zip(target, outputs, strict=False)))


def _with_numbers(new: Variable, old: Variable) -> Variable:
    """A new value with the lengths that were numbers before, where only a symbol says them now."""
    if new.type.refines(old.type) or new.type.ndim != old.type.ndim:
        return new
    pairs = zip(new.type.shape, old.type.shape, new.shape, strict=True)
    lengths = [b if a is None and b is not None else n for a, b, n in pairs]
    return NAMESPACE.state_shape(new, lengths)  # type: ignore[no-any-return]
