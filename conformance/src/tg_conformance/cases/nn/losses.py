"""Cases of `ops/nn/losses`: each in NumPy, far out and at zeros, halves, what is refused."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import DomainError, ShapeError
from tg.ops.nn.losses import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.family import HALVES, hundreds, of_family, rounded_once
from tg_conformance.cases.reduction import FLOATING

SIGNS: Final = [[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]]
FACTS: Final[dict[str, Any]] = {"gradient": True, "layouts": ("C", "transposed"), "accuracy": 32}


def _huber(x: Any, y: Any) -> Any:
    d = x - y
    return np.where(abs(d) <= 1.5, d * d / 2, 1.5 * (abs(d) - 0.75))


def _smooth_l1(x: Any, y: Any) -> Any:
    d = x - y
    return np.where(abs(d) < 0.5, d * d, abs(d) - 0.25)


def _cosine(x: Any, y: Any) -> Any:
    return np.sum(x * y, -1) / np.sqrt(np.sum(x * x, -1) * np.sum(y * y, -1))


def _distance(x: Any, y: Any) -> Any:
    return np.sqrt(np.sum((x - y + 1e-6) ** 2, -1))


def sizes(x: Any, *others: Any) -> Any:
    """The size of squares and products of what is drawn."""
    return 64.0 * (1 + x.size)


def loss(name: str, subject: Any, oracle: Any, *inputs: Any, **facts: Any) -> Case:
    """A case of one loss whose rounding is relative to `sizes`."""
    defaults = {"condition": lambda *arrays: np.full(np.shape(oracle(*arrays)), sizes(*arrays))}
    return Case(subject, list(inputs), name=name, oracle=oracle, **{**FACTS, **defaults, **facts})


PAIR: Final = (f64("n", "m"), f64("n", "m"))
SIGNED: Final = (f64(2, 3), f64(2, 3), fixed(SIGNS, differentiate=False))

CASES: Final = of_family(
    FAMILY.path,
    loss(
        "mse_loss",
        tg.nn.mse_loss,
        lambda x, y: np.mean((x - y) ** 2),
        any_dtype("n", "m"),
        any_dtype("n", "m"),
        dtypes=FLOATING,
    ),
    loss("mse_loss, summed", lambda x, y: tg.nn.mse_loss(x, y, "sum"), lambda x, y: np.sum((x - y) ** 2), *PAIR),
    loss("l1_loss", tg.nn.l1_loss, lambda x, y: np.mean(abs(x - y)), *PAIR),
    loss("huber_loss", lambda x, y: tg.nn.huber_loss(x, y, 1.5, "none"), _huber, *PAIR),
    loss("smooth_l1_loss", lambda x, y: tg.nn.smooth_l1_loss(x, y, 0.5, "none"), _smooth_l1, *PAIR),
    loss(
        "gaussian_nll_loss",
        lambda x, y, v: tg.nn.gaussian_nll_loss(x, y, v, True, reduction="none"),
        lambda x, y, v: (np.log(2 * np.pi * v[:, None]) + (x - y) ** 2 / v[:, None]) / 2,
        *PAIR,
        f64("n", low=0.5),
    ),
    loss(
        "poisson_nll_loss",
        lambda x, y: tg.nn.poisson_nll_loss(x, y, reduction="none"),
        lambda x, y: np.exp(x) - y * x,
        *PAIR,
    ),
    loss(
        "poisson_nll_loss of rates",
        lambda x, y: tg.nn.poisson_nll_loss(x, y, log_input=False, full=True),
        lambda x, y: np.mean(x - y * np.log(x + 1e-8) + y * np.log(y) - y + np.log(2 * np.pi * y) / 2),
        f64("n", low=0.5),
        f64("n", low=1.5, differentiate=False),
    ),
    loss("hinge_loss", tg.nn.hinge_loss, lambda x, y: np.mean(np.maximum(1 - x * y, 0)), *PAIR),
    loss(
        "hinge_embedding_loss",
        lambda x, z, y: tg.nn.hinge_embedding_loss(x + z, y),
        lambda x, z, y: np.mean(np.where(y == 1, x + z, np.maximum(1 - x - z, 0))),
        *SIGNED,
    ),
    loss(
        "margin_ranking_loss",
        lambda x, z, y: tg.nn.margin_ranking_loss(x, z, y, 0.5),
        lambda x, z, y: np.mean(np.maximum(0.5 - y * (x - z), 0)),
        *SIGNED,
    ),
    loss("cosine_similarity", lambda x, y: tg.nn.cosine_similarity(x, y, -1), _cosine, f64("n", 5), f64("n", 5)),
    loss(
        "cosine_embedding_loss",
        lambda x, z, y: tg.nn.cosine_embedding_loss(x, z, y[:, 0], 0.1),
        lambda x, z, y: np.mean(np.where(y[:, 0] == 1, 1 - _cosine(x, z), np.maximum(_cosine(x, z) - 0.1, 0))),
        *SIGNED,
        condition=None,
        accuracy=1e5,  # of the constant 1e-12 beside the squares
    ),
    loss(
        "triplet_margin_loss",
        lambda x, y, z: tg.nn.triplet_margin_loss(x, y, z, 3.0, reduction="none"),
        lambda x, y, z: np.maximum(3 + _distance(x, y) - _distance(x, z), 0),
        f64("n", 4),
        f64("n", 4),
        f64("n", 4),
    ),
    Case(
        lambda x: tuple(
            tg.grad(tg.sum(f(x, 0.0, reduction="none")), x)
            for f in (tg.nn.huber_loss, tg.nn.smooth_l1_loss, tg.nn.l1_loss)
        ),
        [fixed([-1e200, -2.0, -0.5, 0.0, 0.5, 1e200])],
        name="slopes far out and at 0",
        layouts=("C",),
        oracle=lambda x: (np.clip(x, -1, 1), np.clip(x, -1, 1), np.sign(x)),
    ),
    Case(
        lambda x, y: (tg.nn.mse_loss(x / 10, y / 10), tg.nn.l1_loss(x, y, "sum") / 100, tg.nn.huber_loss(x, y)),
        [any_dtype(100, values=hundreds), any_dtype(100, values=hundreds)],
        name="halves",
        dtypes=HALVES,
        layouts=("C",),
        static=(False,),
        accuracy=4,
        oracle=rounded_once(
            lambda x, y: (
                np.mean(((x - y) / 10) ** 2),
                np.sum(abs(x - y)) / 100,
                np.mean(abs(x - y) - 0.5),
            )
        ),
        condition=lambda x, y: (400.0, 400.0, 400.0),
    ),
    Case(tg.nn.mse_loss, [f64("n", 1), f64("n", 3)], name="mse_loss of a column beside a matrix", raises=ShapeError),
    Case(tg.nn.l1_loss, [f64("n", "m"), f64("m")], name="l1_loss of other ranks", raises=ShapeError),
    Case(
        tg.nn.gaussian_nll_loss,
        [f64(2), f64(2), fixed([1.0, -1.0])],
        name="gaussian_nll_loss of a negative variance",
        raises=DomainError,
    ),
)
