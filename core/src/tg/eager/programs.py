"""`Program`: one op on operands of given dtypes and ranks, compiled; the reference runs it until native code is ready.

A compiler of C takes longer than many a script that would use what it makes. So a program
is interpreted by the reference at first, which needs no compiler, and from its `HOT`-th call on a thread makes native
code of it, which then answers.
"""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.callers import warn
from tg.errors import NoRuleError, PerformanceWarning, TgError
from tg.functions.make import function
from tg.functions.pool import Job, submit
from tg.functions.structure import flatten
from tg.graph import loc as locs
from tg.graph.nodes import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.configuration import Mode
    from tg.eager.border import Border
    from tg.functions.backends import BackendChoice
    from tg.functions.compiled import Function
    from tg.types.tensor_type import TensorType
    from tg.variables.structure import Structure

HOT: Final = 3  # calls after which a program is worth compiling
REFERENCE: Final = "perform"


@final
class Program:
    """A program of one op; called with the backend's arrays, it gives such arrays.

    Args:
        build: the results of the op for variables.
        types: of its operands.
        background: whether the reference answers until native code is ready.
    Raises:
        TgError: as the op does, of what its operands' types show.
    """

    def __init__(
        self,
        name: str,
        build: Callable[[Sequence[Variable]], Any],
        types: Sequence[TensorType],
        choice: BackendChoice,
        border: Border,
        *,
        background: bool,
    ) -> None:
        self._inputs = [Variable(t) for t in types]
        self._results, self.structure = self._traced(build)
        self._is_single = len(self._results) == 1
        self._name, self._choice, self._border = name, choice, border
        self._calls = 0
        self.is_on_reference = False
        self.job: Job | None = None  # which compiles it
        self._error: BaseException | None = None
        self._is_interpreted = background and border.is_numpy and choice.name != REFERENCE
        if self._is_interpreted:
            self._function = self._compiled(REFERENCE)
        else:
            self._function = self._native()
        self._run = self._runner()

    def _traced(self, build: Callable[[Sequence[Variable]], Any]) -> tuple[list[Variable], Structure]:
        try:
            with locs.at(None):
                return flatten(build(self._inputs))
        except TgError as error:
            error.note_place()
            raise

    def _compiled(self, backend: Any, **options: Any) -> Function:
        with locs.at(None):
            settings: Any = {"on_unused_input": "ignore", "output": "native", "name": self._name, **options}
            results = self._results[0] if self._is_single else self._results
            mode: Mode | None = "off" if REFERENCE in (backend, self._choice.name) else None
            return function(self._inputs, results, backend=backend, mode=mode, **settings)

    def _native(self) -> Function:
        """The function on the backend; on the reference where the backend cannot hold it."""
        try:
            return self._compiled(self._choice, compile="now")
        except NoRuleError:
            self.is_on_reference = True
            return self._compiled(REFERENCE)

    @property
    def ready(self) -> Callable[..., Any] | None:
        """The function of arrays to an array for calls from now on; None where a better one is to come."""
        return self._function if self._is_single and self._border.is_numpy and not self._is_interpreted else None

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The results, in the backend's arrays, of operands that are such arrays or integers."""
        if self._is_interpreted:
            self._count()
        return self._run(values)

    def _count(self) -> None:
        """Note a call that the reference answers; one of them has the program compiled."""
        self._calls += 1
        if self._error is not None:
            error, self._error, self._is_interpreted = self._error, None, False
            warn(f"{self._name}: not compiled, the reference goes on: {error}", PerformanceWarning)
        elif self._calls == HOT:
            context = contextvars.copy_context()  # of which the configuration is a part
            self.job = submit(Job(lambda: context.run(self._improve), self._fail))

    def _improve(self) -> None:
        """Have native code answer from now on."""
        self._function = self._native()
        self._is_interpreted = False

    def _fail(self, error: BaseException) -> None:
        self._error = error

    def _runner(self) -> Callable[[Sequence[Any]], list[Any]]:
        if self._border.is_numpy:
            if self._is_single:
                return lambda values: [self._function(*values)]
            return lambda values: self._function(*values)
        if self.is_on_reference:
            return self._through_numpy
        return self._of_natives

    def _through_numpy(self, values: Sequence[Any]) -> list[Any]:
        border = self._border
        arrays = [border.to_numpy(v) if border.is_native(v) else v for v in values]
        results = self._function(*arrays)
        return [border.to_native(v) for v in ([results] if self._is_single else results)]

    def _of_natives(self, values: Sequence[Any]) -> list[Any]:
        """The results of a library's own arrays, which the program takes as they are."""
        return run_natives(self._function, [np.asarray(v) if type(v) is int else v for v in values])


def run_natives(function: Function, arrays: list[Any]) -> list[Any]:
    """The results of a function for its backend's own arrays, as such arrays."""

    def run(program: Any, arrays: list[Any], held: list[Any]) -> list[Any]:
        outputs, status = program.executable.run(arrays)
        if status:
            raise program.descriptors[status[0] - 1].build(status[1:])
        return list(outputs)

    return function.programs.run(arrays, [], run)
