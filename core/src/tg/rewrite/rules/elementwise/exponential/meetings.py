"""What two factors of a product amount to where they meet, and where that may stand."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Final

from tg.ops.elementwise.arithmetic import multiply, subtract
from tg.ops.elementwise.exponential import sigmoid
from tg.ops.elementwise.trigonometric import tanh
from tg.rewrite.rules.elementwise.exponential.factors import FUNCTIONS, OTHER, Factor, Guard
from tg.rewrite.rules.elementwise.exponential.partial import grows
from tg.rewrite.rules.elementwise.exponential.terms import (
    aligned_sum_of_exp,
    log_of_sum,
    logs_of_sum,
    relation,
    share_of_sum,
)
from tg.rewrite.rules.elementwise.exponential.zeros import closed_by, hidden, number
from tg.types.lengths import product

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.rewrite.rules.elementwise.exponential.factors import Product

    Meeting = tuple[Factor | None, int]  # what two factors amount to, None for 1, and its sign


def simplify(found: Product) -> bool:
    """Let factors meet until none do; whether any did."""
    met = False
    while _meet_once(found):
        met = True
    return met


def _meet_once(found: Product) -> bool:
    for (i, a), (j, b) in itertools.combinations(enumerate(found.factors), 2):
        meeting = _meeting(a, b) or _meeting(b, a)
        if meeting is not None and _place(found, i, j, *meeting):
            return True
    return False


def _place(found: Product, i: int, j: int, result: Factor | None, sign: int) -> bool:
    """Put what two factors amount to where gates hide as much of it as they did; whether there is such a place."""
    first, last = found.factors[i], found.factors[j]
    closed = closed_by(first) if last.is_gated and first.stage < last.stage else None
    shown = Guard(first.u, first.stage if last.is_gated else 0) if result is None else None
    if result is not None:
        others = [f for k, f in enumerate(found.factors) if k not in (i, j)]
        beyond = _beyond_gate_of_sum(result, first, last, others)
        if beyond is not None:
            shown = Guard(beyond.u, beyond.stage)
        if beyond is first:  # its 0 and its NaN stay where it was
            result = result.at(last.stage)
        else:
            stage = _stage_of(result, first, last, others)
            moved = last if stage == first.stage else first
            behind: list[Factor | Guard] = [*others, *found.guards]
            if stage is None or _may_close(moved, [f for f in behind if first.stage < f.stage <= last.stage]):
                return False
            if result.kind not in FUNCTIONS:  # a share of what is infinite is NaN
                if first.is_gated and not last.is_gated and beyond is None:  # and 0 times it, too
                    closed = closed_by(last)
                if closed is not None:
                    result, closed = hidden(result, closed), None
            result = result.at(stage)
    factors = _with(found.factors, i, j, result)
    if factors is None:
        return False
    found.factors = factors
    if shown is not None:
        _keep_nan(found, shown)
    if closed is not None:
        found.factors.append(hidden(Factor(OTHER, number(1, first.u), bounded=True), closed).at(first.stage))
    found.factors.sort(key=operator.attrgetter("stage"))
    found.sign *= sign
    return True


def _with(factors: list[Factor], i: int, j: int, result: Factor | None) -> list[Factor] | None:
    """The factors with what two amount to in the place of one of them; None where that may overflow on the way.

    A share of 1 stands in any case: the sums that it is of overflow at ordinary operands, other products seldom do.
    """
    rest = [(f, frozenset((k,))) for k, f in enumerate(factors) if k not in (i, j)]
    if result is None:
        return None if grows(factors, rest) else [f for f, _ in rest]
    for k, place in ((i, i), (j, j - 1)):
        if factors[k].stage == result.stage:
            placed = result._replace(within=factors[k].within, parts=factors[i].parts | factors[j].parts)
            made = [*rest[:place], (placed, frozenset((i, j))), *rest[place:]]
            if (result.bounded and result.power > 0) or not grows(factors, made):
                return [f for f, _ in made]
    return None


def _stage_of(result: Factor, first: Factor, last: Factor, others: list[Factor]) -> int | None:
    """The stage for what two factors amount to, None where there is none.

    Beside a factor in front of a gate it must be finite where that is, or a 0 would make NaN of what the gate hid.
    Behind the gate it must have been hidden where the gate is closed, which others than what hid it may do.
    """
    if first.stage == last.stage or _beyond_gate_of_sum(result, first, last, others) is last:
        return first.stage
    if _is_finite_with(result, first) and (last.is_gated or not first.is_gated):
        return first.stage
    if last.is_gated:
        return last.stage if first.is_gated and _are_as_hidden(first, last, others) else None
    return last.stage if _is_finite_with(result, last) else None


def _are_as_hidden(first: Factor, last: Factor, others: list[Factor]) -> bool:
    """Whether two factors behind gates are hidden by the same factors."""
    return not any(first.stage <= f.stage < last.stage for f in others)


def _beyond_gate_of_sum(result: Factor, first: Factor, last: Factor, others: list[Factor]) -> Factor | None:
    """The exponential of a share where a gate hides its sum, which others make NaN as well, more than itself."""
    total, exponential = (first, last) if first.kind == "sum" else (last, first)
    if total.kind != "sum" or not total.is_gated or result.power < 0:
        return None
    is_hidden = exponential.is_gated and (total is first or _are_as_hidden(first, last, others))
    return None if is_hidden else exponential


def _may_close(f: Factor, behind: list[Factor | Guard]) -> bool:
    """Whether a factor that comes to stand in front of others, or no longer does, is 0 where it hides some of them."""
    is_zero = f.kind in ("expm1", "sinh")  # at 0: reciprocals of these stay where they are
    return any(g.is_gated for g in behind) and (is_zero or closed_by(f) is not None)


def _is_finite_with(result: Factor, f: Factor) -> bool:
    """Whether what two factors amount to is finite wherever one of them is.

    expm1(u) and 1 + exp(u) are where exp(u) is; 1 / expm1(u) is where 1 / expm1(-u) is: but for u = 0.
    """
    if result.bounded and result.power > 0:
        return True
    if result.kind == "expm1":
        return f.kind == ("exp" if result.power > 0 else "expm1")
    return result.kind == "sigmoid" and f.kind == "exp"


def _keep_nan(found: Product, guard: Guard) -> None:
    """Let the product be NaN where a guard says, though what made it NaN has left its stage."""
    u, stage = guard.u, guard.stage if guard.is_gated else 0
    related = [(k, f) for k, f in enumerate(found.factors) if relation(f.u, u)]
    if any(not f.is_gated or f.stage <= stage for _, f in related):
        return
    for k, f in related:
        if f.kind != OTHER and f.bounded and f.power > 0:  # others may be 0, in front of gates
            found.factors[k] = f.at(stage)
            return
    found.guards.append(Guard(u, stage))


def _meeting(a: Factor, b: Factor) -> Meeting | None:
    rule = MEETINGS.get((a.kind, b.kind))
    return rule(a, b) if rule is not None else None


def _alike(a: Factor, b: Factor) -> Meeting | None:
    """A factor and its reciprocal, neither of which is 0 at a finite operand; the sum of no exponentials is."""
    r = relation(a.u, b.u)
    if not r or (a.kind == "sum" and not _has_terms(a.u)):
        return None
    if a.kind == "exp":
        return (None, 1) if a.sign * a.power == -b.sign * b.power * r else None
    if a.power == b.power:
        return None
    if a.sign == b.sign * r or a.kind == "cosh":
        return None, 1
    above = a if a.power > 0 else b  # sigmoid(u) / sigmoid(-u) is exp(u)
    return Factor("exp", above.u, above.sign), 1


def _has_terms(v: Variable) -> bool:
    """Whether a sum of exponentials is known to have one term or more."""
    found = aligned_sum_of_exp(v)
    if found is None or found.plus_one:
        return True
    count = product(tuple(found.x.shape[k] for k in found.axes))
    return isinstance(count, int) and count > 0


def _exp_and_reflected(a: Factor, b: Factor) -> Meeting | None:
    """sigmoid(u) * exp(-u) is sigmoid(-u), and expm1(u) * exp(-u) is -expm1(-u)."""
    exponent = a.sign * a.power * relation(a.u, b.u)
    if exponent != -b.sign * b.power:
        return None
    return Factor(b.kind, b.u, -b.sign, b.power, bounded=b.bounded), 1 if b.kind == "sigmoid" else -1


def _expm1_and_sigmoid(a: Factor, b: Factor) -> Meeting | None:
    """(exp(u) - 1) / (exp(u) + 1) is tanh(u / 2)."""
    if a.power < 0 or b.power < 0 or a.sign * relation(a.u, b.u) != -b.sign:
        return None
    half = multiply(a.u, 0.5)
    return Factor(OTHER, tanh(half), bounded=True), a.sign


def _sinh_and_cosh(a: Factor, b: Factor) -> Meeting | None:
    """sinh(u) / cosh(u) is tanh(u)."""
    if not relation(a.u, b.u) or a.power < 0 or b.power > 0:
        return None
    return Factor(OTHER, tanh(a.u), bounded=True), a.sign


def _exp_and_sum(a: Factor, b: Factor) -> Meeting | None:
    """The share that an exponential has of a sum with it, or its reciprocal."""
    if a.power == b.power:
        return None
    found = aligned_sum_of_exp(b.u)
    if found is not None:
        if relation(a.u, found.x) != a.sign:
            return None
        return Factor(OTHER, share_of_sum(found), power=a.power, bounded=True), 1
    logs = logs_of_sum(b.u)
    own = next((k for k, u in enumerate(logs) if relation(a.u, u) == a.sign), None)
    if own is None:
        return None
    rest = log_of_sum([*logs[:own], *logs[own + 1 :]])
    return Factor(OTHER, sigmoid(subtract(logs[own], rest)), power=a.power, bounded=True), 1


MEETINGS: Final = {
    ("sigmoid", "sigmoid"): _alike,
    ("exp", "exp"): _alike,
    ("softmax", "softmax"): _alike,
    ("exp", "sigmoid"): _exp_and_reflected,
    ("exp", "expm1"): _exp_and_reflected,
    ("expm1", "sigmoid"): _expm1_and_sigmoid,
    ("sinh", "cosh"): _sinh_and_cosh,
    ("cosh", "cosh"): _alike,
    ("exp", "sum"): _exp_and_sum,
    ("sum", "sum"): _alike,
}
