"""Partial products are those that a graph has nodes for; one is larger than others where some numbers make it so."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

import tg
from tg.graph.nodes import Constant
from tg.graph.traversal import sorted_applies
from tg.rewrite.rules.elementwise.exponential.factors import OTHER, Factor, Operand, Product, rebuilt
from tg.rewrite.rules.elementwise.exponential.partial import (
    grows,
    grows_in_sum,
    is_at_most_one,
    partial_products,
)

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)
FREE, SMALL, LARGE = "free", "small", "large"


def written(count, rng, within=()):
    """So many factors, some of them in operands."""
    found = []
    while count:
        taken = rng.randint(1, count)
        count -= taken
        if taken > 1 and rng.random() < 0.6 and len(within) < 3:
            found += written(taken, rng, (*within, Operand(rng.choice((1, -1)))))
        else:
            found += [(rng.choice((1, -1)), within) for _ in range(taken)]
    return found


@pytest.mark.parametrize("seed", range(40))
def test_partial_products_are_those_of_the_nodes_of_the_graph(seed):
    rng = random.Random(seed)
    rows = written(rng.randint(2, len(PRIMES)), rng)
    inputs = [tg.vector(f"x{k}") for k in range(len(rows))]
    factors = [Factor(OTHER, x, power=p, within=w) for x, (p, w) in zip(inputs, rows, strict=True)]
    numbers = {id(x): Fraction(p) for x, p in zip(inputs, PRIMES, strict=False)}
    value = lambda v: Fraction(1) if isinstance(v, Constant) else numbers[id(v)]  # noqa: E731
    for node, (result,) in sorted_applies([rebuilt(Product(*factors))]):
        x, y = map(value, node.inputs)
        numbers[id(result)] = x * y if node.op.name == "multiply" else x / y
    made = {
        frozenset(k for k, p in enumerate(PRIMES) if (n.numerator * n.denominator) % p == 0) for n in numbers.values()
    }
    assert partial_products([(f, frozenset((k,))) for k, f in enumerate(factors)]) - {frozenset()} == made


def factor(kind, name):
    """A factor of which nothing is known, which is at most 1, or at least 1."""
    x = tg.vector(name)
    return {FREE: Factor(OTHER, x), SMALL: Factor(OTHER, x, bounded=True), LARGE: Factor("cosh", x)}[kind]


SIZES = {FREE: (-1, 0, 1), SMALL: (-1, 0), LARGE: (0, 1)}  # their logarithms


def is_larger(kinds, before, after, pair=None):
    """Whether some numbers make a partial product larger than all before and 1; of a pair the product may be 1."""
    for sizes in itertools.product(*(SIZES[kind] for kind in kinds)):
        if pair is None or sizes[pair[0]] == -sizes[pair[1]]:
            largest = max(0, *(sum(sizes[k] for k in q) for q in before))
            if any(sum(sizes[k] for k in p) > largest for p in after):
                return True
    return False


IN_TURN = [frozenset(range(k)) for k in range(1, 6)] + [frozenset((k,)) for k in range(5)]


@pytest.mark.parametrize("pair", list(itertools.combinations(range(5), 2)))
def test_a_product_without_two_that_cancel_grows_where_numbers_make_it_larger(pair):
    for others in itertools.product((FREE, SMALL, LARGE), repeat=3):
        rest = iter(others)
        kinds = [FREE if k in pair else next(rest) for k in range(5)]
        factors = [factor(kind, f"x{k}") for k, kind in enumerate(kinds)]
        after = [(f, frozenset((k,))) for k, f in enumerate(factors) if k not in pair]
        left = [k for k in range(5) if k not in pair]
        expected = is_larger(kinds, IN_TURN, [frozenset(left[:n]) for n in (1, 2, 3)], pair)
        assert grows(factors, after) == expected, kinds


@pytest.mark.parametrize("pair", list(itertools.combinations(range(4), 2)))
@pytest.mark.parametrize("given", [(), (0, 3), (1, 2)])
def test_a_product_with_one_factor_for_two_grows_where_numbers_make_it_larger(pair, given):
    for kinds in itertools.product((FREE, SMALL, LARGE), repeat=4):
        factors = [factor(kind, f"x{k}") for k, kind in enumerate(kinds)]
        after = [(f, frozenset(pair if k == pair[0] else (k,))) for k, f in enumerate(factors) if k != pair[1]]
        parts = [p for _, p in after]
        made = [*parts, *(frozenset().union(*parts[:n]) for n in range(1, 4))]
        before = [q for q in IN_TURN if max(q) < 4]
        expected = is_larger(kinds, [*before, frozenset(given)], made)
        assert grows(factors, after, frozenset(given)) == expected, kinds


@pytest.mark.parametrize("place", range(3))
def test_a_term_grows_where_numbers_make_it_larger_than_it_was_without_what_was_outside(place):
    for others in itertools.product((FREE, SMALL, LARGE), repeat=2):
        rest = iter(others)
        kinds = [FREE if k == place else next(rest) for k in range(3)] + [FREE]
        factors = [factor(kind, f"x{k}") for k, kind in enumerate(kinds)]
        left = [k for k in range(3) if k != place]
        after = [factors[k]._replace(parts=frozenset((k,))) for k in left]
        before = [*IN_TURN[:3], *(frozenset((k,)) for k in range(4))]
        expected = is_larger(kinds, before, [frozenset(left[:n]) for n in (1, 2)], (place, 3))
        assert grows_in_sum(factors[:3], factors[3:], after) == expected, kinds


@pytest.mark.parametrize(("kind", "power", "grown"), [("sigmoid", 1, False), ("sigmoid", -1, True), ("exp", 1, True)])
def test_what_a_term_and_what_is_outside_amount_to_is_no_larger_if_it_is_a_share(kind, power, grown):
    a, b, c, u = (tg.vector(letter) for letter in "abcu")
    term = [Factor(OTHER, a), Factor("sinh", b), Factor(OTHER, c)]
    after = [Factor(OTHER, a), Factor(kind, u, power=power, bounded=kind == "sigmoid"), Factor(OTHER, c)]
    after = [f._replace(parts=frozenset(parts)) for f, parts in zip(after, ((0,), (1, 3), (2,)), strict=True)]
    assert grows_in_sum(term, [Factor("exp", u)], after) == grown


def test_1_and_an_exponential_of_a_term_is_about_one_of_the_two():
    a, b, u = (tg.vector(letter) for letter in "abu")
    over = Factor("sigmoid", u, power=-1, bounded=True, parts=frozenset((1, 2)))
    for inner, outer, front, grown in (
        (Factor("exp", u, -1), Factor("sigmoid", u, -1, -1), [Factor(OTHER, a)], False),
        (Factor("sigmoid", u, -1, -1), Factor("exp", u, -1), [Factor(OTHER, a)], True),
        (Factor("exp", u, -1), Factor("sigmoid", u, -1, -1), [], False),
    ):
        n = len(front)
        after = [*(f._replace(parts=frozenset((0,))) for f in front), over._replace(parts=frozenset((n, n + 1)))]
        assert grows_in_sum([*front, inner], [outer], after) == grown
    behind = [
        over._replace(parts=frozenset((0, 3))),
        *(Factor(OTHER, v, parts=frozenset((k,))) for k, v in ((1, a), (2, b))),
    ]
    term = [Factor("exp", u, -1), Factor(OTHER, a), Factor(OTHER, b)]
    assert grows_in_sum(term, [Factor("sigmoid", u, -1, -1)], behind)


X = tg.vector("x")
TOTAL = tg.sum(tg.exp(X), keepdims=True)
SIZED = {  # whether a factor is at most 1, and its reciprocal
    "a value": (Factor(OTHER, X), False, False), "a share": (Factor(OTHER, X, bounded=True), True, False),
    "one half": (Factor(OTHER, tg.constant(-0.5)), True, False), "one": (Factor(OTHER, tg.constant(1.0)), True, True),
    "minus one": (Factor(OTHER, tg.constant([-1.0])), True, True),
    "two": (Factor(OTHER, tg.constant(2.0)), False, True),
    "three halves": (Factor(OTHER, tg.constant(-1.5)), False, True),
    "nan": (Factor(OTHER, tg.constant(np.nan)), False, False),
    "several": (Factor(OTHER, tg.constant([0.5, 0.25])), False, False),
    "sigmoid": (Factor("sigmoid", X, bounded=True), True, False), "exp": (Factor("exp", X), False, False),
    "softmax": (Factor("softmax", tg.softmax(X), bounded=True), True, False),
    "sinh": (Factor("sinh", X), False, False), "cosh": (Factor("cosh", X), False, True),
    "expm1": (Factor("expm1", X), False, False), "a sum": (Factor("sum", TOTAL), False, False),
    "1 and a sum": (Factor("sum", TOTAL + 1.0), False, True),
    "a written sum": (Factor("sum", tg.exp(X) + tg.exp(-X)), False, False),
    "exp of 1 and a sum": (Factor("exp", TOTAL + 1.0), False, False),
}  # fmt: skip


@pytest.mark.parametrize("name", SIZED)
def test_a_factor_is_at_most_1_where_it_is_known_to_be(name):
    f, above, below = SIZED[name]
    assert is_at_most_one(f) is above
    assert is_at_most_one(f.to_power(-1)) is below
