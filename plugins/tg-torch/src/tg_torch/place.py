"""Context of the rules beside their operands: the device of a program, and whether it is being traced."""

from __future__ import annotations

from typing import Final, NamedTuple

import torch

CPU: Final = torch.device("cpu")


class Place(NamedTuple):
    """The context of a rule.

    `device` is where arrays that are made of nothing are made; where `is_traced`, values are not known while rules run.
    It `is_part` of a user's program if loops are traced, too, and nothing is written in place.
    """

    device: torch.device
    is_traced: bool
    is_part: bool = False


RUN: Final = Place(CPU, False)
"""Of a rule that is run as it is."""
