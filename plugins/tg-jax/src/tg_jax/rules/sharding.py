"""Values split over a mesh: a constraint, from which XLA decides how everything else lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax

from tg.backend import sharding as t
from tg_jax.place import sharding_of

if TYPE_CHECKING:
    from tg.backend import Rule
    from tg_jax import Options


def placement(op: t.Placement, x: Any, *, context: Options) -> Any:
    """The operand, which is to lie so; nothing is said of axes of batches."""
    if context.mesh is None:
        return x
    constrained: Any = jax.lax.with_sharding_constraint  # which has no types
    return constrained(x, sharding_of(op, x.ndim, context, jax.sharding.PartitionSpec.UNCONSTRAINED))


RULES: Final[dict[object, Rule]] = {t.Placement: placement}
