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
        self._computed: dict[object, tuple[Any, ...]] = {}

    def __str__(self) -> str:
        return f"{len(self.variables)} snapshots"

    def first(self, count: int) -> int:
        """The number of the first one among so many inputs."""
        return count - len(self.variables)

    def bound(self, executable: Executable, division: Division, backend: str) -> Executable:
        """An executable of the part that runs in each call, with all that no call gives, as the backend has it."""
        first = self.first(division.whole.arity)
        passed = [self._native(k - first, executable, backend, j) for j, k in enumerate(division.passed, first)]
        key = (backend, division.early, division.read)
        computed = self._computed.get(key)
        if computed is None:
            results: list[Any] = division.values(self._snapshots, first)
            for k, value in enumerate(results):  # one after the other: what it is made of is freed
                results[k] = executable.laid_out(executable.to_native(value), first + len(passed) + k)
            computed = self._computed.setdefault(key, tuple(results))
        return Bound(executable, division.late, first, [*passed, *computed])

    def _native(self, k: int, executable: Executable, backend: str, place: int) -> Any:
        """A snapshot as the backend has it, made once, for the input of a program at a place."""
        key = (backend, k)
        if key not in self._computed:
            self._computed.setdefault(
                key, (executable.laid_out(executable.to_native(self._snapshots[k].numpy), place),)
            )
        return self._computed[key][0]
