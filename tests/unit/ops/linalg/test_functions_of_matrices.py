"""Functions of symmetric matrices under `tg.vmap`, against SciPy's derivative of the exponential."""

import numpy as np
from scipy.linalg import expm_frechet

import tg

EQUAL = np.array([[2.0, 0.3, 0.0], [0.3, 2.0, 0.0], [0.0, 0.0, 2.3]])  # of whose eigenvalues two are equal
WEIGHTS = np.arange(9.0).reshape(3, 3)


def gradient(t, a):
    """Of the weighted sum of exp(-t a)."""
    w, v = tg.linalg.eigh((a + a.mT) / 2)
    return tg.grad(tg.sum(((v * tg.exp(-t * w)[..., None, :]) @ v.mT) * WEIGHTS), a)


def expected(t, a):
    return -t * expm_frechet(-t * a, (WEIGHTS + WEIGHTS.T) / 2, compute_expm=False)


def test_a_batch_of_parameters_of_one_matrix():
    t, a = tg.vector("t"), tg.matrix("a")
    f = tg.function([t, a], tg.vmap(gradient, in_axes=(0, None))(t, a))
    times = np.array([0.4, 0.9])
    np.testing.assert_allclose(f(times, EQUAL), [expected(one, EQUAL) for one in times], rtol=1e-13)


def test_a_batch_of_matrices_and_a_direction_beside_one_parameter():
    t, a = tg.scalar("t"), tg.tensor("a", "float64", (None, 3, 3))
    second = tg.vmap(lambda m: tg.grad(tg.sum(gradient(t, m) * WEIGHTS), m))(a)
    f = tg.function([t, a], [tg.vmap(lambda m: gradient(t, m))(a), second])
    matrices = np.stack([EQUAL, 2 * EQUAL])
    first, along = f(0.4, matrices)
    np.testing.assert_allclose(first, [expected(0.4, one) for one in matrices], rtol=1e-13)
    step, h = 1e-5, (WEIGHTS + WEIGHTS.T) / 2
    slopes = [(expected(0.4, one + step * h) - expected(0.4, one - step * h)) / (2 * step) for one in matrices]
    np.testing.assert_allclose(along, slopes, rtol=1e-7)
