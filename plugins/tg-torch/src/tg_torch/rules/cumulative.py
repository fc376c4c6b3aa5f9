"""Running results along an axis, in the dtype of the operand.

Deviations from PyTorch: booleans give the running any or all, complex extrema are lexicographic and propagate NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from tg import add, maximum, minimum, multiply
from tg.backend import cumulative as t
from tg_torch.rules.elementwise import arithmetic
from tg_torch.unsigned import as_dtype, ordered, signed, unordered

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule

SUMS: Final[dict[object, Callable[..., torch.Tensor]]] = {add: torch.cumsum, multiply: torch.cumprod}
EXTREMA: Final[dict[object, Callable[..., Any]]] = {maximum: torch.cummax, minimum: torch.cummin}
LOGICAL: Final[dict[object, object]] = {add: maximum, multiply: minimum, maximum: maximum, minimum: minimum}


def accumulate(op: t.Accumulate, x: torch.Tensor) -> torch.Tensor:
    """The running result; of booleans, the running any or all."""
    if x.dtype == torch.bool:
        return EXTREMA[LOGICAL[op.fn]](x.to(torch.uint8), op.axis).values.to(torch.bool)
    if op.fn in SUMS:
        bits = signed(x)
        return as_dtype(SUMS[op.fn](bits, op.axis, dtype=bits.dtype), x.dtype)
    if x.is_complex():
        return _running(arithmetic.maximum if op.fn is maximum else arithmetic.minimum, x.movedim(op.axis, 0), op.axis)
    return unordered(EXTREMA[op.fn](ordered(x), op.axis).values, x.dtype)


def _running(combine: Callable[..., torch.Tensor], x: torch.Tensor, axis: int) -> torch.Tensor:
    """The running result along the first axis, over distances that double, with that axis put in its place."""
    step = 1
    while step < x.shape[0]:
        x = torch.cat([x[:step], combine(x[:-step], x[step:])])
        step *= 2
    return x.movedim(0, axis).clone()


RULES: Final[dict[object, Rule]] = {t.Accumulate: accumulate}
