"""Rules of products in which exponentials meet, and of what is left where a factor cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.arithmetic import add, divide, gate, multiply, negative, power, square, subtract
from tg.ops.elementwise.comparison import greater, isnan, where
from tg.ops.elementwise.exponential import exp, expm1, sigmoid
from tg.ops.elementwise.trigonometric import cosh, sinh, tanh
from tg.ops.reduction import Reduce
from tg.ops.shape import expand_dims_at
from tg.ops.shape_ops import BroadcastTo, ExpandDims
from tg.ops.softmax import Softmax
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import EXACT, REASSOCIATES, STABILIZE
from tg.rewrite.rule import node_rule
from tg.rewrite.rules.elementwise.arithmetic import is_finite
from tg.rewrite.rules.elementwise.arithmetic.trees import is_shaped_like
from tg.rewrite.rules.elementwise.exponential.choices import choice_of
from tg.rewrite.rules.elementwise.exponential.factors import JOINED, OTHER, Factor, Product, rebuilt
from tg.rewrite.rules.elementwise.exponential.meetings import simplify
from tg.rewrite.rules.elementwise.exponential.partial import grows, grows_in_sum
from tg.rewrite.rules.elementwise.exponential.reading import guarded, product_of
from tg.rewrite.rules.elementwise.exponential.terms import (
    MOVEMENTS,
    inside,
    relation,
    signed,
    stripped,
)
from tg.types.dtypes import is_float

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Apply, Variable

MOST_TERMS: Final = 6
NAN_THROUGH: Final = frozenset(fn.op for fn in (exp, expm1, sigmoid, sinh, cosh, tanh, gate))
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
        if not (part.is_special or _sum_of(part) is not None):
            return None
        parts.append(part)
    found = JOINED[node.op](*reversed(parts)) or product_of(y)
    if simplify(found):
        return rebuilt(found)
    place = _sum_of(found)
    outer = frozenset(k for k, f in enumerate(found.factors) if f.kind != OTHER)
    return None if place is None else _distributed(found, place, outer)


def _meeting_behind_choice(node: Apply, outputs: Any) -> Variable | None:
    """A product with where(c, a, 0) as where(c, a product, another), where exponentials meet in the first."""
    x, y = node.inputs
    if not is_float(outputs[0].type.dtype):
        return None
    for v, other in ((x, y), (y, x)) if node.op is multiply.op else ((x, y),):
        choice = choice_of(v)
        if choice is None:
            continue
        part, own = product_of(choice.value), product_of(other)
        found = JOINED[node.op](part, own) if part.is_special and own.is_special else None
        made = rebuilt(found) if found is not None and simplify(found) else None
        if made is not None:
            return choice.where(made, node.op(choice.zero, other))
    return None


def _sum_of(found: Product) -> int | None:
    """The place of a factor that is a sum, in front of all gates."""
    for k, f in enumerate(found.factors):
        if f.kind == OTHER and f.stage == 0 and f.power > 0 and _is_sum(f.u):
            return k
    return None


def _is_sum(v: Variable) -> bool:
    return is_made_by(v, add) or is_made_by(v, subtract)


def _distributed(found: Product, place: int, outer: frozenset[int]) -> Variable | None:
    """The product with the sum of the products of each term and the factors outside that meet what is in it.

    Others stay, but for those that are at most 1: products with them may be too large where that with the sum is not,
    as a * x - a * y where x is y.
    """
    terms = _terms(found.factors[place].u)
    products = [product_of(term) for term, _ in terms]
    shown = frozenset(k for k in outer if _is_shown(found.factors[k].u, products))
    if any(guard.is_gated for p in products for guard in p.guards):  # with more factors what it asks for may vanish
        return None
    outside = [f for k, f in enumerate(found.factors) if k in outer]
    own = [list(p.factors) for p in products]
    for p in products:
        stage = p.outside()
        p.factors.extend([f.at(f.stage + stage) for f in outside])
        p.factors = [f._replace(parts=frozenset((k,))) for k, f in enumerate(p.factors)]
    met = [simplify(p) for p in products]
    left = frozenset(k for k in outer if any(_has(p, found.factors[k]) for p in products))
    large = frozenset(k for k in left if not found.factors[k].bounded or found.factors[k].power < 0)
    if large:
        return _distributed(found, place, outer - large)
    kept = [f for k, f in enumerate(found.factors) if k not in outer or k in left - shown]
    if any(grows_in_sum(term, outside, p.factors) for term, p in zip(own, products, strict=True)):
        return None
    if not any(met) or any(f.is_gated and not _is_finite(f) for f in kept):  # a 0 of the sum hides what terms do not
        return None
    made: Any = None
    for product, (_, is_added) in zip(products, terms, strict=True):
        value = rebuilt(product)
        if value is None:
            return None
        made = value if made is None else add(made, value) if is_added else subtract(made, value)
    return _with_sum(found, place, outer, made)


def _with_sum(found: Product, place: int, outer: frozenset[int], made: Variable) -> Variable | None:
    """The product with another sum, which holds what was outside; None where it may overflow on the way."""
    parts = outer | {place}
    kept = [
        (f._replace(u=made), parts) if k == place else (f, frozenset((k,)))
        for k, f in enumerate(found.factors)
        if k not in outer
    ]
    if grows(found.factors, kept, parts):
        return None
    return rebuilt(Product(*(f for f, _ in kept), sign=found.sign))


def _is_finite(f: Factor) -> bool:
    return f.power > 0 and is_finite(f.value().v)


def _is_shown(u: Variable, terms: Sequence[Product]) -> bool:
    """Whether a sum is NaN wherever u is, unless all terms are 0, and hide it behind gates."""
    related = [[f for f in term.factors if relation(f.u, u)] for term in terms]
    return all(related) or any(not f.is_gated for some in related for f in some)


def _has(found: Product, f: Factor) -> bool:
    """Whether a factor is left in a product, at whatever stage."""
    return any(g.u is f.u and (g.kind, g.sign, g.power) == (f.kind, f.sign, f.power) for g in found.factors)


def _terms(v: Variable) -> list[tuple[Variable, bool]]:
    """The terms of a sum, and whether they are added; from the right on what is too much stays together."""
    found: list[tuple[Variable, bool]] = []
    stack = [(v, True)]
    while stack:
        term, is_added = stack.pop()
        if _is_sum(term) and len(found) + len(stack) < MOST_TERMS - 1:
            x, y = term.inputs
            stack.extend(((y, is_added is is_made_by(term, add)), (x, is_added)))
        else:
            found.append((term, is_added))
    return found


def _is_nan_with(v: Variable, u: Variable, depth: int = MOST_TERMS) -> bool:
    """Whether a value is NaN wherever u is: a product or quotient of it, or a function, that no gate hides."""
    if v is u:
        return True
    node = v.apply
    if node is None or depth == 0:
        return False
    if node.op in (multiply.op, divide.op):
        return any(_is_nan_with(x, u, depth - 1) for x in node.inputs)
    return node.op in NAN_THROUGH and _is_nan_with(node.inputs[0], u, depth - 1)


def _superfluous_guard(node: Apply, outputs: Any) -> Variable | None:
    """A guard in a sum whose other term is NaN wherever the guard is for."""
    x, y = node.inputs
    if not is_float(x.type.dtype):  # of a complex infinity with a part that is NaN some functions are numbers
        return None
    for place, (v, other) in enumerate(((x, y), (y, x))):
        inner, sign = stripped(v)
        found = guarded(inner)
        if found is not None and _is_nan_with(other, found[0]):
            rest = signed(found[1], sign)
            return node.op(*((rest, y) if place == 0 else (x, rest)))  # type: ignore[no-any-return]
    return None


def _superfluous_guard_in_sum(node: Apply, outputs: Any) -> Variable | None:
    """p * sum(y, guarded by p) where p is a softmax along the summed axis, and so NaN along all of it."""
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
        if found is None or found[0] is not p or not is_shaped_like(found[1], made.inputs[0]):
            continue
        rest: Variable = made.op(found[1])
        return multiply(p, signed(expand_dims_at(rest, added), sign))
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
        "meeting_exponentials_behind_choice",
        keys=(gate, multiply),
        apply=_meeting_behind_choice,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="The gradient of a stable form is stable, too, where the form is one of two choices.",
        example=lambda g, x: gate(where(greater(g, 0), g * sigmoid(-x), 0), exp(x)),
        below=(where, multiply, gate, ExpandDims, BroadcastTo),
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
