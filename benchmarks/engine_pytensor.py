"""Child process, in an environment that has PyTensor: seconds to rewrite one engine workload; prints JSON."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import pytensor
import pytensor.tensor as pt
import workloads
from pytensor.compile.aliasing import add_supervisor_to_fgraph
from pytensor.compile.mode import get_mode
from pytensor.graph.fg import FunctionGraph


def tensor(name: str, dtype: str, ndim: int) -> Any:
    """An input whose lengths are unknown."""
    return pt.TensorType(dtype, (None,) * ndim)(name)


def measure(name: str, nodes: int) -> dict[str, float]:
    """Seconds of each stage, for one graph."""
    start = time.perf_counter()
    inputs, outputs = workloads.expression(pt, pytensor.grad, tensor, name, nodes)
    built = time.perf_counter()
    graph = FunctionGraph(inputs, outputs, clone=True)
    add_supervisor_to_fgraph(graph, [pytensor.In(v) for v in graph.inputs])
    before = len(graph.apply_nodes)
    get_mode("FAST_RUN").optimizer.rewrite(graph)
    done = time.perf_counter()
    return {"build": built - start, "total": done - built, "applies": before, "applies_after": len(graph.apply_nodes)}


if __name__ == "__main__":
    name, sizes = sys.argv[1], [int(n) for n in sys.argv[2:]]
    sys.setrecursionlimit(100_000)
    measure(name, min(sizes))
    print(json.dumps({n: measure(name, n) for n in sizes}))
