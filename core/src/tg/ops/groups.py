"""Weights that are packed by group: rows of bytes, each group of values with its own scale, in GGML's formats.

The bytes are those of GGUF files. A group's scales are float16, its values integers of 4 to 8 bits; a value is computed
of exact products with one rounding to float32, so all backends give the same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.op import Op
from tg.ops.contraction import matmul
from tg.ops.elementwise.arithmetic import add, multiply, subtract
from tg.ops.elementwise.bitwise import bitwise_and, bitwise_or, left_shift, right_shift
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, where
from tg.ops.family import Family
from tg.ops.indexing import slice_axis
from tg.ops.shape import concatenate, expand_dims_at, matrix_transpose, reshape
from tg.types.requirements import require_same
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, constant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.nodes import Variable
    from tg.types.choices import PackedFormat
    from tg.variables.like import TensorLike


class GroupFormat(NamedTuple):
    """A format of groups: how many values a group has, in how many bytes, and the expression of its values."""

    name: str
    values: int
    size: int  # bytes
    decoded: Callable[[Variable], Variable]
    """Of int32 bytes (..., size) the float32 values (..., values)."""

    @property
    def bits(self) -> float:
        """The bits that a value takes, its share of the scales included."""
        return 8 * self.size / self.values


@final
class DequantizeGroups(Op):
    """The float32 values of rows of bytes in a format of groups.

    Shapes:
        q (..., groups * bytes of one), of a length that is known -> y (..., groups * values of one)
    Dtypes:
        uint8 -> float32
    Raises:
        ShapeError: the bytes of a row are no whole groups, or how many there are is not known.
    Source:
        the block formats of GGML, ggml-quants.c
    """

    format: str
    has_expansion = True

    def infer(self, q: TensorType) -> tuple[TensorType, ...]:
        """As many groups, of values."""
        form = format_of("dequantize_groups", self.format)
        if q.dtype != "uint8":
            raise DtypeError(message(f"dequantize_groups: found {q}, needed uint8"))
        n = q.shape[-1] if q.shape else None
        if not isinstance(n, int) or n % form.size:
            needed = f"rows of a multiple of {form.size} bytes, the groups of {form.name}"
            raise ShapeError(message(f"dequantize_groups: found {q}, needed {needed}"))
        return (TensorType("float32", (*q.shape[:-1], n // form.size * form.values)),)

    def expansion(self, *inputs: Variable) -> Variable:
        """The integers of each group, times its scale."""
        (q,), form = inputs, FORMATS[self.format]
        count = int(q.type.shape[-1] or 0) // form.size
        groups = reshape(q, (*q.shape[:-1], count, form.size))
        return reshape(form.decoded(cast_variable(groups, "int32")), (*q.shape[:-1], count * form.values))

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """None: bytes have no derivative."""
        return (None,)

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Any]:
        """The batch is one more leading axis."""
        return (self(inputs[0]),)


@final
class MatMulGroups(Op):
    """The matrix product of x and the transpose of rows that are packed by group, which a backend may read packed.

    Shapes:
        x (..., m, k), q (n, groups * bytes of one), of which k values are in a row -> z (..., m, n)
    Dtypes:
        x and z float32, q uint8
    Raises:
        ShapeError: rows of another length, or of no whole groups.
    Source:
        ggml's ggml_mul_mat
    """

    format: str
    has_expansion = True

    def infer(self, x: TensorType, q: TensorType) -> tuple[TensorType, ...]:
        """Rows of x and of q have one length."""
        (rows,) = DequantizeGroups(self.format).infer(q)
        if x.dtype != "float32" or len(x.shape) < 2 or len(rows.shape) != 2:
            raise ShapeError(message(f"matmul_groups: found {x} and {q}, needed float32[..., m, k] and a matrix"))
        if isinstance(x.shape[-1], int) and x.shape[-1] != rows.shape[-1]:
            text = f"matmul_groups: inner lengths differ: lhs has {x.shape[-1]}, rows of rhs have {rows.shape[-1]}"
            raise ShapeError(message(text))
        require_same(x.shape[-1], rows.shape[-1], lambda: "matmul_groups: inner axis")
        return (TensorType("float32", (*x.shape[:-1], rows.shape[0])),)

    def expansion(self, *inputs: Variable) -> Variable:
        """The product with the rows unpacked."""
        x, q = inputs
        return matmul(x, matrix_transpose(DequantizeGroups(self.format)(q)))

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The product of the cotangent and the rows; none for bytes."""
        dz = cotangents[0]
        return (None if dz is None else matmul(dz, DequantizeGroups(self.format)(inputs[1])), None)

    def batch(self, tools: Any, size: Any, inputs: Sequence[Variable], batched: Sequence[bool]) -> Sequence[Variable]:
        """The batch of x is one more leading axis; packed rows of a batch are unpacked."""
        x, q = inputs
        if not batched[1]:
            return (self(x, q),)
        rows = DequantizeGroups(self.format)(q)
        between = x.type.ndim - 2 - batched[0]  # leading axes of x, which the rows of each element repeat along
        if between:
            rows = expand_dims_at(rows, tuple(range(-2 - between, -2)))
        return (matmul(x, matrix_transpose(rows)),)


def _taken(b: Variable, start: int, count: int) -> Variable:
    """Some bytes of each group."""
    return slice_axis(b, -1, start, count)


def _half(b: Variable, start: int) -> Variable:
    """The float16 of two bytes, the lower one first, as float32: (..., 1)."""
    low, high = _taken(b, start, 1), _taken(b, start + 1, 1)
    exponent = bitwise_and(right_shift(high, _i(2)), _i(31))
    fraction = bitwise_or(left_shift(bitwise_and(high, _i(3)), _i(8)), low)
    is_normal = greater(exponent, _i(0))
    digits = where(is_normal, bitwise_or(fraction, _i(1024)), fraction)
    power = left_shift(_i(1), where(is_normal, exponent, _i(1)))  # 2^exponent: of int32 31 is the sign's
    value = multiply(multiply(_float(digits), _float(power)), _f(2.0**-25))
    beyond = where(greater(fraction, _i(0)), _f(np.nan), _f(np.inf))
    value = where(equal(exponent, _i(31)), beyond, value)
    return where(greater(high, _i(127)), multiply(value, _f(-1.0)), value)


def _float(v: Variable) -> Variable:
    return cast_variable(v, "float32")


def _i(n: int) -> Variable:
    return constant(np.int32(n))


def _f(x: float) -> Variable:
    return constant(np.float32(x))


def _nibbles(b: Variable) -> Variable:
    """The lower halves of all bytes, then the upper ones."""
    return concatenate([bitwise_and(b, _i(15)), right_shift(b, _i(4))], -1)


def _of_q8_0(b: Variable) -> Variable:
    """A scale, 32 signed bytes."""
    signed = subtract(bitwise_and(add(_taken(b, 2, 32), _i(128)), _i(255)), _i(128))
    return multiply(_float(signed), _half(b, 0))


def _of_q4_0(b: Variable) -> Variable:
    """A scale, 32 numbers of 4 bits less 8; the second half of them in the upper halves of the bytes."""
    return multiply(_float(subtract(_nibbles(_taken(b, 2, 16)), _i(8))), _half(b, 0))


def _of_q4_1(b: Variable) -> Variable:
    """A scale, a smallest value, 32 numbers of 4 bits."""
    return add(multiply(_float(_nibbles(_taken(b, 4, 16))), _half(b, 0)), _half(b, 2))


def _of_q5_0(b: Variable) -> Variable:
    """A scale, the fifth bits in 4 bytes, 32 numbers of 4 bits; less 16."""
    places = constant(np.arange(8, dtype=np.int32))
    fifth = bitwise_and(right_shift(expand_dims_at(_taken(b, 2, 4), (-1,)), places), _i(1))
    fifth = reshape(fifth, (*b.shape[:-1], 32))
    whole = bitwise_or(_nibbles(_taken(b, 6, 16)), left_shift(fifth, _i(4)))
    return multiply(_float(subtract(whole, _i(16))), _half(b, 0))


def _of_q4_k(b: Variable) -> Variable:
    """Scales of 8 parts: two float16, 6 bits for each part of both, and 256 numbers of 4 bits.

    The first four of a kind are the lower 6 bits of a byte each; of the last four, 4 bits are in a byte that both kinds
    share, and 2 are the upper ones of the first four's bytes.
    """
    first, second, shared = (_taken(b, 4 + 4 * k, 4) for k in range(3))

    def six(own: Variable, lower: Variable) -> Variable:
        upper = left_shift(right_shift(own, _i(6)), _i(4))
        return concatenate([bitwise_and(own, _i(63)), bitwise_or(lower, upper)], -1)

    scales = six(first, bitwise_and(shared, _i(15)))
    offsets = six(second, right_shift(shared, _i(4)))
    pairs = reshape(_taken(b, 16, 128), (*b.shape[:-1], 4, 32))
    numbers = reshape(_nibbles(pairs), (*b.shape[:-1], 8, 32))
    steps = expand_dims_at(multiply(_float(scales), _half(b, 0)), (-1,))
    least = expand_dims_at(multiply(_float(offsets), _half(b, 2)), (-1,))
    return reshape(subtract(multiply(_float(numbers), steps), least), (*b.shape[:-1], 256))


def _of_q6_k(b: Variable) -> Variable:
    """256 numbers of 4 and 2 bits less 32, a signed byte of scale for 16 of them, one float16 for all.

    Each half of the numbers has 64 bytes of lower bits and 32 of upper ones, of which each byte serves four numbers.
    """
    lower = reshape(_taken(b, 0, 128), (*b.shape[:-1], 2, 64))
    upper = reshape(_taken(b, 128, 64), (*b.shape[:-1], 2, 32))
    fours = _nibbles(lower)
    twos = concatenate([bitwise_and(right_shift(upper, _i(s)), _i(3)) for s in (0, 2, 4, 6)], -1)
    numbers = subtract(bitwise_or(fours, left_shift(twos, _i(4))), _i(32))
    scales = _taken(b, 192, 16)
    scales = subtract(bitwise_and(add(scales, _i(128)), _i(255)), _i(128))
    steps = expand_dims_at(multiply(_float(scales), _half(b, 208)), (-1,))
    parts = reshape(numbers, (*b.shape[:-1], 16, 16))
    return reshape(multiply(_float(parts), steps), (*b.shape[:-1], 256))


FORMATS: Final = {
    form.name: form
    for form in (
        GroupFormat("q8_0", 32, 34, _of_q8_0),
        GroupFormat("q4_0", 32, 18, _of_q4_0),
        GroupFormat("q4_1", 32, 20, _of_q4_1),
        GroupFormat("q5_0", 32, 22, _of_q5_0),
        GroupFormat("q4_k", 256, 144, _of_q4_k),
        GroupFormat("q6_k", 256, 210, _of_q6_k),
    )
}


def format_of(what: str, name: object) -> GroupFormat:
    """The format of a name; capital letters, as GGML writes them, mean the same.

    Raises:
        InputError: there is none.
    """
    form = FORMATS.get(name.lower()) if isinstance(name, str) else None
    if form is None:
        raise InputError(message(f"{what}: format: found {name!r}, needed one of {', '.join(FORMATS)}"))
    return form


def dequantize_groups(q: TensorLike, format: PackedFormat) -> Variable:
    """The float32 values of rows of bytes in a format of groups, as `tg.quantize_groups` packs them.

    Args:
        format: "q8_0", "q4_0", "q4_1" or "q5_0", of 32 values, "q4_k" or "q6_k", of 256.
    Shapes:
        q (..., groups * bytes of one) -> (..., groups * values of one)
    Dtypes:
        uint8 -> float32
    Raises:
        InputError: another format.
        ShapeError: the bytes of a row are no whole groups, or how many there are is not known.
    Example:
        >>> import numpy as np, tg
        >>> w = np.linspace(-1, 1, 64, dtype="float32").reshape(2, 32)
        >>> q = tg.quantize_groups(w, "q8_0")
        >>> q.shape, q.dtype.name
        ((2, 34), 'uint8')
        >>> float(abs(tg.dequantize_groups(q, "q8_0").eval() - w).max()) < 0.005
        True
    Source:
        ggml's dequantize_row_q8_0 and its like
    """
    return DequantizeGroups(format_of("dequantize_groups", format).name)(as_variable(q))  # type: ignore[no-any-return]


FAMILY = Family("groups", ops=(DequantizeGroups, MatMulGroups), functions=(dequantize_groups,))
