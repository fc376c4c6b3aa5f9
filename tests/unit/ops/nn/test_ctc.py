"""Connectionist temporal classification: PyTorch's values and derivatives, what no path reaches, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as peer

import tg
from tests.unit.ops.nn.peers import assert_as_torch
from tg.errors import BoundsError, DomainError, DtypeError, InputError, ShapeError

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(0, 2, (8, 5, 6))
LABELS = np.array([[2, 2, 3, 3], [5, 1, 4, 2], [1, 2, 3, 4], [1, 1, 2, 0], [3, 0, 0, 0]])
STEPS, LENGTHS = np.array([8, 6, 8, 3, 7]), np.array([4, 3, 0, 3, 1])  # the fourth needs four steps


@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_values_and_derivatives_are_those_of_torch(reduction):
    parts = [torch.tensor(v) for v in (LABELS, STEPS, LENGTHS)]
    assert_as_torch(
        lambda x: tg.nn.ctc_loss(tg.log_softmax(x), LABELS, STEPS, LENGTHS, reduction=reduction, zero_infinity=True),
        lambda x: peer.ctc_loss(x.log_softmax(-1), *parts, reduction=reduction, zero_infinity=True),
        X,
        order=1,
    )


def test_one_sample_and_another_blank():
    given = [torch.tensor(v) for v in (LABELS[1] - 1, 8, 4)]
    assert_as_torch(
        lambda x: tg.nn.ctc_loss(tg.log_softmax(x), LABELS[1] - 1, 8, 4, blank=5),
        lambda x: peer.ctc_loss(x.log_softmax(-1), *given, blank=5),
        X[:, 0],
        order=1,
    )


def test_what_no_path_reaches_is_infinite_and_has_no_indeterminate_slope():
    x = tg.tensor("x", "float64", (None, None, None))
    losses = tg.nn.ctc_loss(x, LABELS, STEPS, LENGTHS, reduction="none")
    slope = tg.grad(tg.sum(losses[:3]), x)
    second = tg.grad(tg.sum(slope * RANDOM.normal(size=X.shape)), x)
    found, d, dd = tg.function([x], [losses, slope, second], backend="perform")(X)
    assert found[3] == np.inf
    assert np.isfinite(d).all()
    assert np.isfinite(dd).all()
    np.testing.assert_allclose(d.sum(-1)[:6, :3], -1, rtol=1e-12)  # each step has some label


def test_what_is_refused():
    x = tg.tensor("x", "float64", (None, None, None))

    def loss(**changes):
        given = {"targets": LABELS, "input_lengths": STEPS, "target_lengths": LENGTHS} | changes
        return tg.nn.ctc_loss(x, **given).eval({x: X})

    with pytest.raises(BoundsError, match=r"ctc_loss: labels: found 6, needed one in \[0, 6\)"):
        loss(targets=np.full((5, 4), 6))
    with pytest.raises(DomainError, match="ctc_loss: labels: found the blank, 0, needed labels"):
        loss(targets=np.zeros((5, 4), int))
    with pytest.raises(DomainError, match=r"ctc_loss: input_lengths: found \S+, needed lengths in \[0, 8\]"):
        loss(input_lengths=STEPS + 1)
    with pytest.raises(DomainError, match=r"ctc_loss: target_lengths: found \S+, needed lengths in \[0, 4\]"):
        loss(target_lengths=LENGTHS - 1)
    with pytest.raises(ShapeError, match="ctc_loss: input_lengths: axis 0: lengths differ: 2 and 5"):
        loss(input_lengths=STEPS[:2])
    with pytest.raises(ShapeError, match=r"ctc_loss: found .*, needed \(t, n, c\), \(n, s\), \(n\) and \(n\)"):
        loss(targets=LABELS[0])
    with pytest.raises(DtypeError, match="ctc_loss: targets: found float64, needed integers"):
        loss(targets=LABELS / 2)
    with pytest.raises(InputError, match="ctc_loss: reduction: found 'avg'"):
        loss(reduction="avg")
