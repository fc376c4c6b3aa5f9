"""A plugin of pytest beside `watch`, for PyTensor's own tests: what they compile is rewritten by tg as it was written.

No mode of tg is needed, and none of PyTensor's rewriting comes before: each graph that a test makes a function of, or
has rewritten, is converted and rewritten for the reference. What does not convert is left out.
"""

from __future__ import annotations

import contextlib

import pytensor.graph.rewriting.utils as rewriting
from pytensor.compile import FunctionMaker
from pytensor.graph.traversal import explicit_graph_inputs

import tg_pytensor
from tg.functions.backends import backend
from tg.functions.compile import Setting, rewritten
from tg.graph.function_graph import FunctionGraph

SETTING = Setting(backend("perform"))
made, rewrite_graph = FunctionMaker.__init__, rewriting.rewrite_graph


def seen(outputs):
    """Rewrite those outputs that convert."""
    for output in outputs:
        with contextlib.suppress(Exception):
            converted = tg_pytensor.from_pytensor(list(explicit_graph_inputs([output])), output)
            inputs = [*converted.inputs, *converted.shared.values()]
            rewritten(FunctionGraph.of(inputs, converted.outputs), SETTING)


def watched_maker(maker, inputs, outputs, *rest, **options):
    """Make a function as PyTensor does, after its outputs were seen."""
    seen([getattr(one, "variable", one) for one in (outputs if isinstance(outputs, list | tuple) else [outputs])])
    made(maker, inputs, outputs, *rest, **options)


def watched_rewrite(graph, *rest, **options):
    """Rewrite a graph as PyTensor does, after its outputs were seen."""
    seen(getattr(graph, "outputs", graph if isinstance(graph, list | tuple) else [graph]))
    return rewrite_graph(graph, *rest, **options)


FunctionMaker.__init__ = watched_maker
rewriting.rewrite_graph = watched_rewrite
