"""Convolutions with what stands around them: zeros joined to images, and numbers for each channel behind.

Batch norm with given statistics is (y - mean) / sqrt(var + eps) * weight + bias of a convolution y. It becomes a scale
and a shift for each channel, and the scale goes into the kernel where that takes less than to scale the result. What
y - mean cancels is not more than what y has been rounded by.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.graph.nodes import Constant, size_value
from tg.ops.contraction import MatMul
from tg.ops.elementwise.arithmetic import add, divide, multiply, negative, subtract
from tg.ops.elementwise.record import Elementwise
from tg.ops.nn.convolved import Convolution, convolution
from tg.ops.shape import Concatenate, ExpandDims, Reshape, Squeeze, Transpose, reshape
from tg.rewrite.phases import EXACT, REASSOCIATES, SPECIALIZE
from tg.rewrite.rule import FLOATING, pass_of, rule_of
from tg.rules.shape import made_by
from tg.rules.shape.moved import every
from tg.rules.shape.terms import MOVEMENTS, arranged, below_movements, is_one, places_of, wanted_shape
from tg.types.dtypes import is_plain_zeros
from tg.types.lengths import add as plus
from tg.types.lengths import multiply as product
from tg.types.requirements import equal_here

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.nodes import Apply, Variable
    from tg.graph.view import View
    from tg.types.lengths import Length

    Size = int | Length

GROUP, OUTER, BOTH = 1, 2, -1  # axes of a convolution's result that channels lie along; both as one axis
WIDE: Final = ("float32", "float64")  # a half has little room for a kernel times what images are scaled by
LEAST_GAIN: Final = 2  # so many times as large as a kernel is a result for whose sake a kernel is scaled in each call


# --- zeros around images ---------------------------------------------------------------------------------------------


def _padded_example(x: Variable, w: Variable) -> Variable:
    images = arranged(Concatenate(-1)(x * 0 + 1, x), [None, None, None, 0, 1])
    zeros = Constant(np.zeros((1, 1, 1, 4, 1), x.type.numpy_dtype))
    padded = Concatenate(-1)(zeros, images, zeros)
    return convolution(padded, arranged(w, [None, None, None, 0, 1]), (1, 2), (1, 1), (1, 1), (1, 0), (3, 4))


@rule_of(Convolution, kind=EXACT, below=(Concatenate, ExpandDims, Squeeze, Transpose, Reshape), example=_padded_example)
def _convolution_of_padded(op: Any, x: Variable, w: Variable, *rest: Variable) -> Variable | None:
    """Zeros joined to images along axes of windows are zeros that the convolution puts there.

    A convolution puts zeros around images by itself; the images need not be copied.
    """
    before, sizes = op.numbers([*map(size_value, rest)])
    for k in range(len(before)):
        match = _unpadded(x, k - len(before))
        if match is not None:
            images, zeros = match
            begins = [plus(b, product(zeros, op.spread[k])) if j == k else b for j, b in enumerate(before)]
            return convolution(images, w, op.strides, op.dilations, op.spread, begins, sizes)
    return None


def _unpadded(x: Variable, axis: int) -> tuple[Variable, Size] | None:
    """Images without the zeros joined to them along an axis counted from the end, and how many stand before them."""
    if made_by(x, Reshape):
        assert x.apply is not None
        inner, wanted = x.inputs[0], wanted_shape(x.apply.op, x.apply)
        if inner.type.ndim < -axis or not all(map(equal_here, inner.shape[axis:], wanted[axis:])):
            return None
        match = _unpadded(inner, axis)
        if match is None:
            return None
        shape = (*wanted[:axis], match[0].shape[axis], *wanted[axis:][1:])
        return reshape(match[0], shape), match[1]
    base, places, _ = below_movements(x)
    place = places[axis]
    if place is None:
        return None
    if base is not x and made_by(base, Reshape):
        match = _unpadded(base, place - base.type.ndim)
    else:
        match = _without_zeros(base, place - base.type.ndim)
    return None if match is None else (arranged(match[0], places), match[1])


def _without_zeros(v: Variable, axis: int) -> tuple[Variable, Size] | None:
    op = made_by(v, Concatenate)
    if not op or op.axis != axis:
        return None
    parts = v.inputs
    images = [k for k, part in enumerate(parts) if not every(part, _is_zero)]
    if len(images) != 1:
        return None
    zeros: Size = 0
    for part in parts[: images[0]]:
        zeros = plus(zeros, part.shape[axis])
    return parts[images[0]], zeros


def _is_zero(v: Variable) -> bool:
    """Whether a value is zeros that are known, of the sign of those that convolutions put around images."""
    return isinstance(v, Constant) and is_plain_zeros(v.data)


# --- numbers for each channel behind ---------------------------------------------------------------------------------


class Affine(NamedTuple):
    """(y + before) * scale + after, of a convolution's result under some views; None where a step is missing.

    Args:
        moves: the views.
        axes: for each axis under these, that of the convolution.
        steps: how many functions it is of whole images.
    """

    convolution: Apply
    base: Variable
    axes: tuple[int | None, ...]
    moves: tuple[Apply, ...] = ()
    before: Variable | None = None
    scale: Variable | None = None
    after: Variable | None = None
    steps: int = 0
    divides: bool = False

    def moved(self, node: Apply, v: Variable) -> Affine | None:
        """The same under one more view."""
        op: Any = node.op
        if type(op) is Reshape:
            axes = _merged(node, self.axes)
        else:
            axes = tuple(None if p is None else self.axes[p] for p in places_of(op, len(self.axes)))
        return None if axes is None else self._replace(base=v, axes=axes, moves=(*self.moves, node))

    def of_channels(self, u: Variable) -> bool:
        """Whether a value has one number for each channel, or for all."""
        if u.type.ndim == 0:
            return True
        pairs = zip(u.shape, self.base.shape, self.axes, strict=True)
        return all(is_one(n) or (axis in (GROUP, OUTER, BOTH) and equal_here(n, m)) for n, m, axis in pairs)

    def plus(self, u: Variable) -> Affine:
        """One more shift."""
        if self.scale is None:
            return self._replace(before=_sum(self.before, u), steps=self.steps + 1)
        return self._replace(after=_sum(self.after, u), steps=self.steps + 1)

    def times(self, u: Variable, *, divides: bool = False) -> Affine:
        """One more scale."""
        after = None if self.after is None else _known(multiply, self.after, u)
        scale = u if self.scale is None else _known(multiply, self.scale, u)
        return self._replace(scale=scale, after=after, steps=self.steps + 1, divides=self.divides or divides)

    def shift(self) -> Variable | None:
        """Sum of all that is added."""
        if self.scale is None:
            return self.before
        if self.before is None:
            return self.after
        before = _known(multiply, self.before, self.scale)
        return before if self.after is None else _sum(before, self.after)

    def written(self, is_fixed: Callable[[Variable], bool]) -> Variable | None:
        """The same with a scale and a shift at most, the scale in the kernel where that is cheaper; None: no gain.

        Args:
            is_fixed: whether a value is the same in all calls.
        """
        base, scale, shift = self.base, self.scale, self.shift()
        if type(self.convolution.op) is MatMul and not (scale is not None and is_fixed(scale)):
            return None
        if scale is not None and self._kernel_is_cheaper(scale, is_fixed):
            base, scale = self._scaled(scale), None
        steps = (scale is not None) + (shift is not None)
        if base is self.base and steps >= self.steps and not (self.divides and self.steps > 1):
            return None
        y = base if scale is None else multiply(base, scale)
        return y if shift is None else add(y, shift)

    def _kernel_is_cheaper(self, scale: Variable, is_fixed: Callable[[Variable], bool]) -> bool:
        """Whether the kernel and the scale are the same in all calls, or the kernel is smaller than the result."""
        w = self.convolution.inputs[1]
        if is_fixed(scale) and is_fixed(w):
            return True
        if type(self.convolution.op) is MatMul:
            return False
        shapes: list[Any] = [w.type.shape, self.base.type.shape]
        if any(None in shape for shape in shapes):
            return False
        kernel, result = map(math.prod, shapes)
        return bool(LEAST_GAIN * kernel <= result)

    def _scaled(self, scale: Variable) -> Variable:
        """The convolution with a scaled kernel, under the same views."""
        x, w, *rest = self.convolution.inputs
        base, places, chain = below_movements(w)
        if type(self.convolution.op) is MatMul:
            w = _scaled_columns(base, places, scale, self.axes.index(OUTER))
            for op in chain:
                w = op(w) if type(w) is not Constant else Constant(op.perform(w.data)[0])
        else:
            w = arranged(base, places)  # a constant, if it is made of one
            w = _known(multiply, w, self._of_kernel(scale, w))
        y: Variable = self.convolution.op(x, w, *rest)
        for node in self.moves:
            y = node.op(y, *node.inputs[1:])
        return y

    def _of_kernel(self, scale: Variable, w: Variable) -> Variable:
        """The scale as it is for the outer channels of a kernel (g, o, c, k...)."""
        if scale.type.ndim == 0:
            return scale
        place = {axis: k for k, axis in enumerate(self.axes) if axis is not None}
        rest: list[int | None] = [None] * (w.type.ndim - 2)
        if BOTH not in place:
            return arranged(scale, [place.get(GROUP), place.get(OUTER), *rest])
        both = arranged(scale, [place[BOTH]])
        if is_one(both.shape[0]):
            return arranged(both, [0, None, *rest])
        if type(both) is Constant:
            return Constant(both.data.reshape(*w.type.shape[:2], *(1 for _ in rest)))
        return arranged(reshape(both, w.shape[:2]), [0, 1, *rest])


def _scaled_columns(base: Variable, places: Sequence[int | None], scale: Variable, axis: int) -> Variable:
    """A matrix times a number for each column of it as `places` arrange it; they lie along an axis of the scale."""
    if scale.type.ndim:
        scale = arranged(scale, [axis if k == places[-1] else None for k in range(base.type.ndim)])
    return _known(multiply, base, scale)


def _merged(node: Apply, axes: tuple[int | None, ...]) -> tuple[int | None, ...] | None:
    """The axes after a reshape that makes one of those of groups and outer channels; None if it does something else."""
    old, new = node.inputs[0].shape, wanted_shape(node.op, node)
    if len(new) == len(old) - 2 and is_one(old[0]) and axes[0] == 0:  # one image, whose axis goes too
        old, axes = old[1:], axes[1:]
    at = axes.index(GROUP) if GROUP in axes else 0
    if axes[at : at + 2] != (GROUP, OUTER) or len(new) != len(old) - 1:
        return None
    if not all(map(equal_here, (*old[:at], *old[at + 2 :]), (*new[:at], *new[at + 1 :]))):
        return None
    return (*axes[:at], BOTH, *axes[at + 2 :])


def _known(fn: Any, *operands: Variable) -> Variable:
    """A function of some values: a constant where they are."""
    if all(type(v) is Constant for v in operands):
        with np.errstate(all="ignore"):
            return Constant(fn.op.perform(*(v.data for v in operands))[0])  # type: ignore[attr-defined]
    return fn(*operands)  # type: ignore[no-any-return]


def _sum(x: Variable | None, y: Variable) -> Variable:
    return y if x is None else _known(add, x, y)


def _channels_example(x: Variable, w: Variable) -> Variable:
    images, kernel = arranged(x, [None, None, None, 0, 1]), arranged(w, [None, 0, None, None, 1])
    y = Squeeze((-4,))(convolution(images, kernel, (1, 1), (1, 1), (1, 1), (0, 1), (4, 4)))
    mean, scale = (arranged(v[0], [None, 0, None, None]) for v in (x, w))
    return add(multiply(divide(subtract(y, mean), scale), 2), mean)


@pass_of(Convolution, MatMul, phase=SPECIALIZE, kind=REASSOCIATES, example=_channels_example)
def _convolution_of_channels(view: View) -> dict[int, Variable]:
    """Sums and products of convolutions and numbers for each channel, of values that nothing else reads.

    Of products by matrices, too, where these and the numbers are the same in all calls.

    A scale and a shift for each channel in place of what batch norm does to each element.
    """
    by_id: dict[int, tuple[Variable, Affine]] = {}
    for node in view.applies:
        v = view.results(node)[0]
        axes = _axes(node, v, view) if v.type.dtype in WIDE else None
        if axes is not None:
            by_id[id(v)] = v, Affine(node, v, axes)
            continue
        for u in node.inputs:
            pair = by_id.get(id(u))
            more = _continued(node, v, *pair) if pair is not None and view.uses(u) == 1 else None
            if more is not None:
                del by_id[id(u)]
                by_id[id(v)] = v, more
                break
    written = {key: affine.written(view.is_fixed) for key, (_, affine) in by_id.items() if affine.steps}
    return {key: y for key, y in written.items() if y is not None}


def _axes(node: Apply, v: Variable, view: View) -> tuple[int | None, ...] | None:
    """The axes of a convolution's result, or of its product by a matrix that is fixed, by what lies along them."""
    if type(node.op) is Convolution:
        return tuple(range(v.type.ndim))
    if type(node.op) is not MatMul:
        return None
    w = node.inputs[1]
    base, places, _ = below_movements(w)
    if not view.is_fixed(w) or base.type.ndim != 2 or w.type.ndim != 2 or places[-1] is None:
        return None
    return (*(None for _ in v.type.shape[1:]), OUTER)


def _continued(node: Apply, v: Variable, value: Variable, last: Affine) -> Affine | None:
    """The affine value after one of its views, or one more step: v, the result of an apply."""
    if type(node.op) in (*MOVEMENTS, Reshape):
        return None if last.steps else last.moved(node, v)
    if type(node.op) is not Elementwise or len(node.inputs) != 2:
        return None
    fn, (x, y) = node.op.fn, node.inputs
    is_first = x is value
    u = y if is_first else x
    if not last.of_channels(u) or v.type.dtype not in FLOATING:
        return None
    if fn is add:
        return last.plus(u)
    if fn is multiply:
        return last.times(u)
    if fn is subtract and is_first:
        return last.plus(_known(negative, u))
    if fn is divide and is_first:
        return last.times(_known(divide, Constant(np.asarray(1, u.type.numpy_dtype)), u), divides=True)
    return None


RULES = (_convolution_of_padded,)

PASSES = (_convolution_of_channels,)
