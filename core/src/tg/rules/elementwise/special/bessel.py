"""Rules of the Bessel functions of orders 0 and 1: logarithms of those that overflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.ops.elementwise.arithmetic import absolute
from tg.ops.elementwise.comparison import greater, where
from tg.ops.elementwise.exponential import log
from tg.ops.elementwise.special.bessel import i0, i0e, i1, i1e
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import REASSOCIATES, STABILIZE
from tg.rewrite.rule import rule

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.rewrite.rule import Rule


def _logarithm(fn: ElementwiseFunction, scaled: ElementwiseFunction) -> Rule:
    """log(fn(x)) as |x| beside the logarithm of the scaled function, but near 0, where |x| has a kink."""

    def stable(x: Variable) -> Variable:
        far = greater(absolute(x), 1)
        return where(far, log(scaled(x)) + absolute(x), log(fn(where(far, 1, x))))

    return rule(
        f"log_of_{fn.name}",
        match=lambda x: log(fn(x)),
        replace=stable,
        phase=STABILIZE,
        kind=REASSOCIATES,
        when=lambda x: not is_made_by(x, where),
        why=f"{fn.name}(x) overflows for |x| > 713, where its logarithm is about |x|.",
    )


RULES = (_logarithm(i0, i0e), _logarithm(i1, i1e))
