"""Canonical products: over trees of products, quotients, signs and whole powers whose inner values are used once.

The constants and signs of a tree are one constant, outermost; equal factors are one power; what divides is divided by
once. A tree in which nothing of this happens is left as it was written. Factors keep the order in which they first
appear. Constants and signs leave gates (0 where the first operand is 0, else the product) as well.

x / x is not 1 where x is 0 or infinite. So factors above and below the line meet only where x is known to be finite and
not 0; in a pass of class nan_unsafe everywhere. float16 is left alone: a product of two ordinary numbers leaves its
range. For the same reason very large and very small constants stay where they are: they are there to scale.
"""

from __future__ import annotations

import functools
import math
from operator import is_
from typing import TYPE_CHECKING, Final, final

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

    Powered = tuple[Variable, int]

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
        if fn is multiply or fn is divide:
            x, y = v.inputs
            self.cost += 1 if fn is multiply else QUOTIENT
            stack += [(y, n if fn is multiply else -n), (x, n)]
        elif fn is negative:
            self.cost += 1
            self._scale(self.minus_one, n)
            stack.append((v.inputs[0], n))
        elif fn is gate:
            operands = [self._peeled(u, n) for u in v.inputs]
            self._take(v if all(map(is_, operands, v.inputs)) else gate(*operands), n)
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
        return x.inputs[0]

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


class Plan:
    """Powers above and below the line and a constant: what a product would cost, and how to write it."""

    def __init__(self, found: Product, *, unsafe: bool) -> None:
        self.root, self.dtype = found.root, found.root.type.dtype
        self.whole, self.failed = found.whole, False
        self.lines: tuple[list[Powered], list[Powered]] = ([], [])
        for factor in found.factors.values():
            cancel = all(factor.counts) and (unsafe or is_finite_and_nonzero(factor.x))
            for line, n in zip(self.lines, factor.net(cancel=cancel), strict=True):
                if n:
                    line.append((factor.x, n))
        self.n, self.d = found.constants
        self.value: float = nearest(int(self.n), self.dtype) if self.whole else math.nan
        if not self.whole and self.d:
            self.value = self.n / self.d
        self.divides = abs(self.n) == 1 and not self.whole
        above = self.lines[0]
        small = (k for k, (x, _) in enumerate(above) if not is_shaped_like(x, self.root))
        self.small = next(small, None)  # the first factor that is repeated: where a constant costs less

    @property
    def cost(self) -> int:
        """What the product costs when it is written."""
        above, below = self.lines
        cost = sum(_cost_of_power(n) for line in self.lines for _, n in line if n > 1)
        cost += sum(len(line) - 1 for line in self.lines if line) + (QUOTIENT if below else 0)
        if not above or self.value == 1:
            return cost
        if self.value == -1:
            return cost + 1
        return cost if self.small is not None else cost + (QUOTIENT if self.divides else 1)

    def written(self) -> Variable | None:
        """The expression; None where its constant is no normal number."""
        above, below = ([self._raised(x, n) for x, n in line] for line in self.lines)
        result = self._quotient(above, below)
        return None if self.failed else result

    def _raised(self, x: Variable, n: int) -> Variable:
        found = raised(x, n, x) if n > 1 else x
        self.failed |= found is None
        return x if found is None else found

    def _quotient(self, above: list[Variable], below: list[Variable]) -> Variable:
        if not above:
            c = self._constant(self.value)
            return divide(c, _multiplied(below)) if below else c
        placed = self.value in (1, -1)
        if not placed and self.small is not None:
            above, placed = self._scaled_where_small(above, above[self.small]), True
        found = _multiplied(above)
        if below:
            found = divide(found, _multiplied(below))
        if placed:
            return negative(found) if self.value == -1 else found
        return self._scaled(found)

    def _scaled_where_small(self, factors: list[Variable], small: Variable) -> list[Variable]:
        """The factors, those of the shape of the small one multiplied by one another and the constant."""
        some = [x for x in factors if is_shaped_like(x, small)]
        ids = set(map(id, some))
        scaled = self._scaled(_multiplied(some))
        return [scaled if x is small else x for x in factors if x is small or id(x) not in ids]

    def _scaled(self, x: Variable) -> Variable:
        if self.divides:
            return divide(x, self._constant(self.d / self.n))
        return multiply(x, self._constant(self.value))

    def _constant(self, value: float) -> Constant:
        c = constant(value, self.dtype)
        if c is None:
            self.failed = True
            c = Constant(np.ones((), numpy_dtype(self.dtype)))
        return c


def _multiplied(factors: list[Variable]) -> Variable:
    return functools.reduce(multiply, factors)


def _rebuilt(root: Variable, inside: Inside, *, unsafe: bool) -> Variable | None:
    """The canonical product of a tree; None where it is not cheaper and no constant or sign has to move."""
    if function_of(root) is square or function_of(root) is power:
        return None
    found = Product(root, inside)
    plan = Plan(found, unsafe=unsafe)
    gain = found.cost - plan.cost
    merges = found.occurrences > 1 == len(found.factors)
    return plan.written() if gain > 0 or (gain == 0 and (merges or _is_misplaced(found, plan))) else None


def _is_misplaced(found: Product, plan: Plan) -> bool:
    """Whether a tree has several constants and signs, or one that is not where it belongs."""
    if found.scales + found.small_scales > 1:
        return True
    if plan.small is not None:
        return found.scales == 1 and function_of(found.root) is not negative
    return found.scales == 1 and not _is_outermost(found.root)


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
        why="Constants and signs are one constant, outermost; a chain of quotients is one quotient.",
        run=_run(WIDE, unsafe=False),
        example=lambda x, y: x * 2 * y / x / y,
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
