"""The error function: XLA's erfc and gamma functions lose their digits.

Deviation from jax.lax: float32 goes by way of float64, since XLA's own polynomial is 5 units in the last place off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
from jax import lax

from tg.backend import special

if TYPE_CHECKING:
    from tg.backend import Rule

t = special.error


def erf(x: Any) -> Any:
    """The error function."""
    return lax.erf(x.astype(jnp.float64)).astype(x.dtype) if x.dtype == jnp.float32 else lax.erf(x)


RULES: Final[dict[object, Rule]] = {t.erf: erf}
