"""Products, powers and matrices of a pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.errors import InputError, ShapeError, message
from tg.ops import diagonal as diagonals
from tg.ops.contraction import matmul
from tg.ops.creation import iota
from tg.ops.elementwise.arithmetic import multiply, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.family import Family
from tg.ops.indexing import flip, slice_axis, take
from tg.ops.linalg.linear_systems import identities
from tg.ops.linalg.matrices import conjugated
from tg.ops.linalg.solving import inv, solve
from tg.ops.shape import concatenate, expand_dims_at, moveaxis, ravel, reshape, transpose
from tg.types.lengths import product
from tg.types.lengths import subtract as subtract_lengths
from tg.variables.conversion import as_variable, known_integer, promoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.variables.like import TensorLike

TYPICAL: Final = 32  # what an unknown length counts when the order of products is chosen


def matrix_power(a: TensorLike, n: int) -> Variable:
    """The n-th power of square matrices, by repeated squaring; of a negative n, that of the inverse.

    Raises:
        LinAlgError: n is negative and a matrix is singular.
    Source:
        numpy.linalg.matrix_power
    """
    n = known_integer(n)
    if isinstance(n, bool) or not isinstance(n, int):
        raise InputError(message(f"matrix_power: n: found {n!r}, needed an integer"))
    a = as_variable(a)
    if a.type.ndim < 2:
        raise ShapeError(message(f"matrix_power: found {a.type}, needed a matrix, or several along leading axes"))
    if n < 0:
        return matrix_power(inv(a), -n)
    power = None if n else identities(a)
    while n:
        if n % 2:
            power = a if power is None else matmul(power, a)
        n //= 2
        a = matmul(a, a) if n else a
    assert power is not None
    return power


def multi_dot(arrays: Sequence[Any]) -> Variable:
    """The product of several matrices, in the order that takes the fewest multiplications.

    The first may be a row vector and the last a column vector.

    Raises:
        InputError: fewer than two matrices.
    Source:
        numpy.linalg.multi_dot
    """
    matrices = [as_variable(v) for v in arrays]
    if len(matrices) < 2:
        raise InputError(message(f"multi_dot: found {len(matrices)} arrays, needed at least two"))
    first, last = (v.type.ndim == 1 for v in (matrices[0], matrices[-1]))
    if first:
        matrices[0] = expand_dims_at(matrices[0], (-2,))
    if last:
        matrices[-1] = expand_dims_at(matrices[-1], (-1,))
    for v in matrices:
        if v.type.ndim != 2:
            raise ShapeError(message(f"multi_dot: found {v.type}, needed matrices"))
    lengths = [n if isinstance(n := v.type.shape[0], int) else TYPICAL for v in matrices]
    lengths.append(n if isinstance(n := matrices[-1].type.shape[1], int) else TYPICAL)
    product = _multiplied(matrices, _best_splits(lengths), 0, len(matrices) - 1)
    product = product[0] if first else product
    return product[..., 0] if last else product


def _best_splits(lengths: Sequence[int]) -> dict[tuple[int, int], int]:
    """For each stretch of a chain where to split it (Cormen et al., Introduction to Algorithms, section 15.2)."""
    count = len(lengths) - 1
    cost = {(i, i): 0 for i in range(count)}
    split: dict[tuple[int, int], int] = {}
    for width in range(1, count):
        for i in range(count - width):
            j = i + width
            costs = {k: cost[i, k] + cost[k + 1, j] + lengths[i] * lengths[k + 1] * lengths[j + 1] for k in range(i, j)}
            split[i, j] = min(costs, key=costs.__getitem__)
            cost[i, j] = costs[split[i, j]]
    return split


def _multiplied(chain: Sequence[Variable], split: dict[tuple[int, int], int], i: int, j: int) -> Variable:
    if i == j:
        return chain[i]
    k = split[i, j]
    return matmul(_multiplied(chain, split, i, k), _multiplied(chain, split, k + 1, j))


def tensorinv(a: TensorLike, ind: int = 2) -> Variable:
    """The inverse for `tensordot` over the last axes of a: those behind the first `ind`.

    Raises:
        LinAlgError: it is singular.
    Source:
        numpy.linalg.tensorinv
    """
    a = as_variable(a)
    if not isinstance(ind, int) or ind <= 0:
        raise InputError(message(f"tensorinv: ind: found {ind!r}, needed a positive integer"))
    first, last = a.shape[:ind], a.shape[ind:]
    return reshape(inv(reshape(a, (product(first), product(last)))), (*last, *first))


def tensorsolve(a: TensorLike, b: TensorLike, axes: Sequence[int] | None = None) -> Variable:
    """x of tensordot(a, x, x.ndim) = b.

    Args:
        axes: of a, moved to the end first.
    Raises:
        LinAlgError: it is singular.
    Source:
        numpy.linalg.tensorsolve
    """
    a, b = as_variable(a), as_variable(b)
    if axes is not None:
        chosen = [k % a.type.ndim for k in axes]
        a = transpose(a, [*(k for k in range(a.type.ndim) if k not in chosen), *chosen])
    shape = a.shape[b.type.ndim :]
    rows = product(b.shape)
    return reshape(solve(reshape(a, (rows, product(shape))), ravel(b)), shape)


def toeplitz(c: TensorLike, r: TensorLike | None = None) -> Variable:
    """Matrices with constant diagonals, of a first column and a first row, whose first element does not count.

    Args:
        r: the first row; the conjugate of c unless given.
    Shapes:
        c (..., n), r (..., m) -> (..., n, m)
    Source:
        scipy.linalg.toeplitz
    """
    c = as_variable(c)
    (c, r), dtype = promoted([c, conjugated(c) if r is None else as_variable(r)])
    c, r = (cast_variable(v, dtype) for v in (c, r))
    n, m = c.shape[-1], r.shape[-1]
    row = slice_axis(r, -1, 1, subtract_lengths(m, 1))
    values = concatenate([flip(row, -1), c], -1)
    places = subtract(expand_dims_at(iota(n), (-1,)), expand_dims_at(iota(m), (-2,))) + subtract_lengths(m, 1)
    return take(values, places, -1, mode="promise")


def cross(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> Variable:
    """The cross products of vectors of three elements along an axis; the other axes broadcast.

    Raises:
        ShapeError: the axis is known to have another length.
    Source:
        numpy.linalg.cross
    """
    (x, y), dtype = promoted([as_variable(x1), as_variable(x2)])
    x, y = (moveaxis(cast_variable(v, dtype), axis, -1) for v in (x, y))
    for v in (x, y):
        if v.type.shape[-1] not in (None, 3):
            raise ShapeError(message(f"cross: found an axis of length {v.type.shape[-1]}, needed 3"))
    a, b = ([v[..., k] for k in range(3)] for v in (x, y))
    components = [
        expand_dims_at(subtract(multiply(a[i], b[j]), multiply(a[j], b[i])), (-1,)) for i, j in ((1, 2), (2, 0), (0, 1))
    ]
    return moveaxis(concatenate(components, -1), -1, axis)


def trace(x: TensorLike, /, *, offset: int = 0, dtype: object = None) -> Variable:
    """The sums of the diagonals of matrices along the last two axes.

    Source:
        numpy.linalg.trace
    """
    return diagonals.trace(x, offset, -2, -1, dtype)


def diagonal(x: TensorLike, /, *, offset: int = 0) -> Variable:
    """The diagonals of matrices along the last two axes.

    Source:
        numpy.linalg.diagonal
    """
    return diagonals.diagonal(x, offset, -2, -1)


FAMILY = Family(
    "linalg/products",
    functions=(matrix_power, multi_dot, tensorinv, tensorsolve, toeplitz, cross, trace, diagonal),
    module="linalg",
)
