"""What holds for every backend that is installed: threads, updates, aliasing, errors with the user's line."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tg
from tg import plugin

BACKENDS = sorted(b.name for b in plugin.registry().backends() if b.is_available)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def in_threads(work, count: int = 8) -> None:  # type: ignore[no-untyped-def]
    """Run `work(k)` in several threads; the first exception of any is raised here."""
    failures: list[BaseException] = []

    def guarded(k: int) -> None:
        try:
            work(k)
        except BaseException as error:  # noqa: BLE001 (handed on to the caller's thread)
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(k,)) for k in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]


@pytest.mark.long
def test_eight_threads_of_ten_thousand_calls_get_their_own_answers(backend: str) -> None:
    x = tg.vector("x")
    f = tg.function([x], [tg.sum(x * x), x[::-1] + 1.0], backend=backend)
    f(np.arange(3.0))

    def work(k: int) -> None:
        value = np.arange(3.0) + k
        total, turned = float(np.sum(value * value)), value[::-1] + 1.0
        for _ in range(10_000):
            got, other = f(value)
            assert got == total
            assert other[0] == turned[0]
            assert other[2] == turned[2]

    in_threads(work)


@pytest.mark.long
def test_no_update_is_lost(backend: str) -> None:
    total = tg.shared(np.zeros(2), "total")
    x = tg.scalar("x")
    f = tg.function([x], total, updates={total: total + x}, backend=backend)

    def work(k: int) -> None:
        for _ in range(500):
            f(1.0)

    in_threads(work)
    assert total.get_value().tolist() == [4000.0, 4000.0]


def test_a_value_moves_between_backends(backend: str) -> None:
    s = tg.shared(np.arange(3.0), "s")
    tg.function([], [], updates={s: s * 2}, backend=backend)()
    tg.function([], [], updates={s: s + 1}, backend="perform")()
    tg.function([], [], updates={s: s * 2}, backend=backend)()
    assert s.get_value().tolist() == [2.0, 6.0, 10.0]


def test_outputs_are_the_callers_own(backend: str) -> None:
    x = tg.vector("x")
    f = tg.function([x], [x, x, x * 1.0, x[1:]], backend=backend)
    value = np.arange(4.0)
    for out in (outs := f(value)):
        assert out.flags.writeable
        assert not np.shares_memory(out, value)
        out[...] = -1
    assert value.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert all(not np.shares_memory(a, b) for k, a in enumerate(outs) for b in outs[k + 1 :])


MISTAKES = [
    (lambda x, k: x[k], (np.ones(3), 7), tg.BoundsError, "index 7 is out of bounds for an axis of length 3"),
    (lambda x, k: x[tg.array([0, k])], (np.ones(3), -9), tg.BoundsError, "index -9 is out of bounds"),
    (lambda x, k: x.at[k].set(0.0), (np.ones(3), 3), tg.BoundsError, "index 3 is out of bounds"),
    (lambda x, k: tg.max(x[k:]), (np.ones(3), 5), tg.DomainError, "no elements"),
    (lambda x, k: tg.reshape(x, (k, 2)), (np.ones(3), 2), tg.ShapeError, "the array has 3, the new shape has 4"),
    (lambda x, k: tg.constant([2, 3]) ** k + tg.sum(x), (np.ones(3), -1), tg.DomainError, "exponent -1"),
    (lambda x, k: tg.full((k,), tg.sum(x)), (np.ones(3), -2), tg.ShapeError, "found the length -2"),
    (lambda x, k: x + tg.full((k,), 1.0), (np.ones(3), 2), tg.ShapeError, "lengths differ"),
    (lambda x, k: tg.call(lambda v, i: v[i], x, k), (np.ones(3), 4), tg.BoundsError, "index 4 is out of bounds"),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m[3])
def test_run_time_mistakes_are_the_same_error_with_the_users_line(backend: str, mistake) -> None:  # type: ignore[no-untyped-def]
    build, arguments, error, text = mistake
    x, k = tg.vector("x"), tg.scalar("k", dtype="int64")
    count = tg.shared(0, "count")
    f = tg.function([x, k], build(x, k), updates={count: count + 1}, backend=backend)
    for _ in range(2):
        with pytest.raises(error, match=text) as caught:
            f(*arguments)
        assert "test_every_backend.py" in str(caught.value)
    assert int(count.get_value()) == 0


def test_lengths_of_inputs_that_differ_are_an_error(backend: str) -> None:
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], x * y, backend=backend)
    assert f(np.ones(2), np.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(tg.ShapeError, match="lengths differ: 2 and 3"):
        f(np.ones(2), np.ones(3))
    assert f(np.ones(1), np.ones(3)).tolist() == [1.0, 1.0, 1.0]


def test_a_moving_window_compiles_nothing_new(backend: str) -> None:
    x, k = tg.vector("x"), tg.scalar("k", dtype="int64")
    f = tg.function([x, k], tg.sum(x[k * 4 : (k + 1) * 4]), backend=backend)
    value = np.arange(32.0)
    f(value, 0)
    before = f.compiles
    for i in range(8):
        assert float(f(value, i)) == value[4 * i : 4 * i + 4].sum()
    assert f.compiles == before


def test_the_generated_code_can_be_read(backend: str) -> None:
    x = tg.vector("x")
    f = tg.function([x], tg.exp(x), backend=backend)
    assert 20 < len(f.source()) <= len(f.source(full=True))
