"""`least_squares`: the parameters with the least sum of squared residuals, by Levenberg and Marquardt's method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tg.errors import InputError, message
from tg.gradient.api import grad
from tg.gradient.matrices import jacobian
from tg.ops.contraction import matmul
from tg.ops.creation import zeros_like
from tg.ops.diagonal import diag
from tg.ops.elementwise.arithmetic import maximum, sqrt, square
from tg.ops.elementwise.comparison import isfinite, where
from tg.ops.iteration import while_loop
from tg.ops.reduction import sum as sum_of
from tg.optimize.solutions import NOTHING, End, Solution, implicit, joined, largest, limit, solved, tolerance, unknowns
from tg.variables.conversion import as_variable
from tg.variables.structure import flatten

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable


def least_squares(f: Callable[[Any], Any], x0: Any, *, tol: Any = None, maxiter: Any = None) -> Solution:
    """A minimum of half the sum of the squares of what f gives, with derivatives with respect to all that f uses.

    Where the gradient g(x, p) of that sum is 0, dx = -(dg/dx)^-1 (dg/dp) dp, with the whole Hessian of it, the
    curvature of f included: derivatives in both modes and of any order are those of this equation. NaN stands for those
    of a minimum that was not found, or at which the Hessian is singular; x0 has the derivative 0. Steps take the
    Jacobian of f, m by n, derivatives the Hessian, n by n.

    Args:
        f: from x, nested as x0, to residuals, real arrays in any nesting. What it uses besides is captured.
        x0: where to begin, arrays in any nesting.
        tol: it converged where no column of the Jacobian has with the residuals a cosine above tol, or where no element
            of a step is longer than tol times the largest element of x; the square root of eps by default. A number or
            a scalar variable.
        maxiter: how many steps are tried at most, 100 (n + 1) by default; an integer or a scalar variable.
    Returns:
        the solution; where none was found the last point, `converged` being False. `fun` are the residuals,
        `optimality` is the largest element of the gradient.
    Raises:
        DtypeError: residuals are complex.
    Source:
        scipy.optimize.least_squares with method="lm"; the scaling is that of More, "The Levenberg-Marquardt algorithm:
        implementation and theory", 1977, the damping that of Nielsen, "Damping parameter in Marquardt's method",
        IMM-REP-1999-05.
    Example:
        >>> import numpy as np, tg
        >>> t, y = np.array([0.0, 1.0, 2.0]), tg.vector("y")
        >>> found = tg.optimize.least_squares(lambda p: p["a"] * tg.exp(-p["k"] * t) - y, {"a": 1.0, "k": 1.0})
        >>> x = tg.function([y], found.x)([2.0, 1.0, 0.5])
        >>> round(float(x["a"]), 6), round(float(x["k"]), 6)
        (2.0, 0.693147)
    """
    point = unknowns(f, x0, "least_squares")
    dtype = point.start.type.dtype
    small = tolerance(tol, dtype, "least_squares")
    most = limit(maxiter, 100 * (point.start.shape[0] + 1), "least_squares")

    def residuals(x: Variable) -> Variable:
        value = f(point.nested(x))
        leaves = [as_variable(v) for v in flatten(value)[0]]
        if not leaves:
            raise InputError(message(f"least_squares: f: found {value!r}, needed an array", hint=NOTHING))
        return joined(leaves, dtype, "least_squares: f")

    def slope(x: Variable) -> Variable:
        return grad(0.5 * sum_of(square(residuals(x))), x, disconnected="zero")

    def find(x: Variable) -> End:
        return _damped(residuals, x, small, most)

    return point.solution(f, implicit(find, slope, point.start, "least_squares"))


class _State(NamedTuple):
    x: Any
    residuals: Any
    scale: Any
    """For each unknown the largest square of its column of the Jacobian so far."""
    damping: Any
    growth: Any
    """By how much the damping grows if the next step fails."""
    steps: Any
    is_solved: Any


def _damped(residuals: Callable[[Variable], Variable], x0: Variable, small: Any, most: Any) -> End:
    """Steps of Gauss and Newton, damped the more the less the sum of squares is what they make it out to be."""

    def goes_on(s: _State) -> Any:
        return isfinite(sum_of(square(s.residuals))) & isfinite(s.damping) & ~s.is_solved & (s.steps < most)

    def step(s: _State) -> _State:
        slopes = jacobian(residuals(s.x), s.x, disconnected="zero")
        columns = sum_of(square(slopes), axis=0)
        gradient = matmul(s.residuals, slopes)
        size = sqrt(sum_of(square(s.residuals)))
        is_flat = largest(gradient / where(gradient == 0, 1, sqrt(columns) * size)) <= small
        scale = maximum(s.scale, columns)
        weights = where(scale > 0, scale, 1)
        damped = matmul(slopes.T, slopes) + s.damping * diag(weights)
        p = solved(damped, -gradient)
        left = residuals(s.x + p)
        gain = 0.5 * matmul(s.residuals - left, s.residuals + left)
        promise = 0.5 * matmul(p, s.damping * weights * p - gradient)
        is_lower = isfinite(gain) & (gain > 0) & (promise > 0) & ~is_flat
        ratio = gain / where(promise > 0, promise, 1)
        less = s.damping * maximum(1 / 3, 1 - (2 * ratio - 1) ** 3)
        is_short = largest(p) <= small * largest(s.x) + small * small
        return _State(
            where(is_lower, s.x + p, s.x),
            where(is_lower, left, s.residuals),
            scale,
            where(is_lower, less, s.damping * s.growth).astype(dtype),
            where(is_lower, 2, 2 * s.growth).astype(dtype),
            s.steps + where(is_flat, 0, 1),
            is_flat | is_short | ~(size > 0),
        )

    dtype = x0.type.dtype
    one = np.ones((), dtype)
    left, zero = residuals(x0), np.int64(0)
    start = _State(x0, left, zeros_like(x0), 1e-3 * one, 2 * one, zero, np.bool_(False))
    s = while_loop(goes_on, step, start)
    optimality = largest(grad(0.5 * sum_of(square(residuals(s.x))), s.x, disconnected="zero"))
    return End(s.x, s.is_solved, optimality, s.steps, s.steps + 1)
