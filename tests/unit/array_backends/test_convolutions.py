"""Weights that are not finite where windows reach beyond images: NaN or nothing, and never a number."""

from __future__ import annotations

import numpy as np
import pytest

import tg

SHAPES = [((1, 1, 5, 5), (1, 1, 3, 3)), ((2, 3, 9, 9), (4, 3, 3, 3))]


@pytest.mark.parametrize(("images", "kernel"), SHAPES)
def test_an_infinite_weight_meets_zeros_around_images(backend, images, kernel) -> None:
    x, w = tg.tensor("x", "float32", images), tg.tensor("w", "float32", kernel)
    f = tg.function([x, w], tg.nn.conv2d(x, w, padding=1), backend=backend)
    y = f(np.ones(images, np.float32), np.full(kernel, np.inf, np.float32))
    assert (y[..., 1:-1, 1:-1] == np.inf).all()
    assert (np.isnan(y) | (y == np.inf)).all()


def test_an_infinite_weight_meets_zeros_between_images(backend) -> None:
    x, w = tg.tensor("x", "float32", (1, 1, 3, 3)), tg.tensor("w", "float32", (1, 1, 3, 3))
    f = tg.function([x, w], tg.nn.conv_transpose2d(x, w, stride=2), backend=backend)
    y = f(np.ones((1, 1, 3, 3), np.float32), np.full((1, 1, 3, 3), np.inf, np.float32))
    assert (np.isnan(y) | (y == np.inf)).all()
