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
    from collections.abc import Iterable

    from tg.rewrite.rules.elementwise.exponential.factors import Factor

    Parts = frozenset[int]  # the factors of a product, by their places among those that were read


def grows(before: list[Factor], after: list[tuple[Factor, Parts]]) -> bool:
    """Whether a product of other factors has a partial product that may be larger than all that it had.

    Args:
        after: the factors that take the place of those before, and of which of them each is the product.
    """
    cancelled = frozenset(range(len(before))).difference(*(parts for _, parts in after))
    made = partial_products((f, frozenset((k,))) for k, f in enumerate(before))
    made = {frozenset[int](), *(q - cancelled if cancelled <= q else q for q in made)}
    small = {k for k, f in enumerate(before) if is_at_most_one(f)}
    large = {k for k, f in enumerate(before) if is_at_most_one(f.to_power(-1))}
    return not all(any(p - q <= small and q - p <= large for q in made) for p in partial_products(after))


def partial_products(factors: Iterable[tuple[Factor, Parts]]) -> set[Parts]:
    """The factors of each value that is made where a product is written out, and of each that is given."""
    found: set[Parts] = set()
    made: Parts = frozenset()
    for stage, some in itertools.groupby(sorted(factors, key=_stage), _stage):
        if stage % 2:
            made |= _in_turn(list(some), 0, frozenset(), found)
            found.add(made)
        else:
            made = _in_turn(list(some), 0, made, found)
    return found


def _stage(made: tuple[Factor, Parts]) -> int:
    return made[0].stage


def _in_turn(factors: list[tuple[Factor, Parts]], depth: int, made: Parts, found: set[Parts]) -> Parts:
    """The factors of a product and others, multiplied one by one, those of an operand first by themselves."""
    for operand, some in itertools.groupby(factors, lambda f: f[0].within[depth] if len(f[0].within) > depth else None):
        if operand is None:
            values = [parts for _, parts in some]
        else:
            values = [_in_turn(list(some), depth + 1, frozenset(), found)]
        for parts in values:
            made |= parts
            found |= {parts, made}
    return made


def is_at_most_one(f: Factor) -> bool:
    """Whether a factor is known to be at most 1 in size."""
    if f.kind != OTHER:
        return f.power > 0 if f.bounded else f.power < 0 and (f.kind == "cosh" or _has_one(f))
    v, power = f.value()
    number = exact(v)
    if number is None:
        return f.bounded and f.power > 0
    return size(number) <= 1 if power > 0 else size(number) >= 1


def _has_one(f: Factor) -> bool:
    """Whether a factor is a sum of exponentials and 1."""
    found = aligned_sum_of_exp(f.u) if f.kind == "sum" else None
    return found is not None and found.plus_one
