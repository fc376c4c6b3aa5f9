"""The kept programs: what makes another one, and what answers until native code is ready."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import tg
from tg.eager import programs as module


@pytest.fixture
def fresh(reference):
    """A namespace that has no programs."""
    reference._programs.clear()
    reference._quick.clear()
    return reference


def new_ones(xp, call):
    before = xp.programs
    call()
    return xp.programs - before


def test_another_shape_is_the_same_program(fresh):
    assert new_ones(fresh, lambda: fresh.asarray([1.0, 2.0]) + fresh.asarray([3.0, 4.0])) == 1
    assert new_ones(fresh, lambda: fresh.asarray([1.0] * 5) + fresh.asarray([3.0] * 5)) == 0


def test_another_dtype_rank_or_pattern_of_ones_is_another_program(fresh):
    x = fresh.ones((2, 3))
    x + x
    for y in (fresh.ones((2, 3), dtype="float32"), fresh.ones(3), fresh.ones((2, 1))):
        assert new_ones(fresh, lambda y=y: x + y) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda xp, x, n: xp.zeros((n, 2 * n)),
        lambda xp, x, n: xp.full((n,), 2.5),
        lambda xp, x, n: xp.arange(n),
        lambda xp, x, n: xp.linspace(0.0, 1.0, n),
        lambda xp, x, n: xp.eye(n),
        lambda xp, x, n: xp.reshape(x, (n, -1)),
        lambda xp, x, n: xp.broadcast_to(xp.ones(3), (n, 3)),
        lambda xp, x, n: xp.roll(x, n),
        lambda xp, x, n: xp.tile(x, (n,)),
        lambda xp, x, n: xp.repeat(x, n),
        lambda xp, x, n: x[n],
        lambda xp, x, n: x[n : 2 * n],
        lambda xp, x, n: x[-n:],
        lambda xp, x, n: x * n,
    ],
)
def test_lengths_and_places_are_operands(fresh, call):
    x = fresh.asarray(np.arange(24.0))
    call(fresh, x, 2)
    results = [call(fresh, x, n) for n in (2, 3, 4)]
    assert new_ones(fresh, lambda: [call(fresh, x, n) for n in (6, 8)]) == 0
    for n, result in zip((2, 3, 4), results, strict=True):
        np.testing.assert_array_equal(result, call(np, np.arange(24.0), n))


def test_another_static_argument_is_another_program(fresh):
    x = fresh.ones((2, 3))
    fresh.sum(x, axis=0)
    assert new_ones(fresh, lambda: fresh.sum(x, axis=1)) == 1
    assert new_ones(fresh, lambda: fresh.sum(x, axis=0, keepdims=True)) == 1
    assert new_ones(fresh, lambda: fresh.sum(x, axis=0)) == 0


def test_a_function_that_needs_lengths_has_one_program_for_each(fresh):
    for n in (2, 3, 2):
        parts = fresh.unstack(fresh.ones((n, 4)))
        assert [p.shape for p in parts] == [(4,)] * n


def test_as_many_programs_are_kept_as_may_be(fresh, monkeypatch):
    monkeypatch.setattr(tg.eager.namespace, "KEPT", 3)
    x = fresh.ones((2, 3, 4))
    for axis in (0, 1, 2, -1, -2, -3):
        fresh.sum(x, axis=axis)
    assert fresh.programs == 3


def test_a_mistake_is_that_of_the_function_alone(reference):
    with pytest.raises(tg.ShapeError, match="reshape") as told:
        reference.reshape(reference.ones(6), (4, 4))
    assert told.value.__context__ is None
    with pytest.raises(TypeError):
        reference.ones(3) + "text"
    with pytest.raises(tg.ShapeError):
        reference.ones(3) + reference.ones(4)


def test_the_reference_answers_until_native_code_is_ready():
    xp = tg.eager("c")
    x = xp.asarray(np.arange(5.0))
    for _ in range(2 * module.HOT):
        np.testing.assert_allclose(xp.hypot(x, 3.0), np.hypot(np.arange(5.0), 3.0), rtol=1e-15)
    assert xp.wait(60)
    np.testing.assert_allclose(xp.hypot(x, 3.0), np.hypot(np.arange(5.0), 3.0), rtol=1e-15)
    assert xp.hypot(x, xp.asarray([3.0])).shape == (5,)


def test_a_compiler_that_fails_is_told_once_and_the_reference_goes_on(fresh, monkeypatch):
    def fail(self):
        raise tg.BackendUnavailable("no compiler")

    monkeypatch.setattr(module.Program, "_native", fail)
    xp = tg.eager.namespace.Namespace(tg.backend("c"), background=True)
    x = xp.asarray([1.0, 2.0])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(6):
            assert (x + x).native.tolist() == [2.0, 4.0]
            xp.wait(60)
    assert [str(w.message) for w in told] == ["add: not compiled, the reference goes on: no compiler"]


def test_values_that_decide_lengths_are_had_on_every_backend(xp):
    x = xp.asarray([3.0, 1.0, 3.0, 0.0])
    np.testing.assert_array_equal(xp.unique_values(x), [0.0, 1.0, 3.0])
    np.testing.assert_array_equal(xp.nonzero(x)[0], [0, 1, 2])
    np.testing.assert_array_equal(x[x > 0], [3.0, 1.0, 3.0])
    assert set(xp.on_reference) <= {"unique_values", "nonzero", "getitem", "setitem"}


def test_an_array_crosses_to_another_process():
    code = "import pickle, sys, tg; x = pickle.load(sys.stdin.buffer); print(x + 1, x.__array_namespace__())"
    x = tg.eager("perform").asarray([1.0, 2.0])
    run = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(x), capture_output=True, check=True)
    assert run.stdout.decode().strip() == "[2. 3.] tg.eager('perform')"


def test_a_keyword_of_another_library_is_told_as_elsewhere() -> None:
    xp = tg.eager("perform")
    with pytest.raises(tg.InputError, match="sum: keyword: found axes, needed axis"):
        xp.sum(xp.asarray([1.0, 2.0]), axes=0)
