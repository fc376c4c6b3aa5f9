"""Quantization: real numbers as small integers, level = saturate(half-even(x / scale) + zero point), and back.

Scales and zero points are one number, one for each entry of an axis, or one for each block of entries along it. The
arithmetic is ONNX's: x / scale is rounded in the dtype of x, half-way cases go to the even level, and NaN becomes the
level 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import as_size_variable
from tg.graph.op import Op
from tg.ops.assumptions import required
from tg.ops.elementwise.arithmetic import add, clip, divide, multiply, subtract
from tg.ops.elementwise.cast import cast_variable, widened
from tg.ops.elementwise.comparison import equal, where
from tg.ops.elementwise.rounding import rint
from tg.ops.family import Family
from tg.ops.indexing import slice_axis
from tg.ops.joining import repeat
from tg.ops.shape import expand_dims_at, reshape, sum_to
from tg.types.dtypes import dtype_name, is_float, is_integer, numpy_dtype
from tg.types.lengths import add as add_lengths
from tg.types.lengths import floor_divide, same
from tg.types.requirements import require_same
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, axis_from_end, is_weak, plain_integer, promoted, weak_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.types.choices import LevelDtype
    from tg.types.lengths import Length
    from tg.variables.like import TensorLike


class Levels(NamedTuple):
    """The dtype that holds levels, and the lowest and the highest of them."""

    dtype: str
    low: int
    high: int


LEVELS: Final = {
    "int4": Levels("int8", -8, 7),
    "uint4": Levels("uint8", 0, 15),
    **{name: Levels(name, int(np.iinfo(name).min), int(np.iinfo(name).max)) for name in ("int8", "uint8", "int16")},
    "uint16": Levels("uint16", 0, 65535),
}
"""Levels by the name that users ask for them with."""


class _Scaled(Op):
    """An op of elements beside a scale and, if there is one, a zero point: what their types must be."""

    pointwise = True
    repeats = True
    has_expansion = True

    def _shape(self, what: str, x: TensorType, scale: TensorType, zero: Sequence[TensorType]) -> tuple[Any, ...]:
        """The shape of x, along which the others are repeated.

        Raises:
            DtypeError: the scale is not of a real floating dtype.
            ShapeError: another rank than that of x, or a length that is neither 1 nor that of x.
        """
        if not is_float(scale.dtype):
            raise DtypeError(message(f"{what}: scale: found {scale.dtype}, needed a real floating dtype"))
        shape = list(x.shape)
        for name, t in (("scale", scale), *(("zero_point", z) for z in zero)):
            if t.shape and len(t.shape) != len(shape):
                raise ShapeError(message(f"{what}: {name}: found {len(t.shape)} axes, needed 0 or {len(shape)}"))
            for k, n in enumerate(t.shape):
                if type(n) is int and n == 1:
                    continue
                if type(n) is int and type(shape[k]) is int and n != shape[k]:
                    text = f"{what}: {name}: found the length {n} along axis {k}, needed 1 or {shape[k]}"
                    raise ShapeError(message(text))
                shape[k] = require_same(shape[k], n, lambda: what)
        return tuple(shape)

    def batch(
        self, tools: Any, size: int | Length, inputs: Sequence[Variable], batched: Sequence[bool]
    ) -> Sequence[Variable]:
        """As of other pointwise ops, over numbers that have the batch themselves: scales never widen them."""
        x, *scales = inputs
        return tools.batch_default(self, size, [tools.lead(x, batched[0], size), *scales], [True, *batched[1:]])  # type: ignore[no-any-return]


@final
class Quantize(_Scaled):
    """saturate(half-even(x / scale) + zero) between two levels.

    Shapes:
        x (...), scale, zero: () or of the rank of x, with lengths 1 or those of x -> y (...)
    Dtypes:
        x and scale of one real floating dtype, zero of `dtype`, which y has.
    Source:
        ONNX, QuantizeLinear
    """

    dtype: str
    low: int
    high: int

    def infer(self, x: TensorType, scale: TensorType, *zero: TensorType) -> tuple[TensorType, ...]:
        """The shape of x with the dtype of levels."""
        shape = self._shape("quantize", x, scale, zero)
        if x.dtype != scale.dtype:
            raise DtypeError(message(f"quantize: dtypes differ: x has {x.dtype}, scale has {scale.dtype}"))
        _need_levels("quantize", self.dtype, zero)
        return (TensorType(self.dtype, shape),)

    def expansion(self, *inputs: Variable) -> Variable:
        """As it is written; a cast to integers saturates at the limits of the dtype."""
        x, scale, *zero = inputs
        level = _level(x, scale, zero)
        limits = np.iinfo(self.dtype)
        if (self.low, self.high) != (limits.min, limits.max):
            kind = numpy_dtype(level.type.dtype).type
            level = clip(level, kind(self.low), kind(self.high))
        return cast_variable(level, self.dtype)


@final
class Dequantize(_Scaled):
    """(q - zero) * scale: the numbers that levels stand for.

    Shapes:
        q (...), scale, zero: () or of the rank of q, with lengths 1 or those of q -> y (...)
    Dtypes:
        q and zero of one integer dtype of 32 bits at most, scale real floating; y has `dtype`, and halves are rounded
        once.
    Source:
        ONNX, DequantizeLinear
    """

    dtype: str

    def infer(self, q: TensorType, scale: TensorType, *zero: TensorType) -> tuple[TensorType, ...]:
        """The shape of q with the floating dtype."""
        shape = self._shape("dequantize", q, scale, zero)
        _need_levels("dequantize", q.dtype, zero)
        return (TensorType(self.dtype, shape),)

    def expansion(self, *inputs: Variable) -> Variable:
        """The difference as an integer, which is exact, then a product."""
        q, scale, *zero = inputs
        steps = q
        if zero:
            wide = "int64" if q.type.dtype in ("int32", "uint32") else "int32"
            steps = subtract(cast_variable(q, wide), cast_variable(zero[0], wide))
        scale = widened(scale)
        return cast_variable(multiply(cast_variable(steps, scale.type.dtype), scale), self.dtype)


@final
class FakeQuantize(_Scaled):
    """Quantized and dequantized numbers; the derivative passes where they are within the levels.

    Shapes:
        x (...), scale, zero: () or of the rank of x, with lengths 1 or those of x -> y (...)
    Dtypes:
        x and scale of one real floating dtype, which y has, zero of an integer dtype.
    Source:
        torch.fake_quantize_per_tensor_affine; the slope in the scale is that of Esser et al., Learned step size
        quantization (2020), equation 3.
    """

    low: int
    high: int

    def infer(self, x: TensorType, scale: TensorType, *zero: TensorType) -> tuple[TensorType, ...]:
        """The type of x."""
        shape = self._shape("fake_quantize", x, scale, zero)
        if x.dtype != scale.dtype:
            raise DtypeError(message(f"fake_quantize: dtypes differ: x has {x.dtype}, scale has {scale.dtype}"))
        return (TensorType(x.dtype, shape),)

    def expansion(self, *inputs: Variable) -> Variable:
        """The level less the zero point, times the scale."""
        x, scale, *zero = inputs
        inside, _ = self._levels(x, scale, zero)
        return cast_variable(multiply(_less(inside, zero), widened(scale)), x.type.dtype)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The cotangent where x is within the levels; for the scale the level less x / scale, or the outermost."""
        (x, scale, *zero), (dy,) = inputs, cotangents
        if dy is None:
            return (None,) * len(inputs)
        within, slope = self._slopes(x, scale, zero)
        dx, ds = tools.times(dy, within), tools.times(dy, slope)
        return (dx, None if ds is None else sum_to(ds, scale.shape), *(None for _ in zero))

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The sum of both tangents times their slopes."""
        x, scale, *zero = inputs
        slopes = self._slopes(x, scale, zero)
        terms = [tools.forward.times(t, d) for t, d in zip(tangents, slopes, strict=False) if t is not None]
        terms = [t for t in terms if t is not None]
        return (add(*terms) if len(terms) == 2 else terms[0] if terms else None,)

    def _levels(self, x: Variable, scale: Variable, zero: Sequence[Variable]) -> tuple[Variable, Variable]:
        """The level that is taken, and the one that there would be without limits."""
        level = _level(x, scale, zero)
        kind = numpy_dtype(level.type.dtype).type
        return clip(level, kind(self.low), kind(self.high)), level

    def _slopes(self, x: Variable, scale: Variable, zero: Sequence[Variable]) -> tuple[Variable, Variable]:
        inside, level = self._levels(x, scale, zero)
        within = equal(inside, level)
        exact = where(within, widened(divide(x, scale)), np.float32(0))
        return within, cast_variable(subtract(_less(inside, zero), exact), x.type.dtype)


def _need_levels(what: str, dtype: str, zero: Sequence[TensorType]) -> None:
    if not is_integer(dtype):
        raise DtypeError(message(f"{what}: levels: found {dtype}, needed an integer dtype"))
    if zero and zero[0].dtype != dtype:
        text = f"{what}: zero_point: found {zero[0].dtype}, needed {dtype}: the dtype of the levels"
        raise DtypeError(message(text))


def _level(x: Variable, scale: Variable, zero: Sequence[Variable]) -> Variable:
    """half-even(x / scale) + zero, as a number of float32 or float64."""
    level = rint(widened(divide(x, scale)))
    return add(level, cast_variable(zero[0], level.type.dtype)) if zero else level


def _less(level: Variable, zero: Sequence[Variable]) -> Variable:
    return subtract(level, cast_variable(zero[0], level.type.dtype)) if zero else level


# --- what users call ------------------------------------------------------------------------------------------------


def quantize(
    x: TensorLike,
    scale: TensorLike,
    zero_point: TensorLike | None = None,
    dtype: LevelDtype = "int8",
    axis: Any = None,
    *,
    block: int | None = None,
) -> Variable:
    """The levels of x: saturate(half-even(x / scale) + zero_point).

    Args:
        scale: one number, one for each entry of `axis`, one for each of its blocks, or an array that is repeated
            along axes of length 1.
        zero_point: the level of 0, shaped as the scale; 0 by default.
        dtype: "int8", "uint8", "int16", "uint16", or "int4" and "uint4", which give int8 and uint8 within 4 bits.
        block: entries along the axis that share a scale, the last block may have fewer.
    Shapes:
        x (...) -> y (...)
    Raises:
        DtypeError: complex numbers, another dtype of levels or zero points.
        ShapeError: lengths of scales that are not those of the axis or its blocks.
    Example:
        >>> import tg
        >>> tg.quantize(tg.constant([-1.0, 0.25, 0.75, 99.0]), 0.5, 3, "uint8").eval()
        array([  1,   3,   5, 201], dtype=uint8)
    Source:
        ONNX, QuantizeLinear; NaN becomes the level 0.
    """
    levels = _levels_of("quantize", dtype)
    x, scale, zeros = _operands("quantize", x, scale, zero_point, levels.dtype, axis, block)
    return Quantize(*levels)(x, scale, *zeros)  # type: ignore[no-any-return]


def dequantize(
    q: TensorLike,
    scale: TensorLike,
    zero_point: TensorLike | None = None,
    axis: Any = None,
    *,
    dtype: object = None,
    block: int | None = None,
) -> Variable:
    """The numbers that levels stand for: (q - zero_point) * scale.

    Args:
        scale, zero_point, axis, block: as `quantize`.
        dtype: of the result, that of the scale by default.
    Shapes:
        q (...) -> y (...)
    Raises:
        DtypeError: levels that are no integers of 32 bits at most, or have another dtype than the zero point.
        ShapeError: as `quantize`.
    Example:
        >>> import numpy as np, tg
        >>> q = tg.constant(np.array([[1, 2], [3, 4]], "int8"))
        >>> tg.dequantize(q, [0.5, 10.0], axis=0).eval()
        array([[ 0.5,  1. ],
               [30. , 40. ]])
    Source:
        ONNX, DequantizeLinear
    """
    q = as_variable(q)
    if not is_integer(q.type.dtype) or numpy_dtype(q.type.dtype).itemsize > 4:
        text = f"dequantize: levels: found {q.type.dtype}, needed integers of 32 bits at most"
        raise DtypeError(message(text, ("q", repr(q))))
    scale = as_variable(scale)
    name = scale.type.dtype if dtype is None else dtype_name(dtype)
    if not is_float(name):
        raise DtypeError(message(f"dequantize: dtype: found {name}, needed a real floating dtype"))
    zeros = [] if zero_point is None else [_zero("dequantize", zero_point, q.type.dtype)]
    scale, *zeros = (_along("dequantize", p, q, axis, block) for p in (scale, *zeros))
    return Dequantize(name)(q, scale, *zeros)  # type: ignore[no-any-return]


def fake_quantize(
    x: TensorLike,
    scale: TensorLike,
    zero_point: TensorLike | None = None,
    dtype: LevelDtype = "int8",
    axis: Any = None,
    *,
    block: int | None = None,
) -> Variable:
    """x as quantizing and dequantizing leave it, for training: the derivative passes straight through the rounding.

    The derivative in x is 1 where the level is within the limits and 0 outside; that in the scale is level - zero_point
    - x / scale within and level - zero_point outside, so scales can be trained.

    Args:
        scale, zero_point, dtype, axis, block: as `quantize`.
    Shapes:
        x (...) -> y (...)
    Raises:
        DtypeError, ShapeError: as `quantize`.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> y = tg.fake_quantize(x, 0.5, dtype="int4")
        >>> tg.function([x], [y, tg.grad(tg.sum(y), x)])([-9.0, 0.3, 3.4])
        [array([-4. ,  0.5,  3.5]), array([0., 1., 1.])]
    Source:
        torch.fake_quantize_per_tensor_affine
    """
    levels = _levels_of("fake_quantize", dtype)
    x, scale, zeros = _operands("fake_quantize", x, scale, zero_point, levels.dtype, axis, block)
    return FakeQuantize(levels.low, levels.high)(x, scale, *zeros)  # type: ignore[no-any-return]


def _levels_of(what: str, dtype: object) -> Levels:
    name = dtype if isinstance(dtype, str) else dtype_name(dtype)
    if name not in LEVELS:
        raise DtypeError(message(f"{what}: dtype: found {name!r}, needed one of {', '.join(LEVELS)}"))
    return LEVELS[name]


def _operands(
    what: str, x: Any, scale: Any, zero: Any, dtype: str, axis: Any, block: int | None
) -> tuple[Variable, Variable, list[Variable]]:
    """x and the scale in one dtype, the scale and the zero point with lengths that repeat along x."""
    (x, scale), kind = promoted([as_variable(x), scale if is_weak(scale) else as_variable(scale)])
    if not is_float(kind):
        raise DtypeError(message(f"{what}: found {kind}, needed a real floating dtype", ("x", repr(x))))
    x, scale = cast_variable(x, kind), cast_variable(scale, kind)
    zeros = [] if zero is None else [_zero(what, zero, dtype)]
    scale, *zeros = (_along(what, p, x, axis, block) for p in (scale, *zeros))
    return x, scale, zeros


def _zero(what: str, zero: Any, dtype: str) -> Variable:
    """A zero point; Python's numbers are taken as levels.

    Raises:
        DtypeError: an array of another dtype than the levels.
    """
    zero = np.asarray(zero, dtype) if isinstance(zero, list | tuple) else zero
    z = weak_variable(zero, dtype) if is_weak(zero) else as_variable(zero)
    if z.type.dtype != dtype:
        text = f"{what}: zero_point: found {z.type.dtype}, needed {dtype}: the dtype of the levels"
        raise DtypeError(message(text, ("zero_point", repr(z))))
    return z


def _along(what: str, p: Variable, x: Variable, axis: Any, block: int | None) -> Variable:
    """Scales or zero points with an axis for each of x, along which they are repeated."""
    if block is not None:
        return _blocks(what, p, x, axis, block)
    if p.type.ndim == 0 or (axis is None and p.type.ndim == x.type.ndim):
        return p
    if p.type.shape == (1,):
        return reshape(p, ())
    if axis is None or p.type.ndim != 1:
        hint = None if p.type.ndim != 1 else "axis= says along which axis of x the numbers are"
        text = f"{what}: scale: found {p.type}, needed one number, one for each entry of axis=, or {x.type.ndim} axes"
        raise ShapeError(message(text, hint=hint))
    place = axis_from_end(axis, x.type.ndim, what)
    others = tuple(k for k in range(-x.type.ndim, 0) if k != place)
    return expand_dims_at(p, others)


def _blocks(what: str, p: Variable, x: Variable, axis: Any, block: Any) -> Variable:
    """One of each block of entries along an axis, repeated for all of them."""
    size = plain_integer(block)
    if type(size) is not int or size < 1 or axis is None:
        text = f"{what}: block: found {block!r} and axis {axis!r}, needed a length of at least 1 and an axis"
        raise InputError(message(text))
    if p.type.ndim != x.type.ndim:
        text = f"{what}: scale: found {p.type.ndim} axes, needed {x.type.ndim}: one number for each block"
        raise ShapeError(message(text))
    place = axis_from_end(axis, x.type.ndim, what)
    n, count = x.shape[place], p.shape[place]
    if type(n) is int and type(count) is int and count != -(-n // size):
        text = f"{what}: scale: found {count} blocks of {size} along a length of {n}, needed {-(-n // size)}"
        raise ShapeError(message(text))
    needed = floor_divide(add_lengths(n, size - 1), size)
    if not same(count, needed):
        actual, wanted = as_size_variable(count), as_size_variable(needed)
        text = f"{what}: scale: found {{0}} blocks of {size}, needed {{1}}"
        p = required(p, equal(actual, wanted), (actual, wanted), Descriptor("ShapeError", text))
    wide = repeat(p, size, place)
    return wide if same(wide.shape[place], n) else slice_axis(wide, place, 0, n)


FAMILY = Family(
    "quantization",
    ops=(Quantize, Dequantize, FakeQuantize),
    functions=(quantize, dequantize, fake_quantize),
)
