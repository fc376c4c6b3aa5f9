"""The linker: core's, told what lazy arrays are. A program is recorded unless its tasks depend on values."""

import numpy as np

from tg.backend import FuncifyLinker, Linker, Nonzero
from tg_dask import arrays
from tg_dask.recorded import record


def context(options):
    """What rules and arrays are told: the chunks of what they make, as dask has them."""
    return options.chunks or "auto"


def scope(options):
    """What a call runs inside: NumPy says nothing about values."""
    return np.errstate(all="ignore")


def linker(**hooks):
    """Core's linker with hooks of dask's arrays; those that outputs come to are NumPy's already."""
    return FuncifyLinker(
        to_native=arrays.to_native,
        to_numpy=arrays.to_numpy,
        copy=arrays.copy,
        owned=arrays.to_numpy,
        context=context,
        scope=scope,
        **hooks,
    )


RECORDED = linker(jit=record)
MADE_ANEW = linker(argument=arrays.argument, ready=arrays.ready)


def needs_values(graph):
    """Whether tasks can be made only where values are known: for lengths, or to call Python."""
    return any(
        isinstance(node.op, Nonzero) or node.op.calls_python or any(map(needs_values, node.op.inner_graphs()))
        for node in graph.nodes
    )


class DaskLinker(Linker):
    """Records programs, or makes their tasks at every call."""

    def compile(self, graph, request):
        """The graph as an executable."""
        return (MADE_ANEW if needs_values(graph) else RECORDED).compile(graph, request)


LINKER = DaskLinker()
