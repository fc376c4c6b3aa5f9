"""One function called from many threads, on every backend."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tg
from tg import plugin

THREADS = 8
BACKENDS = [s.name for s in plugin.registry().backends() if s.is_available]


def in_threads(work):
    """Run `work(number)` in threads that begin together; what they raised."""
    raised, barrier = [], threading.Barrier(THREADS)

    def run(number):
        barrier.wait()
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_thread_gets_the_results_of_its_own_inputs(backend):
    x, y = tg.vector("x", dtype="float32"), tg.scalar("y", dtype="float32")
    f = tg.function([x, y], {"sum": tg.sum(x) * y, "each": (x + y, x * y)}, backend=backend)

    def work(number):
        x = np.full(3, number, np.float32)
        for k in range(250):
            y = np.array(k, np.float32)
            found = f(x, y)
            assert found["sum"] == 3 * number * k
            assert found["each"][0].tolist() == [number + k] * 3
            assert found["each"][1].tolist() == [number * k] * 3

    assert in_threads(work) == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_thread_may_meet_another_specialisation_first(backend):
    x, y = tg.vector("x", dtype="float32"), tg.vector("y", dtype="float32")
    f = tg.function([x, y], x * y, backend=backend)

    def work(number):
        a, b = (1, 3) if number % 2 else (3, 1)
        x, y = np.full(a, number, np.float32), np.full(b, 2, np.float32)
        for _ in range(50):
            assert f(x, y).tolist() == [2 * number] * 3

    assert in_threads(work) == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_update_is_lost(backend):
    total, x = tg.shared(0, "total", dtype="int32"), tg.scalar("x", dtype="int32")
    f = tg.function([x], total, updates={total: total + x}, backend=backend)
    seen: list[int] = []

    def work(number):
        seen.extend(int(f(np.array(1, np.int32))) for _ in range(100))

    assert in_threads(work) == []
    assert int(total.get_value()) == 100 * THREADS
    assert sorted(seen) == list(range(100 * THREADS))
