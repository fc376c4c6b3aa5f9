"""Routing to experts against a loop over tokens, its gradient, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tg
from tg.errors import InputError, ShapeError

DRAWS = np.random.default_rng(13)


def token_by_token(logits: Any, k: int, capacity: int) -> tuple[Any, Any, Any]:
    """All first choices in the order of tokens, then all second ones."""
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    tokens, experts = logits.shape
    chosen = np.argsort(-shares, -1, kind="stable")[:, :k]
    weights = np.take_along_axis(shares, chosen, -1)
    if k > 1:
        weights /= weights.sum(-1, keepdims=True)
    dispatch, combine = np.zeros((tokens, experts, capacity), bool), np.zeros((tokens, experts, capacity))
    filled = np.zeros(experts, int)
    for choice in range(k):
        for token in range(tokens):
            expert = chosen[token, choice]
            if filled[expert] < capacity:
                dispatch[token, expert, filled[expert]] = True
                combine[token, expert, filled[expert]] = weights[token, choice]
            filled[expert] += 1
    first = np.bincount(chosen[:, 0], minlength=experts) / tokens
    return dispatch, combine, experts * np.sum(first * shares.mean(0))


@pytest.mark.parametrize(("k", "capacity"), [(1, 2), (2, 3), (3, 1)])
def test_tokens_go_where_a_loop_over_them_sends_them(k: int, capacity: int) -> None:
    values, logits = DRAWS.normal(size=(9, 4)), tg.matrix()
    found = tg.function([logits], list(tg.nn.top_k_routing(logits, k, capacity)), backend="perform")(values)
    for one, want in zip(found, token_by_token(values, k, capacity), strict=True):
        np.testing.assert_allclose(one, want, rtol=0, atol=1e-15)


def test_gradients_are_those_of_differences() -> None:
    logits = tg.matrix()
    routing = tg.nn.top_k_routing(logits, 2, 3)
    tg.check_grad(tg.sum(routing.combine**2) + routing.loss, {logits: DRAWS.normal(size=(6, 4))})


def test_experts_that_are_as_likely_have_a_loss_of_1() -> None:
    assert float(tg.nn.top_k_routing(np.eye(4), 1, 4).loss.eval()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: tg.nn.top_k_routing(np.eye(3), 4, 1), InputError, "k: found 4, needed an integer from 1 on to 3"),
        (lambda: tg.nn.top_k_routing(np.eye(3), 1, -1), InputError, "capacity: found -1, needed at least 0"),
        (lambda: tg.nn.top_k_routing(np.ones(3), 1, 1), ShapeError, "logits: found float64[3], needed at least 2 axes"),
    ],
)
def test_what_is_refused(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match="top_k_routing") as caught:
        make()
    assert text in str(caught.value)
