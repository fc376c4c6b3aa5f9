"""Quotients that are rounded to whole numbers: those of NumPy, also where half-way decides."""

from __future__ import annotations

import numpy as np
import pytest

import tg


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("name", ["rint", "floor", "ceil", "trunc"])
def test_a_divisor_that_elements_share_rounds_as_by_itself(backend, name):
    x, scale = tg.vector("x", dtype="float32"), tg.scalar("scale", dtype="float32")
    f = tg.function([x, scale], getattr(tg, name)(x / scale), backend=backend)
    step = np.float32(5) / np.float32(255)
    halves = (np.arange(-2000, 2000, dtype=np.float32) / 2) * step
    np.testing.assert_array_equal(f(halves, step), getattr(np, name)(halves / step))
