"""`odeint`: initial value problems of ordinary differential equations."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import Constant, Variable, as_size_variable
from tg.integrate import adaptive
from tg.integrate.adaptive import Problem
from tg.integrate.adjoint import states_by_adjoint
from tg.integrate.control import Tolerance
from tg.integrate.fixed import states_by_fixed_steps
from tg.integrate.methods import METHODS
from tg.ops.assumptions import required
from tg.ops.control import stop_gradient
from tg.ops.creation import zeros_like
from tg.ops.elementwise.arithmetic import maximum
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater
from tg.ops.inner import repeated
from tg.ops.shape import concatenate
from tg.types.dtypes import dtype_name, float_limits, is_complex, is_inexact, numpy_dtype
from tg.variables.conversion import as_variable, constant, is_weak, promote
from tg.variables.structure import Structure, flatten, paths, repeated_over

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.integrate.methods import Method, Rates
    from tg.types.choices import OdeAdjoint, OdeMethod


SOLVERS: Final = {"direct": adaptive.states, "backsolve": states_by_adjoint}


class Steps(NamedTuple):
    """The cost of solving: int64 scalars, and whether the last time was reached."""

    tried: Any
    accepted: Any
    reached: Any


def odeint(
    f: Callable[..., Any],
    y0: Any,
    t: Any,
    args: tuple[Any, ...] = (),
    *,
    method: OdeMethod = "RK45",
    rtol: Any = 1.49e-8,
    atol: Any = 1.49e-8,
    steps: int | None = None,
    first_step: Any = None,
    max_steps: int = 1000,
    checkpoint: bool = False,
    adjoint: OdeAdjoint = "direct",
    full_output: bool = False,
) -> Any:
    """The solution of dy/dt = f(t, y) with y(t[0]) = y0, at the times t.

    Args:
        f: gives the rates of change in the structure of y; it takes the time first, then the state, as SciPy's
            `solve_ivp` has it (`scipy.integrate.odeint` has them the other way round), then `args`. What it uses
            besides is captured, and takes part in derivatives.
        y0: the state at the first time, of any structure.
        t: a vector of times, that increase or decrease.
        method: "RK45" ("dopri5") or "RK23" ("bosh3"), whose steps are as long as the error allows; or "euler",
            "midpoint", "heun", "rk4", of steps of one length between two times.
        rtol, atol: a step may have the error atol + rtol * abs(y), as a root of a mean square over all of y; atol may
            be nested as y is. A relative error below 100 units in the last place counts as that.
        steps: how many between two times, of methods with steps of one length; one by default.
        first_step: the length of the first try, of the others; by default it follows from f.
        max_steps: the most tries of steps in all; reverse mode has room for as many states.
        checkpoint: reverse mode keeps the states at the times alone, and makes the steps between again, of methods with
            steps of one length.
        adjoint: "direct", derivatives of the steps that were made; or "backsolve", for gradients in reverse mode alone:
            the adjoint equation is solved backwards, so memory does not grow with steps. A derivative of a gradient, in
            either mode, is that of the steps of both equations, and keeps them.
        full_output: whether `Steps` are given besides: how many steps were tried and accepted, and whether the last
            time was reached.
    Shapes:
        y0 (*s) -> (n, *s) for t (n), in each leaf
    Dtypes:
        That of y0, float64 for integers. Time has the real one that holds all of y.
    Returns:
        the states, with an axis of time in front of each leaf, the first of which is y0. From the time on that is not
        reached, because steps became too short or too many, they are NaN, as derivatives are.
    Raises:
        InputError: f gives another structure; no such method or adjoint; a number is outside its bounds; the method
            does not take an option; t is known to turn back.
        ShapeError: t is no vector, or has no times; a rate is of another shape than its part of y.
        DtypeError: a rate is complex where y is not.
    Source:
        Steps, errors and the polynomials between are those of `scipy.integrate.solve_ivp`; the tolerances are those of
        `odeint` in SciPy and JAX. Derivatives are those of the steps that were accepted, their lengths being held; by
        t they are those of the flow, f(t, y).
    Example:
        >>> import tg
        >>> rate = tg.scalar("rate")
        >>> y = tg.integrate.odeint(lambda t, y: -rate * y, 1.0, [0.0, 1.0, 2.0])
        >>> y.eval({rate: 0.5}).round(6).tolist()
        [1.0, 0.606531, 0.367879]
        >>> tg.grad(y[-1], rate).eval({rate: 0.5}).round(6).item()
        -0.735759
    """
    solver = _method(method)
    if adjoint not in SOLVERS or (adjoint != "direct" and not solver.difference):
        needed = "'direct' or, of methods whose steps are as long as the error allows, 'backsolve'"
        raise InputError(message(f"odeint: adjoint: found {adjoint!r}, needed {needed}"))
    count = _count("steps", 1 if steps is None else steps)
    unused = {"steps": steps, "checkpoint": checkpoint or None} if solver.difference else {"first_step": first_step}
    for name, value in unused.items():
        if value is not None:
            whose = "of one length" if solver.difference else "as long as the error allows"
            text = f"odeint: {name}: found {value!r} with method={method!r}, needed a method with steps {whose}"
            raise InputError(message(text))
    leaves, structure = _state(y0)
    times = _times(t, leaves)
    rates = _rates(f, args, structure, leaves)
    with repeated("odeint"):
        if solver.difference:
            tolerance = _tolerance(rtol, atol, y0, times.type.dtype)
            first = None if first_step is None else as_variable(first_step).astype(times.type.dtype)
            problem = Problem(solver, rates, leaves, times, tolerance, first, _count("max_steps", max_steps))
            later, ends = SOLVERS[adjoint](problem)
            done = Steps(ends.tries, ends.steps, equal(ends.t, times[-1]))
        else:
            later = states_by_fixed_steps(solver, rates, leaves, times, count, checkpoint=checkpoint)
            all_steps = as_size_variable((times.shape[0] - 1) * count)
            done = Steps(all_steps, all_steps, constant(True))
    solution = structure(iter([concatenate([v[None], w], 0) for v, w in zip(leaves, later, strict=True)]))
    return (solution, done) if full_output else solution


def _method(name: Any) -> Method:
    """The method of a name."""
    if name not in METHODS:
        raise InputError(message(f"odeint: method: found {name!r}, needed one of {', '.join(map(repr, METHODS))}"))
    return METHODS[name]


def _count(name: str, value: Any) -> int:
    """A number of steps."""
    if type(value) is not int or value < 1:
        raise InputError(message(f"odeint: {name}: found {value!r}, needed an int of at least 1"))
    return value


def _state(y0: Any) -> tuple[list[Variable], Structure]:
    """The leaves of the first state, as floating variables."""
    leaves, structure = flatten(y0)
    if not leaves:
        raise InputError(message(f"odeint: y0: found {y0!r}, needed an array, or a structure of arrays"))
    variables = [as_variable(v) for v in leaves]
    return [v if is_inexact(v.type.dtype) else cast_variable(v, "float64") for v in variables], structure


def _times(t: Any, leaves: Sequence[Variable]) -> Variable:
    """The times, in the real dtype that holds the state.

    Raises:
        ShapeError: they are no vector, or none.
        InputError: they are known, and neither increase nor decrease.
    """
    times = as_variable(t)
    if times.type.ndim != 1 or times.type.shape == (0,):
        raise ShapeError(message(f"odeint: t: found {times.type}, needed a vector of times, the first that of y0"))
    if type(times) is Constant:
        moves = np.diff(np.asarray(times.data, np.float64))
        if not (np.all(moves >= 0) or np.all(moves <= 0)):
            raise InputError(message("odeint: t: found times that turn back, needed ones that increase or decrease"))
    if times.type.shape == (None,):
        count = as_size_variable(times.shape[0])
        failure = Descriptor("ShapeError", "odeint: t: found no times, needed the first that of y0")
        times = required(times, greater(count, 0), [], failure)
    dtype = np.empty(0, numpy_dtype(promote(*(v.type.dtype for v in leaves)))).real.dtype
    if type(times) is Constant:
        return constant(times.data.astype(dtype))
    return cast_variable(times, dtype_name(dtype))


def _rates(f: Callable[..., Any], args: Sequence[Any], structure: Structure, leaves: Sequence[Variable]) -> Rates:
    """The user's function from leaves to leaves of their dtypes and shapes."""
    names = [f"the rate of y{path}" for path in paths(structure)]

    def rates(t: Variable, y: Sequence[Variable]) -> list[Variable]:
        slopes = structure.leaves_of(f(t, structure(iter(y)), *args), "odeint: f(t, y)")
        return [_rate(*each) for each in zip(slopes, y, names, strict=True)]

    return rates


def _rate(value: Any, like: Variable, name: str) -> Variable:
    """A rate of change in the dtype and shape of its part of the state.

    Raises:
        InputError: it is None.
        ShapeError, DtypeError: it is of another shape, or complex where the state is not.
    """
    if value is None:
        text = f"odeint: {name}: found None, needed {like.type}"
        raise InputError(message(text, hint="a function without return gives None"))
    if is_weak(value):
        return zeros_like(like) + value  # type: ignore[no-any-return]
    rate = as_variable(value)
    if is_complex(rate.type.dtype) and not is_complex(like.type.dtype):
        raise DtypeError(message(f"odeint: {name}: found {rate.type}, needed {like.type}", hint="a complex y0"))
    pairs = zip(rate.type.shape, like.type.shape, strict=False)
    if rate.type.ndim != like.type.ndim or any(a != b for a, b in pairs if a is not None and b is not None):
        raise ShapeError(message(f"odeint: {name}: found {rate.type}, needed {like.type}, as in y0"))
    return cast_variable(rate, like.type.dtype)


def _tolerance(rtol: Any, atol: Any, y0: Any, dtype: str) -> Tolerance:
    """The tolerances, an absolute one for each leaf; a relative one is at least 100 units in the last place."""
    least = 100 * float(float_limits(dtype).eps)
    relative = builtins.max(rtol, least) if isinstance(rtol, int | float) else maximum(as_variable(rtol), least)
    by_leaf = repeated_over(y0, atol, lambda v: not isinstance(v, list | tuple | dict), "odeint: atol")
    for name, value in (("rtol", rtol), *(("atol", v) for v in by_leaf)):
        if isinstance(value, int | float) and not 0 <= value < math.inf:
            raise InputError(message(f"odeint: {name}: found {value!r}, needed a number of at least 0"))
    return Tolerance(as_real(relative, dtype), [as_real(v, dtype) for v in by_leaf])


def as_real(value: Any, dtype: str) -> Any:
    """A Python number as it is, anything else in a dtype."""
    return float(value) if isinstance(value, int | float) else stop_gradient(as_variable(value).astype(dtype))
