"""Text of a program: a unit, written now or by a process before this one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from tg_c.objects import Loop
    from tg_native.calls.interface import Interface
    from tg_native.graphs.written import Shown


class Program(NamedTuple):
    """A generated unit: its text, how that is shown, and its arguments besides the inputs.

    `level` is that of optimisation that it pays at; `reuses` are the outputs and inputs, in pairs, that may share
    memory; `streams` says of its loops what `tg_native.loops.Kernel.streams` does; `loops` are their places in the
    text, none where one object has to have them all; an entry has to know the `interface`.
    """

    text: str
    shown: Shown
    arguments: tuple[np.ndarray[Any, Any], ...]
    level: int
    libraries: tuple[str, ...]
    streams: bool
    reuses: tuple[tuple[int, int], ...]
    loops: tuple[Loop, ...]
    interface: Interface
