"""`FuncifyExecutable`: a graph that is one Python function of a library's functions, as it is called.

It runs as it is or compiled by the library, once for each tuple of the sizes that depend on values.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import deque
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.graph.timing import Span
from tg.link.blame import program_error, wrong_values
from tg.link.direct import Direct
from tg.link.host import host_checks
from tg.link.inspection import Inspector, check_types
from tg.link.linker import Executable, Request, Status
from tg.link.part import Part
from tg.link.symbolic import has_symbols
from tg.link.unit import Unit
from tg.link.writing import funcify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.link.funcified import Funcified
    from tg.link.funcify import FuncifyLinker
    from tg.link.memory import Plan
    from tg.link.symbolic import Symbols
    from tg.link.timed import Timed

    Array = np.ndarray[Any, Any]

NO_CONTEXT: Final = contextlib.nullcontext()
KEPT: Final = 256  # programs for sizes that depend on values, and notes of compilations: beyond, the oldest goes


@final
class FuncifyExecutable(Executable):
    """A funcified graph, jitted once for each tuple of sizes that depend on values."""

    def __init__(self, graph: FrozenGraph, function: Funcified, linker: FuncifyLinker, request: Request) -> None:
        self._graph, self._function, self._linker, self._options = graph, function, linker, request.options
        self._request = request
        self._has_status = request.has_status
        self._guard = host_checks(request.guard, "graph_checks") if request.guard is not None else None
        # lengths that tracing does not know are looked at before each call
        self._check = self._guard.function if self._guard is not None and linker.length is not None else None
        self._lay_out = None if linker.lay_out is None else linker.lay_out(graph, request.options)
        self._constants = self._laid_constants(function.constants)
        self._programs: dict[tuple[Any, ...], Callable[..., tuple[Any, ...]]] = {}
        self._traces: list[None] = []  # as many as there were: to append one is one step
        self._tracing: dict[int, Span] = {}  # by thread
        self._parts: dict[tuple[int, bool], Part] = {}  # by the id of the linker, which they keep, and for symbols
        self._compilations: deque[Span] = deque(maxlen=KEPT)
        self._texts: dict[tuple[Any, ...], Callable[[], str]] = {}  # of what the library has made, by sizes
        self._main = self._program(()) if function.host is None else None
        if linker.owned is not None:
            self.to_numpy = linker.owned  # type: ignore[method-assign,assignment]

    def _laid_constants(self, arrays: Sequence[Array]) -> tuple[Any, ...]:
        natives = tuple(map(self._linker.to_native, arrays))
        if self._lay_out is None:
            return natives
        places = {id(c.data): k for k, c in enumerate(self._graph.constants, self._graph.arity)}
        numbers = [places.get(id(a)) for a in arrays]
        return tuple(map(self._lay_out, natives, numbers))

    def laid_out(self, value: Any, place: int) -> Any:
        return value if self._lay_out is None else self._lay_out(value, place)

    @property
    def overwrites(self) -> tuple[tuple[int, int], ...]:
        """The pairs that the function has, which nothing on several devices or sized by values does."""
        return self._function.overwrites if self._lay_out is None and self._function.host is None else ()

    def may_overwrite(self, native: Any) -> bool:
        return self._linker.is_alone(native)

    def is_spread(self, value: object) -> bool:
        return self._linker.is_spread is not None and self._linker.is_spread(value, self._options)

    def memory(self, arrays: Sequence[Any]) -> Plan | None:
        linker = self._linker
        if linker.memory is None:
            return None
        with linker.entered(self._options):
            natives = arrays if linker.argument is None else [*map(linker.argument, arrays)]
            plan = linker.memory(self._graph, self._main or self._sized(arrays), natives)
        self._tracing.pop(threading.get_ident(), None)  # no call has been traced
        return plan

    @property
    def compiles(self) -> int:
        """The number of traces of the program: one for each combination of sizes, shapes and, for some, layouts."""
        return len(self._traces)

    @property
    def compiles_shapes(self) -> bool:
        """Whether the library compiles."""
        return self._linker.jit is not None

    @property
    def compilations(self) -> Sequence[Span]:
        """The calls that were traced: tracing, compiling and the first run, which no library tells apart."""
        return tuple(self._compilations)

    def _program(self, sizes: tuple[Any, ...]) -> Callable[..., tuple[Any, ...]]:
        program = self._programs.get(sizes)
        if program is None:
            if len(self._programs) >= KEPT:
                oldest = next(iter(self._programs))
                self._programs.pop(oldest, None)
                self._texts.pop(oldest, None)
            program = self._programs.setdefault(sizes, self._linked(sizes))
        return program

    def _linked(self, sizes: tuple[Any, ...]) -> Callable[..., tuple[Any, ...]]:
        """The program of these sizes as a function of the inputs, compiled if the backend compiles."""
        linker, constants = self._linker, self._constants
        looked_at = self._steps(sizes, self._function.inspected(check_types(self._request)))
        if linker.jit is None:
            return self._looked_at_once(sizes, looked_at)
        steps, unit = looked_at, Unit(self._request.name, self._graph, self._options, sizes, self._request)

        def traced(constants: tuple[Any, ...], *arrays: Any) -> tuple[Any, ...]:
            self._traces.append(None)
            with Span("trace") as self._tracing[threading.get_ident()]:
                return _separate(steps(constants, *arrays), (*constants, *arrays), linker.copy)

        compiled = linker.jit(traced if constants else lambda *arrays: traced((), *arrays), unit)
        text = getattr(compiled, "source", None)
        if text is not None:
            self._texts[sizes] = text
        return functools.partial(compiled, constants) if constants else compiled

    def _looked_at_once(
        self, sizes: tuple[Any, ...], looked_at: Callable[..., tuple[Any, ...]]
    ) -> Callable[..., tuple[Any, ...]]:
        """A program that runs as it is: in its first call what each rule gives is looked at."""
        program = functools.partial(self._steps(sizes, self._function.device), self._constants)

        def first(*arrays: Any, writes: object = None) -> tuple[Any, ...]:
            outputs = looked_at(self._constants, *arrays)
            self._programs[sizes] = program
            if self._function.host is None:
                self._main = program
            return outputs

        return first

    def inspect(self, arrays: Sequence[Any]) -> None:
        """Run the program once, looking at all that its rules do; nothing where it is compiled.

        Raises:
            DebugError, PluginError: a rule does what it must not; see `tg.link.inspection.Inspector`.
        """
        linker = self._linker
        if linker.jit is not None:
            return
        inspector = Inspector(self._request, linker.to_numpy, linker.views)
        device, host = self._function.inspected(inspector), self._function.host
        with linker.entered(self._options), np.errstate(all="ignore"):
            natives = [linker.to_native(linker.to_numpy(a)) for a in arrays]
            sizes = () if host is None else host.function(*arrays)
            inspector.finish(self._steps(sizes, device)(self._constants, *natives))

    def _steps(
        self,
        sizes: tuple[Any, ...],
        device: Callable[..., tuple[Any, ...]],
        check: Callable[..., tuple[Any, ...]] | None = None,
    ) -> Callable[..., tuple[Any, ...]]:
        """The checks that shapes decide, once for each combination of these, then the graph."""
        device = functools.partial(device, sizes)
        if self._guard is None or self._linker.length is not None:
            return device
        if check is not None:
            return functools.partial(_checked, check, device)
        check, guard, passed = self._guard.function, self._request.guard, set[tuple[Any, ...]]()
        assert guard is not None
        read = sorted({k for node in guard.nodes for k in node.inputs if k < guard.arity})

        def checked(constants: tuple[Any, ...], *arrays: Any, **writes: Any) -> tuple[Any, ...]:
            shapes = tuple([tuple(arrays[k].shape) for k in read])
            if shapes in passed:  # to check takes 7 us, as long as a factor of a small matrix
                return device(constants, *arrays, **writes)
            outputs = _checked(check, device, constants, *arrays, **writes)
            if len(passed) < KEPT:
                passed.add(shapes)
            return outputs

        return checked

    def run(self, arrays: Sequence[Any]) -> tuple[Sequence[Any], Status]:
        """The outputs, ready, and the status if the graph has one."""
        return self._run(arrays, self._linker.ready)

    def run_deferred(self, arrays: Sequence[Any], writes: list[Callable[[], Any]]) -> tuple[Sequence[Any], Status]:
        """As `run`; but what writes into inputs is left in `writes`."""
        return self._run(arrays, self._linker.ready, writes=writes)

    def run_to_numpy(self, arrays: Sequence[Any]) -> tuple[Sequence[Array], Status]:
        """The outputs as NumPy arrays, whose conversion waits for them where the backend says so."""
        return self._run(arrays, self._converted)

    @property
    def direct(self) -> Direct | None:
        """The parts of a call, where the library compiles and takes NumPy's arrays as they are."""
        linker = self._linker
        has_more = self._check is not None or linker.argument is not None or self._lay_out is not None
        if linker.jit is None or self._main is None or has_more or not linker.waits:
            return None
        switch = None if linker.switch is None else linker.switch(self._options)
        if switch is None and linker.scope is not None:
            return None
        gives, note = (self.to_numpy, linker.to_numpy, self._has_status), self._note_compilation
        return Direct(self._main, switch, *gives, self._tracing, note)

    @property
    def host_reads(self) -> frozenset[int]:
        """The inputs of which the host reads values."""
        return frozenset() if self._function.host is None else self._function.host.reads

    def trace(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """The outputs; whoever traces has entered the linker's scope.

        Raises:
            ShapeError: a check fails that shapes decide.
        """
        linker = self._linker.tracing(arrays)
        if linker is None:
            return self.run(arrays)[0]
        return self._part(linker, linker.symbols if has_symbols(arrays) else None)(arrays)

    def _part(self, linker: FuncifyLinker, symbols: Symbols | None) -> Part:
        """The program as others trace it, by the functions of this linker."""
        key = id(linker), symbols is not None
        part = self._parts.get(key)
        if part is None:
            function, constants = self._function, self._constants
            if linker is not self._linker or symbols is not None:
                function = funcify(self._graph, self._request, linker, symbols)
                constants = tuple(linker.to_native(data) for data in function.constants)
            steps = self._steps if symbols is None else self._steps_of_symbols(symbols)
            part = self._parts.setdefault(key, Part(function, constants, linker, self._request, steps))
        return part

    def _steps_of_symbols(self, symbols: Symbols) -> Callable[..., Callable[..., tuple[Any, ...]]]:
        """As `_steps`, where lengths are symbols."""
        guard = self._request.guard
        check = None if guard is None else host_checks(guard, "graph_checks", symbols).function
        return functools.partial(self._steps, check=check)

    def _converted(self, outputs: Sequence[Any]) -> Sequence[Array]:
        if not self._linker.waits:
            outputs = self._linker.ready(outputs)
        return [*map(self.to_numpy, outputs)]

    def _run(
        self, arrays: Sequence[Any], taken: Callable[[Sequence[Any]], Sequence[Any]], **writes: Any
    ) -> tuple[Sequence[Any], Status]:
        """The outputs as `taken` gives them, and the status."""
        linker = self._linker
        results: Any = None
        try:
            if self._check is not None:
                with np.errstate(all="ignore"):
                    self._check(*arrays)
            program = self._main or self._sized(arrays)
            context = None if linker.scope is None else linker.scope(self._options)
            with NO_CONTEXT if context is None else context:
                natives = arrays if linker.argument is None else [*map(linker.argument, arrays)]
                if self._lay_out is not None:
                    natives = [*map(self._lay_out, natives, range(len(natives)))]
                results = program(*natives, **writes)
                is_clear = self._has_status and results[-1] is None
                outputs = taken(results) if not is_clear else [*taken(results[:-1]), None]
            if self._tracing:
                self._note_compilation()
        except Exception as raised:  # noqa: BLE001 (raised again, named)
            self._tracing.pop(threading.get_ident(), None)
            error = self._told(raised, results)
            status = self._status_of(arrays)
            if not status:
                raise program_error(error, self._function.lines, self._request)  # noqa: B904
            return (), status
        if not self._has_status:
            return outputs, ()
        if outputs[-1] is None:
            return outputs[:-1], ()
        code = linker.to_numpy(outputs[-1])
        return outputs[:-1], tuple(code.tolist()) if code[0] else ()

    def _told(self, error: Exception, results: Any) -> Exception:
        """The exception to raise for an error: if it came up in the results, that a rule has given something wrong."""
        if results is None:
            return error
        outputs = self._graph.outputs
        values = {f"v{k}": value for k, value in zip(outputs, results, strict=False)}
        wrong = wrong_values(self._graph, outputs, values, self._request)
        if wrong is None:
            return error
        wrong.__cause__ = error
        return wrong

    def _note_compilation(self) -> None:
        """Remember where the time of a call went that was traced, if it was in this thread."""
        trace = self._tracing.pop(threading.get_ident(), None)
        if trace is not None:
            ended = perf_counter()
            parts = (trace, Span.of("library", trace.ended, ended))
            self._compilations.append(Span.of("call", trace.began, ended, parts))

    def _sized(self, arrays: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
        """The program for the sizes that these values ask for."""
        host = self._function.host
        assert host is not None
        with np.errstate(all="ignore"):
            sizes = host.function(*arrays)
        return self._programs.get(sizes) or self._program(sizes)

    def _status_of(self, arrays: Sequence[Any]) -> Status:
        """The status by itself, on the reference: sizes that a check refuses may make a backend raise before it."""
        if not self._has_status:
            return ()
        graph = FunctionGraph.thaw(self._graph)
        graph.outputs = graph.outputs[-1:]
        try:
            (code,) = interpret(graph.freeze(), [self._linker.to_numpy(a) for a in arrays])
        except Exception:  # noqa: BLE001 (the error that led here is the one to raise)
            return ()
        return tuple(code.tolist()) if code[0] else ()

    def to_numpy(self, output: Any) -> Array:
        """A writable copy."""
        return np.array(self._linker.to_numpy(output))

    def to_native(self, array: Array) -> Any:
        """A copy as the backend's array."""
        with self._linker.entered(self._options):
            return self._linker.to_native(array)

    def timed(self) -> Timed | None:
        """The same program with its rules timed one by one; None where a library makes one of them all."""
        if self._linker.jit is not None:
            return None
        from tg.link.timed import Clock, TimedByNode, TimedRequest

        def ready(results: Any) -> Any:
            self._linker.ready(results if isinstance(results, tuple | list) else (results,))
            return results

        clock = Clock(self._graph)
        request = TimedRequest(**vars(self._request)).timing(clock, self._graph, ready)
        return TimedByNode(self._graph, clock, self._linker.compile(self._graph, request))

    def source(self) -> str:
        """The generated Python function, then what the library has made of it where it shows that."""
        return "\n".join([self._function.source, *(text() for text in list(self._texts.values()))])

    def full_source(self) -> str:
        """The same behind the names in it: which function each rule is, and what the constants are."""
        return self._function.declarations + self.source()


def _checked(
    check: Callable[..., Any],
    device: Callable[..., tuple[Any, ...]],
    constants: tuple[Any, ...],
    *arrays: Any,
    **writes: Any,
) -> tuple[Any, ...]:
    with np.errstate(all="ignore"):
        check(*arrays)
    return device(constants, *arrays, **writes)


def _separate(outputs: tuple[Any, ...], inputs: Sequence[Any], copy: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Traced outputs of which none is an input or another output."""
    ids, distinct = {id(a) for a in inputs}, []
    for out in outputs:
        distinct.append(copy(out) if id(out) in ids else out)
        ids.add(id(out))
    return tuple(distinct)
