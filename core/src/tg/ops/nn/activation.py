"""Activations: functions of elements, gates of halves of an axis, and slopes for channels.

At a kink the derivative is PyTorch's: 0 at both ends of what is cut off, the slope of the side below elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.errors import DomainError, InputError, ShapeError, message
from tg.ops.elementwise.arithmetic import absolute, clip, divide, multiply, sign
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater, greater_equal, less, less_equal, where
from tg.ops.elementwise.exponential import expm1, log_sigmoid, sigmoid, softplus
from tg.ops.elementwise.special.error import erfc
from tg.ops.elementwise.trigonometric import tanh
from tg.ops.family import Family
from tg.ops.indexing import slice_axis
from tg.ops.nn.operands import along_axes, multiple_of, wide
from tg.ops.shape import reshape
from tg.types.lengths import floor_divide
from tg.variables.conversion import axis_from_end

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.types.choices import Approximation
    from tg.variables.like import TensorLike

SELU_ALPHA: Final = 1.6732632423543772
SELU_SCALE: Final = 1.0507009873554805
ROOT_OF_HALF: Final = 0.7071067811865476
TWICE_ROOT: Final = 1.5957691216057308  # 2 * sqrt(2 / pi)
CUBIC: Final = 0.044715
SATURATED: Final = 30.0  # from here on the share of `gelu` by tanh is 0 or 1 in float64, and its cube in range


def relu6(x: TensorLike) -> Variable:
    """x limited to [0, 6]; the derivative at 0 and 6 is 0, and NaN stays NaN.

    Source:
        torch.nn.functional.relu6
    """
    return _hardtanh("relu6", x, 0.0, 6.0)


def hardtanh(x: TensorLike, min_val: float = -1.0, max_val: float = 1.0) -> Variable:
    """x limited to [min_val, max_val]; the derivative at both ends is 0, where that of `tg.clip` is 1.

    Raises:
        InputError: `min_val` is above `max_val`.
    Source:
        torch.nn.functional.hardtanh
    """
    if not min_val <= max_val:
        raise InputError(message(f"hardtanh: found limits {min_val} and {max_val}, needed the lower one first"))
    return _hardtanh("hardtanh", x, min_val, max_val)


def _hardtanh(what: str, x: Any, low: float, high: float) -> Variable:
    (x,), dtype = wide(what, x)
    return cast_variable(where(less_equal(x, low), low, where(greater_equal(x, high), high, x)), dtype)


def hardsigmoid(x: TensorLike) -> Variable:
    """(x + 3) / 6 limited to [0, 1]; the derivative at -3 and 3 is 0.

    Source:
        torch.nn.functional.hardsigmoid
    """
    (x,), dtype = wide("hardsigmoid", x)
    return cast_variable(_between(x, 0.0, (x + 3) / 6, 1.0), dtype)


def hardswish(x: TensorLike) -> Variable:
    """x * hardsigmoid(x), which is 0 up to -3 and x from 3 on; the derivative at -3 is 0, that at 3 is 1.

    Source:
        torch.nn.functional.hardswish
    """
    (x,), dtype = wide("hardswish", x)
    return cast_variable(_between(x, 0.0, x * ((x + 3) / 6), x), dtype)


def _between(x: Variable, below: Any, inside: Variable, above: Any) -> Variable:
    """One thing for x up to -3, another from 3 on, a third between them and for NaN."""
    return where(less_equal(x, -3), below, where(greater_equal(x, 3), above, inside))


def threshold(x: TensorLike, threshold: float, value: float) -> Variable:
    """x where it is above a threshold, else a value.

    Source:
        torch.nn.functional.threshold
    """
    (x, limit, other), dtype = wide("threshold", x, threshold, value)
    return cast_variable(where(less_equal(x, limit), other, x), dtype)


def leaky_relu(x: TensorLike, negative_slope: Any = 0.01) -> Variable:
    """x where it is above 0, else negative_slope * x; the derivative at 0 is the slope.

    Source:
        torch.nn.functional.leaky_relu
    """
    (x, slope), dtype = wide("leaky_relu", x, negative_slope)
    return cast_variable(_leaky(x, slope), dtype)


def _leaky(x: Variable, slope: Variable) -> Variable:
    return where(greater(x, 0), x, multiply(slope, x))


def prelu(x: TensorLike, weight: TensorLike, axis: int = 1) -> Variable:
    """x where it is above 0, else weight * x, with one weight for all or one for each channel.

    Args:
        weight: a scalar, a vector whose length is known to be 1, or one with a number for each channel.
        axis: that of channels.
    Shapes:
        x (n, c, ...), weight (c) -> y (n, c, ...)
    Raises:
        ShapeError: the weight has another shape.
    Source:
        torch.nn.functional.prelu
    """
    (x, w), dtype = wide("prelu", x, weight)
    if w.type.ndim > 1:
        raise ShapeError(message(f"prelu: weight: found {w.type}, needed a scalar or a vector"))
    if w.type.shape == (1,):
        w = reshape(w, ())
    elif w.type.ndim:
        w = along_axes("prelu: weight", w, x, [axis_from_end(axis, x.type.ndim, "prelu")])
    return cast_variable(_leaky(x, w), dtype)


def elu(x: TensorLike, alpha: TensorLike = 1.0) -> Variable:
    """x where it is above 0, else alpha * (exp(x) - 1).

    Source:
        torch.nn.functional.elu
    """
    (x, a), dtype = wide("elu", x, alpha)
    return cast_variable(_elu(x, multiply(a, expm1(x))), dtype)


def selu(x: TensorLike) -> Variable:
    """elu(x, alpha) times a scale, with the numbers that keep mean 0 and variance 1 from layer to layer.

    Source:
        torch.nn.functional.selu; Klambauer et al., "Self-Normalizing Neural Networks", 2017
    """
    (x,), dtype = wide("selu", x)
    return cast_variable(_elu(SELU_SCALE * x, SELU_SCALE * SELU_ALPHA * expm1(x)), dtype)


def celu(x: TensorLike, alpha: TensorLike = 1.0) -> Variable:
    """x where it is above 0, else alpha * (exp(x / alpha) - 1): smooth at 0 for every alpha.

    Raises:
        DomainError: alpha is the number 0.
    Source:
        torch.nn.functional.celu
    """
    if isinstance(alpha, int | float) and alpha == 0:
        raise DomainError(message(f"celu: alpha: found {alpha}, needed a number other than 0"))
    (x, a), dtype = wide("celu", x, alpha)
    return cast_variable(_elu(x, multiply(a, expm1(divide(x, a)))), dtype)


def _elu(above: Variable, below: Variable) -> Variable:
    return where(greater(above, 0), above, below)


def gelu(x: TensorLike, approximate: Approximation = "none") -> Variable:
    """x times the share of a standard normal distribution below x.

    Args:
        approximate: "none", or "tanh" for 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))), the default of
            `jax.nn.gelu`. Both are accurate relative to the result far below 0 as well.
    Raises:
        InputError: another approximation.
    Source:
        torch.nn.functional.gelu
    """
    (x,), dtype = wide("gelu", x)
    if approximate not in ("none", "tanh"):
        raise InputError(message(f"gelu: approximate: found {approximate!r}, needed 'none' or 'tanh'"))
    if approximate == "none":
        # `ndtr` is off by x**2 / 2 units in the last place less far below 0, and takes 4 to 20 times as long
        return cast_variable(multiply(x, 0.5 * erfc(-ROOT_OF_HALF * x)), dtype)
    near = clip(x, -SATURATED, SATURATED)
    share = sigmoid(TWICE_ROOT * (near + CUBIC * (near * near * near)))  # (1 + tanh(v)) / 2 has no digits far below 0
    return cast_variable(multiply(x, share), dtype)


def silu(x: TensorLike) -> Variable:
    """x * sigmoid(x), which is also called swish.

    Source:
        torch.nn.functional.silu
    """
    (x,), dtype = wide("silu", x)
    return cast_variable(_silu(x), dtype)


def _silu(x: Variable) -> Variable:
    return multiply(x, sigmoid(x))


def mish(x: TensorLike) -> Variable:
    """x * tanh(softplus(x)).

    Source:
        torch.nn.functional.mish
    """
    (x,), dtype = wide("mish", x)
    return cast_variable(multiply(x, tanh(softplus(x))), dtype)


def softsign(x: TensorLike) -> Variable:
    """x / (1 + |x|), 1 and -1 for infinities.

    Source:
        torch.nn.functional.softsign
    """
    (x,), dtype = wide("softsign", x)
    size = absolute(x)
    rest = divide(1.0, 1 + size)
    # the slope rest**2 of the quotient is a difference, which has no digits for large x
    return cast_variable(where(less(size, 1), multiply(x, rest), multiply(sign(x), 1 - rest)), dtype)


def glu(x: TensorLike, axis: int = -1) -> Variable:
    """The first half of an axis times the sigmoid of the second.

    Shapes:
        x (..., 2n, ...) -> y (..., n, ...)
    Raises:
        ShapeError: the length is odd.
    Source:
        torch.nn.functional.glu
    """
    (a, b), dtype = _halves("glu", x, axis)
    return cast_variable(multiply(a, sigmoid(b)), dtype)


def swiglu(x: TensorLike, axis: int = -1) -> Variable:
    """silu of the first half of an axis times the second half.

    Shapes:
        x (..., 2n, ...) -> y (..., n, ...)
    Raises:
        ShapeError: the length is odd.
    Source:
        Shazeer, "GLU Variants Improve Transformer", 2020, as models in PyTorch write it: silu(a) * b
    """
    (a, b), dtype = _halves("swiglu", x, axis)
    return cast_variable(multiply(_silu(a), b), dtype)


def _halves(what: str, x: Any, axis: int) -> tuple[tuple[Variable, Variable], str]:
    (x,), dtype = wide(what, x)
    k = axis_from_end(axis, x.type.ndim, what)
    x = multiple_of(what, x, k, 2)
    half = floor_divide(x.shape[k], 2)
    return (slice_axis(x, k, 0, half), slice_axis(x, k, half, half)), dtype


FAMILY = Family(
    "nn/activation",
    functions=(
        relu6, hardtanh, hardsigmoid, hardswish, threshold, leaky_relu, prelu, elu, selu, celu, gelu, silu, mish,
        softsign, glu, swiglu,
    ),
    aliases=(("swish", silu), ("logsigmoid", log_sigmoid)),
    module="nn",
)  # fmt: skip
