"""Programs recorded by MLX: the same bits as unrecorded, new shapes, what cannot be recorded, and no files left."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

import tg
from tg.errors import ShapeError
from tg_mlx.recorded import KEPT, Recorded


def model():
    x, w, k = tg.vector("x"), tg.matrix("w"), tg.scalar("k", "int64")
    y = tg.tanh(tg.matmul(w, x) * 0.5)
    cost = tg.sum(y * y) + tg.sum(tg.sin(x)[k:]) + tg.logsumexp(x)
    return tg.function([x, w, k], [cost, *tg.grad(cost, [x, w]), y[::-1]], backend="mlx")


def test_a_recorded_program_gives_the_same_bits() -> None:
    f, rng = model(), np.random.default_rng(0)
    for n in (4, 7, 4, 5, 7):
        x, w = rng.normal(size=n), rng.normal(size=(3, n))
        found = [f(x, w, 1) for _ in range(4)]
        for again in found[1:]:
            for a, b in zip(found[0], again, strict=True):
                np.testing.assert_array_equal(a, b)


def test_a_recording_leaves_no_file(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    x = tg.vector("x")
    f = tg.function([x], tg.exp(x) + tg.constant(np.arange(2000.0))[0], backend="mlx")
    for _ in range(3):
        assert f(np.zeros(2)).tolist() == [1.0, 1.0]
    assert not list(tmp_path.iterdir())


def test_where_no_file_can_be_written_programs_run_unrecorded(monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(Path("/nonexistent/folder")))
    x = tg.vector("x")
    f = tg.function([x], x + 1, backend="mlx")
    for _ in range(3):
        assert f(np.zeros(2)).tolist() == [1.0, 1.0]


def test_python_runs_twice_for_each_shape() -> None:
    runs: list[tuple[int, ...]] = []

    def double(x):
        runs.append(x.shape)
        return (x + x,)

    program = Recorded(double, "cpu")
    for n in (2, 2, 2, 3, 3, 2):
        assert program(mx.ones(n))[0].tolist() == [2.0] * n
    assert runs == [(2,), (2,), (3,), (3,)]


def test_a_program_forgets_the_oldest_shapes() -> None:
    program = Recorded(lambda x: (x + 1,), "cpu")
    for n in range(1, KEPT + 10):
        program(mx.ones(n))
    assert len(program._programs) == KEPT
    assert program(mx.ones(1))[0].tolist() == [2.0]


def test_what_mlx_cannot_record_runs_as_it_is() -> None:
    def peeks(x):
        return (x * x.sum().item(),)

    program = Recorded(peeks, "cpu")
    for k in (1.0, 2.0, 3.0):
        assert program(mx.array([k, k]))[0].tolist() == [2 * k * k] * 2


def test_a_check_that_shapes_decide_raises_while_recording_and_after() -> None:
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], tg.exp(x) + y, backend="mlx")
    for _ in range(4):
        with pytest.raises(ShapeError, match="lengths differ"):
            f(np.ones(2), np.ones(3))
        assert f(np.zeros(2), np.ones(2)).tolist() == [2.0, 2.0]


def test_threads_share_a_recording() -> None:
    f, wrong = model(), []
    want = {n: f(np.full(n, 0.1), np.ones((3, n)), 1) for n in (3, 4, 5)}

    def work() -> None:
        for k in range(60):
            n = 3 + k % 3
            found = f(np.full(n, 0.1), np.ones((3, n)), 1)
            wrong.extend(n for a, b in zip(found, want[n], strict=True) if not np.array_equal(a, b))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_profile_still_tells_the_nodes_apart() -> None:
    x = tg.vector("x")
    f = tg.function([x], tg.sum(tg.exp(x)), backend="mlx")
    for _ in range(3):
        f(np.ones(3))
    assert f.programs.main.executable.timed() is not None
    assert f.programs.main.executable.compiles == 0
