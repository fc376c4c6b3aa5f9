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
import math
from operator import is_
from typing import TYPE_CHECKING, Final, NamedTuple, final

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import divide, gate, multiply, negative, power, square
from tg.ops.elementwise.cast import cast_variable
from tg.rewrite.phases import CANONICALIZE, EXACT, NAN_UNSAFE, REASSOCIATES
from tg.rewrite.rule import FLOATING, INTEGER, Pass
from tg.rewrite.rules.elementwise.arithmetic.analysis import (
    constant,
    is_finite_and_nonzero,
    is_scalar_constant,
    nearest,
    number_of,
)
from tg.rewrite.rules.elementwise.arithmetic.powers import LARGEST_BY_PRODUCTS, exponent_of, raised
from tg.rewrite.rules.elementwise.arithmetic.trees import function_of, is_shaped_like, replacements
from tg.types.dtypes import is_integer, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tg.graph.function_graph import View
    from tg.graph.nodes import Variable
    from tg.rewrite.rules.elementwise.arithmetic.trees import Inside

    Place = tuple[Variable, int]  # a value and the number of an operand

QUOTIENT: Final = 4  # what a quotient costs, counted in products
POWER: Final = 20
LARGEST_SCALE: Final = 2.0**32  # constants beyond it, or below its reciprocal, do not move
LARGEST_POWER_OF_SCALE: Final = 16
MODULUS: Final = 1 << 64  # of all integers


def _cost_of_power(n: float) -> int:
    return POWER if n > LARGEST_BY_PRODUCTS else int(n).bit_length() + int(n).bit_count() - 2


def _is_moderate(c: Variable) -> bool:
    """Whether a value is a constant that may move."""
    if not is_scalar_constant(c):
        return False
    value = number_of(c)
    return is_integer(c.type.dtype) or 1 / LARGEST_SCALE <= abs(value) <= LARGEST_SCALE


def _is_multiple(v: Variable) -> bool:
    """Whether a value is another one with a sign or a factor."""
    fn = function_of(v)
    if fn is multiply or fn is divide:
        x, c = v.inputs
        return _is_moderate(c) and not isinstance(x, Constant) and x.type.ndim == v.type.ndim
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
        return tuple(u for u in v.inputs if u.apply is not None and _is_multiple(u))


def _whole_power(v: Variable) -> tuple[Variable, int] | None:
    """The base and the exponent of a power with a whole exponent above 0."""
    found = exponent_of(v)
    if found is None or found[1] <= 0 or not float(found[1]).is_integer():
        return None
    return found[0], int(found[1])


class Factor:
    """A value with how often it stands above and below the line."""

    __slots__ = ("counts", "x")

    def __init__(self, x: Variable) -> None:
        self.x = x
        self.counts = [0, 0]

    def net(self, *, cancel: bool) -> tuple[int, int]:
        """The two counts, less what they have in common if that is to `cancel`."""
        above, below = self.counts
        common = min(above, below) if cancel else 0
        return above - common, below - common


class Product:
    """A tree as factors and a constant above and below the line, with what it costs as it stands."""

    def __init__(self, root: Variable, inside: Inside) -> None:
        self.root, self.inside = root, inside
        self.whole = is_integer(root.type.dtype)
        self.minus_one = -1 if self.whole else -1.0
        self.factors: dict[int, Factor] = {}
        self.opened: list[tuple[Variable, int]] = []  # with their exponents, operands after what reads them
        self.peeled: dict[int, Variable] = {}  # operands without the constants that were taken out of them
        self.constants: list[float] = [1, 1]
        self.cost = self.occurrences = 0
        self.scales = self.small_scales = 0  # constants and signs, those of operands that are repeated counted apart
        stack: list[tuple[Variable, int]] = [(root, 1)]
        while stack:
            v, n = stack.pop()
            if _is_moderate(v):
                self._scale(number_of(v), n)
            elif v is root or v in inside:
                self._open(v, n, stack)
            else:
                self._take(self._peeled(v, n), n)

    def _open(self, v: Variable, n: int, stack: list[tuple[Variable, int]]) -> None:
        fn = function_of(v)
        self.opened.append((v, n))
        if fn is multiply or fn is divide:
            x, y = v.inputs
            self.cost += 1 if fn is multiply else QUOTIENT
            stack += [(y, n if fn is multiply else -n), (x, n)]
        elif fn is negative:
            self.cost += 1
            self._scale(self.minus_one, n)
            stack.append((v.inputs[0], n))
        elif fn is gate:
            for u in v.inputs:
                if is_shaped_like(u, v):
                    self._peeled(u, n)
            self._take(v, n)
        else:
            found = _whole_power(v)
            assert found is not None
            base, exponent = found
            self.cost += _cost_of_power(exponent)
            self._take(self._peeled(base, n * exponent), n * exponent)

    def _peeled(self, x: Variable, n: int) -> Variable:
        """A value without the constant or sign that may be taken out of it, which goes to the constant of the tree."""
        if not self.inside.has_factored(x):
            return x
        if is_shaped_like(x, self.root):
            self.cost += QUOTIENT if function_of(x) is divide else 1
        else:
            self.small_scales += 1
            self.scales -= 1
        if function_of(x) is negative:
            self._scale(self.minus_one, n)
        else:
            self._scale(number_of(x.inputs[1]), -n if function_of(x) is divide else n)
        return self.peeled.setdefault(id(x), x.inputs[0])

    def _scale(self, value: float, n: int) -> None:
        self.scales += 1
        self.constants[n < 0] *= _power(value, abs(n))
        if self.whole:
            self.constants[0] %= MODULUS

    def _take(self, x: Variable, n: int) -> None:
        self.occurrences += 1
        self.factors.setdefault(id(x), Factor(x)).counts[n < 0] += abs(n)


def _power(value: float, n: int) -> float:
    """The power of a constant, infinite where it is too large; of integers modulo all widths."""
    if isinstance(value, int):
        return pow(value, n, MODULUS)
    if abs(value) == 1:
        return value if n % 2 else 1.0
    return value**n if n <= LARGEST_POWER_OF_SCALE else np.inf


class Scale:
    """The constant of a tree, and how a value is multiplied by it."""

    def __init__(self, found: Product) -> None:
        self.dtype, self.whole = found.root.type.dtype, found.whole
        self.n, self.d = found.constants
        self.value: float = nearest(int(self.n), self.dtype) if self.whole else math.nan
        if not self.whole and self.d:
            self.value = self.n / self.d
        self.failed = not math.isfinite(self.value)

    def times(self, x: Variable) -> Variable:
        """The value times the constant, by a quotient if it came of divisors only."""
        if self.value == 1:
            return x
        if self.value == -1:
            return negative(x)
        if abs(self.n) == 1 and not self.whole:
            return divide(x, self.constant(self.d / self.n))
        return multiply(x, self.constant(self.value))

    def constant(self, value: float) -> Constant:
        """A constant; the attempt has `failed` if it is no normal number."""
        c = constant(value, self.dtype)
        if c is None:
            self.failed = True
            c = Constant(np.ones((), numpy_dtype(self.dtype)))
        return c


class Inverse(NamedTuple):
    """1 / x, not yet written: what is multiplied by it will be divided by x."""

    x: Variable


class Stripped:
    """A tree without its constants and signs, in the structure that it has; `small` is scaled by the constant."""

    def __init__(self, found: Product, scale: Scale, small: Place | None) -> None:
        self.found, self.scale, self.small = found, scale, small
        self.built: dict[int, Variable | Inverse | None] = {}
        for v, _ in reversed(found.opened):
            self.built[id(v)] = self._built(v)

    @property
    def result(self) -> Variable:
        """The tree with its constant."""
        scale, x = self.scale, self.built[id(self.found.root)]
        if x is None:
            return scale.constant(scale.value)
        if isinstance(x, Inverse):
            return divide(scale.constant(scale.value if self.small is None else 1), x.x)
        return x if self.small is not None else scale.times(x)

    def _built(self, v: Variable) -> Variable | Inverse | None:
        fn, operands = function_of(v), [self._value(u, (v, k)) for k, u in enumerate(v.inputs)]
        if fn is negative:
            return operands[0]
        if fn is multiply:
            return _product(operands[0], operands[1])
        if fn is divide:
            return _product(operands[0], _inverted(operands[1]))
        if fn is gate:
            x, y = (self.found.peeled.get(id(u), u) for u in v.inputs)
            return gate(x, y)
        found = _whole_power(v)
        assert found is not None
        base = self.found.peeled.get(id(found[0]), found[0])
        return raised(base, found[1], v)

    def _value(self, u: Variable, place: Place) -> Variable | Inverse | None:
        """What stands for an operand; nothing for a constant, which is in the scale."""
        if id(u) in self.built:
            return self.built[id(u)]
        if _is_moderate(u):
            return None
        x = self.found.peeled.get(id(u), u)
        return self.scale.times(x) if self.small is not None and all(map(is_, place, self.small)) else x


def _inverted(x: Variable | Inverse | None) -> Variable | Inverse | None:
    return None if x is None else x.x if isinstance(x, Inverse) else Inverse(x)


def _product(x: Variable | Inverse | None, y: Variable | Inverse | None) -> Variable | Inverse | None:
    if x is None or y is None:
        return x if y is None else y
    if isinstance(y, Inverse):
        return divide(divide(1, x.x) if isinstance(x, Inverse) else x, y.x)
    return divide(y, x.x) if isinstance(x, Inverse) else multiply(x, y)


def _flat(found: Product, scale: Scale, *, unsafe: bool) -> Variable | None:
    """The product of powers, divided by one after the other, where equal factors above and below the line cancel."""
    above: list[Variable] = []
    below: list[Variable] = []
    for factor in found.factors.values():
        cancel = all(factor.counts) and (unsafe or is_finite_and_nonzero(factor.x))
        for line, n in zip((above, below), factor.net(cancel=cancel), strict=True):
            power = raised(factor.x, n, factor.x) if n > 1 else factor.x
            if power is None:
                return None
            if n:
                line.append(power)
    if not above:
        total: Variable = scale.constant(scale.value)
        return functools.reduce(divide, below, total)
    return scale.times(functools.reduce(divide, below, functools.reduce(multiply, above)))


def _rebuilt(root: Variable, inside: Inside, *, unsafe: bool) -> Variable | None:
    """The canonical product of a tree; None where no constant or sign has to move and nothing meets."""
    if function_of(root) is square or function_of(root) is power:
        return None
    found = Product(root, inside)
    scale = Scale(found)
    if scale.failed:
        return None
    if _is_power(found) or _cancels(found, unsafe=unsafe):
        result = _flat(found, scale, unsafe=unsafe)
    else:
        small = _smaller(found) if scale.value not in (1, -1) else None
        if not _is_misplaced(found, small):
            return None
        result = Stripped(found, scale, small).result
    return None if scale.failed else result


def _is_power(found: Product) -> bool:
    """Whether a tree is a power of one value, and cheaper as one."""
    if not found.occurrences > 1 == len(found.factors):
        return False
    ((above, below),) = (factor.counts for factor in found.factors.values())
    return not below and _cost_of_power(above) <= found.cost


def _cancels(found: Product, *, unsafe: bool) -> bool:
    """Whether a value is above and below the line, and may meet itself."""
    return any(all(f.counts) and (unsafe or is_finite_and_nonzero(f.x)) for f in found.factors.values())


def _smaller(found: Product) -> Place | None:
    """Where an operand of a product is repeated in it, so that the constant costs less there."""
    for v, n in found.opened:
        fn = function_of(v)
        operands = () if n != 1 else v.inputs if fn is multiply else v.inputs[:1] if fn is divide else ()
        for k, u in enumerate(operands):
            if not (is_scalar_constant(u) or is_shaped_like(u, found.root)):
                return v, k
    return None


def _is_misplaced(found: Product, small: Place | None) -> bool:
    """Whether a tree has several constants and signs, or one that is not where it belongs."""
    if found.scales + found.small_scales > 1:
        return True
    return found.scales == 1 and (small is not None or not _is_outermost(found.root))


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
        "canonical_integer_products",
        phase=CANONICALIZE,
        kind=EXACT,
        why="Constants and signs are one constant, outermost, modulo the width as well.",
        run=_run(INTEGER, unsafe=False),
        example=lambda x, y: cast_variable(x, "int32") * 2 * cast_variable(y, "int32") * 3,
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
