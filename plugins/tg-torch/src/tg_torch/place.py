"""What the rules must know beside their operands: the device of a program, and whether it is being traced."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

CPU: Final = torch.device("cpu")


class _Place(threading.local):
    device: torch.device = CPU
    tracing: bool = False


_PLACE: Final = _Place()


def device() -> torch.device:
    """Where arrays that are made of nothing are made."""
    return _PLACE.device


def is_traced() -> bool:
    """Whether values are not known, only dtypes and shapes."""
    return _PLACE.tracing


@contextlib.contextmanager
def on(device: torch.device) -> Iterator[None]:
    """A device for the thread that enters."""
    before, _PLACE.device = _PLACE.device, device
    try:
        yield
    finally:
        _PLACE.device = before


@contextlib.contextmanager
def tracing() -> Iterator[None]:
    """Tracing, in the thread that enters."""
    before, _PLACE.tracing = _PLACE.tracing, True
    try:
        yield
    finally:
        _PLACE.tracing = before
