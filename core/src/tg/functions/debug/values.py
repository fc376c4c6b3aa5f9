"""Values of expressions over the inputs of one call, computed by the reference, each once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from tg.functions.debug.rounding import is_inexact, left_range, noisy, wide
from tg.graph.nodes import Constant, Variable
from tg.graph.traversal import sorted_applies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.graph.nodes import Apply

    Array = np.ndarray[Any, Any]
    Change = Callable[[Apply, Sequence[Array], Sequence[Array]], Sequence[Array]]

NEAR = 400  # values below a replacement that are looked at to find what it has in common with what it replaces


@final
class Values:
    """What variables are for given values of the inputs below them."""

    def __init__(self, inputs: Sequence[Variable], arrays: Sequence[Array]) -> None:
        self._leaves = {id(v): a for v, a in zip(inputs, arrays, strict=True)}
        self._inputs = list(inputs)
        self._made: dict[int, tuple[Array, ...]] = {}  # by the id of an apply
        self._kept: list[Apply] = []

    def of(self, v: Variable) -> Array:
        """The value of a variable, computed with all that it needs."""
        if not self._has(v):
            self._compute([v])
        return self._known(v)

    def of_all(self, variables: Sequence[Variable]) -> list[Array]:
        """The values of variables."""
        return [self.of(v) for v in variables]

    def _has(self, v: Variable) -> bool:
        return isinstance(v, Constant) or id(v) in self._leaves or id(v.apply) in self._made

    def _known(self, v: Variable) -> Array:
        if isinstance(v, Constant):
            return v.data
        found = self._leaves.get(id(v))
        return self._made[id(v.apply)][v.index] if found is None else found

    def _compute(self, roots: list[Variable]) -> None:
        stack = list(roots)
        while stack:
            v = stack[-1]
            if self._has(v):
                stack.pop()
                continue
            node = v.apply
            assert node is not None
            missing = [u for u in node.inputs if not self._has(u)]
            if missing:
                stack.extend(missing)
                continue
            self._made[id(node)] = performed(node, [self._known(u) for u in node.inputs])
            self._kept.append(node)
            stack.pop()

    def again(self, region: Region, roots: Sequence[Variable], change: Change) -> list[Array]:
        """The values of some roots with what is inside a region computed anew, each result changed."""
        made: dict[int, Sequence[Array]] = {}

        def value(v: Variable) -> Array:
            inner = made.get(id(v.apply)) if v.apply is not None else None
            return self.of(v) if inner is None else inner[v.index]

        for node in region.applies:
            operands = [value(u) for u in node.inputs]
            made[id(node)] = change(node, operands, performed(node, operands))
        return [value(v) for v in roots]


def performed(node: Apply, operands: Sequence[Array]) -> tuple[Array, ...]:
    """The results of a node for NumPy arrays, contiguous: the order of NumPy's sums depends on strides."""
    with np.errstate(all="ignore"):
        found = node.op.perform(*operands)
    return tuple(np.ascontiguousarray(y).reshape(np.shape(y)) for y in found)


class Region(NamedTuple):
    """The nodes that one side of a replacement has for itself, operands first, and the values that it shares."""

    applies: tuple[Apply, ...]
    leaves: tuple[Variable, ...]


def regions(old: Sequence[Variable], new: Sequence[Variable]) -> tuple[Region, Region]:
    """What is below the replaced values alone, and below the replacement alone."""
    first, second = _near(old), _near(new)
    common = [v for v in first.values() if id(v) in second]
    roots = {id(v) for v in old}
    inside = {id(v) for v in new} - {id(v) for v in common}
    return (
        _region(old, common, _frontier(first) - roots),
        _region(new, [v for v in common if id(v) not in inside], _frontier(second) - inside),
    )


def _near(values: Iterable[Variable]) -> dict[int, Variable]:
    """The nearest values below some, and they themselves."""
    found: dict[int, Variable] = {}
    queue = list(values)
    for v in queue:
        if len(found) >= NEAR:
            break
        if id(v) not in found:
            found[id(v)] = v
            queue.extend(v.inputs)
    return found


def _frontier(near: dict[int, Variable]) -> set[int]:
    """The values that were not looked below."""
    return {k for k, v in near.items() if any(id(u) not in near for u in v.inputs)}


def _region(roots: Sequence[Variable], common: Sequence[Variable], frontier: set[int]) -> Region:
    near = {id(v): v for v in common}
    stops = [*common, *(v for v in _near(roots).values() if id(v) in frontier)]
    found = tuple(node for node, _ in sorted_applies(roots, known=stops))
    inside = {id(node) for node in found}
    leaves = {id(u): u for node in found for u in node.inputs if id(u.apply) not in inside}
    leaves.update({id(v): v for v in roots if id(v) in near})
    return Region(found, tuple(leaves.values()))


class Spread(NamedTuple):
    """How far rounding can move values, and where results have left the range of their dtype on the way."""

    size: list[Array]
    left: list[Any]  # arrays, or True where no place is known


def spread(values: Values, region: Region, roots: Sequence[Variable], runs: int) -> Spread:
    """What the values of some roots owe to rounding and to the range inside a region."""
    rng = np.random.default_rng(0)
    base = [np.asarray(values.of(v)) for v in roots]
    left: list[Any] = [np.zeros(y.shape, bool) for y in base]

    def note(node: Apply, operands: Sequence[Array], results: Sequence[Array]) -> Sequence[Array]:
        for flags in left_range(node.op, operands, results):
            if flags.any():
                for k, y in enumerate(base):
                    left[k] = left[k] | _placed(flags, y)
        return results

    def noise(node: Apply, operands: Sequence[Array], results: Sequence[Array]) -> Sequence[Array]:
        return noisy(node.op, operands, results, rng)

    values.again(region, roots, note)
    size = [np.zeros(y.shape) for y in base]
    for _ in range(runs):
        for k, moved in enumerate(values.again(region, roots, noise)):
            size[k] = np.maximum(size[k], gap(base[k], moved))
    return Spread(size, left)


def gap(before: Array, after: Array) -> Array:
    """How far two arrays are from one another: 0 where equal, infinite where only one is NaN or infinite."""
    if not is_inexact(before):
        return np.where(before == after, 0.0, np.inf)
    x, y = wide(before), wide(after)
    with np.errstate(all="ignore"):
        found = np.abs(x - y)
        return np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.where(np.isfinite(found), found, np.inf))


def _placed(flags: Array, like: Array) -> Any:
    """Flags at the places of another array; True where they have no such place."""
    try:
        return np.broadcast_to(flags, like.shape)
    except ValueError:
        return True
