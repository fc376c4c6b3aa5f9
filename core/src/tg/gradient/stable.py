"""Stable forms before derivatives: a cost is differentiated as softplus, logsumexp or norm, however it was written.

One sweep in topological order over the cone between outputs and variables; equal nodes are one, so that a rule meets
its operands. What is differentiated by stays as it is, behind a fence that no rule looks through. The configuration in
force decides: mode "off" and what is excluded leave the cone as written, "strict" has exact forms only.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.configuration import current
from tg.gradient.lengths_met import LengthsMet
from tg.gradient.reading import KINKS
from tg.graph import loc as locs
from tg.graph.nodes import Apply, Constant, Variable, apply
from tg.graph.traversal import key_of, sorted_applies
from tg.ops.elementwise.cast import Cast
from tg.ops.shape import Named
from tg.rewrite.pattern import kind_of
from tg.rewrite.phases import allowed_kinds
from tg.types.dtypes import is_inexact
from tg.types.lengths import same

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.checks import Check
    from tg.graph.frozen import FrozenGraph
    from tg.rewrite.rule import Attempt, Rule

    Key = tuple[int, int]

MOST: Final = 8  # rules that one node goes through
LARGEST: Final = 4096  # kinds of nodes and operands that are remembered
OFF: Final = "off"
FENCE: Final = Named("")


def stable(
    outputs: Sequence[Variable], barriers: Sequence[Variable]
) -> tuple[list[Variable], Callable[[Variable], Variable]]:
    """The outputs in stable forms, and what stands in them for a variable by which they are differentiated."""
    rules = _rules_in_force()
    if not rules.by_key:
        return list(outputs), _itself
    sweep = _Sweep(rules, barriers)
    with locs.at(None):
        for node, results in sorted_applies(outputs):
            sweep.visit(node, results)
    return [sweep.value(v) for v in outputs], sweep.value


def _itself(v: Variable) -> Variable:
    return v


class Opened(NamedTuple):
    """A graph that an op holds, over variables, and its stated checks."""

    inputs: list[Variable]
    written: Sequence[Variable]
    checks: list[Check]
    outputs: list[Variable]  # in stable forms
    reads: list[int]  # of each output the inputs on which it depends through floating values, as bits
    kinks: bool  # whether there are slopes that are conventions
    regular: dict[tuple[int, ...], list[int]]  # what is known of outputs, by what is known of inputs


def opened(graph: FrozenGraph) -> Opened:
    """A graph over variables of its own, the same ones while the same rules are in force."""
    rules = _rules_in_force()
    entry: Opened | None = graph.opened(rules)
    if entry is None:
        inputs = [Variable(t) for t in graph.input_types]
        written, checks = graph.instantiate_with_checks(inputs)
        outputs = stable(written, inputs)[0]
        kinks = any(has_kinks(node) for node, _ in sorted_applies(outputs))
        entry = Opened(inputs, written, checks, outputs, leaves_below(outputs, inputs), kinks, {})
        graph.keep_opened(rules, entry)
    return entry


def has_kinks(node: Apply) -> bool:
    """Whether a node multiplies by a slope that is a convention, or a graph that it holds does."""
    op = node.op
    return node.key in KINKS or (bool(op.graph_fields) and any(opened(graph).kinks for graph in op.inner_graphs()))


def leaves_below(outputs: Sequence[Variable | None], leaves: Sequence[Variable]) -> list[int]:
    """Of each value the leaves on which it depends through floating values, as bits."""
    bits = {key_of(v): 1 << k for k, v in enumerate(leaves) if is_inexact(v.type.dtype)}
    for node, _ in sorted_applies([v for v in outputs if v is not None], boundary=leaves):
        below = 0
        for v in node.inputs:
            below |= bits.get(key_of(v), 0)
        for k, t in enumerate(node.types):
            if below and is_inexact(t.dtype):
                bits[id(node), k + 1] = below
    return [0 if v is None else bits.get(key_of(v), 0) for v in outputs]


class _Sweep:
    """The values of a cone in their stable forms, by key."""

    def __init__(self, rules: _Rules, barriers: Sequence[Variable]) -> None:
        self.rules, self.attempts = rules
        self.fenced = {key_of(v): v for v in barriers if v.apply is not None}
        self.leading = {key_of(v) for v in barriers}  # the keys of what depends on a barrier
        self.done: dict[Key, Variable] = {}
        self.equal: dict[Any, tuple[Apply, Sequence[Variable | None]]] = {}
        """By op and operands the first node, and what stands for its results."""
        self.met = LengthsMet()
        if len(self.attempts) > LARGEST:
            self.attempts.clear()

    def value(self, v: Variable) -> Variable:
        """The stand-in of a variable."""
        return self.done.get(key_of(v), v)

    def visit(self, node: Apply, results: Sequence[Variable | None]) -> None:
        """Find what stands for the results of a node, whose operands have been visited."""
        done, leading, leads, changed = self.done, self.leading, False, False
        if isinstance(node.op, Cast) and node.inputs[0].type == node.types[0] and (id(node), 1) not in self.fenced:
            done[id(node), 1] = self.value(node.inputs[0])  # a mark, which would hide a form from the rules
            return
        operands: list[Variable] = []
        identity: list[Any] = [node.op]
        for v in node.inputs:
            below = v.apply
            key: Any = (id(v), 0) if below is None else (id(below), v.index + 1)
            u = done.get(key, v)
            if u is not v:
                key = key_of(u)
                if is_inexact(v.type.dtype):
                    changed = True
                else:
                    u = v  # an equal length or condition: nothing has to be made again for it
            operands.append(u)
            if key in leading:
                leads = True
            elif below is None and type(v) is Constant and not v.type.shape:
                key = v.key
            identity.append(key)
        twin, twin_results = self.equal.get(identified := tuple(identity), (node, results))
        if twin is not node:
            values: Sequence[Variable | None] = [
                u if v is None or u is not None else Variable(t, twin, k)
                for k, (v, u, t) in enumerate(zip(results, twin_results, twin.types, strict=True))
            ]
        else:
            values = results
            if changed or (leads and node.key in self.rules):
                values = self._made(node, results, operands, changed, leads)
            self.equal[identified] = node, values
        if not leads and values is results and not self.fenced:
            return
        for k, new in enumerate(values):
            key = id(node), k + 1
            barrier = self.fenced.get(key)
            if barrier is not None:
                locs.fix(node.loc)
                done[key] = fence = FENCE(barrier)
                leading.add(key_of(fence))
            elif new is not None and new is not results[k]:
                done[key] = new
                if leads:
                    leading.add(key_of(new))
            if leads:
                leading.add(key)

    def _made(
        self,
        node: Apply,
        results: Sequence[Variable | None],
        operands: Sequence[Variable],
        changed: bool,
        leads: bool,
    ) -> Sequence[Variable | None]:
        locs.fix(node.loc)
        outputs = _again(node, results, operands) if changed else results
        v = outputs[0]
        if not leads or len(outputs) != 1 or v is None:
            return outputs
        for _ in range(MOST):
            better = self._better(v)
            if better is None:
                break
            v = better
        return (v,)

    def _better(self, v: Variable) -> Variable | None:
        """The value by the first rule that applies."""
        node = v.apply
        if node is None:
            return None
        key = node.key
        tried = self.rules.get(key)
        if tried is None:
            return None
        signature = (key, *[kind_of(u) for u in node.inputs])
        attempts = self.attempts.get(signature)
        if attempts is None:
            pairs = [(one.name, one.for_kinds(signature[1:])) for one in tried]
            attempts = self.attempts[signature] = tuple((name, one) for name, one in pairs if one is not None)
        for name, attempt in attempts:
            if node.loc is not None:
                locs.fix(node.loc.by(name))
            replaced = attempt(node, (v,))
            if replaced is None or replaced[0].type.dtype != v.type.dtype:
                continue
            if self.met.of(v) == self.met.of(replaced[0]):
                return replaced[0]
        return None


def _again(node: Apply, results: Sequence[Variable | None], operands: Sequence[Variable]) -> Sequence[Variable | None]:
    """The results of a node, with the names that they have, on other operands; of equal types they have the same."""
    if all(map(_is_alike, operands, node.inputs)):
        other = Apply(node.op, tuple(operands), node.types, node.loc)
        outputs = tuple([Variable(t, other, k) for k, t in enumerate(node.types)])
    else:
        outputs = apply(node.op, operands)
    for old, new in zip(results, outputs, strict=True):
        if old is not None:
            new.name = old.name
    return outputs


def _is_alike(u: Variable, v: Variable) -> bool:
    """Whether two values have the same type, with lengths of which no one is their own."""
    if u is v:
        return True
    a, b = u.lengths, v.lengths
    return u.type.dtype == v.type.dtype and len(a) == len(b) and None not in a and (a is b or all(map(same, a, b)))


class _Rules(NamedTuple):
    """The rules of a configuration by the keys of nodes, and those that fit nodes on operands of some kinds."""

    by_key: dict[object, list[Rule]]
    attempts: dict[tuple[object, ...], tuple[tuple[str, Attempt], ...]]


def _rules_in_force() -> _Rules:
    config = current()
    return _rules("default" if config.mode == "debug" else config.mode, config.exclude)


@functools.lru_cache(maxsize=32)
def _rules(mode: str, exclude: tuple[str, ...]) -> _Rules:
    table: dict[object, list[Rule]] = {}
    if mode == OFF:
        return _Rules(table, {})
    from tg.rules.stable import STABLE

    kinds = allowed_kinds(mode)
    for one in STABLE:
        if one.kind in kinds and one.kind not in exclude and one.name not in exclude:
            for key in one.keys:
                table.setdefault(key, []).append(one)
    return _Rules(table, {})
