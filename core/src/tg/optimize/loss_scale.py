"""A loss that is multiplied before it is differentiated, so that halves have its small gradients."""

from __future__ import annotations

import functools
import math
import numbers
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import InputError, NonFiniteError, message
from tg.functions.arguments import own_updates
from tg.functions.shared import shared
from tg.gradient.api import vjp
from tg.gradient.arguments import real_scalar
from tg.ops.assumptions import assert_
from tg.ops.elementwise.arithmetic import maximum
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import isfinite, logical_and, logical_or, where
from tg.ops.reduction import all as all_of
from tg.optimize.descent import parameters_of
from tg.types.dtypes import in_float32
from tg.variables.conversion import as_variable
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.optimize.descent import Updates

AT_LEAST: Final = "loss_scaled: scale: found {0} and a gradient that is not finite, needed a finite one"


def loss_scaled(
    loss: Any,
    params: Any,
    then: Callable[[Any], Updates],
    *,
    init_scale: float = 2.0**16,
    growth_factor: float = 2.0,
    backoff_factor: float = 0.5,
    growth_interval: int = 2000,
) -> Updates:
    """Updates by gradients that were computed of the loss times a scale, as large as halves can hold.

    Gradients below 6e-8 are 0 in float16. A step in which one is not finite leaves the parameters and what the
    optimizer keeps as they are, and multiplies the scale by `backoff_factor`, down to 1; a step in which one is not
    finite at the scale 1 raises. `growth_interval` steps without such a one multiply it by `growth_factor`. What the
    loss stores itself is stored in each step.

    Args:
        loss: a real scalar.
        then: from the gradients without the scale, nested like `params`, to the updates of an optimizer.
    Returns:
        updates for `tg.function`: those of the optimizer and the loss, the scale, and how many steps were finite since
        it changed.
    Raises:
        InputError: growth_factor is not above 1, backoff_factor not between 0 and 1, init_scale not positive and
            finite, or growth_interval no positive integer.
        NonFiniteError: in a step, a gradient is not finite at the least scale: the network makes it, not the scale.
    Source:
        torch.amp.GradScaler, whose keywords these are; the least scale is that of jmp.DynamicLossScale. Micikevicius et
        al., "Mixed precision training", 2018.
    Example:
        >>> import numpy as np, tg
        >>> x, w = tg.scalar("x", "float16"), tg.shared(np.float32(1), "w")
        >>> updates = tg.optimize.loss_scaled(
        ...     (w.astype("float16") * x).astype("float32"),
        ...     w,
        ...     lambda g: tg.optimize.sgd(None, w, learning_rate=0.25, gradients=g),
        ...     init_scale=2.0**15,
        ... )
        >>> step = tg.function([x], list(tg.optimize.state(updates).values())[1], updates=updates)
        >>> [float(step(value)) for value in (0.5, 4.0, 1.0)]  # 4 * 2**15 is more than a half can hold
        [32768.0, 32768.0, 16384.0]
    """
    _need("init_scale", init_scale, lambda v: 0 < v < math.inf, "a positive finite number")
    _need("growth_factor", growth_factor, lambda v: 1 < v < math.inf, "a number above 1")
    _need("backoff_factor", backoff_factor, lambda v: 0 < v < 1, "a number between 0 and 1")
    if type(growth_interval) is not int or growth_interval < 1:
        text = f"loss_scaled: growth_interval: found {short(growth_interval)}, needed a positive integer"
        raise InputError(message(text))
    leaves, _, structure = parameters_of("loss_scaled", params)
    cost = real_scalar(loss, "loss_scaled")
    updates: Updates = own_updates([as_variable(loss)], [])
    scale = shared(np.float32(init_scale), "loss_scaled: scale", shape=())
    count = shared(np.int64(0), "loss_scaled: finite steps", shape=())
    slopes = vjp(cost, leaves, cast_variable(scale, cost.type.dtype))
    gradients = [cast_variable(g, in_float32(g.type.dtype)) for g in slopes]
    gradients = [g / cast_variable(scale, g.type.dtype) for g in gradients]
    is_finite = functools.reduce(logical_and, [all_of(isfinite(g)) for g in gradients])
    for v, new in then(structure(iter(gradients))).items():
        updates[v] = where(is_finite, new, v)
    is_due, larger = count + 1 >= growth_interval, scale * np.float32(growth_factor)
    grown = where(is_due & isfinite(larger), larger, scale)
    backed_off = maximum(scale * np.float32(backoff_factor), np.float32(1))
    may_fall = logical_or(is_finite, scale > 1)
    smaller = assert_(backed_off, may_fall, AT_LEAST, cast_variable(scale, "int64"), error=NonFiniteError)
    updates[scale] = where(is_finite, grown, smaller)
    updates[count] = where(is_finite & ~is_due, count + 1, 0)
    return updates


def _need(name: str, value: Any, is_right: Callable[[Any], bool], needed: str) -> None:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not is_right(value):
        raise InputError(message(f"loss_scaled: {name}: found {short(value)}, needed {needed}"))
