"""`Calls`: from the arguments of a call to its results: the general way, and the quickest that programs allow."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.callers import warn
from tg.errors import DebugError, LimitError, NonFiniteError, PerformanceWarning, PluginError, TgError
from tg.functions.caller import make_caller, shape_of
from tg.functions.entries import chained, with_shared
from tg.functions.lending import Loan, updated
from tg.functions.limited import Limit
from tg.functions.outputs import check_native, check_outputs
from tg.functions.shared import Value
from tg.functions.unparsed import Unparsed
from tg.graph.timing import Span
from tg.link.declines import Declined
from tg.link.signature import Signature

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.functions.compile import Program
    from tg.functions.nonfinite import NonFinite
    from tg.functions.programs import Programs
    from tg.functions.request import Request
    from tg.functions.shared import Shared
    from tg.functions.watch import Watch
    from tg.turns import Turn

    Array = np.ndarray[Any, Any]


@final
class Calls:
    """The calls of one function.

    Args:
        install: makes something what a call of the function calls.
    """

    def __init__(self, request: Request, programs: Programs, install: Callable[[Callable[..., Any]], object]) -> None:
        self.request, self.programs, self._install = request, programs, install
        self._is_watched, self._is_native = request.options.is_watched, request.options.native
        memory = programs.choice.general.memory
        self._limit = None if memory is None else Limit(request.options.name, memory)
        self._failures: set[str] = set()  # that calls have warned of
        with Span("caller"):
            self._renew()
        programs.begin(self._renew, self._failed)

    def general(self, /, *args: Any, **kwargs: Any) -> Any:
        """The general way: every kind of argument, shared variables, updates, specialisation, errors in full."""
        request, programs = self.request, self.programs
        program, lent = self._lent

        def lend(turn: Turn) -> Loan:
            return Loan(turn, request.targets, program, list)

        def run(held: list[Value], loan: Loan | None) -> tuple[list[Any], list[Value]]:
            return programs.run(values, held, functools.partial(self._ran, loan=loan))

        try:
            values = request.binding(args, kwargs, programs.main.executable.is_spread)
            return request.structure(iter(updated(request, run, lend if lent else None, lent)))
        except TgError as error:
            error.trim()
            raise

    def run(self, values: list[Array], held: list[Value]) -> tuple[list[Any], list[Value]]:
        """The outputs of a call, and the new values of the targets, of arrays for the inputs and values of sources."""
        return self.programs.run(values, held, self._ran)

    def fresh(self, outputs: Sequence[Any], program: Program) -> list[Value]:
        """The new values of the shared variables among the outputs of a program."""
        request, form, values = self.request, program.form, []
        for k, target in enumerate(request.targets, request.count):
            to_numpy = form.back.get(target.type.dtype, form.to_numpy)
            values.append(Value(None, form.key, outputs[k], to_numpy))
            target.check(values[-1], None if isinstance(request.results, Unparsed) else request.results[k].loc)
        return values

    def find_nonfinite(self, args: Sequence[Any], kwargs: dict[str, Any]) -> NonFinite | None:
        """The node that first makes a NaN or an infinity which reaches a result of a call; None if none does."""
        values, held = self.request.taken(args, kwargs)
        return self._watch.find(self.request.ones(values, held), [*values, *self.request.arrays(held)])

    @functools.cached_property
    def _watch(self) -> Watch:
        """Debug mode and the NaN guard, which look at calls."""
        from tg.functions.watch import Watch

        return Watch(self.request, self.programs)

    def _renew(self) -> None:
        """There are other programs: the quickest way may be another."""
        self._lent = self._overwritten()
        self._install(self._quickest())

    def _failed(self, error: BaseException) -> None:
        """Native code cannot be made: the next call warns, and the reference goes on; other patterns fail alike."""
        failure = f"backend {self.programs.choice.name!r} has not compiled it, the reference goes on: {error}"
        if failure in self._failures:
            return

        def call(*args: Any, **kwargs: Any) -> Any:
            quickest = self._quickest()
            self._install(quickest)
            self._failures.add(failure)
            warn(f"{self.request.options.name}: {failure}", PerformanceWarning)
            return quickest(*args, **kwargs)

        self._install(call)

    def _quickest(self) -> Callable[..., Any]:
        """The quickest way for usual calls of the programs there are; it leaves all others to the general way."""
        quickest, request = self._quickest_of_leaves(), self.request
        if request.nesting is None:
            return quickest

        def call(*args: Any, **kwargs: Any) -> Any:
            return quickest(*request.leaves(args), **kwargs)

        return call

    def _quickest_of_leaves(self) -> Callable[..., Any]:
        request, main = self.request, self.programs.main
        if self._is_watched or self._limit is not None:
            return self.general
        if not main.executable.gives_numpy:
            return self._shortest()
        alike = [p for p in self.programs if p.backend == main.backend]
        if request.live or request.targets:
            return with_shared(self, alike) or self.general
        signature = Signature(self.general, request.structure, request.donated)
        return chained(alike, signature) or self._shortest()

    def _overwritten(self) -> tuple[Program, tuple[Shared, ...]]:
        """The main program, and the variables into whose values it writes where they are lent to it."""
        request, main = self.request, self.programs.main
        first = len(request.inputs)
        places = () if self._is_watched or request.donated else main.executable.overwrites
        return main, tuple(request.sources[j - first] for _, j in places if j >= first)

    def _shortest(self) -> Callable[..., Any]:
        """The way through Python for a function that has nothing but inputs of the likely lengths."""
        request, main = self.request, self.programs.main
        if not self.programs.is_likely or request.live or request.targets:
            return self.general
        types, shape = [v.type for v in request.inputs], shape_of(request.structure.key)
        return make_caller(
            types,
            main.graph.output_types,
            main.executable,
            self.general,
            shape,
            request.structure,
            request.options.native,
        )

    def _ran(
        self, program: Program, values: list[Array], held: list[Value], loan: Loan | None = None
    ) -> tuple[list[Any], list[Value]]:
        """One run of a program: its outputs, checked, and the new values of the targets.

        Args:
            loan: the values into which it may write, if it is the program that they are lent to.
        """
        request, executable = self.request, program.executable
        main = self.programs.main
        if program.backend != main.backend:
            values = [*map(np.asarray, values)]
        arrays = request.operands(program, values, held)
        try:
            if self._limit is not None:
                self._limit.check(program, arrays)
            writes: list[Callable[[], Any]] = []
            if loan is not None and loan.program is program:
                outputs, status = executable.run_deferred(arrays, writes)
            else:
                outputs, status = executable.run(arrays)
            if status:
                raise program.descriptors[status[0] - 1].build(status[1:])
            if self._is_watched:
                operands = [*values, *request.arrays(held)]
                self._watch.finished(request.ones(values, held), operands, program, outputs)
        except Exception as error:
            is_own = isinstance(error, DebugError | Declined | LimitError | NonFiniteError | PluginError)
            if request.options.mode == "debug" and not is_own:
                self._watch.failed(request.ones(values, held), [*values, *request.arrays(held)])
            error.add_note(f"  while running {self.programs!r} with {request.described(values, held)}")
            raise
        results = self._shown(program, outputs, main), self.fresh(outputs, program) if request.targets else []
        if loan is not None and writes:
            loan.write(writes, results[1])
        return results

    def _shown(self, program: Program, outputs: Sequence[Any], main: Program) -> list[Any]:
        """The results among the outputs of a program, as arrays of NumPy or of the backend of the main program."""
        executable, count = program.executable, self.request.count
        if self._is_native:
            check_native(program, outputs)
            if program.backend == main.backend:
                return list(outputs[:count])
            return [main.executable.to_native(executable.to_numpy(v)) for v in outputs[:count]]
        try:
            shown = [executable.to_numpy(v) for v in outputs[:count]]
        except Exception:
            check_native(program, outputs)
            raise
        check_outputs(program, outputs, shown)
        check_native(program, outputs, count)
        return shown
