"""Normalization: PyTorch's values and derivatives to second order, layouts, halves, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as peer

import tg
from tests.unit.ops.nn.peers import assert_as_torch
from tg.errors import DtypeError, InputError, ShapeError
from tg.ops.nn.normalization import BatchNorm, BatchNormGradient

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(1, 3, (3, 4, 5))
IMAGES = RANDOM.normal(1, 3, (2, 4, 3, 2))
W, B, M, V = RANDOM.normal(size=4), RANDOM.normal(size=4), RANDOM.normal(size=4), RANDOM.uniform(0.5, 2, 4)


def last(f):
    """The same function of channels along axis 1 by one of channels along the last axis."""
    return lambda x, *parameters: tg.moveaxis(f(tg.moveaxis(x, 1, -1), *parameters), -1, 1)


@pytest.mark.parametrize(
    ("ours", "theirs", "operands"),
    [
        (tg.nn.layer_norm, lambda x, w, b: peer.layer_norm(x, (5,), w, b), (X, X[0, 0], X[1, 1])),
        (tg.nn.layer_norm, lambda x, w, b: peer.layer_norm(x, (4, 5), w, b), (X, X[0], X[1])),
        (lambda x: tg.nn.layer_norm(x, eps=0.1), lambda x: peer.layer_norm(x, (5,), eps=0.1), (X,)),
        (lambda x: tg.nn.layer_norm(x, axes=(1, 2)), lambda x: peer.layer_norm(x, (4, 5)), (X,)),
        (lambda x, w: tg.nn.layer_norm(x, w, axes=1), lambda x, w: peer.layer_norm(x.mT, (4,), w).mT, (X, W)),
        (tg.nn.rms_norm, lambda x, w: peer.rms_norm(x, (5,), w), (X, X[0, 0])),
        (lambda x: tg.nn.rms_norm(x, eps=0.1, axes=(1, 2)), lambda x: peer.rms_norm(x, (4, 5), eps=0.1), (X,)),
        (lambda x: tg.nn.batch_norm(x, M, V), lambda x: peer.batch_norm(x, torch.tensor(M), torch.tensor(V)), (X,)),
        (
            lambda x, w, b: tg.nn.batch_norm_training(x, w, b)[0],
            lambda x, w, b: peer.batch_norm(x, None, None, w, b, training=True),
            (X, W, B),
        ),
        (
            lambda x, w, b: tg.nn.group_norm(x, 2, w, b),
            lambda x, w, b: peer.group_norm(x, 2, w, b),
            (IMAGES, W, B),
        ),
        (
            last(lambda x, w, b: tg.nn.group_norm(x, 2, w, b, layout="NHWC")),
            lambda x, w, b: peer.group_norm(x, 2, w, b),
            (IMAGES, W, B),
        ),
        (tg.nn.instance_norm, lambda x, w, b: peer.instance_norm(x, weight=w, bias=b), (IMAGES, W, B)),
        (last(lambda x: tg.nn.instance_norm(x, layout="NWC")), peer.instance_norm, (X,)),
        (tg.nn.normalize, peer.normalize, (X,)),
        (lambda x: tg.nn.normalize(x, 3, axis=-1), lambda x: peer.normalize(x, 3, dim=-1), (X,)),
    ],
)
def test_values_and_derivatives_are_those_of_torch(ours, theirs, operands):
    assert_as_torch(ours, theirs, *operands)


@pytest.mark.parametrize("p", [1, np.inf])
def test_other_norms_are_those_of_torch(p):
    assert_as_torch(lambda x: tg.nn.normalize(x, p), lambda x: peer.normalize(x, p), X, order=1)


def test_vectors_of_zeros_stay_so():
    assert_as_torch(tg.nn.normalize, peer.normalize, np.array([[0.0, 0.0], [3.0, 4.0]]), order=1)


def test_statistics_of_a_batch_are_what_running_ones_are_made_of():
    mean, variance = torch.zeros(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
    peer.batch_norm(torch.tensor(IMAGES), mean, variance, training=True, momentum=0.25)
    x = tg.tensor("x", "float64", (None, None, None, None))
    _, m, v = tg.nn.batch_norm_training(x)
    np.testing.assert_allclose((0.25 * m).eval({x: IMAGES}), mean, rtol=1e-13)
    np.testing.assert_allclose((1 + 0.25 * (v - 1)).eval({x: IMAGES}), variance, rtol=1e-13)


def test_the_gradient_of_a_batch_norm_is_one_op():
    x, w, b = tg.matrix("x"), tg.vector("w"), tg.vector("b")
    dx, dw, db = tg.grad(tg.sum(tg.nn.batch_norm_training(x, w, b)[0] ** 2), [x, w, b])
    assert dx.apply.op == BatchNormGradient(-1, 1e-5)
    assert dx.apply is dw.apply is db.apply


def test_derivatives_of_the_statistics_of_a_batch_are_those_of_torch():
    def ours(x, w):
        y, mean, var = tg.nn.batch_norm_training(x, w)
        return y * mean[:, None] + tg.sqrt(var)[:, None]

    def theirs(x, w):
        y = peer.batch_norm(x, None, None, w, training=True)
        return y * x.mean((0, 2))[:, None] + x.transpose(0, 1).reshape(4, -1).var(1).sqrt()[:, None]

    assert_as_torch(ours, theirs, X, W)


def test_of_a_channel_that_is_not_chosen_no_derivative_is_asked():
    """Its variance is infinite, and its mean; that of the other one is what it is without it."""
    x, whole = tg.matrix("x"), np.array([[1.0, np.inf], [2.0, 3.0], [4.0, 5.0]])
    y = tg.nn.batch_norm_training(x)[0]
    found = tg.grad(tg.sum(tg.where(np.array([True, False]), y, 0.0) ** 3), x)
    alone = tg.grad(tg.sum(tg.nn.batch_norm_training(x)[0] ** 3), x)
    assert np.array_equal(found.eval({x: whole})[:, 1], np.zeros(3))
    np.testing.assert_allclose(found.eval({x: whole})[:, :1], alone.eval({x: whole[:, :1]}), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_dtypes_and_the_least_square_are_those_of_torch(dtype):
    x = tg.matrix("x", dtype)
    small = (1e-4 * X[0]).astype(dtype)
    found = tg.nn.rms_norm(x).eval({x: small})
    assert found.dtype == dtype
    np.testing.assert_allclose(
        found, peer.rms_norm(torch.tensor(small), (5,)), rtol=1e-3 if dtype == "float16" else 1e-6
    )
    assert tg.nn.layer_norm(x).type.dtype == dtype
    assert [v.type.dtype for v in tg.nn.batch_norm_training(x)] == [dtype] * 3


def test_operands_of_ops_that_do_not_fit_are_refused():
    x, c = tg.matrix("x", shape=(None, 3)), tg.vector("c", shape=(3,))
    with pytest.raises(ShapeError, match="batch_norm: channels: lengths differ"):
        BatchNorm(-1, 1e-5)(x, c, tg.vector("d", shape=(4,)))
    with pytest.raises(ShapeError, match=r"batch_norm: found float64.*, needed a number for each channel"):
        BatchNorm(-1, 1e-5)(x, c, x)
    with pytest.raises(DtypeError, match=r"batch_norm: dtypes: found .*, needed one real floating dtype"):
        BatchNorm(-1, 1e-5)(x, c, tg.vector("d", "float32", shape=(3,)))
    with pytest.raises(DtypeError, match=r"batch_norm: found a cotangent float64.*, needed one of float64"):
        BatchNormGradient(-1, 1e-5)(x, c, c, c, c)


def test_what_is_refused():
    x, images = tg.matrix("x", shape=(None, 3)), tg.tensor("images", "float64", (None, 3, None, None))
    with pytest.raises(ShapeError, match="layer_norm: weight: axis 0: lengths differ: 2 and 3"):
        tg.nn.layer_norm(x, np.ones(2))
    with pytest.raises(ShapeError, match=r"layer_norm: bias: found float64\[2, 3\], needed 1 axes"):
        tg.nn.layer_norm(x, np.ones(3), np.ones((2, 3)))
    with pytest.raises(ShapeError, match=r"layer_norm: found 3 axes of parameters for .*, needed 1 to 2"):
        tg.nn.layer_norm(x, np.ones((1, 2, 3)))
    with pytest.raises(ShapeError, match="batch_norm: var: axis 0: lengths differ: 4 and 3"):
        tg.nn.batch_norm(images, np.ones(3), np.ones(4))
    with pytest.raises(ShapeError, match="group_norm: axis -3: found a length of 3, needed an even one"):
        tg.nn.group_norm(images, 2)
    with pytest.raises(ShapeError, match="group_norm: groups: found 0, needed a positive integer"):
        tg.nn.group_norm(images, 0)
    with pytest.raises(InputError, match=r"instance_norm: layout: found 'CHW', needed one of NCW, NWC"):
        tg.nn.instance_norm(images, layout="CHW")
    with pytest.raises(ShapeError, match=r"instance_norm: found .*, needed at least 3 axes"):
        tg.nn.instance_norm(x)
    with pytest.raises(ShapeError, match="batch_norm_training: found 1 element for each channel, needed at least 2"):
        tg.nn.batch_norm_training(x)[0].eval({x: np.ones((1, 3))})


def test_what_stands_behind_the_parameters_is_given_by_name():
    x, v = tg.tensor(shape=(2, 3, 4)), tg.vector(shape=(3,))
    for call in (
        lambda: tg.nn.batch_norm(x, v, v, v, v, True),  # PyTorch's order: training, momentum, eps
        lambda: tg.nn.layer_norm(x, (3,), v, v),
        lambda: tg.nn.rms_norm(x, (3,), v),
        lambda: tg.nn.instance_norm(x, None, None, v, v),
        lambda: tg.nn.cross_entropy(x, v, None, None, 2),
    ):
        with pytest.raises(TypeError, match="arguments by position"):
            call()
