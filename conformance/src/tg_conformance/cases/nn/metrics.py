"""Cases of `ops/nn/metrics`: each by counting in NumPy; ties, missing classes, what is refused."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import BoundsError, ShapeError
from tg.ops.nn.metrics import FAMILY
from tg.plugin.case import Case, f64, fixed
from tg_conformance.cases.family import of_family

FOUND: Final = fixed([0, 1, 1, 3, 0, 3, 1, 1], "int64")
LABELS: Final = fixed([0, 1, 3, 3, 1, 0, 1, 1], "int64")
POSITIVE: Final = fixed([True, False, True, True, False, False, True, False], "bool")
TIED: Final = fixed([0.5, 0.5, 1.0, 0.25, 0.25, -1.0, 0.5, 2.0])


def f1_scores(predictions: Any, labels: Any) -> Any:
    """The score of each of four classes."""
    hits = np.array([np.sum((predictions == k) & (labels == k)) for k in range(4)])
    both = np.array([np.sum(predictions == k) + np.sum(labels == k) for k in range(4)])
    return 2 * hits / np.maximum(both, 1)


def area(x: Any, y: Any) -> Any:
    """Over all pairs of a positive and a negative."""
    d = x[y][:, None] - x[~y][None]
    return np.mean((d > 0) + (d == 0) / 2)


CASES: Final = of_family(
    FAMILY.path,
    Case(
        lambda x, y: (tg.nn.accuracy(x, y), tg.nn.top_k_accuracy(x, y, 2), tg.nn.top_k_accuracy(x, y, 3)),
        [f64(8, 4, values="distinct"), LABELS],
        name="accuracies of scores",
        oracle=lambda x, y: tuple(
            np.mean([label in row.argsort()[-k:] for row, label in zip(x, y, strict=True)]) for k in (1, 2, 3)
        ),
    ),
    Case(
        lambda x, y: (
            tg.nn.accuracy(x, y),
            tg.nn.confusion_matrix(x, y, 4),
            tg.nn.f1_score(x, y, "macro", 4),
            tg.nn.f1_score(x, y, "micro", 4),
            tg.nn.f1_score(x, y, "none", 4),
            tg.nn.f1_score(x > 0, y > 0),
        ),
        [FOUND, LABELS],
        name="counts of classes",
        oracle=lambda x, y: (
            np.mean(x == y),
            np.array([[np.sum((y == i) & (x == j)) for j in range(4)] for i in range(4)]),
            np.sum(f1_scores(x, y)) / 3,
            np.mean(x == y),
            f1_scores(x, y),
            2 * np.sum((x > 0) & (y > 0)) / (np.sum(x > 0) + np.sum(y > 0)),
        ),
    ),
    Case(tg.nn.roc_auc, [TIED, POSITIVE], name="roc_auc with ties", oracle=area),
    Case(tg.nn.roc_auc, [f64(8), POSITIVE], name="roc_auc", oracle=area),
    Case(
        lambda x, y: tg.nn.confusion_matrix(x, y, 3),
        [FOUND, LABELS],
        name="a class outside of those counted",
        layouts=("C",),
        raises=BoundsError,
    ),
    Case(
        tg.nn.accuracy, [f64(3, 4), fixed([0, 1], "int64")], name="labels of other samples", layouts=("C",),
        raises=ShapeError,
    ),
)  # fmt: skip
