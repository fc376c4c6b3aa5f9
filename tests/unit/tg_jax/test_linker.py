"""The JAX linker: 64 bits without the flag, traces, memory, threads, devices."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tg
from tg.errors import OptionError
from tg_jax import Options
from tg_jax.linker import find_device, scope


def executable(f):
    return f.programs.main.executable


def test_64_bits_do_not_leak() -> None:
    before = jax.config.values.copy()
    x = tg.vector("x")
    f = tg.function([x], tg.exp(x), backend="jax")
    assert f(np.ones(3)).dtype == np.float64
    assert jax.config.values == before
    assert jnp.ones(3).dtype == np.float32
    assert jax.jit(lambda a: a + 1)(np.ones(3)).dtype == np.float32


def test_the_users_own_context_and_jit_cache_are_no_matter() -> None:
    x = tg.vector("x", dtype="float32")
    f = tg.function([x], x * 2, backend="jax")
    with jax.enable_x64(True):
        assert f(np.ones(3, "f4")).dtype == np.float32
        assert jnp.ones(3).dtype == np.float64
    assert f(np.ones(3, "f4")).dtype == np.float32


def test_the_environment_stays() -> None:
    before = dict(os.environ)
    x = tg.vector("x")
    tg.function([x], tg.sum(x), backend="jax")(np.ones(3))
    assert dict(os.environ) == before


def test_a_program_is_traced_once_for_each_shape() -> None:
    x = tg.vector("x")
    f = tg.function([x], x + 1, backend="jax")
    for n in (3, 4, 3, 4, 4):
        f(np.ones(n))
    assert executable(f).compiles == 2


def test_a_window_that_moves_is_not_traced_again() -> None:
    x, k = tg.vector("x"), tg.scalar("k", dtype="int64")
    f = tg.function([x, k], x[k : k + 3], backend="jax")
    for start in range(5):
        assert f(np.arange(9.0), start).tolist() == [start, start + 1.0, start + 2.0]
    assert executable(f).compiles <= 2


def test_a_size_that_depends_on_a_value_is_traced_once_for_each() -> None:
    n = tg.scalar("n", dtype="int64")
    f = tg.function([n], tg.sum(tg.square(tg.arange(n))), backend="jax")
    assert [int(f(k)) for k in (3, 5, 3, 5, 3)] == [5, 30, 5, 30, 5]
    assert executable(f).compiles == 2


def test_outputs_share_no_memory() -> None:
    raw = np.empty(4096 + 64, np.uint8)
    start = -raw.ctypes.data % 64  # aligned, so that JAX could take it as it is
    given = raw[start : start + 4096].view(np.float64)
    given[:] = np.arange(512.0)
    x = tg.vector("x")
    y = x.reshape((2, 256))
    for output in ("native", "numpy"):
        f = tg.function([x], [x, x, y, y, x + 1], backend="jax", output=output)
        found = [np.asarray(v) for v in f(given)]
        for k, a in enumerate(found):
            assert not np.shares_memory(a, given)
            assert not any(np.shares_memory(a, b) for b in found[:k])
        copies = [a.copy() for a in found]
        given[:] += 1
        for a, b in zip(found, copies, strict=True):
            np.testing.assert_array_equal(a, b)


def test_outputs_are_writable_and_owned() -> None:
    x = tg.matrix("x")
    found = tg.function([x], [x, x.T, tg.sum(x)], backend="jax")(np.ones((2, 3)))
    for a in found:
        assert type(a) is np.ndarray
        assert a.flags.writeable
        assert a.flags.owndata
        a[...] = 5


def test_native_outputs_are_ready_arrays() -> None:
    x = tg.vector("x")
    found = tg.function([x], tg.cumsum(x), backend="jax", output="native")(np.ones(100000))
    assert isinstance(found, jax.Array)
    assert found.is_ready()
    assert found.dtype == np.float64


def test_outputs_are_ready_together_and_inputs_have_been_read() -> None:
    x = tg.matrix("x")
    y = x
    for _ in range(4):
        y = tg.sin(y @ y)
    f = tg.function([x], [y, x[0] + 1, tg.sum(y), x * 2], backend="jax", output="native")
    given = np.full((200, 200), 0.01)
    for k in range(20):
        given[...] = k / 100
        found = f(given)
        assert all(v.is_ready() for v in found)
        given[...] = -1
        assert (np.asarray(found[1]) == 1 + k / 100).all()
        assert (np.asarray(found[3]) == 2 * (k / 100)).all()


def test_large_constants_are_arguments() -> None:
    data = np.random.default_rng(0).normal(size=(200, 30))
    x = tg.vector("x")
    inner = tg.call(lambda v: tg.matmul(tg.constant(data), v), x)
    f = tg.function([x], [tg.matmul(tg.constant(data), x), inner], backend="jax")
    a, b = f(np.ones(30))
    np.testing.assert_allclose(a, data.sum(1), rtol=1e-12)
    np.testing.assert_array_equal(a, b)
    assert f.source().count("constants[0]") == 2
    assert "constants[1]" not in f.source()


def test_an_update_that_does_not_change_returns_a_copy() -> None:
    s = tg.shared(np.arange(3.0), name="s")
    f = tg.function([], [s, s], updates={s: s}, backend="jax", output="native")
    a, b = f()
    assert not np.shares_memory(np.asarray(a), np.asarray(b))


def test_other_threads_keep_numbers_of_32_bits() -> None:
    x = tg.vector("x")
    f = tg.function([x], tg.sum(x), backend="jax")
    with ThreadPoolExecutor(8) as pool:
        kinds = pool.map(lambda k: (f(np.ones(k % 3)).dtype, jnp.ones(1).dtype), range(480))
    assert {*kinds} == {(np.dtype("float64"), np.dtype("float32"))}


def test_a_device_that_exists_is_used_and_another_is_refused() -> None:
    x = tg.vector("x")
    f = tg.function([x], x + 1, backend=tg.backend("jax", device="cpu:0"), output="native")
    assert {str(d.platform) for d in f(np.ones(2)).devices()} == {"cpu"}
    assert f(np.ones(2)).dtype == np.float64
    for name in ("cpu:99", "abacus"):
        with pytest.raises(OptionError, match=r"needed one of .*cpu:0"):
            find_device(name)
        with pytest.raises(OptionError, match="option device"):
            tg.function([x], x + 1, backend=tg.backend("jax", device=name))


def test_large_outputs_are_the_users_own() -> None:
    x = tg.matrix("x")
    f = tg.function([x], [x + 1, x * 2, x + x, tg.zeros((200, 300))], backend="jax")
    a = np.arange(60000.0).reshape(200, 300)
    found = f(a)
    copies = [y.copy() for y in found]
    for k, y in enumerate(found):
        assert type(y) is np.ndarray
        assert y.flags.writeable
        assert not np.shares_memory(y, a)
        assert not any(np.shares_memory(y, other) for other in found[:k])
        y[...] = -5
    for y, copy in zip(f(a), copies, strict=True):
        np.testing.assert_array_equal(y, copy)


def test_a_view_keeps_the_memory_of_a_large_output() -> None:
    x = tg.matrix("x")
    f = tg.function([x], x + 1, backend="jax")
    a = np.ones((300, 300))
    view = f(a)[::2].T
    for k in range(10):
        f(a * k)
    assert (view == 2).all()


def test_writing_a_large_output_leaves_shared_variables_alone() -> None:
    s = tg.shared(np.zeros((100, 200)), name="s")
    f = tg.function([], [s, s + 1], updates={s: s + 1}, backend="jax")
    for k in range(3):
        old, new = f()
        assert (old == k).all()
        assert (new == k + 1).all()
        old[...] = new[...] = -5
        s.get_value()[...] = -5
    assert (s.get_value() == 3).all()


def test_large_outputs_of_half_width_are_writable() -> None:
    x = tg.vector("x", dtype="bfloat16")
    f = tg.function([x], x * 2, backend="jax")
    y = f(np.ones(50000, x.type.numpy_dtype))
    assert y.dtype == x.type.numpy_dtype
    assert y.flags.writeable
    assert (y.astype("float32") == 2).all()


def test_64_bits_end_when_a_call_fails_or_calls_another() -> None:
    x, i = tg.vector("x"), tg.scalar("i", dtype="int64")
    f = tg.function([x, i], x[i], backend="jax")
    for outside in (False, True):
        with jax.enable_x64(outside):
            with pytest.raises(tg.errors.BoundsError):
                f([1.0], 3)
            with scope(Options()), scope(Options()):
                assert jnp.ones(1).dtype == np.float64
            assert jnp.ones(1).dtype == (np.float64 if outside else np.float32)
    assert jnp.ones(1).dtype == np.float32


QUOTIENTS = {
    "constants in turn": (lambda x, y: x * 1e-200 * 1e-200, 1e300, 1.0, 1e-100),
    "a constant after another": (lambda x, y: x * 1e-200 / 1e200, 1e300, 1.0, 1e-100),
    "constants beside an infinity": (lambda x, y: x * 1e-200 / 1e200, np.inf, 1.0, np.inf),
    "a divisor without reciprocal": (lambda x, y: x / 1.5e308, 1.5e308, 1.0, 1.0),
    "divisors in turn": (lambda x, y: x / y / y, 1e-300, 1e-200, 1e100),
    "a quotient below": (lambda x, y: x / (x / y), 1e300, 1e10, 1e10),
    "a quotient of quotients": (lambda x, y: (x / y) / (y / x), 1e200, 1e200, 1.0),
    "constants of a sum": (lambda x, y: (x + 1e308) + 1e308, -1.5e308, 1.0, 5e307),
}


@pytest.mark.parametrize("name", QUOTIENTS)
def test_xla_computes_what_is_written(name):
    build, a, b, expected = QUOTIENTS[name]
    x, y = tg.vector("x"), tg.vector("y")
    got = tg.function([x, y], build(x, y), backend="jax", mode="off", on_unused_input="ignore")([a] * 3, [b] * 3)
    np.testing.assert_allclose(got, [expected] * 3, rtol=1e-15)


def test_a_call_is_made_of_its_parts_unless_there_is_more_to_do() -> None:
    x = tg.vector("x")
    assert executable(tg.function([x], x + 1, backend="jax")).direct is not None
    assert executable(tg.function([x], x + 1, backend=tg.backend("jax", device="cpu"))).direct is None
    assert executable(tg.function([x], x + 1, backend=tg.backend("jax", compile=False))).direct is None


def test_a_quick_call_tells_what_failed_and_leaves_64_bits_as_they_were() -> None:
    x, i = tg.vector("x"), tg.scalar("i", dtype="int64")
    f = tg.function([x, i], [x[i], 2 * x], backend="jax")
    for outside in (False, True):
        with jax.enable_x64(outside):
            for _ in range(2):
                number, doubled = f(np.arange(3.0), 2)
                assert (number, doubled.tolist()) == (2, [0, 2, 4])
                number[...], doubled[0] = 7, 7  # both are the caller's own
            with pytest.raises(tg.errors.BoundsError, match="index 3 is out of bounds"):
                f(np.arange(3.0), 3)
            assert jax.enable_x64.value is outside
    assert len(executable(f).compilations) == executable(f).compiles == 1
