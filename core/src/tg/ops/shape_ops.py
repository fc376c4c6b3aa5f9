"""The ops of `shape`: lengths, reshaping, permuting, inserting, dropping, repeating and joining axes.

Axes are stored counted from the end. A length that is not known when the program is written is an operand, an int64
scalar that follows the array; the field has None in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import DtypeError, ShapeError, message
from tg.graph.facts import ELEMENT, ZEROS, elements_of, facts_of
from tg.graph.op import Op
from tg.ops.length_checks import fit_check
from tg.types.lengths import Length
from tg.types.lengths import add as add_lengths
from tg.types.requirements import require_same
from tg.types.tensor_type import TensorType
from tg.variables.conversion import need_axes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.graph.checks import Check
    from tg.graph.nodes import Variable

    Array = np.ndarray[Any, Any]

MIRROR: Final = {
    "lower_triangular": "upper_triangular",
    "upper_triangular": "lower_triangular",
    "lower_hessenberg": "upper_hessenberg",
    "upper_hessenberg": "lower_hessenberg",
}


@final
class AxisLength(Op):
    """The length of one axis as an int64 scalar.

    Shapes:
        x (..., n, ...) -> ()
    Raises:
        ShapeError: `axis` is not an axis of x.
    """

    axis: int

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """An int64 scalar."""
        need_axes("axis length", (self.axis,), len(x.shape))
        return (TensorType("int64"),)

    def perform(self, x: Array) -> tuple[Array, ...]:
        """The entry of `x.shape`."""
        return (np.asarray(x.shape[self.axis], np.int64),)

    def length_value(
        self, inputs: Sequence[Variable], value_of: Callable[[Variable], int | Length]
    ) -> int | Length | None:
        """The length itself."""
        return inputs[0].shape[self.axis]

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """A length is not below 0."""
        return (("nonnegative",),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """None: a shape does not depend on values."""
        return (None,)

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Any]:
        """The same length for every element of the batch."""
        return (tools.unbatched(self(inputs[0])),)


@final
class Transpose(Op):
    """The axes permuted: axis k of the result is axis `axes[k]` of x, counted from the end.

    Shapes:
        x (n1, ..., nk) -> y (permuted)
    """

    axes: tuple[int, ...]

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The lengths permuted; axes in front that are not named stay."""
        if len(self.axes) > len(x.shape):
            raise ShapeError(message(f"transpose: found {len(x.shape)} axes, needed {len(self.axes)}"))
        need_axes("transpose", self.axes, len(self.axes), "what is permuted")
        front = x.shape[: len(x.shape) - len(self.axes)]
        return (TensorType(x.dtype, (*front, *(x.shape[k] for k in self.axes))),)

    def perform(self, x: Array) -> tuple[Array, ...]:
        """`np.transpose`, copied."""
        return (np.transpose(x, self.order(x.ndim)).copy(),)

    def order(self, ndim: int) -> tuple[int, ...]:
        """The permutation for an array of `ndim` axes, counted from the front."""
        return (*range(ndim - len(self.axes)), *(k + ndim for k in self.axes))

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """The elements stay; a matrix is turned round, or stays where its axes are the last two still."""
        operand_facts = facts_of(inputs[0])
        if set(range(-2, 0)) != set(self.axes[-2:]):
            return (operand_facts & ELEMENT,)
        if self.axes[-1] == -1:
            return (operand_facts,)
        return ((operand_facts - ZEROS) | {MIRROR[name] for name in operand_facts & ZEROS},)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """The cotangent permuted back."""
        (dy,) = cotangents
        return (None if dy is None else Transpose(inverse_permutation(self.axes))(dy),)


def inverse_permutation(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation, of axes counted from the end, that undoes one."""
    n = len(axes)
    inverse = [0] * n
    for k, axis in enumerate(axes):
        inverse[axis + n] = k - n
    return tuple(inverse)


@final
class ExpandDims(Op):
    """Axes of length 1 inserted so that they stand at `axes` of the result, counted from the end.

    Shapes:
        x (n, m), axes (-2,) -> y (n, 1, m)
    """

    axes: tuple[int, ...]

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The shape with ones at `axes`."""
        ndim = len(x.shape) + len(self.axes)
        need_axes("expand_dims", self.axes, ndim, "the result")
        rest = iter(x.shape)
        return (TensorType(x.dtype, [1 if k in self.axes else next(rest) for k in range(-ndim, 0)]),)

    def perform(self, x: Array) -> tuple[Array, ...]:
        """`np.expand_dims`, copied."""
        return (np.expand_dims(x, self.axes).copy(),)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """The elements stay; a matrix does behind the new axes."""
        return (facts_of(inputs[0]) if max(self.axes, default=-3) < -2 else elements_of(inputs[0]),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """The cotangent without the axes."""
        (dy,) = cotangents
        return (None if dy is None else Squeeze(self.axes)(dy),)


@final
class Squeeze(Op):
    """The axes `axes`, of length 1, dropped.

    Shapes:
        x (n, 1, m), axes (-2,) -> y (n, m)
    Raises:
        ShapeError: an axis to drop has another length than 1 (a check where it is known at run time only).
    """

    axes: tuple[int, ...]

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The shape without `axes`."""
        need_axes("squeeze", self.axes, len(x.shape))
        for k in self.axes:
            require_same(x.shape[k], 1, lambda k=k: f"squeeze: axis {k}")  # type: ignore[misc]
        return (
            TensorType(
                x.dtype, [n for k, n in zip(range(-len(x.shape), 0), x.shape, strict=True) if k not in self.axes]
            ),
        )

    def perform(self, x: Array) -> tuple[Array, ...]:
        """`np.squeeze`, copied."""
        return (np.squeeze(x, self.axes).copy(),)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """The elements stay; a matrix does behind the axes."""
        return (facts_of(inputs[0]) if max(self.axes, default=-3) < -2 else elements_of(inputs[0]),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """The cotangent with the axes back."""
        (dy,) = cotangents
        return (None if dy is None else ExpandDims(self.axes)(dy),)


@final
class Concatenate(Op):
    """Arrays joined along `axis`.

    Shapes:
        (..., n1, ...), (..., n2, ...) -> (..., n1 + n2, ...)
    Raises:
        ShapeError: ranks or other lengths differ.
    """

    axis: int

    def infer(self, *arrays: TensorType) -> tuple[TensorType, ...]:
        """Lengths along the axis add up; the others must agree."""
        first = arrays[0]
        shape = list(first.shape)
        need_axes("concatenate", (self.axis,), len(shape))
        for other in arrays[1:]:
            if len(other.shape) != len(shape):
                text = f"concatenate: ranks differ: {len(shape)} and {len(other.shape)}"
                raise ShapeError(message(text, hint="x[None] adds an axis"))
            if other.dtype != first.dtype:
                raise DtypeError(message(f"concatenate: dtypes differ: {first.dtype} and {other.dtype}"))
            for k, (a, b) in enumerate(zip(shape, other.shape, strict=True)):
                if k - len(shape) == self.axis:
                    shape[k] = add_lengths(a, b)  # type: ignore[arg-type]
                else:
                    shape[k] = require_same(a, b, lambda k=k: f"concatenate: axis {k}")  # type: ignore[misc]
        return (TensorType(first.dtype, shape),)

    def perform(self, *arrays: Array) -> tuple[Array, ...]:
        """`np.concatenate`."""
        return (np.concatenate(arrays, self.axis),)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """The sum of the lengths is a length."""
        total: int | Length = 0
        for x in inputs:
            total = add_lengths(total, x.shape[self.axis])
        fits = fit_check([total], "concatenate: a length")
        return () if fits is None else (fits,)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """Facts that all pieces share."""
        return (elements_of(*inputs),)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The pieces of the cotangent."""
        from tg.ops.indexing import slice_axis

        (dy,) = cotangents
        pieces: list[Variable | None] = []
        start: int | Length = 0
        for x in inputs:
            n = x.shape[self.axis]
            pieces.append(None if dy is None else slice_axis(dy, self.axis, start, n))
            start = add_lengths(start, n)
        return pieces
