"""Operations on bits, rewritten, against Python's integers."""

import numpy as np
import pytest

import tg
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rules.catalog import PASSES, RULES
from tg.types.dtypes import INTEGERS


def computed(x, outputs, array):
    graph = FunctionGraph.of([x], outputs)
    frozen = rewrite(graph, [Rewrites(RULES, PASSES)], supported=lambda op, types: True, mode="strict")
    return interpret(frozen, [array])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_two_shifts_in_a_row_are_those_of_python_integers(dtype):
    limits, width = np.iinfo(dtype), np.dtype(dtype).itemsize * 8
    values = np.array([limits.min, limits.min + 1, 0, 1, 5, limits.max - 1, limits.max], dtype)
    x = tg.vector("x", dtype=dtype)
    counts = [1, width // 2 - 1, width // 2, width // 2 + 1, width - 1]
    shifts = [(a, b) for a in counts for b in counts]
    up, down = lambda v, n: v << n, lambda v, n: v >> n
    pairs = [(f, g) for f in (up, down) for g in (up, down)]
    kind = np.dtype(dtype).type
    found = computed(x, [g(f(x, kind(a)), kind(b)) for f, g in pairs for a, b in shifts], values)
    expected = []
    for (f, g), (a, b) in ((p, s) for p in pairs for s in shifts):
        first = [_wrapped(f(int(v), a), dtype) for v in values]
        expected.append([_wrapped(g(v, b), dtype) for v in first])
    assert [v.tolist() for v in found] == expected


def _wrapped(value, dtype):
    """A Python integer in the width of a dtype."""
    width = np.dtype(dtype).itemsize * 8
    rest = value % 2**width
    return rest - 2**width if dtype.startswith("int") and rest >= 2 ** (width - 1) else rest
