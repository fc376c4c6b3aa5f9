"""Scalars of MLX that are kept."""

from __future__ import annotations

import mlx.core as mx
import numpy as np

import tg
from tg_mlx.arrays import scalar


def test_zeros_of_both_signs_are_kept_apart():
    for dtype in (mx.float32, mx.float16):
        zeros = [scalar(v, dtype) for v in (0.0, -0.0, 0.0, -0.0)]
        assert [bool(np.signbit(np.array(z))) for z in zeros] == [False, True, False, True]
    part = np.array(scalar(complex(0.0, -0.0), mx.complex64))
    assert np.signbit(part.imag)


def test_the_sign_of_a_complex_zero_is_zero():
    xp, x = tg.eager("mlx"), np.array([0, 3 + 4j, -2j], "complex64")
    np.testing.assert_allclose(np.asarray(xp.sign(xp.asarray(x))), np.sign(x), rtol=1e-6)
