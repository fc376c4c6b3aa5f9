"""A compiled function: a graph of ggml for each combination of shapes, made when it is first met."""

from __future__ import annotations

import functools
import math
import threading
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.backend import Plan
from tg_ggml.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.backend import FrozenGraph, Unit
    from tg_ggml import Options

    Array = np.ndarray[Any, Any]

MOST: Final = 64  # combinations of shapes that are kept: beyond, the oldest goes
LEAST: Final = 256  # bytes of an array that graphs have as a constant
CHANGES: Final = 3  # times that it may be another one


class Native(np.ndarray):
    """An array that core has given to the backend, and that nobody writes: a value of a shared variable, a snapshot."""


@final
class Program:
    """A function of arrays, computed by ggml; of each combination of shapes there is one graph.

    Arrays that core keeps for the backend are the same objects in call after call: the graph has them as constants,
    which may be quantised. One that changes more often than `CHANGES` times is an input from then on.
    """

    def __init__(self, function: Callable[..., Any], unit: Unit) -> None:
        self._function, self._options, self._name = function, unit.options, unit.name
        self._nodes = len(unit.graph.nodes) + sum(_inner(node.op) for node in unit.graph.nodes)
        self._traces: dict[tuple[Any, ...], Trace] = {}
        self._bound: dict[int, Any] = {}  # by place: the array that graphs have as a constant
        self._changes: dict[int, int] = {}
        self._lock = threading.RLock()

    def __call__(self, *operands: Any) -> list[Array]:
        """The outputs."""
        trace, inputs = self._for(operands)
        return trace.run(inputs)

    def trace(self, operands: Sequence[Any]) -> Trace:
        """The graph for arrays of these shapes."""
        return self._for(operands)[0]

    def _for(self, operands: Sequence[Any]) -> tuple[Trace, list[Array]]:
        """The graph for arrays of these shapes, and those of them that are its inputs."""
        places = frozenset(k for k, one in enumerate(operands) if type(one) is Native and self._binds(k, one))
        inputs = [one for k, one in enumerate(operands) if k not in places and not isinstance(one, tuple)]
        if not places.issuperset(self._bound):
            self._release(places)
        key = (places, *(one.shape for one in inputs))
        trace = self._traces.get(key)
        if trace is None:
            with self._lock:
                trace = self._traces.get(key)
                if trace is None:
                    if len(self._traces) >= MOST:
                        self._traces.pop(next(iter(self._traces)))
                    trace = Trace(self._function, self._options, operands, places, self._nodes)
                    self._traces[key] = trace
        return trace, inputs

    def _binds(self, place: int, array: Any) -> bool:
        """Whether an array is a constant of graphs; those with another one in its place are dropped."""
        if self._bound.get(place) is array:
            return True
        if array.nbytes < LEAST or array.dtype != np.float32 or self._changes.get(place, 0) > CHANGES:
            return False
        with self._lock:
            if self._bound.get(place) is not array:
                self._changes[place] = self._changes.get(place, 0) + 1
                self._bound[place] = array
                self._traces = {key: trace for key, trace in self._traces.items() if place not in key[0]}
        return True

    def _release(self, places: frozenset[int]) -> None:
        """Drop graphs with constants in places where another kind of array has come: they are inputs from then on."""
        with self._lock:
            for place in self._bound.keys() - places:
                del self._bound[place]
                self._changes[place] = CHANGES + 1
                self._traces = {key: trace for key, trace in self._traces.items() if place not in key[0]}

    def source(self) -> str:
        """The graphs by their operations, the bytes of their values, and the type of each factor of a product."""
        rows: list[str] = []
        for (_, *shapes), trace in [*self._traces.items()]:
            names = ", ".join(f"{count} {name}" for name, count in sorted(trace.counts().items()))
            rows += [f"# ggml, inputs {', '.join(map(_shown, shapes)) or 'none'}: {names}"]
            rows += [f"#   arena {trace.arena} bytes, threads {self._options.threads}"]
            rows += [f"#   {use}" for use in trace.uses]
        return "\n".join(rows)


def memory(graph: FrozenGraph, program: Callable[..., Any], arrays: Sequence[Any]) -> Plan | None:
    """The memory of a call as ggml has planned it: the results as arrays, and the arena of its graph."""
    whole: Any = program
    bound = whole.args if isinstance(whole, functools.partial) else ()
    trace: Trace = (whole.func if bound else whole).trace((*bound, *arrays))
    results = sum(y.dtype.itemsize * math.prod(y.shape) for y in trace.outputs)
    return Plan(results, trace.arena)


def settings(options: Options) -> dict[str, object]:
    """The settings that ggml is given for these options."""
    return {"n_threads": options.threads, "type": options.quantize}


def _shown(shape: Sequence[int]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _inner(op: Any) -> int:
    """The number of nodes of the graphs inside an op."""
    return sum(len(graph.nodes) + sum(_inner(node.op) for node in graph.nodes) for graph in op.inner_graphs())
