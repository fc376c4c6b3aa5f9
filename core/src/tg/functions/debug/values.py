"""Values of expressions over the inputs of one call, computed by the reference, each once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.functions.debug.rounding import is_inexact, left_range, noisy, wide
from tg.graph.nodes import Constant, Variable
from tg.graph.traversal import sorted_applies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.graph.nodes import Apply
    from tg.graph.op import Op

    Array = np.ndarray[Any, Any]
    Change = Callable[[Apply, Sequence[Array], Sequence[Array]], Sequence[Array]]

MOVES: Final = frozenset({
    "Reshape", "BroadcastTo", "Transpose", "ExpandDims", "Squeeze", "Concatenate", "Slice", "AxisLength",
})  # fmt: skip
NEAR: Final = 400  # values below a replacement that are looked at to find what it has in common with what it replaces


@final
class Values:
    """Values of variables for given values of the inputs below them."""

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
        array = self._leaves.get(id(v))
        return self._made[id(v.apply)][v.index] if array is None else array

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
        results_of: dict[int, Sequence[Array]] = {}

        def value(v: Variable) -> Array:
            inner = results_of.get(id(v.apply)) if v.apply is not None else None
            return self.of(v) if inner is None else inner[v.index]

        for node in region.applies:
            operands = [value(u) for u in node.inputs]
            results_of[id(node)] = change(node, operands, performed(node, operands))
        return [value(v) for v in roots]


def performed(node: Apply, operands: Sequence[Array]) -> tuple[Array, ...]:
    """The results of a node for NumPy arrays, contiguous: the order of NumPy's sums depends on strides."""
    with np.errstate(all="ignore"):
        results = node.op.perform(*operands)
    return tuple(np.ascontiguousarray(y).reshape(np.shape(y)) for y in results)


class Region(NamedTuple):
    """The nodes that one side of a replacement has for itself, operands first, and the values that it shares."""

    applies: tuple[Apply, ...]
    leaves: tuple[Variable, ...]


def regions(old: Sequence[Variable], new: Sequence[Variable]) -> tuple[Region, Region]:
    """The regions below the replaced values alone, and below the replacement alone."""
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
    near: dict[int, Variable] = {}
    queue = list(values)
    for v in queue:
        if len(near) >= NEAR:
            break
        if id(v) not in near:
            near[id(v)] = v
            queue.extend(v.inputs)
    return near


def _frontier(near: dict[int, Variable]) -> set[int]:
    """The values that were not looked below."""
    return {k for k, v in near.items() if any(id(u) not in near for u in v.inputs)}


def _region(roots: Sequence[Variable], common: Sequence[Variable], frontier: set[int]) -> Region:
    near = {id(v): v for v in common}
    stops = [*common, *(v for v in _near(roots).values() if id(v) in frontier)]
    applies = tuple(node for node, _ in sorted_applies(roots, boundary=stops))
    inside = {id(node) for node in applies}
    leaves = {id(u): u for node in applies for u in node.inputs if id(u.apply) not in inside}
    leaves.update({id(v): v for v in roots if id(v) in near})
    return Region(applies, tuple(leaves.values()))


def spread(values: Values, region: Region, roots: Sequence[Variable], runs: int) -> list[Array]:
    """The largest distance by which rounding inside a region can move the values of some roots."""
    rng = np.random.default_rng(0)
    base = [np.asarray(values.of(v)) for v in roots]
    size = [np.zeros(y.shape) for y in base]

    def noise(node: Apply, operands: Sequence[Array], results: Sequence[Array]) -> Sequence[Array]:
        return noisy(node.op, operands, results, rng)

    for _ in range(runs):
        for k, moved in enumerate(values.again(region, roots, noise)):
            size[k] = np.maximum(size[k], gap(base[k], moved))
    return size


def out_of_range(values: Values, region: Region, root: Variable) -> Array:
    """The mask of elements that come of one that has left the range of its dtype inside a region, or at its edge."""
    flags: dict[tuple[int, int], Array] = {}
    for v in region.leaves:
        if v.apply is not None and (id(v.apply), v.index) not in flags:
            operands = values.of_all(v.apply.inputs)
            flags[id(v.apply), v.index] = left_range(v.apply.op, operands, [np.asarray(values.of(v))])[0]

    def note(node: Apply, operands: Sequence[Array], results: Sequence[Array]) -> Sequence[Array]:
        operand_flags = [flags.get((id(u.apply), u.index)) for u in node.inputs]
        own = left_range(node.op, operands, results)
        for k, (y, left) in enumerate(zip(results, own, strict=True)):
            below = tainted(node.op, operands, operand_flags, k, y)
            flags[id(node), k] = left | below
        return results

    values.again(region, [root], note)
    mask = flags.get((id(root.apply), root.index))
    return np.zeros(np.shape(values.of(root)), bool) if mask is None else mask


def tainted(op: Op, operands: Sequence[Array], flags: Sequence[Array | None], k: int, result: Array) -> Array:
    """The mask of elements of a result that are made of flagged ones of the operands."""
    marked = [f for f in flags if f is not None and f.any()]
    if not marked:
        return np.zeros(result.shape, bool)
    if op.pointwise:
        return np.broadcast_to(np.logical_or.reduce(np.broadcast_arrays(*marked)), result.shape)
    if type(op).__name__ == "Reduce":
        return np.asarray(marked[0].any(axis=op.axes))  # type: ignore[attr-defined]
    if type(op).__name__ in MOVES:
        return np.asarray(op.perform(*map(_flags_moved, operands, flags))[k])
    return np.ones(result.shape, bool)


def _flags_moved(x: Array, flagged: Array | None) -> Array:
    """The flags of an operand that is moved; a size or a position is itself, whatever it was made of."""
    if x.dtype.kind in "iu" and not x.ndim:
        return x
    return np.zeros(x.shape, bool) if flagged is None else flagged


def gap(before: Array, after: Array) -> Array:
    """The distance of two arrays from one another: 0 where equal, infinite where only one is NaN or infinite."""
    if not is_inexact(before):
        return np.where(before == after, 0.0, np.inf)
    x, y = wide(before), wide(after)
    with np.errstate(all="ignore"):
        distance = np.abs(x - y)
        return np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.where(np.isfinite(distance), distance, np.inf))
