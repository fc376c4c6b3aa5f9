"""`tg.fft`: lengths known at run time only, derivatives beside JAX's, batches, and what is refused."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tg
from tg.ops.fourier import InverseRealFourier, RealFourier

RNG = np.random.default_rng(7)
X = RNG.normal(size=(3, 10))
Z = X + 1j * RNG.normal(size=(3, 10))
NORMS = (None, "ortho", "forward")
NATIVE = ("perform", "c", "numba")


@pytest.fixture(autouse=True, scope="module")
def _double():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("backend", NATIVE)
def test_the_number_of_points_comes_with_the_call(backend):
    z, n = tg.matrix("z", dtype="complex128"), tg.scalar("n", dtype="int64")
    f = tg.function([z, n], [tg.fft.fft(z, n), tg.fft.irfft(z, n), tg.fft.rfft(tg.real(z), n)], backend=backend)
    for points in (1, 2, 7, 10, 13):
        for found, expected in zip(
            f(Z, points), [np.fft.fft(Z, points), np.fft.irfft(Z, points), np.fft.rfft(X, points)], strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("backend", NATIVE)
def test_lengths_known_at_run_time_only_decide_the_parity(backend):
    x = tg.matrix("x")
    weights = tg.cos(tg.arange(x.shape[1] // 2 + 1) * 1.0)
    cost = tg.sum(tg.abs(tg.fft.rfft(x)) ** 2 * weights)
    f = tg.function([x], tg.grad(cost, x), backend=backend)
    for n in (1, 9, 10):
        part = X[:, :n].copy()
        expected = jax.grad(
            lambda v: (jnp.abs(jnp.fft.rfft(v)) ** 2 * jnp.cos(jnp.arange(v.shape[1] // 2 + 1.0))).sum()
        )
        np.testing.assert_allclose(f(part), expected(part), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [8, 11])
def test_derivatives_are_those_of_jax(n, norm):
    x, z = tg.matrix("x"), tg.matrix("z", dtype="complex128")
    weights = np.cos(np.arange(n // 2 + 1))
    cases = [
        (x, X, lambda m, v: m.sum(m.abs(m.fft.rfft(v, n, norm=norm)) ** 2 * weights)),
        (x, X, lambda m, v: m.sum(m.abs(m.fft.fft(v, n, axis=0, norm=norm)) ** 3)),
        (z, Z, lambda m, v: m.sum(m.fft.irfft(v, n, norm=norm) ** 3)),
        (z, Z, lambda m, v: m.sum(m.abs(m.fft.ifft(v, n, norm=norm)) ** 3)),
        (z, Z, lambda m, v: m.sum(m.fft.hfft(v, n, norm=norm) ** 3)),
        (z, Z, lambda m, v: m.sum(m.abs(m.fft.fft2(v, (n, 4), norm=norm)) ** 3)),
    ]
    for v, value, cost in cases:
        found = tg.grad(cost(tg, v), v).eval({v: value})
        expected = np.conj(jax.grad(lambda u, cost=cost: cost(jnp, u))(value))
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_tangents_and_second_derivatives():
    x, dx = tg.vector("x"), tg.vector("dx")
    tangent = tg.jvp(tg.fft.irfft(tg.fft.rfft(x) ** 2, 10), x, dx).eval({x: X[0], dx: X[1]})
    _, expected = jax.jvp(lambda v: jnp.fft.irfft(jnp.fft.rfft(v) ** 2, 10), (X[0],), (X[1],))
    np.testing.assert_allclose(tangent, expected, rtol=1e-12, atol=1e-12)
    hessian = tg.hessian(tg.sum(tg.abs(tg.fft.rfft(x)) ** 3), x).eval({x: X[0]})
    expected = jax.hessian(lambda v: (jnp.abs(jnp.fft.rfft(v)) ** 3).sum())(X[0])
    np.testing.assert_allclose(hessian, expected, rtol=1e-9, atol=1e-9)


def test_a_batch_of_transforms_is_the_transform_of_a_batch():
    x = tg.matrix("x")
    found = tg.vmap(lambda row: tg.fft.irfft(tg.fft.rfft(row) * 2, 10))(x).eval({x: X})
    np.testing.assert_allclose(found, 2 * X, rtol=1e-13, atol=1e-13)


def test_functions_of_numpy_on_variables_are_those_of_tg():
    x = tg.vector("x")
    np.testing.assert_allclose(np.fft.irfft(np.fft.rfft(x, 9), 9).eval({x: X[0]}), X[0, :9], rtol=1e-13)


def test_halves_and_integers_are_transformed_in_float32_and_float64():
    for dtype, wide in (
        ("float16", "complex64"),
        ("bfloat16", "complex64"),
        ("int8", "complex128"),
        ("bool", "complex128"),
    ):
        assert tg.fft.fft(tg.vector(dtype=dtype)).type.dtype == wide
        assert tg.fft.rfft(tg.vector(dtype=dtype)).type.dtype == wide


def test_programs_with_transforms_are_written_and_read():
    z, n = tg.matrix("z", dtype="complex128"), tg.scalar("n", dtype="int64")
    text = tg.to_text(tg.function([z, n], tg.fft.irfft(tg.fft.ifft(z, norm="ortho"), n)))
    assert "InverseRealFourier" in text
    graph = tg.parse(text)
    assert {type(node.op) for node in graph.nodes} >= {InverseRealFourier}


def test_what_is_refused():
    x = tg.vector("x")
    with pytest.raises(tg.InputError, match="fft: norm: found 'unit', needed one of 'backward', 'ortho', 'forward'"):
        tg.fft.fft(x, norm="unit")
    with pytest.raises(tg.ShapeError, match="rfft: found 0 points, needed at least 1"):
        tg.fft.rfft(x, 0)
    with pytest.raises(tg.DtypeError, match=r"rfft: found complex128\[\?\], needed real numbers\n.*tg.fft.fft takes"):
        tg.fft.rfft(tg.vector(dtype="complex128"))
    with pytest.raises(tg.InputError, match="fftn: found 1 lengths in s, needed 2, one for each axis"):
        tg.fft.fftn(tg.matrix(), (3,), (0, 1))
    with pytest.raises(tg.ShapeError, match="frequencies"):
        InverseRealFourier(10)(tg.vector(shape=(5,), dtype="complex128"))
    with pytest.raises(tg.ShapeError, match="rfft: found 0 points, needed at least 1"):
        tg.function([x], RealFourier()(x))(np.zeros(0))
