"""Cases of `ops/nn/mixture`: choices in their order, experts without room, the loss."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import InputError
from tg.ops.nn.mixture import FAMILY
from tg.plugin.case import Case, f64, fixed
from tg_conformance.cases.family import of_family

LOGITS: Final = [
    [[2.0, 1.0, 0.0, -1.0], [1.5, 2.0, 0.5, 0.0], [2.0, 0.0, 1.0, -2.0], [3.0, 1.0, 2.0, 0.0], [0.0, 0.5, 0.25, 2.0]],
    [[0.0, 1.0, 2.0, 3.0], [0.5, 1.0, 2.0, 1.5], [1.0, 0.0, 3.0, 2.0], [0.0, 1.0, -1.0, 2.0], [2.0, 1.0, 0.5, 0.0]],
]


def _routed(logits: Any, k: int, capacity: int, *, normalize: bool) -> tuple[Any, ...]:
    """Token by token, all first choices before the second ones; of one group."""
    shares = np.exp(logits)
    shares = shares / np.sum(shares, -1, keepdims=True)
    chosen = np.argsort(-shares, -1, kind="stable")[:, :k]
    combine = np.zeros((*logits.shape, capacity), shares.dtype)
    filled = [0] * logits.shape[1]
    for choice in range(k):
        for token, row in enumerate(chosen):
            expert = row[choice]
            if filled[expert] < capacity:
                weight = shares[token, expert] / (np.sum(shares[token, row]) if normalize else 1)
                combine[token, expert, filled[expert]] = weight
            filled[expert] += 1
    first = np.bincount(chosen[:, 0], minlength=logits.shape[1]) / len(logits)
    return combine > 0, combine, logits.shape[1] * np.sum(first * np.mean(shares, 0))


def _groups(logits: Any, k: int, capacity: int, *, normalize: bool) -> tuple[Any, ...]:
    routes = [_routed(group, k, capacity, normalize=normalize) for group in logits]
    return tuple(np.stack(one) for one in zip(*routes, strict=True))


WRITTEN: Final = (
    Case(
        lambda x: tuple(tg.nn.top_k_routing(x, 2, 2)),
        [fixed(LOGITS)],
        name="two experts of four",
        condition=lambda x: (1, 8, 8),
        oracle=lambda x: _groups(x, 2, 2, normalize=True),
    ),
    Case(
        lambda x: tg.nn.top_k_routing(x, 1, 3)[1:],
        [f64(2, "n", 5)],
        name="one expert of five",
        layouts=("C", "transposed"),
        condition=lambda x: (8, 16),
        oracle=lambda x: _groups(x, 1, 3, normalize=False)[1:],
    ),
    Case(
        lambda x: tg.nn.top_k_routing(x, 2, 3, normalize=False)[1],
        [fixed(LOGITS)],
        name="weights that are not normalized",
        gradient=True,
        condition=lambda x: 16,
        oracle=lambda x: _groups(x, 2, 3, normalize=False)[1],
    ),
    Case(
        lambda x: tg.nn.top_k_routing(x, 5, 1)[0],
        [fixed(LOGITS, static=True)],
        name="more than there are",
        raises=InputError,
    ),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
