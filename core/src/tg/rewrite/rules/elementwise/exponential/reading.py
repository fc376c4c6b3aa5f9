"""Reading a value as a product of factors, where exponentials may meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.arithmetic import add, divide, gate, multiply, negative, power, square, subtract
from tg.ops.elementwise.comparison import isnan, where
from tg.ops.elementwise.exponential import exp
from tg.ops.reduction import Reduce
from tg.ops.shape_ops import BroadcastTo, Reshape
from tg.ops.softmax import Softmax
from tg.rewrite.pattern import is_made_by
from tg.rewrite.rules.elementwise.arithmetic.scalars import exact
from tg.rewrite.rules.elementwise.arithmetic.trees import in_shape_of
from tg.rewrite.rules.elementwise.exponential.factors import (
    JOINED,
    KIND_OF,
    MOST_FACTORS,
    OTHER,
    UNPLACED,
    Factor,
    Guard,
    Operand,
    Product,
    Written,
    multiplied,
    rebuilt,
)
from tg.rewrite.rules.elementwise.exponential.terms import (
    MOVEMENTS,
    aligned_sum_of_exp,
    inside,
    is_number,
    logs_of_sum,
    stripped,
    sum_of_exp,
)
from tg.rewrite.rules.shape.terms import made_by
from tg.types.lengths import equal_here

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Apply, Variable

    Reader = Callable[[Variable, Apply, int, bool], Product | None]

DEPTH: Final = 6
LARGEST_POWER: Final = 3


def product_of(v: Variable) -> Product:
    """The factors of a value, which is one itself where there are too many."""
    found = guarded(v)
    if found is None:
        return _read(v, DEPTH, gates=True)
    u, y = found
    inner = _read(y, DEPTH - 1, gates=True)
    stage = 0 if v.inputs[1] is u else inner.outside() + 1
    return Product(*inner.factors, sign=inner.sign, guards=(Guard(u, stage),))


def _read(v: Variable, depth: int, *, gates: bool) -> Product:
    """The factors of a value.

    Args:
        gates: whether it may be read as a product with gates.
    """
    node = v.apply
    if node is None or not depth or node.op.rule_key not in READERS:
        return _whole(v)
    found = READERS[node.op.rule_key](v, node, depth - 1, gates)
    return found if found is not None and len(found.factors) <= MOST_FACTORS else _whole(v)


def _whole(v: Variable) -> Product:
    return Product() if is_number(v, 1) else _one(OTHER, v)


def _one(kind: str, v: Variable, **about: Any) -> Product:
    return Product(Factor(kind, v, **about))


def _read_negative(v: Variable, node: Apply, depth: int, gates: bool) -> Product:
    found = _read(node.inputs[0], depth, gates=gates)
    return Product(*found.factors, sign=-found.sign)


def _read_pair(v: Variable, node: Apply, depth: int, gates: bool) -> Product | None:
    """The factors of a product or a quotient. Of two operands with gates the second is one factor, as divisors are."""
    x, y = node.inputs
    a = _read(x, depth, gates=gates)
    b = _read(y, depth, gates=gates and node.op is multiply.op and not a.last)
    return JOINED[node.op](a, b)


def _read_gate(v: Variable, node: Apply, depth: int, gates: bool) -> Product | None:
    """The factors of d stand behind a gate; one inside d stays."""
    if not gates:
        return None
    dy, d = (_read(u, depth, gates=k == 0) for k, u in enumerate(node.inputs))
    return JOINED[node.op](dy, d)


def _read_square(v: Variable, node: Apply, depth: int, gates: bool) -> Product | None:
    return _repeated(node.inputs[0], 2, depth)


def _read_power(v: Variable, node: Apply, depth: int, gates: bool) -> Product | None:
    x, c = node.inputs
    n = exact(c)
    if not n or n.denominator != 1 or not -LARGEST_POWER <= n <= LARGEST_POWER:
        return None
    return _repeated(x, int(n), depth)


def _repeated(x: Variable, n: int, depth: int) -> Product | None:
    found = _read(x, depth, gates=False)
    if not found.is_special:
        return None
    product: Product | None = Product()
    for _ in range(abs(n)):
        product = product and multiplied(product, found, 1 if n > 0 else -1)
    return product


def _read_function(v: Variable, node: Apply, depth: int, gates: bool) -> Product:
    u, sign = stripped(node.inputs[0])
    kind = KIND_OF[node.op.fn]  # type: ignore[attr-defined]
    return Product(Factor(kind, u, sign, bounded=kind == "sigmoid", written=Written(v, 1)))


def _read_add(v: Variable, node: Apply, depth: int, gates: bool) -> Product | None:
    """1 + exp(u) is 1 / sigmoid(-u); other sums of exponentials are known by their logarithms."""
    other, one = node.inputs
    if is_number(one, 1):
        if is_made_by(other, exp):
            u, sign = stripped(other.inputs[0])
            return Product(Factor("sigmoid", u, -sign, -1, bounded=True, written=Written(v, -1)))
        if aligned_sum_of_exp(v) is not None:
            return _one("sum", v)
        if sum_of_exp(v, plus_one=True) is not None:
            return _one(UNPLACED, v)
    return _one("sum", v) if logs_of_sum(v) else None


def _read_subtract(v: Variable, node: Apply, depth: int, gates: bool) -> Product | None:
    """-1 - exp(u) is -1 / sigmoid(-u)."""
    one, other = node.inputs
    if not is_number(one, -1) or not is_made_by(other, exp):
        return None
    u, sign = stripped(other.inputs[0])
    return Product(Factor("sigmoid", u, -sign, -1, bounded=True), sign=-1)


def _read_softmax(v: Variable, node: Apply, depth: int, gates: bool) -> Product:
    return _one("softmax", v, bounded=True)


def _read_reduction(v: Variable, node: Apply, depth: int, gates: bool) -> Product | None:
    """A sum of exponentials; or the sum of what is divided by one that does not depend on the summed axes."""
    if aligned_sum_of_exp(v) is not None:
        return _one("sum", v)
    if sum_of_exp(v) is not None:
        return _one(UNPLACED, v)
    op: Any = node.op
    (terms,) = node.inputs
    if op.fn is not add or not gates:
        return None
    inner = product_of(terms)
    for k, f in enumerate(inner.factors):
        below = _without_axes(f.u, op.axes) if f.kind == "sum" and f.power < 0 else None
        if below is None:
            continue
        del inner.factors[k]
        if f.is_gated and not _is_shown(f.u, f.stage, inner):
            inner.guards.append(Guard(f.u, f.stage))  # their gate hides its NaN from what is 0, not from their sum
        rest = rebuilt(inner)
        summed = None if rest is None else in_shape_of(rest, terms)  # repeated as the quotients were
        if summed is None:
            return None
        within = (Operand(1),)
        divisor = Factor("sum", below, power=-1, stage=int(f.is_gated), within=within, whole=v)
        return Product(Factor(OTHER, op(summed), within=within), divisor)
    return None


def _is_shown(total: Variable, stage: int, found: Product) -> bool:
    """Whether a product is NaN wherever a sum of exponentials is, unless gates at a stage or before it hide that."""
    others: list[Factor | Guard] = [*found.factors, *found.guards]
    return any(_is_nan_with(g.u, total) for g in others if g.stage <= stage or not g.is_gated)


def _is_nan_with(v: Variable, total: Variable) -> bool:
    """Whether a value is NaN wherever a sum of exponentials is: the sum, its softmax, or what these guard."""
    if guarded(v) is not None:
        v = v.inputs[1]
    op, found = made_by(v, Softmax), aligned_sum_of_exp(total)
    return v is total or bool(op and found and (op.axis,) == found.axes and v.inputs[0] is found.x)


def _without_axes(v: Variable, axes: tuple[int, ...]) -> Variable | None:
    """A value that stands beside others with length 1 along some axes, or is repeated along them, without the axes."""
    if made_by(v, BroadcastTo):
        v = v.inputs[0]
    total, added = inside(v)
    return total if v.type.ndim == 0 or added == axes else None


def _read_moved(v: Variable, node: Apply, depth: int, gates: bool) -> Product | None:
    """A sum of exponentials that is repeated to stand beside them; or a product that is moved, factor by factor."""
    if aligned_sum_of_exp(v) is not None:
        return _one("sum", v)
    inner = _read(node.inputs[0], depth, gates=gates)
    if type(node.op) is Reshape and not all(_fills(f, node.inputs[0]) for f in inner.factors):
        return None
    moved = [_moved_factor(f, node) for f in inner.factors]
    product = Product(*moved, sign=inner.sign)
    return product if product.is_special else None


def _fills(f: Factor, product: Variable) -> bool:
    """Whether a factor has all elements of the product, or is a scalar: it is not repeated along some axes."""
    return all(all(map(equal_here, u.shape, product.shape)) for u in (f.u, f.value().v))


def _moved_factor(f: Factor, node: Apply) -> Factor:
    """A factor where a movement takes it; a sum of exponentials may come to stand beside them, or cease to."""
    moved = f.moved(node)
    if moved.kind not in ("sum", UNPLACED):
        return moved
    return moved._replace(kind=OTHER if aligned_sum_of_exp(moved.u) is None else "sum")


def guarded(v: Variable) -> tuple[Variable, Variable] | None:
    """u and y of where(isnan(u), u or gate(y, u), y)."""
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
    multiply: _read_pair,
    divide: _read_pair,
    square: _read_square,
    power: _read_power,
    gate: _read_gate,
    add: _read_add,
    subtract: _read_subtract,
    Softmax: _read_softmax,
    Reduce: _read_reduction,
    **dict.fromkeys(MOVEMENTS, _read_moved),
    **dict.fromkeys(KIND_OF, _read_function),
}
