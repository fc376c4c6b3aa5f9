"""The rewrites for MLX: exponentials that functions share."""

from __future__ import annotations

import numpy as np
import pytest

import tg


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softplus_and_sigmoid_of_what_is_not_positive_share_an_exponential(dtype) -> None:
    x = tg.vector("x", dtype)
    z = -abs(x)
    f = tg.function([x], [tg.softplus(z), tg.sigmoid(z)], backend="mlx")
    source = f.programs.main.executable.source()
    assert source.count(" exp(") == 1
    assert "sigmoid(" not in source
    a = np.concatenate([np.linspace(-80, 80, 3001), [0.0, -0.0, np.inf, -np.inf, np.nan]]).astype(dtype)
    wide = -abs(a.astype(np.longdouble))
    with np.errstate(all="ignore"):
        wanted = np.log1p(np.exp(wide)), np.exp(wide) / (1 + np.exp(wide))
    for found, want in zip(f(a), wanted, strict=True):
        np.testing.assert_allclose(found, want.astype(dtype), rtol=4 * np.finfo(dtype).eps)


def test_of_any_number_each_is_computed_by_itself() -> None:
    x = tg.vector("x")
    f = tg.function([x], [tg.softplus(x), tg.sigmoid(x)], backend="mlx")
    found = f(np.array([-1000.0, 0.0, 1000.0]))
    np.testing.assert_allclose(found[0], [0.0, np.log(2), 1000.0], rtol=1e-15)
    np.testing.assert_allclose(found[1], [0.0, 0.5, 1.0], rtol=1e-15)
