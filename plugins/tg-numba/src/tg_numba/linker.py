"""The linker of the Numba backend: generates a module, compiles it, and calls it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg import TgError
from tg.backend import Span, message
from tg_native.calls.blas import blas
from tg_native.calls.entry import Native
from tg_native.calls.objects import is_layout_known
from tg_native.graphs.caller import Call
from tg_native.graphs.failure import STATUS
from tg_native.graphs.linker import Compiled, NativeLinker
from tg_numba import cache, entry, results
from tg_numba.processor import has_libmvec
from tg_numba.written import Needs, Program, in_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.backend import FrozenGraph, MachineCode, Request, Signature
    from tg_native.graphs.written import Shown
    from tg_numba.ticks import Ticks

    Array = np.ndarray[Any, Any]

UNREAD: Final = np.zeros(STATUS, np.int64)  # where the values of a failing check go that nobody will read


@final
class NumbaLinker(NativeLinker[Program]):
    """Compiles a graph as one function."""

    backend = "numba"

    def write(self, graph: FrozenGraph, request: Request, ticks: Ticks | None = None) -> Program:
        from tg_numba.program import Unit

        return Unit(request, ticks).program(graph)

    def draft(self, graph: FrozenGraph, request: Request) -> None:
        from tg_numba.program import Unit

        Unit(request).write(graph)

    def executable(self, graph: FrozenGraph, request: Request, program: Program) -> NumbaExecutable:
        with Span("entry"):
            return NumbaExecutable(self, graph, request, program, partial(_array_call, graph, program))

    def ticks(self) -> Ticks:
        from tg_numba.ticks import Ticks

        return Ticks()

    def circumstances(self) -> tuple[str, ...]:
        return *cache.circumstances(), str(has_libmvec()), blas().source

    def record(self, program: Program) -> tuple[Any, ...] | None:
        return (program.name, tuple(program.needs), program.interface) if program.name is not None else None

    def restored(self, graph: FrozenGraph, record: Any, shown: Shown) -> Program | None:
        name, (arrays, functions), interface = record
        needs = Needs(tuple(map(np.ascontiguousarray, arrays)), functions)
        results.opened()  # what hands out memory: code has names for it
        loaded = cache.reopened(name, needs.addresses())
        return in_memory(interface, loaded, name, needs, shown) if loaded is not None else None

    def release_memory(self) -> int:
        """Free the blocks of large results that are kept."""
        return results.opened().release() if results.opened.cache_info().currsize else 0


@final
class NumbaExecutable(Compiled[Program]):
    """A compiled module and how to call it."""

    def entry(self, signature: Signature) -> Callable[..., Any] | None:
        """The compiled entry; None where this machine has none."""
        return entry.make(self.program.interface, Native(*self.program.addresses, (), self.program), signature)

    def machine_code(
        self, shapes: Sequence[tuple[int, ...]], held: Sequence[Array], results: Sequence[tuple[int, ...]]
    ) -> MachineCode:
        """The module's entry behind one that makes arrays of pointers."""
        from tg_numba import pointer

        return pointer.of_program(self.graph, self.program, shapes, held, results)


def _array_call(graph: FrozenGraph, program: Program) -> Call:
    """The call of a module, by the arrays themselves."""
    arguments = ", ".join([f"a{k}" for k in range(graph.arity)] + [f"y{k}" for k in range(len(graph.outputs))])
    scope = {"UNREAD": UNREAD, "keep": program, "new_status": partial(np.zeros, STATUS, np.int64), "run": program.run}
    plan = partial(_planned, graph, program.plan) if program.plan is not None else None
    return Call(arguments, scope, "UNREAD" if graph.checks else "", plan=plan)


def _planned(
    graph: FrozenGraph, plan: Callable[..., int], arrays: Sequence[Array], count: int
) -> tuple[int, list[int], Array]:
    lengths, status = np.empty(count, np.int64), np.zeros(STATUS, np.int64)
    code = plan(*arrays, lengths, *([status] if graph.checks else []))
    return code, lengths.tolist(), status


if not is_layout_known():  # generated code reads arrays where they are
    raise TgError(message("backend 'numba': this build of NumPy lays arrays out in an unknown way"))
LINKER: Final = NumbaLinker()
