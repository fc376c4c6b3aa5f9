"""The option `memory`: a call whose plan needs more bytes is refused before it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from tg.errors import LimitError, message
from tg.link.memory import is_count, plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.functions.compile import Program
    from tg.link.memory import Plan

KEPT: Final = 256  # plans, of as many combinations of shapes
HINT: Final = 'checkpointing="sqrt" for a gradient, or a smaller batch, keeps fewer values at a time'
UNITS: Final = ((30, "GiB"), (20, "MiB"), (10, "KiB"))


@final
class Limit:
    """The limit of one function, and the plans of the shapes that calls have had."""

    def __init__(self, name: str, limit: int) -> None:
        self.name, self.limit = name, limit
        self._plans: dict[object, Plan | None] = {}

    def check(self, program: Program, arrays: Sequence[Any]) -> None:
        """Refuse a call that needs more.

        Raises:
            LimitError: it does; the text has the parts.
        """
        needed = self._plan(program, arrays)
        if needed is None or needed.total <= self.limit:
            return
        text = f"{self.name}: memory: a call needs {in_bytes(needed.total)}, the limit is {in_bytes(self.limit)}"
        lines = (("results", in_bytes(needed.results)), ("temporaries", in_bytes(needed.temporaries)))
        raise LimitError(message(text, *lines, hint=HINT))

    def _plan(self, program: Program, arrays: Sequence[Any]) -> Plan | None:
        types = program.graph.input_types[: len(arrays)]  # those behind have one value in all calls
        values = [int(a) if is_count(t) else tuple(a.shape) for t, a in zip(types, arrays, strict=True)]
        key = (program.executable, *values)
        if key not in self._plans:
            if len(self._plans) >= KEPT:
                self._plans.pop(next(iter(self._plans)), None)
            self._plans[key] = program.executable.memory(arrays) or plan(program.graph, arrays)
        return self._plans[key]


def in_bytes(count: int) -> str:
    """A number of bytes, and how much that is."""
    for power, unit in UNITS:
        if count >> power:
            return f"{count} bytes ({count / 2**power:.3g} {unit})"
    return f"{count} bytes"
