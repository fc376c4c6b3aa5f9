"""Losses of classes: PyTorch's values and derivatives, weights, ignored labels, hard points, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as peer

import tg
from tests.unit.ops.nn.peers import assert_as_torch
from tg.errors import BoundsError, DomainError, DtypeError, InputError, ShapeError

pytestmark = pytest.mark.filterwarnings("ignore:reduction. 'mean' divides:UserWarning")  # of torch's kl_div

RANDOM = np.random.default_rng(0)
X, IMAGES = RANDOM.normal(0, 2, (5, 4)), RANDOM.normal(0, 2, (3, 4, 6))
P, T = RANDOM.uniform(0.05, 0.95, (2, 5, 4))
LABELS = np.array([0, 3, -100, 1, 2])
PIXELS = np.where(RANDOM.uniform(size=(3, 6)) < 0.2, -100, RANDOM.integers(0, 4, (3, 6)))
SHARES = RANDOM.dirichlet(np.ones(4), (3, 6)).transpose(0, 2, 1)
W, W2 = RANDOM.uniform(0.5, 2, 4), RANDOM.uniform(0.5, 2, (5, 4))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(
    ("name", "operands", "options"),
    [
        ("cross_entropy", (X, LABELS), {}),
        ("cross_entropy", (X, LABELS), {"weight": W, "label_smoothing": 0.1}),
        ("cross_entropy", (X, LABELS), {"label_smoothing": 0.3}),
        ("cross_entropy", (X, np.abs(LABELS) % 4), {"ignore_index": 2, "weight": W}),
        ("cross_entropy", (IMAGES, PIXELS), {"weight": W}),
        ("cross_entropy", (IMAGES, SHARES), {"weight": W, "label_smoothing": 0.1}),
        ("cross_entropy", (X[0], np.array(2)), {}),
        ("nll_loss", (IMAGES, PIXELS), {"weight": W}),
        ("kl_div", (X, T), {}),
        ("kl_div", (X, X.T.reshape(5, 4)), {"log_target": True}),
        ("binary_cross_entropy_with_logits", (X, T), {"weight": W2, "pos_weight": W}),
    ],
)
def test_values_and_derivatives_are_those_of_torch(name, operands, options, reduction):
    known = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    assert_as_torch(
        lambda *args: getattr(tg.nn, name)(*args, **options, reduction=reduction),
        lambda *args: getattr(peer, name)(*args, **known, reduction=reduction),
        *operands,
        order=2 if reduction == "mean" else 0,
    )


def test_other_forms_are_those_of_torch():
    y = torch.tensor(T)
    assert_as_torch(lambda p: tg.nn.binary_cross_entropy(p, T), lambda p: peer.binary_cross_entropy(p, y), P, order=1)
    assert_as_torch(
        lambda x, y: tg.nn.kl_div(x, y, reduction="batchmean"),
        lambda x, y: peer.kl_div(x, y, reduction="batchmean"),
        X,
        T,
    )
    x = tg.matrix("x")
    last = tg.nn.cross_entropy(x.mT, np.abs(LABELS) % 4, axis=0)
    first = tg.nn.cross_entropy(x, np.abs(LABELS) % 4)
    np.testing.assert_allclose(last.eval({x: X}), first.eval({x: X}))


@pytest.mark.parametrize(("alpha", "gamma"), [(0.25, 2.0), (-1, 1.5), (0.5, 0.0), (0.3, 0.5)])
def test_focal_loss_is_that_of_torchvision(alpha, gamma):
    y = (T > 0.5).astype(float)

    def theirs(x):
        targets = torch.tensor(y)
        p = torch.sigmoid(x)
        right = p * targets + (1 - p) * (1 - targets)
        losses = peer.binary_cross_entropy_with_logits(x, targets, reduction="none") * (1 - right) ** gamma
        return losses * (alpha * targets + (1 - alpha) * (1 - targets)) if alpha >= 0 else losses

    assert_as_torch(lambda x: tg.nn.sigmoid_focal_loss(x, y, alpha, gamma), theirs, X)


def test_dice_loss_of_a_mask_and_of_nothing():
    p, y = tg.matrix("p"), tg.matrix("y")
    found = tg.nn.dice_loss(p, y, reduction="none").eval({p: [[1.0, 0.0], [0.0, 0.0]], y: [[1.0, 1.0], [0.0, 0.0]]})
    np.testing.assert_allclose(found, [0.25, 0.0])


def test_gradients_of_impossible_classes_are_limits():
    x, y = tg.matrix("x"), tg.matrix("y")
    loss = tg.nn.cross_entropy(x, y, reduction="sum")
    at = {x: [[-np.inf, 1.0, 1.0]], y: [[0.0, 0.5, 0.5]]}
    np.testing.assert_allclose(tg.grad(loss, x).eval(at), [[0, 0, 0]], atol=1e-15)
    np.testing.assert_allclose(tg.grad(loss, y).eval(at), [[np.nan, np.log(2), np.log(2)]])  # -log(0) has none
    second = tg.grad(tg.sum(tg.grad(loss, x)[0, 1:]), x)
    assert np.isfinite(second.eval(at)).all()


def test_a_large_logit_takes_no_digits():
    x = tg.matrix("x", "float32")
    found = tg.nn.cross_entropy(x, [0]).eval({x: np.array([[10005, 10000]], "float32")})
    np.testing.assert_allclose(found, np.log1p(np.exp(-5.0)), rtol=1e-6)


def test_the_mean_of_nothing_is_nan():
    x, labels = tg.matrix("x"), tg.vector("labels", "int64")
    loss = tg.nn.cross_entropy(x, labels)
    assert np.isnan(loss.eval({x: X[:2], labels: [-100, -100]}))
    assert np.isnan(loss.eval({x: X[:0], labels: np.zeros(0, int)}))
    np.testing.assert_array_equal(tg.grad(loss, x).eval({x: X[:2], labels: [-100, -100]}), 0)


def test_labels_that_are_no_classes():
    x, labels = tg.matrix("x"), tg.vector("labels", "int32")
    loss = tg.nn.cross_entropy(x, labels)
    with pytest.raises(BoundsError, match=r"cross_entropy: labels: found 4, needed one in \[0, 4\)\n  hint: sampl"):
        loss.eval({x: X[:2], labels: [4, 1]})
    with pytest.raises(BoundsError, match=r"cross_entropy: labels: found -1, needed one in \[0, 4\)"):
        loss.eval({x: X[:2], labels: [-1, 1]})
    with pytest.raises(BoundsError, match=r"cross_entropy: labels: found 9, needed one in \[0, 4\)"):
        tg.nn.cross_entropy(tg.matrix("x", shape=(None, 4)), [-100, 9])
    with pytest.raises(BoundsError, match=r"nll_loss: labels: found -100, needed one in \[0, 4\)"):
        tg.nn.nll_loss(tg.matrix("x", shape=(5, 4)), LABELS, ignore_index=None)


def test_what_is_refused():
    x, v = tg.matrix("x", shape=(5, 4)), tg.vector("v")
    with pytest.raises(
        ShapeError, match=r"cross_entropy: labels: found int64\[2\] for float64\[5, 4\], needed its shape"
    ):
        tg.nn.cross_entropy(x, [0, 1])
    with pytest.raises(
        ShapeError, match=r"cross_entropy: labels: found .*, needed its shape without the axis of class"
    ):
        tg.nn.cross_entropy(x, [[0, 1]])
    with pytest.raises(ShapeError, match="cross_entropy: weight: axis 0: lengths differ: 3 and 4"):
        tg.nn.cross_entropy(x, LABELS, np.ones(3))
    with pytest.raises(DtypeError, match=r"cross_entropy: found float64\[\?\], needed integers for labels, or probab"):
        tg.nn.cross_entropy(x, v)
    with pytest.raises(DtypeError, match="nll_loss: labels: found float64, needed integers or probabilities"):
        tg.nn.nll_loss(x, v)
    with pytest.raises(InputError, match="cross_entropy: reduction: found 'avg', needed one of mean, sum, none"):
        tg.nn.cross_entropy(x, LABELS, reduction="avg")
    with pytest.raises(InputError, match="kl_div: reduction: found 'avg', needed one of mean, sum, none, batchmean"):
        tg.nn.kl_div(x, x, reduction="avg")
    with pytest.raises(DomainError, match=r"cross_entropy: label_smoothing: found 2, needed a number in \[0, 1\]"):
        tg.nn.cross_entropy(x, LABELS, label_smoothing=2)
