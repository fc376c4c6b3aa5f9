"""Integers for the factor of a product that is no weight: scales of rows as the program runs, or one for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.errors import OptionError, message
from tg.ops.creation import ones
from tg.ops.elementwise.arithmetic import clip, divide, maximum, minimum, multiply, negative, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, where
from tg.ops.elementwise.rounding import rint
from tg.ops.integer_products import integer_matmul
from tg.ops.nn.convolved import LEAD, Convolution
from tg.ops.nn.integer_convolution import IntegerConvolution
from tg.ops.quantization import quantize
from tg.ops.reduction import Reduce
from tg.ops.shape import expand_dims_at, matrix_transpose, reshape
from tg.types.dtypes import numpy_dtype
from tg.variables.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.quantization.sites import Site
    from tg.quantization.weights import Packed

KINDS: Final = ("int8", "uint8")
SIGNED, UNSIGNED = 127, 255  # largest levels


def checked_kind(what: str, name: str | None) -> str | None:
    """The dtype of activations, None for floats.

    Raises:
        OptionError: another.
    """
    if name is not None and name not in KINDS:
        raise OptionError(message(f"{what}: activations: found {name!r}, needed None or one of {', '.join(KINDS)}"))
    return name


class Levels(NamedTuple):
    """The levels of a factor: their dtype, and the least and largest value that they reach, None: those of each row."""

    kind: str
    limits: tuple[float, float] | None

    def of(self, x: Variable, axes: tuple[int, ...]) -> tuple[Variable, Variable, Variable | None]:
        """Integers of x, their scale and their zero point, None for 0; both have length 1 along the axes."""
        kind = numpy_dtype(x.type.dtype).type
        low, high = self._limits(x, axes)
        if self.kind == "int8":
            scale = _positive(divide(maximum(high, negative(low)), kind(SIGNED)))
            return quantize(x, scale, dtype="int8"), scale, None
        scale = _positive(divide(subtract(high, low), kind(UNSIGNED)))
        zero = cast_variable(clip(rint(divide(negative(low), scale)), kind(0), kind(UNSIGNED)), "uint8")
        return quantize(x, scale, zero, "uint8"), scale, zero

    def _limits(self, x: Variable, axes: tuple[int, ...]) -> tuple[Variable, Variable]:
        kind = numpy_dtype(x.type.dtype).type
        if self.limits is not None:
            return constant(kind(self.limits[0])), constant(kind(self.limits[1]))
        low, high = (expand_dims_at(Reduce(fn, axes, total=True)(x), axes) for fn in (minimum, maximum))
        return minimum(low, kind(0)), maximum(high, kind(0))


def _positive(scale: Variable) -> Variable:
    """A scale; 1 where all values are 0."""
    kind = numpy_dtype(scale.type.dtype).type
    return where(equal(scale, kind(0)), kind(1), scale)


def of_integers(
    site: Site, operands: Sequence[Variable], packed: Packed, shape: Sequence[int], levels: Levels
) -> Variable:
    """The result of a product of integers with exact sums, times both scales."""
    assert packed.scale is not None
    x = operands[1 - site.operand]
    if isinstance(site.node.op, Convolution):
        total, steps = _convolved(site.node.op, operands, packed, shape, levels)
    elif site.operand == 1:
        q, scale, zero = levels.of(x, (-1,))
        total = integer_matmul(q, matrix_transpose(packed.integers()), x_zero_point=zero)
        steps = multiply(scale, cast_variable(matrix_transpose(packed.scale), x.type.dtype))
    else:
        q, scale, zero = levels.of(x, (-2,))
        total = integer_matmul(packed.integers(), q, y_zero_point=zero)
        steps = multiply(cast_variable(packed.scale, x.type.dtype), scale)
    return multiply(cast_variable(total, x.type.dtype), steps)


def _convolved(
    op: Convolution, operands: Sequence[Variable], packed: Packed, shape: Sequence[int], levels: Levels
) -> tuple[Variable, Variable]:
    """The sums of a convolution less those of zero points, and scales that are repeated along them.

    Nothing is added where a window reaches beyond the images, so zero points are taken off where it does not: by the
    convolution of ones.
    """
    assert packed.scale is not None
    x, _, *rest = operands
    axes = tuple(range(1 - x.type.ndim, 0))
    q, scale, zero = levels.of(x, axes)
    integers = IntegerConvolution(*(getattr(op, name) for name in type(op).fields))
    kernel = reshape(packed.integers(), tuple(shape))
    total: Variable = integers(q, kernel, *rest)
    if zero is not None:
        ends = integers(ones((1, *x.shape[1:]), "uint8"), kernel, *rest)
        total = subtract(total, multiply(cast_variable(zero, "int32"), ends))
    windows = tuple(range(LEAD - x.type.ndim, 0))
    lengths: tuple[Any, ...] = packed.scale.type.shape  # of a constant
    rows = expand_dims_at(reshape(packed.scale, (1, *lengths[:2])), windows)
    return total, multiply(scale, cast_variable(rows, x.type.dtype))
