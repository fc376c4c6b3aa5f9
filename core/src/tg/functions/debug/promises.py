"""Promises of a rewrite's class about the values before and after it, and the places where they are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tg.functions.debug.rounding import ACCURACY, RUNS, SAFETY, SLACK, is_inexact, limits, rounds, wide
from tg.functions.debug.values import MOVES, Region, Values, out_of_range, regions, spread
from tg.graph.text.printer import is_elementwise
from tg.rewrite.phases import DROPS_ERROR, EXACT, NAN_UNSAFE, SIGNED_ZERO

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.nodes import Apply, Variable
    from tg.graph.op import Op

    Array = np.ndarray[Any, Any]


class Difference(NamedTuple):
    """The first element at which a promise is broken: which result, where, both values, and how many there are."""

    result: int
    place: tuple[int, ...]
    before: Any
    after: Any
    many: int
    size: int
    what: str  # in words: the value differs, a NaN is hidden, …


def broken(kind: str, old: Sequence[Variable], new: Sequence[Variable], values: Values) -> Difference | None:
    """The place where a replacement breaks the promise of its class for a call's values; None where it does not."""
    for k, (v, w) in enumerate(zip(old, new, strict=True)):
        before, after = np.asarray(values.of(v)), np.asarray(values.of(w))
        if before.dtype != after.dtype or before.shape != after.shape:
            text = f"the type differs: {before.dtype}{list(before.shape)} became {after.dtype}{list(after.shape)}"
            return Difference(k, (), before.shape, after.shape, 1, 1, text)
        wrong = bits(before, after)
        if wrong.any():
            wrong = _excused(kind, v, w, values, before, after, wrong)
        if wrong.any():
            return difference(k, before, after, wrong)
    return None


def difference(result: int, before: Array, after: Array, wrong: Array) -> Difference:
    """The first wrong element, described."""
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    x, y = before[index], after[index]
    what = "the value differs"
    if is_inexact(before):
        if bool(np.isnan(wide(np.asarray(x)))) != bool(np.isnan(wide(np.asarray(y)))):
            what = "a NaN is hidden" if np.isnan(wide(np.asarray(x))) else "a NaN is new"
        elif x == y:
            what = "the sign of a zero differs"
    return Difference(result, index, x, y, int(wrong.sum()), wrong.size, what)


def bits(before: Array, after: Array) -> Array:
    """The mask of elements that are not the same bit for bit, all NaNs being one value."""
    if not is_inexact(before):
        return np.asarray(before != after)
    if before.dtype.kind == "c":
        return bits(before.real, after.real) | bits(before.imag, after.imag)
    x, y = wide(before), wide(after)
    return np.asarray(~((np.isnan(x) & np.isnan(y)) | ((x == y) & (np.signbit(x) == np.signbit(y)))))


def same(before: Array, after: Array) -> Array:
    """The mask of elements that are equal, zeros of both signs being one value, and all NaNs."""
    x, y = wide(before), wide(after)
    if not is_inexact(before):
        return np.asarray(x == y)
    return np.asarray((x == y) | (np.isnan(x) & np.isnan(y)))


def _excused(kind: str, v: Variable, w: Variable, values: Values, before: Array, after: Array, wrong: Array) -> Array:
    """Of the elements that are not the same, those that the class does not promise to be."""
    if not is_inexact(before):
        return wrong
    old, new = regions((v,), (w,))
    if kind in (EXACT, DROPS_ERROR):
        return within(v, w, values, old, new, wrong) if _is_reordered(old, new) else wrong
    if kind == SIGNED_ZERO:
        wrong = wrong & ~same(before, after)
        return _of_zeros(v, w, values, old, new, wrong) if wrong.any() else wrong
    return within(v, w, values, old, new, wrong, hides=kind == NAN_UNSAFE)


def _is_reordered(old: Region, new: Region) -> bool:
    """Whether both sides apply the same functions, some of which NumPy rounds otherwise where the layout is another."""
    first, second = _work(old), _work(new)
    return first.keys() == second.keys() and any(map(_depends_on_layout, first.values()))


def _work(region: Region) -> dict[object, Op]:
    """The ops of a region that compute something, by function or class."""
    ops = [node.op for node in region.applies if type(node.op).__name__ not in MOVES]
    return {op.rule_key if is_elementwise(op.rule_key) else type(op): op for op in ops}


def _depends_on_layout(op: Op) -> bool:
    """Whether NumPy adds up in an order that follows the layout, or has other code for other strides."""
    return rounds(op) and (not op.pointwise or getattr(op.rule_key, "accuracy", ACCURACY) > 1)


def _of_zeros(v: Variable, w: Variable, values: Values, old: Region, new: Region, wrong: Array) -> Array:
    """Of the elements that differ, those that differ too where no zero is negative."""

    def positive(node: Apply, operands: Sequence[Array], results: Sequence[Array]) -> Sequence[Array]:
        return [y + y.dtype.type(0) if is_inexact(y) else y for y in results]

    def negative(node: Apply, operands: Sequence[Array], results: Sequence[Array]) -> Sequence[Array]:
        return [np.where(wide(y) == 0, -np.abs(y), y).astype(y.dtype) if is_inexact(y) else y for y in results]

    def other(region: Region, root: Variable) -> list[Array]:
        ways: tuple[Callable[..., Sequence[Array]], ...] = (positive, negative)
        return [np.asarray(values.of(root)), *(np.asarray(values.again(region, [root], way)[0]) for way in ways)]

    with np.errstate(all="ignore"):
        for x in other(old, v):
            for y in other(new, w):
                wrong = wrong & ~same(x, y)
    return wrong


def within(
    v: Variable, w: Variable, values: Values, old: Region, new: Region, wrong: Array, *, hides: bool = False
) -> Array:
    """Of the elements that differ, those that rounding and the range of the dtype do not explain.

    Args:
        hides: whether a NaN may be hidden.
    """
    before, after = np.asarray(values.of(v)), np.asarray(values.of(w))
    (first,), (second,) = spread(values, old, (v,), RUNS), spread(values, new, (w,), RUNS)
    left = out_of_range(values, old, v) | out_of_range(values, new, w)
    nan_before, nan_after = np.isnan(wide(before)), np.isnan(wide(after))
    leaves = [wide(a) for a in map(np.asarray, map(values.of, (*old.leaves, *new.leaves))) if is_inexact(a)]
    infinite = any(np.isinf(a).any() for a in leaves)
    hidden = nan_before & (hides or (infinite and not any(np.isnan(a).any() for a in leaves)))
    allowed = np.where(nan_after & ~nan_before, infinite, close(before, after, first + second) | left | hidden)
    return np.asarray(wrong & ~allowed)


def _slack(before: Array, after: Array, gap: Array) -> Array:
    """By how much elements may differ: a few times what rounding moves them."""
    x, y = wide(before), wide(after)
    info = limits(before.dtype)
    with np.errstate(all="ignore"):
        size = np.fmax(np.abs(np.where(np.isfinite(x), x, 0)), np.abs(np.where(np.isfinite(y), y, 0)))
        return SAFETY * np.where(np.isnan(gap), np.inf, gap) + SLACK * np.maximum(info.eps * size, info.least)


def allowed(before: Array, after: Array, gap: Array, index: tuple[int, ...]) -> float:
    """By how much one element may differ: integers not at all."""
    same_shape = before.shape == after.shape
    return float(_slack(before, after, gap)[index]) if is_inexact(before) and same_shape else 0.0


def close(before: Array, after: Array, gap: Array) -> Array:
    """The mask of elements that differ by no more than a few times what rounding moves them."""
    x, y = wide(before), wide(after)
    with np.errstate(all="ignore"):
        slack = _slack(before, after, gap)
        finite = np.isfinite(x) & np.isfinite(y)
        return np.asarray(same(before, after) | (finite & (np.abs(np.where(finite, x - y, 0)) <= slack)))
