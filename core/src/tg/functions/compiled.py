"""`Function`: a compiled expression, and its programs, one for each pattern of lengths that are 1."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.callers import warn
from tg.errors import DebugError, NonFiniteError, PluginError, ShapeError, message
from tg.functions.arguments import (
    pairs_of,
    swaps,
)
from tg.functions.backends import BackendChoice, choose, in_line
from tg.functions.binding import Binding
from tg.functions.caller import make_caller, shape_of
from tg.functions.compile import Program, Setting, compile_expression, interpreted, note_declined, prepared
from tg.functions.entries import chained, reusable, with_shared
from tg.functions.lending import updated
from tg.functions.outputs import check_native, check_outputs
from tg.functions.parameters import Parameters
from tg.functions.shared import Shared, Value, claim_of, snapshots
from tg.functions.unparsed import Unparsed
from tg.graph.dims import check as check_dims
from tg.graph.dims import tied
from tg.graph.timing import Span, current_span, recorded
from tg.graph.traversal import substitute
from tg.link.declines import Declined
from tg.link.linker import Executable
from tg.link.signature import Signature
from tg.turns import Claim, alone

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg.functions.background import Background
    from tg.functions.explain import Explanation
    from tg.functions.nesting import Nesting
    from tg.functions.nonfinite import NonFinite
    from tg.functions.pickled import Text
    from tg.functions.pointers import Pointer
    from tg.functions.profile import Profile
    from tg.functions.report import CompileReport
    from tg.functions.watch import Watch
    from tg.graph.frozen import FrozenGraph
    from tg.graph.nodes import Variable
    from tg.variables.structure import Structure

SHOWN: Final = 8  # how many inputs a note about a failed call lists


@final
class Function:
    """A compiled expression; call it with arrays, by position or by name, from any number of threads."""

    # What a call of the function calls stands in a slot: nothing of Python is between the caller and a compiled entry.
    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]
    _main: Program
    __signature__ = Parameters()

    def __init__(
        self,
        inputs: Sequence[Variable],
        sources: Sequence[Shared],
        results: Sequence[Variable],
        targets: Sequence[Shared],
        structure: Structure,
        *,
        choice: BackendChoice,
        mode: str,
        name: str,
        defaults: Mapping[int, Any],
        native: bool,
        limit: int,
        exclude: frozenset[str] = frozenset(),
        nan_guard: bool = False,
        compile: str = "now",
        donated: frozenset[int] = frozenset(),
        like: Function | None = None,
        nesting: Nesting | None = None,
    ) -> None:
        """Compile it, unless `like` has the program: a function that differs from it in shared variables alone."""
        self.name = name
        self._choice, self._mode, self._native, self._limit = choice, mode, native, limit
        self._exclude, self._nan_guard = exclude, nan_guard
        self._inputs, self._sources = tuple(inputs), tuple(sources)
        self._results = results if isinstance(results, Unparsed) else tuple(results)
        self._targets, self._build, self._defaults = tuple(targets), structure, dict(defaults)
        self._donated, self._nesting = donated, nesting
        self._arguments = Binding(name, self._inputs, self._defaults, nesting)
        self._open = [
            (k, axis) for k, v in enumerate((*inputs, *sources)) for axis, n in enumerate(v.type.shape) if n is None
        ]
        self._ties = tied((*inputs, *sources))
        self._claim = claim_of(targets)
        self._programs: dict[tuple[tuple[int, int], ...], Program] = {}
        self._others: dict[tuple[tuple[int, int], ...], Program] = {}  # beyond the limit, on the reference
        self._elsewhere: dict[tuple[tuple[int, int], ...], BackendChoice] = {}  # patterns not run by the function's own
        self._compiling = Claim(frozenset([("programs", id(self))]), delays_forks=True)
        self._spans: list[Span] = [span for span in (current_span(),) if span is not None]
        self._background = self._in_background() if compile == "background" else None
        self._is_whole, self._is_watched = False, nan_guard or mode == "debug"
        if like is not None:
            self._choice, self._main = like._choice, like._main
            self._programs.update(like._programs)
            self._elsewhere.update(like._elsewhere)
        self._main, self._is_likely = self._first_program()
        with Span("caller"):
            self.__call__ = self._quickest()
        self._is_whole = True
        if self._background is not None:
            self._background.begin()

    def _quickest(self) -> Callable[..., Any]:
        """The quickest way for usual calls of the programs there are; it leaves all others to the general way."""
        quickest = self._quickest_of_leaves()
        if self._nesting is None:
            return quickest

        def call(*args: Any, **kwargs: Any) -> Any:
            return quickest(*self._leaves(args), **kwargs)

        return call

    def _leaves(self, args: Sequence[Any]) -> Sequence[Any]:
        """The arguments of a call by position, those in structures leaf by leaf."""
        return args if self._nesting is None else self._nesting.leaves(self.name, args)

    def _quickest_of_leaves(self) -> Callable[..., Any]:
        executable = self._main.executable
        if self._is_watched or type(executable).to_numpy is not Executable.to_numpy:
            return self._general if self._is_watched else self._shortest()
        others = [p for p in self._programs.values() if p is not self._main and p.backend == self._main.backend]
        if self._sources or self._targets:
            return with_shared(self, [self._main, *others]) or self._general
        signature = Signature(self._general, self._build, self._donated)
        return chained([self._main, *others], signature) or self._shortest()

    def _shortest(self) -> Callable[..., Any]:
        """The way through Python for a function that has nothing but inputs of the likely lengths."""
        if not self._is_likely or self._sources or self._targets:
            return self._general
        shape = shape_of(self._build.key)
        types, outputs = [v.type for v in self._inputs], self._main.graph.output_types
        return make_caller(types, outputs, self._main.executable, self._general, shape, self._build, self._native)

    def _in_background(self) -> Background:
        from tg.functions.background import Background

        return Background(self)

    @property
    def inputs(self) -> list[Any]:
        """The variables it is called with, in the structure that `tg.function` was given them in."""
        return list(self._inputs) if self._nesting is None else self._nesting.together(self._inputs)

    @property
    def backend(self) -> str:
        """The backend's name; other patterns of lengths that are 1 may be on another, if "auto" chose it."""
        return self._choice.name

    @property
    def compiles(self) -> int:
        """How often a compiler has run: for each specialisation, and for new shapes where a backend needs it."""
        return sum(p.executable.compiles for p in self._programs.values())

    @property
    def graph(self) -> FrozenGraph:
        """The rewritten graph of the main specialisation."""
        return self._main.graph

    @property
    def _options(self) -> dict[str, Any]:
        """The keywords with which a function like this one is made."""
        return {
            "choice": self._choice,
            "mode": self._mode,
            "exclude": self._exclude,
            "nan_guard": self._nan_guard,
            "name": self.name,
            "defaults": self._defaults,
            "native": self._native,
            "limit": self._limit,
            "compile": "now" if self._background is None else "background",
            "donated": self._donated,
            "nesting": self._nesting,
        }

    @property
    def _setting(self) -> Setting:
        return Setting(self._choice, self._mode, self._exclude, self.name, reusable(self))

    @property
    def _pattern(self) -> tuple[tuple[int, int], ...]:
        """The lengths that are 1 in the main specialisation."""
        return next((ones for ones, program in self._programs.items() if program is self._main), ())

    @property
    def compiled(self) -> bool:
        """Whether native code answers: always so unless `compile="background"`."""
        return self._background is None or self._background.is_ready

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until native code answers, at most so many seconds; whether it does.

        Raises:
            Exception: what compiling in the background raised.
        """
        return self._background is None or self._background.wait(timeout)

    def compile_report(self) -> CompileReport:
        """Where the time from `tg.function` to what runs has gone: phases, passes, the backend's compiler, caches."""
        from tg.functions.report import of_function

        return of_function(self)

    def profile(self, *args: Any, calls: int = 10, **kwargs: Any) -> Profile:
        """Where the time of a call goes: checks and conversion, each loop or node with the user's line, the outputs.

        The program is made once more, so that it takes the time of its parts; nothing is updated. What native code is
        in the making is waited for.

        Args:
            calls: how many calls are timed, after one that is not.
        Raises:
            InputError: as for a call.
        """
        from tg.functions.profile import of_function

        return of_function(self, args, kwargs, calls)

    def pointer(self, *args: Any, **kwargs: Any) -> Pointer:
        """The function for arguments like these as a C function, which runs without Python: for samplers and solvers.

        It is called once with them: their shapes, and the values of shared variables now, are what it is made for.

        Raises:
            InputError: the backend writes no machine code (C and Numba do), or the function updates shared variables;
                as for a call.
        """
        from tg.functions.pointers import of_function

        return of_function(self, args, kwargs)

    def traceable(self, *, on_error: str | None = None) -> Callable[..., Any]:
        """The function for programs of JAX: it takes and gives arrays of JAX, and tracers of them, in `jax.jit`.

        It can be called in what `jax.jit`, `jax.vmap`, `jax.lax.scan` and other functions of JAX trace. In reverse mode
        its derivative is tg's own, as `tg.grad` gives it; second derivatives are JAX's, of that. Shared variables have
        the values that they have now. Arguments go by position or by name, results come in the structure of this
        function's; checks that shapes decide raise where it is traced.

        Args:
            on_error: what becomes of checks that values decide, which a program of JAX cannot raise: None refuses a
                function that has any, "nan" makes all results NaN where one fails.
        Dtypes:
            as for a call; results of 64 bits need `jax_enable_x64`, which what is inside does without.
        Raises:
            InputError: the backend has no such programs (JAX has), the function updates shared variables, is looked at
                by `nan_guard` or `mode="debug"`, has checks that values decide, or a value of an argument decides a
                length; as for a call.
            OptionError: another `on_error`.
            NotDifferentiable: by JAX's transformations, where tg knows no derivative, or JAX would not know what
                `tg.stop_gradient` and its like say of a second one.
        Example:
            >>> import jax
            >>> import tg
            >>> x = tg.vector("x", dtype="float32")
            >>> f = tg.function([x], tg.sum(x * x), backend="jax").traceable()
            >>> jax.jit(jax.grad(f))(jax.numpy.arange(3.0)).tolist()
            [0.0, 2.0, 4.0]
        """
        from tg.functions.traceable import of_function

        return of_function(self, on_error)

    def explain(self) -> Explanation:
        """How the main specialisation was rewritten: node by node, with the user's lines and the reasons."""
        from tg.functions.explain import of_function

        return of_function(self)

    def why(self, variable: Variable) -> str:
        """What became of a variable of the expression: the replacements on its way to what is computed, if anything.

        Raises:
            InputError: not a variable.
        """
        return self.explain().why(variable)

    def source(self, *, full: bool = False) -> str:
        """The generated code of the main specialisation, with the user's lines; waited for if it is in the making.

        Args:
            full: with declarations, mathematics and all else that does not depend on the program.
        """
        self.wait()
        executable = self._main.executable
        return executable.full_source() if full else executable.source()

    @recorded("copy")
    def copy(
        self,
        *,
        swap: Mapping[Shared, Shared] | None = None,
        backend: str | BackendChoice | None = None,
        name: str | None = None,
    ) -> Function:
        """The same function compiled anew, with shared variables exchanged, and on another backend if one is given.

        Args:
            swap: for shared variables of this function those that take their places, as sources and as targets.
        Raises:
            InputError: what is exchanged is not shared, not of this function, or of another dtype or rank.
        """
        chosen = {} if backend is None else {"choice": choose(backend, self._choice.name)}
        pairs = swaps(pairs_of({} if swap is None else swap, "copy: swap"), (*self._sources, *self._targets))
        return Function(
            self._inputs,
            [pairs.get(id(s), s) for s in self._sources],
            substitute(self._results, pairs),
            [pairs.get(id(t), t) for t in self._targets],
            self._build,
            **{**self._options, **({} if name is None else {"name": name}), **chosen},
        )

    @functools.cached_property
    def _text(self) -> Text:
        from tg.functions.pickled import text_of

        return text_of(self)

    def __reduce__(self) -> tuple[object, ...]:
        from tg.functions.pickled import reduced

        return reduced(self)

    def __repr__(self) -> str:
        names = ", ".join(v.name or "_" for v in self._inputs)
        return f"<{self.name}({names}) on {self.backend}>"

    def _general(self, /, *args: Any, **kwargs: Any) -> Any:
        """The general way: every kind of argument, shared variables, updates, specialisation, errors in full."""
        values = self._arguments(args, kwargs, self._main.executable.is_spread)
        return self._build(iter(updated(self, lambda held, loan: self._run(values, held))))

    def find_nonfinite(self, *args: Any, **kwargs: Any) -> NonFinite | None:
        """For these arguments the node that first makes a NaN or an infinity which reaches a result; None if none does.

        The program is run in parts on its own backend; nothing is updated.
        """
        values = self._arguments(self._leaves(args), kwargs)
        held = snapshots(self._sources)
        return self._watch.find(self._ones(values, held), [*values, *(v.numpy for v in held)])

    @functools.cached_property
    def _watch(self) -> Watch:
        from tg.functions.watch import Watch

        inputs = (*self._inputs, *self._sources)
        return Watch(inputs, self._results, self._setting, self._elsewhere, nan_guard=self._nan_guard)

    def _run(self, values: list[np.ndarray[Any, Any]], held: list[Value]) -> tuple[list[Any], list[Value]]:
        known: set[object] = set()
        while True:
            program = self._program(values, held)
            try:
                return self._ran(program, values, held)
            except Declined as declined:  # the first run shows that
                self._compile_again(program, declined, known)

    def _compile_again(self, program: Program, declined: Declined, known: set[object]) -> None:
        """Compile a program anew, without the rule that has declined."""
        note_declined(program.backend, declined, known)
        ones = next((ones for ones, one in self._programs.items() if one is program), None)
        if ones is None:  # another thread has
            return
        before = self._elsewhere.get(ones, self._choice)
        with Span("specialization") as span:
            made, choice = in_line(before, lambda choice: self._attempted(ones, choice))
        self._adopt(ones, made, choice, span)

    def _ran(
        self, program: Program, values: list[np.ndarray[Any, Any]], held: list[Value]
    ) -> tuple[list[Any], list[Value]]:
        executable = program.executable
        if program.backend != self._main.backend:
            values = [*map(np.asarray, values)]
        arrays: list[Any] = [*values, *(v.native(program.backend, executable) for v in held)]
        try:
            outputs, status = executable.run(arrays)
            if status:
                raise program.descriptors[status[0] - 1].build(status[1:])
            if self._is_watched:
                given = [*values, *(v.numpy for v in held)]
                self._watch.finished(self._ones(values, held), given, program, outputs)
        except Exception as error:
            if self._mode == "debug" and not isinstance(error, DebugError | Declined | NonFiniteError | PluginError):
                self._watch.failed(self._ones(values, held), [*values, *(v.numpy for v in held)])
            error.add_note(f"  while running {self!r} with {self._given(values, held)}")
            raise
        count = len(self._results) - len(self._targets)
        if self._native:
            shown = list(outputs[:count])
            check_native(program, outputs)
        else:
            try:
                shown = [executable.to_numpy(v) for v in outputs[:count]]
            except Exception:
                check_native(program, outputs)
                raise
            check_outputs(program, outputs, shown)
            check_native(program, outputs, count)
        if self._native and program.backend != self._main.backend:
            shown = [self._main.executable.to_native(executable.to_numpy(v)) for v in shown]
        return shown, self._fresh(outputs, program)

    def _fresh(self, outputs: Sequence[Any], program: Program) -> list[Value]:
        """The new values of the shared variables among the outputs of a program."""
        first, found = len(self._results) - len(self._targets), []
        for k, target in enumerate(self._targets, first):
            found.append(Value(None, program.backend, outputs[k], program.executable.to_numpy))
            target.check(found[-1], None if isinstance(self._results, Unparsed) else self._results[k].loc)
        return found

    def _given(self, values: Sequence[np.ndarray[Any, Any]], held: Sequence[Value]) -> str:
        """The inputs and shared variables of a call, each with its dtype and its lengths."""
        pairs: list[tuple[Variable, Any]] = [*zip(self._inputs, values, strict=True)]
        pairs += zip(self._sources, held, strict=True)
        found = [f"{v.name or '_'}: {v.type.dtype}{list(value.shape)}" for v, value in pairs[:SHOWN]]
        return ", ".join([*found, "…"] if len(pairs) > SHOWN else found) or "no arguments"

    def _program(self, values: Sequence[np.ndarray[Any, Any]], held: Sequence[Value]) -> Program:
        if not self._open:
            return self._main
        ones = self._ones(values, held)
        found = self._programs.get(ones)
        if found is None:
            if self._ties:
                check_dims((*self._inputs, *self._sources), [*(v.shape for v in values), *(v.shape for v in held)])
            found = self._compiled(ones)
        return found

    def _ones(self, values: Sequence[np.ndarray[Any, Any]], held: Sequence[Value]) -> tuple[tuple[int, int], ...]:
        """The unknown lengths that are 1 in a call."""
        count = len(values)
        return tuple(
            [
                (k, axis)
                for k, axis in self._open
                if (values[k].shape if k < count else held[k - count].shape)[axis] == 1
            ]
        )

    def _first_program(self) -> tuple[Program, bool]:
        """The program of the likely pattern; where shapes fit only if lengths are 1, of a pattern in which they are."""
        likely = self._likely_ones()
        try:
            return self._compiled(likely), True
        except ShapeError:
            for ones in (tuple(self._open), *(self._ties.get(place, (place,)) for place in self._open)):
                with contextlib.suppress(ShapeError):
                    return self._compiled(ones), False
            raise

    def _likely_ones(self) -> tuple[tuple[int, int], ...]:
        """The pattern to compile at once: shared variables as they are now, no length of an input being 1."""
        count = len(self._inputs)
        ones = [
            (k, axis) for k, axis in self._open if k >= count and self._sources[k - count].snapshot.shape[axis] == 1
        ]
        alike = {other for place in ones for other in self._ties.get(place, (place,))}
        return tuple(place for place in self._open if place in alike)

    def _compiled(self, ones: tuple[tuple[int, int], ...]) -> Program:
        for turn in alone():
            turn.take(self._compiling)
            program = self._programs.get(ones) or self._specialised(ones)
        turn.leave()
        return program

    def _specialised(self, ones: tuple[tuple[int, int], ...]) -> Program:
        """The program of a pattern that has none yet; the caller has a turn for it."""
        if len(self._programs) >= self._limit:
            return self._on_reference(ones)
        with Span("specialization") as span:
            program, choice = in_line(self._choice, lambda choice: self._attempted(ones, choice))
            span.note = "; ".join(f"{name} passed over" for name, _ in choice.passed_over)
        if current_span() is None:
            self._spans.append(span)
        self._store(ones, program, choice)
        if self._is_whole and self._background is None:
            self.__call__ = self._quickest()
        return program

    def _attempted(self, ones: tuple[tuple[int, int], ...], choice: BackendChoice) -> Program:
        if self._background is None:
            return self._compiled_for(ones, choice)
        setting = self._setting._replace(choice=choice)
        prepare = functools.partial(prepared, (*self._inputs, *self._sources), self._results, ones, setting)
        return self._background.program(prepare, setting, ones)

    def _compiled_for(self, ones: tuple[tuple[int, int], ...], choice: BackendChoice) -> Program:
        inputs, setting = (*self._inputs, *self._sources), self._setting._replace(choice=choice)
        return compile_expression(inputs, self._results, ones, setting)

    def _store(self, ones: tuple[tuple[int, int], ...], program: Program, choice: BackendChoice) -> None:
        """Have calls of a pattern run a program; the function's own choice is that of its main program."""
        if not self._programs or self._programs.get(ones, self) is self._main:
            self._choice = choice
        elif choice != self._choice:
            self._elsewhere[ones] = choice
        self._programs[ones] = program

    def _on_reference(self, ones: tuple[tuple[int, int], ...]) -> Program:
        """The program of one pattern too many: the reference interprets it, and some of those are kept."""
        if not self._others:
            text = f"{self.name}: {self._limit} patterns of length-1 axes are compiled, the reference runs all others"
            hint = "tg.config(specializations=…) allows more; a static shape such as (None, 1) needs none"
            warn(message(text, hint=hint), RuntimeWarning)
        found = self._others.get(ones)
        if found is None:
            inputs, setting = (*self._inputs, *self._sources), self._setting
            found, _ = in_line(
                self._choice,
                lambda choice: interpreted(prepared(inputs, self._results, ones, setting._replace(choice=choice))),
            )
            if len(self._others) >= self._limit:
                self._others.pop(next(iter(self._others)))
            self._others[ones] = found
        return found

    def _adopt(self, ones: tuple[tuple[int, int], ...], program: Program, choice: BackendChoice, span: Span) -> None:
        """Native code for a pattern is ready: calls that begin from now on run it."""
        for turn in alone():
            turn.take(self._compiling)
            before = self._programs[ones]
            self._store(ones, program, choice)
            self._spans.append(span)
            if before is self._main:
                self._main = program
            self.__call__ = self._quickest()
        turn.leave()

    def _background_failed(self, error: BaseException) -> None:
        """Native code cannot be made: the next call warns, and the reference goes on."""

        def call(*args: Any, **kwargs: Any) -> Any:
            self.__call__ = self._quickest()
            text = f"{self.name}: backend {self.backend!r} has not compiled it, the reference goes on: {error}"
            warn(text, RuntimeWarning)
            return self(*args, **kwargs)

        self.__call__ = call
