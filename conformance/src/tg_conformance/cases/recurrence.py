"""Cases of `ops/recurrence`: taps, several outputs, ends that values decide, truncated gradients: as Python's loops."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import BoundsError
from tg.ops.recurrence import FAMILY
from tg.plugin.case import Case, f64, fixed
from tg_conformance.cases.family import of_family


def taps(x: Any) -> Any:
    """Two earlier outputs, and a sequence with its value before."""
    begin = {"initial": tg.constant([0.5, -0.25]), "taps": [-2, -1]}
    return tg.recurrence(
        lambda now, before, second, first: 0.5 * first - 0.25 * second + now * before,
        sequences={"input": x, "taps": [0, -1]},
        outputs_info=begin,
    )


def taps_oracle(x: Any) -> Any:
    """The same with NumPy."""
    second, first, outputs = 0.5, -0.25, []
    for t in range(1, len(x)):
        second, first = first, 0.5 * first - 0.25 * second + x[t] * x[t - 1]
        outputs.append(first)
    return np.array(outputs, x.dtype)


def until(x: Any, most: Any) -> Any:
    """Sums up to the first beyond a limit."""
    return tg.recurrence(
        lambda v, s: (s + v * v, tg.until(s + v * v > most)), sequences=x, outputs_info=tg.constant(0.0)
    )


def until_oracle(x: Any, most: Any) -> Any:
    """The same with NumPy."""
    sums = np.cumsum(x * x)
    ends = np.flatnonzero(sums > most)
    return sums[: ends[0] + 1] if len(ends) else sums


def up_to_a_failure(x: Any) -> Any:
    """Steps behind the end would read outside of x."""
    return tg.recurrence(
        lambda k, s: (s + x[k], tg.until(k >= 2)), sequences=tg.arange(9), outputs_info=tg.constant(0.0)
    )


WRITTEN: Final = (
    Case(taps, [f64(7)], name="taps", oracle=taps_oracle, gradient=True, accuracy=64),
    Case(
        lambda x: tuple(
            tg.recurrence(lambda v, s: (s + v, v * v), sequences=[x], outputs_info=[tg.constant(0.0), None], n_steps=4)
        ),
        [f64(6)],
        name="two outputs, one of them not read",
        oracle=lambda x: (np.cumsum(x)[:4], x[:4] ** 2),
        gradient=True,
        accuracy=16,
    ),
    Case(
        until,
        [f64(9, low=0.5, high=2), fixed(4.0, "float64")],
        name="until",
        oracle=until_oracle,
        accuracy=16,
    ),
    Case(until, [f64(3), fixed(1e9, "float64")], name="until that never is", oracle=until_oracle, accuracy=16),
    Case(up_to_a_failure, [f64(3)], name="steps behind the end cannot fail", oracle=np.cumsum, accuracy=16),
    Case(up_to_a_failure, [f64(2)], name="a step before the end fails", raises=BoundsError, static=(False,)),
    Case(
        lambda x: tg.grad(
            tg.recurrence(lambda v, s: 0.5 * s + v, sequences=x, outputs_info=tg.constant(0.0), truncate_gradient=2)[
                -1
            ],
            x,
        ),
        [f64(5)],
        name="truncated gradient",
        oracle=lambda x: np.array([0, 0, 0, 0.5, 1.0]),
    ),
    Case(
        lambda x: tg.recurrence(
            lambda v, s: 0.5 * s + v, sequences=x, outputs_info=tg.constant(0.0), go_backwards=True
        ),
        [f64(4)],
        name="backwards",
        oracle=lambda x: np.array([sum(0.5 ** (t - k) * x[::-1][k] for k in range(t + 1)) for t in range(4)]),
        gradient=True,
        accuracy=16,
    ),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
