"""Rounding to whole numbers; complex numbers in both parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
from jax import lax

from tg.backend import rounding as t

if TYPE_CHECKING:
    from tg.backend import Rule


def rint(x: Any) -> Any:
    """The nearest whole number, of two the even one."""
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return lax.complex(jnp.rint(x.real), jnp.rint(x.imag))
    return jnp.rint(x)


RULES: Final[dict[object, Rule]] = {t.floor: jnp.floor, t.ceil: jnp.ceil, t.trunc: jnp.trunc, t.rint: rint}
