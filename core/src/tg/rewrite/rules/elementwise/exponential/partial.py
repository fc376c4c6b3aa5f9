"""Partial products: what is multiplied on the way to a product, which may overflow where the product does not.

Between exp(u) and 1 / exp(u) any others may be multiplied that overflow without exp(u): a * exp(u) * b * c / exp(u) is
finite where a * b * c is, but (a * b) * c need not be, nor a product of the three in another order. So factors cancel
only where each partial product that is then made is at most as large as one that was made before.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tg.rewrite.rules.elementwise.arithmetic.scalars import exact, size
from tg.rewrite.rules.elementwise.exponential.factors import OTHER
from tg.rewrite.rules.elementwise.exponential.terms import aligned_sum_of_exp

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.rewrite.rules.elementwise.exponential.factors import Factor

    Parts = frozenset[int]  # the factors of a product, by their places among those that were read


def grows(before: list[Factor], after: list[tuple[Factor, Parts]], given: Parts = frozenset()) -> bool:
    """Whether a product of other factors has a partial product that may be larger than all that it had.

    Args:
        after: the factors that take the place of those before, and of which of them each is the product.
        given: what else is known to be made, or to be no larger than what is.
    """
    cancelled = frozenset(range(len(before))).difference(*(parts for _, parts in after))
    made = partial_products([(f, frozenset((k,))) for k, f in enumerate(before)])
    made = {given, *(q - cancelled if cancelled <= q else q for q in made)}
    small = {k for k, f in enumerate(before) if is_at_most_one(f)}
    large = {k for k, f in enumerate(before) if is_at_most_one(f._replace(power=-f.power))}
    return not all(any(p - q <= small and q - p <= large for q in made) for p in partial_products(after))


def grows_in_sum(term: list[Factor], outside: list[Factor], after: list[Factor]) -> bool:
    """Whether a term that has met factors from outside its sum has a partial product that may be larger than before.

    Their product was not made, and need not be large where terms cancel: a * exp(u) * c - b * exp(u) * c may be 0 where
    a * c overflows. Shares of 1 stand in any case, and 1 + exp(u) is about 1 or the exp(u) that a term had.
    """
    own = frozenset(range(len(term)))
    before = [*term, *outside]
    cancelled = frozenset(range(len(before))).difference(*(f.parts for f in after))
    made = partial_products([(f, frozenset((k,))) for k, f in enumerate(term)])
    made |= {frozenset(), *(frozenset((k,)) for k in range(len(term), len(before)))}
    made |= {q - cancelled for q in made if cancelled <= q}
    small = {k for k, f in enumerate(before) if is_at_most_one(f)}
    large = {k for k, f in enumerate(before) if is_at_most_one(f._replace(power=-f.power))}
    met = [f for f in after if len(f.parts) > 1]
    small.update(*(f.parts for f in met if f.bounded and f.power > 0))
    sums = [f.parts for f in met if f.kind == "sigmoid" and f.power < 0]
    sums = [parts for parts in sums if all(term[k].kind == "exp" for k in parts & own)]

    def is_made(p: Parts) -> bool:
        if any(p - q <= small and q - p <= large for q in made):
            return True
        return any(parts <= p and is_made(p - parts) and is_made(p - (parts - own)) for parts in sums)

    return not all(map(is_made, partial_products([(f, f.parts) for f in after])))


def partial_products(factors: list[tuple[Factor, Parts]]) -> set[Parts]:
    """The factors of each value that is made where a product is written out, and of each that is given."""
    found: set[Parts] = set()
    _multiply(factors, 0, found)
    return found


def _multiply(factors: list[tuple[Factor, Parts]], depth: int, found: set[Parts]) -> Parts:
    """The factors of a product, one by one, those of an operand first by themselves."""
    made: Parts = frozenset()
    for operand, some in itertools.groupby(factors, lambda f: f[0].within[depth] if len(f[0].within) > depth else None):
        values = list(some)
        for parts in [_multiply(values, depth + 1, found)] if operand is not None else [p for _, p in values]:
            made |= parts
            found |= {parts, made}
    return made


def is_at_most_one(f: Factor) -> bool:
    """Whether a factor is known to be at most 1 in size."""
    if f.kind != OTHER:
        return f.power > 0 if f.bounded else f.power < 0 and (f.kind == "cosh" or (f.kind == "sum" and _has_one(f.u)))
    number = exact(f.u)
    if number is None:
        return f.bounded and f.power > 0
    return size(number) <= 1 if f.power > 0 else size(number) >= 1


def _has_one(v: Variable) -> bool:
    """Whether a sum of exponentials is one with 1."""
    found = aligned_sum_of_exp(v)
    return found is not None and found.plus_one
