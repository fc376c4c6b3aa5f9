"""`tg.sparse.linalg`: systems of equations with sparse matrices, differentiated by the equation that they solve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.nodes import Variable
from tg.ops.creation import zeros_like
from tg.ops.elementwise.arithmetic import sqrt
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import where
from tg.ops.iteration import while_loop
from tg.ops.reduction import sum as sum_of
from tg.ops.shape import with_lengths
from tg.optimize.solutions import End, implicit, limit, tolerance
from tg.sparse.factors import Factor, cholesky, slogdet
from tg.sparse.matrices import SparseMatrix
from tg.sparse.places import SymbolicProduct
from tg.sparse.products import symbolic_product
from tg.sparse.solving import spsolve
from tg.sparse.symbolic import Symbolic, symbolic
from tg.types.dtypes import is_float
from tg.variables.conversion import as_variable, promoted

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Factor",
    "Solved",
    "Symbolic",
    "SymbolicProduct",
    "bicgstab",
    "cg",
    "cholesky",
    "slogdet",
    "spsolve",
    "symbolic",
    "symbolic_product",
]


class Solved(NamedTuple):
    """Solution of a system by steps, and how they ended."""

    x: Any
    """The solution; its derivatives are those of the exact one, NaN where `converged` is False."""
    converged: Any
    """Whether the residual is small enough, a bool scalar."""
    residual: Any
    """The length of b - a x."""
    steps: Any
    """How many steps were made."""


class _Steps(NamedTuple):
    x: Any
    left: Any
    direction: Any
    square: Any
    steps: Any


def cg(a: Any, b: Any, x0: Any = None, *, tol: Any = None, maxiter: Any = None) -> Solved:
    """The solution of a x = b for a symmetric positive-definite matrix, by conjugate gradients.

    Args:
        a: a sparse matrix, a dense one, or a function that multiplies a vector by it.
        b: a vector of floats.
        x0: where to begin; zeros by default.
        tol: the residual's length, relative to that of b; the square root of the dtype's eps by default.
        maxiter: ten times the length of b by default.
    Shapes:
        a (n, n), b (n) -> x (n)
    Raises:
        ShapeError: b is no vector; a is not square, of as many rows as b.
        InputError: b is not of floats.
    Source:
        scipy.sparse.linalg.cg, whose `rtol` is `tol` here. Derivatives, of any order, solve with a as well.
    Example:
        >>> import numpy as np, tg
        >>> a = tg.sparse.csr(np.array([[4.0, 1.0], [1.0, 3.0]]))
        >>> tg.sparse.linalg.cg(a, [1.0, 2.0]).x.eval().round(6).tolist()
        [0.090909, 0.636364]
    """
    return _solved("cg", _conjugate, a, b, x0, tol, maxiter)


def bicgstab(a: Any, b: Any, x0: Any = None, *, tol: Any = None, maxiter: Any = None) -> Solved:
    """The solution of a x = b for a square matrix that need not be symmetric, by stabilised biconjugate gradients.

    Where the steps break down, `converged` is False.

    Args:
        a: a sparse matrix, a dense one, or a function that multiplies a vector by it.
        b: a vector of floats.
        x0: where to begin; zeros by default.
        tol: the residual's length, relative to that of b; the square root of the dtype's eps by default.
        maxiter: ten times the length of b by default; each step has two products.
    Shapes:
        a (n, n), b (n) -> x (n)
    Raises:
        ShapeError: b is no vector; a is not square, of as many rows as b.
        InputError: b is not of floats.
    Source:
        van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992), 631; scipy.sparse.linalg.bicgstab, whose `rtol` is `tol`
        here. Derivatives, of any order, solve with the transpose.
    Example:
        >>> import numpy as np, tg
        >>> a = tg.sparse.csr(np.array([[4.0, 1.0], [0.0, 2.0]]))
        >>> tg.sparse.linalg.bicgstab(a, [6.0, 4.0]).x.eval().round(6).tolist()
        [1.0, 2.0]
    """
    return _solved("bicgstab", _biconjugate, a, b, x0, tol, maxiter)


def _solved(what: str, steps: Any, a: Any, b: Any, x0: Any, tol: Any, maxiter: Any) -> Solved:
    """The solution that a method of steps finds, differentiated by the equation."""
    b = as_variable(b)
    if b.type.ndim != 1:
        raise ShapeError(message(f"{what}: b: found {b.type}, needed a vector", hint="tg.vmap solves for several"))
    if isinstance(a, SparseMatrix):
        _, dtype = promoted([a.values, b])
    else:
        dtype = b.type.dtype
    if not is_float(dtype):
        raise InputError(message(f"{what}: found {dtype}, needed a floating dtype"))
    b = cast_variable(b, dtype)
    start = zeros_like(b) if x0 is None else cast_variable(as_variable(x0), dtype)
    allowed, most = tolerance(tol, dtype, what), limit(maxiter, None, what)
    product, n = _product(what, a), b.shape[0]

    def times(x: Variable) -> Variable:
        return with_lengths(product(x), {-1: n}, f"{what}: a x")

    def find(x: Variable) -> End:
        s = steps(times, b, x, allowed, 10 * b.size if most is None else most)
        residual = sqrt(s.square)
        return End(s.x, s.square <= _enough(b, allowed), residual, s.steps, s.steps)

    is_symmetric = steps is _conjugate
    end = implicit(find, lambda x: times(x) - b, start, what, by_products=True, is_symmetric=is_symmetric)
    return Solved(end.x, end.converged, end.optimality, end.steps)


def _product(what: str, a: Any) -> Callable[[Variable], Variable]:
    if isinstance(a, SparseMatrix):
        return a.__matmul__
    if isinstance(a, Variable | np.ndarray):
        matrix = as_variable(a)
        return lambda x: matrix @ x
    if callable(a):
        return lambda x: as_variable(a(x))
    raise InputError(message(f"{what}: a: found {type(a).__name__}, needed a matrix or a function"))


def _enough(b: Variable, tol: Any) -> Any:
    """The square of a residual that is small enough."""
    return sum_of(b * b) * tol**2


def _conjugate(times: Callable[[Variable], Variable], b: Variable, x: Variable, tol: Any, most: Any) -> _Steps:
    """Conjugate gradients (Hestenes and Stiefel 1952)."""
    enough, left = _enough(b, tol), b - times(x)

    def step(s: _Steps) -> _Steps:
        turned = times(s.direction)
        length = _over(s.square, sum_of(s.direction * turned))
        rest = s.left - length * turned
        square = sum_of(rest * rest)
        direction = rest + _over(square, s.square) * s.direction
        return _Steps(s.x + length * s.direction, rest, direction, square, s.steps + 1)

    first = _Steps(x, left, left, sum_of(left * left), np.int64(0))
    return while_loop(lambda s: (s.square > enough) & (s.steps < most), step, first)  # type: ignore[no-any-return]


class _Pair(NamedTuple):
    x: Any
    left: Any
    direction: Any
    turned: Any
    share: Any
    """The product of the residual and the shadow, which is the first residual."""
    length: Any
    width: Any
    square: Any
    steps: Any


def _biconjugate(times: Callable[[Variable], Variable], b: Variable, x: Variable, tol: Any, most: Any) -> _Pair:
    """Biconjugate gradients, each step followed by one of least residual (van der Vorst 1992)."""
    enough, shadow = _enough(b, tol), b - times(x)

    def step(s: _Pair) -> _Pair:
        share = sum_of(shadow * s.left)
        direction = s.left + _over(share, s.share) * _over(s.length, s.width) * (s.direction - s.width * s.turned)
        turned = times(direction)
        length = _over(share, sum_of(shadow * turned))
        half = s.left - length * turned
        crossed = times(half)
        width = _over(sum_of(crossed * half), sum_of(crossed * crossed))
        left = half - width * crossed
        x = s.x + length * direction + width * half
        return _Pair(x, left, direction, turned, share, length, width, sum_of(left * left), s.steps + 1)

    one, zeros = np.ones((), b.type.dtype), zeros_like(b)
    first = _Pair(x, shadow, zeros, zeros, one, one, one, sum_of(shadow * shadow), np.int64(0))
    return while_loop(  # type: ignore[no-any-return]
        lambda s: (s.square > enough) & (s.share != 0) & (s.steps < most), step, first
    )


def _over(p: Variable, q: Variable) -> Variable:
    """A quotient, 0 where the divisor is."""
    one = np.ones((), q.type.dtype)
    return where(q == 0, np.zeros((), p.type.dtype), p / where(q == 0, one, q))
