"""Walking expressions without recursion: every function here is linear and works on chains of any depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.graph import loc as locs
from tg.graph.nodes import Constant, Variable, apply

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.graph.nodes import Apply


def key_of(v: Variable) -> tuple[int, int]:
    """The key that two variables of the same value share: a result of an apply may be more than one variable."""
    return (id(v), 0) if v.apply is None else (id(v.apply), v.index + 1)


def sorted_applies(
    outputs: Sequence[Variable], boundary: Sequence[Variable] = ()
) -> list[tuple[Apply, list[Variable | None]]]:
    """The applies below `outputs`, operands first, each with those of its results that are used.

    Variables in `boundary` are leaves whatever makes them.
    """
    leaves = {id(v) for v in boundary}
    by_apply: dict[int, list[Variable | None]] = {}  # by apply: its results that were met, once it has been
    finished: set[int] = set()
    order: list[tuple[Apply, list[Variable | None]]] = []
    stack = list(reversed(outputs))
    while stack:
        v = stack[-1]
        node = v.apply
        if node is None or id(v) in leaves:
            stack.pop()
            continue
        key = id(node)
        results = by_apply.get(key)
        if results is None:
            results = by_apply[key] = [None] * len(node.types)
            results[v.index] = v
            below = [u for u in node.inputs if u.apply is not None]
            if below:
                below.reverse()
                stack += below
                continue
        results[v.index] = v
        if key not in finished:  # nothing is left of what was put above it
            finished.add(key)
            order.append((node, results))
        stack.pop()
    return order


def ancestors(outputs: Sequence[Variable]) -> list[Variable]:
    """The leaves below `outputs` (inputs, shared variables and constants), each once, in order of meeting."""
    return leaves_and(outputs, None)[0]


def leaves_and(outputs: Sequence[Variable], kind: type | None) -> tuple[list[Variable], list[Apply]]:
    """The leaves below `outputs`, and the applies of ops of a class, operands first."""
    visited: set[int] = set()
    leaves: list[Variable] = []
    applies: list[Variable] = []
    stack = list(reversed(outputs))
    while stack:
        v = stack.pop()
        node = v.apply
        key = id(node) if node is not None else id(v)
        if key in visited:
            continue
        visited.add(key)
        if node is None:
            leaves.append(v)
        else:
            stack.extend(reversed(node.inputs))
            if type(node.op) is kind:
                applies.append(v)
    applies.sort(key=lambda v: v.serial)  # what is made later reads what was made before
    return leaves, [v.apply for v in applies if v.apply is not None]


def inputs_of(outputs: Sequence[Variable]) -> list[Variable]:
    """The leaves below `outputs` that are not constants."""
    return [v for v in ancestors(outputs) if not isinstance(v, Constant)]


def substitute(
    outputs: Sequence[Variable], values: Mapping[int, Variable], boundary: Sequence[Variable] = ()
) -> list[Variable]:
    """The expressions with variables replaced, `values` being keyed by their ids; what does not change is shared.

    Variables in `boundary` stay, whatever makes them.
    """
    done: dict[tuple[int, int], Variable] = {}
    with locs.at(None):
        for node, results in sorted_applies(outputs, boundary):
            operands = [_replaced(v, values, done) for v in node.inputs]
            if all(new is old for new, old in zip(operands, node.inputs, strict=True)):
                continue
            locs.fix(node.loc)
            fresh = apply(node.op, operands)
            for k, (old, new) in enumerate(zip(results, fresh, strict=True)):
                done[id(node), k + 1] = new
                if old is not None:
                    new.name = old.name
    return [_replaced(v, values, done) for v in outputs]


def _replaced(v: Variable, values: Mapping[int, Variable], done: Mapping[tuple[int, int], Variable]) -> Variable:
    value = values.get(id(v))
    return value if value is not None else done.get(key_of(v), v)
