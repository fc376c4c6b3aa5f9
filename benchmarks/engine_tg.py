"""Child process: seconds to build, import and rewrite one engine workload with tg; prints JSON."""

from __future__ import annotations

import gc
import json
import sys
import time

import workloads

import tg
from tg import plugin
from tg.functions.compile import support
from tg.graph.function_graph import FunctionGraph
from tg.graph.traversal import sorted_applies
from tg.rewrite.driver import rewrite


def measure(name: str, nodes: int) -> dict[str, float]:
    """Seconds of each stage, for one graph."""
    gc.collect()
    start = time.perf_counter()
    inputs, outputs = workloads.ENGINE[name](tg, tg.grad, nodes)
    built = time.perf_counter()
    graph = FunctionGraph.of(inputs, outputs)
    imported = time.perf_counter()
    registry = plugin.registry()
    supported = support(registry.backend("perform"), (), lambda key: None)
    frozen = rewrite(graph, [registry.rewrites("perform")], supported=supported, mode="default")
    done = time.perf_counter()
    return {
        "build": built - start,
        "import": imported - built,
        "rewrite": done - imported,
        "total": done - built,
        "applies": len(sorted_applies(outputs)),
        "applies_after": len(frozen.nodes),
    }


if __name__ == "__main__":
    name, sizes = sys.argv[1], [int(n) for n in sys.argv[2:]]
    measure(name, 100)  # rules are compiled at first use
    print(json.dumps({n: measure(name, n) for n in sizes}))
