"""`moving_average`: an average of the parameters that a training has had, which often predicts better than the last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import InputError, message
from tg.functions.shared import shared
from tg.ops.elementwise.cast import cast, cast_variable, widened
from tg.ops.elementwise.comparison import where
from tg.optimize.descent import bounded, parameters_of, updates_in

if TYPE_CHECKING:
    from tg.optimize.descent import Updates


def moving_average(updates: Updates, params: Any, decay: float) -> tuple[Any, Updates]:
    """An exponential moving average, free of bias, of what updates make of parameters.

    Args:
        updates: of an optimizer; they say what each parameter becomes.
        decay: the factor of what was, 0 to 1; the new value has 1 - decay.
    Returns:
        the averages as expressions, nested like `params` (before the first step the parameters themselves), and the
        updates with those of the averages.
    Raises:
        InputError: a parameter is not updated; updates are no dict of shared variables.
    Source:
        optax.ema; Kingma and Ba 2015 on the bias.
    Example:
        >>> import tg
        >>> w = tg.shared(0.0, "w")
        >>> averages, updates = tg.optimize.moving_average({w: w + 1}, {"w": w}, 0.5)
        >>> step = tg.function([], [], updates=updates)
        >>> mean = tg.function([], averages)
        >>> for _ in range(3):
        ...     _ = step()
        >>> round(float(mean()["w"]), 6), float(w.get_value())
        (2.428571, 3.0)
    """
    bounded("moving_average", decay=decay)
    leaves, names, structure = parameters_of("moving_average", params)
    count = shared(np.int64(0), "moving_average: steps", shape=())
    all_updates: Updates = {**updates_in("moving_average", updates), count: count + 1}
    averages = []
    for v, name in zip(leaves, names, strict=True):
        if v not in updates:
            raise InputError(message(f"moving_average: params: {name} is not among the updates"))
        new = widened(updates[v])
        start = np.zeros(v.snapshot.shape, new.type.dtype)
        state = shared(start, f"moving_average: sum of {name}", shape=v.type.shape)
        all_updates[state] = decay * state + (1 - decay) * new
        is_first = count == 0
        weight = cast(where(is_first, 1.0, 1 - decay ** cast(count, "float64")), new.type.dtype)
        averages.append(where(is_first, v, cast_variable(state / weight, v.type.dtype)))
    return structure(iter(averages)), all_updates
