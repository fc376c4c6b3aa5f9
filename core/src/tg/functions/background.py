"""`compile="background"`: calls are answered by the reference until native code is ready.

The program is imported and rewritten at once, so that what is wrong with it is found at once; the reference interprets
the very graph that is being compiled, so that values, errors and their texts are the same before and after. A library
that compiles when it first sees shapes is shown them by a thread of the pool.
"""

from __future__ import annotations

import weakref
from time import monotonic
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg import plugin
from tg.functions.backends import in_line
from tg.functions.compile import interpreted, link
from tg.functions.pool import Job, submit
from tg.graph import loc as locs
from tg.graph.timing import Span
from tg.link.declines import Declined
from tg.link.linker import Executable, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.functions.backends import BackendChoice
    from tg.functions.compile import Program, Setting
    from tg.functions.programs import Programs
    from tg.graph.frozen import FrozenGraph

    Ones = tuple[tuple[int, int], ...]
    Shapes = tuple[tuple[int, ...], ...]


@final
class Background:
    """The native code of one function: what is in the making, what has failed.

    A function that nobody holds any more is not compiled.
    """

    def __init__(self, programs: Programs) -> None:
        self._programs = weakref.ref(programs)
        self._jobs: dict[Job, None] = {}
        self._waiting: list[Job] | None = []  # jobs that start when the function is whole
        self._declined: dict[Ones, set[object]] = {}  # what rules have declined in the programs of a pattern

    def program(self, prepare: Callable[[], FrozenGraph], setting: Setting, ones: Ones) -> Program:
        """A program that can be called now; the function is given the native one later, with where its time went."""
        frozen = prepare()
        reference = interpreted(frozen, setting)
        if _links_fast(setting):
            return self._shown(link(frozen, setting, prepare), reference, ones)
        programs = self._programs

        def attempt(choice: BackendChoice) -> Program:
            owner = programs()
            if choice is setting.choice or owner is None:
                return link(frozen, setting, prepare)
            return self._shown(owner.compile_for(ones, choice), reference, ones)

        def make() -> None:
            if programs() is None:
                return
            with locs.at(None), Span("background", root=True) as span:
                program, choice = in_line(setting.choice, attempt)
            owner = programs()
            if owner is not None:
                owner.adopt(ones, program, choice, span)

        self._start(make)
        return reference

    def _shown(self, native: Program, reference: Program, ones: Ones) -> Program:
        """A program that is called when the library has compiled it for the shapes, the reference before."""
        if not native.executable.compiles_shapes:
            return native
        programs, keys = self._programs, self._declined.setdefault(ones, set())

        def again(declined: Declined) -> None:
            owner = programs()
            if owner is not None:
                with locs.at(None):
                    owner.compile_again(program, declined, keys)

        program = native._replace(executable=Shown(native.executable, reference, self._start, again))
        return program

    def begin(self) -> None:
        """The function is whole: let the threads begin."""
        waiting, self._waiting = self._waiting, None
        for job in waiting or ():
            submit(job)

    def _start(self, work: Callable[[], None]) -> Job:
        programs = self._programs

        def failed(error: BaseException) -> None:
            owner = programs()
            if owner is not None:
                owner.fail(error)

        job = Job(work, failed)
        self._jobs[job] = None
        if self._waiting is not None:
            self._waiting.append(job)
            return job
        return submit(job)

    def _open(self) -> list[Job]:
        """The jobs that have not come to a good end; others are forgotten."""
        for job in list(self._jobs):
            if job.is_done and job.error is None:
                self._jobs.pop(job, None)
        return list(self._jobs)

    @property
    def is_ready(self) -> bool:
        """Whether all that was asked for is native code."""
        return not self._open()

    def wait(self, timeout: float | None) -> bool:
        """Wait for all that was asked for; whether it is ready.

        Raises:
            Exception: what a compilation raised.
        """
        jobs = list(self._jobs)
        until = None if timeout is None else monotonic() + timeout
        for job in jobs:
            ended = job.wait(None if until is None else max(until - monotonic(), 0.0))
            if job.error is not None:
                raise job.error
            if not ended:
                return False
        return True


@final
class Shown(Executable):
    """A program of a library that compiles for shapes: the reference runs it until the library has seen them."""

    def __init__(
        self,
        native: Executable,
        reference: Program,
        start: Callable[[Callable[[], None]], Job],
        again: Callable[[Declined], None],
    ) -> None:
        self._native, self._reference, self._start, self._again = native, reference, start, again
        self._ready: set[Shapes] = set()
        self._asked: dict[Shapes, object] = {}
        self.to_numpy, self.to_native = native.to_numpy, native.to_native  # type: ignore[method-assign]

    @property
    def compiles(self) -> int:
        """The number of compilations by the library."""
        return self._native.compiles

    @property
    def compilations(self) -> Sequence[Span]:
        """The calls, in threads of the pool, in which the library has compiled."""
        return self._native.compilations

    def is_spread(self, value: object) -> bool:
        return self._native.is_spread(value)

    def laid_out(self, value: Any, place: int) -> Any:
        return self._native.laid_out(value, place)

    def run(self, arrays: Sequence[Any]) -> tuple[Sequence[Any], Status]:
        """The outputs as the library's arrays; what the reference refuses raises here."""
        shapes = tuple(tuple(a.shape) for a in arrays)
        if shapes in self._ready:
            return self._native.run(arrays)
        operands = [a if isinstance(a, np.ndarray) else self._native.to_numpy(a) for a in arrays]
        self._ask(shapes, operands)
        outputs, status = self._reference.executable.run(operands)
        if status:
            raise self._reference.descriptors[status[0] - 1].build(status[1:])
        return [self._native.to_native(v) for v in outputs], ()

    def _ask(self, shapes: Shapes, operands: Sequence[Any]) -> None:
        """Have the library compile for these shapes, unless somebody has asked before."""
        own = object()
        if self._asked.setdefault(shapes, own) is not own:
            return
        copies = [np.array(a) for a in operands]  # the caller may change what it gave

        def show() -> None:
            try:
                self._native.run(copies)
            except Declined as declined:
                self._again(declined)
            else:
                self._ready.add(shapes)

        self._start(show)

    def source(self) -> str:
        """The code of the library's program."""
        return self._native.source()

    def full_source(self) -> str:
        """The same with all that it calls."""
        return self._native.full_source()


def _links_fast(setting: Setting) -> bool:
    """Whether a backend compiles, if at all, when it first sees shapes: until then there is little to do."""
    return plugin.registry().backend(setting.choice.name).rules.kind == "array"
