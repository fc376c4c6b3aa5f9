"""The option `memory`: what a call is said to need is near what it takes, and a call that needs more does not begin."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tg
from tg import plugin

BACKENDS = [one.name for one in plugin.registry().backends() if one.is_available]
PAGES = 1 << 17  # bytes: memory comes in pages, and interpreters take some for themselves
x, y = tg.matrix("x"), tg.matrix("y")


def limited(inputs, outputs, limit, backend="perform"):
    return tg.function(inputs, outputs, backend=tg.backend(backend, memory=limit))


@pytest.mark.parametrize("backend", ["perform", "c", "numba", "torch"])
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the system tells no peak")
@pytest.mark.long
def test_a_plan_is_near_the_peak_that_the_system_has_seen(backend):
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    command = [sys.executable, str(Path(__file__).with_name("measured.py")), backend]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    lines = [line.split() for line in printed.splitlines()]
    assert len(lines) == 5
    for name, needed, measured in ((name, int(a), int(b)) for name, a, b in lines):
        assert measured <= needed + PAGES, name
        assert needed <= 2 * measured + PAGES, name


def test_mlx_takes_no_more_than_the_plan():
    mx = pytest.importorskip("mlx.core")
    a = np.ones((200, 200), np.float32)
    u, v = tg.matrix("u", dtype="float32"), tg.matrix("v", dtype="float32")
    outputs = tg.exp(u @ v) @ u
    with pytest.raises(tg.LimitError) as caught:
        limited([u, v], outputs, 1, "mlx")(a, a)
    needed = int(str(caught.value).split("a call needs ")[1].split()[0])
    f = limited([u, v], outputs, needed, "mlx")
    f(a, a)
    mx.clear_cache()
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    f(a, a)
    assert mx.get_peak_memory() - before <= needed <= 2 * (mx.get_peak_memory() - before) + 2 * a.nbytes


def test_jax_says_what_xla_has_planned():
    jax = pytest.importorskip("jax")
    a = np.ones((300, 300), np.float32)
    u = tg.matrix("u", dtype="float32")
    analysis = jax.jit(lambda u: jax.numpy.exp(u @ u) @ u).lower(a).compile().memory_analysis()
    theirs = analysis.output_size_in_bytes + analysis.temp_size_in_bytes
    with pytest.raises(tg.LimitError, match=f"the limit is {theirs // 2} bytes"):
        limited([u], tg.exp(u @ u) @ u, theirs // 2, "jax")(a)
    assert limited([u], tg.exp(u @ u) @ u, 2 * theirs, "jax")(a).shape == (300, 300)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_call_that_needs_more_is_refused_with_what_it_needs_and_the_next_one_runs(backend):
    u = tg.vector("u", dtype="float32")
    f = limited([u], tg.exp(u) + tg.cumsum(u), 20_000, backend)
    with pytest.raises(tg.LimitError) as caught:
        f(np.zeros(100_000, np.float32))
    summary, results, temporaries, hint = str(caught.value).splitlines()[:4]
    assert summary.startswith("function: memory: a call needs ")
    assert summary.endswith("the limit is 20000 bytes (19.5 KiB)")
    assert results.split()[:3] == ["results", "400000", "bytes"]
    assert temporaries.split()[0] == "temporaries"
    assert "batch" in hint
    np.testing.assert_allclose(f(np.zeros(10, np.float32)), np.ones(10))


def test_nothing_is_updated_by_a_call_that_is_refused():
    count = tg.shared(np.zeros(()), "count")
    f = tg.function([x], x @ x, updates={count: count + 1}, backend=tg.backend("perform", memory=10_000))
    with pytest.raises(MemoryError):
        f(np.zeros((100, 100)))
    assert count.get_value() == 0
    f(np.zeros((10, 10)))
    assert count.get_value() == 1


def needed_for(inputs, outputs, *arrays):
    with pytest.raises(tg.LimitError) as caught:
        limited(inputs, outputs, 0)(*arrays)
    return int(str(caught.value).split("a call needs ")[1].split()[0])


def test_a_scalar_decides_a_length():
    n = tg.scalar("n", dtype="int64")
    few, many = (needed_for([n], tg.exp(tg.arange(n + 1, dtype="float64")), k) for k in (99, 9999))
    assert few < many
    assert 2 * 80_000 <= many <= 2 * 80_000 + 1000


def test_positions_of_a_mask_count_as_all_of_them():
    v = tg.vector("v")
    assert needed_for([v], tg.flatnonzero(v > 0), np.zeros(1000)) >= 8000


def test_a_loop_counts_the_values_of_a_step_once():
    last, _ = tg.scan(lambda carry, _: (tg.exp(carry @ carry) @ carry, None), x, length=50)
    size = 64 * 64 * 8
    assert 3 * size <= needed_for([x], last, np.zeros((64, 64))) <= 5 * size


def test_shapes_that_do_not_fit_are_told_as_ever():
    with pytest.raises(tg.ShapeError):
        limited([x, y], x @ y, 1)(np.ones((2, 3)), np.ones((2, 3)))


def test_without_the_option_calls_go_their_shortest_way():
    plain = tg.function([x], x + 1, backend="perform")
    assert plain.__call__ != plain._calls.general
    assert plain._calls._limit is None
