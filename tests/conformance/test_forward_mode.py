"""Forward and reverse mode are adjoint: `<u, jvp(t)>` is `<vjp(u), t>` for every case that has a gradient."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import tg
from tg import plugin
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.types.dtypes import is_float
from tg_conformance.case import Item, all_cases, variants
from tg_conformance.draw import generator
from tg_conformance.program import Program

EPSILON = np.finfo(np.float64).eps


@cache
def differentiable_items() -> dict[str, Item]:
    """One item for each case with a gradient, in float64."""
    plugin.registry()
    found: dict[str, Item] = {}
    for case in all_cases():
        for item in variants(case, "quick"):
            if item.kind == "grad" and item.dtype in (None, "float64"):
                found.setdefault(item.id.partition("[")[0], item)
    return found


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", sorted(differentiable_items()))
def test_the_products_of_both_modes_agree(name: str) -> None:
    item = differentiable_items()[name]
    program = Program(item)
    results = [y for y in program.results if is_float(y.type.dtype)]
    wrt = [program.inputs[k] for k in program.wrt]
    tangents = [tg.tensor(f"t{k}", v.type.dtype, v.type.shape) for k, v in enumerate(wrt)]
    forward = tg.jvp(results, wrt, tangents, disconnected="zero")
    backward = tg.vjp(results, wrt, program.weights, disconnected="zero")
    call = program.call(item, 0)
    rng = generator("tangents", name)
    moved = [rng.uniform(-1, 1, call.plain[k].shape).astype(call.plain[k].dtype) for k in program.wrt]
    inputs = [*program.arguments, *tangents]
    graph = FunctionGraph.of(inputs, [*forward, *backward], ones(inputs, [*call.plain, *moved])).freeze()
    made = interpret(graph, [*call.plain, *moved])
    weights = call.plain[len(program.inputs) :]
    left = products(weights, made[: len(results)])
    right = products(made[len(results) :], moved)
    for y, t in zip(results, forward, strict=True):
        assert t.type.dtype == y.type.dtype
        assert t.type.ndim == y.type.ndim
    assert np.isfinite(left).all()
    size = np.abs(left).sum() + np.abs(right).sum()
    assert abs(left.sum() - right.sum()) <= 1e3 * max(EPSILON, precision(made)) * max(size, 1.0)


def ones(inputs, arrays):
    pairs = enumerate(zip(inputs, arrays, strict=True))
    return [(k, a) for k, (v, x) in pairs for a, n in enumerate(v.type.shape) if n is None and x.shape[a] == 1]


def products(these, those):
    return np.concatenate([np.ravel(np.float64(a) * np.float64(b)) for a, b in zip(these, those, strict=True)])


def precision(arrays) -> float:
    return max(float(np.finfo(a.dtype).eps) for a in arrays)
