"""Complex numbers and their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
from jax import lax

from tg.backend import complex as t

if TYPE_CHECKING:
    from tg.backend import Rule


def complex(x: Any, y: Any) -> Any:
    """The number of two parts; `lax.complex` does not broadcast."""
    return lax.complex(*jnp.broadcast_arrays(x, y))


RULES: Final[dict[object, Rule]] = {t.complex: complex, t.real: jnp.real, t.imag: jnp.imag, t.conjugate: jnp.conjugate}
