"""Cases of `ops/nn/cross_entropy`: labels, probabilities, weights, impossible classes, logits far out."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import BoundsError, ShapeError
from tg.ops.nn.cross_entropy import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.family import HALVES, of_family, rounded_once
from tg_conformance.cases.reduction import FLOATING

INF: Final = np.inf
LABELS: Final = fixed([0, 3, -100, 1, 2], "int64")
WEIGHT: Final = [0.5, 1.0, 2.0, 0.25]
FACTS: Final[dict[str, Any]] = {"gradient": True, "layouts": ("C", "transposed"), "accuracy": 32}


def _log_softmax(x: Any, axis: int = 1) -> Any:
    return x - np.log(np.sum(np.exp(x), axis, keepdims=True))


def _softplus(x: Any) -> Any:
    return np.log1p(np.exp(x))


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _picked(x: Any, labels: Any) -> Any:
    """Minus each sample's value at its label, 0 for label -100."""
    return np.where(labels >= 0, -x[np.arange(len(x)), np.maximum(labels, 0)], 0)


def _of_labels(x: Any, labels: Any) -> Any:
    return np.sum(_picked(_log_softmax(x), labels)) / np.sum(labels >= 0)


def _weighted(x: Any, labels: Any, smoothing: float = 0.0) -> Any:
    w, valid = np.array(WEIGHT), labels >= 0
    shares = np.where(valid, w[np.maximum(labels, 0)], 0)
    spread = np.where(valid, -np.sum(w * _log_softmax(x), 1), 0) / x.shape[1]
    losses = shares * _picked(_log_softmax(x), labels)
    return np.sum((1 - smoothing) * losses + smoothing * spread) / np.sum(shares)


def _focal(x: Any, y: Any) -> Any:
    q = y * _sigmoid(-x) + (1 - y) * _sigmoid(x)
    losses = y * _softplus(-x) + (1 - y) * _softplus(x)
    return (0.25 * y + 0.75 * (1 - y)) * q**2 * losses


def sizes(x: Any, *others: Any) -> Any:
    """The size of what is added up."""
    return 16.0 * (1 + x.size)


def loss(name: str, subject: Any, oracle: Any, *inputs: Any, **facts: Any) -> Case:
    """A case of one loss whose rounding is relative to `sizes`."""
    defaults = {"condition": lambda *arrays: np.full(np.shape(oracle(*arrays)), sizes(*arrays))}
    return Case(subject, list(inputs), name=name, oracle=oracle, **{**FACTS, **defaults, **facts})


SHARES: Final = f64("n", "m", low=0.1, high=0.9)

CASES: Final = of_family(
    FAMILY.path,
    loss(
        "binary_cross_entropy",
        tg.nn.binary_cross_entropy,
        lambda p, y: -np.mean(y * np.log(p) + (1 - y) * np.log1p(-p)),
        SHARES,
        SHARES,
    ),
    loss(
        "binary_cross_entropy_with_logits",
        lambda x, y: tg.nn.binary_cross_entropy_with_logits(x, y, pos_weight=2.0, reduction="none"),
        lambda x, y: 2 * y * _softplus(-x) + (1 - y) * _softplus(x),
        any_dtype("n", "m"),
        any_dtype("n", "m", low=0.0, high=1.0),
        dtypes=FLOATING,
    ),
    loss("sigmoid_focal_loss", tg.nn.sigmoid_focal_loss, _focal, f64("n", "m"), SHARES),
    loss("cross_entropy", tg.nn.cross_entropy, _of_labels, any_dtype(5, 4), LABELS, dtypes=FLOATING),
    loss(
        "cross_entropy with weights and smoothing",
        lambda x, labels: tg.nn.cross_entropy(x, labels, WEIGHT, label_smoothing=0.2),
        lambda x, labels: _weighted(x, labels, 0.2),
        f64(5, 4),
        LABELS,
    ),
    loss(
        "cross_entropy of images",
        lambda x, labels: tg.nn.cross_entropy(x, labels, reduction="none"),
        lambda x, labels: -np.take_along_axis(_log_softmax(x), labels[:, None], 1)[:, 0],
        f64(2, 3, 2),
        fixed([[0, 2], [1, 1]], "int32"),
    ),
    loss(
        "cross_entropy of probabilities",
        lambda x, y: tg.nn.cross_entropy(x, y, label_smoothing=0.1, reduction="none"),
        lambda x, y: -np.sum((0.9 * y + 0.1 / y.shape[1]) * _log_softmax(x), 1),
        f64("n", "m"),
        SHARES,
    ),
    loss(
        "nll_loss",
        lambda x, labels: tg.nn.nll_loss(x, labels, WEIGHT, reduction="sum"),
        lambda x, labels: np.sum(_picked(x, labels) * np.array(WEIGHT)[np.maximum(labels, 0)]),
        f64(5, 4),
        LABELS,
    ),
    loss("kl_div", tg.nn.kl_div, lambda x, y: np.mean(y * (np.log(y) - x)), f64("n", "m"), SHARES),
    loss(
        "kl_div of logarithms",
        lambda x, y: tg.nn.kl_div(x, y, log_target=True, reduction="batchmean"),
        lambda x, y: np.sum(np.exp(y) * (y - x)) / len(x),
        f64("n", "m"),
        f64("n", "m"),
    ),
    loss(
        "dice_loss",
        lambda p, y: tg.nn.dice_loss(p, y, reduction="none"),
        lambda p, y: 1 - (2 * np.sum(p * y, 1) + 1) / (np.sum(p + y, 1) + 1),
        SHARES,
        SHARES,
    ),
    Case(
        lambda x, labels: (
            tg.nn.cross_entropy(x, labels, reduction="none"),
            tg.grad(tg.nn.cross_entropy(x, labels, reduction="sum"), x),
        ),
        [
            fixed([[1e4, -1e4, 0.0], [1e4, -1e4, 0.0], [-INF, 1.0, 1.0], [-INF, -INF, 3.0], [-INF, -INF, 1.0]]),
            fixed([0, 1, 1, 2, -100], "int64"),
        ],
        name="logits far out and of impossible classes",
        layouts=("C",),
        oracle=lambda x, labels: (
            np.array([0.0, 2e4, np.log(2), 0.0, 0.0]),
            np.array([[0.0, 0, 0], [1, -1, 0], [0, -0.5, 0.5], [0, 0, 0], [0, 0, 0]]),
        ),
    ),
    Case(
        lambda x: tg.nn.cross_entropy(x, [0], reduction="none"),
        [fixed([[10005.0, 10000.0]], "float32")],
        name="digits beside a large logit",
        layouts=("C",),
        oracle=lambda x: np.log1p(np.exp(-5.0))[None],
    ),
    Case(
        lambda x, y: (
            tg.nn.binary_cross_entropy_with_logits(x, y, reduction="none"),
            tg.grad(tg.nn.binary_cross_entropy_with_logits(x, y, reduction="sum"), x),
            tg.grad(tg.sum(tg.nn.sigmoid_focal_loss(x, y)), x),
        ),
        [fixed([1e4, 1e4, -1e4, -1e4, -40.0]), fixed([0.0, 1.0, 0.0, 1.0, 0.0])],
        name="binary logits far out",
        layouts=("C",),
        accuracy=16,
        oracle=lambda x, y: (
            np.array([1e4, 0, 0, 1e4, np.log1p(np.exp(-40.0))]),
            np.array([1.0, 0, 0, -1, _sigmoid(-40.0)]),
            np.array([0.75, 0, 0, -0.25, 2.25 * np.exp(-120.0)]),
        ),
    ),
    Case(
        lambda p, y: (
            tg.nn.binary_cross_entropy(p, y, reduction="none"),
            tg.grad(tg.nn.binary_cross_entropy(p, y, reduction="sum"), p),
            tg.nn.kl_div(tg.log(p), y, reduction="none"),
            tg.grad(tg.nn.kl_div(tg.log(p), y, reduction="sum"), p),
        ),
        [fixed([0.0, 1.0, 0.5]), fixed([0.0, 1.0, 1.0])],
        name="probabilities of 0 and 1",
        layouts=("C",),
        oracle=lambda p, y: (
            np.array([0, 0, np.log(2)]),
            np.array([1.0, -1, -2]),
            np.array([0, 0, np.log(2)]),
            np.array([0.0, -1, -2]),
        ),
    ),
    Case(
        tg.nn.cross_entropy,
        [any_dtype(5, 4), LABELS],
        name="halves",
        dtypes=HALVES,
        layouts=("C",),
        static=(False,),
        accuracy=1,
        oracle=rounded_once(lambda x, labels: (_of_labels(x, labels.astype(int)),)),
    ),
    Case(tg.nn.cross_entropy, [f64(3, 3), fixed([0, 1], "int64")], name="labels of other samples", raises=ShapeError),
    Case(tg.nn.cross_entropy, [f64(2, 3), fixed([0, 3], "int64")], name="label 3 of 3 classes", raises=BoundsError),
    Case(tg.nn.cross_entropy, [f64(2, 3), fixed([0, -1], "int64")], name="label -1", raises=BoundsError),
)
