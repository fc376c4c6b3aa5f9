"""Derivatives by the adjoint equation, which is solved backwards: memory does not grow with steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.errors import DtypeError, message
from tg.gradient.api import vjp
from tg.graph.dims import named_type
from tg.graph.function_graph import freeze
from tg.graph.nodes import Variable
from tg.integrate import adaptive
from tg.ops.creation import zeros_like
from tg.ops.custom import custom_vjp, spelled_out
from tg.ops.inner import captured
from tg.ops.iteration import scan
from tg.ops.reduction import sum as total
from tg.ops.shape import concatenate, stack
from tg.types.dtypes import is_complex, is_inexact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.integrate.adaptive import Problem, Tried
    from tg.integrate.methods import Rates


def states_by_adjoint(problem: Problem) -> tuple[list[Variable], Tried]:
    """The states at all times but the first; reverse mode solves for them backwards, with what they contribute to it.

    Raises:
        DtypeError: a part of the state is complex.
    """
    for v in problem.y:
        if is_complex(v.type.dtype):
            raise DtypeError(message(f"odeint: adjoint='backsolve': found {v.type}, needed a real y0"))
    graph, used = _as_graph(problem)

    @custom_vjp
    def solved(y: Any, times: Variable, parameters: Any) -> Any:
        results, ends = adaptive.states(problem._replace(y=y, times=times, rates=_rates(graph, parameters)))
        return results, ends

    def forward(y: Any, times: Variable, parameters: Any) -> Any:
        results = solved(y, times, parameters)
        return results, (y, results[0], times, parameters)

    def backward(residuals: Any, cotangents: Any) -> Any:
        y, states, times, parameters = residuals
        return _backwards(problem._replace(y=y, times=times), graph, states, parameters, cotangents[0])

    solved.defvjp(forward, backward)
    return solved(problem.y, problem.times, used)  # type: ignore[no-any-return]


def _as_graph(problem: Problem) -> tuple[FrozenGraph, list[Variable]]:
    """The rates as a graph of the time, the state and what they capture, and that."""
    t = Variable(problem.times.type.with_shape(()))
    y = [Variable(named_type(v)) for v in problem.y]
    rates = problem.rates(t, y)
    used = captured(rates, [t, *y], t.serial)
    return freeze([t, *y, *used], rates), used


def _rates(graph: FrozenGraph, parameters: Sequence[Variable]) -> Rates:
    return lambda t, y: list(spelled_out(graph, [t, *y, *parameters]))


def _backwards(
    problem: Problem,
    graph: FrozenGraph,
    states: list[Variable],
    parameters: list[Variable],
    cotangents: list[Variable],
) -> tuple[Any, Any, Any]:
    """The gradients of the first state, the times and the parameters, from the last time to the first.

    Source:
        L. S. Pontryagin: of da/dt = -a' df/dy backwards from a = dL/dy, where a jumps by what a state contributes; the
        state is solved for again along with it, from what it was at each time.
    """
    y, times = problem.y, problem.times
    count = len(y)
    rates = _rates(graph, parameters)
    floating = [k for k, p in enumerate(parameters) if is_inexact(p.type.dtype)]

    augmented = _augmented(graph, count, floating)

    def pulled(t: Variable, values: Sequence[Variable]) -> list[Variable]:
        return list(spelled_out(augmented, [t, *values[: 2 * count], *parameters]))

    def reach(carry: Any, x: Any) -> tuple[Any, Any]:
        a, sums = carry
        start, end, y, dy = x
        a = [v + w for v, w in zip(a, dy, strict=True)]
        by_time = dot(rates(end, y), dy)
        whole, tolerance = [*y, *a, *sums], problem.tolerance.with_adjoint(len(sums))
        times = stack([end, start])
        back = problem._replace(y=whole, times=times, rates=pulled, tolerance=tolerance, first_step=None)
        ends = [v[0] for v in adaptive.states(back)[0]]
        return (ends[count : 2 * count], ends[2 * count :]), by_time

    begun = [zeros_like(v) for v in y], [zeros_like(parameters[k]) for k in floating]
    (a, sums), by_time = scan(reach, begun, (times[:-1], times[1:], states, cotangents), reverse=True)
    first = -dot(rates(times[0], y), a)
    by_parameter: list[Any] = [None] * len(parameters)
    for k, v in zip(floating, sums, strict=True):
        by_parameter[k] = v
    return a, concatenate([first[None], by_time], 0), by_parameter


def _augmented(graph: FrozenGraph, count: int, floating: Sequence[int]) -> FrozenGraph:
    """The rates of a state, its adjoint and the gradients of parameters, as a graph of time, both states, parameters.

    It is made of variables alone: what differentiation looks at below them would be the loops that lead there.
    """
    t, *operands = (Variable(v) for v in graph.input_types)
    y, parameters = operands[:count], operands[count:]
    a = [Variable(v.type) for v in y]
    rate = list(spelled_out(graph, [t, *operands]))
    wrt = [*y, *(parameters[k] for k in floating)]
    return freeze([t, *y, *a, *parameters], [*rate, *vjp(rate, wrt, [-v for v in a], disconnected="zero")])


def dot(left: Sequence[Variable], right: Sequence[Variable]) -> Variable:
    """The sum of products of all elements."""
    terms = [total(v * w) for v, w in zip(left, right, strict=True)]
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result
