"""`tg.integrate`: initial value problems of ordinary differential equations, and integrals of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tg
from tg.integrate.odes import Steps, odeint
from tg.keywords import explain
from tg.ops.calculus import trapezoid
from tg.words import no_function, unknown_in

__all__ = ["Steps", "odeint", "trapezoid"]

explain(globals(), __all__)
no_function(__name__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        text = name if name.startswith("__") else unknown_in(__name__, __all__, name, dir(tg))
        raise AttributeError(text, name=name)


def __dir__() -> list[str]:
    return sorted(__all__)
