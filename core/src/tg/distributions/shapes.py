"""Entropies of distributions of the gamma family, without what cancels for large shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.exponential import log
from tg.ops.elementwise.special.gamma import digamma, gammaln
from tg.ops.elementwise.special.series import polynomial

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

HALF_LOG_2_PI: Final = 0.9189385332046727
LARGE: Final = 40.0
LOG_REST: Final = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
"""What Stirling's formula leaves of log(gamma(a)), in odd powers of 1/a."""
DIGAMMA_REST: Final = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132)
"""log(a) - 1/(2 a) - digamma(a), in even powers of 1/a."""


def shape_entropy(a: Variable, c: Any) -> Variable:
    """log(gamma(a)) + (c - a) digamma(a) + a, of which the first terms of Stirling's series cancel.

    Source:
        NIST Digital Library of Mathematical Functions, 5.11.1 and 5.11.2.
    """
    large = a > LARGE
    i = 1 / where(large, a, LARGE)
    rests = i * polynomial(i * i, LOG_REST) + (1 - c * i) * i * polynomial(i * i, DIGAMMA_REST)
    far = (c - 0.5) * log(where(large, a, LARGE)) + (HALF_LOG_2_PI + 0.5) - 0.5 * c * i + rests
    near = where(large, 1.0, a)
    return where(large, far, gammaln(near) + (c - near) * digamma(near) + near)
