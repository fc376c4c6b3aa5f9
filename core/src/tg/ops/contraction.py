"""Products that sum over a shared axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import DtypeError, ShapeError, message
from tg.graph.facts import TRIANGULAR, ZEROS, facts_of
from tg.graph.op import Op
from tg.ops.elementwise.arithmetic import add, asked_opposite, multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.complex import conjugate
from tg.ops.elementwise.record import align_ranks
from tg.ops.family import Family
from tg.ops.reduction import any as any_of
from tg.ops.reduction import reduce_sum
from tg.ops.shape import (
    Squeeze,
    Transpose,
    expand_dims_at,
    matrix_transpose,
    moveaxis,
    ravel,
    reshape,
    sum_to,
    transpose,
    with_lengths,
)
from tg.types.dtypes import in_float32, is_complex, is_float, numpy_dtype
from tg.types.lengths import multiply as multiply_lengths
from tg.types.lengths import product, same
from tg.types.requirements import broadcast, require_same
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, axis_from_end, known_integer, promoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.nodes import Variable
    from tg.types.lengths import Length
    from tg.variables.like import TensorLike


@final
class MatMul(Op):
    """The matrix product over the last two axes; leading axes broadcast.

    Shapes:
        x (..., m, k), y (..., k, n) -> z (..., m, n)
    Dtypes:
        operands of one dtype, which the result has.
    Raises:
        ShapeError: the inner lengths differ, or the ranks do.
    Source:
        numpy.matmul
    """

    repeats = True

    def factors(self, count: int) -> Sequence[int]:
        """Both matrices."""
        return (0, 1)

    def infer(self, x: TensorType, y: TensorType) -> tuple[TensorType, ...]:
        """Outer lengths stay, inner ones must agree."""
        if x.dtype != y.dtype:
            raise DtypeError(message(f"matmul: dtypes differ: lhs has {x.dtype}, rhs has {y.dtype}"))
        return (TensorType(x.dtype, product_shape("matmul", x, y)),)

    def perform(self, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
        """`np.matmul`, of halves in float32: NumPy multiplies these without BLAS."""
        work = numpy_dtype(in_float32(x.dtype.name))
        product = np.matmul(x.astype(work, copy=False), y.astype(work, copy=False))
        return (np.asarray(product).astype(x.dtype, copy=False),)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """Of sums of products; triangular times triangular, and a matrix times its own transpose."""
        return (_product_facts(*inputs),)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """dz y' for x and x' dz for y, summed over repeated leading axes."""
        (x, y), (dz,) = inputs, cotangents
        if dz is None:
            return (None, None)
        dx = tools.supports.matmul(dz, matrix_transpose(_whole(y)))
        dy = tools.supports.matmul(matrix_transpose(_whole(x)), dz)
        return tuple(None if dv is None else sum_to(dv, v.shape) for v, dv in ((x, dx), (y, dy)))

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """dx y + x dy."""
        (x, y), (dx, dy) = inputs, tangents
        first = None if dx is None else tools.supports.matmul(dx, _whole(y))
        second = None if dy is None else tools.supports.matmul(_whole(x), dy)
        return (second if first is None else first if second is None else add(first, second),)

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """The batch is one more leading axis."""
        return (
            self(*(v if b else expand_dims_at(v, (-v.type.ndim - 1,)) for v, b in zip(inputs, batched, strict=True))),
        )


def product_shape(what: str, x: TensorType, y: TensorType) -> tuple[int | Length, ...]:
    """The shape of a product of matrices: outer lengths stay, inner ones must agree.

    Raises:
        ShapeError: the inner lengths differ, or the ranks do.
    """
    if len(x.shape) != len(y.shape) or len(x.shape) < 2:
        raise ShapeError(message(f"{what}: ranks: lhs has {len(x.shape)}, rhs has {len(y.shape)}, needed equal, >= 2"))
    inner, other = x.shape[-1], y.shape[-2]
    if isinstance(inner, int) and isinstance(other, int) and inner != other:
        hint = f"{what}(x, w.T) has matching lengths" if same(y.shape[-1], inner) else None
        text = f"{what}: inner lengths differ: lhs has {inner}, rhs has {other}"
        raise ShapeError(message(text, hint=hint))
    require_same(inner, other, lambda: f"{what}: inner axis")
    lead = [
        broadcast(a, b, lambda: f"{what}: leading axes")  # type: ignore[arg-type]
        for a, b in zip(x.shape[:-2], y.shape[:-2], strict=True)
    ]
    return (*lead, x.shape[-2], y.shape[-1])  # type: ignore[arg-type]


def _whole(v: Variable) -> Variable:
    """A factor, of one that is 0 opposite of what is not asked for in the other the whole: the product is linear."""
    return v.apply.inputs[1] if v.apply is not None and v.apply.key is asked_opposite else v


def _product_facts(x: Variable, y: Variable) -> set[str]:
    a, b = facts_of(x), facts_of(y)
    shared = a & b
    facts = set(shared & (ZEROS if "diagonal" in a | b else TRIANGULAR)) if "finite" in shared else set()
    if is_float(x.type.dtype):
        facts |= shared & {"nonnegative", "whole"}
        facts |= {"not_nan"} if shared >= {"nonnegative", "finite"} else set()
    if _are_transposed(x, y) or _are_transposed(y, x):
        facts.add("hermitian" if is_complex(x.type.dtype) else "symmetric")
    return facts


def _are_transposed(x: Variable, y: Variable) -> bool:
    """Whether y is the transpose of x, conjugated if complex."""
    if not isinstance(y.op, Transpose) or y.op.axes != (*range(-len(y.op.axes), -2), -1, -2):
        return False
    (below,) = y.inputs
    if is_complex(x.type.dtype):
        return below.op is conjugate.op and below.inputs[0] is x
    return below is x


def matmul(x: TensorLike, y: TensorLike) -> Variable:
    """The matrix product; a vector on the left is a row, on the right a column.

    Raises:
        ShapeError: an operand is a scalar, or inner lengths differ.
    Source:
        numpy.matmul
    """
    x, y = as_variable(x), as_variable(y)
    for v, side in ((x, "lhs"), (y, "rhs")):
        if v.type.ndim == 0:
            raise ShapeError(message(f"matmul: {side} is a scalar, needed at least one axis", hint="x * y scales"))
    (x, y), dtype = promoted([x, y])
    x, y = cast_variable(x, dtype), cast_variable(y, dtype)
    row, column = x.type.ndim == 1, y.type.ndim == 1
    left = expand_dims_at(x, (-2,)) if row else x
    right = expand_dims_at(y, (-1,)) if column else y
    left, right = align_ranks([left, right])
    product: Variable = MatMul()(left, right)
    drop = ((-2,) if row else ()) + ((-1,) if column else ())
    return Squeeze(drop)(product) if drop else product


def dot(x: TensorLike, y: TensorLike) -> Variable:
    """The sum of products over the last axis of x and the last but one of y; of scalars and anything, the product.

    Of vectors it is the inner product, of matrices the matrix product.

    Shapes:
        x (..., n), y (n) -> (...); x (i..., n), y (k..., n, m) -> (i..., k..., m)
    Raises:
        ShapeError: the lengths that are summed over differ.
    Source:
        numpy.dot
    """
    x, y = as_variable(x), as_variable(y)
    if x.type.ndim == 0 or y.type.ndim == 0:
        return multiply(x, y)
    if x.type.ndim <= 2 and y.type.ndim <= 2:
        return matmul(x, y)
    return tensordot(x, y, ((-1,), (-2 if y.type.ndim > 1 else -1,)))


def vecdot(x: TensorLike, y: TensorLike, axis: int = -1) -> Variable:
    """The inner products of vectors along an axis, the first one conjugated; the other axes broadcast.

    Shapes:
        x (..., n), y (..., n) -> (...)
    Raises:
        ShapeError: an operand is a scalar, or lengths differ.
    Source:
        numpy.vecdot
    """
    x, y = _operands("vecdot", x, y, 1)
    x, y = (moveaxis(v, axis, -1) for v in (x, y))
    _need_same("vecdot", x.shape[-1], y.shape[-1])
    products = multiply(_conjugated(x), with_lengths(y, {-1: x.shape[-1]}, "vecdot"))
    return any_of(products, -1) if products.type.dtype == "bool" else reduce_sum(products, (-1,))


def _conjugated(x: Variable) -> Variable:
    """The conjugate of a complex array; any other as it is, bool too."""
    return conjugate(x) if is_complex(x.type.dtype) else x


def matvec(x: TensorLike, y: TensorLike) -> Variable:
    """The products of matrices and vectors; leading axes broadcast.

    Shapes:
        x (..., m, n), y (..., n) -> (..., m)
    Raises:
        ShapeError: x has fewer than two axes, y none, or lengths differ.
    Source:
        numpy.matvec
    """
    x, y = _operands("matvec", x, y, 2, 1)
    return Squeeze((-1,))(matmul(x, expand_dims_at(y, (-1,))))  # type: ignore[no-any-return]


def vecmat(x: TensorLike, y: TensorLike) -> Variable:
    """The products of vectors, conjugated, and matrices; leading axes broadcast.

    Shapes:
        x (..., n), y (..., n, m) -> (..., m)
    Raises:
        ShapeError: x has no axis, y fewer than two, or lengths differ.
    Source:
        numpy.vecmat
    """
    x, y = _operands("vecmat", x, y, 1, 2)
    return Squeeze((-2,))(matmul(expand_dims_at(_conjugated(x), (-2,)), y))  # type: ignore[no-any-return]


def _operands(what: str, x: Any, y: Any, first: int, second: int | None = None) -> list[Variable]:
    """Both operands in their common dtype.

    Raises:
        ShapeError: one has fewer axes than it needs.
    """
    (x, y), dtype = promoted([as_variable(x), as_variable(y)])
    for v, needed, side in ((x, first, "lhs"), (y, second or first, "rhs")):
        if v.type.ndim < needed:
            raise ShapeError(message(f"{what}: {side}: found {v.type}, needed at least {needed} axes"))
    return [cast_variable(v, dtype) for v in (x, y)]


def _need_same(what: str, a: Any, b: Any) -> None:
    if isinstance(a, int) and isinstance(b, int) and a != b:
        raise ShapeError(message(f"{what}: lengths differ: lhs has {a}, rhs has {b}"))


def inner(x: TensorLike, y: TensorLike) -> Variable:
    """The sums of products over the last axes; of scalars and anything, the product.

    Shapes:
        x (i..., n), y (k..., n) -> (i..., k...)
    Raises:
        ShapeError: the last lengths differ.
    Source:
        numpy.inner
    """
    x, y = as_variable(x), as_variable(y)
    if x.type.ndim == 0 or y.type.ndim == 0:
        return multiply(x, y)
    return tensordot(x, y, ((-1,), (-1,)))


def outer(x: TensorLike, y: TensorLike) -> Variable:
    """The products of all pairs of elements of two arrays, each in C order.

    Shapes:
        x (n), y (m) -> (n, m)
    Source:
        numpy.outer
    """
    return multiply(expand_dims_at(ravel(x), (-1,)), expand_dims_at(ravel(y), (-2,)))


def tensordot(x: TensorLike, y: TensorLike, axes: Any = 2) -> Variable:
    """The sum of products over pairs of axes.

    Args:
        axes: how many, the last of x with the first of y; or a pair of axes, or of lists of them, of x and of y.
    Shapes:
        the other axes of x, then those of y
    Raises:
        ShapeError: lengths of a pair differ, or the lists have different lengths.
    Source:
        numpy.tensordot
    """
    x, y = _operands("tensordot", x, y, 0)
    first, second = _pairs(x, y, axes)
    for j, k in zip(first, second, strict=True):
        _need_same("tensordot", x.shape[j], y.shape[k])
    y = with_lengths(y, {k: x.shape[j] for j, k in zip(first, second, strict=True)}, "tensordot")
    rest = [[k for k in range(-v.type.ndim, 0) if k not in used] for v, used in ((x, first), (y, second))]
    lengths = [[v.shape[k] for k in free] for v, free in ((x, rest[0]), (y, rest[1]))]
    shared = [x.shape[k] for k in first]
    left = reshape(transpose(x, (*rest[0], *first)), (product(tuple(lengths[0])), product(tuple(shared))))
    right = reshape(
        transpose(y, (*second, *rest[1])),
        (product(tuple(y.shape[k] for k in second)), product(tuple(lengths[1]))),
    )
    return reshape(MatMul()(left, right), (*lengths[0], *lengths[1]))


def _pairs(x: Variable, y: Variable, axes: Any) -> tuple[list[int], list[int]]:
    """The axes of both operands that are summed over, counted from the end."""
    axes = known_integer(axes)
    if isinstance(axes, int):
        if not 0 <= axes <= min(x.type.ndim, y.type.ndim):
            raise ShapeError(message(f"tensordot: found {axes} axes for {x.type} and {y.type}"))
        return list(range(-axes, 0)), list(range(-y.type.ndim, axes - y.type.ndim))
    lists = [list(a) if isinstance(a, tuple | list) else [a] for a in axes]
    pairs = [[axis_from_end(k, v.type.ndim, "tensordot") for k in a] for v, a in zip((x, y), lists, strict=True)]
    if len(pairs[0]) != len(pairs[1]) or any(len(set(a)) != len(a) for a in pairs):
        raise ShapeError(message(f"tensordot: axes: found {axes}, needed two lists of one length without repeats"))
    return pairs[0], pairs[1]


def kron(x: TensorLike, y: TensorLike) -> Variable:
    """The Kronecker product: each element of x times all of y.

    Shapes:
        x (n1, n2, ...), y (m1, m2, ...) -> (n1 * m1, n2 * m2, ...)
    Source:
        numpy.kron
    """
    x, y = align(as_variable(x), as_variable(y))
    n = x.type.ndim
    if n == 0:
        return multiply(x, y)
    wide = expand_dims_at(x, tuple(range(-2 * n + 1, 0, 2)))
    deep = expand_dims_at(y, tuple(range(-2 * n, 0, 2)))
    return reshape(multiply(wide, deep), [multiply_lengths(a, b) for a, b in zip(x.shape, y.shape, strict=True)])


def align(x: Variable, y: Variable) -> tuple[Variable, Variable]:
    """Both operands in one rank, with leading axes of length 1."""
    rank = max(x.type.ndim, y.type.ndim)
    x, y = (v if v.type.ndim == rank else expand_dims_at(v, tuple(range(-rank, -v.type.ndim))) for v in (x, y))
    return x, y


FAMILY = Family(
    "contraction",
    ops=(MatMul,),
    functions=(matmul, dot, vecdot, matvec, vecmat, inner, outer, tensordot, kron),
)
