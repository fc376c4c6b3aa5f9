"""The op of convolutions of any number of axes, whose adjoints are itself.

It has an axis of groups and says where windows begin and how many there are, so it needs no other op for strides,
paddings, groups and transposes. A dilation below 0 reads the kernel from its end: that turns a convolution round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import DtypeError, ShapeError, message
from tg.graph.nodes import Variable, as_size_variable, size_value
from tg.graph.op import Op
from tg.ops.contraction import matmul
from tg.ops.elementwise.arithmetic import add
from tg.ops.indexing import flip
from tg.ops.length_checks import natural_checks
from tg.ops.nn.windows import gathered, places
from tg.ops.shape import merge_sizes, moveaxis, reshape, transpose
from tg.types.dtypes import in_float32, numpy_dtype
from tg.types.lengths import Length, product
from tg.types.lengths import add as add_lengths
from tg.types.lengths import multiply as multiply_lengths
from tg.types.lengths import subtract as subtract_lengths
from tg.types.requirements import require_same
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.checks import Check

    Array = np.ndarray[Any, Any]
    Size = int | Length


LEAD: Final = 3  # axes of the op in front of those of windows: batch, groups, channels


class Windowed(Op):
    """Products of a kernel with windows of images, of whatever dtypes: fields, shapes, and the form as a product.

    `strides`, `dilations`, `spread`, `before` and `sizes` are those of `Convolution`.
    """

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    spread: tuple[int, ...]
    before: tuple[int | None, ...]
    sizes: tuple[int | None, ...]
    has_expansion = True

    def size_operands(self, count: int) -> range:
        """The operands for where windows begin, and how many there are."""
        return range(2, count)

    def factors(self, count: int) -> Sequence[int]:
        """Images and kernel."""
        return (0, 1)

    def numbers(self, rest: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """`before` and `sizes`, with the operands in their places."""
        split = self.before.count(None)
        return merge_sizes(self.before, rest[:split]), merge_sizes(self.sizes, rest[split:])

    def result_shape(self, what: str, x: TensorType, w: TensorType, rest: Sequence[Any]) -> tuple[Any, ...]:
        """Groups and channels agree; lengths of windows are the sizes.

        Raises:
            ShapeError: they do not, or ranks are not those of the fields.
        """
        axes = len(self.strides)
        if {len(x.shape), len(w.shape)} != {LEAD + axes} or not all(
            len(field) == axes for field in (self.dilations, self.spread, self.before, self.sizes)
        ):
            raise ShapeError(
                message(f"{what}: ranks: x has {len(x.shape)}, w has {len(w.shape)}, needed {LEAD + axes}")
            )
        groups = require_same(x.shape[1], w.shape[0], lambda: f"{what}: groups")
        require_same(x.shape[2], w.shape[2], lambda: f"{what}: channels")
        _, sizes = self.numbers(rest)
        return (x.shape[0], groups, w.shape[1], *sizes)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """Sizes are at least 0."""
        return natural_checks(inputs[2 + self.before.count(None) :])

    def arrays(self, x: Array, w: Array, rest: Sequence[Array]) -> tuple[Array, Array, tuple[int, ...]]:
        """Kernels as rows and windows as columns, of each group, and the shape that their product is given."""
        before, sizes = ([int(n) for n in field] for field in self.numbers(rest))
        n, groups, channels = x.shape[:LEAD]
        outer, kernel = w.shape[1], w.shape[LEAD:]
        windows = self._windows(x, kernel, before, sizes)
        count = channels * int(np.prod(kernel, dtype=np.int64))
        columns = windows.reshape(n, groups, count, int(np.prod(sizes, dtype=np.int64)))
        return w.reshape(groups, outer, count), columns, (n, groups, outer, *sizes)

    def _windows(self, x: Array, kernel: Sequence[int], before: Sequence[int], sizes: Sequence[int]) -> Array:
        """x[n, g, c, q] by n, g, c, k and p, 0 where there is no q."""
        axes = len(kernel)
        for axis, (k, d, s, u, b, size) in enumerate(
            zip(kernel, self.dilations, self.strides, self.spread, before, sizes, strict=True)
        ):
            at = np.arange(k)[:, None] * d + np.arange(size) * s - b
            q, part = np.divmod(at, u)
            length = x.shape[LEAD + 2 * axis]
            is_there = (part == 0) & (q >= 0) & (q < length)
            x = np.moveaxis(x, LEAD + 2 * axis, 0)
            windows = np.zeros((k, size, *x.shape[1:]), x.dtype)
            windows[is_there] = x[q[is_there]]
            x = np.moveaxis(windows, (0, 1), (LEAD + 2 * axis, LEAD + 2 * axis + 1))
        own = range(LEAD)
        pairs = range(LEAD, LEAD + 2 * axes)
        return np.transpose(x, (*own, *pairs[::2], *pairs[1::2]))

    def as_product(self, inputs: Sequence[Variable]) -> tuple[Variable, Variable, tuple[Any, ...]]:
        """Kernels as rows and gathered windows as columns, of each group, and the shape that their product is given.

        Shapes:
            -> (1, g, o, c * k), (n, g, c * k, sizes), (n, g, o, sizes...)
        """
        x, w, *rest = inputs
        before, sizes = self.numbers([*map(size_value, rest)])
        n, groups, channels = x.shape[:LEAD]
        kernel = w.shape[LEAD:]
        rows = reshape(w, (1, *w.shape[:2], product((channels, *kernel))))
        columns = gathered(x, self._places(x, kernel, before, sizes))
        flat = reshape(columns, (n, groups, product((channels, *kernel)), product(sizes)))
        return rows, flat, (n, groups, w.shape[1], *sizes)

    def _places(
        self, x: Variable, kernel: Sequence[Size], before: Sequence[Any], sizes: Sequence[Any]
    ) -> list[Variable]:
        fields = zip(x.shape[LEAD:], kernel, self.strides, self.dilations, self.spread, before, sizes, strict=True)
        return [places(*field) for field in fields]

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """A batch of images joins theirs, one of kernels the outer channels, one of both the groups."""
        x, w, *rest = inputs
        tools.need_unbatched(self, batched[2:], "a place or a number of windows")
        if not batched[1]:
            y = self(_joined(x, 0), w, *rest)
            return (reshape(y, (*x.shape[:2], *y.shape[1:])),)
        if not batched[0]:
            y = self(x, _joined(moveaxis(w, 0, 1), 1), *rest)
            return (moveaxis(reshape(y, (*y.shape[:2], size, w.shape[2], *y.shape[LEAD:])), 2, 0),)
        y = self(_joined(moveaxis(x, 0, 1), 1), _joined(w, 0), *rest)
        return (moveaxis(reshape(y, (y.shape[0], size, w.shape[1], *y.shape[2:])), 1, 0),)


@final
class Convolution(Windowed):
    """The products of a kernel with the windows of images, summed over channels and positions of the window.

    y[n, g, o, p] is the sum over c and k of w[g, o, c, k] * x[n, g, c, q] with q * spread = p * strides + k * dilations
    - before along each axis of windows. Where no such q is a position of x nothing is added, or w times 0: which of the
    two is up to the backend, and shows where w is not finite. The kernel is not flipped. Operands after the kernel are
    the entries that are None in `before`, then in `sizes`: int64 scalars.

    Shapes:
        x (n, g, c, l...), w (g, o, c, k...) -> y (n, g, o, sizes...)
    Dtypes:
        operands of one dtype, which the result has; 16 bits are added up in 32.
    Raises:
        ShapeError: groups or channels differ, or a size is below 0.
    """

    def infer(self, x: TensorType, w: TensorType, *rest: Any) -> tuple[TensorType, ...]:
        """Groups and channels agree; lengths of windows are the sizes."""
        shape = self.result_shape("convolution", x, w, rest)
        if x.dtype != w.dtype:
            raise DtypeError(message(f"convolution: dtypes differ: x has {x.dtype}, w has {w.dtype}"))
        return (TensorType(x.dtype, shape),)

    def perform(self, x: Array, w: Array, *rest: Array) -> tuple[Array, ...]:
        """Windows of the padded images, and a matrix product for each group."""
        work = np.dtype(numpy_dtype(in_float32(x.dtype.name)))
        rows, columns, shape = self.arrays(x.astype(work, copy=False), w.astype(work, copy=False), rest)
        return (np.asarray(np.matmul(rows, columns)).reshape(shape).astype(x.dtype, copy=False),)

    def expansion(self, *inputs: Variable) -> Variable:
        """The windows gathered into columns, and a matrix product for each group."""
        rows, columns, shape = self.as_product(inputs)
        return reshape(matmul(rows, columns), shape)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """For x the convolution turned round; for w that of images and cotangents, which stand for a kernel."""
        (x, w, *rest), (dy,) = inputs, cotangents
        if dy is None:
            return (None,) * len(inputs)
        return (self._of_images(x, w, rest, dy), self._of_kernel(x, w, rest, dy), *(None for _ in rest))

    def _of_images(self, x: Variable, w: Variable, rest: Sequence[Variable], dy: Variable) -> Variable:
        """Strides and spread change their parts, inner and outer channels too, and the kernel is read backwards."""
        before, _ = self.numbers([*map(size_value, rest)])
        dilations = tuple(-d for d in self.dilations)
        return convolution(
            dy, swapped(w, 1, 2), self.spread, dilations, self.strides, [_negative(b) for b in before], x.shape[LEAD:]
        )

    def _of_kernel(self, x: Variable, w: Variable, rest: Sequence[Variable], dy: Variable) -> Variable:
        """Channels are the batch, and the batch is the channels; windows are as many as the kernel is long.

        A dilation below 0 would be a stride below 0: the result is made from its other end, and flipped.
        """
        before, _ = self.numbers([*map(size_value, rest)])
        kernel = w.shape[LEAD:]
        turned = [k for k, d in enumerate(self.dilations) if d < 0]
        begins = [
            add_lengths(b, multiply_lengths(subtract_lengths(n, 1), -d)) if d < 0 else b
            for b, n, d in zip(before, kernel, self.dilations, strict=True)
        ]
        strides = tuple(abs(d) for d in self.dilations)
        images, slopes = swapped(x, 0, 2), _cycled(dy)
        gradient = convolution(images, slopes, strides, self.strides, self.spread, begins, kernel)
        gradient = _cycled(gradient)
        return flip(gradient, tuple(LEAD + k for k in turned)) if turned else gradient

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Of each operand by itself: the op is linear in both."""
        (x, w, *rest), (dx, dw) = inputs, tangents[:2]
        terms = ([] if dx is None else [self(dx, w, *rest)]) + ([] if dw is None else [self(x, dw, *rest)])
        return (add(*terms) if len(terms) == 2 else terms[0] if terms else None,)


def convolution(
    x: Variable,
    w: Variable,
    strides: Sequence[int],
    dilations: Sequence[int],
    spread: Sequence[int],
    before: Sequence[Size],
    sizes: Sequence[Size],
) -> Variable:
    """`Convolution` on lengths that are known or not."""
    return applied(Convolution, x, w, strides, dilations, spread, before, sizes)


def applied(
    kind: type[Windowed],
    x: Variable,
    w: Variable,
    strides: Sequence[int],
    dilations: Sequence[int],
    spread: Sequence[int],
    before: Sequence[Size],
    sizes: Sequence[Size],
) -> Variable:
    """An op on lengths that are known or not."""
    field, begins = _numbers(before)
    lengths, counts = _numbers(sizes)
    op = kind(tuple(strides), tuple(dilations), tuple(spread), field, lengths)
    return op(x, w, *begins, *counts)  # type: ignore[no-any-return]


def _numbers(sizes: Sequence[Size]) -> tuple[tuple[int | None, ...], list[Variable]]:
    field = tuple(n if type(n) is int else None for n in sizes)
    return field, [as_size_variable(n) for n in sizes if type(n) is not int]


def _negative(b: Size) -> Size:
    return multiply_lengths(b, -1)


def _joined(v: Variable, axis: int) -> Variable:
    """Two neighbouring axes as one."""
    shape = v.shape
    return reshape(v, (*shape[:axis], multiply_lengths(shape[axis], shape[axis + 1]), *shape[axis + 2 :]))


def swapped(v: Variable, a: int, b: int) -> Variable:
    """v with two axes exchanged."""
    order = [*range(v.type.ndim)]
    order[a], order[b] = b, a
    return transpose(v, order)


def _cycled(v: Variable) -> Variable:
    """The first axis behind the two that follow it."""
    return transpose(v, (1, 2, 0, *range(LEAD, v.type.ndim)))
