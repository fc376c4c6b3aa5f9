"""The entropy of Student's distribution, without what cancels for many degrees of freedom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.distributions.shapes import HALF_LOG_2_PI
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.exponential import log
from tg.ops.elementwise.special.beta import betaln
from tg.ops.elementwise.special.gamma import digamma
from tg.ops.elementwise.special.series import polynomial

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

FAR: Final = 200.0
"""Degrees of freedom from which on the entropy is that of the normal distribution and a series."""
ENTROPY: Final = (1.0, 1 / 4, -1 / 6, -1 / 8, 3 / 10, 1 / 4)
"""What the entropy is more than that of the normal distribution, in powers of 1/df from the first on."""


def t_entropy(df: Variable) -> Variable:
    """The entropy of the standard distribution."""
    far = df > FAR
    n, i = where(far, 1.0, df), 1 / where(far, df, FAR)
    near = 0.5 * (n + 1) * (digamma(0.5 * (n + 1)) - digamma(0.5 * n)) + 0.5 * log(n) + betaln(0.5 * n, 0.5)
    return where(far, HALF_LOG_2_PI + 0.5 + i * polynomial(i, ENTROPY), near)
