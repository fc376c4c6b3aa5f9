"""Compiled functions called as C functions: by ctypes without the lock of Python, from threads, and by each other."""

import ctypes
import threading

import numpy as np
import pytest
from scipy import stats

import tg

CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
DENSITY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, *(ctypes.c_void_p,) * 4)
BACKENDS = pytest.mark.parametrize("backend", ["c", "numba"])


def called(pointer, arrays):
    """The outputs and what the call says."""
    arrays = [np.ascontiguousarray(a, dtype=n.dtype) for a, n in zip(arrays, pointer.inputs, strict=True)]
    outputs = [np.empty(n.shape, n.dtype) for n in pointer.outputs]
    given, found = ((ctypes.c_void_p * len(v))(*(a.ctypes.data for a in v)) for v in (arrays, outputs))
    return outputs, CALL(pointer.address)(given, found, pointer.data)


def density(n, backend, observed):
    """A log-density of n numbers with observations that are shared, and its gradient."""
    x, data = tg.vector("x"), tg.shared(observed, "data")
    logp = tg.sum(tg.distributions.normal.logpdf(data, x, 2.0)) + tg.sum(tg.distributions.t.logpdf(x, 4.0))
    return tg.function([x], [logp, tg.grad(logp, x)], backend=backend), data, np.linspace(-1, 2, n)


@BACKENDS
def test_a_density_for_samplers_from_threads(backend):
    f, data, x = density(50, backend, np.arange(50.0))
    pointer = f.pointer(x)
    results = {}

    def work(seed):
        point = x + np.random.default_rng(seed).normal(size=50)
        gradient, value = np.empty(50), np.empty(())
        for _ in range(200):
            code = DENSITY(pointer.density)(50, *(a.ctypes.data for a in (point, gradient, value)), pointer.data)
        results[seed] = code, point, value, gradient

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    data.set_value(np.zeros(50))  # the pointer has the values that there were
    for thread in threads:
        thread.join()
    for code, point, value, gradient in results.values():
        right = stats.norm.logpdf(np.arange(50), point, 2).sum() + stats.t.logpdf(point, 4).sum()
        assert code == 0
        np.testing.assert_allclose(value, right, rtol=1e-13)
        np.testing.assert_allclose(gradient, (np.arange(50) - point) / 4 - 5 * point / (4 + point**2), rtol=1e-12)


@BACKENDS
def test_what_a_density_tells_a_sampler(backend):
    x = tg.vector("x")
    value = tg.sum(tg.log(x))
    pointer = tg.function([x], [value, tg.grad(value, x)], backend=backend).pointer(np.ones(3))

    def told(*point):
        point, gradient, value = np.array(point, float), np.empty(3), np.empty(())
        addresses = [a.ctypes.data for a in (point, gradient, value)]
        return DENSITY(pointer.density)(len(point), *addresses, pointer.data)

    assert [told(1, 2, 3), told(1, 2), told(0, 1, 2), told(-1, 1, 2), told(np.inf, 1, 1)] == [0, -1, 3, 4, 4]


@BACKENDS
def test_every_kind_of_input_and_output(backend):
    k, x, m, keep = tg.scalar("k", "int32"), tg.vector("x", "float32"), tg.matrix("m"), tg.vector("keep", "bool")
    outputs = [m @ m.T * k, tg.sum(tg.where(keep, x, 0)), tg.cumsum(m, axis=1), tg.sort(x)[:2]]
    f = tg.function([k, x, m, keep], outputs, backend=backend)
    rng = np.random.default_rng(0)
    given = [np.int32(3), rng.normal(size=7).astype("float32"), rng.normal(size=(3, 4)), rng.integers(0, 2, 7) > 0]
    pointer = f.pointer(*given)
    assert [v.shape for v in pointer.outputs] == [(3, 3), (), (3, 4), (2,)]
    assert pointer.density == 0
    assert "float64[3, 4]" in repr(pointer)
    found, code = called(pointer, given)
    assert code == 0
    for a, b in zip(found, f(*given), strict=True):
        np.testing.assert_array_equal(a, b)


@BACKENDS
def test_a_check_that_fails_and_loops_are_told(backend):
    x = tg.vector("x")
    walked, _ = tg.scan(lambda c, v: (c * 0.5 + tg.assert_(v, v > 0), None), 0.0, x)  # noqa: PT009
    pointer = tg.function([x], walked, backend=backend).pointer(np.ones(1000))
    (found,), code = called(pointer, [np.ones(1000)])
    assert code == 0
    np.testing.assert_allclose(found, 2.0)
    assert called(pointer, [np.linspace(1, -1, 1000)])[1] != 0


@BACKENDS
def test_lengths_that_the_program_finds(backend):
    n, x = tg.scalar("n", "int64"), tg.vector("x")
    f = tg.function([n, x], tg.arange(n) * tg.sum(x), backend=backend)
    pointer = f.pointer(5, [1.0, 2.0])
    (found,), code = called(pointer, [np.int64(5), np.array([1.0, 2.0])])
    assert code == 0
    np.testing.assert_array_equal(found, np.arange(5) * 3.0)


def test_what_has_no_pointer():
    x, s = tg.vector("x"), tg.shared(0.0, "s")
    with pytest.raises(tg.InputError, match="pointer: backend 'perform' has no machine code"):
        tg.function([x], tg.exp(x), backend="perform").pointer([1.0])
    with pytest.raises(tg.InputError, match="updates s, needed a function without updates"):
        tg.function([x], tg.exp(x), updates={s: s + 1}).pointer([1.0])
    with pytest.raises(tg.ShapeError):
        tg.function([x], tg.exp(x)).pointer([[1.0]])
