"""Canonical sums: over trees of +, - and constant multiples whose inner values are used once.

Like terms are merged, constants are one and last, a factor that several terms share stands before their sum, and there
are as few changes of sign as can be. A sum in which nothing of this happens is left as it was written, with the
roundings of its author. Terms keep the order in which they first appear.

x - x is not 0 where x is infinite. So terms of opposite sign are merged only where x is known to be finite; in a pass
of class nan_unsafe everywhere. And what was finite term by term may overflow once it is added up: 3 * x of x + x + x,
or x + y of x / 4 + y / 4. A sum has one such part at most, or several of one known sign, and they come before all else
that is added up: there might be infinities of opposite sign, whose sum is NaN.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple, final

import numpy as np

from tg.graph.facts import holds
from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import add, divide, multiply, negative, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.rewrite.phases import CANONICALIZE, EXACT, NAN_UNSAFE, REASSOCIATES
from tg.rewrite.rule import FLOATING, INTEGER, Pass
from tg.rules.elementwise.arithmetic.analysis import is_finite
from tg.rules.elementwise.arithmetic.scalars import (
    constant,
    exact,
    keeps_digits,
    nearest,
    size,
)
from tg.rules.elementwise.arithmetic.trees import function_of, replacements
from tg.types.dtypes import is_integer, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tg.graph.nodes import Variable
    from tg.graph.view import View
    from tg.rules.elementwise.arithmetic.scalars import Exact
    from tg.rules.elementwise.arithmetic.trees import Inside

    Signed = tuple[Variable, bool]  # a value, and whether it is subtracted

QUOTIENT: Final = 4  # what a quotient costs, counted in sums
LARGEST_DISTRIBUTED: Final = 24  # cost of a tree into which factors are multiplied, to see whether it pays


class Entry(NamedTuple):
    """The term x * factor / divisor."""

    x: Variable
    factor: Exact
    divisor: Exact


class Term:
    """A value with the factors of its occurrences by their divisors, those above and below 0 added up on their own."""

    __slots__ = ("parts", "x")

    def __init__(self, x: Variable) -> None:
        self.x = x
        self.parts: dict[Exact, list[Exact]] = {}

    def take(self, factor: Exact, divisor: Exact) -> None:
        """One more occurrence."""
        if divisor.numerator < 0:
            factor, divisor = -factor, -divisor
        self.parts.setdefault(divisor, [0, 0])[factor.numerator < 0] += factor

    def entries(self, *, merge: bool) -> list[Entry]:
        """Rest of the occurrences; those of opposite signs together if they may `merge`."""
        if len(self.parts) == 1:
            ((divisor, (above, below)),) = self.parts.items()
        else:
            divisor = 1
            above, below = (sum(Fraction(part[k]) / d for d, part in self.parts.items()) for k in (0, 1))
        factors = [above + below] if merge or is_finite(self.x) else [above, below]
        return [Entry(self.x, factor, divisor) for factor in factors if factor]


class Sum:
    """A tree as terms and a constant, with what it costs as it stands."""

    def __init__(self, root: Variable, inside: Inside, *, distribute: bool) -> None:
        self.root, self.inside, self.distribute = root, inside, distribute
        self.dtype = root.type.dtype
        self.terms: dict[int, Term] = {}
        self.constant: Exact = 0
        self.least: Exact = 0  # the size of the smallest constant but 0
        self.occurrences = self.cost = 0
        self.given_up = self.distributed = False
        self.can_distribute = False  # whether there is a multiple of a sum, or a sum of a multiple, that is opened then
        self.opened: list[Variable] = []  # operands after what reads them
        self._walk()

    def _walk(self) -> None:
        stack: list[tuple[Variable, Exact]] = [(self.root, 1)]
        while stack and not self.given_up:
            v, factor = stack.pop()
            number = exact(v)
            if number is not None:
                self.constant += factor * number
                if number:
                    one = size(factor * number)
                    self.least = min(self.least or one, one)
            elif v is not self.root and v not in self.inside and not self._distributes(v):
                self._take(v, factor, 1)
            else:
                self._open(v, factor, stack)
                self.given_up = self.distribute and self.cost > LARGEST_DISTRIBUTED

    def _distributes(self, v: Variable) -> bool:
        """Whether factors are multiplied into a value that is one, if it is."""
        has_factor = self.inside.has_factored(v)
        self.can_distribute |= has_factor
        return has_factor and self.distribute

    def _open(self, v: Variable, factor: Exact, stack: list[tuple[Variable, Exact]]) -> None:
        fn, x, c = function_of(v), v.inputs[0], v.inputs[-1]
        self.cost += QUOTIENT if fn is divide else 1
        self.opened.append(v)
        if fn is negative:
            stack.append((x, -factor))
        elif fn is add or fn is subtract:
            stack += [(c, factor if fn is add else -factor), (x, factor)]
        else:
            number = _number(v)
            if self._distributes(x):
                self.distributed = True
                stack.append((x, factor * number))
            else:
                self._take(x, *((factor, number) if fn is divide else (factor * number, 1)))

    def _take(self, x: Variable, factor: Exact, divisor: Exact) -> None:
        self.occurrences += 1
        self.terms.setdefault(id(x), Term(x)).take(factor, divisor)

    def entries(self, *, unsafe: bool) -> list[Entry]:
        """The terms in order; those that cancel are gone."""
        if is_integer(self.dtype):
            merged = (entry for term in self.terms.values() for entry in term.entries(merge=True))
            wrapped = (entry._replace(factor=nearest(int(entry.factor), self.dtype)) for entry in merged)
            return [entry for entry in wrapped if entry.factor]
        return [entry for term in self.terms.values() for entry in term.entries(merge=unsafe)]

    def largest(self) -> dict[int, Exact]:
        """By the ids of the terms the size of their largest multiple that the tree has as a value of its own."""
        alone: dict[int, tuple[int, Exact] | None] = {}
        sizes: dict[int, Exact] = {}
        for v in reversed(self.opened):
            fn = function_of(v)
            first, *rest = (alone[id(u)] if id(u) in alone else (id(u), 1) for u in v.inputs)
            one = first
            if first is None:
                pass
            elif fn is add or fn is subtract:
                (second,) = rest
                if second is None or second[0] != first[0]:
                    one = None
                else:
                    one = first[0], first[1] + (second[1] if fn is add else -second[1])
            elif fn is not negative:
                one = first[0], first[1] * (Fraction(1, _number(v)) if fn is divide else _number(v))
            alone[id(v)] = one
            if one is not None:
                sizes[one[0]] = max(sizes.get(one[0], 1), size(one[1]))
        return sizes


class Plan:
    """Terms by their common factors and a constant: what a sum would cost, and how to write it."""

    def __init__(self, tree: Sum, entries: list[Entry], *, shares: bool = True) -> None:
        self.dtype = tree.dtype
        self.value = nearest(int(tree.constant), self.dtype) if is_integer(self.dtype) else tree.constant
        self.groups = _by_factor(entries, self.dtype, shares=shares)
        self.failed = False

    def keeps_apart(self, tree: Sum) -> bool:
        """Whether no infinities of opposite sign can meet where nothing was infinite, with large parts in front."""
        if is_integer(self.dtype):
            return True
        large = self._large(tree)
        if not large:
            return True
        sign = _sign_of([term for k in large for term in self.groups[k][2]])
        if (len(large) > 1 and not sign) or any(self._has_both_signs(k) for k in large):
            return False
        turned = [all(below for _, below in terms) for _, _, terms in self.groups]
        first = turned.index(min(turned))
        order = [first, *(k for k in range(len(turned)) if k != first)]
        before = order[: max(order.index(k) for k in large)]
        others = [k for k in before if k not in large and not (sign and sign == _sign_of(self.groups[k][2]))]
        if len(others) > 1:
            rest = [group for k, group in enumerate(self.groups) if k not in large]
            self.groups = [*(self.groups[k] for k in large), *rest]
        return True

    def _has_both_signs(self, k: int) -> bool:
        """Whether what a group is a multiple of is left with the other sign as well: 2 * x - x of x - (x - x)."""
        (x, _), *others = self.groups[k][2]
        return not others and sum(x is y for _, _, terms in self.groups for y, _ in terms) > 1

    def _large(self, tree: Sum) -> list[int]:
        """The places of the groups that may be infinite where none of their terms is, and nothing that was written."""
        sizes: dict[int, Exact] | None = None
        large = []
        for k, (factor, divisor, terms) in enumerate(self.groups):
            if len(terms) == 1 and factor > divisor:
                sizes = tree.largest() if sizes is None else sizes
                if factor > divisor * sizes.get(id(terms[0][0]), 1):
                    large.append(k)
            elif len(terms) > 1:
                large.append(k)
        return large

    @property
    def cost(self) -> int:
        """Cost of the sum when it is written."""
        cost = len(self.groups) - 1 if self.groups else 0
        turned = bool(self.groups)
        for factor, divisor, terms in self.groups:
            cost += len(terms) - 1 + (QUOTIENT if divisor != 1 else factor != 1)
            turned = turned and all(below for _, below in terms)
        return cost + bool(self.groups and (turned or self.value))

    def written(self) -> Variable | None:
        """The expression; None where a factor is no normal number of the dtype."""
        result = self._summed([self._piece(*group) for group in self.groups])
        return None if self.failed else result

    def _piece(self, factor: Exact, divisor: Exact, terms: list[Signed]) -> Signed:
        """A value and whether it is subtracted: the sum of terms that share a factor, times that factor."""
        x, turned = _chained(terms)
        if divisor != 1:
            return divide(x, self._constant(divisor)), turned
        return (multiply(x, self._constant(factor)) if factor != 1 else x), turned

    def _constant(self, value: Exact) -> Constant:
        c = constant(value, self.dtype)
        if c is None:
            self.failed = True
            return Constant(np.zeros((), numpy_dtype(self.dtype)))
        return c

    def _summed(self, pieces: list[Signed]) -> Variable:
        if not pieces:
            return self._constant(self.value)
        x, turned = _chained(pieces)
        if not self.value:
            return negative(x) if turned else x
        if turned:
            return subtract(self._constant(self.value), x)
        c = self._constant(size(self.value))
        return add(x, c) if self.value > 0 else subtract(x, c)


def _chained(pieces: list[Signed]) -> Signed:
    """Values added and subtracted in order from the first that is added; whether all of it is to be subtracted."""
    if all(turned for _, turned in pieces):
        return _chained([(x, False) for x, _ in pieces])[0], True
    first = next(k for k, (_, turned) in enumerate(pieces) if not turned)
    total = pieces[first][0]
    for x, turned in (*pieces[:first], *pieces[first + 1 :]):
        total = subtract(total, x) if turned else add(total, x)
    return total, False


def _sign_of(terms: list[Signed]) -> int:
    """1 or -1 where no term can be on the other side of 0, else 0."""
    for fact, sign in (("nonnegative", 1), ("nonpositive", -1)):
        first = terms[0][1]
        if all(below == first and holds(x, fact) for x, below in terms):
            return -sign if first else sign
    return 0


def _by_factor(entries: list[Entry], dtype: str, *, shares: bool) -> list[tuple[Exact, Exact, list[Signed]]]:
    """Terms gathered by the size of their factor if they are to share it; those without one stay on their own."""
    groups: dict[object, tuple[Exact, Exact, list[Signed]]] = {}
    for x, factor, divisor in entries:
        parts = (size(factor), 1) if divisor == 1 else (1, Fraction(divisor) / size(factor))
        alone = parts[0] <= parts[1] if dtype == "float16" else parts == (1, 1)
        key = (id(x), factor < 0) if alone or not shares else parts  # in float16 a sum of what was made small overflows
        groups.setdefault(key, (*parts, []))[2].append((x, factor < 0))
    return list(groups.values())


@final
class Sums:
    """The trees of sums, differences, negatives and constant multiples of some dtypes."""

    functions: frozenset[object] = frozenset((add, subtract, negative, multiply, divide))

    def __init__(self, dtypes: frozenset[str]) -> None:
        self.dtypes = dtypes

    def is_member(self, v: Variable) -> bool:
        """Whether a value is a sum, a difference, a negative or a multiple."""
        fn = function_of(v)
        return (fn is not multiply and fn is not divide) or _is_multiple(v)

    def operands(self, v: Variable) -> tuple[Variable, ...]:
        """The operands of all but multiples."""
        fn = function_of(v)
        return () if fn is multiply or fn is divide else v.inputs

    def factored(self, v: Variable) -> tuple[Variable, ...]:
        """Operand that a product with a number is a multiple of."""
        return (v.inputs[0],) if function_of(v) is multiply else ()


def _is_multiple(v: Variable) -> bool:
    """Whether a product or quotient is x * c or x / c, for a finite number c other than 0."""
    return bool(exact(v.inputs[1]))


def _number(v: Variable) -> Exact:
    """The number that a multiple is one by."""
    number = exact(v.inputs[1])
    assert number is not None
    return number


def _rebuilt(root: Variable, inside: Inside, *, unsafe: bool) -> Variable | None:
    """The canonical sum of a tree; None where nothing is merged in it and nothing saved."""
    best, gain = None, 0
    tree: Sum | None = None
    for distribute in (False, True):
        if tree is not None and not tree.can_distribute:
            break
        tree = Sum(root, inside, distribute=distribute)
        if not keeps_digits(tree.constant, tree.least, tree.dtype):
            continue
        if tree.given_up or (distribute and not tree.distributed):
            continue
        entries = tree.entries(unsafe=unsafe)
        plan = Plan(tree, entries)
        if not plan.keeps_apart(tree):
            plan = Plan(tree, entries, shares=False)
            if not plan.keeps_apart(tree):
                continue
        merges = not distribute and len(entries) < tree.occurrences
        if tree.cost - plan.cost > gain - merges:
            written = plan.written()
            if written is not None:
                best, gain = written, tree.cost - plan.cost
    return best


def _run(dtypes: frozenset[str], *, unsafe: bool) -> Callable[[View], Mapping[int, Variable]]:
    kind = Sums(dtypes)

    def run(view: View) -> Mapping[int, Variable]:
        return replacements(view, kind, functools.partial(_rebuilt, unsafe=unsafe))

    return run


PASSES = (
    Pass(
        "canonical_sums",
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="Like terms are one term, constants one constant, and a common factor is applied once.",
        run=_run(FLOATING, unsafe=False),
        example=lambda x, y: x * 2 + y + x,
    ),
    Pass(
        "canonical_integer_sums",
        phase=CANONICALIZE,
        kind=EXACT,
        why="Like terms are one term, constants one constant, modulo the width as well.",
        run=_run(INTEGER, unsafe=False),
        example=lambda x, y: cast_variable(x, "int32") * 2 + cast_variable(y, "int32") + cast_variable(x, "int32"),
    ),
    Pass(
        "cancelled_terms",
        phase=CANONICALIZE,
        kind=NAN_UNSAFE,
        why="x - x is 0; NaN where x is NaN or infinite.",
        run=_run(FLOATING, unsafe=True),
        example=lambda x, y: x * 2 + y - x,
    ),
)
