"""Products of several matrices, in the order that costs least.

With all lengths known the order is the best one. With a vector at an end of the chain, or a length of 1 inside, it is
the best one whatever the other lengths are: each matrix then meets a vector. Else it stays.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from tg.graph.nodes import Apply
from tg.ops.contraction import MatMul
from tg.rewrite.phases import REASSOCIATES
from tg.rewrite.rule import pass_of
from tg.rules.contraction.products import matmul
from tg.rules.shape import made_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.graph.view import View

    Step = tuple[int, int, int]  # matrices i to p times matrices p to j, all numbered from 0
    Lengths = Sequence[int | None]  # matrix k is lengths[k] by lengths[k + 1]

LONGEST: Final = 25  # lengths of a chain of which the best order is searched for, at a cost of the cube


@pass_of(MatMul, kind=REASSOCIATES, example=lambda x, y: matmul(matmul(x, y), x[:, :1]))
def _matmul_in_order(view: View) -> dict[int, Variable]:
    """The cost of a product of several matrices depends on the order of the products."""
    replacements: dict[int, Variable] = {}
    inner: set[int] = set()
    for node in reversed(view.applies):
        if type(node.op) is not MatMul or id(node) in inner:
            continue
        result = view.results(node)[0]
        if result.type.ndim != 2:
            continue
        matrices, steps, nodes = _chain(node, view)
        inner.update(nodes)
        better = _better(_lengths(matrices), steps)
        if better is not None:
            replacements[id(result)] = _multiplied(matrices, better)
    return replacements


def _chain(root: Apply, view: View) -> tuple[list[Variable], list[Step], list[int]]:
    """The matrices that a product multiplies, the steps in which it does, and the ids of the applies it is made of."""
    matrices: list[Variable] = []
    steps: list[Step] = []
    nodes: list[int] = []
    spans: list[tuple[int, int]] = []
    stack: list[Apply | Variable | None] = [root]
    while stack:
        part = stack.pop()
        if part is None:
            (p, j), (i, _) = spans.pop(), spans.pop()
            steps.append((i, p, j))
            spans.append((i, j))
            continue
        if not isinstance(part, Apply):
            node = _continued(part, view)
            if node is None:
                spans.append((len(matrices), len(matrices) + 1))
                matrices.append(part)
                continue
            part = node
        nodes.append(id(part))
        x, y = part.inputs
        stack.extend((None, y, x))
    return matrices, steps, nodes


def _continued(v: Variable, view: View) -> Apply | None:
    """The product that makes an operand and that nothing else reads."""
    return v.apply if made_by(v, MatMul) and view.uses(v) == 1 else None


def _lengths(matrices: Sequence[Variable]) -> list[int | None]:
    shapes: list[Any] = [v.type.shape for v in matrices]
    between = [a[1] if b[0] is None else b[0] for a, b in itertools.pairwise(shapes)]
    return [shapes[0][0], *between, shapes[-1][1]]


def _better(lengths: Lengths, steps: Sequence[Step]) -> list[Step] | None:
    """Steps that cost less than the given ones."""
    if None not in lengths and len(lengths) <= LONGEST:
        best = _best(lengths)  # type: ignore[arg-type]
        return best if _cost(lengths, best) < _cost(lengths, steps) else None  # type: ignore[arg-type]
    if 1 not in lengths:
        return None
    best = _by_vectors(lengths)
    return best if set(best) != set(steps) else None


def _cost(lengths: Sequence[int], steps: Sequence[Step]) -> int:
    return sum(lengths[i] * lengths[p] * lengths[j] for i, p, j in steps)


def _best(lengths: Sequence[int]) -> list[Step]:
    """The cheapest order, by the cheapest orders of all parts."""
    costs: dict[tuple[int, int], int] = defaultdict(int)  # of a single matrix: none
    splits: dict[tuple[int, int], int] = {}
    for width in range(2, len(lengths)):
        for i in range(len(lengths) - width):
            j = i + width
            prices = [(costs[i, p] + costs[p, j] + lengths[i] * lengths[p] * lengths[j], p) for p in range(i + 1, j)]
            costs[i, j], splits[i, j] = min(prices)
    return _steps_of(splits, len(lengths) - 1)


def _steps_of(splits: dict[tuple[int, int], int], count: int) -> list[Step]:
    steps: list[Step] = []
    stack = [(0, count)]
    while stack:
        i, j = stack.pop()
        if j - i > 1:
            p = splits[i, j]
            steps.append((i, p, j))
            stack.extend(((i, p), (p, j)))
    return steps[::-1]


def _by_vectors(lengths: Lengths) -> list[Step]:
    """Parts between lengths of 1, each multiplied from the end that is a vector, then together."""
    count = len(lengths) - 1
    cuts = [0, *(k for k in range(1, count) if lengths[k] == 1), count]
    steps: list[Step] = []
    for i, j in itertools.pairwise(cuts):
        if lengths[j] == 1:
            steps.extend((p - 1, p, j) for p in range(j - 1, i, -1))
        else:
            steps.extend((i, p, p + 1) for p in range(i + 1, j))
    steps.extend((0, p, q) for p, q in itertools.pairwise(cuts[1:]))
    return steps


def _multiplied(matrices: Sequence[Variable], steps: Sequence[Step]) -> Variable:
    parts = {(k, k + 1): v for k, v in enumerate(matrices)}
    for i, p, j in steps:
        parts[i, j] = matmul(parts[i, p], parts[p, j])
    return parts[0, len(matrices)]


PASSES = (_matmul_in_order,)
