"""Comparison, logic and choice, by NumPy: of ggml's step function choices would be products, which leak NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.backend import Hosted
from tg.backend import comparison as t
from tg_ggml.host import hosted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule
    from tg_ggml.tensors import Tensor


def asking(function: Callable[..., Any]) -> Rule:
    """The rule of a NumPy function whose result is bool."""

    def rule(*operands: Tensor) -> Any:
        return hosted(function, operands, np.broadcast_shapes(*(x.shape for x in operands)), "bool")

    return Hosted(rule)


def where(condition: Tensor, x: Tensor, y: Tensor) -> Any:
    """The elements of x where the condition holds, else those of y."""
    shape = np.broadcast_shapes(condition.shape, x.shape, y.shape)
    return hosted(np.where, [condition, x, y], shape, x.dtype.name)


RULES: Final[dict[object, Rule]] = {
    t.equal: asking(np.equal),
    t.not_equal: asking(np.not_equal),
    t.less: asking(np.less),
    t.less_equal: asking(np.less_equal),
    t.greater: asking(np.greater),
    t.greater_equal: asking(np.greater_equal),
    t.logical_and: asking(np.logical_and),
    t.logical_or: asking(np.logical_or),
    t.logical_xor: asking(np.logical_xor),
    t.logical_not: asking(np.logical_not),
    t.isnan: asking(np.isnan),
    t.isinf: asking(np.isinf),
    t.isfinite: asking(np.isfinite),
    t.signbit: asking(np.signbit),
    t.where: Hosted(where),
}
