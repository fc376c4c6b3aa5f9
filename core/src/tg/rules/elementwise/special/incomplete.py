"""Rules of the incomplete gamma function: each tail is what the other leaves of 1."""

from __future__ import annotations

from tg.ops.elementwise.special.incomplete import gammainc, gammaincc
from tg.rules.elementwise.special.error.complements import complement

RULES = (
    *complement(gammainc, gammaincc, "The difference has lost the digits of the upper tail."),
    *complement(gammaincc, gammainc, "The difference has lost the digits of the lower tail."),
)
