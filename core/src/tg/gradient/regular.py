"""Values that are finite wherever the operands of a program are, by its formulas: *regular* ones.

What is not asked for is 0 in a tangent or a cotangent and stays 0 beside a regular value: nothing has to be chosen. An
exponential is regular though it may overflow and underflow to 0: then what is computed of it is infinite itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.gradient.regular_ops import (
    BELOW,
    FRACTION,
    NONNEGATIVE,
    NONPOSITIVE,
    NONZERO,
    OF_OPS,
    REGULAR,
    all_of,
    first_of,
    regular_if,
)
from tg.gradient.stable import opened
from tg.graph.facts import facts_of
from tg.graph.nodes import Constant, Variable
from tg.graph.traversal import key_of
from tg.ops.control import Call
from tg.ops.loops import Cond, Scan, While

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.gradient.regular_ops import Way
    from tg.graph.frozen import FrozenGraph

OF_FACTS: Final = {
    "finite": REGULAR,
    "nonzero": NONZERO,
    "nonnegative": NONNEGATIVE,
    "nonpositive": NONPOSITIVE,
}
MOST_STEPS: Final = 4  # that the carries of a loop are followed: then nothing is known of them


@final
class Regularity:
    """Facts of the values of one sweep, each found once: whether it is regular, and what sign it has.

    Args:
        leaves: variables of an inner graph.
        known: what is known of them, asked when it is first needed.
    """

    __slots__ = ("_found", "_known", "_leaves", "_stands_for", "_told")

    def __init__(self, leaves: Sequence[Variable] = (), leaf_facts: Callable[[], Sequence[int]] | None = None) -> None:
        self._leaves, self._known = leaves, leaf_facts
        self._stands_for: dict[int, tuple[Variable, Variable]] = {}
        self._told: dict[int, tuple[Variable, Callable[[], int]]] = {}
        self._found: dict[tuple[int, int], tuple[Variable, int]] = {}  # with the variable: its id stays its own

    def same(self, leaf: Variable, v: Variable) -> None:
        """State that what is known of a value is known of a leaf."""
        self._stands_for[id(leaf)] = leaf, v

    def tell(self, leaf: Variable, facts: Callable[[], int]) -> None:
        """State what is known of a leaf, which is asked when it is first needed."""
        self._told[id(leaf)] = leaf, facts

    def has_read(self, leaf: Variable) -> bool:
        """Whether what is known of a leaf was needed."""
        return key_of(leaf) in self._found

    def of(self, v: Variable) -> int:
        """The facts of a value, without recursion."""
        memo = self._found
        if self._known is not None:
            memo.update({key_of(u): (u, fact) for u, fact in zip(self._leaves, self._known(), strict=True)})
            self._known = None
        stack = [v]
        while stack:
            u = stack[-1]
            key, node = key_of(u), u.apply
            if key in memo:
                stack.pop()
                continue
            if node is None and id(u) in self._told:
                memo[key] = u, self._told[id(u)][1]()
                continue
            operands, way = _operands(u, self._stands_for)
            missing = [w for w in operands if key_of(w) not in memo]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            facts = way(node, [memo[key_of(w)][1] for w in operands])
            memo[key] = u, (facts if isinstance(facts, int) else facts[u.index]) | _of_facts(u)
        return memo[key_of(v)][1]

    def of_all(self, values: Sequence[Variable]) -> list[int]:
        """The facts of several values."""
        return [self.of(v) for v in values]

    def of_steps(self, op: Scan | While, inputs: Sequence[Variable]) -> list[int]:
        """The facts of the operands of each step of a loop."""
        return _steps(op, self.of_all(inputs))[0]


def _operands(v: Variable, stands_for: dict[int, tuple[Variable, Variable]]) -> tuple[Sequence[Variable], Way]:
    """The operands by which it is known what a value is, and the way from them to it."""
    if v.apply is not None:
        way = WAYS.get(v.apply.key)
        return ((), lambda node, parts: 0) if way is None else (v.apply.inputs, way)
    if isinstance(v, Constant):
        return (), _written(v)
    pair = stands_for.get(id(v))
    return ((), regular_if()) if pair is None else (pair[1:], first_of)


def _written(c: Constant) -> Way:
    """The facts of a constant that a program writes."""
    facts = c.told("regular", _of_data)
    return lambda node, parts: facts


def _of_data(name: str, c: Constant) -> int:
    data = c.data
    if data.dtype.kind != "f":
        return 0
    facts = 0 if not (data < np.inf).all() else REGULAR if not np.isinf(data).any() else BELOW
    return facts | (FRACTION if (np.abs(data) < 1).all() else 0)


def _of_facts(v: Variable) -> int:
    facts = facts_of(v)
    return sum(flag for name, flag in OF_FACTS.items() if name in facts) if facts else 0


# --- inner graphs ----------------------------------------------------------------------------------------------------


def _of_graph(graph: FrozenGraph, parts: Sequence[int]) -> list[int]:
    """The facts of the outputs of a graph; kept, as loops within loops ask for the same again and again."""
    whole, key = opened(graph), tuple(parts)
    if key not in whole.regular:
        regularity = Regularity(whole.inputs, lambda: key)
        whole.regular[key] = [*map(regularity.of, whole.outputs)]
    return whole.regular[key]


def _steps(op: Scan | While, parts: Sequence[int]) -> tuple[list[int], list[int]]:
    """The facts of the operands of a step, and of its results."""
    n, operands = op.carries, list(parts[getattr(op, "first", 0) :])
    for _ in range(MOST_STEPS):
        after = _of_graph(op.body, operands)
        common = [a & b for a, b in zip(operands[:n], after[:n], strict=True)]
        if common == operands[:n]:
            return operands, after
        operands[:n] = common
    operands[:n] = [0] * n
    return operands, _of_graph(op.body, operands)


def _scan(node: Any, parts: Sequence[int]) -> list[int]:
    op = node.op
    operands, after = _steps(op, parts)
    return [*operands[: op.carries], *after[op.carries :], *[REGULAR] * (len(node.types) - len(after))]


def _while(node: Any, parts: Sequence[int]) -> list[int]:
    op = node.op
    operands, after = _steps(op, parts)
    traces = [part & ~NONZERO for part in after[op.carries :]]  # of steps that were not made they are 0
    facts = [*operands[: op.carries], REGULAR, *traces]
    return [*facts, *[REGULAR] * (len(node.types) - len(facts))]


def _cond(node: Any, parts: Sequence[int]) -> list[int]:
    op = node.op
    columns = zip(*(_of_graph(graph, parts[1:]) for graph in op.branches), strict=True)
    facts = [all_of(node, column) for column in columns]
    return [*facts, *[REGULAR] * (len(node.types) - len(facts))]


def _call(node: Any, parts: Sequence[int]) -> list[int]:
    op = node.op
    facts = _of_graph(op.graph, parts)
    return [*facts, *[REGULAR] * (len(node.types) - len(facts))]


WAYS: Final[dict[object, Way]] = {**OF_OPS, Scan: _scan, While: _while, Cond: _cond, Call: _call}
