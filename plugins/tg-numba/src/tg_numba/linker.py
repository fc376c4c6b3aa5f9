"""The linker of the Numba backend: generates a module, compiles it, and calls it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import BoundsError, ShapeError, TgError, message
from tg.graph.checks import STATUS_LENGTH, STATUS_VALUES
from tg.graph.timing import Span
from tg.link.linker import Executable, Linker, Request, Status
from tg.link.perform import explained
from tg_native.calls.objects import is_layout_known
from tg_native.graphs.failure import Failure
from tg_native.plan.shapes import LENGTH_SCOPE, python_length, results_text
from tg_numba import entry, results, written
from tg_numba.entry import Compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.link.signature import Signature
    from tg.link.timed import Timed
    from tg_numba.ticks import Ticks
    from tg_numba.written import Program

    Array = np.ndarray[Any, Any]

USABLE: Final = 0x101  # of ndarray.flags.num: contiguous in C order, and aligned
UNREAD: Final = np.zeros(STATUS_LENGTH, np.int64)  # where the values of a failing check go that nobody will read


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
class NumbaExecutable(Executable):
    """A compiled module and how to call it."""

    def __init__(self, graph: FrozenGraph, request: Request, program: Program) -> None:
        self._graph, self._request, self._program = graph, request, program
        self.run = _caller(graph, program)  # type: ignore[method-assign]

    def run(self, arrays: Sequence[Array]) -> tuple[Sequence[Any], Status]:
        """Call the program: `__init__` puts the generated caller here."""
        raise NotImplementedError

    def entry(self, signature: Signature) -> Callable[..., Any] | None:
        """The compiled entry; None where this machine has none."""
        return entry.make(self._graph, Compiled(*self._program.addresses, self._program), signature)

    def timed(self) -> Timed:
        """The program with clocks around its loops, compiled now."""
        from tg_native.graphs.ticks import TimedUnit
        from tg_numba.ticks import Ticks

        ticks = Ticks()
        return TimedUnit(_compiled(self._graph, self._request, ticks), ticks)

    def source(self) -> str:
        """The loops and the functions of graphs in LLVM's language, with the user's lines and names."""
        return self._program.shown(full=False)

    def full_source(self) -> str:
        """The generated text in LLVM's language, with the user's lines."""
        return self._program.shown(full=True)


def _caller(graph: FrozenGraph, program: Program) -> Callable[..., Any]:
    """`run` as a function made for this signature: tests layouts, allocates outputs, calls, looks at the code."""
    names = [f"a{k}" for k in range(graph.arity)]
    scope: dict[str, Any] = {
        "__name__": "tg.link",
        "UNREAD": UNREAD,
        "empty": np.empty,
        "failed": functools.partial(_failed, graph),
        "keep": program,
        **LENGTH_SCOPE,
        "plan": _planner(graph, program),
        "refused": functools.partial(explained, graph),
        "run": program.run,
        "usable": _usable,
    }
    lines = ["def call(arrays):"]
    if names:
        lines.append(f"    {', '.join(names)}, = arrays")
    lines += [f"    if {a}.flags.num & {USABLE} != {USABLE}: {a} = usable({a})" for a in names]
    if program.plan is not None:
        lines.append(f"    found = plan(({', '.join(names)}{',' if names else ''}))")
        lines.append("    if type(found) is tuple: return found")
    at = 0
    outputs = [f"y{k}" for k in range(len(graph.outputs))]
    results: dict[str, str] = {}
    for y, number in zip(outputs, graph.outputs, strict=True):
        t = graph.types[number]
        if program.plan is None:
            shape = ", ".join(python_length(d, graph) for d in graph.symbolic[number].shape)
            shape = f"({shape},)" if shape else "()"
        else:
            shape = f"tuple(found[{at}:{at + t.ndim}])"
            at += t.ndim
        scope[f"T{y}"] = t.numpy_dtype
        results[y] = f"empty({shape}, T{y})"
    lines += results_text(results)
    given = ", ".join((*names, *outputs))
    if graph.checks:
        lines.append(f"    if run({given}, UNREAD): return failed(arrays, run, {given})")
    else:
        lines.append(f"    code = run({given})")
        lines.append("    if code: return failed(arrays, lambda *_: code)")
    lines.append(f"    return [{', '.join(outputs)}], ()")
    exec(compile("\n".join(lines), "<tg-numba caller>", "exec"), scope)
    return scope["call"]  # type: ignore[no-any-return]


def _planner(graph: FrozenGraph, program: Program) -> Callable[..., Any]:
    """A function from the inputs to the lengths of all outputs, or to the result of a call that failed."""
    size = sum(graph.types[number].ndim for number in graph.outputs)

    def plan(arrays: Sequence[Array]) -> Any:
        assert program.plan is not None
        found, status = np.empty(size, np.int64), np.zeros(STATUS_LENGTH, np.int64)
        code = program.plan(*arrays, found, *([status] if graph.checks else []))
        return _status(graph, arrays, code, status) if code else found.tolist()

    return plan


def _usable(array: Array) -> Array:
    """A copy that is contiguous in C order and aligned."""
    return np.array(array, order="C", copy=True)


def _failed(
    graph: FrozenGraph, arrays: Sequence[Array], run: Callable[..., int], *given: Array
) -> tuple[Sequence[Any], Status]:
    """The status of a call that failed, which is made once more to see the values that the check reports."""
    status = np.zeros(STATUS_LENGTH, np.int64)
    return _status(graph, arrays, run(*given, status), status)


def _status(graph: FrozenGraph, arrays: Sequence[Array], code: int, status: Array) -> tuple[Sequence[Any], Status]:
    """The status of a check that failed; of other failures the reference says which values were wrong."""
    if code > 0:
        return (), (code, *status[:STATUS_VALUES].tolist())
    if code == Failure.MEMORY:
        raise MemoryError("backend 'numba': no memory for an intermediate result")
    return explained(graph, arrays, _failures().get(code))


def _failures() -> dict[int, TgError]:
    return {
        Failure.NEGATIVE: ShapeError(message("length: found one below 0, needed at least 0")),
        Failure.UNEQUAL: ShapeError(message("lengths that must be equal differ")),
        Failure.BOUNDS: BoundsError(message("slice: found positions outside the axis")),
        Failure.RAISED: TgError(message("backend 'numba': a jitted function has raised, and the reference has not")),
    }


if not is_layout_known():  # generated code reads arrays where they are
    raise TgError(message("backend 'numba': this build of NumPy lays arrays out in an unknown way"))
LINKER: Final = NumbaLinker()
