"""`Fixed`: the snapshots of a function for inference, and what its programs have computed of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from tg.functions.shared import in_dtypes
from tg.link.bound import Bound

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from tg.functions.shared import Form, Shared
    from tg.link.ahead import Division
    from tg.link.linker import Executable


@final
class Fixed:
    """The variables that the last inputs of programs stand for, which have one value in all calls.

    Programs for several patterns of lengths that are 1 compute the same of them, which is kept once.
    """

    def __init__(self, variables: Sequence[Shared], dtypes: Mapping[str, str]) -> None:
        self.variables = tuple(variables)
        self._dtypes = dtypes
        self._computed: dict[object, Any] = {}  # arrays of backends

    def __str__(self) -> str:
        return f"{len(self.variables)} snapshots"

    def first(self, count: int) -> int:
        """The number of the first one among so many inputs."""
        return count - len(self.variables)

    def bound(self, executable: Executable, division: Division, form: Form) -> Executable:
        """An executable of the part that runs in each call, with all that no call gives, in the form of its values."""
        first = self.first(division.whole.arity)
        snapshots = [s.snapshot for s in self.variables]
        passed = [snapshots[k - first].laid_out(form, place) for place, k in enumerate(division.passed, first)]
        keys = [(form.key, name) for name in division.names()]
        missing = [k for k, key in enumerate(keys) if key not in self._computed]

        def array_of(k: int) -> np.ndarray[Any, Any]:
            return in_dtypes(snapshots[k - first].copied(), self._dtypes)

        values = division.values(missing, array_of) if missing else []
        for k in reversed(missing):  # one after the other: what it is made of is freed
            native = executable.laid_out(executable.to_native(values.pop()), first + len(passed) + k)
            self._computed.setdefault(keys[k], native)
        return Bound(executable, division.late, first, [*passed, *(self._computed[key] for key in keys)])
