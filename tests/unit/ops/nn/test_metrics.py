"""Metrics: scikit-learn's numbers, ties, classes that are missing, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as peer

import tg
from tg.errors import BoundsError, DtypeError, InputError, ShapeError

RANDOM = np.random.default_rng(0)
SCORES = RANDOM.normal(size=(40, 5))
FOUND, LABELS = RANDOM.integers(0, 5, (2, 40))
LABELS[LABELS == 2], FOUND[FOUND == 2] = 3, 1  # one class is missing


def value(f, *arrays):
    """The value of a function of arrays whose lengths are not known."""
    inputs = [tg.tensor(f"v{k}", np.asarray(a).dtype.name, (None,) * np.ndim(a)) for k, a in enumerate(arrays)]
    return tg.function(inputs, f(*inputs), backend="perform")(*arrays)


def test_accuracies_are_those_of_scikit_learn():
    assert value(tg.nn.accuracy, FOUND, LABELS) == peer.accuracy_score(LABELS, FOUND)
    assert value(tg.nn.accuracy, SCORES, LABELS) == peer.accuracy_score(LABELS, SCORES.argmax(1))
    assert value(lambda x, y: tg.nn.accuracy(x, y, axis=0), SCORES.T.copy(), LABELS) == value(
        tg.nn.accuracy, SCORES, LABELS
    )
    for k in (1, 2, 4):
        needed = peer.top_k_accuracy_score(LABELS, SCORES, k=k, labels=range(5))
        assert value(lambda x, y, k=k: tg.nn.top_k_accuracy(x, y, k), SCORES, LABELS) == needed


def test_equal_scores_do_not_all_count():
    assert value(lambda x, y: tg.nn.top_k_accuracy(x, y, 2), np.zeros((4, 4)), np.arange(4)) == 0.5


def test_counts_and_scores_are_those_of_scikit_learn():
    counts = value(lambda x, y: tg.nn.confusion_matrix(x, y, 5), FOUND, LABELS)
    np.testing.assert_array_equal(counts, peer.confusion_matrix(LABELS, FOUND, labels=range(5)))
    k = tg.scalar("k", "int64")
    np.testing.assert_array_equal(tg.nn.confusion_matrix(FOUND, LABELS, k).eval({k: 5}), counts)
    for average in ("macro", "micro"):
        found = value(lambda x, y, average=average: tg.nn.f1_score(x, y, average, 5), FOUND, LABELS)
        np.testing.assert_allclose(found, peer.f1_score(LABELS, FOUND, average=average))
    each = value(lambda x, y: tg.nn.f1_score(x, y, "none", 5), FOUND, LABELS)
    needed = peer.f1_score(LABELS, FOUND, average=None, labels=range(5), zero_division=0)
    np.testing.assert_allclose(each, needed)
    np.testing.assert_allclose(value(tg.nn.f1_score, FOUND > 1, LABELS > 1), peer.f1_score(LABELS > 1, FOUND > 1))
    assert value(tg.nn.f1_score, np.zeros(3, int), np.zeros(3, int)) == 0


@pytest.mark.parametrize("digits", [0, 1, 9])
def test_areas_are_those_of_scikit_learn_with_ties(digits):
    scores, labels = np.round(SCORES[:, 0], digits), LABELS > 2
    np.testing.assert_allclose(value(tg.nn.roc_auc, scores, labels), peer.roc_auc_score(labels, scores), rtol=1e-15)


def test_an_area_of_one_class_or_nan_is_nan():
    assert np.isnan(value(tg.nn.roc_auc, np.arange(3.0), np.ones(3, int)))
    assert np.isnan(value(tg.nn.roc_auc, np.array([1.0, np.nan]), np.array([0, 1])))


def test_what_is_refused():
    x, i = tg.matrix("x", shape=(4, 3)), tg.vector("i", "int64")
    with pytest.raises(ShapeError, match="accuracy: labels: axis 0: lengths differ: 2 and 4"):
        tg.nn.accuracy(x, [0, 1])
    with pytest.raises(ShapeError, match=r"accuracy: found .* for labels .*, needed classes or scores of them"):
        tg.nn.accuracy(i, [[0, 1]])
    with pytest.raises(DtypeError, match="accuracy: labels: found float64, needed integers"):
        tg.nn.accuracy(x, np.ones(4))
    with pytest.raises(ShapeError, match="topk: k: found 5"):
        tg.nn.top_k_accuracy(x, [0, 1, 2, 0])
    with pytest.raises(BoundsError, match=r"confusion_matrix: labels: found 3, needed one in \[0, 3\)"):
        tg.nn.confusion_matrix(i, i, 3).eval({i: [0, 3]})
    with pytest.raises(BoundsError, match=r"accuracy: labels: found 3, needed one in \[0, 3\)"):
        tg.nn.accuracy(x, [0, 1, 2, 3])
    with pytest.raises(BoundsError, match=r"roc_auc: labels: found 2, needed one in \[0, 2\)"):
        tg.nn.roc_auc([0.5], i).eval({i: [2]})
    with pytest.raises(InputError, match="f1_score: average: found 'weighted', needed one of binary, macro, micro, n"):
        tg.nn.f1_score(i, i, "weighted")
    with pytest.raises(InputError, match="f1_score: classes: found 3, needed 2 for average='binary'"):
        tg.nn.f1_score(i, i, classes=3)
