"""Sweeps: a function graph rebuilt from the inputs up, its nodes interned and replaced as a transform says."""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, NoReturn, Protocol, final

from tg.errors import RewriteError, message
from tg.graph.freezing import origin_of
from tg.graph.frozen import Origin
from tg.graph.nodes import Constant
from tg.graph.view import live

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg.graph import loc as locs
    from tg.graph.function_graph import FunctionGraph
    from tg.graph.nodes import Apply, Variable

    Transform = Callable[[Apply, tuple[Variable, ...]], "tuple[str, tuple[Variable, ...]] | None"]

BUDGET_PER_NODE = 50  # replacements that a sweep may make for each node it started with
BUDGET_BASE = 1000


class Recorder(Protocol):
    """A recorder that a graph tells of its rewriting, as `tg.rewrite.journal.Journal` is."""

    def rebuilt(self, node: Apply, outputs: tuple[Variable, ...]) -> None:
        """A node's operands have changed: what its op gives on the new ones."""

    def replaced(self, name: str, old: tuple[Variable, ...], new: tuple[Variable, ...], loc: locs.Loc | None) -> None:
        """A node's results are replaced."""

    def swept(self, graph: FunctionGraph, done: Mapping[int, Variable], references: object) -> None:
        """A sweep has ended: what became of each value, by id, and what keeps these alive."""


@final
class Sweep:
    """The state of one rebuild: what each visited variable became."""

    def __init__(
        self,
        graph: FunctionGraph,
        transform: Transform | None,
        size: int,
        replacements: Mapping[int, Variable] | None = None,
        given_by: str = "",
    ) -> None:
        self.graph, self.transform = graph, transform
        self.given = dict(replacements or {})
        self.given_by = given_by
        self.began: set[int] = set()  # values that `given` replaces, once their replacement is being visited
        self.done: dict[int, Variable] = dict(graph._leaves) if transform is not None else {}
        self.keep: list[object] = []  # what is in `done` by id must live
        self.budget = BUDGET_BASE + BUDGET_PER_NODE * size
        self.waiting: dict[int, tuple[Variable, ...]] = {}  # first result of a node -> its replacement
        self.origins: dict[int, Origin] = {}  # of applies that rules have made, until they are interned
        self.names: dict[int, str] = {}

    def run(self, roots: Sequence[Variable]) -> list[Variable]:
        """The values that replace the roots."""
        return [self.result(root) for root in roots]

    def pass_through(self, roots: Sequence[Variable]) -> None:
        """Visit what is below the roots in the order in which it was made, quickly where nothing changes."""
        graph, done, replacements, transform = self.graph, self.done, self.given, self.transform
        assert transform is not None
        for c in graph._constants.values():
            done[id(c)] = c
        for old in live(graph, roots):
            first = old[0]
            if id(first) in done and (not replacements or all(id(v) in done for v in old)):
                continue
            if replacements and any(id(v) in replacements for v in old):
                for v in old:
                    self.result(v)
                continue
            node = first.apply
            assert node is not None
            inputs = node.inputs
            for u in inputs:
                if done[id(u)] is not u:
                    outputs = self._interned(node, tuple([done[id(v)] for v in inputs]))
                    break
            else:
                outputs = old
            if id(outputs[0]) not in done:
                target = self._target(outputs)
                if target is not outputs:
                    self._settle(outputs, target)
                else:
                    for v in outputs:
                        done[id(v)] = v
            if outputs is not old:
                for v, new in zip(old, outputs, strict=True):
                    done[id(v)] = done[id(new)]
                    if graph.assumes:
                        graph.inherit(done[id(v)], v)

    def _settle(self, outputs: tuple[Variable, ...], target: tuple[Variable, ...]) -> None:
        """Visit the replacements of a node's results, and give these what became of them."""
        done, graph = self.done, self.graph
        for new in target:
            self.result(new)
        self.keep.append(target)
        for out, new in zip(outputs, target, strict=True):
            done[id(out)] = done[id(new)]
            if graph.assumes:
                graph.inherit(done[id(new)], out)

    def result(self, root: Variable) -> Variable:
        """The value that replaces another, all below it visited. Without a transform, values of the graph stay."""
        stack, done, interned, waiting = [root], self.done, self.graph._made, self.waiting
        while stack:
            v = stack[-1]
            if id(v) in done:
                stack.pop()
                continue
            node = v.apply
            if id(v) in self.given and node is not None:
                self._replace(v, node, stack)
                continue
            if node is None:
                self._leaf(v)
                continue
            outputs = interned.get(id(node))
            if outputs is None or self.transform is not None:
                missing = [u for u in node.inputs if id(u) not in done]
                if missing:
                    missing.reverse()
                    stack.extend(missing)
                    continue
                operands = [done[id(u)] for u in node.inputs]
                if outputs is None or not all(map(is_, operands, node.inputs)):
                    outputs = self._interned(node, tuple(operands))
            first = id(outputs[0])
            target = waiting.get(first)
            again = target is not None
            if target is None:
                target = outputs if first in done else self._target(outputs)
            if target is outputs:
                for out in outputs:
                    if id(out) not in self.given:
                        done.setdefault(id(out), out)
                if id(v) not in done:
                    match = outputs[v.index]
                    done[id(v)] = done.setdefault(id(match), match)  # a replacement may be the value it replaces
                    self.keep.append(v)
                    if self.graph.assumes:
                        self.graph.inherit(done[id(v)], v)
                continue
            pending = [t for t in target if id(t) not in done]
            if pending:
                if again:
                    self._give_up()
                stack.extend(pending)
                continue
            for out, new in zip(outputs, target, strict=True):
                done[id(out)] = done[id(new)]
                if self.graph.assumes:
                    self.graph.inherit(done[id(new)], out)
            done[id(v)] = done[id(outputs[v.index])]
            self.keep.append((v, target))
        return done[id(root)]

    def _replace(self, v: Variable, node: Apply, stack: list[Variable]) -> None:
        """Give a value its given replacement, or have that visited first; none that is less precise."""
        new = self.given[id(v)]
        if id(v) not in self.began and not self._is_precise(new, v):
            del self.given[id(v)]  # its lengths agree by a check only
            return
        if id(v) not in self.began:
            self.began.add(id(v))
            self._account(self.given_by, node, (v,), (new,))
        elif id(new) not in self.done:
            self._give_up()
        if id(new) in self.done:
            self.done[id(v)] = self.done[id(new)]
            self.keep.append(v)
            self.graph.inherit(self.done[id(v)], v)
        else:
            stack.append(new)

    def _is_precise(self, new: Variable, old: Variable) -> bool:
        """Whether a value of the same dtype and rank loses no static length of what it replaces."""
        if new.type.dtype != old.type.dtype or new.type.ndim != old.type.ndim:
            return True  # which is a mistake that is told
        return new.type.refines(old.type) or self.graph._resolved(new.symbolic_type).refines(old.type)

    def _leaf(self, v: Variable) -> None:
        if isinstance(v, Constant):
            self.done[id(v)] = self.graph.canonical_constant(v)
            self.keep.append(v)
        elif id(v) in self.graph._leaves:
            self.done[id(v)] = v
        else:
            text = f"graph: {v!r} is not a value of this graph"
            raise RewriteError(message(text))

    def _interned(self, node: Apply, operands: tuple[Variable, ...]) -> tuple[Variable, ...]:
        graph = self.graph
        outputs = graph.intern(node.op, operands, node)
        new_node = outputs[0].apply
        if new_node is not node and new_node is not None:
            name = graph.names.get(id(node)) or self.names.get(id(node))
            if name is not None:
                graph.names.setdefault(id(new_node), name)
            origin = graph.origins.get(id(node)) or self.origins.get(id(node))
            if origin is not None:
                graph.origins.setdefault(id(new_node), origin)
            self.keep.append(node)
            if graph.assumes:
                for new, old in zip(outputs, graph._made.get(id(node), ()), strict=False):
                    graph.inherit(new, old)
            if graph.recorder is not None and self.transform is not None:
                graph.recorder.rebuilt(node, outputs)
        return outputs

    def _target(self, outputs: tuple[Variable, ...]) -> tuple[Variable, ...]:
        """The values that replace a node's results: themselves, or a replacement that may still have to be visited."""
        node = outputs[0].apply
        assert node is not None
        replacement = self.transform(node, outputs) if self.transform is not None else None
        if replacement is None:
            return outputs
        rule, target = replacement
        maker = target[0].apply
        if maker is not None and maker.op is node.op and _is_exchange(maker, node):
            return outputs
        self._account(rule, node, outputs, target)
        self.waiting[id(outputs[0])] = target
        return target

    def _account(self, rule: str, node: Apply, outputs: tuple[Variable, ...], target: tuple[Variable, ...]) -> None:
        graph = self.graph
        graph.fired[rule] = graph.fired.get(rule, 0) + 1
        self.budget -= 1
        if self.budget < 0:
            self._give_up()
        before = graph.origins.get(id(node)) or origin_of(node)
        origin = Origin(before.locs[:3], (*before.rules[-7:], rule))
        for old, new in zip(outputs, target, strict=True):
            if not graph.refines(new, old):
                text = f"rewrite: {rule} replaced {old.type} by {new.type}"
                raise RewriteError(message(text, ("node", f"{node.op.name}")))
        if graph.recorder is not None:
            graph.recorder.replaced(rule, outputs, target, node.loc)
        self._mark(target, origin, graph.names.get(id(node)))

    def _mark(self, target: tuple[Variable, ...], origin: Origin, name: str | None) -> None:
        """Note where the applies of a replacement come from; a name goes to the first one."""
        interned, first = self.graph._made, target[0].apply
        if name is not None and first is not None:
            names = self.graph.names if id(first) in interned else self.names
            names.setdefault(id(first), name)
        stack = [v.apply for v in target]
        while stack:
            new = stack.pop()
            if new is not None and id(new) not in interned and id(new) not in self.origins:
                self.origins[id(new)] = origin
                stack.extend(u.apply for u in new.inputs)

    def _give_up(self) -> NoReturn:
        often = sorted(self.graph.fired.items(), key=lambda item: -item[1])[:5]
        names = ", ".join(f"{name} ({count})" for name, count in often)
        raise RewriteError(message("rewrite: the rules do not come to an end", ("fired", names)))


def _is_exchange(a: Apply, b: Apply) -> bool:
    """Whether two applies of one op have the same operands, or those of an op that commutes in the other order."""
    others = b.inputs[::-1] if a.op.commutes else b.inputs
    return len(a.inputs) == len(others) and all(map(is_, a.inputs, others))
