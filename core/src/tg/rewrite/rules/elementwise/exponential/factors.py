"""A product as a list of factors: powers 1 and -1 of functions, each at a stage of products and gates.

A value is a sign times factors, gated by others, multiplied by others again, and so on. Even stages multiply what the
stages before have made, odd ones gate it: gate(y * a, b) * c has y and a at stage 0, b at 1 and c at 2. What stands at
an odd stage is hidden wherever what it gates is 0, what stands at an even one is not; and a factor leaves its stage
only for one where as much of it is hidden.

There is one way in, `product_of` (in `reading`), and one way out, `rebuilt`.
"""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Final, NamedTuple, final

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import divide, gate, multiply, negative
from tg.ops.elementwise.comparison import isnan, where
from tg.ops.elementwise.exponential import exp, expm1, sigmoid
from tg.ops.elementwise.trigonometric import cosh, sinh
from tg.rewrite.rules.elementwise.arithmetic.scalars import exact
from tg.rewrite.rules.elementwise.exponential.terms import moved, signed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Apply, Variable
    from tg.graph.op import Op

MOST_FACTORS: Final = 12
OTHER: Final = "other"
UNPLACED: Final = "unplaced"  # a sum of exponentials that does not stand beside them yet
FUNCTIONS: Final = {"sigmoid": sigmoid, "exp": exp, "expm1": expm1, "sinh": sinh, "cosh": cosh}
KIND_OF: Final = {fn: kind for kind, fn in FUNCTIONS.items()}


class Written(NamedTuple):
    """A value in the graph that is a function, or its reciprocal."""

    v: Variable
    power: int


@final
class Operand:
    """A product as it stands in another one, to the power 1 or -1.

    What is left of it stays together: one factor after the other may overflow or vanish where their product does not.
    """

    __slots__ = ("power",)

    def __init__(self, power: int) -> None:
        self.power = power


class Factor(NamedTuple):
    """A function at sign * u to the power 1 or -1, at a stage of its product. What is bounded is at most 1 in size.

    Of a sum of exponentials, of a softmax and of any other value u is the value. How the function, whatever its power
    here, is `written` in the graph is set where it is read, and moved with it; only a new factor has another function.
    It stands `within` operands, the outermost first. A divisor that has left a sum knows the `whole`, the sum with it.
    Where a sum is distributed, `parts` are the places of the factors that it is the product of.
    """

    kind: str
    u: Variable
    sign: int = 1
    power: int = 1
    stage: int = 0
    bounded: bool = False
    written: Written | None = None
    within: tuple[Operand, ...] = ()
    whole: Variable | None = None
    parts: frozenset[int] = frozenset()

    def value(self) -> Written:
        """What to put into a product, and its power."""
        if self.written is not None:
            return Written(self.written.v, self.written.power * self.power)
        if self.kind in FUNCTIONS:
            return Written(FUNCTIONS[self.kind](signed(self.u, self.sign)), self.power)
        return Written(self.u, self.power)

    def at(self, stage: int) -> Factor:
        """The factor at another stage."""
        return self._replace(stage=stage)

    def to_power(self, power: int) -> Factor:
        """The factor or its reciprocal."""
        return self._replace(power=self.power * power)

    def moved(self, node: Apply) -> Factor:
        """The factor where a movement takes it."""
        made, whole = self.written, self.whole
        return self._replace(
            u=moved(self.u, node),
            written=None if made is None else Written(moved(made.v, node), made.power),
            whole=None if whole is None else moved(whole, node),
        )

    @property
    def is_gated(self) -> bool:
        """Whether a 0 of what stands before hides the factor."""
        return self.stage % 2 == 1


class Guard(NamedTuple):
    """A value with which a product is NaN, though it cancelled in it; at a gate where what stands before is not 0."""

    u: Variable
    stage: int

    @property
    def is_gated(self) -> bool:
        """Whether a 0 of what stands before hides that it is NaN."""
        return self.stage % 2 == 1


class Product:
    """The factors of a value by their stages, its sign, and its guards."""

    __slots__ = ("factors", "guards", "sign")

    def __init__(self, *factors: Factor, sign: int = 1, guards: tuple[Guard, ...] = ()) -> None:
        self.factors, self.sign = list(factors), sign
        self.guards = list(guards)

    @property
    def is_special(self) -> bool:
        """Whether it has factors that may meet others."""
        return any(f.kind != OTHER for f in self.factors)

    @property
    def last(self) -> int:
        """The last stage."""
        return max([*(f.stage for f in self.factors), *(g.stage for g in self.guards)], default=0)

    def outside(self) -> int:
        """The stage at which a factor is multiplied with all of the product."""
        return self.last + self.last % 2


def multiplied(a: Product, b: Product, power: int = 1) -> Product | None:
    """The product, or quotient by a power of -1; None where both have gates, or a divisor, or one has a guard."""
    if b.last:
        if a.last or power < 0:
            return None
        a, b = b, a
    return _beside(a, b, a.outside(), power)


def divided(a: Product, b: Product) -> Product | None:
    """The quotient of two products, as `multiplied`."""
    return multiplied(a, b, -1)


def gated(dy: Product, d: Product) -> Product | None:
    """gate(dy, d); None where d has a gate, one has a guard, or there are too many factors."""
    return None if d.last else _beside(dy, d, dy.outside() + 1, 1)


def _beside(a: Product, b: Product, stage: int, power: int) -> Product | None:
    if a.guards or b.guards or len(a.factors) + len(b.factors) > MOST_FACTORS:
        return None
    operand = Operand(power)
    factors = [f.to_power(power).at(stage)._replace(within=(operand, *f.within)) for f in b.factors]
    return Product(*a.factors, *factors, sign=a.sign * b.sign)


JOINED: Final[dict[Op, Callable[[Product, Product], Product | None]]] = {
    multiply.op: multiplied,
    divide.op: divided,
    gate.op: gated,
}


def rebuilt(found: Product) -> Variable | None:
    """The product of the factors at their stages, with its sign; None where nothing is left, or a 0."""
    if any(exact(f.value().v) == 0 for f in found.factors):
        return None  # nothing is gained, and what was small where exponentials met may be infinite beside it
    made: Variable | None = None
    guards = sorted(found.guards, key=lambda g: (not g.is_gated, g.stage))  # a NaN that no gate hides is one to the end
    for stage, some in itertools.groupby(_returned(found.factors), lambda f: f.stage):
        while guards and guards[0].is_gated and guards[0].stage <= stage:
            made = _guarded(made, guards.pop(0))
        if made is not None and stage % 2:
            made = gate(made, _product(list(some)))
        else:
            made = _product([*([] if made is None else [Factor(OTHER, made)]), *some])
    for guard in guards:
        made = _guarded(made, guard)
    return made if made is None or found.sign > 0 else negative(made)


def _returned(factors: list[Factor]) -> list[Factor]:
    """The factors with each divisor that has left a sum and met none back in it, for the sum may overflow without."""
    wholes = {f.within: whole for f in factors if (whole := f.whole) is not None}
    return [
        f if f.within not in wholes else f._replace(u=wholes[f.within], within=f.within[:-1])
        for f in factors
        if f.whole is None
    ]


def _guarded(made: Variable | None, guard: Guard) -> Variable:
    u = guard.u
    if made is None:
        return where(isnan(u), u, Constant(np.array(1, u.type.numpy_dtype)))
    return where(isnan(u), gate(made, u) if guard.is_gated else u, made)


def _product(factors: list[Factor]) -> Variable:
    """The product of factors at one stage."""
    v, power = _in_turn(_values(factors))
    return v if power > 0 else divide(1, v)


def _values(factors: list[Factor], depth: int = 0) -> list[Written]:
    """The values of factors and their powers, what is left of an operand as one."""
    found: list[Written] = []
    for operand, some in itertools.groupby(factors, lambda f: f.within[depth] if len(f.within) > depth else None):
        if operand is None:
            found.extend(f.value() for f in some)
        else:
            values = [Written(v, power * operand.power) for v, power in _values(list(some), depth + 1)]
            v, power = _in_turn(values)
            found.append(Written(v, power * operand.power))
    return found


def _in_turn(values: list[Written]) -> Written:
    """The product of values and reciprocals, one by one: all above a line may overflow, or vanish, as all below it.

    Only reciprocals that stand in front are one divisor: 1 / b / c * a is a / (b * c), for a / b has not been made.
    """
    count = next((k for k, (_, power) in enumerate(values) if power > 0), len(values))
    below = [v for v, _ in values[:count]]
    if count == len(values):
        return Written(functools.reduce(multiply, below), -1)
    made = values[count].v
    if below:
        made = divide(made, functools.reduce(multiply, below))
    for v, power in values[count + 1 :]:
        made = multiply(made, v) if power > 0 else divide(made, v)
    return Written(made, 1)
