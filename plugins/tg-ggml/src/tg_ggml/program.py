"""A compiled function: a graph of ggml for each combination of shapes, made when it is first met."""

from __future__ import annotations

import functools
import math
import threading
from typing import TYPE_CHECKING, Any, Final, final

from tg.backend import Plan
from tg_ggml.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from tg.backend import FrozenGraph, Unit
    from tg_ggml import Options

    Array = np.ndarray[Any, Any]

MOST: Final = 64  # combinations of shapes that are kept: beyond, the oldest goes


@final
class Program:
    """A function of arrays, computed by ggml; of each combination of shapes there is one graph."""

    def __init__(self, function: Callable[..., Any], unit: Unit) -> None:
        self._function, self._options, self._name = function, unit.options, unit.name
        self._nodes = len(unit.graph.nodes) + sum(_inner(node.op) for node in unit.graph.nodes)
        self._traces: dict[tuple[Any, ...], Trace] = {}
        self._lock = threading.RLock()

    def __call__(self, *operands: Any) -> list[Array]:
        """The outputs."""
        return self.trace(operands).run([one for one in operands if not isinstance(one, tuple)])

    def trace(self, operands: Sequence[Any]) -> Trace:
        """The graph for arrays of these shapes."""
        key = tuple(one.shape for one in operands if not isinstance(one, tuple))
        trace = self._traces.get(key)
        if trace is None:
            with self._lock:
                trace = self._traces.get(key)
                if trace is None:
                    if len(self._traces) >= MOST:
                        self._traces.pop(next(iter(self._traces)))
                    trace = Trace(self._function, self._options, operands, self._nodes)
                    self._traces[key] = trace
        return trace

    def source(self) -> str:
        """The graphs by their operations, the bytes of their values, and the type of each factor of a product."""
        rows: list[str] = []
        for shapes, trace in [*self._traces.items()]:
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
