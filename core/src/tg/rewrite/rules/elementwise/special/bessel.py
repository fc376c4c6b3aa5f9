"""Rules of the Bessel functions of orders 0 and 1: even and odd ones."""

from __future__ import annotations

from tg.ops.elementwise.special.bessel import i0, i0e, i1, i1e, j0, j1
from tg.rewrite.rules.elementwise.trigonometric import even, odd

RULES = (*even(i0, i0e, j0), *odd(i1, i1e, j1))
