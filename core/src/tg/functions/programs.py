"""`Programs`: the compiled programs of one function, one for each pattern of lengths that are 1."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar, final

from tg.callers import warn
from tg.errors import PerformanceWarning, message
from tg.functions.backends import in_line
from tg.functions.compile import compile_expression, interpreted, note_declined, prepared
from tg.graph.dims import check as check_dims
from tg.graph.progress import Progress
from tg.graph.timing import Span, current_span
from tg.link.declines import Declined
from tg.turns import Claim, alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tg.functions.backends import BackendChoice
    from tg.functions.background import Background
    from tg.functions.compile import Program, Setting
    from tg.functions.request import Request

    Ones = tuple[tuple[int, int], ...]

H = TypeVar("H", bound="Sequence[Any]")
T = TypeVar("T")
V = TypeVar("V", bound="Sequence[Any]")


@final
class Programs:
    """The programs of a function, compiled as calls need them, by any number of threads.

    `main` is that of the likely pattern, and `is_likely` says whether it is: where shapes fit only if lengths are 1, it
    is of a pattern in which they are. `choice` is the backend that runs it. A pattern whose program "auto" gave to
    another backend has a choice of its own.
    """

    main: Program
    choice: BackendChoice

    def __init__(self, request: Request, like: Programs | None = None) -> None:
        """Compile the first, unless `like` has it: the programs of a request with other shared variables alone."""
        self.request = request
        self.choice = request.options.choice if like is None else like.choice
        self.by_pattern: dict[Ones, Program] = {} if like is None else dict(like.by_pattern)
        self.interpreted: dict[Ones, Program] = {}  # beyond the limit, on the reference
        self.elsewhere: dict[Ones, BackendChoice] = {} if like is None else dict(like.elsewhere)
        self.spans: list[Span] = [span for span in (current_span(),) if span is not None]
        self.background = self._in_background() if request.options.compile == "background" else None
        self._claim = Claim(frozenset([("programs", id(self))]), delays_forks=True)
        self._changed: Callable[[], object] | None = None
        self._failed: Callable[[BaseException], object] | None = None
        if like is not None:
            self.main = like.main
        self.main, self.is_likely = self._first()

    def _in_background(self) -> Background:
        from tg.functions.background import Background

        return Background(self)

    def begin(self, changed: Callable[[], object], failed: Callable[[BaseException], object]) -> None:
        """The function is whole: from now on it is told of each new program, and threads may begin.

        Args:
            failed: is told why native code cannot be made in the background; the reference goes on.
        """
        self._changed, self._failed = changed, failed
        if self.background is not None:
            self.background.begin()

    def __repr__(self) -> str:
        names = ", ".join(v.name or "_" for v in self.request.inputs)
        snapshots = f" with {self.request.fixed}" if self.request.fixed is not None else ""
        return f"<{self.request.options.name}({names}) on {self.choice.name}{snapshots}>"

    def __iter__(self) -> Iterator[Program]:
        """The compiled programs, the main one first, then in the order in which they were made."""
        return iter([self.main, *(p for p in self.by_pattern.values() if p is not self.main)])

    @property
    def compiles(self) -> int:
        """The number of times that a compiler has run."""
        return sum(program.executable.compiles for program in self.by_pattern.values())

    @property
    def is_ready(self) -> bool:
        """Whether native code answers: always so unless it is compiled in the background."""
        return self.background is None or self.background.is_ready

    @property
    def pattern(self) -> Ones:
        """The lengths that are 1 in the main program."""
        return next((ones for ones, program in self.by_pattern.items() if program is self.main), ())

    @property
    def setting(self) -> Setting:
        """The options of the main program's compilation."""
        return self.request.setting(self.choice)

    def setting_for(self, ones: Ones) -> Setting:
        """The options of the compilation for a pattern."""
        return self.request.setting(self.elsewhere.get(ones, self.choice))

    def program(self, values: Sequence[Any], held: Sequence[Any]) -> Program:
        """The program for a call, of arrays for the inputs and values of the sources."""
        request = self.request
        if not request.open:
            return self.main
        ones = request.ones(values, held)
        program = self.by_pattern.get(ones)
        if program is None:
            if request.ties:
                check_dims(request.variables, [*(v.shape for v in values), *(v.shape for v in held)])
            program = self._compiled(ones)
        return program

    def run(self, values: V, held: H, run: Callable[[Program, V, H], T]) -> T:
        """The value of `run` for a call's program and its values; one whose rules then decline is compiled anew."""
        declined_before: set[object] = set()
        while True:
            program = self.program(values, held)
            try:
                return run(program, values, held)
            except Declined as declined:  # the first run shows that
                self.compile_again(program, declined, declined_before)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until native code answers, at most so many seconds; whether it does.

        Raises:
            Exception: what compiling in the background raised.
        """
        return self.background is None or self.background.wait(timeout)

    def compile_again(self, program: Program, declined: Declined, before: set[object]) -> None:
        """Compile a program anew, without the rule that has declined.

        Args:
            before: what this program's rules have declined so far.
        """
        note_declined(program.backend, declined, before)
        ones = next((ones for ones, one in self.by_pattern.items() if one is program), None)
        if ones is None:  # another thread has
            return
        first = self.elsewhere.get(ones, self.choice)
        with Span("specialization") as span:
            native, choice = in_line(first, lambda choice: self._attempted(ones, choice))
        self.adopt(ones, native, choice, span)

    def compile_for(self, ones: Ones, choice: BackendChoice) -> Program:
        """A program of a pattern for a backend."""
        return compile_expression(self.request.variables, self.request.results, ones, self.request.setting(choice))

    def adopt(self, ones: Ones, program: Program, choice: BackendChoice, span: Span) -> None:
        """Native code for a pattern is ready: calls that begin from now on run it."""
        for turn in alone():
            turn.take(self._claim)
            before = self.by_pattern[ones]
            self._store(ones, program, choice)
            self.spans.append(span)
            if before is self.main:
                self.main = program
            if self._changed is not None:
                self._changed()
        turn.leave()

    def fail(self, error: BaseException) -> None:
        """Native code cannot be made."""
        if self._failed is not None:
            self._failed(error)

    def _first(self) -> tuple[Program, bool]:
        """The program of the likely pattern; where shapes fit only if lengths are 1, of a pattern in which they are."""
        return self.request.fitting(self._compiled)

    def _compiled(self, ones: Ones) -> Program:
        for turn in alone():
            turn.take(self._claim)
            program = self.by_pattern.get(ones) or self._specialised(ones)
        turn.leave()
        return program

    def _specialised(self, ones: Ones) -> Program:
        """The program of a pattern that has none yet; the caller has a turn for it."""
        if len(self.by_pattern) >= self.request.options.limit:
            return self._on_reference(ones)
        with Span("specialization") as span, Progress(self.request.options.name, span):
            program, choice = in_line(self.choice, lambda choice: self._attempted(ones, choice))
            span.note = "; ".join(f"{name} passed over" for name, _ in choice.passed_over)
        if current_span() is None:
            self.spans.append(span)
        self._store(ones, program, choice)
        if self._changed is not None and self.background is None:
            self._changed()
        return program

    def _attempted(self, ones: Ones, choice: BackendChoice) -> Program:
        if self.background is None:
            return self.compile_for(ones, choice)
        request, setting = self.request, self.request.setting(choice)
        prepare = functools.partial(prepared, request.variables, request.results, ones, setting)
        return self.background.program(prepare, setting, ones)

    def _interpreted(self, ones: Ones, setting: Setting) -> Program:
        request = self.request
        return interpreted(prepared(request.variables, request.results, ones, setting), setting)

    def _store(self, ones: Ones, program: Program, choice: BackendChoice) -> None:
        """Have calls of a pattern run a program; the function's own choice is that of its main program."""
        if not self.by_pattern or self.by_pattern.get(ones, self) is self.main:
            self.choice = choice
        elif choice != self.choice:
            self.elsewhere[ones] = choice
        self.by_pattern[ones] = program

    def _on_reference(self, ones: Ones) -> Program:
        """The program of one pattern too many: the reference interprets it, and some of those are kept."""
        request, limit = self.request, self.request.options.limit
        if not self.interpreted:
            rest = f"{limit} patterns of length-1 axes are compiled, the reference runs all others"
            hint = "tg.config(specializations=…) allows more; a static shape such as (None, 1) needs none"
            warn(message(f"{request.options.name}: {rest}", hint=hint), PerformanceWarning)
        program = self.interpreted.get(ones)
        if program is None:
            program, _ = in_line(self.choice, lambda choice: self._interpreted(ones, request.setting(choice)))
            if len(self.interpreted) >= limit:
                self.interpreted.pop(next(iter(self.interpreted)))
            self.interpreted[ones] = program
        return program
