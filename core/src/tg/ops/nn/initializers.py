"""Initial weights of a key: those of `jax.nn.initializers` under the same key, dtype by dtype.

Uniform ones are JAX's bit for bit. Normal ones differ by JAX's error of erfinv, up to 90 units in the last place in
float32, where here it is right to 2; orthogonal ones by the rounding of the factorisation. A weight of PyTorch's order,
(out, in, *window), has `in_axis=1, out_axis=0`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import DtypeError, InputError, OptionError, ShapeError, message
from tg.ops import creation
from tg.ops.elementwise.arithmetic import maximum, minimum, multiply
from tg.ops.elementwise.cast import cast_variable, widened
from tg.ops.elementwise.special.error import erfinv
from tg.ops.family import Family
from tg.ops.linalg.qr import qr
from tg.ops.random import continuous
from tg.ops.shape import matrix_transpose, moveaxis, reshape
from tg.types.dtypes import in_float32, is_float, numpy_dtype
from tg.variables.conversion import axes_from_end, axis_from_end, float_name, known_integer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable
    from tg.types.choices import FanMode, WeightDistribution

SPREAD: Final = 0.87962566103423978  # the standard deviation of normal numbers between -2 and 2
MODES: Final[dict[str, Callable[[float, float], float]]] = {
    "fan_in": lambda i, o: i,
    "fan_out": lambda i, o: o,
    "fan_avg": lambda i, o: (i + o) / 2,
    "fan_geo_avg": lambda i, o: math.sqrt(i * o),
}


def zeros(key: Any, shape: Any, dtype: object = None) -> Variable:
    """Zeros, whatever the key.

    Source:
        jax.nn.initializers.zeros
    """
    return creation.zeros(shape, dtype=float_name(dtype, "float32"))


def ones(key: Any, shape: Any, dtype: object = None) -> Variable:
    """Ones, whatever the key.

    Source:
        jax.nn.initializers.ones
    """
    return creation.ones(shape, dtype=float_name(dtype, "float32"))


def constant(key: Any, shape: Any, value: Any, dtype: object = None) -> Variable:
    """One value everywhere, whatever the key.

    Source:
        jax.nn.initializers.constant
    """
    return creation.full(shape, value, dtype=float_name(dtype, "float32"))


def uniform(key: Any, shape: Any, dtype: object = None, *, scale: float = 0.01) -> Variable:
    """Numbers in [0, scale) that are equally likely.

    Source:
        jax.nn.initializers.uniform
    Example:
        >>> import tg
        >>> tg.nn.init.uniform(tg.random.key(0), (2,), "float64", scale=1.0).eval()
        array([0.41845711, 0.21629545])
    """
    wanted = _floating("uniform", dtype)
    return multiply(continuous.uniform(key, shape=shape, dtype=wanted), numpy_dtype(wanted).type(scale))


def normal(key: Any, shape: Any, dtype: object = None, *, stddev: float = 0.01) -> Variable:
    """Normally distributed numbers of mean 0.

    Source:
        jax.nn.initializers.normal
    """
    wanted = _floating("normal", dtype)
    return multiply(continuous.normal(key, shape=shape, dtype=wanted), numpy_dtype(wanted).type(stddev))


def truncated_normal(
    key: Any,
    shape: Any,
    dtype: object = None,
    *,
    stddev: float = 0.01,
    lower: float = -2.0,
    upper: float = 2.0,
) -> Variable:
    """Normally distributed numbers between `lower` and `upper`, times `stddev`.

    Source:
        jax.nn.initializers.truncated_normal. In torch.nn.init.trunc_normal_ the limits are those of the product.
    """
    wanted = _floating("truncated_normal", dtype)
    return multiply(_truncated(key, shape, wanted, lower, upper), numpy_dtype(wanted).type(stddev))


def _truncated(key: Any, shape: Any, dtype: str, lower: float, upper: float) -> Variable:
    """Normal numbers between limits, by the formula of jax.random.truncated_normal."""
    kind = numpy_dtype(dtype).type
    low, high = (kind(math.erf(float(kind(v) / kind(math.sqrt(2))))) for v in (lower, upper))
    u = continuous.uniform(key, low, high, shape=shape, dtype=dtype)
    z = cast_variable(erfinv(widened(maximum(u, low))) * math.sqrt(2), dtype)
    return minimum(maximum(z, np.nextafter(kind(lower), kind(np.inf))), np.nextafter(kind(upper), kind(-np.inf)))


def variance_scaling(
    key: Any,
    shape: Any,
    scale: float,
    mode: FanMode,
    distribution: WeightDistribution,
    dtype: object = None,
    in_axis: Any = -2,
    out_axis: Any = -1,
    batch_axis: Any = (),
) -> Variable:
    """Numbers of mean 0 and variance scale / n, n being how many inputs or outputs an element of the layer has.

    Args:
        mode: n is "fan_in", the number of inputs, "fan_out", that of outputs, "fan_avg", their arithmetic mean, or
            "fan_geo_avg", their geometric mean.
        distribution: "uniform", "normal", or "truncated_normal": normal numbers within two standard deviations.
        in_axis, out_axis: the axis of inputs and that of outputs, or several; axes besides are a window, whose size
            counts for both.
        batch_axis: axes that count for neither.
    Raises:
        DtypeError: the dtype is no real floating one.
        InputError: a length is not known before the program runs, or a scale is negative.
        OptionError: another mode or distribution.
        ShapeError: there is no such axis, or the axis of inputs is the default one and there is one axis alone.
    Source:
        jax.nn.initializers.variance_scaling. The gain of torch.nn.init is the root of the scale.
    """
    return _scaled("variance_scaling", key, shape, scale, mode, distribution, dtype, in_axis, out_axis, batch_axis)


def _scaled(
    what: str, key: Any, shape: Any, scale: float, mode: str, distribution: str, dtype: object, *axes: Any
) -> Variable:
    wanted, lengths = _floating(what, dtype), _known_shape(what, shape)
    if mode not in MODES:
        raise OptionError(message(f"{what}: mode: found {mode!r}, needed one of {', '.join(MODES)}"))
    if scale < 0:
        raise InputError(message(f"{what}: scale: found {scale}, needed at least 0"))
    if distribution not in ("truncated_normal", "normal", "uniform"):
        text = f"{what}: distribution: found {distribution!r}, needed one of truncated_normal, normal, uniform"
        raise OptionError(message(text))
    kind, fan = numpy_dtype(wanted).type, MODES[mode](*_fans(what, lengths, *axes))
    variance = kind(scale / fan if fan else 0.0)
    if distribution == "uniform":
        return multiply(continuous.uniform(key, -1, 1, shape=lengths, dtype=wanted), kind(np.sqrt(kind(3) * variance)))
    if distribution == "normal":
        return multiply(continuous.normal(key, shape=lengths, dtype=wanted), kind(np.sqrt(variance)))
    return multiply(_truncated(key, lengths, wanted, -2.0, 2.0), kind(np.sqrt(variance) / kind(SPREAD)))


def _fans(what: str, lengths: tuple[int, ...], in_axis: Any, out_axis: Any, batch_axis: Any) -> tuple[float, float]:
    """The numbers of inputs and outputs that an element has."""
    if in_axis == -2 and len(lengths) < 2:
        text = f"{what}: shape: found {lengths}, needed at least two axes, or in_axis="
        raise ShapeError(message(text, hint=f"tg.nn.init.{'zeros' if not lengths else 'normal'} takes any shape"))
    sizes = [
        math.prod(lengths[k] for k in axes_from_end(axis, len(lengths), what, "the weight")) if axis != () else 1
        for axis in (in_axis, out_axis, batch_axis)
    ]
    if 0 in lengths:
        return 0.0, 0.0
    window = math.prod(lengths) / math.prod(sizes)
    return sizes[0] * window, sizes[1] * window


def lecun_uniform(
    key: Any, shape: Any, dtype: object = None, in_axis: Any = -2, out_axis: Any = -1, batch_axis: Any = ()
) -> Variable:
    """Equally likely numbers of mean 0 and variance 1 / fan_in.

    Args:
        in_axis, out_axis, batch_axis: as in `variance_scaling`.
    Source:
        jax.nn.initializers.lecun_uniform
    """
    return _scaled("lecun_uniform", key, shape, 1.0, "fan_in", "uniform", dtype, in_axis, out_axis, batch_axis)


def lecun_normal(
    key: Any, shape: Any, dtype: object = None, in_axis: Any = -2, out_axis: Any = -1, batch_axis: Any = ()
) -> Variable:
    """Normal numbers within two standard deviations, of mean 0 and variance 1 / fan_in.

    Args:
        in_axis, out_axis, batch_axis: as in `variance_scaling`.
    Source:
        jax.nn.initializers.lecun_normal
    """
    return _scaled("lecun_normal", key, shape, 1.0, "fan_in", "truncated_normal", dtype, in_axis, out_axis, batch_axis)


def glorot_uniform(
    key: Any, shape: Any, dtype: object = None, in_axis: Any = -2, out_axis: Any = -1, batch_axis: Any = ()
) -> Variable:
    """Equally likely numbers of mean 0 and variance 2 / (fan_in + fan_out).

    Args:
        in_axis, out_axis, batch_axis: as in `variance_scaling`.
    Source:
        jax.nn.initializers.glorot_uniform; torch.nn.init.xavier_uniform_ of a weight with `in_axis=1, out_axis=0`.
    Example:
        >>> import tg
        >>> tg.nn.init.glorot_uniform(tg.random.key(0), (3, 2)).eval().shape
        (3, 2)
    """
    return _scaled("glorot_uniform", key, shape, 1.0, "fan_avg", "uniform", dtype, in_axis, out_axis, batch_axis)


def glorot_normal(
    key: Any, shape: Any, dtype: object = None, in_axis: Any = -2, out_axis: Any = -1, batch_axis: Any = ()
) -> Variable:
    """Normal numbers within two standard deviations, of mean 0 and variance 2 / (fan_in + fan_out).

    Args:
        in_axis, out_axis, batch_axis: as in `variance_scaling`.
    Source:
        jax.nn.initializers.glorot_normal. torch.nn.init.xavier_normal_ has no limits: `variance_scaling` with "normal".
    """
    return _scaled(
        "glorot_normal", key, shape, 1.0, "fan_avg", "truncated_normal", dtype, in_axis, out_axis, batch_axis
    )


def he_uniform(
    key: Any, shape: Any, dtype: object = None, in_axis: Any = -2, out_axis: Any = -1, batch_axis: Any = ()
) -> Variable:
    """Equally likely numbers of mean 0 and variance 2 / fan_in.

    Args:
        in_axis, out_axis, batch_axis: as in `variance_scaling`.
    Source:
        jax.nn.initializers.he_uniform; torch.nn.init.kaiming_uniform_ of a weight with `in_axis=1, out_axis=0`.
    """
    return _scaled("he_uniform", key, shape, 2.0, "fan_in", "uniform", dtype, in_axis, out_axis, batch_axis)


def he_normal(
    key: Any, shape: Any, dtype: object = None, in_axis: Any = -2, out_axis: Any = -1, batch_axis: Any = ()
) -> Variable:
    """Normal numbers within two standard deviations, of mean 0 and variance 2 / fan_in.

    Args:
        in_axis, out_axis, batch_axis: as in `variance_scaling`.
    Source:
        jax.nn.initializers.he_normal. torch.nn.init.kaiming_normal_ has no limits: `variance_scaling` with "normal".
    """
    return _scaled("he_normal", key, shape, 2.0, "fan_in", "truncated_normal", dtype, in_axis, out_axis, batch_axis)


def orthogonal(key: Any, shape: Any, dtype: object = None, *, scale: float = 1.0, column_axis: int = -1) -> Variable:
    """A matrix whose columns are orthogonal, or its rows if these are fewer, all equally likely, times `scale`.

    Args:
        column_axis: the axis of columns; all others are that of rows.
    Dtypes:
        `dtype`; of halves all is computed in float32, and rounded once.
    Raises:
        DtypeError: the dtype is no real floating one.
        ShapeError: there are fewer than two axes.
    Source:
        jax.nn.initializers.orthogonal; torch.nn.init.orthogonal_ has the first axis for `column_axis`.
    """
    what = "orthogonal"
    wanted, lengths = _floating(what, dtype), _known_shape(what, shape)
    if len(lengths) < 2:
        raise ShapeError(message(f"{what}: shape: found {lengths}, needed at least two axes"))
    if 0 in lengths:
        return creation.zeros(lengths, dtype=wanted)
    place = axis_from_end(column_axis, len(lengths), what, "the weight")
    columns = lengths[place]
    rows = math.prod(lengths) // columns
    wide = in_float32(wanted)
    z = continuous.normal(key, shape=(max(rows, columns), min(rows, columns)), dtype=wide)
    q = qr(z)[0]
    q = q if rows >= columns else matrix_transpose(q)
    others = [n for k, n in enumerate(lengths) if k != place + len(lengths)]
    y = moveaxis(reshape(q, (*others, columns)), -1, place)
    return cast_variable(multiply(y, numpy_dtype(wide).type(scale)), wanted)


def _floating(what: str, dtype: object) -> str:
    wanted = float_name(dtype, "float32")
    if not is_float(wanted):
        raise DtypeError(message(f"{what}: dtype: found {wanted}, needed a real floating one"))
    return wanted


def _known_shape(what: str, shape: Any) -> tuple[int, ...]:
    """The lengths of a weight, all of them known.

    Raises:
        InputError: one is not.
    """
    dims = shape if isinstance(shape, tuple | list) else (shape,)
    lengths = tuple(known_integer(n) for n in dims)
    if not all(type(n) is int and n >= 0 for n in lengths):
        raise InputError(message(f"{what}: shape: found {shape!r}, needed lengths that are known, integers from 0 on"))
    return lengths


FAMILY = Family(
    "nn/initializers",
    functions=(
        zeros, ones, constant, uniform, normal, truncated_normal, variance_scaling, lecun_uniform, lecun_normal,
        glorot_uniform, glorot_normal, he_uniform, he_normal, orthogonal,
    ),
    module="nn.init",
)  # fmt: skip
