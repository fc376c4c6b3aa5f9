"""Softplus and sigmoid of what is not positive: XLA cannot know that, and would take its magnitude once more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
import numpy as np

from tg import negative, sigmoid, softplus
from tg.backend import holds, is_made_by, real_floating, unary

if TYPE_CHECKING:
    from tg.backend import Apply, Rule, Variable


def _low_softplus(x: Any) -> Any:
    return np.log1p(np.exp(x))


def _low_sigmoid(x: Any) -> Any:
    return np.exp(x) / (1 + np.exp(x))


low_softplus = unary("low_softplus", _low_softplus, real_floating, "log(1 + exp(x)) where x <= 0.")
low_sigmoid = unary("low_sigmoid", _low_sigmoid, real_floating, "exp(x) / (1 + exp(x)) where x <= 0.")
LOW: Final = {softplus: low_softplus, sigmoid: low_sigmoid}


def of_nonpositive(node: Apply, outputs: Any) -> Variable | None:
    """The function for what is not positive, of the negative of what is known not to be negative."""
    (x,) = node.inputs
    if not is_made_by(x, negative) or not holds(x.inputs[0], "nonnegative"):
        return None
    value: Variable = LOW[node.op.rule_key](x)  # type: ignore[index]
    return value


def decay_softplus(x: Any) -> Any:
    """The rule of `low_softplus`."""
    return jnp.log1p(jnp.exp(x))


def decay_sigmoid(x: Any) -> Any:
    """The rule of `low_sigmoid`."""
    decay = jnp.exp(x)
    return decay / (1 + decay)


RULES: Final[dict[object, Rule]] = {low_softplus: decay_softplus, low_sigmoid: decay_sigmoid}
