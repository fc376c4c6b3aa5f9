"""Rules of products in which exponentials meet, and of what is left where a factor cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.arithmetic import add, divide, gate, multiply, negative, power, square, subtract
from tg.ops.elementwise.comparison import isnan, where
from tg.ops.elementwise.exponential import exp, expm1, sigmoid
from tg.ops.elementwise.trigonometric import cosh, sinh, tanh
from tg.ops.reduction import Reduce
from tg.ops.shape_ops import BroadcastTo, ExpandDims
from tg.ops.softmax import Softmax
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import EXACT, REASSOCIATES, STABILIZE
from tg.rewrite.rule import node_rule
from tg.rewrite.rules.elementwise.arithmetic import is_finite
from tg.rewrite.rules.elementwise.exponential.factors import (
    MOST_FACTORS,
    OTHER,
    Factor,
    Product,
    guarded,
    product_of,
    rebuilt,
    simplify,
)
from tg.rewrite.rules.elementwise.exponential.terms import (
    MOVEMENTS,
    inside,
    signed,
    stripped,
)
from tg.types.dtypes import is_float

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

MOST_TERMS: Final = 6
NAN_THROUGH: Final = frozenset(fn.op for fn in (exp, expm1, sigmoid, sinh, cosh, tanh))
PRODUCTS: Final = (multiply, divide, gate)
BELOW: Final = (
    exp, expm1, sigmoid, sinh, cosh, Softmax, multiply, divide, gate, negative, square, power, add, subtract,
    *MOVEMENTS,
)  # fmt: skip


def _meeting_factors(node: Apply, outputs: Any) -> Variable | None:
    (y,) = outputs
    if not is_float(y.type.dtype):
        return None
    parts = []
    for v in reversed(node.inputs):  # what one of them has in it has met when it was made
        part = product_of(v)
        if part is None or not (part.is_special or _sum_of(part) is not None):
            return None
        parts.append(part)
    found = _joined(node, *reversed(parts)) or product_of(y)
    if found is None or not found.is_special:
        return None
    if simplify(found):
        return rebuilt(found)
    return _distributed(found)


def _joined(node: Apply, first: Product, second: Product) -> Product | None:
    """The factors of a product from those of its operands; None where gates or guards stand in the second."""
    if second.levels or first.guards or second.guards or len(first.factors) + len(second.factors) > MOST_FACTORS:
        return None
    power = -1 if node.op is divide.op else 1
    level = first.levels + 1 if node.op is gate.op else 0
    first.factors.extend(f._replace(power=f.power * power, level=level) for f in second.factors)
    first.sign *= second.sign
    return first


def _sum_of(found: Product) -> int | None:
    """The place of a factor that is a sum, in front of all gates."""
    for k, f in enumerate(found.factors):
        if f.kind == OTHER and f.level == 0 and f.power > 0 and (is_made_by(f.u, add) or is_made_by(f.u, subtract)):
            return k
    return None


def _distributed(found: Product) -> Variable | None:
    """The sum of the products with each term, where the terms meet the factors outside."""
    place = _sum_of(found)
    if place is None:
        return None
    outer = [f for k, f in enumerate(found.factors) if k != place]
    if not all(f.kind != OTHER or f.level == 0 or is_finite(f.u) for f in outer):
        return None
    free = all(f.bounded and f.power > 0 for f in outer if f.kind != OTHER)
    terms = _terms(found.factors[place].u)
    products = [_with_factors(term, outer) for term, _ in terms]
    if not all(products):
        return None
    met = [simplify(p) for p in products if p is not None]
    if not (all(met) or (free and any(met))):
        return None
    made: Variable | None = None
    for product, (_, sign) in zip(products, terms, strict=True):
        value = rebuilt(product) if product is not None else None
        if value is None:
            return None
        if made is None:
            made = value if sign > 0 else negative(value)
        else:
            made = add(made, value) if sign > 0 else subtract(made, value)
    return made if found.sign > 0 or made is None else negative(made)


def _terms(v: Variable) -> list[tuple[Variable, int]]:
    """The terms of a sum and their signs; from the right on what is too much stays together."""
    found: list[tuple[Variable, int]] = []
    stack = [(v, 1)]
    while stack:
        term, sign = stack.pop()
        node = term.apply
        room = len(found) + len(stack) < MOST_TERMS - 1
        if node is not None and room and (node.op is add.op or node.op is subtract.op):
            x, y = node.inputs
            stack.extend(((y, sign if node.op is add.op else -sign), (x, sign)))
        elif node is not None and node.op is negative.op:
            stack.append((node.inputs[0], -sign))
        else:
            found.append((term, sign))
    return found


def _with_factors(term: Variable, outer: list[Factor]) -> Product | None:
    found = product_of(term)
    if found is None:
        return None
    gates = found.levels
    found.factors.extend(f._replace(level=f.level + gates) if f.level else f for f in outer)
    return found


def _is_nan_with(v: Variable, u: Variable) -> bool:
    """Whether a product has u as a factor that no gate hides."""
    found = product_of(v)
    return found is not None and any(f.level == 0 and _depends_on(f.u, u) for f in found.factors)


def _depends_on(v: Variable, u: Variable) -> bool:
    node = v.apply
    return v is u or (node is not None and node.op in NAN_THROUGH and node.inputs[0] is u)


def _superfluous_guard(node: Apply, outputs: Any) -> Variable | None:
    """A guard in a sum whose other term is NaN wherever the guard is for."""
    x, y = node.inputs
    for place, (v, other) in enumerate(((x, y), (y, x))):
        inner, sign = stripped(v)
        found = guarded(inner)
        if found is not None and _is_nan_with(other, found[0]):
            rest = signed(found[1], sign)
            return node.op(*((rest, y) if place == 0 else (x, rest)))  # type: ignore[no-any-return]
    return None


def _superfluous_guard_in_sum(node: Apply, outputs: Any) -> Variable | None:
    """P * sum(y, guarded by p) where p is a softmax along the summed axis, and so NaN along all of it."""
    for p, other in (node.inputs, node.inputs[::-1]):
        if p.apply is None or type(p.apply.op) is not Softmax:
            continue
        value, sign = stripped(other)
        value = value.inputs[0] if value.apply is not None and type(value.apply.op) is BroadcastTo else value
        total, added = inside(value)
        total, inner_sign = stripped(total)
        sign *= inner_sign
        made = total.apply
        if made is None or type(made.op) is not Reduce or made.op.fn is not add:
            continue
        if made.op.axes != (p.apply.op.axis,) or (added != made.op.axes and total.type.ndim):
            continue
        found = guarded(made.inputs[0])
        if found is None or found[0] is not p or found[1].type.ndim != p.type.ndim:
            continue
        rest: Variable = made.op(found[1])
        return multiply(p, signed(ExpandDims(added)(rest) if added else rest, sign))
    return None


RULES = (
    node_rule(
        "meeting_exponentials",
        keys=PRODUCTS,
        apply=_meeting_factors,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="One exponential overflows where the other vanishes; a 0 closes a gate that their product leaves open.",
        example=lambda g, x: gate(g * sigmoid(-x), exp(x)),
        below=BELOW,
    ),
    node_rule(
        "superfluous_guard",
        keys=(add, subtract),
        apply=_superfluous_guard,
        phase=STABILIZE,
        kind=EXACT,
        why="The other term is NaN wherever the guard is for.",
        example=lambda p, y: where(isnan(p), p, y) - p * 3,
        below=(where, negative),
    ),
    node_rule(
        "superfluous_guard_in_sum",
        keys=(multiply,),
        apply=_superfluous_guard_in_sum,
        phase=STABILIZE,
        kind=EXACT,
        why="A softmax is NaN along its whole axis, so that the product is.",
        example=lambda x, y: _guarded_sum(Softmax(-1)(x), y),
        below=(Softmax,),
    ),
)


def _guarded_sum(p: Variable, y: Variable) -> Variable:
    return p * ExpandDims((-1,))(Reduce(add, (-1,))(where(isnan(p), p, y)))  # type: ignore[no-any-return]
