"""Statements of vectors that go abreast stand one vector's after the other's, where that changes nothing."""

import itertools

import numpy as np
import pytest

import tg
from tg_c.apart import one_after_another

LINES = [
    "  const f64 t0 = x[0];",
    "  const f64x4 t1 = tg_load_f64x4(y);",
    "  const f64x4 t2 = tg_load_f64x4(y + 4);",
    "  const f64x4 t3 = t1 * t0;",
    "  const f64x4 t4 = t2 * t0;",
    "  f64 *const t5 = z + k;",
    "  tg_store_f64x4(t5, t3);",
    "  tg_store_f64x4(t5 + 4, t4);",
]
VECTORS = {1: 0, 2: 1, 3: 0, 4: 1, 6: 0, 7: 1}


def test_what_is_of_no_vector_comes_first():
    assert one_after_another(LINES, VECTORS) == [LINES[k] for k in (0, 5, 1, 3, 6, 2, 4, 7)]


@pytest.mark.parametrize("line", ["  if (t0 > 0) break;", "  }", "  t0 = t1;", "  x[0] = t0;"])
def test_where_there_is_more_than_values_and_stores_nothing_moves(line):
    lines = [*LINES, line]
    assert one_after_another(lines, VECTORS) == lines


def test_what_is_of_all_vectors_stays_behind_them():
    lines = [*LINES, "  const f64 t6 = tg_sum(t3, t4);"]
    assert one_after_another(lines, VECTORS) == lines


def test_steps_of_chains_are_by_vector_and_as_numpy_computes_them():
    a, x = tg.vector("a"), tg.vector("x")
    last = tg.vmap(lambda r: tg.scan(lambda c, v: (c * r + v, None), 0.0, x)[0])(a)
    f = tg.function([a, x], last, backend="c")
    step = f.source().partition("for (i64 k")[2].partition("}")[0]
    products = [k for k, line in enumerate(step.splitlines()) if " * " in line and "const f64x" in line]
    assert len(products) >= 2
    assert all(b - a > 1 for a, b in itertools.pairwise(products))
    rates, values = np.linspace(-0.5, 0.5, 37), np.cos(np.arange(9.0))
    wanted = np.zeros(37)
    for v in values:
        wanted = wanted * rates + v
    np.testing.assert_array_equal(f(rates, values), wanted)
