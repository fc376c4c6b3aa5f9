"""Stable forms before derivatives: a cost is differentiated as softplus, logsumexp or norm, however it was written.

One sweep in topological order over the cone between outputs and variables; equal nodes are one, so that a rule meets
its operands. What is differentiated by stays as it is, behind a fence that no rule looks through. The configuration in
force decides: mode "off" and what is excluded leave the cone as written, "strict" has exact forms only.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.configuration import current
from tg.gradient.pullback import cotangents_of, gradients_of
from tg.gradient.pushforward import tangents_of
from tg.graph import loc as locs
from tg.graph.nodes import Apply, Constant, Variable, apply
from tg.graph.traversal import key_of, sorted_applies
from tg.ops.shape import Named
from tg.rewrite.pattern import kind_of
from tg.rewrite.phases import allowed_kinds
from tg.types.dtypes import is_inexact

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.gradient.selection import Supports
    from tg.rewrite.rule import Attempt, Rule

    Key = tuple[int, int]
    Gradients = list[Variable | None]

MOST: Final = 8  # rules that one node goes through
LARGEST: Final = 4096  # kinds of nodes and operands that are remembered
OFF: Final = "off"
FENCE: Final = Named("")


def gradients(
    outputs: Sequence[Variable],
    given: Sequence[Variable | None],
    wrt: Sequence[Variable],
    leaves: Sequence[Variable] = (),
    known: Sequence[tuple[Variable, Variable]] = (),
) -> Gradients:
    """`gradients_of` the outputs in stable forms."""
    outputs, fenced = stable(outputs, [*wrt, *leaves, *(v for v, _ in known)])
    pairs = [(fenced(v), dv) for v, dv in known]
    return gradients_of(outputs, given, [*map(fenced, wrt)], [*map(fenced, leaves)], pairs)


def cotangents(
    outputs: Sequence[Variable],
    given: Sequence[Variable | None],
    wrt: Sequence[Variable],
    leaves: Sequence[Variable] = (),
    supports: Supports | None = None,
) -> Gradients:
    """`cotangents_of` the outputs in stable forms."""
    outputs, fenced = stable(outputs, [*wrt, *leaves])
    return cotangents_of(outputs, given, [*map(fenced, wrt)], [*map(fenced, leaves)], supports=supports)


def tangents(
    outputs: Sequence[Variable],
    wrt: Sequence[Variable],
    given: Sequence[Variable | None],
    leaves: Sequence[Variable] = (),
    supports: Supports | None = None,
) -> Gradients:
    """`tangents_of` the outputs in stable forms."""
    outputs, fenced = stable(outputs, [*wrt, *leaves])
    return tangents_of(outputs, [*map(fenced, wrt)], given, [*map(fenced, leaves)], supports)


def stable(
    outputs: Sequence[Variable], barriers: Sequence[Variable]
) -> tuple[list[Variable], Callable[[Variable], Variable]]:
    """The outputs in stable forms, and what stands in them for a variable by which they are differentiated."""
    config = current()
    rules = None if config.mode == OFF else _rules("default" if config.mode == "debug" else config.mode, config.exclude)
    if rules is None or not rules.by_key:
        return list(outputs), _itself
    sweep = _Sweep(rules, barriers)
    for node, results in sorted_applies(outputs):
        sweep.visit(node, results)
    return [sweep.value(v) for v in outputs], sweep.value


def _itself(v: Variable) -> Variable:
    return v


class _Sweep:
    """The values of a cone in their stable forms, by key."""

    def __init__(self, rules: _Rules, barriers: Sequence[Variable]) -> None:
        self.rules, self.attempts = rules
        self.barriers = {key_of(v): v for v in barriers}
        self.leading = set(self.barriers)  # the keys of what depends on a barrier
        self.done: dict[Key, Variable] = {}
        self.equal: dict[Any, Apply] = {}  # by op and operands: the first such node
        self.made: dict[int, Sequence[Variable | None]] = {}  # by its id: what stands for its results
        if len(self.attempts) > LARGEST:
            self.attempts.clear()

    def value(self, v: Variable) -> Variable:
        """What stands for a variable."""
        return self.done.get(key_of(v), v)

    def visit(self, node: Apply, results: Sequence[Variable | None]) -> None:
        """Find what stands for the results of a node, whose operands have been visited."""
        done, leads, changed = self.done, False, False
        operands: list[Variable] = []
        identity: list[Any] = [node.op]
        for v in node.inputs:
            below = v.apply
            key = (id(v), 0) if below is None else (id(below), v.index + 1)
            u = done.get(key, v)
            if u is not v:
                key = key_of(u)
                if is_inexact(v.type.dtype):
                    changed = True
                else:
                    u = v  # an equal length or condition: nothing has to be made again for it
            operands.append(u)
            leads = leads or key in self.leading
            identity.append(v.key if isinstance(v, Constant) and not v.data.ndim else key)
        twin = self.equal.setdefault(tuple(identity), node)
        if twin is not node:
            made: Sequence[Variable | None] = self._results_of(twin, results)
        elif changed or (leads and node.key in self.rules):
            made = self.made[id(node)] = self._made(node, results, operands, changed, leads)
        else:
            made = results
        for k, new in enumerate(made):
            key = id(node), k + 1
            barrier = self.barriers.get(key)
            if barrier is not None:
                done[key] = fence = FENCE(barrier)
                self.leading.add(key_of(fence))
            elif new is not None and new is not results[k]:
                done[key] = new
                if leads:
                    self.leading.add(key_of(new))
            if leads:
                self.leading.add(key)

    def _results_of(self, twin: Apply, like: Sequence[Variable | None]) -> list[Variable | None]:
        """The results of an equal node that was visited before, of those that are used here."""
        made = self.made.get(id(twin))
        whole = [Variable(t, twin, k) for k, t in enumerate(twin.types)] if made is None else made
        return [None if v is None else whole[k] for k, v in enumerate(like)]

    def _made(
        self,
        node: Apply,
        results: Sequence[Variable | None],
        operands: Sequence[Variable],
        changed: bool,
        leads: bool,
    ) -> Sequence[Variable | None]:
        outputs = _again(node, results, operands) if changed else results
        v = outputs[0]
        if not leads or len(outputs) != 1 or v is None or v.apply is None or v.apply.key not in self.rules:
            return outputs
        with locs.at(node.loc):
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
        signature = key, *map(kind_of, node.inputs)
        attempts = self.attempts.get(signature)
        if attempts is None:
            pairs = [(one.name, one.for_kinds(signature[1:])) for one in tried]
            attempts = self.attempts[signature] = tuple((name, one) for name, one in pairs if one is not None)
        for name, attempt in attempts:
            with locs.at(None if node.loc is None else node.loc.by(name)):
                replaced = attempt(node, (v,))
            if replaced is not None and replaced[0].type.dtype == v.type.dtype:
                return replaced[0]
        return None


def _again(node: Apply, results: Sequence[Variable | None], operands: Sequence[Variable]) -> Sequence[Variable | None]:
    """The results of a node, with the names that they have, on other operands; known types are not inferred again."""
    is_known = all(type(n) is int for t in node.types for n in t.shape)
    if is_known and all(u is v or u.type == v.type for u, v in zip(operands, node.inputs, strict=True)):
        other = Apply(node.op, tuple(operands), node.types, node.loc)
        outputs = tuple(Variable(t, other, k) for k, t in enumerate(node.types))
    else:
        with locs.at(node.loc):
            outputs = apply(node.op, operands)
    for old, new in zip(results, outputs, strict=True):
        if old is not None:
            new.name = old.name
    return outputs


class _Rules(NamedTuple):
    """The rules of a configuration by the keys of nodes, and those that fit nodes on operands of some kinds."""

    by_key: dict[object, list[Rule]]
    attempts: dict[tuple[object, ...], tuple[tuple[str, Attempt], ...]]


@functools.lru_cache(maxsize=32)
def _rules(mode: str, exclude: tuple[str, ...]) -> _Rules:
    from tg.rewrite.rules.stable import STABLE

    kinds = allowed_kinds(mode)
    table: dict[object, list[Rule]] = {}
    for one in STABLE:
        if one.kind in kinds and one.kind not in exclude and one.name not in exclude:
            for key in one.keys:
                table.setdefault(key, []).append(one)
    return _Rules(table, {})
