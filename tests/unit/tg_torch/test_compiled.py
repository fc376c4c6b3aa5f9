"""Programs compiled by `torch.compile`: a few, for each costs seconds."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

import tg

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script_method`:DeprecationWarning")  # of torch's own modules

COMPILED = tg.backend("torch", compile=True)


def both(inputs, outputs):
    """The compiled function and the reference."""
    return tg.function(inputs, outputs, backend=COMPILED), tg.function(inputs, outputs, backend="perform")


@pytest.mark.long
def test_values_checks_and_aliases() -> None:
    x, i = tg.vector("x"), tg.scalar("i", dtype="int64")
    y = tg.softmax(x) * tg.sum(x * x) + tg.constant([1.0, 2.0, 3.0])
    f, g = both([x, i], [y, x[i], x, x, x[::-1], y[1:]])
    given = np.array([0.5, -1.0, 2.0])
    mode, threads, dtype = torch.is_grad_enabled(), torch.get_num_threads(), torch.get_default_dtype()
    found = f(given, -1)
    assert (torch.is_grad_enabled(), torch.get_num_threads(), torch.get_default_dtype()) == (mode, threads, dtype)
    for k, (a, b) in enumerate(zip(found, g(given, -1), strict=True)):
        np.testing.assert_allclose(a, b, rtol=1e-14)
        assert not np.shares_memory(a, given)
        assert not any(np.shares_memory(a, other) for other in found[:k])
    assert given.tolist() == [0.5, -1.0, 2.0]
    np.testing.assert_array_equal(f(given[::-1], 0)[2], given[::-1])
    with pytest.raises(tg.errors.BoundsError, match="index 3 is out of bounds for an axis of length 3"):
        f(given, 3)
    wrong: list[object] = []

    def work(seed: int) -> None:
        a = np.random.default_rng(seed).normal(size=3)
        if not all(f(a, k % 3)[1] == a[k % 3] and torch.is_grad_enabled() for k in range(20)):
            wrong.append(seed)

    pool = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    assert wrong == []
    assert f.programs.main.executable.compiles == 1


@pytest.mark.long
def test_a_window_that_moves_compiles_once() -> None:
    x, k = tg.vector("x", dtype="float32"), tg.scalar("k", dtype="int64")
    f, g = both([x, k], [x[k : k + 3], x.at[k : k + 2].set(0), x.at[k + 1 : k - 1 : -1].add(x[:2]), x[k:6:2][:1]])
    given = np.arange(9, dtype="f4")
    for start in (2, 3):
        for a, b in zip(f(given, start), g(given, start), strict=True):
            np.testing.assert_array_equal(a, b)
    assert f.programs.main.executable.compiles <= 2


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["uint16", "uint64", "int32"])
def test_integers_of_every_width(dtype) -> None:
    limits = np.iinfo(dtype)
    x, y = tg.vector(dtype=dtype), tg.vector(dtype=dtype)
    outputs = [x // y, x % y, x < y, x * y, tg.sum(x), tg.max(y), tg.cast(tg.cast(x, "float64") * 2, dtype)]
    f, g = both([x, y], outputs)
    arrays = [np.array([limits.max, limits.min, 7, 0], dtype), np.array([3, limits.max, 0, 5], dtype)]
    for a, b in zip(f(*arrays), g(*arrays), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.long
def test_bfloat16() -> None:
    z = tg.vector("z", dtype="bfloat16")
    f, g = both([z], [z * z])
    given = np.array([1.5, -2.0, 3.0]).astype(z.type.numpy_dtype)
    assert f(given)[0].dtype == given.dtype
    np.testing.assert_array_equal(f(given)[0], g(given)[0])


def test_lengths_that_depend_on_values_are_refused() -> None:
    x = tg.vector("x")
    with pytest.raises(tg.errors.NoRuleError, match="lengths that depend on values"):
        tg.function([x], x[x > 0], backend=COMPILED)
    inner = tg.call(lambda v: tg.sum(v[v > 0]), x)
    with pytest.raises(tg.errors.NoRuleError, match="does not compile nonzero"):
        tg.function([x], inner, backend=COMPILED)


@pytest.mark.long
def test_steps_of_loops() -> None:
    x, a = tg.vector("x"), tg.scalar("a")
    c, kept = tg.scan(lambda c, v: (tg.sin(c) * a + v, c), 0.5, x)
    f = tg.function([x, a], [kept, tg.grad(c, a)], backend=COMPILED)
    given = np.linspace(0, 1, 30)
    for _ in range(2):
        found, slope = f(given, 0.9)
    before, rows, d = 0.5, [], 0.0
    for v in given:
        rows.append(before)
        before, d = np.sin(before) * 0.9 + v, np.sin(before) + 0.9 * np.cos(before) * d
    np.testing.assert_allclose(found, rows, rtol=1e-13)
    np.testing.assert_allclose(slope, d, rtol=1e-12)
