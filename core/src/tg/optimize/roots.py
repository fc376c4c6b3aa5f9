"""`root` and `fixed_point`: Newton's method with backtracking, and Anderson's mixing of iterates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.errors import InputError, message
from tg.gradient.matrices import jacobian
from tg.ops.contraction import matmul
from tg.ops.creation import eye, zeros, zeros_like
from tg.ops.elementwise.arithmetic import clip, maximum
from tg.ops.elementwise.comparison import isfinite, where
from tg.ops.iteration import while_loop
from tg.ops.linalg.products import trace
from tg.ops.norm import norm
from tg.ops.reduction import all as all_of
from tg.ops.reduction import any as any_of
from tg.ops.shape import concatenate
from tg.optimize.solutions import End, Solution, eps_of, implicit, largest, limit, solved, tolerance, unknowns
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable

DECREASE: Final = 1e-4  # of the norm of the residual, for a step of length 1
SHORTEST: Final = 1e-10  # a step that has to be cut to this part of Newton's leads nowhere


def root(f: Callable[[Any], Any], x0: Any, *, tol: Any = None, maxiter: Any = None) -> Solution:
    """A point where f is 0, with derivatives with respect to all that f uses.

    Where f(x, p) = 0, dx = -(df/dx)^-1 (df/dp) dp: derivatives in both modes and of any order are those of this
    equation, whatever steps led there. NaN stands for those of a root that was not found, or at which the Jacobian is
    singular; x0 has the derivative 0. Steps and derivatives take the whole Jacobian, n by n. Many equations of few
    unknowns each are `tg.vmap` of one: `tg.vmap(lambda p: tg.optimize.root(lambda x: f(x, p), 1.0).x)(ps)`.

    Args:
        f: from x, nested as x0, to as many values in the same nesting and shapes. What it uses besides is captured.
        x0: where to begin, arrays in any nesting.
        tol: it converged where no element of Newton's whole step is longer than tol times the larger of 1 and the
            largest element of x; the square root of eps by default, so that the error is near eps where roots are
            simple. A number or a scalar variable.
        maxiter: how many steps are made at most; an integer or a scalar variable.
    Returns:
        the solution; where none was found the last point, `converged` being False. `optimality` is the largest element
        of f.
    Raises:
        InputError: f gives something of another nesting than x0.
        ShapeError: it has other shapes.
    Source:
        scipy.optimize.root; Nocedal and Wright, Numerical Optimization, 2nd edition, algorithm 11.4.
    Example:
        >>> import tg
        >>> e, m = tg.scalar("e"), tg.scalar("m")
        >>> y = tg.optimize.root(lambda y: y - e * tg.sin(y) - m, m).x  # Kepler's equation
        >>> [round(float(v), 6) for v in tg.function([e, m], [y, tg.grad(y, m)])(0.5, 1.0)]
        [1.498701, 1.037362]
    """
    point = unknowns(f, x0, "root")
    dtype = point.start.type.dtype
    small, most = tolerance(tol, dtype, "root"), limit(maxiter, 100, "root")

    def residual(x: Variable) -> Variable:
        return point.vector(f(point.nested(x)), "root: f")

    return point.solution(f, implicit(lambda x: _newton(residual, x, small, most), residual, point.start, "root"))


class _Newton(NamedTuple):
    """The last point that was taken, and the step from it that is tried: whole, then cut."""

    x: Any
    residual: Any
    size: Any
    direction: Any
    is_newton: Any
    share: Any
    steps: Any
    evaluations: Any
    is_solved: Any
    is_stuck: Any


def _newton(residual: Callable[[Variable], Variable], x0: Variable, small: Any, most: Any) -> End:
    """Newton's steps, each cut until the residual falls.

    One loop tries points, with the Jacobian at each: batches of little problems are as fast as without cuts, of which
    there are few. The first trial is the start, by a step of length 0.
    """
    dtype = x0.type.dtype

    def is_short(x: Variable, p: Variable) -> Any:
        return largest(p) <= small * maximum(largest(x), 1)

    def tried(s: _Newton) -> _Newton:
        x = s.x + s.share * s.direction
        left = residual(x)
        size = norm(left)
        p, is_newton = _direction(jacobian(left, x, disconnected="zero"), left)
        is_lower = (size < s.size) & (size <= (1 - DECREASE * s.share) * s.size)  # in halves the factor may be 1
        is_last = s.is_newton & is_short(s.x, s.direction) & isfinite(size)
        share = s.share * clip(_lowest(s.size, size), 0.1, 0.5)
        leads_nowhere = is_short(s.x, share * s.direction) | (share <= SHORTEST)
        return _Newton(
            where(is_lower, x, s.x),
            where(is_lower, left, s.residual),
            where(is_lower, size, s.size),
            where(is_lower, p, s.direction),
            where(is_lower, is_newton, s.is_newton),
            where(is_lower, 1, share).astype(dtype),
            s.steps + where(is_lower, 1, 0),
            s.evaluations + 1,
            is_last | (is_lower & ~any_of(left)),
            ~is_lower & leads_nowhere,
        )

    def goes_on(s: _Newton) -> Any:
        return ~s.is_solved & ~s.is_stuck & (s.steps <= most)

    zero, nothing, no = np.int64(0), np.zeros((), dtype), np.bool_(False)
    start = _Newton(x0, x0 * np.nan, np.inf + nothing, zeros_like(x0), no, nothing, zero, zero, no, no)
    s = while_loop(goes_on, tried, start)
    return End(s.x, s.is_solved, largest(s.residual), maximum(s.steps - 1, 0), s.evaluations)


def _lowest(before: Variable, size: Variable) -> Variable:
    """The part of a step at which the parabola through the squares of the residuals is lowest."""
    ratio = size / before
    share = 1 / (1 + ratio * ratio)  # in whole steps the slope of |f|^2 is -2 |f|^2
    return where(isfinite(ratio), share, 0.1)


def _direction(matrix: Variable, residual: Variable) -> tuple[Variable, Variable]:
    """Newton's direction; where the Jacobian is singular, down the squares to their minimum along the line.

    Returns:
        the direction, and whether it is Newton's.
    """
    p = solved(matrix, -residual)
    is_newton = all_of(isfinite(p))
    if matrix.type.shape == (1, 1):  # where it is singular nothing leads down
        return where(is_newton, p, 0), is_newton
    slope = matmul(residual, matrix)
    turned = matmul(matrix, slope)
    square = matmul(turned, turned)
    down = matmul(slope, slope) / where(square > 0, square, 1) * slope
    return where(is_newton, p, -down), is_newton


def fixed_point(f: Callable[[Any], Any], x0: Any, *, depth: int = 5, tol: Any = None, maxiter: Any = None) -> Solution:
    """A point that f leaves as it is, with derivatives with respect to all that f uses.

    Where x = f(x, p), dx = (1 - df/dx)^-1 (df/dp) dp: derivatives in both modes and of any order are those of this
    equation, whatever steps led there; nothing of the steps is kept. Of up to 512 unknowns they take the whole
    Jacobian, n by n; of more, or a number that is not known, BiCGSTAB by products with it. NaN stands for those of a
    point that was not found, or at which a system with 1 - df/dx has no solution; x0 has the derivative 0.

    Args:
        f: from x, nested as x0, to values in the same nesting and shapes. What it uses besides is captured.
        x0: where to begin, arrays in any nesting.
        depth: how many steps Anderson's mixing remembers; 0 applies f again and again.
        tol: it converged where no element of f(x) - x is larger than tol times the larger of 1 and the largest element
            of x; the square root of eps by default. A number or a scalar variable.
        maxiter: how often f is applied at most; an integer or a scalar variable.
    Returns:
        the solution; where none was found the last point, `converged` being False. `optimality` is the largest element
        of f(x) - x.
    Raises:
        InputError: f gives something of another nesting than x0; depth is no integer of at least 0.
        ShapeError: it has other shapes.
    Source:
        scipy.optimize.fixed_point; Walker and Ni, "Anderson acceleration for fixed-point iterations", SIAM J. Numer.
        Anal. 49 (2011), 1715, eq. 2.2.
    Example:
        >>> import tg
        >>> a = tg.scalar("a")
        >>> y = tg.optimize.fixed_point(lambda x: tg.cos(a * x), 0.5).x
        >>> [round(float(v), 6) for v in tg.function([a], [y, tg.grad(y, a)])(1.0)]
        [0.739085, -0.297474]
    """
    if type(depth) is not int or depth < 0:
        raise InputError(message(f"fixed_point: depth: found {short(depth)}, needed an integer of at least 0"))
    point = unknowns(f, x0, "fixed_point")
    small, most = tolerance(tol, point.start.type.dtype, "fixed_point"), limit(maxiter, 500, "fixed_point")

    def residual(x: Variable) -> Variable:
        return point.vector(f(point.nested(x)), "fixed_point: f") - x

    def find(x: Variable) -> End:
        return _mixed(residual, x, depth, small, most)

    return point.solution(f, implicit(find, residual, point.start, "fixed_point", by_products=True))


class _Mixed(NamedTuple):
    x: Any
    residual: Any
    moves: Any
    """The last steps, one in each row."""
    changes: Any
    """By how much the residual changed in each."""
    steps: Any


def _mixed(residual: Callable[[Variable], Variable], x0: Variable, depth: int, small: Any, most: Any) -> End:
    """Iterates x + r(x), less the mixture of the last steps by which r would be smallest if it were linear."""

    def is_solved(s: _Mixed) -> Any:
        return largest(s.residual) <= small * maximum(largest(s.x), 1)

    def goes_on(s: _Mixed) -> Any:
        return all_of(isfinite(s.residual)) & ~is_solved(s) & (s.steps < most)

    def step(s: _Mixed) -> _Mixed:
        p = s.residual
        if depth:
            weights = _weights(s.changes, s.residual)
            p = p - matmul(weights, s.moves + s.changes)
            p = where(all_of(isfinite(p)), p, s.residual)
        x = s.x + p
        left = residual(x)
        moves, changes = s.moves, s.changes
        if depth:
            moves = concatenate([moves[1:], p[None]])
            changes = concatenate([changes[1:], (left - s.residual)[None]])
        return _Mixed(x, left, moves, changes, s.steps + 1)

    rows = zeros((depth, x0.shape[0]), dtype=x0.type.dtype)
    s = while_loop(goes_on, step, _Mixed(x0, residual(x0), rows, rows, np.int64(0)))
    return End(s.x, is_solved(s), largest(s.residual), s.steps, s.steps + 1)


def _weights(changes: Variable, residual: Variable) -> Variable:
    """The weights of rows with which their sum is nearest to the residual; rows of zeros have weight 0."""
    squares = matmul(changes, changes.T)
    ridge = 10 * eps_of(changes.type.dtype) * trace(squares)
    full = squares + where(ridge > 0, ridge, 1) * eye(changes.shape[0], dtype=changes.type.dtype)
    return solved(full, matmul(changes, residual))
