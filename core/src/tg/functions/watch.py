"""Watching of the calls of a function that asked for it: debug mode, and the NaN guard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.functions.debug.debugger import Debugger
from tg.functions.debug.rounding import is_inexact, wide
from tg.functions.nonfinite import Guard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.functions.compile import Program
    from tg.functions.nonfinite import NonFinite
    from tg.functions.programs import Programs
    from tg.functions.request import Request
    from tg.graph.nodes import Variable

    Array = np.ndarray[Any, Any]
    Ones = tuple[tuple[int, int], ...]


@final
class Watch:
    """The state for the watched calls of one function, made for each specialisation when it is first needed."""

    def __init__(self, request: Request, programs: Programs) -> None:
        self._request, self._programs = request, programs
        self._debugs, self._guards = request.options.mode == "debug", request.options.nan_guard
        self._debuggers: dict[Ones, Debugger] = {}
        self._guard: dict[Ones, Guard] = {}

    def failed(self, ones: Ones, arrays: Sequence[Array]) -> None:
        """A call has raised: in debug mode a rewrite that is the cause is named.

        Raises:
            DebugError: a rewrite broke its promise, or the reference does not raise.
        """
        if self._debugs:
            self._debugger(ones).check(arrays, None)

    def finished(self, ones: Ones, arrays: Sequence[Array], program: Program, outputs: Sequence[Any]) -> None:
        """A call has given these outputs, in the form of the backend.

        Raises:
            DebugError: a rule did what it must not, a rewrite broke its promise, or the backend gave other values than
                the reference.
            NonFiniteError: an output has a NaN or an infinity, and that is guarded against.
        """
        results = [np.asarray(program.executable.to_numpy(v)) for v in outputs]
        if self._debugs:
            program.executable.inspect(arrays)
            self._debugger(ones).check(arrays, results)
        if self._guards and not all(is_finite(a) for a in results):
            cause = self.find(ones, arrays)
            if cause is not None:
                raise cause.error()

    def find(self, ones: Ones, arrays: Sequence[Array]) -> NonFinite | None:
        """The maker of the first output that is not finite; None where all are finite."""
        guard = self._guard.get(ones)
        if guard is None:
            guard = self._guard[ones] = Guard(*self._expression, ones, self._programs.setting_for(ones))
        return guard.find(arrays)

    def _debugger(self, ones: Ones) -> Debugger:
        debugger = self._debuggers.get(ones)
        if debugger is None:
            debugger = self._debuggers[ones] = Debugger(*self._expression, ones, self._programs.setting_for(ones))
        return debugger

    @property
    def _expression(self) -> tuple[Sequence[Variable], Sequence[Variable]]:
        return self._request.variables, self._request.results


def is_finite(array: Array) -> bool:
    """Whether an array has neither NaN nor infinity."""
    return not is_inexact(array) or bool(np.isfinite(wide(array)).all())
