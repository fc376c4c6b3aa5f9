"""`tg.optimize`: optimizers as updates for `tg.function`, schedules, what gradients go through before, and solvers.

    updates = tg.optimize.adamw(loss, params, learning_rate=tg.optimize.cosine_decay_schedule(1e-3, 1000))
    step = tg.function([x, y], loss, updates=updates)

Keywords are those of optax; formulas and defaults those of `torch.optim`, and where it has none, optax's. What an
optimizer keeps (averages, the number of steps) are shared variables among its updates.

    found = tg.optimize.minimize(lambda x: tg.sum((x - a) ** 2), x0, "L-BFGS")

Solvers (`minimize`, `least_squares`, `root`, `fixed_point`) are functions of variables: what they find is part of the
program, and has derivatives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tg
from tg.keywords import explain
from tg.optimize.adaptive import adadelta, adagrad, adam, adamax, adamw, lamb, nadam, rmsprop
from tg.optimize.averages import moving_average
from tg.optimize.descent import state
from tg.optimize.gradients import accumulated, clip_by_global_norm, clip_by_norm, clip_by_value, global_norm
from tg.optimize.least_squares import least_squares
from tg.optimize.loss_scale import loss_scaled
from tg.optimize.matrices import muon
from tg.optimize.minimizers import minimize
from tg.optimize.momentum import lion, sgd
from tg.optimize.roots import fixed_point, root
from tg.optimize.schedules import (
    constant_schedule,
    cosine_decay_schedule,
    cosine_onecycle_schedule,
    exponential_decay,
    join_schedules,
    linear_onecycle_schedule,
    linear_schedule,
    piecewise_constant_schedule,
    polynomial_schedule,
    warmup_cosine_decay_schedule,
)
from tg.words import no_function, unknown_in

__all__ = [
    "accumulated",
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "adamw",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "constant_schedule",
    "cosine_decay_schedule",
    "cosine_onecycle_schedule",
    "exponential_decay",
    "fixed_point",
    "global_norm",
    "join_schedules",
    "lamb",
    "least_squares",
    "linear_onecycle_schedule",
    "linear_schedule",
    "lion",
    "loss_scaled",
    "minimize",
    "moving_average",
    "muon",
    "nadam",
    "piecewise_constant_schedule",
    "polynomial_schedule",
    "rmsprop",
    "root",
    "sgd",
    "state",
    "warmup_cosine_decay_schedule",
]

explain(globals(), __all__)
no_function(__name__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        text = name if name.startswith("__") else unknown_in(__name__, __all__, name, dir(tg))
        raise AttributeError(text, name=name)


def __dir__() -> list[str]:
    return sorted(__all__)
