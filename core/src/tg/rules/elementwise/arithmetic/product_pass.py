"""Canonical products: over trees of products, quotients, signs and whole powers whose inner values are used once.

The constants and signs of a tree become one constant, outermost or where it is repeated afterwards; what is multiplied
by a reciprocal is divided. Constants and signs leave gates (0 where the first operand is 0, else the product) as well.
Otherwise a tree keeps its structure, for x * y * x and x / y / z have no other form that neither overflows nor vanishes
where they do not. Powers of one value alone are one power.

x / x is not 1 where x is 0 or infinite. So factors above and below the line meet only where x is known to be finite and
not 0; in a pass of class nan_unsafe everywhere. float16 is left alone: a product of two ordinary numbers leaves its
range. For the same reason very large and very small constants stay where they are: they are there to scale.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from operator import is_
from typing import TYPE_CHECKING, Final, NamedTuple, final

from tg.graph.facts import holds
from tg.ops.elementwise.arithmetic import divide, gate, multiply, negative, power, square
from tg.rewrite.phases import CANONICALIZE, NAN_UNSAFE, REASSOCIATES
from tg.rewrite.rule import FLOATING, Pass
from tg.rules.elementwise.arithmetic.analysis import is_finite_and_nonzero, is_scalar_constant
from tg.rules.elementwise.arithmetic.powers import LARGEST_BY_PRODUCTS, exponent_of, is_whole, raised
from tg.rules.elementwise.arithmetic.scalars import (
    MODULUS,
    Scale,
    constant,
    exact,
    is_in_range,
    is_moderate,
    is_normal,
    nearest,
    size,
)
from tg.rules.elementwise.arithmetic.trees import function_of, is_shaped_like, replacements
from tg.types.dtypes import is_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tg.graph.nodes import Variable
    from tg.graph.view import View
    from tg.rules.elementwise.arithmetic.scalars import Exact
    from tg.rules.elementwise.arithmetic.trees import Inside

    Place = tuple[Variable, int]  # a value and the number of an operand

QUOTIENT: Final = 4  # what a quotient costs, counted in products
POWER: Final = 20
LARGEST_POWER: Final = 16  # of a constant that leaves it
NO_SCALE: Final = Scale()
MINUS_ONE: Final = Scale(-1)


def _cost_of_power(n: float) -> int:
    return POWER if n > LARGEST_BY_PRODUCTS else int(n).bit_length() + int(n).bit_count() - 2


def _is_moderate(c: Variable) -> bool:
    """Whether a value is a constant that may move."""
    value = exact(c)
    return value is not None and (is_integer(c.type.dtype) or is_moderate(value))


def _is_multiple(v: Variable) -> bool:
    """Whether a value is another one with a sign or a factor."""
    fn = function_of(v)
    if fn is multiply or fn is divide:
        return _is_moderate(v.inputs[1])
    return fn is negative


@final
class Products:
    """The trees of products of some dtypes: of products, quotients, negatives, whole powers, and gates."""

    functions: frozenset[object] = frozenset((multiply, divide, negative, square, power, gate))

    def __init__(self, dtypes: frozenset[str]) -> None:
        self.dtypes = dtypes

    def is_member(self, v: Variable) -> bool:
        """Whether a value is one of them; products with a constant that is not to move are none."""
        fn = function_of(v)
        if fn is multiply or fn is divide:
            return not any(is_scalar_constant(u) and not _is_moderate(u) for u in v.inputs)
        return fn is negative or fn is gate or _whole_power(v) is not None

    def operands(self, v: Variable) -> tuple[Variable, ...]:
        """The operands of products, quotients and negatives."""
        fn = function_of(v)
        return v.inputs if fn is multiply or fn is divide or fn is negative else ()

    def factored(self, v: Variable) -> tuple[Variable, ...]:
        """The operands from which a constant can be taken."""
        return tuple(u for u in v.inputs if _is_multiple(u))


def _whole_power(v: Variable) -> tuple[Variable, int] | None:
    """The base and the exponent of a power with a whole exponent above 0."""
    match = exponent_of(v)
    if match is None or match[1] <= 0 or not is_whole(match[1]):
        return None
    return match[0], int(match[1])


class Factor:
    """A value with how often it stands above and below the line."""

    __slots__ = ("counts", "x")

    def __init__(self, x: Variable) -> None:
        self.x = x
        self.counts = [0, 0]

    @property
    def common(self) -> int:
        """Number of times that it stands both above and below the line."""
        return min(self.counts)


class Product:
    """A tree as bare values and the exact scale that was taken out of them, with what it costs as it stands.

    A value is bared in one place, `_bare`, which puts what it takes out into the scale; the tree is written of bare
    values alone, flat or in its structure. So no constant or sign can count twice.
    """

    def __init__(self, root: Variable, inside: Inside) -> None:
        self.root, self.inside = root, inside
        self.whole = is_integer(root.type.dtype)
        self.factors: dict[int, Factor] = {}
        self.opened: list[tuple[Variable, int]] = []  # with their exponents, operands after what reads them
        self.powers: dict[int, tuple[Variable, int]] = {}  # base and exponent of opened ones; of gates, which are 1
        self.bare: dict[int, Variable] = {}  # what stands for a leaf of the structure, by the id of that
        self.scale = Scale()
        self.cost = self.occurrences = 0
        self.scales = self.small_scales = 0  # constants and signs, those of operands that are repeated counted apart
        stack: list[tuple[Variable, int]] = [(root, 1)]
        while stack:
            v, n = stack.pop()
            if _is_moderate(v):
                self._take_scale(_scale_of(v), n)
            elif v is root or v in inside:
                self._open(v, n, stack)
            else:
                self._take(self._bare(v, n), n)
        self.failed = not (self.whole or is_in_range(self.scale.value, root.type.dtype))

    def _open(self, v: Variable, n: int, stack: list[tuple[Variable, int]]) -> None:
        fn = function_of(v)
        self.opened.append((v, n))
        if fn is multiply or fn is divide:
            x, y = v.inputs
            self.cost += 1 if fn is multiply else QUOTIENT
            stack += [(y, n if fn is multiply else -n), (x, n)]
        elif fn is negative:
            self.cost += 1
            self._take_scale(MINUS_ONE, n)
            stack.append((v.inputs[0], n))
        elif fn is gate:
            x, y = v.inputs
            self._take_power(v, gate(self._bare(x, n), self._bare(y, n)), 1, n)
        else:
            match = _whole_power(v)
            assert match is not None
            base, exponent = match
            self.cost += _cost_of_power(exponent)
            self._take_power(v, self._bare(base, n * exponent), exponent, n)

    def _take_power(self, v: Variable, base: Variable, exponent: int, n: int) -> None:
        self.powers[id(v)] = base, exponent
        self._take(base, n * exponent)

    def _bare(self, x: Variable, n: int) -> Variable:
        """A value without the constant or sign that may be taken out of its power, which goes to the scale."""
        scale = _scale_of(x) if self.inside.has_factored(x) else NO_SCALE
        if scale is NO_SCALE or not self._may_leave(scale, n):
            return x
        if is_shaped_like(x, self.root):
            self.cost += QUOTIENT if function_of(x) is divide else 1
        else:
            self.small_scales += 1
            self.scales -= 1
        self._take_scale(scale, n)
        self.bare[id(x)] = x.inputs[0]
        return x.inputs[0]

    def _may_leave(self, scale: Scale, n: int) -> bool:
        """Whether a power of a constant is no larger than what other constants may bring to a tree."""
        if self.whole:
            return True
        value = size(scale.value)
        return value == 1 or (abs(n) <= LARGEST_POWER and is_in_range(Fraction(value) ** n, self.root.type.dtype))

    def _take_scale(self, scale: Scale, n: int) -> None:
        self.scales += 1
        if self.whole:
            power = pow(int(scale.n), n, MODULUS)
            self.scale = Scale(nearest(int(self.scale.n) * power, self.root.type.dtype))
        else:
            self.scale = self.scale.times(scale.to_power(n))

    def _take(self, x: Variable, n: int) -> None:
        self.occurrences += 1
        self.factors.setdefault(id(x), Factor(x)).counts[n < 0] += abs(n)

    def scaled(self, x: Variable) -> Variable:
        """A value times the scale."""
        multiple = self.scale.of(x, x)
        assert multiple is not None  # it is in range
        return multiple

    def constant(self) -> Variable:
        """The scale on its own."""
        scale = constant(self.scale.value, self.root.type.dtype)
        assert scale is not None  # it is in range
        return scale


def _scale_of(v: Variable) -> Scale:
    """The factor of a constant, or that by which a value is another one's multiple."""
    fn = function_of(v)
    if fn is negative:
        return MINUS_ONE
    c = exact(v if fn is None else v.inputs[1])
    assert c is not None
    return Scale(1, c) if fn is divide else Scale(c)


class Inverse(NamedTuple):
    """1 / x, not yet written: what is multiplied by it will be divided by x."""

    x: Variable


class Stripped:
    """A tree without its constants and signs, in the structure that it has; `small` is multiplied by the scale.

    What cancels is left out of its places, by the id of a bare value how often of those above and below the line: what
    is left, multiplied in another order, might overflow or vanish.
    """

    def __init__(self, tree: Product, small: Place | None, cancelled: Mapping[int, int]) -> None:
        self.found, self.small = tree, small
        self.left_out = {side: dict(cancelled) for side in (True, False)}
        self.signs = {id(v): n for v, n in tree.opened}
        self.built: dict[int, Variable | Inverse | None] = {}
        for v, _ in reversed(tree.opened):
            self.built[id(v)] = self._built(v)

    @property
    def result(self) -> Variable:
        """The tree with its constant."""
        tree, x = self.found, self.built[id(self.found.root)]
        if x is None:
            return tree.constant()
        if isinstance(x, Inverse):
            return divide(tree.constant(), x.x)
        return x if self.small is not None else tree.scaled(x)

    def _built(self, v: Variable) -> Variable | Inverse | None:
        power = self.found.powers.get(id(v))
        if power is not None:
            return self._power(v, *power)
        fn, operands = function_of(v), [self._value(u, (v, k)) for k, u in enumerate(v.inputs)]
        if fn is negative:
            return operands[0]
        return _product(operands[0], operands[1] if fn is multiply else _inverted(operands[1]))

    def _value(self, u: Variable, place: Place) -> Variable | Inverse | None:
        """Replacement of an operand; nothing for a constant, which is in the scale."""
        if id(u) in self.built:
            return self.built[id(u)]
        if _is_moderate(u):
            return None
        x = self.found.bare.get(id(u), u)
        v, k = place
        n = -self.signs[id(v)] if function_of(v) is divide and k else self.signs[id(v)]
        if self._leaves_out(x, n, 1):
            return None
        return self.found.scaled(x) if self.small is not None and all(map(is_, place, self.small)) else x

    def _power(self, v: Variable, base: Variable, exponent: int) -> Variable | None:
        """A gate, or a power less what cancels of it."""
        left = exponent - self._leaves_out(base, self.signs[id(v)], exponent)
        rest = base if left == 1 else raised(base, left, v) if left else None
        self.found.failed |= bool(left) and rest is None
        return rest

    def _leaves_out(self, x: Variable, n: int, count: int) -> int:
        """Number of occurrences that cancel, of so many of a value above or below the line."""
        free = self.left_out[n > 0]
        taken = min(free.get(id(x), 0), count)
        if taken:
            free[id(x)] -= taken
        return taken


def _inverted(x: Variable | Inverse | None) -> Variable | Inverse | None:
    return None if x is None else x.x if isinstance(x, Inverse) else Inverse(x)


def _product(x: Variable | Inverse | None, y: Variable | Inverse | None) -> Variable | Inverse | None:
    if x is None or y is None:
        return x if y is None else y
    if isinstance(y, Inverse):
        return divide(divide(1, x.x) if isinstance(x, Inverse) else x, y.x)
    return divide(y, x.x) if isinstance(x, Inverse) else multiply(x, y)


def _rebuilt(root: Variable, inside: Inside, *, unsafe: bool) -> Variable | None:
    """The canonical product of a tree; None where no constant or sign has to move and nothing meets."""
    if function_of(root) is square or function_of(root) is power:
        return None
    tree = Product(root, inside)
    if tree.failed:
        return None
    cancelled = _cancelled(tree, unsafe=unsafe)
    if _is_power(tree):
        (factor,) = tree.factors.values()
        x = raised(factor.x, factor.counts[0], factor.x)
        result = None if x is None else tree.scaled(x)
    else:
        small = None if cancelled or tree.scale.value == -1 else _smaller(tree)
        if not (cancelled or _is_misplaced(tree, small)):
            return None
        result = Stripped(tree, small, cancelled).result
    return None if tree.failed else result


def _is_power(tree: Product) -> bool:
    """Whether a tree is a power of one value, and cheaper as one."""
    if not tree.occurrences > 1 == len(tree.factors):
        return False
    ((above, below),) = (factor.counts for factor in tree.factors.values())
    return not below and _cost_of_power(above) <= tree.cost


def _cancelled(tree: Product, *, unsafe: bool) -> dict[int, int]:
    """Number of times that values which may meet themselves stand both above and below the line, by their ids."""
    return {id(f.x): f.common for f in tree.factors.values() if f.common and (unsafe or is_finite_and_nonzero(f.x))}


def _smaller(tree: Product) -> Place | None:
    """Place where an operand of a product is repeated in it, so that the constant costs less there.

    An operand that overflows with it makes NaN of a 0 that it is multiplied by: none is multiplied by more than it was.
    """
    scale = size(tree.scale.value)
    for v, n in tree.opened:
        fn = function_of(v)
        operands = () if n != 1 else v.inputs if fn is multiply else v.inputs[:1] if fn is divide else ()
        for k, u in enumerate(operands):
            if is_scalar_constant(u) or is_shaped_like(u, tree.root):
                continue
            if tree.whole or scale <= 1 or _stays_finite(u, scale, tree):
                return v, k
    return None


def _stays_finite(u: Variable, scale: Exact, tree: Product) -> bool:
    """Whether a multiple of a value is infinite only where the value, or what was written of it, is.

    That of c / n is for a whole number n: the size of c / n is at most that of c, or infinite.
    """
    if tree.inside.has_factored(u) and scale <= size(_scale_of(u).value):
        return True
    c = exact(u.inputs[0]) if function_of(u) is divide else None
    return c is not None and holds(u.inputs[1], "whole") and is_normal(scale * c, u.type.dtype)


def _is_misplaced(tree: Product, small: Place | None) -> bool:
    """Whether a tree has several constants and signs, or one that is not where it belongs."""
    if tree.scales + tree.small_scales > 1:
        return True
    return tree.scales == 1 and (small is not None or not _is_outermost(tree.root))


def _is_outermost(root: Variable) -> bool:
    """Whether a tree with one constant or sign has it where it belongs."""
    return _is_multiple(root) or (function_of(root) is divide and _is_moderate(root.inputs[0]))


def _run(dtypes: frozenset[str], *, unsafe: bool) -> Callable[[View], Mapping[int, Variable]]:
    kind = Products(dtypes)

    def run(view: View) -> Mapping[int, Variable]:
        return replacements(view, kind, functools.partial(_rebuilt, unsafe=unsafe))

    return run


WIDE: Final = FLOATING - {"float16"}

PASSES = (
    Pass(
        "canonical_products",
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="Constants and signs are one constant, outermost; what is multiplied by a reciprocal is divided.",
        run=_run(WIDE, unsafe=False),
        example=lambda x, y: -x * 2 * (3 / y),
    ),
    Pass(
        "cancelled_factors",
        phase=CANONICALIZE,
        kind=NAN_UNSAFE,
        why="x / x is 1; NaN where x is 0, NaN or infinite.",
        run=_run(WIDE, unsafe=True),
        example=lambda x, y: x * y / x,
    ),
)
