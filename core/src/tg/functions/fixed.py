"""`Fixed`: the snapshots of a function for inference, and what its programs have computed of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, final

from tg.functions.shared import in_dtypes
from tg.link.bound import Bound

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from tg.functions.shared import Shared, Value
    from tg.link.ahead import Division
    from tg.link.linker import Executable


class _Snapshot(NamedTuple):
    """A value as programs have it, some dtypes of which are replaced by others."""

    value: Value
    dtypes: Mapping[str, str]

    @property
    def numpy(self) -> np.ndarray[Any, Any]:
        return in_dtypes(self.value.numpy, self.dtypes)


@final
class Fixed:
    """The variables that the last inputs of programs stand for, which have one value in all calls.

    Programs for several patterns of lengths that are 1 compute the same of them, which is kept once.
    """

    def __init__(self, variables: Sequence[Shared], dtypes: Mapping[str, str]) -> None:
        self.variables = tuple(variables)
        self._snapshots = [_Snapshot(s.snapshot, dtypes) for s in variables]
        self._computed: dict[object, Any] = {}  # arrays of backends

    def __str__(self) -> str:
        return f"{len(self.variables)} snapshots"

    def first(self, count: int) -> int:
        """The number of the first one among so many inputs."""
        return count - len(self.variables)

    def bound(self, executable: Executable, division: Division, backend: str) -> Executable:
        """An executable of the part that runs in each call, with all that no call gives, as the backend has it."""
        first = self.first(division.whole.arity)
        passed = [(backend, k - first) for k in division.passed]
        made = [(backend, name) for name in division.names()]
        for place, key in enumerate(passed, first):
            if key not in self._computed:
                native = executable.to_native(self._snapshots[key[1]].numpy)
                self._computed.setdefault(key, executable.laid_out(native, place))
        missing = [k for k, key in enumerate(made) if key not in self._computed]
        values = division.values(missing, self._snapshots, first) if missing else []
        for k in reversed(missing):  # one after the other: what it is made of is freed
            native = executable.to_native(values.pop())
            self._computed.setdefault(made[k], executable.laid_out(native, first + len(passed) + k))
        return Bound(executable, division.late, first, [self._computed[key] for key in (*passed, *made)])
