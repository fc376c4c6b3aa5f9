"""Failure of a call where no check of the graph says so."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from tg.errors import BoundsError, ShapeError, TgError, message
from tg.graph.checks import REPORTED, STATUS_LENGTH, STEP
from tg.link.perform import explained

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np

    from tg.graph.frozen import FrozenGraph
    from tg.link.linker import Status

STATUS: Final = STATUS_LENGTH  # int64 that a failed check fills: its code, and its values
STATUS_STEP: Final = STEP  # where, in that of a loop, the step stands


class Failure(IntEnum):
    """Return value of the function of a graph where no check of the graph announces the failure."""

    MEMORY = -1
    NEGATIVE = -2  # a length below 0
    UNEQUAL = -3  # lengths that must be equal
    BOUNDS = -4  # a slice that leaves its axis
    EMPTY = -5  # an array without elements whose axes are too long to be gone over: the reference has no loops
    RAISED = -6  # a function of an author's
    INTERRUPTED = -7  # by the user; Python's handler of the signal has run, or runs next


def failed(
    backend: str, graph: FrozenGraph, arrays: Sequence[np.ndarray[Any, Any]], code: int, values: Iterable[int]
) -> tuple[Sequence[Any], Status]:
    """The status of a check that failed; of other failures the reference says which values were wrong.

    Raises:
        MemoryError: there was none for an intermediate result.
        KeyboardInterrupt: a loop was left because of it.
    """
    if code > 0:
        return (), (code, *map(int, list(values)[:REPORTED]))
    if code == Failure.INTERRUPTED:
        raise KeyboardInterrupt
    if code == Failure.MEMORY:
        raise MemoryError(f"backend {backend!r}: no memory for an intermediate result")
    return explained(graph, arrays, _error(backend, code))


def _error(backend: str, code: int) -> TgError | None:
    """Error where the reference sees nothing wrong."""
    if code == Failure.NEGATIVE:
        return ShapeError(message("length: found one below 0, needed at least 0"))
    if code == Failure.UNEQUAL:
        return ShapeError(message("lengths that must be equal differ"))
    if code == Failure.BOUNDS:
        return BoundsError(message("slice: found positions outside the axis"))
    if code == Failure.RAISED:
        return TgError(message(f"backend {backend!r}: a jitted function has raised, and the reference has not"))
    return None
