"""The PyTorch linker: its state untouched, memory, threads, devices."""

from __future__ import annotations

import os
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import tg
from tg.errors import OptionError
from tg_torch.linker import find_device


def state():
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.get_num_threads(),
        torch.get_num_interop_threads(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_float32_matmul_precision(),
        torch.get_rng_state().tolist(),
        dict(os.environ),
    )


def test_the_state_of_the_library_stays() -> None:
    before = state()
    x = tg.vector("x")
    f = tg.function([x], [tg.exp(x), tg.sum(x), x[::-1]], backend="torch")
    f(np.ones(3))
    assert state() == before
    with pytest.raises(tg.errors.ShapeError):
        tg.function([x], x + np.ones(2), backend="torch")(np.ones(3))
    assert state() == before


def test_the_users_contexts_are_no_matter() -> None:
    x = tg.matrix("x", dtype="float32")
    f = tg.function([x], [x @ x, tg.cast(tg.arange(3), "float32") + x], backend="torch", output="native")
    value = np.random.default_rng(0).normal(size=(3, 3)).astype("f4")
    plain = f(value)
    with torch.inference_mode(), torch.autocast("cpu"), torch.device("meta"):
        inside = f(value)
        assert torch.is_inference_mode_enabled()
        assert torch.is_autocast_enabled("cpu")
    torch.set_default_dtype(torch.float64)
    try:
        wide = f(value)
    finally:
        torch.set_default_dtype(torch.float32)
    for a, b, c in zip(plain, inside, wide, strict=True):
        assert a.dtype == b.dtype == c.dtype == torch.float32
        assert not b.is_inference()
        assert torch.equal(a, b)
        assert torch.equal(a, c)


@pytest.mark.parametrize("inference", [False, True])
def test_native_outputs_are_ordinary_tensors(inference) -> None:
    x = tg.matrix("x")
    f = tg.function([x], [x.T, tg.broadcast_to(tg.sum(x), (2, 3)), x * 2], backend="torch", output="native")
    with torch.inference_mode(inference):
        found = f(np.arange(6.0).reshape(2, 3))
    for y in found:
        assert type(y) is torch.Tensor
        assert not y.requires_grad
        assert y.is_leaf
        assert y.is_contiguous()
        y.requires_grad_()
        (y * y).sum().backward()
        assert torch.equal(y.grad, 2 * y)
        with torch.no_grad():
            y.add_(1)


def test_shared_values_made_in_inference_mode_are_used_outside() -> None:
    s, x = tg.shared(np.zeros(4), name="s"), tg.vector("x")
    f = tg.function([x], s, updates={s: s.at[1:3].set(x)}, backend="torch")
    with torch.inference_mode():
        f(np.ones(2))
    assert f(np.full(2, 3.0)).tolist() == [0, 1, 1, 0]
    assert f(np.ones(2)).tolist() == [0, 3, 3, 0]


def test_every_layout_is_taken_without_a_warning() -> None:
    x = tg.matrix("x")
    f = tg.function([x], x + 1, backend="torch")
    base = np.arange(24.0).reshape(4, 6)
    frozen = base.copy()
    frozen.flags.writeable = False
    shifted = np.frombuffer(b"x" + base.tobytes(), np.uint8)[1:].view(np.float64).reshape(4, 6)
    fields = np.zeros((4, 6), [("a", "u1"), ("b", "f8")])
    fields["b"] = base
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for a in (base, base[::-1, ::-2], base.T, frozen, shifted, fields["b"], np.broadcast_to(1.0, (2, 3))):
            np.testing.assert_array_equal(f(a), a + 1)


def test_outputs_share_no_memory() -> None:
    given = np.arange(512.0)
    x = tg.vector("x")
    y = x.reshape((2, 256))
    z = x + 1
    for output in ("native", "numpy"):
        f = tg.function([x], [x, x, y, y, z, z.reshape((2, 256)), z[3:], y.T], backend="torch", output=output)
        found = [np.asarray(v) for v in f(given)]
        for k, a in enumerate(found):
            assert not np.shares_memory(a, given)
            assert not any(np.shares_memory(a, b) for b in found[:k])
        copies = [a.copy() for a in found]
        given[:] += 1
        for a, b in zip(found, copies, strict=True):
            np.testing.assert_array_equal(a, b)


def test_what_is_written_in_place_is_nobody_elses() -> None:
    x, v = tg.vector("x"), tg.scalar("v")
    y = x + 1
    constant = tg.constant(np.zeros(4))
    outputs = [y.at[1].set(v), y, x.at[0].set(v), constant.at[2].add(v), tg.zeros_like(x).at[1:3].add(v)]
    f = tg.function([x, v], outputs, backend="torch")
    given = np.arange(4.0)
    for k in (7.0, 9.0):
        found = [a.tolist() for a in f(given, k)]
        assert found == [[1, k, 3, 4], [1, 2, 3, 4], [k, 1, 2, 3], [0, 0, k, 0], [0, k, k, 0]]
    assert given.tolist() == [0, 1, 2, 3]


def test_outputs_are_writable_and_owned() -> None:
    x = tg.matrix("x")
    found = tg.function([x], [x, x.T, tg.sum(x)], backend="torch")(np.ones((2, 3)))
    for a in found:
        assert type(a) is np.ndarray
        assert a.flags.writeable
        assert a.flags.owndata or type(a.base) is torch.Tensor
        a[...] = 5


def test_bfloat16_passes_through() -> None:
    import ml_dtypes

    x = tg.vector("x", dtype="bfloat16")
    given = np.array([1.5, -2.0, 3.0], ml_dtypes.bfloat16)
    found = tg.function([x], [x * x, x[::-1]], backend="torch")(given)
    assert [a.dtype for a in found] == [ml_dtypes.bfloat16] * 2
    assert found[0].tolist() == [2.25, 4.0, 9.0]
    assert tg.function([x], x, backend="torch", output="native")(given).dtype == torch.bfloat16


def test_lengths_that_depend_on_values() -> None:
    x = tg.vector("x")
    f = tg.function([x], [x[x > 0], tg.sum(x[x > 0])], backend="torch")
    for given in ([1.0, -1.0, 2.0], [-1.0], [3.0]):
        kept, total = f(given)
        assert kept.tolist() == [v for v in given if v > 0]
        assert total == sum(kept)


def test_other_threads_record_gradients() -> None:
    x = tg.vector("x")
    f = tg.function([x], tg.sum(x), backend="torch")
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda k: f(np.ones(k % 3)) == k % 3 and torch.is_grad_enabled(), range(480)))


def test_a_device_that_exists_is_used_and_another_is_refused() -> None:
    x = tg.vector("x")
    f = tg.function([x], x + 1, backend=tg.backend("torch", device="cpu"), output="native")
    assert f(np.ones(2)).device.type == "cpu"
    assert f(np.ones(2)).dtype == torch.float64
    for name in ("cuda:99", "abacus"):
        with pytest.raises(OptionError, match=r"needed one of .*cpu"):
            find_device(name)
        with pytest.raises(OptionError, match="option device"):
            tg.function([x], x + 1, backend=tg.backend("torch", device=name))


def test_options_are_checked() -> None:
    for given in ({"compile": "yes"}, {"mode": "fast"}, {"device": 0}, {"threads": 2}):
        with pytest.raises(OptionError):
            tg.backend("torch", **given)


def test_a_large_shared_value_is_held_once() -> None:
    array = np.arange(1 << 15, dtype=np.float64)
    w = tg.shared(array, "w")
    f = tg.function([], tg.sum(w), updates={w: w + 1.0}, backend="torch")
    g = tg.function([], w * 1.0, backend="perform")
    f()
    w.set_value(array)
    assert tg.function([], tg.sum(w), backend="torch")() == array.sum()
    assert w.snapshot.array is None
    for _ in range(2):
        np.testing.assert_array_equal(w.get_value(), array)
        np.testing.assert_array_equal(g(), array)
    f()
    np.testing.assert_array_equal(g(), array + 1)
    assert not w.snapshot.numpy.flags.writeable
