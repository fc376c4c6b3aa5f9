"""Losses of numbers and distances: PyTorch's values and derivatives, hard points, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from torch.nn import functional as peer

import tg
from tests.unit.ops.nn.peers import assert_as_torch
from tg.errors import DomainError, DtypeError, InputError, ShapeError

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(0, 2, (2, 5, 4))
SIGNS = np.where(RANDOM.uniform(size=(5, 4)) < 0.5, -1, 1)
V = RANDOM.uniform(0.1, 2, (5, 4))
COUNTS = RANDOM.poisson(3, (5, 4))


@pytest.mark.parametrize(
    ("ours", "theirs", "operands"),
    [
        (tg.nn.mse_loss, peer.mse_loss, (X, Y)),
        (lambda x, y: tg.nn.huber_loss(x, y, 1.5), lambda x, y: peer.huber_loss(x, y, delta=1.5), (X, Y)),
        (lambda x, y: tg.nn.smooth_l1_loss(x, y, 1.5), lambda x, y: peer.smooth_l1_loss(x, y, beta=1.5), (X, Y)),
        (tg.nn.gaussian_nll_loss, peer.gaussian_nll_loss, (X, Y, V)),
        (
            lambda x, y, v: tg.nn.gaussian_nll_loss(x, y, v, True),
            lambda x, y, v: peer.gaussian_nll_loss(x, y, v, True),
            (X, Y, V[:, 0]),
        ),
        (
            lambda x: tg.nn.poisson_nll_loss(x, COUNTS, full=True),
            lambda x: peer.poisson_nll_loss(x, x.new_tensor(COUNTS), full=True),
            (X,),
        ),
        (
            lambda x, y: tg.nn.poisson_nll_loss(x, y, False),
            lambda x, y: peer.poisson_nll_loss(x, y, log_input=False),
            (V, V.T.reshape(5, 4)),
        ),
        (tg.nn.cosine_similarity, peer.cosine_similarity, (X, Y)),
        (
            lambda x, y: tg.nn.cosine_embedding_loss(x, y, SIGNS[:, 0], 0.2),
            lambda x, y: peer.cosine_embedding_loss(x, y, x.new_tensor(SIGNS[:, 0]), 0.2),
            (X, Y),
        ),
        (tg.nn.triplet_margin_loss, peer.triplet_margin_loss, (X, Y, Y[::-1].copy())),
    ],
)
def test_values_and_derivatives_are_those_of_torch(ours, theirs, operands):
    assert_as_torch(ours, theirs, *operands)


@pytest.mark.parametrize(
    ("ours", "theirs", "operands"),
    [
        (tg.nn.l1_loss, peer.l1_loss, (X, Y)),
        (lambda x, y: tg.nn.smooth_l1_loss(x, y, 0), lambda x, y: peer.smooth_l1_loss(x, y, beta=0), (X, Y)),
        (tg.nn.hinge_embedding_loss, peer.hinge_embedding_loss, (X, SIGNS)),
        (
            lambda x, y: tg.nn.margin_ranking_loss(x, y, SIGNS, 0.5),
            lambda x, y: peer.margin_ranking_loss(x, y, x.new_tensor(SIGNS), 0.5),
            (X, Y),
        ),
        (
            lambda x, y, z: tg.nn.triplet_margin_loss(x, y, z, 2.0, p=3, swap=True),
            lambda x, y, z: peer.triplet_margin_loss(x, y, z, 2.0, p=3, swap=True),
            (X, Y, Y[::-1].copy()),
        ),
    ],
)
def test_values_and_slopes_of_pieces_are_those_of_torch(ours, theirs, operands):
    assert_as_torch(ours, theirs, *operands, order=1)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss"])
def test_reductions_are_those_of_torch(name, reduction):
    assert_as_torch(
        lambda x, y: getattr(tg.nn, name)(x, y, reduction=reduction),
        lambda x, y: getattr(peer, name)(x, y, reduction=reduction),
        X,
        Y,
        order=1,
    )


def test_hinge_loss_is_that_of_scores_and_signs():
    found = tg.nn.hinge_loss(tg.constant(X), SIGNS, reduction="none").eval()
    np.testing.assert_allclose(found, np.maximum(1 - X * SIGNS, 0))


def test_vectors_of_zeros_have_a_cosine_of_0():
    assert_as_torch(tg.nn.cosine_similarity, peer.cosine_similarity, np.zeros((1, 2)), np.ones((1, 2)), order=1)


def test_scalars_go_with_every_shape_and_integers_are_float64():
    x = tg.vector("x", "int64")
    loss = tg.nn.mse_loss(x, 1)
    assert loss.type.dtype == "float64"
    assert loss.eval({x: [1, 3]}) == 2


def test_what_is_refused():
    x, y, m = tg.vector("x"), tg.vector("y"), tg.matrix("m")
    with pytest.raises(ShapeError, match=r"mse_loss: shapes differ: found float64\[\?\] and float64\[\?, \?\]"):
        tg.nn.mse_loss(x, m)
    with pytest.raises(ShapeError, match="mse_loss: axis 0: lengths differ: 1 and 2"):
        tg.nn.mse_loss(x, y).eval({x: [1.0, 2.0], y: [1.0]})
    with pytest.raises(InputError, match="l1_loss: reduction: found 'avg', needed one of mean, sum, none"):
        tg.nn.l1_loss(x, y, "avg")
    with pytest.raises(DomainError, match="huber_loss: delta: found 0, needed a positive number"):
        tg.nn.huber_loss(x, y, 0)
    with pytest.raises(InputError, match="huber_loss: delta: found 'sum', needed a positive number"):
        tg.nn.huber_loss(x, y, "sum")
    with pytest.raises(DomainError, match="smooth_l1_loss: beta: found -1, needed a number of at least 0"):
        tg.nn.smooth_l1_loss(x, y, -1)
    with pytest.raises(DomainError, match="gaussian_nll_loss: var: found a negative number, needed variances"):
        tg.nn.gaussian_nll_loss(x, y, [-1.0]).eval({x: [1.0], y: [1.0]})
    with pytest.raises(ShapeError, match=r"cosine_embedding_loss: label: shapes differ"):
        tg.nn.cosine_embedding_loss(m, m, m)


def test_classes_along_another_axis_are_told():
    logits, labels = tg.tensor(shape=(2, 12, 50)), tg.tensor(shape=(2, 12), dtype="int64")
    with pytest.raises(ShapeError, match="axis=-1 takes the last one"):
        tg.nn.cross_entropy(logits, labels)
    assert tg.nn.cross_entropy(logits, labels, axis=-1).type.shape == ()
    with pytest.raises(DtypeError, match="needed integers for labels, or probabilities of the shape of"):
        tg.nn.cross_entropy(tg.matrix("x"), tg.vector("y"))
