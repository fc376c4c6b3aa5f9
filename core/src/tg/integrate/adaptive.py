"""Steps as long as the error allows: the values, and the same steps once more, held fixed, for derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.gradient.vmap import vmap
from tg.graph.nodes import Constant
from tg.integrate.control import Tolerance, error_of, first_length, least, next_length
from tg.integrate.methods import MIDPOINT, as_length, at, polynomial, step
from tg.ops.control import stop_gradient
from tg.ops.creation import iota, zeros
from tg.ops.elementwise.arithmetic import absolute, maximum, surrogate
from tg.ops.elementwise.comparison import where
from tg.ops.indexing import take
from tg.ops.iteration import cond, scan, while_loop
from tg.ops.shape import broadcast_to, reshape
from tg.variables.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.integrate.methods import Method, Rates

SEGMENT: Final = 32
"""Steps between two states that reverse mode keeps; those between are computed again."""


class Tried(NamedTuple):
    """The state of a solution behind some tries of steps."""

    t: Variable
    y: list[Variable]
    slope: list[Variable]
    """The rate there."""
    length: Variable
    """How long to try next."""
    is_again: Variable
    """Whether the last try was rejected."""
    has_failed: Variable
    before: Variable
    """The time where the last step began."""
    base: list[Variable]
    """The state there."""
    dense: list[list[Variable]]
    """The polynomial of that step."""
    tries: Variable
    steps: Variable
    """How many tries were accepted."""
    times: Variable
    """Where the steps begin and end, then anything."""


class Problem(NamedTuple):
    """An initial value problem from the first to the last of some times, and how near its solution has to be."""

    method: Method
    rates: Rates
    y: list[Variable]
    times: Variable
    tolerance: Tolerance
    first_step: Any
    most: int
    """Of the tries of steps."""

    @property
    def room(self) -> int:
        """The number of steps that are noted: whole segments."""
        return -(-self.most // SEGMENT) * SEGMENT


class Solved(NamedTuple):
    """The states at all times but the first, and how they came about."""

    states: list[Variable]
    ends: Tried
    steps: Variable
    """Of each time the number of the step that reaches it."""
    is_reached: Variable
    """Whether there is such a step."""


def solve(problem: Problem) -> Solved:
    """The values, as SciPy's `solve_ivp` has them; nothing is to be differentiated here."""
    method, rates, (start, end) = problem.method, problem.rates, (problem.times[0], problem.times[-1])
    direction = where(end >= start, 1.0, -1.0).astype(start.type.dtype)

    def try_step(s: Tried) -> Tried:
        shortest = least(s.t, direction)
        length = where(s.is_again, s.length, maximum(s.length, shortest))
        stop = s.t + length * direction
        stop = where((stop - end) * direction > 0, end, stop)
        h = stop - s.t
        after, slopes = step(method, rates, s.t, s.y, s.slope, h)
        slopes.append(rates(s.t + h, after))
        error = error_of(method, h, slopes, problem.tolerance.scales(s.y, after), start.type.dtype)
        has_failed = ~(length >= shortest)  # also for NaN
        is_good = (error < 1) & ~has_failed

        def chosen(new: Sequence[Variable], old: Sequence[Variable]) -> list[Variable]:
            return [where(is_good, a, b) for a, b in zip(new, old, strict=True)]

        dense = polynomial(method, slopes, len(s.y))
        return Tried(
            where(is_good, stop, s.t),
            chosen(after, s.y),
            chosen(slopes[-1], s.slope),
            next_length(method, absolute(h), error, s.is_again),
            ~is_good,
            has_failed,
            where(is_good, s.t, s.before),
            chosen(s.y, s.base),
            [chosen(new, old) for new, old in zip(dense, s.dense, strict=True)],
            s.tries + 1,
            s.steps + is_good.astype("int64"),
            s.times.at[s.steps + 1].set(stop, mode="promise"),
        )

    def reach(s: Tried, t: Variable) -> tuple[Tried, Any]:
        def is_before(s: Tried) -> Variable:
            return ((t - s.t) * direction > 0) & ~s.has_failed & (s.tries < problem.most)

        s = while_loop(is_before, try_step, s)
        is_reached = ((s.t - t) * direction >= 0) & ((t - s.before) * direction >= 0)
        h = s.t - s.before
        theta = where(h == 0, 0.0, (t - s.before) / h)
        values = [where(is_reached, v, np.nan) for v in at(s.base, h, theta, s.dense)]
        return s, (values, maximum(s.steps - 1, 0), is_reached)

    begun = _begun(problem, start, end, direction)
    ends, (states, steps, is_reached) = scan(reach, begun, problem.times[1:])
    return Solved(states, ends, steps, is_reached)


def _begun(problem: Problem, start: Variable, end: Variable, direction: Variable) -> Tried:
    """The state in which a solution begins: no step is made."""
    y, method = problem.y, problem.method
    slope = problem.rates(start, y)
    interval = absolute(end - start)
    length = problem.first_step
    if length is None:
        length = first_length(method, problem.rates, start, y, slope, (direction, interval), problem.tolerance)
    no, none = constant(False), constant(np.int64(0))
    dense = [[v * 0 for _ in method.dense[0]] for v in slope]
    times = broadcast_to(start, (problem.room + 1,))
    return Tried(start, y, slope, length, no, no, start, y, dense, none, none, times)


def again(problem: Problem, solved: Solved) -> list[Variable]:
    """The same states by the same steps, whose places are held: what is differentiated in place of the tries.

    Where the times are no constants, what they change is what the flow does: a step by a length of 0 goes to the first
    state and to all results, which has no error in its first two derivatives.
    """
    times = stop_gradient(problem.times)
    if type(problem.times) is Constant:
        return _by_steps(problem, solved, times)
    y = by_flow(problem.rates, problem.times[0], times[0], problem.y)
    results = _by_steps(problem._replace(y=y), solved, times)

    def move(held: Variable, t: Variable, y: list[Variable]) -> list[Variable]:
        return by_flow(problem.rates, held, t, y)

    return vmap(move)(times[1:], problem.times[1:], results)


def by_flow(rates: Rates, start: Variable, end: Variable, y: list[Variable]) -> list[Variable]:
    """The state at `end`, which is equal to `start`, where y is at `start`."""
    return step(MIDPOINT, rates, start, y, rates(start, y), end - start)[0]


def _by_steps(problem: Problem, solved: Solved, times: Variable) -> list[Variable]:
    """The states at all times but the first by the steps that were accepted."""
    method, rates = problem.method, problem.rates
    edges, count = stop_gradient(solved.ends.times), solved.ends.steps
    bases = _bases(problem, edges, count)

    def state(number: Variable, t: Variable, is_reached: Variable) -> list[Variable]:
        start, *y = (take(v, number, 0, mode="promise") for v in (edges, *bases))
        h = take(edges, number + 1, 0, mode="promise") - start
        after, slopes = step(method, rates, start, y, rates(start, y), h)
        slopes.append(rates(start + h, after))
        is_begun = count > 0
        theta = where(is_begun, (t - start) / h, 0.0)
        values = at(y, h, theta, polynomial(method, slopes, len(y)))
        factor = where(is_reached, 1.0, np.nan)  # a factor: the derivatives are NaN too
        return [where(is_begun, v, w) * as_length(factor, v) for v, w in zip(values, problem.y, strict=True)]

    return vmap(state)(solved.steps, times[1:], solved.is_reached)


def _bases(problem: Problem, edges: Variable, count: Variable) -> list[Variable]:
    """The states where steps begin, in segments, of which those without a step are left out.

    Shapes:
        edges (room + 1) -> (room, *s), in each leaf
    """
    method, rates = problem.method, problem.rates

    def advance(carry: Any, x: Any) -> tuple[Any, Any]:
        (y, slope), (number, start, end) = carry, x
        after, _ = step(method, rates, start, y, slope, end - start)
        last = rates(start + (end - start), after)
        is_made = number < count
        new_carry = [[where(is_made, a, b) for a, b in zip(*pair, strict=True)] for pair in ((after, y), (last, slope))]
        return (new_carry[0], new_carry[1]), y

    def segment(carry: Any, xs: Any) -> tuple[Any, Any]:
        def left_out(carry: Any) -> Any:
            return carry, [zeros((SEGMENT, *v.shape), dtype=v.type.dtype) for v in carry[0]]

        return cond(xs[0][0] < count, lambda c: scan(advance, c, xs), left_out, carry)  # type: ignore[no-any-return]

    parts = problem.room // SEGMENT
    xs = [reshape(v, (parts, SEGMENT)) for v in (iota(problem.room), edges[:-1], edges[1:])]
    begun = problem.y, rates(edges[0], problem.y)
    bases = scan(segment, begun, (xs[0], xs[1], xs[2]))[1]
    return [reshape(v, (problem.room, *v.shape[2:])) for v in bases]


def states(problem: Problem) -> tuple[list[Variable], Tried]:
    """The states at all times but the first, and where the tries have ended."""
    held = problem._replace(y=[stop_gradient(v) for v in problem.y], times=stop_gradient(problem.times))
    solved = solve(held)
    results = [surrogate(v, w) for v, w in zip(solved.states, again(problem, solved), strict=True)]
    return results, solved.ends
