"""Rules of powers, roots, products and quotients of exponentials: one exponential of what is in their exponents.

A quotient x / exp(y) stays, and so does a product with more factors: where exp(-y), or the joined exponential,
overflows they would be NaN at 0, which they are not as written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.arithmetic import add, divide, multiply, power, subtract
from tg.ops.elementwise.exponential import exp, exp2
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import REASSOCIATES, SPECIALIZE
from tg.rewrite.rule import pass_of, rule_of
from tg.rules.elementwise.arithmetic.scalars import exact
from tg.rules.elementwise.arithmetic.trees import is_shaped_like
from tg.types.dtypes import is_float

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg.graph.nodes import Variable
    from tg.graph.op import Op
    from tg.graph.view import View

JOINED: Final[dict[Op, Any]] = {multiply.op: add, divide.op: subtract}


@rule_of(power, kind=REASSOCIATES, below=(exp, exp2), example=lambda x: exp(x) ** 2.5)
def _power_of_exponential(op: Any, y: Variable, c: Variable) -> Variable | None:
    """exp(x)**c as exp(x * c). An exponential is cheaper than a power, and overflows later."""
    if not exact(c) or not is_float(y.type.dtype):  # to the power 0 infinity is 1
        return None
    for fn in (exp, exp2):
        if is_made_by(y, fn):
            return fn(multiply(y.inputs[0], c))
    return None


@pass_of(exp, phase=SPECIALIZE, kind=REASSOCIATES, example=lambda x, y: exp(x) * exp(y))
def _joined_exponentials(view: View) -> Mapping[int, Variable]:
    """exp(x) * exp(y) as exp(x + y), where neither exponential is used elsewhere, or repeated.

    One exponential in place of two.
    """
    replacements: dict[int, Variable] = {}
    for node in view.applies:
        join = JOINED.get(node.op)
        if join is None:
            continue
        x, y = node.inputs
        for fn in (exp, exp2):
            if is_made_by(x, fn) and is_made_by(y, fn) and view.uses(x) == view.uses(y) == 1:
                (v,) = view.results(node)
                if is_float(v.type.dtype) and is_shaped_like(x, v) and is_shaped_like(y, v):
                    replacements[id(v)] = fn(join(x.inputs[0], y.inputs[0]))
    return replacements


RULES = (_power_of_exponential,)

PASSES = (_joined_exponentials,)
