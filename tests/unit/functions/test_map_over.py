"""Functions over executors: order, laziness, errors, lost workers, what is refused."""

from __future__ import annotations

import itertools
import os
import pickle
import sys
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tg
from tg.functions.map_over import _Chunks
from tg.functions.tasks import Outcome, Task, Travelling, arrived, portable, run

if TYPE_CHECKING:
    from collections.abc import Iterator

pool_of_one = partial(ProcessPoolExecutor, 1, mp_context=get_context("spawn"))


def _scaled() -> tg.Function:
    x, s = tg.vector("x"), tg.scalar("s")
    return tg.function([x, s], [x * s, tg.sum(x)], backend="perform")


def _elements(count: int) -> Iterator[Any]:
    for k in range(count):
        yield (np.arange(3.0), k) if k % 2 else {"s": k, "x": np.arange(3.0)}


class _Fatal:
    """An argument that ends the process that reads it, as long as a file is there."""

    def __init__(self, path: Path, *, stays: bool = False) -> None:
        self.path, self.stays = str(path), stays

    def __reduce__(self) -> tuple[object, ...]:
        return _end, (self.path, self.stays)


def _end(path: str, stays: bool) -> float:
    if Path(path).exists():
        if not stays:
            Path(path).unlink()
        os._exit(3)
    return 2.0


@pytest.mark.parametrize("chunk", [None, 1, 7])
def test_results_come_in_order(chunk: int | None) -> None:
    with ThreadPoolExecutor(3) as pool:
        for executor in (None, pool):
            results = list(tg.map_over(_scaled(), _elements(100), executor=executor, chunk=chunk))
            assert len(results) == 100
            assert all(np.array_equal(y, np.arange(3.0) * k) and total == 3 for k, (y, total) in enumerate(results))


def test_an_endless_iterable_is_taken_as_far_as_it_is_under_way() -> None:
    x = tg.scalar("x")
    taken = itertools.count()
    with ThreadPoolExecutor(2) as pool:
        results = tg.map_over(tg.function([x], x * x), taken, executor=pool, chunk=2, window=3)
        assert [float(next(results)) for _ in range(3)] == [0.0, 1.0, 4.0]
        results.close()
    assert next(taken) == 3 * 2 + 2


def test_an_error_says_of_which_element_it_is() -> None:
    m = tg.matrix("m")
    f = tg.function([m], tg.linalg.cholesky(m))
    batches = [np.eye(2), np.eye(2), -np.eye(2), np.eye(2)]
    with ThreadPoolExecutor(2) as pool:
        for executor, chunk in itertools.product((None, pool), (1, 3)):
            results = tg.map_over(f, batches, executor=executor, chunk=chunk)
            assert np.array_equal(next(results), np.eye(2))
            assert np.array_equal(next(results), np.eye(2))
            with pytest.raises(tg.LinAlgError) as caught:
                next(results)
            assert caught.value.__notes__[-1] == "map_over: element 2"


def test_another_process_gives_the_same_results_and_errors() -> None:
    w = tg.shared(np.arange(3.0), "w")
    x = tg.vector("x")
    f = tg.function([x], tg.sum(w * x), backend="perform")
    with pool_of_one() as pool:
        assert [float(y) for y in tg.map_over(f, [np.ones(3), np.arange(3.0)], executor=pool)] == [3.0, 5.0]
        with pytest.raises(tg.ShapeError) as caught:
            list(tg.map_over(f, [np.ones(3), np.ones((2, 2))], executor=pool))
    assert caught.value.__notes__[-1] == "map_over: element 1"


@pytest.mark.long  # processes that import tg
def test_a_worker_that_dies_is_replaced_in_a_pool_that_is_made_here(tmp_path: Path) -> None:
    x = tg.scalar("x")
    f = tg.function([x], x * x, backend="perform")
    once = tmp_path / "once"
    once.touch()
    results = tg.map_over(f, [1.0, _Fatal(once), 3.0], executor=pool_of_one, chunk=1)
    assert [float(y) for y in results] == [1.0, 4.0, 9.0]


@pytest.mark.long  # processes that import tg
def test_an_element_that_ends_each_worker_is_told(tmp_path: Path) -> None:
    x = tg.scalar("x")
    f = tg.function([x], x * x, backend="perform")
    always = tmp_path / "always"
    always.touch()
    with pytest.raises(BrokenExecutor) as caught:
        list(tg.map_over(f, [_Fatal(always, stays=True)], executor=pool_of_one, retries=1))
    assert caught.value.__notes__ == ["map_over: element 0, attempt 2"]
    with pool_of_one() as pool, pytest.raises(BrokenExecutor) as caught:
        list(tg.map_over(f, [_Fatal(always, stays=True)], executor=pool))
    assert caught.value.__notes__[0].startswith("  hint: executor=lambda: ProcessPoolExecutor(4)")


def test_a_process_restores_a_function_once() -> None:
    f = _scaled()
    sent = pickle.dumps(Travelling(f))
    assert pickle.loads(sent) is pickle.loads(sent)
    others = [pickle.dumps(Travelling(tg.function([], tg.constant(k), backend="perform"))) for k in range(4)]
    first = pickle.loads(sent)
    assert [float(pickle.loads(other).f()) for other in others] == [0.0, 1.0, 2.0, 3.0]
    assert pickle.loads(sent) is not first  # four are at hand
    assert arrived.__module__ == "tg.functions.tasks"


def test_chunks_follow_what_elements_take() -> None:
    chunks = _Chunks(_scaled(), itertools.repeat(0), None)
    lengths = []
    for seconds in (1e-5, 1e-5, 1e-5, 1e-5, 0.5):
        task = chunks.next()
        assert task is not None
        lengths.append(len(task.elements))
        chunks.learn(Outcome([0] * lengths[-1], None, seconds * lengths[-1], 0))
    assert lengths == [1, 16, 256, 4096, 10000]
    task = chunks.next()
    assert task is not None
    assert len(task.elements) == 1


def test_an_error_that_no_pickle_holds_is_told_as_text() -> None:
    class Local(Exception):  # noqa: N818
        pass

    error = Local("of a library")
    error.add_note("map_over: element 4")
    assert str(portable(error)) == "Local: of a library\nmap_over: element 4"


def test_a_task_that_fails_has_the_results_before() -> None:
    outcome = run(Task(Travelling(_scaled()), 10, [(np.ones(2), 1.0), (np.ones(2),), (np.ones(2), 1.0)]))
    assert len(outcome.results) == 1
    assert isinstance(outcome.error, tg.InputError)
    assert outcome.error.__notes__[-1] == "map_over: element 11"


def test_progress_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    x = tg.scalar("x")
    f = tg.function([x], x + 1)
    calls: list[tuple[int, int | None]] = []
    list(tg.map_over(f, [1.0, 2.0], progress=lambda done, length: calls.append((done, length))))
    list(tg.map_over(f, iter([1.0]), progress=lambda done, length: calls.append((done, length))))
    assert calls == [(1, 2), (2, 2), (1, None)]
    list(tg.map_over(f, [1.0, 2.0], progress=True))
    assert capsys.readouterr().err.splitlines()[-1].startswith("2 of 2, ")


def test_what_has_no_meaning_elsewhere_is_refused() -> None:
    count = tg.shared(0, "count")
    with pytest.raises(
        tg.InputError, match=r"map_over: step updates <shared count : int64\[\]>, which other processes"
    ):
        tg.map_over(tg.function([], count, updates={count: count + 1}, name="step"), [])
    x = tg.scalar("x")
    with pytest.raises(tg.InputError, match=r'map_over: function has output="native", needed NumPy arrays'):
        tg.map_over(tg.function([x], x, output="native"), [])
    with pytest.raises(tg.InputError, match=r"map_over: found .*, needed a compiled function\n  hint: tg\.function"):
        tg.map_over(np.sin, [])  # type: ignore[arg-type]


def test_another_executor_is_refused_with_those_that_are() -> None:
    x = tg.scalar("x")
    f = tg.function([x], x)
    for executor in ("slurm", 4, object, sys):
        with pytest.raises(tg.InputError, match=r"map_over: executor: found .*, needed an executor of concurrent.*ray"):
            tg.map_over(f, [], executor=executor)
    with pytest.raises(tg.InputError, match="map_over: chunk: found 0, needed an integer of at least 1"):
        tg.map_over(f, [], chunk=0)
