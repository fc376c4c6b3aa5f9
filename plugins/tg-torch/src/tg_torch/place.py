"""Context of the rules beside their operands: the device of a program, and whether it is being traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import torch

if TYPE_CHECKING:
    from tg.backend import Mesh

CPU: Final = torch.device("cpu")


class Place(NamedTuple):
    """The context of a rule.

    `device` is where arrays that are made of nothing are made; where `is_traced`, values are not known while rules run.
    It `is_part` of a user's program if loops are traced, too, and nothing is written in place. Values lie on the
    processes of a `mesh` if there is one.
    """

    device: torch.device
    is_traced: bool
    is_part: bool = False
    mesh: Mesh | None = None


RUN: Final = Place(CPU, False)
"""Of a rule that is run as it is."""
