"""The linker of the C backend: generates a unit, compiles it, and calls it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import BoundsError, ShapeError, TgError, message
from tg.graph.timing import Span
from tg.link.linker import Executable, Linker, Request, Status
from tg.link.perform import explained
from tg_c import entry, unit, written
from tg_c._entry import ffi
from tg_c.compiler import Flags, compiler, keep, level_for
from tg_native.calls.entry import Native
from tg_native.graphs.failure import Failure
from tg_native.plan.shapes import LENGTH_SCOPE, follows_from_inputs, needs_plan, python_length, results_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.link.signature import Signature
    from tg.link.timed import Timed
    from tg_c import Options
    from tg_c.ticks import Ticks
    from tg_c.written import Program

    Array = np.ndarray[Any, Any]

VECTORISE: Final = ("-ftree-vectorize", "-fvect-cost-model=dynamic")
USABLE: Final = 0x101  # of ndarray.flags.num: contiguous in C order, and aligned
STATUS_VALUES: Final = 4


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
class CExecutable(Executable):
    """A compiled unit and how to call it."""

    def __init__(self, graph: FrozenGraph, request: Request, program: Program, loaded: unit.Unit) -> None:
        self._graph, self._request, self._program, self._unit = graph, request, program, loaded
        self.run = _caller(graph, program, loaded)  # type: ignore[method-assign]

    def run(self, arrays: Sequence[Array]) -> tuple[Sequence[Any], Status]:
        """Call the unit: `__init__` puts the generated caller here."""
        raise NotImplementedError

    @property
    def reuses(self) -> tuple[tuple[int, int], ...]:
        """What the code lets share memory."""
        return self._program.reuses

    def entry(self, signature: Signature) -> Callable[..., Any] | None:
        """The compiled entry; None where this machine has none."""
        extra = tuple(array.ctypes.data for array in self._program.arguments)
        run, plan = (self._unit.address(symbol) for symbol in ("tg_run", "tg_plan"))
        owner = (self._unit, self._program.arguments)
        made = entry.make(self._graph, Native(run, plan, extra, owner, self._program.reuses), signature)
        if made is not None:
            self._unit.lend(*entry.memory())
        return made

    def timed(self) -> Timed:
        """The program with clocks around its loops, compiled now."""
        from tg_c.ticks import Ticks
        from tg_native.graphs.ticks import TimedUnit

        ticks = Ticks()
        return TimedUnit(_compiled(self._graph, self._request, ticks), ticks)

    def source(self) -> str:
        """The loops and the functions of graphs, with the user's lines and names."""
        return self._program.shown(full=False)

    def full_source(self) -> str:
        """The C text of the unit, with the user's lines."""
        return self._program.shown(full=True)


def _caller(graph: FrozenGraph, program: Program, loaded: unit.Unit) -> Callable[..., Any]:
    """`run` as a function made for this signature: tests layouts, allocates outputs, calls, looks at the code."""
    names = [f"a{k}" for k in range(graph.arity)]
    scope: dict[str, Any] = {
        "__name__": "tg.link",
        "NULL": ffi.NULL,
        "BYTES": ffi.typeof("char[]"),
        "STATUS": ffi.typeof("int64_t[5]"),
        "buffer": ffi.from_buffer,
        "empty": np.empty,
        "failed": functools.partial(_failed, graph),
        "keep": loaded,
        **LENGTH_SCOPE,
        "new": ffi.new,
        "plan": _planner(graph, loaded, program),
        "refused": functools.partial(explained, graph),
        "run": loaded._run,
        "usable": _usable,
    }
    lines = ["def call(arrays):"]
    if names:
        lines.append(f"    {', '.join(names)}, = arrays")
    lines += [f"    if {a}.flags.num & {USABLE} != {USABLE}: {a} = usable({a})" for a in names]
    dims = [f"*{a}.shape" for a, t in zip(names, graph.input_types, strict=True) if t.ndim]
    if needs_plan(graph):
        lines.append(f"    found = plan(({', '.join(names)}{',' if names else ''}))")
        lines.append("    if type(found) is tuple: return found")
    at = 0
    results: dict[str, str] = {}
    for k, number in enumerate(graph.outputs):
        t = graph.types[number]
        if not needs_plan(graph):
            shape = ", ".join(python_length(d, graph) for d in graph.symbolic[number].shape)
            shape = f"({shape},)" if shape else "()"
        else:
            shape = f"tuple(found[{at}:{at + t.ndim}])"
            if not follows_from_inputs(graph, number):
                dims.append(f"*found[{at}:{at + t.ndim}]")
            at += t.ndim
        scope[f"T{k}"] = t.numpy_dtype
        results[f"y{k}"] = f"empty({shape}, T{k})"
    lines += results_text(results)
    for k, array in enumerate(program.arguments):
        scope[f"D{k}"] = ffi.from_buffer(array)
    inputs = [*(f"buffer({a})" for a in names), *(f"D{k}" for k in range(len(program.arguments)))]
    outputs = [f"buffer(BYTES, y{k}, True)" for k in range(len(graph.outputs))]
    lines += [
        f"    given = [{', '.join(inputs)}], [{', '.join(dims)}], [{', '.join(outputs)}]",
        "    if run(*given, NULL):",  # once more, to see the values that the check reports
        "        status = new(STATUS)",
        "        code = run(*given, status)",
        "        if code: return failed(arrays, code, status)",
        f"    return [{', '.join(f'y{k}' for k in range(len(outputs)))}], ()",
    ]
    exec(compile("\n".join(lines), "<tg-c caller>", "exec"), scope)
    return scope["call"]  # type: ignore[no-any-return]


def _planner(graph: FrozenGraph, loaded: unit.Unit, program: Program) -> Callable[..., Any]:
    """A function from the inputs to the lengths of all outputs, or to the result of a call that failed."""
    size = sum(graph.types[number].ndim for number in graph.outputs)
    extra = [ffi.from_buffer(array) for array in program.arguments]

    def plan(arrays: Sequence[Array]) -> Any:
        dims = [d for a in arrays for d in a.shape]
        status, found = ffi.new("int64_t[5]"), ffi.new("int64_t[]", size)
        code = loaded._plan([*map(ffi.from_buffer, arrays), *extra], dims, found, status)
        return _failed(graph, arrays, code, status) if code else list(found)

    return plan


def _usable(array: Array) -> Array:
    """A copy that is contiguous in C order and aligned."""
    return np.array(array, order="C", copy=True)


def _failed(graph: FrozenGraph, arrays: Sequence[Array], code: int, status: Any) -> tuple[Sequence[Any], Status]:
    """The status of a check that failed; of other failures the reference says which values were wrong."""
    if code > 0:
        return (), (code, *list(status)[:STATUS_VALUES])
    if code == Failure.MEMORY:
        raise MemoryError("backend 'c': no memory for an intermediate result")
    return explained(graph, arrays, _failures().get(code))


def _failures() -> dict[int, TgError]:
    return {
        Failure.NEGATIVE: ShapeError(message("length: found one below 0, needed at least 0")),
        Failure.UNEQUAL: ShapeError(message("lengths that must be equal differ")),
        Failure.BOUNDS: BoundsError(message("slice: found positions outside the axis")),
    }


compiler()  # without one there is no linker to import, and "auto" passes on: the error says what to install
LINKER: Final = CLinker()
