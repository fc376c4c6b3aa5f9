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
from operator import is_
from typing import TYPE_CHECKING, Final, final

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import divide, gate, multiply, negative
from tg.ops.elementwise.cast import cast_variable
from tg.rewrite.phases import CANONICALIZE, EXACT, NAN_UNSAFE, REASSOCIATES
from tg.rewrite.rule import FLOATING, INTEGER, Pass
from tg.rewrite.rules.elementwise.arithmetic.analysis import (
    beside,
    constant,
    is_finite_and_nonzero,
    is_made_by,
    is_scalar_constant,
    nearest,
    number_of,
)
from tg.rewrite.rules.elementwise.arithmetic.powers import LARGEST_BY_PRODUCTS, exponent_of, raised
from tg.rewrite.rules.elementwise.arithmetic.trees import replacements
from tg.types.dtypes import is_integer, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tg.graph.function_graph import View
    from tg.graph.nodes import Variable
    from tg.rewrite.rules.elementwise.arithmetic.trees import Inside

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
    if is_made_by(v, negative):
        return True
    if not (is_made_by(v, multiply) or is_made_by(v, divide)):
        return False
    x, c = v.inputs
    return _is_moderate(c) and not isinstance(x, Constant) and x.type.ndim == v.type.ndim


@final
class Products:
    """The trees of products of some dtypes."""

    def __init__(self, dtypes: frozenset[str]) -> None:
        self.dtypes = dtypes

    def is_member(self, v: Variable) -> bool:
        """Whether a value is a product, a quotient, a negative, a whole power, or a gate."""
        if v.apply is None or v.type.dtype not in self.dtypes:
            return False
        if is_made_by(v, multiply) or is_made_by(v, divide):
            return all(not is_scalar_constant(u) or _is_moderate(u) for u in v.inputs)
        return is_made_by(v, negative) or is_made_by(v, gate) or _whole_power(v) is not None

    def operands(self, v: Variable) -> tuple[Variable, ...]:
        """The operands of products, quotients and negatives."""
        return v.inputs if any(is_made_by(v, fn) for fn in (multiply, divide, negative)) else ()

    def factored(self, v: Variable) -> tuple[Variable, ...]:
        """The operands of powers and gates from which a constant can be taken."""
        return () if self.operands(v) else tuple(u for u in v.inputs if _is_multiple(u))


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
        self.factors: dict[int, Factor] = {}
        self.constants: list[float] = [1, 1]
        self.cost = self.scales = self.occurrences = 0  # `scales` counts constants and signs
        stack: list[tuple[Variable, int]] = [(root, 1)]
        while stack:
            v, n = stack.pop()
            if _is_moderate(v):
                self._scale(number_of(v), n)
            elif v is root or v in inside:
                self._open(v, n, stack)
            else:
                self._take(v, n)

    def _open(self, v: Variable, n: int, stack: list[tuple[Variable, int]]) -> None:
        found = _whole_power(v)
        if is_made_by(v, gate):
            operands = [self._peeled(u, n) for u in v.inputs]
            self._take(v if all(map(is_, operands, v.inputs)) else gate(*operands), n)
        elif found is not None:
            base, exponent = found
            self.cost += _cost_of_power(exponent)
            self._take(self._peeled(base, n * exponent), n * exponent)
        elif is_made_by(v, negative):
            self.cost += 1
            self._scale(-1, n)
            stack.append((v.inputs[0], n))
        else:
            x, y = v.inputs
            self.cost += 1 if is_made_by(v, multiply) else QUOTIENT
            stack += [(y, n if is_made_by(v, multiply) else -n), (x, n)]

    def _peeled(self, x: Variable, n: int) -> Variable:
        """A value without the constant or sign that may be taken out of it, which goes to the constant of the tree."""
        if not self.inside.has_factored(x):
            return x
        self.cost += QUOTIENT if is_made_by(x, divide) else 1
        if is_made_by(x, negative):
            self._scale(-1, n)
        else:
            self._scale(number_of(x.inputs[1]), -n if is_made_by(x, divide) else n)
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


class Written:
    """A product as an expression, with its cost; `result` is None where its constant is no normal number."""

    def __init__(self, found: Product, *, unsafe: bool) -> None:
        self.root, self.dtype = found.root, found.root.type.dtype
        self.cost, self.failed = 0, False
        lines: tuple[list[Variable], list[Variable]] = ([], [])
        for factor in found.factors.values():
            counts = factor.net(cancel=unsafe or is_finite_and_nonzero(factor.x))
            for line, n in zip(lines, counts, strict=True):
                if n:
                    line.append(self._raised(factor.x, n))
        above, below = map(self._multiplied, lines)
        result = self._scaled(above, below, *found.constants)
        self.result = None if self.failed else result

    def _raised(self, x: Variable, n: int) -> Variable:
        if n == 1:
            return x
        self.cost += _cost_of_power(n)
        found = raised(x, n, x)
        self.failed |= found is None
        return x if found is None else found

    def _multiplied(self, factors: list[Variable]) -> Variable | None:
        if not factors:
            return None
        self.cost += len(factors) - 1
        return functools.reduce(multiply, factors)

    def _scaled(self, above: Variable | None, below: Variable | None, n: float, d: float) -> Variable:
        """Above / below * n / d, with one constant."""
        value = nearest(int(n), self.dtype) if is_integer(self.dtype) else n / d
        if above is None:
            if below is None:
                return self._constant(value, None)
            self.cost += QUOTIENT
            return divide(self._constant(value, below), below)
        if below is not None:
            self.cost += QUOTIENT
            above = divide(above, below)
        if value == 1:
            return above
        if value == -1:
            self.cost += 1
            return negative(above)
        divides = abs(n) == 1 and not is_integer(self.dtype)
        self.cost += QUOTIENT if divides else 1
        return divide(above, self._constant(d / n, above)) if divides else multiply(above, self._constant(value, above))

    def _constant(self, value: float, other: Variable | None) -> Constant:
        c = constant(value, self.dtype)
        if c is None:
            self.failed = True
            c = Constant(np.ones((), numpy_dtype(self.dtype)))
        return c if other is None else beside(c, other, self.root)


def _rebuilt(root: Variable, inside: Inside, *, unsafe: bool) -> Variable | None:
    """The canonical product of a tree; None where it is not cheaper and no constant or sign has to move."""
    found = Product(root, inside)
    if _whole_power(root) is not None or (found.scales == 0 and found.occurrences < 2):
        return None
    written = Written(found, unsafe=unsafe)
    if written.result is None:
        return None
    gain = found.cost - written.cost
    moves = found.scales > 1 or (found.scales == 1 and not _is_outermost(root))
    merges = found.occurrences > 1 == len(found.factors)
    return written.result if gain > 0 or (gain == 0 and (moves or merges)) else None


def _is_outermost(root: Variable) -> bool:
    """Whether a tree with one constant or sign has it where it belongs."""
    return _is_multiple(root) or (is_made_by(root, divide) and _is_moderate(root.inputs[0]))


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
