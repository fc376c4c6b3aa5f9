"""The op below max pooling: the largest element of each window, and where it is."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import DtypeError, message
from tg.graph.nodes import Constant, Variable, as_size_variable, size_value
from tg.graph.op import Op
from tg.ops.creation import iota, zeros
from tg.ops.elementwise.arithmetic import add, maximum, multiply
from tg.ops.elementwise.comparison import equal, greater_equal, isnan, less, logical_and, logical_or, where
from tg.ops.indexing import Gather, Scatter, SliceUpdate, read_slices
from tg.ops.length_checks import natural_checks
from tg.ops.reduction import identity
from tg.ops.shape import broadcast_to, expand_dims_at, known_shape, merge_sizes, reshape
from tg.types.dtypes import is_float, is_inexact, numpy_dtype
from tg.types.lengths import Length, product
from tg.types.lengths import add as add_lengths
from tg.types.lengths import maximum as longer
from tg.types.lengths import multiply as multiply_lengths
from tg.types.lengths import subtract as subtract_lengths
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.checks import Check

    Array = np.ndarray[Any, Any]
    Size = int | Length

NOTHING: Final = -1  # the position of a window that reads none


@final
class MaxPool(Op):
    """The largest element of each window along the last axes, and where it is: of equal ones the first, of NaN too.

    The window p of an axis reads p * stride + k * dilation - before for each k, of those that are positions of x. The
    place is the number of the element in C order of the axes of windows; where a window reads nothing it is -1, beside
    the least number of the dtype. Operands after x are the sizes that are None: int64 scalars.

    Shapes:
        x (..., l...) -> y (..., sizes...), places (..., sizes...)
    Dtypes:
        real numbers -> the same, int64
    """

    window: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    sizes: tuple[int | None, ...]
    has_expansion = True

    def size_operands(self, count: int) -> range:
        """The operands for how many windows there are."""
        return range(1, count)

    def numbers(self, rest: Sequence[Any]) -> tuple[Any, ...]:
        """`sizes`, with the operands in their places."""
        return merge_sizes(self.sizes, rest)

    def infer(self, x: TensorType, *rest: Any) -> tuple[TensorType, ...]:
        """The sizes in place of the last lengths."""
        if not (is_float(x.dtype) or x.dtype.lstrip("u").startswith("int")):
            raise DtypeError(message(f"max_pool: found {x.dtype}, needed real numbers"))
        shape = (*x.shape[: len(x.shape) - len(self.sizes)], *self.numbers(rest))
        return TensorType(x.dtype, shape), TensorType("int64", shape)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """Sizes are at least 0."""
        return natural_checks(inputs[1:])

    def perform(self, x: Array, *rest: Array) -> tuple[Array, ...]:
        """Position by position of the window: what is larger than all before takes their place."""
        sizes = known_shape(self.sizes, rest)
        axes = len(sizes)
        lengths = x.shape[x.ndim - axes :]
        shape = (*x.shape[: x.ndim - axes], *sizes)
        best = np.full(shape, identity(maximum, x.dtype.name), x.dtype)
        indices = np.full(shape, NOTHING, np.int64)
        for place in itertools.product(*map(range, self.window)):
            at = [
                np.arange(size) * s + k * d - b
                for size, s, k, d, b in zip(sizes, self.strides, place, self.dilations, self.before, strict=True)
            ]
            within = [(q >= 0) & (q < n) for q, n in zip(at, lengths, strict=True)]
            if not all(w.any() for w in within):
                continue
            grid, inside = _mesh(at), _mesh(within)
            is_there = np.all(np.broadcast_arrays(*inside), axis=0)
            index: Any = (..., *(np.where(w, q, 0) for q, w in zip(grid, inside, strict=True)))
            one = x[index]
            is_larger = is_there & ((indices == NOTHING) | (one > best) | (np.isnan(one) & ~np.isnan(best)))
            flat = np.zeros((1,) * axes, np.int64)
            for q, n in zip(grid, lengths, strict=True):
                flat = flat * n + q
            best, indices = np.where(is_larger, one, best), np.where(is_larger, flat, indices)
        return best.astype(x.dtype, copy=False), indices

    def expansion(self, *inputs: Variable) -> tuple[Variable, ...]:
        """A slice of the padded images for each position of the window, and the first that is the largest."""
        x, *rest = inputs
        sizes = self.numbers([*map(size_value, rest)])
        lengths = x.shape[x.type.ndim - len(sizes) :]
        least = Constant(np.asarray(identity(maximum, x.type.dtype)))
        wide = self._padded(x, lengths, sizes, least)
        slices = [(at, self._slice(wide, at, sizes)) for at in itertools.product(*map(range, self.window))]
        y = slices[0][1]
        for _, one in slices[1:]:
            y = maximum(y, one)
        places: Variable = broadcast_to(Constant(np.array(NOTHING, np.int64)), y.shape)
        for at, one in reversed(slices):
            flat, is_there = self._position(at, lengths, sizes)
            is_first = equal(one, y)
            if is_inexact(x.type.dtype):
                is_first = logical_or(is_first, logical_and(isnan(one), isnan(y)))
            if is_there is not None:
                is_first = logical_and(is_first, is_there)
            places = where(is_first, flat, places)
        return y, places

    def _padded(self, x: Variable, lengths: Sequence[Size], sizes: Sequence[Size], least: Variable) -> Variable:
        """Images in the least number, so that all windows lie within."""
        begins = (*(0 for _ in x.shape[: x.type.ndim - len(sizes)]), *self.before)
        reach = [
            add_lengths(multiply_lengths(subtract_lengths(size, 1), s), (k - 1) * d + 1)
            for size, s, k, d in zip(sizes, self.strides, self.window, self.dilations, strict=True)
        ]
        whole = [longer(add_lengths(n, b), r) for n, b, r in zip(lengths, self.before, reach, strict=True)]
        lead = x.shape[: x.type.ndim - len(sizes)]
        base = broadcast_to(least, (*lead, *whole))
        return SliceUpdate(begins[len(lead) :], (1,) * len(sizes))(base, x)  # type: ignore[no-any-return]

    def _slice(self, wide: Variable, at: Sequence[int], sizes: Sequence[Size]) -> Variable:
        starts = (k * d for k, d in zip(at, self.dilations, strict=True))
        return read_slices(wide, [*zip(starts, sizes, self.strides, strict=True)])

    def _position(
        self, at: Sequence[int], lengths: Sequence[Size], sizes: Sequence[Size]
    ) -> tuple[Variable, Variable | None]:
        """The numbers of the elements that windows read at a position, and whether they are there if some are not."""
        flat: Variable | None = None
        is_there: Variable | None = None
        for k, (n, size) in enumerate(zip(lengths, sizes, strict=True)):
            q = add(
                multiply(iota(size), np.int64(self.strides[k])), np.int64(at[k] * self.dilations[k] - self.before[k])
            )
            others = tuple(range(k - len(sizes) + 1, 0))
            q, end = expand_dims_at(q, others) if others else q, as_size_variable(n)
            flat = q if flat is None else add(multiply(flat, end), q)
            inside = logical_and(greater_equal(q, np.int64(0)), less(q, end))
            is_there = inside if is_there is None else logical_and(is_there, inside)
        assert flat is not None
        return flat, is_there

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The cotangents added up where the largest elements are."""
        (x, *rest), (dy, *_) = inputs, cotangents
        if dy is None:
            return (None,) * len(inputs)
        lead, own = self._split(x)
        flat = zeros((product(lead), product(own)), dtype=dy.type.dtype)
        rows, places, is_there = self._rows(x, outputs[1])
        values = where(is_there, reshape(dy, places.shape), numpy_dtype(dy.type.dtype).type(0))
        gradient = Scatter((-2, -1), add)(flat, values, rows, places)
        return (reshape(gradient, x.shape), *(None for _ in rest))

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The tangents of the largest elements."""
        x, dx = inputs[0], tangents[0]
        if dx is None:
            return (None, None)
        lead, own = self._split(x)
        rows, places, is_there = self._rows(x, outputs[1])
        tangent = Gather((-2, -1))(reshape(dx, (product(lead), product(own))), rows, places)
        return (reshape(where(is_there, tangent, numpy_dtype(dx.type.dtype).type(0)), outputs[0].shape), None)

    def _split(self, x: Variable) -> tuple[tuple[Size, ...], tuple[Size, ...]]:
        count = x.type.ndim - len(self.sizes)
        return x.shape[:count], x.shape[count:]

    def _rows(self, x: Variable, places: Variable) -> tuple[Variable, Variable, Variable]:
        """For each window the image, the place in it, and whether there is one."""
        lead, _ = self._split(x)
        flat = reshape(places, (product(lead), product(places.shape[len(lead) :])))
        rows = broadcast_to(expand_dims_at(iota(flat.shape[0]), (-1,)), flat.shape)
        return rows, maximum(flat, np.int64(0)), greater_equal(flat, np.int64(0))

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """The batch is one more axis in front."""
        tools.need_unbatched(self, batched[1:], "a number of windows")
        return self(*inputs)  # type: ignore[no-any-return]


def _mesh(arrays: Sequence[Array]) -> list[Array]:
    """Vectors along axes of their own."""
    return [v.reshape(*(-1 if j == k else 1 for j in range(len(arrays)))) for k, v in enumerate(arrays)]
