"""What is written of a program: a unit, now or by a process before this one, beside the rewritten program.

What generates code is imported only where it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tg.backend import Span
from tg_c.compiler import compiler, environment
from tg_native.calls.blas import blas

if TYPE_CHECKING:
    import numpy as np

    from tg.backend import FrozenGraph, Request
    from tg_c.ticks import Ticks
    from tg_native.graphs.written import Shown


class Program(NamedTuple):
    """A generated unit: its text, how that is shown, and its arguments besides the inputs.

    `reuses` are the outputs and inputs, in pairs, that may share memory.
    """

    text: str
    shown: Shown
    arguments: tuple[np.ndarray[Any, Any], ...]
    statements: int
    libraries: tuple[str, ...]
    reuses: tuple[tuple[int, int], ...]


def program(graph: FrozenGraph, request: Request) -> Program:
    """The unit of a program: the one that was kept, else a new one, which is kept."""
    if request.kept is None:
        return write(graph, request)
    circumstances = (compiler().identity, environment(), blas().source)
    found = request.kept.read(*circumstances)
    if found is not None:
        text, *others = found
        return Program(text, lambda *, full: write(graph, request).shown(full=full), *others)
    made = write(graph, request)
    request.kept.store((made.text, *made[2:]), *circumstances)
    return made


def write(graph: FrozenGraph, request: Request, ticks: Ticks | None = None) -> Program:
    """The unit of a program, generated now; with `ticks`, one that takes the time of its parts."""
    with Span("code"):
        from tg_c.program import Unit

        return Unit(request, ticks).program(graph)
