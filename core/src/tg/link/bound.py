"""`Bound`: an executable whose last inputs have values of their own, which no call gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from tg.link.linker import Executable
from tg.link.memory import plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from tg.graph.frozen import FrozenGraph
    from tg.graph.timing import Span
    from tg.link.direct import Direct
    from tg.link.linker import MachineCode, Status
    from tg.link.memory import Plan
    from tg.link.signature import Signature
    from tg.link.timed import Timed

    Array = np.ndarray[Any, Any]


@final
class Bound(Executable):
    """The program of a graph, of which a call gives the first inputs, `count` of them, and no others; those are left.

    `held` are the arrays of the others, in the form of the backend.
    """

    def __init__(self, inner: Executable, graph: FrozenGraph, count: int, held: Sequence[Any]) -> None:
        self._inner, self._graph, self._count, self._held = inner, graph, count, tuple(held)
        self.to_numpy, self.to_native = inner.to_numpy, inner.to_native  # type: ignore[method-assign]
        self.laid_out = inner.laid_out  # type: ignore[method-assign]
        self.is_spread = inner.is_spread  # type: ignore[method-assign]

    @property
    def gives_numpy(self) -> bool:
        return self._inner.gives_numpy

    @property
    def compiles(self) -> int:
        """The number of compilations of the program."""
        return self._inner.compiles

    @property
    def compiles_shapes(self) -> bool:
        return self._inner.compiles_shapes

    @property
    def compilations(self) -> Sequence[Span]:
        return self._inner.compilations

    def _all(self, arrays: Sequence[Any]) -> list[Any]:
        return [*arrays[: self._count], *self._held]

    def run(self, arrays: Sequence[Array]) -> tuple[Sequence[Any], Status]:
        """The outputs and the status of the program."""
        return self._inner.run(self._all(arrays))

    def run_to_numpy(self, arrays: Sequence[Array]) -> tuple[Sequence[Array], Status]:
        return self._inner.run_to_numpy(self._all(arrays))

    @property
    def direct(self) -> Direct | None:
        """The parts of the program's call, of which each gives the arrays that are held, too."""
        direct, held = self._inner.direct, self._held
        if direct is None:
            return None
        program = direct.program
        return direct._replace(program=lambda *arrays: program(*arrays, *held))

    def memory(self, arrays: Sequence[Any]) -> Plan | None:
        return self._inner.memory(self._all(arrays)) or plan(self._graph, self._all(arrays))

    @property
    def reuses(self) -> tuple[tuple[int, int], ...]:
        return self._inner.reuses

    @property
    def overwrites(self) -> tuple[tuple[int, int], ...]:
        return self._inner.overwrites

    def run_deferred(self, arrays: Sequence[Any], writes: list[Callable[[], Any]]) -> tuple[Sequence[Any], Status]:
        return self._inner.run_deferred(self._all(arrays), writes)

    def may_overwrite(self, native: Any) -> bool:
        return self._inner.may_overwrite(native)

    def entry(self, signature: Signature) -> Callable[..., Any] | None:
        general, held, count = signature.general, self._held, len(self._held)

        def declined(*args: Any, **kwargs: Any) -> Any:
            return general(*args[: len(args) - count], **kwargs)

        inner = self._inner.entry(signature._replace(general=declined))
        if inner is None:
            return None

        def call(*args: Any, **kwargs: Any) -> Any:
            return general(*args, **kwargs) if kwargs else inner(*args, *held)

        return call

    def machine_code(
        self, shapes: Sequence[tuple[int, ...]], held: Sequence[Array], results: Sequence[tuple[int, ...]]
    ) -> MachineCode | None:
        own = held[: self._count - len(shapes)]
        return self._inner.machine_code(shapes, [*own, *self._held], results)

    @property
    def host_reads(self) -> frozenset[int]:
        return frozenset(k for k in self._inner.host_reads if k < self._count)

    def trace(self, arrays: Sequence[Any]) -> Sequence[Any]:
        return self._inner.trace(self._all(arrays))

    def timed(self) -> Timed | None:
        timed = self._inner.timed()
        if timed is not None:
            timed.executable = Bound(timed.executable, self._graph, self._count, self._held)
        return timed

    def inspect(self, arrays: Sequence[Array]) -> None:
        self._inner.inspect(self._all(arrays))

    def source(self) -> str:
        """The code of the program."""
        return self._inner.source()

    def full_source(self) -> str:
        return self._inner.full_source()
