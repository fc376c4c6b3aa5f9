"""Child process: what it takes to build, import and rewrite one workload with tg; prints JSON.

Seconds of each stage for each size. The last size is rewritten once more to measure memory: the most bytes that
importing and rewriting hold, by node of the expression.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import tracemalloc
from typing import Any

import workloads

import tg
from tg import plugin
from tg.functions.compile import supported_by
from tg.graph.function_graph import FunctionGraph
from tg.graph.text.printer import to_text_with_constants
from tg.graph.traversal import sorted_applies
from tg.rewrite.driver import rewrite


def tensor(name: str, dtype: str, ndim: int) -> Any:
    """An input whose lengths are unknown."""
    return tg.tensor(name, dtype, (None,) * ndim)


def measure(name: str, nodes: int) -> dict[str, float]:
    """Seconds of each stage, for one graph."""
    gc.collect()
    start = time.perf_counter()
    inputs, outputs = workloads.expression(tg, tg.grad, tensor, name, nodes)
    built = time.perf_counter()
    graph = FunctionGraph.of(inputs, outputs)
    imported = time.perf_counter()
    frozen = rewritten(graph)
    done = time.perf_counter()
    text, constants = to_text_with_constants(frozen)
    printed = time.perf_counter()
    tg.parse(text, constants)
    return {
        "build": built - start,
        "import": imported - built,
        "rewrite": done - imported,
        "total": done - built,
        "print": printed - done,
        "parse": time.perf_counter() - printed,
        "applies": len(sorted_applies(outputs)),
        "applies_after": len(frozen.nodes),
    }


def rewritten(graph: FunctionGraph) -> Any:
    """The graph after all phases of the reference."""
    registry = plugin.registry()
    return rewrite(graph, [registry.rewrites("perform")], supported=supported_by("perform"), mode="default")


def bytes_per_node(name: str, nodes: int) -> float:
    """The most memory that importing and rewriting hold, by node of the expression."""
    inputs, outputs = workloads.expression(tg, tg.grad, tensor, name, nodes)
    gc.collect()
    tracemalloc.start()
    kept = rewritten(FunctionGraph.of(inputs, outputs))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return most / len(sorted_applies(outputs))


if __name__ == "__main__":
    name, sizes = sys.argv[1], [int(n) for n in sys.argv[2:]]
    for _ in range(2):  # rules are compiled at first use
        measure(name, min(sizes))
    found = {n: measure(name, n) for n in sizes}
    found[sizes[-1]]["bytes_per_node"] = bytes_per_node(name, sizes[-1])
    print(json.dumps(found))
