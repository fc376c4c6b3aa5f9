"""The linker of a backend that writes code: a program is the one that was kept, or is written now, and then called."""

from __future__ import annotations

import abc
import functools
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from tg.link.linker import Executable, Linker
from tg.link.memory import plan
from tg_native.graphs.caller import caller

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.link.linker import Request
    from tg.link.memory import Plan
    from tg.link.timed import Timed
    from tg_native.graphs.caller import Call
    from tg_native.graphs.ticks import Ticks
    from tg_native.graphs.written import Shown


class Written(Protocol):
    """Code that is written of a program, and its presentation."""

    @property
    def shown(self) -> Shown: ...


Program = TypeVar("Program", bound=Written)


class NativeLinker(Linker, Generic[Program]):
    """Compiles a graph as one unit."""

    backend: ClassVar[str]

    @abc.abstractmethod
    def write(self, graph: FrozenGraph, request: Request, ticks: Any = None) -> Program:
        """Program that is written of a graph now; with `ticks`, one that takes the time of its parts."""

    @abc.abstractmethod
    def draft(self, graph: FrozenGraph, request: Request) -> None:
        """Write the code of a graph, as `write` does, and compile nothing."""

    @abc.abstractmethod
    def executable(self, graph: FrozenGraph, request: Request, program: Program) -> Compiled[Program]:
        """A program, compiled if it is not yet, and how to call it."""

    @abc.abstractmethod
    def ticks(self) -> Ticks:
        """The clock for a unit in the making."""

    # --- what is kept between processes ------------------------------------------------------------------------------

    @abc.abstractmethod
    def circumstances(self) -> tuple[str, ...]:
        """Circumstances that a program depends on besides its graph and the request."""

    @abc.abstractmethod
    def record(self, program: Program) -> tuple[Any, ...] | None:
        """Record to keep of a program; None if there is nothing to keep."""

    @abc.abstractmethod
    def restored(self, graph: FrozenGraph, record: Any, shown: Shown) -> Program | None:
        """The program of which a record was kept; None where it lacks what is gone since."""

    def examine(self, graph: FrozenGraph, request: Request) -> None:
        """Refuse what cannot be written; the compiler runs for none."""
        self.draft(graph, request)

    def compile(self, graph: FrozenGraph, request: Request) -> Executable:
        """The program that was kept, else a new one, which is kept."""
        if request.kept is None:
            return self.executable(graph, request, self.write(graph, request))
        circumstances = self.circumstances()
        record, program = request.kept.read(*circumstances), None
        if record is not None:
            program = self.restored(graph, record, lambda *, full: self.write(graph, request).shown(full=full))
        if program is None:
            program = self.write(graph, request)
            record = self.record(program)
            if record is not None:
                request.kept.store(record, *circumstances)
        return self.executable(graph, request, program)


class Compiled(Executable, Generic[Program]):
    """A compiled program and how to call it."""

    def __init__(
        self,
        linker: NativeLinker[Program],
        graph: FrozenGraph,
        request: Request,
        program: Program,
        call: Callable[[], Call],
    ) -> None:
        self.linker, self.graph, self.request, self.program = linker, graph, request, program
        self._call = call

    @functools.cached_property
    def run(self) -> Callable[..., Any]:
        """The caller, made when it is asked for: most calls go through a compiled entry."""
        return caller(self.linker.backend, self.graph, self._call())

    def memory(self, arrays: Sequence[Any]) -> Plan | None:
        """The values of the program; its results have their memory when it begins."""
        return plan(self.graph, arrays, ahead=True)

    def source(self) -> str:
        """The loops and the functions of graphs, with the user's lines and names."""
        return self.program.shown(full=False)

    def full_source(self) -> str:
        """All that is compiled, with the user's lines."""
        return self.program.shown(full=True)

    def timed(self) -> Timed:
        """The program with clocks around its loops, compiled now."""
        from tg_native.graphs.ticks import TimedUnit

        ticks = self.linker.ticks()
        program = self.linker.write(self.graph, self.request, ticks)
        return TimedUnit(self.linker.executable(self.graph, self.request, program), ticks)
