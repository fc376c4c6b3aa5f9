"""Tables and encodings of positions against PyTorch and published formulas; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tg
from tg.errors import BoundsError, DtypeError, InputError, ShapeError

DRAWS = np.random.default_rng(3)


@pytest.mark.parametrize("padding", [None, 2, -1])
def test_gradients_of_an_embedding_are_those_of_pytorch(padding: int | None) -> None:
    torch = pytest.importorskip("torch")
    i, values, factors = DRAWS.integers(0, 5, (2, 6)), DRAWS.normal(size=(5, 3)), DRAWS.normal(size=(2, 6, 3))
    w = tg.matrix("w")
    y = tg.nn.embedding(i, w, padding_idx=padding)
    found = tg.function([w], [y, tg.grad(tg.sum(tg.sin(y) * factors), w)], backend="perform")(values)
    given = torch.tensor(values, requires_grad=True)
    of_torch = torch.nn.functional.embedding(torch.tensor(i), given, padding_idx=padding)
    (torch.sin(of_torch) * torch.tensor(factors)).sum().backward()
    np.testing.assert_array_equal(found[0], of_torch.detach().numpy())
    np.testing.assert_allclose(found[1], given.grad.numpy(), rtol=0, atol=1e-15)


def test_a_rotation_keeps_scores_of_positions_that_are_as_far_apart() -> None:
    q, k = DRAWS.normal(size=(2, 8))
    for interleaved in (False, True):
        scores = [
            float(
                tg.vecdot(
                    tg.nn.rotary(q, a, interleaved=interleaved), tg.nn.rotary(k, b, interleaved=interleaved)
                ).eval()
            )
            for a, b in ((3, 1), (10, 8))
        ]
        assert abs(scores[0] - scores[1]) < 1e-13


def test_both_orders_of_a_rotation_are_one_but_for_the_order() -> None:
    x = DRAWS.normal(size=(5, 6))
    order = [0, 2, 4, 1, 3, 5]
    halves = np.asarray(tg.nn.rotary(x[:, order]).eval())
    np.testing.assert_array_equal(halves, np.asarray(tg.nn.rotary(x, interleaved=True).eval())[:, order])


def test_slopes_are_those_that_were_published() -> None:
    assert tg.nn.alibi_slopes(8).eval().tolist() == [2.0**-k for k in range(1, 9)]
    assert tg.nn.alibi_slopes(3, "float32").eval().tolist() == [2.0**-4, 2.0**-8, 2.0**-2]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (
            lambda: tg.nn.embedding([0, 7], np.zeros((3, 2))),
            BoundsError,
            "embedding: index 7 is outside of the table: needed one from 0 to below 3",
        ),
        (lambda: tg.nn.embedding([0.5], np.zeros((3, 2))), DtypeError, "embedding: indices: found float64[1]"),
        (lambda: tg.nn.embedding([0], np.zeros(3)), ShapeError, "embedding: weight: found float64[3], needed two axes"),
        (
            lambda: tg.nn.embedding([0], np.zeros((3, 2)), 3),
            BoundsError,
            "embedding: padding_idx: found 3, needed one of 3 rows",
        ),
        (lambda: tg.nn.rotary(np.zeros(4)), ShapeError, "rotary: x: found float64[4], needed at least 2 axes"),
        (
            lambda: tg.nn.rotary(np.zeros((2, 5))),
            InputError,
            "rotary: x: found float64[2, 5], needed a last axis of even length, or features=",
        ),
        (
            lambda: tg.nn.rotary(np.zeros((2, 4)), features=6),
            InputError,
            "rotary: features: found 6, needed at most 4, the length of the last axis",
        ),
        (
            lambda: tg.nn.sinusoidal_encoding([1], 3),
            InputError,
            "sinusoidal_encoding: features: found 3, needed an even number",
        ),
        (lambda: tg.nn.alibi_slopes(0), InputError, "alibi_slopes: heads: found 0, needed an integer above 0"),
    ],
)
def test_what_is_refused(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert text in str(caught.value)
