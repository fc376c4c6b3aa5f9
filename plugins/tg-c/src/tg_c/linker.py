"""The linker of the C backend: generates a unit, compiles it, and calls it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, final

from tg.backend import Span
from tg_c import entry, unit
from tg_c._entry import ffi
from tg_c.compiler import Flags, compiler, environment, keep
from tg_c.written import Program
from tg_native.calls.blas import blas
from tg_native.calls.entry import Native
from tg_native.graphs.caller import Call
from tg_native.graphs.failure import STATUS
from tg_native.graphs.linker import Compiled, NativeLinker
from tg_native.plan.shapes import follows_from_inputs, needs_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from tg.backend import FrozenGraph, MachineCode, Request, Signature
    from tg_c import Options
    from tg_c.ticks import Ticks
    from tg_native.graphs.written import Shown


CONTRACTED: Final = ("-ffp-contract=fast",)  # a*b + c rounds once, where the processor has an instruction for it


def flags(options: Options) -> tuple[int | None, tuple[str, ...]]:
    """The compiler's level that options ask for, None where they leave it open, and flags beside the usual ones."""
    return options.optimize, CONTRACTED if options.fast_math else ()


@final
class CLinker(NativeLinker[Program]):
    """Compiles a graph as one C unit."""

    backend = "c"

    def write(self, graph: FrozenGraph, request: Request, ticks: Ticks | None = None) -> Program:
        with Span("code"):
            from tg_c.program import Unit

            return Unit(request, ticks).program(graph)

    def draft(self, graph: FrozenGraph, request: Request) -> None:
        self.write(graph, request)

    def executable(self, graph: FrozenGraph, request: Request, program: Program) -> CExecutable:
        options: Options = request.options
        level, extra = flags(options)
        if options.keep_source:
            keep(program.shown(full=True))
        usual = program.level if level is None else level
        line = Flags(usual, extra, program.libraries, streams=program.streams, vectorise=True)
        loaded = unit.load(program.text, line, program.loops)
        with Span("entry"):
            return CExecutable(self, graph, request, program, loaded)

    def ticks(self) -> Ticks:
        from tg_c.ticks import Ticks

        return Ticks()

    def circumstances(self) -> tuple[str, ...]:
        chosen = compiler()  # options of its command may say how long vectors are
        return "\0".join(chosen.command), chosen.identity, environment(), blas().source

    def record(self, program: Program) -> tuple[Any, ...]:
        return (program.text, *program[2:])

    def restored(self, graph: FrozenGraph, record: Any, shown: Shown) -> Program:
        text, *others = record
        return Program(text, shown, *others)

    def release_memory(self) -> int:
        """Free the blocks of large results that are kept."""
        return entry.release()


@final
class CExecutable(Compiled[Program]):
    """A compiled unit and how to call it."""

    def __init__(
        self, linker: CLinker, graph: FrozenGraph, request: Request, program: Program, loaded: unit.Unit
    ) -> None:
        super().__init__(linker, graph, request, program, partial(_cffi_call, graph, program, loaded))
        self._unit = loaded

    @property
    def reuses(self) -> tuple[tuple[int, int], ...]:
        """Pairs that the code lets share memory."""
        return self.program.reuses

    def entry(self, signature: Signature) -> Callable[..., Any] | None:
        """The compiled entry; None where this machine has none."""
        extra = tuple(array.ctypes.data for array in self.program.arguments)
        run, plan = (self._unit.address(symbol) for symbol in ("tg_run", "tg_plan"))
        owner = (self._unit, self.program.arguments)
        call = entry.make(self.program.interface, Native(run, plan, extra, owner, self.program.reuses), signature)
        if call is not None:
            self._unit.lend(*entry.memory())
        return call

    def machine_code(
        self,
        shapes: Sequence[tuple[int, ...]],
        held: Sequence[np.ndarray[Any, Any]],
        results: Sequence[tuple[int, ...]],
    ) -> MachineCode:
        """The unit's entry behind one that has the lengths."""
        from tg_c import pointer

        return pointer.of_unit(self.graph, self._unit, shapes, (*held, *self.program.arguments), results)


def _cffi_call(graph: FrozenGraph, program: Program, loaded: unit.Unit) -> Call:
    """The call of a unit by cffi."""
    has_plan, at = needs_plan(graph), 0
    dims = [f"*a{k}.shape" for k, t in enumerate(graph.input_types) if t.ndim]
    for number in graph.outputs if has_plan else ():
        ndim = graph.types[number].ndim
        if not follows_from_inputs(graph, number):
            dims.append(f"*found[{at}:{at + ndim}]")
        at += ndim
    inputs = [f"buffer(a{k})" for k in range(graph.arity)] + [f"D{k}" for k in range(len(program.arguments))]
    outputs = [f"buffer(BYTES, y{k}, True)" for k in range(len(graph.outputs))]
    data = [*map(ffi.from_buffer, program.arguments)]
    scope = {
        "NULL": ffi.NULL,
        "BYTES": ffi.typeof("char[]"),
        "buffer": ffi.from_buffer,
        "keep": loaded,
        "new_status": partial(ffi.new, f"int64_t[{STATUS}]"),
        "run": loaded._run,
        **{f"D{k}": array for k, array in enumerate(data)},
    }
    before = f"given = [{', '.join(inputs)}], [{', '.join(dims)}], [{', '.join(outputs)}]"
    return Call("*given", scope, "NULL", [before], partial(loaded.plan, extra=data) if has_plan else None)


compiler()  # without one there is no linker to import, and "auto" passes on: the error says what to install
LINKER: Final = CLinker()
