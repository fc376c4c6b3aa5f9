"""The linker of the Numba backend: generates a module, compiles it, and calls it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg import TgError
from tg.backend import Linker, Span, message
from tg_native.calls.objects import is_layout_known
from tg_native.graphs.caller import Compiled, caller, planned_size
from tg_native.graphs.failure import STATUS, failed
from tg_numba import entry, results, written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.backend import Executable, FrozenGraph, Request, Signature, Status, Timed
    from tg_numba.ticks import Ticks
    from tg_numba.written import Program

    Array = np.ndarray[Any, Any]

UNREAD: Final = np.zeros(STATUS, np.int64)  # where the values of a failing check go that nobody will read


@final
class NumbaLinker(Linker):
    """Compiles a graph as one function."""

    def compile(self, graph: FrozenGraph, request: Request) -> Executable:
        """Generate and compile the module."""
        return _compiled(graph, request)

    def release_memory(self) -> int:
        """Free the blocks of large results that are kept."""
        return results.opened().release() if results.opened.cache_info().currsize else 0


def _compiled(graph: FrozenGraph, request: Request, ticks: Ticks | None = None) -> NumbaExecutable:
    program = written.program(graph, request) if ticks is None else written.write(graph, request, ticks)
    with Span("entry"):
        return NumbaExecutable(graph, request, program)


@final
class NumbaExecutable(Compiled):
    """A compiled module and how to call it."""

    def __init__(self, graph: FrozenGraph, request: Request, program: Program) -> None:
        super().__init__(graph, request, program.shown, _caller(graph, program))
        self._program = program

    def entry(self, signature: Signature) -> Callable[..., Any] | None:
        """The compiled entry; None where this machine has none."""
        return entry.make(self.graph, entry.Compiled(*self._program.addresses, self._program), signature)

    def timed(self) -> Timed:
        """The program with clocks around its loops, compiled now."""
        from tg_native.graphs.ticks import TimedUnit
        from tg_numba.ticks import Ticks

        ticks = Ticks()
        return TimedUnit(_compiled(self.graph, self.request, ticks), ticks)


def _caller(graph: FrozenGraph, program: Program) -> Callable[..., Any]:
    """`run` as a function made for this signature."""
    given = ", ".join([f"a{k}" for k in range(graph.arity)] + [f"y{k}" for k in range(len(graph.outputs))])
    if graph.checks:
        call = [f"if run({given}, UNREAD): return again(arrays, run, {given})"]
    else:
        call = [f"code = run({given})", "if code: return failed(arrays, code, ())"]
    scope = {
        "UNREAD": UNREAD,
        "again": functools.partial(_again, graph),
        "failed": functools.partial(failed, "numba", graph),
        "keep": program,
        "run": program.run,
    }
    return caller(graph, _planner(graph, program.plan) if program.plan is not None else None, call, scope)


def _planner(graph: FrozenGraph, plan: Callable[..., int]) -> Callable[..., Any]:
    """A function from the inputs to the lengths of all outputs, or to the result of a call that failed."""
    size = planned_size(graph)

    def planned(arrays: Sequence[Array]) -> Any:
        found, status = np.empty(size, np.int64), np.zeros(STATUS, np.int64)
        code = plan(*arrays, found, *([status] if graph.checks else []))
        return failed("numba", graph, arrays, code, status.tolist()) if code else found.tolist()

    return planned


def _again(
    graph: FrozenGraph, arrays: Sequence[Array], run: Callable[..., int], *given: Array
) -> tuple[Sequence[Any], Status]:
    """The status of a call that failed, which is made once more to see the values that the check reports."""
    status = np.zeros(STATUS, np.int64)
    code = run(*given, status)
    return failed("numba", graph, arrays, code, status.tolist())


if not is_layout_known():  # generated code reads arrays where they are
    raise TgError(message("backend 'numba': this build of NumPy lays arrays out in an unknown way"))
LINKER: Final = NumbaLinker()
