"""Communities: a graph network that tells the group of each of 2,000 people by who knows whom, from 5 % of the answers.

A layer takes of each person the mean over the person and those that they know, weighed by how many these know (Kipf and
Welling, Semi-supervised classification with graph convolutional networks, ICLR 2017):

    H' = relu(P H W)        P = D^-1/2 (A + I) D^-1/2

P is sparse, so a layer is a product with P, and its gradient one with the transpose of P. Most features of a person say
nothing of the group: what tells it is the company.

    python examples/communities.py c 2000
"""

from __future__ import annotations

import sys
import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

import tg

GROUPS, FEATURES, HIDDEN = 4, 16, 16
ANSWERS = 0.05  # of the people, whose group is told
NEAR, FAR = 12.0, 4.0  # acquaintances inside the own group, and outside
RATE, DECAY = 0.02, 5e-4

Array = np.ndarray[Any, Any]


# 1. The data: who knows whom, features, groups, and whose group is told.
class People(NamedTuple):
    """Acquaintances (n, n), features (n, d), groups (n,), and whether each group is told (n,)."""

    knows: scipy.sparse.csr_array
    features: Array
    group: Array
    told: Array


def drawn(n: int, seed: int = 0) -> People:
    """People of a stochastic block model, whose features depend a little on the group."""
    draws = np.random.default_rng(seed)
    group = np.sort(draws.integers(GROUPS, size=n))
    pairs = draws.integers(n, size=(2, int(n * GROUPS * max(NEAR, FAR))))
    is_near = group[pairs[0]] == group[pairs[1]]
    share = np.where(is_near, NEAR / max(NEAR, FAR), FAR / max(NEAR, FAR) / (GROUPS - 1)) / 2
    i, j = pairs[:, (draws.random(pairs.shape[1]) < share) & (pairs[0] != pairs[1])]
    knows = scipy.sparse.csr_array((np.ones(2 * len(i)), (np.append(i, j), np.append(j, i))), shape=(n, n))
    knows.data[:] = 1
    centres = draws.normal(size=(GROUPS, FEATURES)) * 0.3
    features = centres[group] + draws.normal(size=(n, FEATURES))
    return People(knows, features, group, draws.random(n) < ANSWERS)


def spread(knows: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """The matrix P of a layer."""
    whole = knows + scipy.sparse.eye_array(knows.shape[0])
    root = scipy.sparse.diags_array(1 / np.sqrt(whole.sum(axis=1)))
    return scipy.sparse.csr_array(root @ whole @ root)


# 2. The network: two layers, and the loss over those whose group is told.
def start(seed: int = 1) -> dict[str, Array]:
    """Weights of the two layers."""
    draws = np.random.default_rng(seed)
    return {
        "first": draws.normal(size=(FEATURES, HIDDEN)) / np.sqrt(FEATURES),
        "second": draws.normal(size=(HIDDEN, GROUPS)) / np.sqrt(HIDDEN),
    }


def scores(weights: Any, people: People) -> tg.Variable:
    """A score of each group for each person, (n, groups)."""
    p = tg.sparse.csr(spread(people.knows))
    hidden = tg.maximum(p @ (people.features @ weights["first"]), 0)
    return p @ (hidden @ weights["second"])


def loss(weights: Any, people: People) -> tg.Variable:
    """The mean of -log(probability of the group) over those whose group is told, and the decay of weights."""
    logs = tg.log_softmax(scores(weights, people), axis=-1)
    (told,) = np.nonzero(people.told)
    right = logs[told, people.group[told]]
    return -tg.mean(right) + DECAY * tg.sum(weights["first"] ** 2)


class Network(NamedTuple):
    """Functions of the weights: a step of Adam in place, the loss with its gradients, and the scores."""

    weights: dict[str, Any]
    step: tg.Function
    slopes: tg.Function
    scores: tg.Function


def compiled(backend: str, people: People) -> Network:
    """The functions on a backend."""
    weights = {name: tg.shared(value, name=name) for name, value in start().items()}
    value = loss(weights, people)
    slopes = tg.grad(value, list(weights.values()))
    step = tg.function(
        [], value, updates=tg.optimize.adam(value, list(weights.values()), learning_rate=RATE), backend=backend
    )
    return Network(
        weights,
        step,
        tg.function([], [value, *slopes], backend=backend),
        tg.function([], scores(weights, people), backend=backend),
    )


# 3. Training.
def train(backend: str, people: People, steps: int = 150) -> tuple[float, float, float]:
    """Share of people outside the answers whose group is told right, before and after, and seconds of a step."""
    network = compiled(backend, people)

    def right() -> float:
        return float(np.mean((network.scores().argmax(-1) == people.group)[~people.told]))

    before = right()
    network.step()
    begin = time.perf_counter()
    for _ in range(steps - 1):
        network.step()
    return before, right(), (time.perf_counter() - begin) / (steps - 1)


def main(backend: str, n: int) -> None:
    """Train, and print what came of it."""
    people = drawn(n)
    before, after, seconds = train(backend, people)
    print(f"{n} people, {people.knows.nnz // 2} acquaintances, {people.told.sum()} answers, on {backend}")
    print(f"{before:.0%} of the others' groups right before training, {after:.0%} after; {seconds * 1e3:.1f} ms a step")


if __name__ == "__main__":
    main(*(sys.argv[1:2] or ["c"]), int(sys.argv[2]) if len(sys.argv) > 2 else 2000)
