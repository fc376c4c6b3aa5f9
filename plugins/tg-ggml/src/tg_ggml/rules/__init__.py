"""The rules of the ggml backend, `RuleProtocol("array", 2)`, in files named as core's `ops/`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_ggml import own
from tg_ggml.rules import contraction, creation, cumulative, indexing, reduction, shape, softmax
from tg_ggml.rules.elementwise import arithmetic, cast, comparison, exponential, rounding, trigonometric
from tg_ggml.rules.nn import attention, convolution

if TYPE_CHECKING:
    from tg.backend import Rule


RULES: Final[dict[object, Rule]] = {
    **arithmetic.RULES,
    **cast.RULES,
    **comparison.RULES,
    **exponential.RULES,
    **rounding.RULES,
    **trigonometric.RULES,
    **contraction.RULES,
    **creation.RULES,
    **cumulative.RULES,
    **indexing.RULES,
    **reduction.RULES,
    **shape.RULES,
    **softmax.RULES,
    **attention.RULES,
    **convolution.RULES,
    **own.RULES,
}
