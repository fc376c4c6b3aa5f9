"""Communities: the loss and its gradients beside PyTorch's, and training that tells the groups apart."""

from __future__ import annotations

import communities
import numpy as np
import pytest
import torch


def by_torch(people, weights):
    """The loss and the gradients of both weights, with a dense matrix."""
    p = torch.tensor(communities.spread(people.knows).toarray())
    first, second = (torch.tensor(w, requires_grad=True) for w in weights.values())
    logits = p @ (torch.relu(p @ (torch.tensor(people.features) @ first)) @ second)
    answers = torch.tensor(people.told)
    value = torch.nn.functional.cross_entropy(logits[answers], torch.tensor(people.group)[answers])
    value = value + communities.DECAY * (first**2).sum()
    value.backward()
    return [value.item(), first.grad.numpy(), second.grad.numpy()]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", ["c", "jax", "mlx", "numba", "perform", "torch"])
def test_the_loss_and_its_gradients_are_those_of_torch(backend) -> None:
    people = communities.drawn(120)
    values = communities.compiled(backend, people).slopes()
    for value, target in zip(values, by_torch(people, communities.start()), strict=True):
        np.testing.assert_allclose(value, target, rtol=1e-9, atol=1e-12)


def test_training_tells_the_groups_of_those_who_were_not_asked() -> None:
    before, after, _ = communities.train("perform", communities.drawn(600), steps=60)
    assert before < 0.5
    assert after > 0.75
