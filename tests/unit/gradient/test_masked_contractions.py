"""Derivatives of matrix products: what is 0 by selection in one factor meets nothing of the other, infinite or not.

Oracles are closed forms, and differences of NumPy's eigenvalues.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tg
from tg import plugin

BACKENDS = tuple(one.name for one in plugin.registry().backends() if one.is_available)
X = np.array([[1.0, 2.0], [3.0, 5.0]])
LOGARITHMS_OF = np.array([[2.0, 0.0], [3.0, 1.0]])  # the second column's first logarithm is infinite
SLOPES = np.array([[1.0, -2.0], [0.5, 4.0]])


def evaluated(backend: str, inputs: list[tg.Variable], outputs: list[Any], *values: np.ndarray) -> list[np.ndarray]:
    return tg.function(inputs, outputs, backend=backend, on_unused_input="ignore")(*values)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("batch", [(), (2,)], ids=["one", "batch"])
def test_an_infinite_column_that_nothing_reads_has_no_derivative(backend: str, batch: tuple[int, ...]) -> None:
    x, t = tg.tensor("x", "float64", (*batch, 2, 2)), tg.tensor("t", "float64", (*batch, 2, 2))
    y = tg.matrix("y")
    cost = tg.sum((x @ tg.log(y))[..., 0])
    values = np.broadcast_to(X, (*batch, 2, 2)), LOGARITHMS_OF, np.broadcast_to(SLOPES, (*batch, 2, 2))
    slope_x, slope_y, along = evaluated(
        backend, [x, y, t], [tg.grad(cost, x), tg.grad(cost, y), tg.jvp(cost, x, t)], *values
    )
    expected = np.broadcast_to(np.log([2.0, 3.0]), (*batch, 2, 2))
    np.testing.assert_allclose(slope_x, expected, rtol=1e-14)
    np.testing.assert_allclose(along, (expected * SLOPES).sum(), rtol=1e-14)
    count = np.prod(batch, dtype=int)
    np.testing.assert_allclose(slope_y, count * np.array([[2.0, 0.0], [7 / 3, 0.0]]), rtol=1e-14)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_infinite_slope_of_what_is_0_by_selection_has_no_part(backend: str) -> None:
    x, y, t = tg.matrix("x"), tg.matrix("y"), tg.matrix("t")
    roots = tg.sqrt(x @ tg.where(tg.arange(2) < 1, y, 0.0))  # its second column is 0 whatever x is
    cost = tg.sum(roots)
    first = tg.grad(cost, x)
    slope, along, second = evaluated(
        backend, [x, y, t], [first, tg.jvp(cost, x, t), tg.grad(tg.sum(first * t), x)], X, np.abs(SLOPES), SLOPES
    )
    y0 = np.abs(SLOPES)[:, 0]
    inner = X @ y0
    expected = 0.5 * y0 / np.sqrt(inner)[:, None]
    np.testing.assert_allclose(slope, expected, rtol=1e-14)
    np.testing.assert_allclose(along, (expected * SLOPES).sum(), rtol=1e-14)
    np.testing.assert_allclose(second, -0.25 * ((SLOPES @ y0) * inner**-1.5)[:, None] * y0, rtol=1e-13)


@pytest.mark.parametrize("what", ["largest eigenvalue", "square of the spectral norm"])
def test_derivatives_of_a_simple_value_beside_equal_ones_agree_in_all_modes(what: str) -> None:
    a, t = tg.matrix("a"), tg.matrix("t")
    at = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    direction = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0], [0.5, 0.2, 0.1]])
    if what.startswith("largest"):
        cost = tg.max(tg.linalg.eigvalsh(a + a.T))

        def slope_at(m: np.ndarray) -> np.ndarray:
            v = np.linalg.eigh(m + m.T)[1][:, -1]
            return 2 * np.outer(v, v)
    else:
        cost = tg.linalg.norm(a, 2) ** 2

        def slope_at(m: np.ndarray) -> np.ndarray:
            u, s, vh = np.linalg.svd(m)
            return 2 * s[0] * np.outer(u[:, 0], vh[0])

    first = tg.grad(cost, a)
    modes = [tg.jvp(first, a, t), tg.grad(tg.sum(first * t), a), tg.grad(tg.jvp(cost, a, t), a)]
    step = 1e-5
    expected = (slope_at(at + step * direction) - slope_at(at - step * direction)) / (2 * step)
    for found in evaluated("perform", [a, t], modes, at, direction):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)


def test_a_matrix_that_many_products_share_opposite_of_selected_columns():
    """What is left of a condition along no axis is a scalar, and nothing has to be put together for the products."""
    x, p, q = tg.tensor("x", shape=(2, 3, 4)), tg.matrix("p", dtype="bool"), tg.matrix("q", dtype="bool")
    s = tg.scalar("s")
    first = tg.swapaxes(tg.matmul(x, tg.cast(p, "float64") / s), -1, -2)
    y = tg.matmul(first, tg.cast(q, "float64") / s)
    f = tg.function([x, p, q, s], tg.grad(tg.sum(y**2), x), backend="perform")
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(2, 3, 4)), rng.random((4, 5)) < 0.5, rng.random((3, 2)) < 0.5
    m, n = b.astype(float), c.astype(float)
    wanted = np.swapaxes(2 * (np.swapaxes(a @ m, 1, 2) @ n) @ n.T, 1, 2) @ m.T
    np.testing.assert_allclose(f(a, b, c, 2.0), wanted / 16, rtol=1e-13, atol=1e-13)
