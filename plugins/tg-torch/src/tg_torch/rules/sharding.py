"""Values split over a mesh: brought to where they are to lie; what is computed of them lies as DTensors have it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.backend import sharding as t
from tg_torch.place import RUN, Place

if TYPE_CHECKING:
    import torch

    from tg.backend import Rule


def placement(op: t.Placement, x: torch.Tensor, *, context: Place = RUN) -> torch.Tensor:
    """The operand, which is to lie so."""
    if context.mesh is None:
        return x
    from tg_torch.spread import find_mesh, split

    return split(x, op, find_mesh(context.mesh, context.device.type))


RULES: Final[dict[object, Rule]] = {t.Placement: placement}
