"""`minimize`: a smooth function of many variables, by BFGS, L-BFGS or Newton's method with conjugate gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, final

import numpy as np

from tg.errors import InputError, message
from tg.gradient.api import grad, value_and_grad
from tg.gradient.matrices import hvp
from tg.ops.contraction import matmul, outer
from tg.ops.creation import eye, zeros, zeros_like
from tg.ops.elementwise.arithmetic import absolute, minimum, sqrt
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import isfinite, where
from tg.ops.iteration import scan, while_loop
from tg.ops.norm import norm
from tg.ops.shape import concatenate
from tg.optimize.line_search import search
from tg.optimize.solutions import (
    End,
    Solution,
    chosen,
    eps_of,
    given_back,
    implicit,
    largest,
    limit,
    tolerance,
    unknowns,
)
from tg.types.dtypes import is_float
from tg.variables.conversion import as_variable
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable
    from tg.types.choices import MinimizeMethod

    _Curvature = tuple[Variable, Variable, Variable]

STEPS: Final = 200  # for each unknown: SciPy's limit of BFGS and Newton-CG


def minimize(
    f: Callable[[Any], Any],
    x0: Any,
    method: MinimizeMethod = "BFGS",
    *,
    tol: Any = None,
    maxiter: Any = None,
    memory: int = 10,
) -> Solution:
    """A local minimum of a smooth function, with derivatives with respect to all that the function uses.

    Where the gradient g(x, p) is 0, dx = -(dg/dx)^-1 (dg/dp) dp: derivatives in both modes and of any order are those
    of this equation, whatever steps led there. They are as exact as the gradient is near 0, times the condition of the
    Hessian. Of BFGS, and of up to 512 unknowns, they take the whole Hessian, n by n, and one solution with it, when
    they are computed and only then; of more unknowns, or a number that is not known, conjugate gradients by products
    with it. NaN stands for those of a minimum that was not found, or at which a system with the Hessian has no
    solution; x0 has the derivative 0.

    Args:
        f: from x, nested as x0, to a real scalar. What it uses besides is captured.
        x0: where to begin, arrays in any nesting.
        method: "BFGS", which keeps n by n numbers; "L-BFGS", which keeps `memory` pairs of vectors; "Newton-CG", which
            keeps vectors and takes products of the Hessian with them.
        tol: it converged where no element of the gradient is larger, or where f is rounded by more than Newton's step
            promises and that does not lead down; the square root of eps by default. A number or a scalar variable.
        maxiter: how many steps are made at most, 200 n by default; an integer or a scalar variable.
    Returns:
        the solution; where none was found the last point, `converged` being False.
    Raises:
        InputError: f gives no real scalar, or x0 has no arrays.
        OptionError: there is no such method.
    Source:
        scipy.optimize.minimize, without bounds and constraints; Nocedal and Wright, Numerical Optimization, 2nd
        edition, algorithms 6.1, 7.4 and 7.1.
    Example:
        >>> import tg
        >>> a = tg.scalar("a")
        >>> found = tg.optimize.minimize(lambda x: (1 - x[0]) ** 2 + a * (x[1] - x[0] ** 2) ** 2, [-1.2, 1.0])
        >>> [round(float(v), 6) for v in tg.function([a], found.x)(100.0)]
        [1.0, 1.0]
        >>> y = tg.optimize.minimize(lambda x: (x - a) ** 2 + x**4, 1.0).x  # 2 (y - a) + 4 y^3 = 0
        >>> [round(float(v), 6) for v in tg.function([a], [y, tg.grad(y, a)])(3.0)]
        [1.0, 0.142857]
    """
    kind = chosen(method, METHODS, "minimize")
    if type(memory) is not int or memory < 1:
        raise InputError(message(f"minimize: memory: found {short(memory)}, needed a positive integer"))
    point = unknowns(f, x0, "minimize")
    dtype = point.start.type.dtype
    small, most = tolerance(tol, dtype, "minimize"), limit(maxiter, STEPS * point.start.shape[0], "minimize")

    def value(x: Variable) -> Variable:
        return cast_variable(_scalar(f(point.nested(x))), dtype)

    def slope(x: Variable) -> Variable:
        return grad(value(x), x, disconnected="zero")

    def find(x: Variable) -> End:
        return _descended(_Problem(value, small), kind(x, memory), x, most)

    return point.solution(
        lambda x: as_variable(f(x)),
        implicit(find, slope, point.start, "minimize", by_products=kind is not _BFGS, is_symmetric=True),
    )


def _scalar(value: Any) -> Variable:
    v = given_back(value, "minimize: f")
    if v.type.ndim or not is_float(v.type.dtype):
        hint = "tg.sum(f(p)) is a scalar; tg.optimize.least_squares takes residuals" if v.type.ndim else None
        raise InputError(message(f"minimize: f gave {v.type}, needed a real scalar", hint=hint))
    return v


class _Problem(NamedTuple):
    """A function of a vector, and how small its gradient has to be."""

    value: Callable[[Variable], Variable]
    small: Any

    def at(self, x: Variable) -> tuple[Variable, Variable]:
        """The value and the gradient."""
        return value_and_grad(self.value(x), x, disconnected="zero")

    def times(self, x: Variable, direction: Variable) -> Variable:
        """The Hessian times a vector."""
        return hvp(self.value(x), x, direction, disconnected="zero")

    def is_flat(self, gradient: Variable) -> Any:
        """Whether the gradient is small."""
        return largest(gradient) <= self.small


class _Method(Protocol):
    """Memory that directions are made of: a structure of variables, and its update."""

    start: Any

    def direction(self, problem: _Problem, x: Variable, gradient: Variable, memory: Any) -> tuple[Variable, Any]:
        """Direction to go from a point, and the number of evaluations of the function for it."""
        ...

    def after(self, memory: Any, s: Variable, y: Variable, curved: _Curvature) -> Any:
        """The memory after a step s, in which the gradient has changed by y."""
        ...


class _State(NamedTuple):
    x: Any
    value: Any
    gradient: Any
    memory: Any
    is_fresh: Any
    """Whether the memory has nothing yet: the first step is then not known to be of the right length."""
    steps: Any
    evaluations: Any
    is_lowest: Any
    """Whether Newton's step promises less than the value is rounded by, and does not lead down."""
    is_stuck: Any


def _descended(problem: _Problem, method: _Method, x0: Variable, most: Any) -> End:
    """Steps along the directions of a method, until the gradient is small or no step leads down.

    Where a step fails the memory is emptied once: steepest descent may still lead on.
    """
    eps = eps_of(x0.type.dtype)

    def goes_on(s: _State) -> Any:
        is_number = isfinite(s.value) & isfinite(norm(s.gradient))
        return is_number & ~problem.is_flat(s.gradient) & ~s.is_lowest & ~s.is_stuck & (s.steps < most)

    def step(s: _State) -> _State:
        wanted, products = method.direction(problem, s.x, s.gradient, s.memory)
        slope = matmul(wanted, s.gradient)
        is_down = slope < 0
        p = where(is_down, wanted, -s.gradient)
        is_guess = s.is_fresh | ~is_down
        first = where(is_guess, minimum(1.01 / norm(p), 1), 1).astype(p.type.dtype)
        trial = search(problem.at, s.x, s.value, s.gradient, p, first)
        x = where(trial.is_lower, s.x + trial.far * p, s.x)
        gradient = where(trial.is_lower, trial.gradient, s.gradient)
        curved = curvature(x - s.x, gradient - s.gradient)
        memory = method.after(s.memory, x - s.x, gradient - s.gradient, curved)
        memory = _either(trial.is_lower, memory, method.start)
        evaluations = s.evaluations + products + trial.evaluations
        value = where(trial.is_lower, trial.value, s.value)
        is_fresh = ~trial.is_lower | (s.is_fresh & ~curved[0])
        is_lowest = ~trial.is_lower & ~is_guess & (-slope <= eps * absolute(s.value))
        is_stuck = ~trial.is_lower & is_guess
        return _State(x, value, gradient, memory, is_fresh, s.steps + 1, evaluations, is_lowest, is_stuck)

    value, gradient = problem.at(x0)
    yes, no, zero, one = np.bool_(True), np.bool_(False), np.int64(0), np.int64(1)
    s = while_loop(goes_on, step, _State(x0, value, gradient, method.start, yes, zero, one, no, no))
    converged = problem.is_flat(s.gradient) | s.is_lowest
    return End(s.x, converged, largest(s.gradient), s.steps, s.evaluations)


def _either(condition: Variable, new: Any, old: Any) -> Any:
    return tuple(where(condition, a, b) for a, b in zip(new, old, strict=True))


@final
class _BFGS:
    """An estimate of the inverse of the Hessian, a multiple of the identity at first."""

    def __init__(self, x: Variable, memory: int) -> None:
        self.start = (eye(x.shape[0], dtype=x.type.dtype), np.bool_(True))

    def direction(self, problem: _Problem, x: Variable, gradient: Variable, memory: Any) -> tuple[Variable, Any]:
        """Newton's, by the estimate."""
        return -matmul(memory[0], gradient), 0

    def after(self, memory: Any, s: Variable, y: Variable, curved: _Curvature) -> Any:
        """The estimate that is symmetric, takes y to s and is nearest to the one before."""
        estimate, is_first = memory
        is_curved, share, scale = curved
        before = where(is_first & is_curved, scale, 1) * estimate
        turned = matmul(before, y)
        mixed = outer(s, turned)
        new = before - share * (mixed + mixed.T) + share * (1 + share * matmul(y, turned)) * outer(s, s)
        return where(is_curved, new, estimate), is_first & ~is_curved


@final
class _LBFGS:
    """The last steps and changes of the gradient, by which the estimate of BFGS is applied, never written down."""

    def __init__(self, x: Variable, memory: int) -> None:
        dtype = x.type.dtype
        pairs = zeros((memory, x.shape[0]), dtype=dtype)
        self.start = (pairs, pairs, zeros((memory,), dtype=dtype), np.ones((), dtype))

    def direction(self, problem: _Problem, x: Variable, gradient: Variable, memory: Any) -> tuple[Variable, Any]:
        """Two passes over the pairs, the last one first."""
        steps, changes, shares, scale = memory

        def back(q: Variable, pair: Any) -> tuple[Variable, Variable]:
            s, y, share = pair
            part = share * matmul(s, q)
            return q - part * y, part

        def forth(r: Variable, pair: Any) -> tuple[Variable, None]:
            s, y, share, part = pair
            return r + (part - share * matmul(y, r)) * s, None

        q, parts = scan(back, gradient, (steps, changes, shares), reverse=True)
        return -scan(forth, scale * q, (steps, changes, shares, parts))[0], 0

    def after(self, memory: Any, s: Variable, y: Variable, curved: _Curvature) -> Any:
        """The new pair in the place of the oldest; without curvature its share is 0, and it says nothing."""
        steps, changes, shares, scale = memory
        is_curved, share, new = curved
        rows = (steps, s[None]), (changes, y[None]), (shares, where(is_curved, share, 0)[None])
        return *(concatenate([old[1:], row]) for old, row in rows), where(is_curved, new, scale)


def curvature(s: Variable, y: Variable) -> _Curvature:
    """Whether the gradient rises along a step by more than rounding, 1 / y's, and the mean inverse curvature."""
    along, square = matmul(s, y), matmul(y, y)
    is_curved = along > eps_of(s.type.dtype) * norm(s) * norm(y)
    return is_curved, 1 / where(is_curved, along, 1), along / where(is_curved, square, 1)


class _Inner(NamedTuple):
    """Conjugate gradients within a step of Newton's method."""

    z: Any
    residual: Any
    direction: Any
    square: Any
    count: Any
    ended: Any


@final
class _NewtonCG:
    """Newton's equations, solved as exactly as the gradient is small.

    Where the curvature is negative the last step has the length that the same positive one would give it: it leads down
    as the others do, and away from a saddle.
    """

    def __init__(self, x: Variable, memory: int) -> None:
        self.start = ()

    def direction(self, problem: _Problem, x: Variable, gradient: Variable, memory: Any) -> tuple[Variable, Any]:
        """By products of the Hessian with vectors."""
        size = norm(gradient)
        enough = minimum(0.5, sqrt(size)).astype(size.type.dtype) * size
        most = 20 * x.shape[0]

        def further(c: _Inner) -> _Inner:
            turned = problem.times(x, c.direction)
            bend, least = matmul(c.direction, turned), eps_of(x.type.dtype) * matmul(c.direction, c.direction)
            length = c.square / where(absolute(bend) > least, absolute(bend), norm(c.direction))
            residual = c.residual + length * turned
            square = matmul(residual, residual)
            on = -residual + square / c.square * c.direction
            return _Inner(c.z + length * c.direction, residual, on, square, c.count + 1, ~(bend > least))

        def goes_on(c: _Inner) -> Any:
            return ~c.ended & (sqrt(c.square) > enough) & (c.count < most)

        start = _Inner(zeros_like(x), gradient, -gradient, size * size, np.int64(0), np.bool_(False))
        c = while_loop(goes_on, further, start)
        return c.z, c.count

    def after(self, memory: Any, s: Variable, y: Variable, curved: _Curvature) -> Any:
        """Nothing is kept."""
        return ()


METHODS: Final = {"BFGS": _BFGS, "L-BFGS": _LBFGS, "Newton-CG": _NewtonCG}
