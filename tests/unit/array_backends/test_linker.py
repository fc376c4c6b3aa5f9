"""What every linker of arrays keeps to: shared variables, threads, checks, gradients."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tg


def test_a_shared_variable_keeps_its_value_when_the_callers_array_changes(backend) -> None:
    s, x = tg.shared(np.zeros(1024), name="s"), tg.vector("x")
    f = tg.function([x], s, updates={s: x}, backend=backend)
    given = np.ones(1024)
    f(given)
    given[:] = 7
    assert f(given).tolist() == [1.0] * 1024


def test_eight_threads_get_their_own_answers(backend) -> None:
    x, n = tg.vector("x"), tg.scalar("n", dtype="int64")
    f = tg.function([x, n], [tg.sum(x * x), tg.cast(tg.arange(n), "float64") + x[0]], backend=backend)
    wrong: list[object] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for k in range(60):
            a, count = rng.normal(size=2 + k % 3), int(rng.integers(2, 6))
            total, ramp = f(a, count)
            if abs(total - (a * a).sum()) > 1e-12 or not np.allclose(ramp, np.arange(count) + a[0], rtol=1e-15):
                wrong.append((seed, k))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_failing_check_raises_the_declared_error(backend) -> None:
    x, i = tg.vector("x"), tg.scalar("i", dtype="int64")
    f = tg.function([x, i], x[i], backend=backend)
    assert f([1.0, 2.0], -1) == 2.0
    with pytest.raises(tg.errors.BoundsError, match="index 5 is out of bounds for an axis of length 2"):
        f([1.0, 2.0], 5)


def test_a_check_that_shapes_decide_raises_at_every_call(backend) -> None:
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], x + y, backend=backend)
    for _ in range(2):
        with pytest.raises(tg.errors.ShapeError, match="lengths differ: 2 and 3"):
            f(np.ones(2), np.ones(3))
    assert f(np.ones(3), np.ones(3)).tolist() == [2.0] * 3


def test_a_size_that_a_check_refuses_raises_its_error(backend) -> None:
    x, n = tg.vector("x"), tg.scalar("n", dtype="int64")
    f = tg.function([x, n], x + tg.cast(tg.arange(n), "float64"), backend=backend)
    with pytest.raises(tg.errors.ShapeError, match="lengths differ"):
        f(np.ones(5), 4)


def test_gradients_agree_with_the_reference(backend) -> None:
    x = tg.matrix("x")
    cost = tg.sum(tg.softmax(x[:, ::-1]) * tg.logsumexp(x, 0) + tg.max(x, 1, keepdims=True))
    g = tg.grad(cost, x)
    a = np.random.default_rng(2).normal(size=(4, 5))
    np.testing.assert_allclose(
        tg.function([x], g, backend=backend)(a), tg.function([x], g, backend="perform")(a), rtol=1e-12
    )
