"""Schedules: functions of the number of steps made before, which give the learning rate of a step.

Each takes a number, an array or a variable of steps and gives a variable, so `schedule(np.arange(100)).eval()` is its
curve. Names and arguments are those of optax.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import InputError, message
from tg.graph.nodes import Variable
from tg.ops.creation import full_like
from tg.ops.elementwise.arithmetic import clip, maximum, minimum
from tg.ops.elementwise.cast import cast
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.rounding import floor
from tg.ops.elementwise.trigonometric import cos
from tg.optimize.descent import is_number
from tg.variables.conversion import as_variable
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Schedule = Callable[[Any], Variable]


def constant_schedule(value: float) -> Schedule:
    """The same at every step.

    Source:
        optax.constant_schedule.
    Example:
        >>> import tg
        >>> float(tg.optimize.constant_schedule(0.1)(7).eval())
        0.1
    """
    _values("constant_schedule", value=value)
    return lambda step: full_like(_floating(step), value)


def polynomial_schedule(
    init_value: float, end_value: float, power: float, transition_steps: int, transition_begin: int = 0
) -> Schedule:
    """From one value to another as (1 - t)**power falls, where t goes from 0 to 1 in transition_steps.

    Raises:
        InputError: transition_steps is no positive integer, transition_begin a negative one.
    Source:
        optax.polynomial_schedule; torch.optim.lr_scheduler.PolynomialLR.
    Example:
        >>> import numpy as np, tg
        >>> tg.optimize.polynomial_schedule(1.0, 0.0, 2.0, 4)(np.arange(6)).eval().tolist()
        [1.0, 0.5625, 0.25, 0.0625, 0.0, 0.0]
    """
    _counts("polynomial_schedule", 1, transition_steps=transition_steps)
    _counts("polynomial_schedule", 0, transition_begin=transition_begin)
    _values("polynomial_schedule", init_value=init_value, end_value=end_value, power=power)

    def value(step: Any) -> Variable:
        left = 1 - clip(_floating(step) - transition_begin, 0, transition_steps) / transition_steps
        return (init_value - end_value) * left**power + end_value

    return value


def linear_schedule(init_value: float, end_value: float, transition_steps: int, transition_begin: int = 0) -> Schedule:
    """From one value to another along a line; a warm-up, where it begins at 0.

    Raises:
        InputError: transition_steps is no positive integer, transition_begin a negative one.
    Source:
        optax.linear_schedule; torch.optim.lr_scheduler.LinearLR.
    Example:
        >>> import numpy as np, tg
        >>> tg.optimize.linear_schedule(0.0, 1.0, 4)(np.arange(6)).eval().tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]
    """
    return polynomial_schedule(init_value, end_value, 1.0, transition_steps, transition_begin)


def exponential_decay(
    init_value: float,
    transition_steps: int,
    decay_rate: float,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: float | None = None,
) -> Schedule:
    """init_value decay_rate**(t / transition_steps), of the steps t after transition_begin.

    Args:
        staircase: the exponent is rounded down: the value falls every transition_steps, as PyTorch's StepLR.
        end_value: where the value stays.
    Raises:
        InputError: transition_steps is no positive integer, transition_begin a negative one.
    Source:
        optax.exponential_decay; torch.optim.lr_scheduler.ExponentialLR and StepLR.
    Example:
        >>> import numpy as np, tg
        >>> tg.optimize.exponential_decay(1.0, 2, 0.5, staircase=True)(np.arange(5)).eval().tolist()
        [1.0, 1.0, 0.5, 0.5, 0.25]
    """
    _counts("exponential_decay", 1, transition_steps=transition_steps)
    _counts("exponential_decay", 0, transition_begin=transition_begin)
    _values("exponential_decay", init_value=init_value, decay_rate=decay_rate)

    def value(step: Any) -> Variable:
        exponent = maximum(_floating(step) - transition_begin, 0) / transition_steps
        rate = init_value * decay_rate ** (floor(exponent) if staircase else exponent)
        if end_value is None:
            return rate
        return maximum(rate, end_value) if decay_rate < 1 else minimum(rate, end_value)

    return value


def cosine_decay_schedule(init_value: float, decay_steps: int, alpha: float = 0.0, exponent: float = 1.0) -> Schedule:
    """From init_value to alpha init_value as half a wave of a cosine falls.

    Args:
        exponent: of the cosine's part.
    Raises:
        InputError: decay_steps is no positive integer.
    Source:
        Loshchilov and Hutter 2017; optax.cosine_decay_schedule; torch.optim.lr_scheduler.CosineAnnealingLR.
    Example:
        >>> import numpy as np, tg
        >>> tg.optimize.cosine_decay_schedule(1.0, 4)(np.arange(6)).eval().round(3).tolist()
        [1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
    """
    _counts("cosine_decay_schedule", 1, decay_steps=decay_steps)
    _values("cosine_decay_schedule", init_value=init_value, alpha=alpha, exponent=exponent)

    def value(step: Any) -> Variable:
        wave = 0.5 * (1 + cos(math.pi * clip(_floating(step), 0, decay_steps) / decay_steps))
        return init_value * ((1 - alpha) * wave**exponent + alpha)

    return value


def warmup_cosine_decay_schedule(
    init_value: float,
    peak_value: float,
    warmup_steps: int,
    decay_steps: int,
    end_value: float = 0.0,
    exponent: float = 1.0,
) -> Schedule:
    """Along a line to peak_value, and down to end_value as half a wave of a cosine, at step decay_steps.

    Raises:
        InputError: warmup_steps is no positive integer, or decay_steps not above it.
    Source:
        optax.warmup_cosine_decay_schedule.
    Example:
        >>> import numpy as np, tg
        >>> tg.optimize.warmup_cosine_decay_schedule(0.0, 1.0, 2, 6)(np.arange(7)).eval().round(3).tolist()
        [0.0, 0.5, 1.0, 0.854, 0.5, 0.146, 0.0]
    """
    _counts("warmup_cosine_decay_schedule", 1, warmup_steps=warmup_steps, decay_steps=decay_steps)
    _counts("warmup_cosine_decay_schedule", warmup_steps + 1, decay_steps=decay_steps)
    alpha = end_value / peak_value if peak_value else 0.0
    falling = cosine_decay_schedule(peak_value, decay_steps - warmup_steps, alpha, exponent)
    return join_schedules([linear_schedule(init_value, peak_value, warmup_steps), falling], [warmup_steps])


def piecewise_constant_schedule(init_value: float, boundaries_and_scales: Mapping[int, float]) -> Schedule:
    """A value that is multiplied by a scale at each boundary.

    Raises:
        InputError: a boundary is no positive integer, or there is no dict of them.
    Source:
        optax.piecewise_constant_schedule; torch.optim.lr_scheduler.MultiStepLR.
    Example:
        >>> import numpy as np, tg
        >>> tg.optimize.piecewise_constant_schedule(1.0, {2: 0.5, 4: 0.1})(np.arange(6)).eval().round(3).tolist()
        [1.0, 1.0, 0.5, 0.5, 0.05, 0.05]
    """
    scales: Any = boundaries_and_scales
    if not isinstance(scales, Mapping):
        text = f"found {short(scales)}, needed a dict of scales by boundary, such as {{100: 0.1}}"
        raise InputError(message(f"piecewise_constant_schedule: boundaries_and_scales: {text}"))
    boundaries = _ascending("piecewise_constant_schedule", sorted(boundaries_and_scales))
    values = [init_value]
    for boundary in boundaries:
        values.append(values[-1] * boundaries_and_scales[boundary])
    return join_schedules([constant_schedule(v) for v in values], boundaries)


def cosine_onecycle_schedule(
    transition_steps: int,
    peak_value: float,
    pct_start: float = 0.3,
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
) -> Schedule:
    """Up from peak_value / div_factor and down to 1 / final_div_factor of that, both as half a wave of a cosine.

    Args:
        pct_start: which part of the steps goes up.
    Raises:
        InputError: transition_steps is no positive integer, or too few to go up and down.
    Source:
        Smith and Topin 2019; optax.cosine_onecycle_schedule; torch.optim.lr_scheduler.OneCycleLR.
    Example:
        >>> import numpy as np, tg
        >>> tg.optimize.cosine_onecycle_schedule(6, 1.0, 0.5)(np.arange(7)).eval().round(3).tolist()
        [0.04, 0.28, 0.76, 1.0, 0.75, 0.25, 0.0]
    """
    _counts("cosine_onecycle_schedule", 1, transition_steps=transition_steps)
    up, start = int(pct_start * transition_steps), peak_value / div_factor
    knots = _ascending("cosine_onecycle_schedule", [up, transition_steps])
    ways = [(start, peak_value), (peak_value, start / final_div_factor)]
    return _cycle(knots, [_half_wave(a, b, n) for (a, b), n in zip(ways, (up, transition_steps - up), strict=True)])


def linear_onecycle_schedule(
    transition_steps: int,
    peak_value: float,
    pct_start: float = 0.3,
    pct_final: float = 0.85,
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
) -> Schedule:
    """Up from peak_value / div_factor, down to it, and to 1 / final_div_factor of that, along lines.

    Args:
        pct_start, pct_final: which part of the steps has been made at the peak, and when it is down again.
    Raises:
        InputError: transition_steps is no positive integer, or too few for the three.
    Source:
        Smith and Topin 2019; optax.linear_onecycle_schedule.
    Example:
        >>> import numpy as np, tg
        >>> schedule = tg.optimize.linear_onecycle_schedule(8, 1.0, 0.25, 0.5, div_factor=2.0, final_div_factor=10.0)
        >>> schedule(np.arange(9)).eval().round(4).tolist()
        [0.5, 0.75, 1.0, 0.75, 0.5, 0.3875, 0.275, 0.1625, 0.05]
    """
    _counts("linear_onecycle_schedule", 1, transition_steps=transition_steps)
    start = peak_value / div_factor
    knots = [int(pct_start * transition_steps), int(pct_final * transition_steps), transition_steps]
    _ascending("linear_onecycle_schedule", knots)
    values = [start, peak_value, start, start / final_div_factor]
    lengths = [b - a for a, b in pairwise([0, *knots])]
    return _cycle(knots, [linear_schedule(a, b, n) for (a, b), n in zip(pairwise(values), lengths, strict=True)])


def join_schedules(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """One schedule after another: each begins anew at its boundary.

    Raises:
        InputError: there is not one boundary less than schedules, or they do not ascend.
    Source:
        optax.join_schedules; torch.optim.lr_scheduler.SequentialLR.
    Example:
        >>> import numpy as np, tg
        >>> up, stay = tg.optimize.linear_schedule(0.0, 1.0, 2), tg.optimize.constant_schedule(0.1)
        >>> tg.optimize.join_schedules([up, stay], [3])(np.arange(5)).eval().tolist()
        [0.0, 0.5, 1.0, 0.1, 0.1]
    """
    if len(boundaries) != len(schedules) - 1:
        text = f"join_schedules: found {len(boundaries)} boundaries for {len(schedules)} schedules, needed one less"
        raise InputError(message(text))
    _ascending("join_schedules", boundaries)
    for schedule in list[Any](schedules):
        if not callable(schedule):
            hint = "tg.optimize.constant_schedule(0.1) is one"
            raise InputError(message(f"join_schedules: found {short(schedule)}, needed a schedule", hint=hint))

    def value(step: Any) -> Variable:
        t = _floating(step)
        rate = schedules[0](t)
        for schedule, boundary in zip(schedules[1:], boundaries, strict=True):
            rate = where(t < boundary, rate, schedule(t - boundary))
        return rate

    return value


def _cycle(knots: Sequence[int], parts: Sequence[Schedule]) -> Schedule:
    return join_schedules(parts, knots[:-1])


def _half_wave(a: float, b: float, steps: int) -> Schedule:
    return lambda step: b + (a - b) * cosine_decay_schedule(1.0, steps)(step)


def _floating(step: Any) -> Variable:
    return cast(as_variable(step), "float64")


def _values(what: str, **numbers: Any) -> None:
    for name, value in numbers.items():
        if not (is_number(value) or isinstance(value, Variable | np.ndarray)):
            raise InputError(message(f"{what}: {name}: found {short(value)}, needed a number"))


def _counts(what: str, least: int, **counts: int) -> None:
    for name, n in counts.items():
        if type(n) is not int or n < least:
            raise InputError(message(f"{what}: {name}: found {short(n)}, needed an integer of at least {least}"))


def _ascending(what: str, boundaries: Sequence[int]) -> Sequence[int]:
    if any(type(n) is not int for n in boundaries) or any(b <= a for a, b in pairwise([0, *boundaries])):
        raise InputError(message(f"{what}: found boundaries {list(boundaries)}, needed ascending positive integers"))
    return boundaries
