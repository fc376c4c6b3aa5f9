"""The linker of the C backend: generates a unit, compiles it, and calls it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, final

from tg.backend import Linker, Span
from tg_c import entry, unit, written
from tg_c._entry import ffi
from tg_c.compiler import Flags, compiler, keep, level_for
from tg_native.calls.entry import Native
from tg_native.graphs.caller import Compiled, caller, planned_size
from tg_native.graphs.failure import STATUS, failed
from tg_native.plan.shapes import follows_from_inputs, needs_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from tg.backend import Executable, FrozenGraph, Request, Signature, Timed
    from tg_c import Options
    from tg_c.ticks import Ticks
    from tg_c.written import Program

    Array = np.ndarray[Any, Any]

VECTORISE: Final = ("-ftree-vectorize", "-fvect-cost-model=dynamic")
_STATUS: Final = ffi.typeof(f"int64_t[{STATUS}]")


@final
class CLinker(Linker):
    """Compiles a graph as one C unit."""

    def compile(self, graph: FrozenGraph, request: Request) -> Executable:
        """Generate, compile and open the unit."""
        return _compiled(graph, request)

    def release_memory(self) -> int:
        """Free the blocks of large results that are kept."""
        return entry.release()


def _compiled(graph: FrozenGraph, request: Request, ticks: Ticks | None = None) -> CExecutable:
    program = written.program(graph, request) if ticks is None else written.write(graph, request, ticks)
    options: Options = request.options
    level = options.optimize if options.optimize is not None else level_for(program.statements)
    if options.keep_source:
        keep(program.shown(full=True))
    loaded = unit.load(program.text, Flags(level, VECTORISE, program.libraries))
    with Span("entry"):
        return CExecutable(graph, request, program, loaded)


@final
class CExecutable(Compiled):
    """A compiled unit and how to call it."""

    def __init__(self, graph: FrozenGraph, request: Request, program: Program, loaded: unit.Unit) -> None:
        super().__init__(graph, request, program.shown, _caller(graph, program, loaded))
        self._program, self._unit = program, loaded

    @property
    def reuses(self) -> tuple[tuple[int, int], ...]:
        """What the code lets share memory."""
        return self._program.reuses

    def entry(self, signature: Signature) -> Callable[..., Any] | None:
        """The compiled entry; None where this machine has none."""
        extra = tuple(array.ctypes.data for array in self._program.arguments)
        run, plan = (self._unit.address(symbol) for symbol in ("tg_run", "tg_plan"))
        owner = (self._unit, self._program.arguments)
        made = entry.make(self.graph, Native(run, plan, extra, owner, self._program.reuses), signature)
        if made is not None:
            self._unit.lend(*entry.memory())
        return made

    def timed(self) -> Timed:
        """The program with clocks around its loops, compiled now."""
        from tg_c.ticks import Ticks
        from tg_native.graphs.ticks import TimedUnit

        ticks = Ticks()
        return TimedUnit(_compiled(self.graph, self.request, ticks), ticks)


def _caller(graph: FrozenGraph, program: Program, loaded: unit.Unit) -> Callable[..., Any]:
    """`run` as a function made for this signature."""
    has_plan, at = needs_plan(graph), 0
    dims = [f"*a{k}.shape" for k, t in enumerate(graph.input_types) if t.ndim]
    for number in graph.outputs if has_plan else ():
        ndim = graph.types[number].ndim
        if not follows_from_inputs(graph, number):
            dims.append(f"*found[{at}:{at + ndim}]")
        at += ndim
    inputs = [f"buffer(a{k})" for k in range(graph.arity)] + [f"D{k}" for k in range(len(program.arguments))]
    outputs = [f"buffer(BYTES, y{k}, True)" for k in range(len(graph.outputs))]
    call = [
        f"given = [{', '.join(inputs)}], [{', '.join(dims)}], [{', '.join(outputs)}]",
        "if run(*given, NULL):",  # once more, to see the values that the check reports
        "    status = new(STATUS)",
        "    code = run(*given, status)",
        "    if code: return failed(arrays, code, status)",
    ]
    scope = {
        "NULL": ffi.NULL,
        "BYTES": ffi.typeof("char[]"),
        "STATUS": _STATUS,
        "buffer": ffi.from_buffer,
        "failed": functools.partial(failed, "c", graph),
        "keep": loaded,
        "new": ffi.new,
        "run": loaded._run,
        **{f"D{k}": ffi.from_buffer(array) for k, array in enumerate(program.arguments)},
    }
    return caller(graph, _planner(graph, loaded, program) if has_plan else None, call, scope)


def _planner(graph: FrozenGraph, loaded: unit.Unit, program: Program) -> Callable[..., Any]:
    """A function from the inputs to the lengths of all outputs, or to the result of a call that failed."""
    size = planned_size(graph)
    extra = [ffi.from_buffer(array) for array in program.arguments]

    def plan(arrays: Sequence[Array]) -> Any:
        dims = [d for a in arrays for d in a.shape]
        status, found = ffi.new(_STATUS), ffi.new("int64_t[]", size)
        code = loaded._plan([*map(ffi.from_buffer, arrays), *extra], dims, found, status)
        return failed("c", graph, arrays, code, status) if code else list(found)

    return plan


compiler()  # without one there is no linker to import, and "auto" passes on: the error says what to install
LINKER: Final = CLinker()
