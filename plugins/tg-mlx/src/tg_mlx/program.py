"""A compiled program: one for indices that the host has found in range, where there are any, and the general one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.backend import Claim, Executable, Plan, Slice, SliceUpdate, alone, plan
from tg_mlx.known import is_own, with_known_starts, with_rules
from tg_mlx.positions import looked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.backend import FrozenGraph, FuncifyLinker, Request, Span, Status, Timed


@final
class Program(Executable):
    """Runs the program that the indices of a call allow; the general one is linked when it is first needed."""

    def __init__(self, graph: FrozenGraph, request: Request, linker: FuncifyLinker, plain: FuncifyLinker) -> None:
        if is_own(request, Slice, SliceUpdate):
            graph = with_known_starts(graph)
        request = with_rules(request)
        self._graph, self._request, self._linker, self._plain = graph, request, linker, plain
        self._is_compiled = linker.jit is not None and request.options.compile
        self._claim = Claim(frozenset([("mlx", id(self))]), delays_forks=True)
        self._general: Executable | None = None
        self._looked = looked(graph, request)
        look = self._looked
        self.main = linker.compile(look.graph, look.request) if look is not None else self._whole()
        if look is None:
            self.run = self.main.run  # type: ignore[method-assign]
        self.to_numpy = self.main.to_numpy  # type: ignore[method-assign]

    def _whole(self) -> Executable:
        for turn in alone():
            turn.take(self._claim)
            executable = self._general = self._general or self._linker.compile(self._graph, self._request)
        turn.leave()
        return executable

    def run(self, arrays: Sequence[Any]) -> tuple[Sequence[Any], Status]:
        """The outputs, ready, and the status if the graph has one."""
        assert self._looked is not None
        arrays = self._looked.copied(arrays)
        return (self.main if self._looked.pass_(arrays) else self._whole()).run(arrays)

    @property
    def compiles(self) -> int:
        """Number of times that `mx.compile` has traced the program."""
        return sum(e.compiles for e in self._executables()) if self._is_compiled else 0

    @property
    def compiles_shapes(self) -> bool:
        """Whether `mx.compile` traces the program when it first sees shapes."""
        return self._is_compiled

    @property
    def compilations(self) -> Sequence[Span]:
        """The calls in which `mx.compile` has traced the program."""
        return tuple(span for e in self._executables() for span in e.compilations) if self._is_compiled else ()

    def _executables(self) -> list[Executable]:
        return list({id(e): e for e in (self.main, self._general) if e is not None}.values())

    def memory(self, arrays: Sequence[Any]) -> Plan | None:
        """The values of the program, a copy of each argument that is not MLX's own, and one of each result."""
        needed = plan(self._graph, arrays)
        if needed is None:
            return None
        copied = sum(a.nbytes for a in arrays if isinstance(a, np.ndarray))
        return Plan(needed.results, needed.temporaries + copied + needed.results)

    def to_numpy(self, output: Any) -> np.ndarray[Any, Any]:
        """A writable copy."""
        return self.main.to_numpy(output)

    def to_native(self, array: np.ndarray[Any, Any]) -> Any:
        """A copy as MLX's array."""
        return self.main.to_native(array)

    def timed(self) -> Timed | None:
        """The same program with its rules timed one by one; None where `mx.compile` makes one of them all."""
        return None if self._is_compiled else self._plain.compile(self._graph, self._request).timed()

    def source(self) -> str:
        """The generated Python function."""
        return self.main.source()

    def full_source(self) -> str:
        """The same with where the functions come from that it calls."""
        return self.main.full_source()
