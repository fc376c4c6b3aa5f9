"""Polynomials as vectors of their coefficients, the highest power first, under NumPy's names.

Leading zeros stay, since lengths do not depend on values: a polynomial is as long as its operands make it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.nodes import Variable, as_size_variable
from tg.ops.contraction import matmul, outer
from tg.ops.creation import iota, ones, vander, zeros
from tg.ops.elementwise.arithmetic import add, divide, multiply, negative, subtract
from tg.ops.elementwise.arithmetic import sqrt as root_of
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater_equal, less, logical_and, where
from tg.ops.elementwise.complex import real
from tg.ops.family import Family
from tg.ops.indexing import slice_axis, take
from tg.ops.linalg.least_squares import lstsq
from tg.ops.linalg.schur import eigvals
from tg.ops.linalg.solving import inv
from tg.ops.reduction import sum
from tg.ops.shape import concatenate, expand_dims_at, stack
from tg.types.dtypes import is_complex, is_inexact, numpy_dtype
from tg.types.lengths import add as add_lengths
from tg.types.lengths import maximum
from tg.types.lengths import subtract as subtract_lengths
from tg.variables.conversion import as_variable, known_integer, promoted

if TYPE_CHECKING:
    from tg.variables.like import TensorLike


def _coefficients(what: str, p: Any) -> Variable:
    v = as_variable(p)
    v = expand_dims_at(v, (-1,)) if v.type.ndim == 0 else v
    if v.type.ndim != 1:
        raise ShapeError(message(f"{what}: found {v.type}, needed a vector of coefficients"))
    return v


def _number(what: str, p: Variable) -> int:
    """The known number of coefficients."""
    n = p.shape[0]
    if not isinstance(n, int):
        hint = 'tg.vector("p", shape=(3,)) has a known length'
        raise ShapeError(message(f"{what}: found {p.type}, needed a known number of coefficients", hint=hint))
    return n


def _pair(what: str, a: Any, b: Any) -> tuple[Variable, Variable]:
    (a, b), dtype = promoted([_coefficients(what, a), _coefficients(what, b)])
    return cast_variable(a, dtype), cast_variable(b, dtype)


def _floating(x: Variable) -> Variable:
    return x if is_inexact(x.type.dtype) else cast_variable(x, "float64")


def _aligned(what: str, a: Any, b: Any) -> tuple[Variable, Variable]:
    """Both with as many coefficients."""
    a, b = _pair(what, a, b)
    n = maximum(a.shape[0], b.shape[0])
    filled = [concatenate([zeros((subtract_lengths(n, v.shape[0]),), v.type.dtype), v]) for v in (a, b)]
    return filled[0], filled[1]


def polyadd(a1: TensorLike, a2: TensorLike) -> Variable:
    """The sum of two polynomials.

    Source:
        numpy.polyadd
    """
    return add(*_aligned("polyadd", a1, a2))


def polysub(a1: TensorLike, a2: TensorLike) -> Variable:
    """The difference of two polynomials.

    Source:
        numpy.polysub
    """
    return subtract(*_aligned("polysub", a1, a2))


def polymul(a1: TensorLike, a2: TensorLike) -> Variable:
    """The product of two polynomials.

    Shapes:
        a1 (n), a2 (m) -> (n + m - 1)
    Source:
        numpy.polymul, which drops leading zeros first; jax.numpy.polymul
    """
    a, b = _pair("polymul", a1, a2)
    n, m = a.shape[0], b.shape[0]
    place = expand_dims_at(iota(add_lengths(add_lengths(n, m), -1)), (-1,)) - iota(n)
    inside = logical_and(greater_equal(place, 0), less(place, as_size_variable(m)))
    factors = where(inside, take(b, place, mode="clip"), numpy_dtype(b.type.dtype).type(0))
    y: Variable = sum(multiply(factors, a), -1, a.type.dtype)
    return y


def polyder(p: TensorLike, m: int = 1) -> Variable:
    """The m-th derivative of a polynomial.

    Shapes:
        p (n) -> (max(n - m, 0))
    Raises:
        InputError: m is no integer of at least 0.
    Source:
        numpy.polyder
    """
    y, m = _coefficients("polyder", p), _order("polyder: m", m)
    for step in range(m):
        if step and y.type.shape[0] == 0:
            break  # the dtype is that of a derivative by now
        count = maximum(subtract_lengths(y.shape[0], 1), 0)
        powers = as_size_variable(y.shape[0]) - 1 - iota(count)
        y = multiply(slice_axis(y, -1, 0, count), powers if not is_inexact(y.type.dtype) else _as(y, powers))
    return y


def _as(like: Variable, x: Variable) -> Variable:
    return cast_variable(x, like.type.dtype)


def _order(what: str, m: Any) -> int:
    m = known_integer(m)
    if isinstance(m, bool) or not isinstance(m, int) or m < 0:
        raise InputError(message(f"{what}: found {m!r}, needed an integer of at least 0"))
    return m


def polyint(p: TensorLike, m: int = 1, k: Any = None) -> Variable:
    """The m-th antiderivative of a polynomial.

    Args:
        k: the constants of integration, in the order in which they are added; 0 unless given, one for all if alone.
    Shapes:
        p (n) -> (n + m)
    Raises:
        InputError: m is no integer of at least 0, or there are other constants than m.
    Source:
        numpy.polyint
    """
    p, m = _floating(_coefficients("polyint", p)), _order("polyint: m", m)
    constants = zeros((m,)) if k is None else _coefficients("polyint: k", k)
    if constants.type.shape[0] == 1 and m > 1:
        constants = multiply(constants, ones((m,)))
    if m and constants.type.shape[0] != m:
        raise InputError(message(f"polyint: k: found {constants.type}, needed {m} constants"))
    (p, constants), dtype = promoted([p, constants])
    y, constants = cast_variable(p, dtype), cast_variable(constants, dtype)
    for j in range(m):
        powers = _as(y, as_size_variable(y.shape[0]) - iota(y.shape[0]))
        y = concatenate([divide(y, powers), constants[j : j + 1]])
    return y


def polydiv(u: Any, v: TensorLike) -> tuple[Variable, Variable]:
    """The quotient and the remainder of two polynomials.

    Shapes:
        u (n), v (m), of known lengths -> (n - m + 1), (m - 1), each at least 1
    Raises:
        ShapeError: a length is not known.
    Source:
        numpy.polydiv, which drops leading zeros of the remainder; jax.numpy.polydiv
    """
    u, v = (_floating(x) for x in _pair("polydiv", u, v))
    n, m = _number("polydiv", u), _number("polydiv", v)
    if n < m:
        return zeros((1,), u.type.dtype), u
    quotient = []
    rest = u
    for _ in range(n - m + 1):
        factor = divide(rest[0], v[0])
        quotient.append(factor)
        front = subtract(rest[1:m], multiply(factor, v[1:])) if m > 1 else rest[1:1]
        rest = concatenate([front, rest[m:]])
    return stack(quotient), rest if m > 1 else zeros((1,), u.type.dtype)


def poly(seq_of_zeros: Any) -> Variable:
    """The polynomial with given roots and leading coefficient 1, or the characteristic polynomial of a matrix.

    Shapes:
        (n) or (n, n), n known -> (n + 1)
    Dtypes:
        floating; of complex roots complex, also where they come in conjugate pairs
    Raises:
        ShapeError: the number of roots is not known.
    Source:
        numpy.poly
    """
    roots = as_variable(seq_of_zeros)
    of_real_matrix = roots.type.ndim == 2 and not is_complex(roots.type.dtype)
    roots = eigvals(_floating(roots)) if roots.type.ndim == 2 else _floating(_coefficients("poly", roots))
    one = ones((1,), roots.type.dtype)
    p: Variable = one
    for k in range(_number("poly", roots)):
        p = polymul(p, concatenate([one, negative(roots[k : k + 1])]))
    return real(p) if of_real_matrix else p


def roots(p: TensorLike) -> Variable:
    """The roots of a polynomial: the eigenvalues of its companion matrix, complex.

    Shapes:
        p (n), n known -> (n - 1)
    Raises:
        ShapeError: the number of coefficients is not known.
    Source:
        numpy.roots, which drops leading and trailing zeros first; jax.numpy.roots with strip_zeros=False
    """
    p = _floating(_coefficients("roots", p))
    n = _number("roots", p)
    if n < 2:
        return zeros((0,), "complex128" if p.type.dtype in ("float64", "complex128") else "complex64")
    first = divide(negative(p[1:]), p[0])
    below = np.eye(n - 2, n - 1, dtype=numpy_dtype(p.type.dtype))
    return eigvals(concatenate([expand_dims_at(first, (-2,)), below]))


class PolyfitResult(NamedTuple):
    """Coefficients of a fit, the sum of squared residuals, the rank, the singular values, and their cutoff."""

    coefficients: Variable
    residuals: Variable
    rank: Variable
    singular_values: Variable
    rcond: Any


def polyfit(
    x: TensorLike,
    y: TensorLike,
    deg: int,
    rcond: Any = None,
    full: bool = False,
    w: TensorLike | None = None,
    cov: bool | str = False,
) -> Any:
    """The coefficients of the polynomial of a degree that fits points best, by least squares.

    Args:
        rcond: cutoff of singular values, relative to the largest one.
        full: whether residuals, rank, singular values and the cutoff come too.
        w: weights of the points.
        cov: whether the covariance matrix comes too; "unscaled" leaves out the factor of the residuals.
    Shapes:
        x (n), y (n) or (n, k) -> (deg + 1) or (deg + 1, k)
    Raises:
        InputError: the degree is no integer of at least 0.
        ShapeError: x is no vector, or y has another rank.
    Source:
        numpy.polyfit
    """
    degree = _order("polyfit: deg", deg)
    x, y = _floating(as_variable(x)), _floating(as_variable(y))
    if x.type.ndim != 1 or y.type.ndim not in (1, 2):
        raise ShapeError(message(f"polyfit: found {x.type} and {y.type}, needed a vector, and a vector or a matrix"))
    (x, y), dtype = promoted([x, y])
    x, y = cast_variable(x, dtype), cast_variable(y, dtype)
    columns = cast_variable(vander(x, degree + 1), dtype)
    if w is not None:
        weights = cast_variable(as_variable(w), dtype)
        columns = multiply(columns, expand_dims_at(weights, (-1,)))
        y = multiply(y, expand_dims_at(weights, (-1,)) if y.type.ndim == 2 else weights)
    scale = root_of(sum(multiply(columns, columns), 0))
    c, residuals, rank, values = lstsq(divide(columns, scale), y, rcond=rcond)
    tall = expand_dims_at(scale, (-1,)) if y.type.ndim == 2 else scale
    c = divide(c, tall)
    if full:
        cutoff = multiply(as_size_variable(x.shape[0]), np.finfo(numpy_dtype(dtype)).eps) if rcond is None else rcond
        residuals = expand_dims_at(residuals, (-1,)) if y.type.ndim == 1 else residuals
        return PolyfitResult(c, residuals, rank, values, cutoff)
    if not cov:
        return c
    base = divide(inv(matmul(divide(columns, scale).T, divide(columns, scale))), outer(scale, scale))
    if cov != "unscaled":
        rest = subtract(y, matmul(columns, c))
        freedom = cast_variable(as_size_variable(x.shape[0]) - (degree + 1), dtype)
        factor = divide(sum(multiply(rest, rest), 0), freedom)
        base = multiply(expand_dims_at(base, (-1,)), factor) if y.type.ndim == 2 else multiply(base, factor)
    return c, base


FAMILY = Family(
    "polynomials",
    functions=(polyadd, polysub, polymul, polyder, polyint, polydiv, poly, roots, polyfit),
)
