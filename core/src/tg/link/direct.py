"""`Direct`: the parts of a usual call of a program that a library has compiled, for code that is written of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import numpy as np

Switch = tuple["Callable[[], Any]", "Callable[[Any], Any]"]
"""Two functions: what the first gives, the second takes to undo what the first has done."""


class Direct(NamedTuple):
    """A usual call: `program(*arrays)` between the functions of `switch`, then `to_numpy` of each output.

    `run_to_numpy` does the same and tells errors. `view` gives an array that may share the output's memory. If
    `has_status`, the last output is the status, of which the first number is 0 where all checks held. Where `traced` is
    not empty, some call has been traced, and `note()` remembers how long that took if it was in this thread.
    """

    program: Callable[..., tuple[Any, ...]]
    switch: Switch | None
    to_numpy: Callable[[Any], np.ndarray[Any, Any]]
    view: Callable[[Any], np.ndarray[Any, Any]]
    has_status: bool
    traced: Collection[object]
    note: Callable[[], None]
