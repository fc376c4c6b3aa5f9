"""Products in which exponentials meet: what overflows and what vanishes are brought together before they are computed.

Gradients of what users write out are full of them: that of log(1 + exp(x)) is gate(dy / (1 + exp(x)), exp(x)), where
the quotient vanishes once the exponential overflows. Such a product is read as a list of factors with powers 1 and -1,
each with the number of gates it stands behind; two factors that meet become what they amount to; and the rest is put
together as it was. A sum whose terms meet the factor outside is distributed first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import add, divide, gate, multiply, negative, power, square, subtract
from tg.ops.elementwise.comparison import isnan, where
from tg.ops.elementwise.exponential import exp, expm1, sigmoid
from tg.ops.elementwise.trigonometric import cosh, sinh, tanh
from tg.ops.reduction import Reduce
from tg.ops.shape_ops import BroadcastTo, Reshape
from tg.ops.softmax import Softmax
from tg.rewrite.pattern import is_made_by
from tg.rewrite.rules.elementwise.exponential.terms import (
    MOVEMENTS,
    aligned_sum_of_exp,
    inside,
    is_number,
    log_of_sum,
    logs_of_sum,
    relation,
    share_of_sum,
    signed,
    stripped,
    sum_of_exp,
)
from tg.types.lengths import equal_here

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Apply, Variable

    Reader = Callable[[Variable, Apply, int, int, "Product", int], bool | None]

MOST_FACTORS: Final = 12
DEPTH: Final = 6
OTHER: Final = "other"
UNPLACED: Final = "unplaced"  # a sum of exponentials that does not stand beside them yet
FUNCTIONS: Final = {"sigmoid": sigmoid, "exp": exp, "expm1": expm1, "sinh": sinh, "cosh": cosh, "tanh": tanh}
KIND_OF: Final = {fn: kind for kind, fn in FUNCTIONS.items() if kind != "tanh"}


class Factor(NamedTuple):
    """A function at sign * u to the power 1 or -1, behind `level` gates.

    Of a sum of exponentials, of a softmax and of any other value u is the value. What is bounded is at most 1 in size.
    """

    kind: str
    u: Variable
    sign: int
    power: int
    level: int
    bounded: bool = False
    standing: Variable | None = None  # the value in the graph that the factor or its reciprocal was read from
    inverse: bool = False  # whether it was the reciprocal

    def value(self) -> tuple[Variable, int]:
        """What to put into a product, and its power."""
        if self.standing is not None:
            return self.standing, -self.power if self.inverse else self.power
        if self.kind in FUNCTIONS:
            return FUNCTIONS[self.kind](signed(self.u, self.sign)), self.power
        return self.u, self.power


class Product:
    """The factors of a value, its sign, and what it must be NaN with, though it cancelled."""

    __slots__ = ("factors", "guards", "sign")

    def __init__(self) -> None:
        self.factors: list[Factor] = []
        self.guards: list[tuple[Variable, int]] = []
        self.sign = 1

    def put(self, kind: str, u: Variable, power: int, level: int, **facts: Any) -> bool:
        """Add a factor; whether there is room for more."""
        self.factors.append(Factor(kind, u, facts.pop("sign", 1), power, level, **facts))
        return len(self.factors) <= MOST_FACTORS

    @property
    def is_special(self) -> bool:
        """Whether it has factors that may meet others."""
        return any(f.kind != OTHER for f in self.factors)

    @property
    def levels(self) -> int:
        """The number of gates around the innermost factor."""
        return max((f.level for f in self.factors), default=0)


def product_of(v: Variable) -> Product | None:
    """The factors of a value; None where there are too many."""
    found = Product()
    return found if _read(v, 1, 0, found, DEPTH) else None


def _read(v: Variable, p: int, level: int, found: Product, depth: int) -> bool:
    """Add the factors of v**p, read as standing behind `level` gates or more; whether there is room for them."""
    node = v.apply
    if node is not None and depth:
        key: object = node.op.rule_key
        reader = READERS.get(key)
        taken = reader(v, node, p, level, found, depth - 1) if reader is not None else None
        if taken is not None:
            return taken
    return is_number(v, 1) or found.put(OTHER, v, p, level, standing=v)


def _read_negative(v: Variable, node: Apply, p: int, level: int, found: Product, depth: int) -> bool:
    found.sign = -found.sign
    return _read(node.inputs[0], p, level, found, depth)


def _read_multiply(v: Variable, node: Apply, p: int, level: int, found: Product, depth: int) -> bool:
    return all(_read(u, p, level, found, depth) for u in node.inputs)


def _read_divide(v: Variable, node: Apply, p: int, level: int, found: Product, depth: int) -> bool:
    x, y = node.inputs
    return _read(x, p, level, found, depth) and _read(y, -p, level, found, depth)


def _read_square(v: Variable, node: Apply, p: int, level: int, found: Product, depth: int) -> bool | None:
    return _read_repeated(node.inputs[0], 2 * p, level, found, depth)


def _read_power(v: Variable, node: Apply, p: int, level: int, found: Product, depth: int) -> bool | None:
    x, n = node.inputs
    count = float(n.data.reshape(())) if type(n) is Constant and n.data.size == 1 else 0
    return _read_repeated(x, p * int(count), level, found, depth) if count in (-3, -2, -1, 3) else None


def _read_repeated(x: Variable, power: int, level: int, found: Product, depth: int) -> bool | None:
    inner = Product()
    if not _read(x, 1, level, inner, depth) or not inner.is_special or any(f.level != level for f in inner.factors):
        return None
    sign, step = found.sign * inner.sign**power, 1 if power > 0 else -1
    done = all(_read(x, step, level, found, depth) for _ in range(abs(power)))
    found.sign = sign
    return done


def _read_gate(v: Variable, node: Apply, p: int, level: int, found: Product, depth: int) -> bool | None:
    """The factors of d stand behind one gate more than those of dy; a gate inside d, or beside another, stays."""
    if p < 0 or level < found.levels:
        return None
    dy, d = node.inputs
    inner = Product()
    if not _read(d, 1, 0, inner, depth) or inner.levels:
        return None
    if not _read(dy, p, level, found, depth):
        return False
    above = max(found.levels, level) + 1
    found.factors.extend(f._replace(level=above) for f in inner.factors)
    found.sign *= inner.sign
    return len(found.factors) <= MOST_FACTORS


def _read_function(v: Variable, node: Apply, p: int, level: int, found: Product, depth: int) -> bool:
    u, sign = stripped(node.inputs[0])
    kind = KIND_OF[node.op.fn]  # type: ignore[attr-defined]
    return found.put(kind, u, p, level, sign=sign, standing=v, bounded=kind == "sigmoid")


def _read_add(v: Variable, node: Apply, p: int, level: int, found: Product, depth: int) -> bool | None:
    """1 + exp(u) is 1 / sigmoid(-u); other sums of exponentials are known by their logarithms."""
    for one, other in (node.inputs, node.inputs[::-1]):
        if not is_number(one, 1):
            continue
        if is_made_by(other, exp):
            u, sign = stripped(other.inputs[0])
            return found.put("sigmoid", u, -p, level, sign=-sign, standing=v, inverse=True, bounded=True)
        if aligned_sum_of_exp(v) is not None:
            return found.put("sum", v, p, level, standing=v)
        if sum_of_exp(v, plus_one=True) is not None:
            return found.put(UNPLACED, v, p, level, standing=v)
        break
    return found.put("sum", v, p, level, standing=v) if logs_of_sum(v) else None


def _read_softmax(v: Variable, node: Apply, p: int, level: int, found: Product, depth: int) -> bool:
    return found.put("softmax", v, p, level, standing=v, bounded=True)


def _read_reduction(v: Variable, node: Apply, p: int, level: int, found: Product, depth: int) -> bool | None:
    """A sum of exponentials; or the sum of what is divided by one that does not depend on the summed axes."""
    if aligned_sum_of_exp(v) is not None:
        return found.put("sum", v, p, level, standing=v)
    if sum_of_exp(v) is not None:
        return found.put(UNPLACED, v, p, level, standing=v)
    op: Any = node.op
    inner = product_of(node.inputs[0]) if op.fn is add and op.axes and p > 0 else None
    if inner is None:
        return None
    for k, f in enumerate(inner.factors):
        total = aligned_sum_of_exp(f.u) if f.kind == "sum" and f.power < 0 else None
        below = _without_axes(f.u, op.axes) if total is not None and set(op.axes) <= set(total.axes) else None
        if below is None:
            continue
        del inner.factors[k]
        rest = rebuilt(inner)
        if rest is None or rest.type.ndim != node.inputs[0].type.ndim:
            return None
        found.put(OTHER, op(rest), p, level)
        kind = UNPLACED if aligned_sum_of_exp(below) is None else "sum"
        return found.put(kind, below, -p, level + min(f.level, 1))
    return None


def _without_axes(v: Variable, axes: tuple[int, ...]) -> Variable | None:
    """A value that stands beside others with length 1 along some axes, or is repeated along them, without the axes."""
    if v.type.ndim == 0:
        return v
    if v.apply is not None and type(v.apply.op) is BroadcastTo:
        v = v.inputs[0]
    total, added = inside(v)
    return total if v.type.ndim == 0 or added == axes else None


def _read_moved(v: Variable, node: Apply, p: int, level: int, found: Product, depth: int) -> bool | None:
    """A sum of exponentials that is repeated to stand beside them; or a product that is moved, factor by factor."""
    if aligned_sum_of_exp(v) is not None:
        return found.put("sum", v, p, level, standing=v)
    inner = Product()
    if not _read(node.inputs[0], p, 0, inner, depth) or (inner.levels and level < found.levels):
        return None
    if type(node.op) is Reshape and not all(_fills(f, node.inputs[0]) for f in inner.factors):
        return None
    moved = [_moved_factor(f, node, v if len(inner.factors) == 1 else None) for f in inner.factors]
    if all(f.kind in (OTHER, UNPLACED) for f in moved):
        return None
    found.sign *= inner.sign
    found.factors.extend(f._replace(level=f.level + level) for f in moved)
    return len(found.factors) <= MOST_FACTORS


def _fills(f: Factor, product: Variable) -> bool:
    """Whether a factor has all elements of the product, or one: it is not repeated along some axes."""
    return all(u.type.ndim == 0 or all(map(equal_here, u.shape, product.shape)) for u in (f.u, f.value()[0]))


def _moved_factor(f: Factor, node: Apply, whole: Variable | None) -> Factor:
    """A factor where a movement takes it; a sum of exponentials may come to stand beside them."""
    value, exponent = f.value()
    standing = _moved(value, node) if whole is None or f.kind not in FUNCTIONS else whole
    if f.kind in FUNCTIONS or f.kind == "softmax":
        return f._replace(u=_moved(f.u, node) if f.kind in FUNCTIONS else standing, standing=standing)
    kind = OTHER if aligned_sum_of_exp(standing) is None else "sum"
    return Factor(kind, standing, 1, exponent, f.level, standing=standing)


def _read_guarded(v: Variable, node: Apply, p: int, level: int, found: Product, depth: int) -> bool | None:
    """A whole product with a guard: its factors, and what it is NaN with."""
    guard = guarded(v)
    if guard is None or depth < DEPTH - 1 or found.factors:
        return None
    u, y = guard
    found.guards.append((u, 0 if node.inputs[1] is u else 1))
    return _read(y, p, level, found, depth)


def _moved(u: Variable, node: Apply) -> Variable:
    return u if u.type.ndim == 0 else node.op(u, *node.inputs[1:])


def guarded(v: Variable) -> tuple[Variable, Variable] | None:
    """U and y of where(isnan(u), u or gate(y, u), y)."""
    if not is_made_by(v, where):
        return None
    c, x, y = v.inputs
    if not is_made_by(c, isnan):
        return None
    (u,) = c.inputs
    kept = x is u or (is_made_by(x, gate) and x.inputs[0] is y and x.inputs[1] is u)
    return (u, y) if kept else None


READERS: Final[dict[object, Reader]] = {
    negative: _read_negative,
    multiply: _read_multiply,
    divide: _read_divide,
    square: _read_square,
    power: _read_power,
    gate: _read_gate,
    add: _read_add,
    where: _read_guarded,
    Softmax: _read_softmax,
    Reduce: _read_reduction,
    **dict.fromkeys(MOVEMENTS, _read_moved),
    **dict.fromkeys(KIND_OF, _read_function),
}


def simplify(found: Product) -> bool:
    """Let factors meet until none do; whether any did."""
    met = False
    while _meet_once(found):
        met = True
    return met


def _meet_once(found: Product) -> bool:
    factors = found.factors
    for i, a in enumerate(factors):
        if a.kind == OTHER:
            continue
        for j in range(i + 1, len(factors)):
            b = factors[j]
            if b.kind == OTHER:
                continue
            meeting = _meeting(a, b) or _meeting(b, a)
            if meeting is not None and _place(found, i, j, *meeting):
                return True
    return False


def _place(found: Product, i: int, j: int, result: Factor | None, sign: int) -> bool:
    """Put what two factors amount to where one of them stood, if a closed gate then hides what it did."""
    a, b = found.factors[i], found.factors[j]
    low, high = min(a.level, b.level), max(a.level, b.level)
    if result is not None:
        keeps = (result.bounded and result.power > 0) or result.kind == "expm1"  # 0 beside it is what it was
        if not keeps and low == 0 and high > 0:
            return False
        found.factors[i] = result._replace(level=low if keeps else high)
        del found.factors[j]
    else:
        del found.factors[j], found.factors[i]
        _keep_nan(found, a.u, low)
    found.sign *= sign
    return True


def _keep_nan(found: Product, u: Variable, level: int) -> None:
    """Let the product be NaN where u is, though two functions of it behind so many gates have cancelled."""
    related = [(k, f) for k, f in enumerate(found.factors) if f.kind != OTHER and relation(f.u, u)]
    if any(f.level <= level for _, f in related):
        return
    for k, f in related:
        if f.bounded and f.power > 0:
            found.factors[k] = f._replace(level=level)
            return
    found.guards.append((u, level))


def _meeting(a: Factor, b: Factor) -> tuple[Factor | None, int] | None:
    """What two factors amount to, and its sign; None where they do not meet."""
    rule = MEETINGS.get((a.kind, b.kind))
    return rule(a, b) if rule is not None else None


def _alike(a: Factor, b: Factor) -> tuple[Factor | None, int] | None:
    """A factor and its reciprocal, neither of which is 0 at a finite operand."""
    r = relation(a.u, b.u)
    if not r:
        return None
    if a.kind == "exp":
        return (None, 1) if a.sign * a.power == -b.sign * b.power * r else None
    if a.power == b.power:
        return None
    if a.sign == b.sign * r or a.kind == "cosh":
        return None, 1
    if a.kind != "sigmoid":
        return None
    above = a if a.power > 0 else b  # sigmoid(u) / sigmoid(-u) is exp(u)
    return Factor("exp", above.u, above.sign, 1, 0), 1


def _exp_and_sigmoid(a: Factor, b: Factor) -> tuple[Factor | None, int] | None:
    """sigmoid(u) * exp(-u) is sigmoid(-u)."""
    exponent = a.sign * a.power * relation(a.u, b.u)
    if exponent == 0 or exponent != -b.sign * b.power:
        return None
    return Factor("sigmoid", b.u, -b.sign, b.power, 0, bounded=True), 1


def _exp_and_expm1(a: Factor, b: Factor) -> tuple[Factor | None, int] | None:
    """expm1(u) * exp(-u) is -expm1(-u)."""
    exponent = a.sign * a.power * relation(a.u, b.u)
    if exponent == 0 or exponent != -b.sign * b.power:
        return None
    return Factor("expm1", b.u, -b.sign, b.power, 0), -1


def _expm1_and_sigmoid(a: Factor, b: Factor) -> tuple[Factor | None, int] | None:
    """(exp(u) - 1) / (exp(u) + 1) is tanh(u / 2)."""
    if a.power < 0 or b.power < 0 or a.sign * relation(a.u, b.u) != -b.sign:
        return None
    half = multiply(a.u, 0.5)
    return Factor(OTHER, tanh(half), 1, 1, 0, bounded=True), a.sign


def _sinh_and_cosh(a: Factor, b: Factor) -> tuple[Factor | None, int] | None:
    r = relation(a.u, b.u)
    if not r or a.power < 0 or b.power > 0:
        return None
    return Factor(OTHER, tanh(a.u), 1, 1, 0, bounded=True), a.sign


def _exp_and_sum(a: Factor, b: Factor) -> tuple[Factor | None, int] | None:
    """The share that an exponential has of a sum with it, or its reciprocal."""
    if a.power == b.power:
        return None
    found = aligned_sum_of_exp(b.u)
    if found is not None:
        if relation(a.u, found.x) != a.sign:
            return None
        share = share_of_sum(found)
        kind = "softmax" if share.apply is not None and type(share.apply.op) is Softmax else OTHER
        return Factor(kind, share, 1, a.power, 0, bounded=True), 1
    logs = logs_of_sum(b.u)
    own = next((k for k, u in enumerate(logs) if relation(a.u, u) == a.sign), None)
    if own is None:
        return None
    rest = log_of_sum([*logs[:own], *logs[own + 1 :]])
    return Factor(OTHER, sigmoid(subtract(logs[own], rest)), 1, a.power, 0, bounded=True), 1


MEETINGS: Final = {
    ("sigmoid", "sigmoid"): _alike,
    ("exp", "exp"): _alike,
    ("softmax", "softmax"): _alike,
    ("exp", "sigmoid"): _exp_and_sigmoid,
    ("exp", "expm1"): _exp_and_expm1,
    ("expm1", "sigmoid"): _expm1_and_sigmoid,
    ("sinh", "cosh"): _sinh_and_cosh,
    ("cosh", "cosh"): _alike,
    ("exp", "sum"): _exp_and_sum,
    ("sum", "sum"): _alike,
}


def rebuilt(found: Product) -> Variable | None:
    """The product of the factors behind their gates, with its sign; None where nothing is left of it."""
    made: Variable | None = None
    for level in range(found.levels + 1):
        behind = [f.value() for f in found.factors if f.level == level]
        if behind:
            d = _quotient(behind)
            made = d if made is None else gate(made, d)
    for u, level in found.guards:
        one = Constant(np.array(1, u.type.numpy_dtype))
        made = where(isnan(u), u, one) if made is None else where(isnan(u), gate(made, u) if level else u, made)
    return made if made is None or found.sign > 0 else negative(made)


def _quotient(values: list[tuple[Variable, int]]) -> Variable:
    above = _multiplied([v for v, p in values if p > 0])
    below = _multiplied([v for v, p in values if p < 0])
    if below is None:
        assert above is not None
        return above
    return divide(1 if above is None else above, below)


def _multiplied(values: list[Variable]) -> Variable | None:
    if not values:
        return None
    made = values[0]
    for v in values[1:]:
        made = square(made) if made is v else multiply(made, v)
    return made
