"""Operations on bits, as jax.numpy has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import jax.numpy as jnp

from tg.backend import bitwise as t

if TYPE_CHECKING:
    from tg.backend import Rule

RULES: Final[dict[object, Rule]] = {
    t.bitwise_and: jnp.bitwise_and,
    t.bitwise_or: jnp.bitwise_or,
    t.bitwise_xor: jnp.bitwise_xor,
    t.bitwise_invert: jnp.bitwise_invert,
    t.left_shift: jnp.left_shift,
    t.right_shift: jnp.right_shift,
}
