"""Gradients through parts of real numbers that complex ones were made: JAX's, conjugated."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tg

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4))
REAL = {
    "size": lambda m, z: m.abs(z),
    "real": lambda m, z: m.real(z),
    "imaginary": lambda m, z: m.imag(z),
    "angle": lambda m, z: m.angle(z),
    "power": lambda m, z: m.abs(z) ** 2,
    "product": lambda m, z: m.real(m.conj(z) * z),
    "transform": lambda m, z: m.abs(m.fft.fft(z)),
}
PARTS = {
    "slice": lambda m, v: v[1:, :2],
    "row": lambda m, v: v[1],
    "reversed": lambda m, v: v[:, ::-1][:, :2],
    "taken": lambda m, v: m.take(v, np.array([0, 2]), axis=0),
    "positive": lambda m, v: m.where(v > 0.1, v, 0.0),
    "masked": lambda m, v: m.where(np.array([True, False, True, False]), v, 0.0),
    "diagonal": lambda m, v: m.diagonal(v),
    "triangle": lambda m, v: m.triu(v),
    "largest": lambda m, v: m.max(v, axis=1),
    "sorted": lambda m, v: m.sort(v, axis=1)[:, 1:],
    "joined": lambda m, v: m.concatenate([v, v[:1] * 2])[1:],
    "multiplied": lambda m, v: v.at[1:, 1:-1].multiply(2),
    "replaced": lambda m, v: v.at[0].set(3.0),
    "padded": lambda m, v: m.pad(v, ((1, 1), (0, 2)))[1:3],
    "running": lambda m, v: m.cumsum(v, axis=1)[:, :2],
    "limited": lambda m, v: m.clip(v, -0.5, 0.5),
    "products": lambda m, v: m.prod(v, axis=0)[1:],
    "matrix": lambda m, v: (v @ v.T)[0],
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("real", REAL)
def test_gradients_of_parts_are_those_of_jax(real, part) -> None:
    def cost(m, z):
        return m.sum(m.sin(PARTS[part](m, REAL[real](m, z))))

    z = tg.matrix("z", "complex128")
    slope = tg.function([z], tg.grad(cost(tg, z), z), backend="perform")(Z)
    with jax.enable_x64(True):
        want = jax.grad(lambda z: cost(jnp, z))(jnp.asarray(Z))
    np.testing.assert_allclose(slope, np.conj(want), rtol=1e-10, atol=1e-12)
