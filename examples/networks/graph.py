"""A graph network that finds communities: who belongs to which group, by whom one knows, where few say it themselves.

Each node has a few numbers that hint at its group and neighbours that are mostly of its own. A layer sums over edges:
`zeros.at[target].add(messages)`, a sum by segments. `python examples/networks/graph.py c` trains it, and for comparison
the same network without edges.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]

NODES, GROUPS, FEATURES, WIDTH, LAYERS = 600, 4, 8, 32, 3
WITHIN, ACROSS, TOLD = 0.03, 0.004, 40  # the shares of pairs that know each other, and how many say their group
STEPS, RATE = 150, 1e-2


class Graph(NamedTuple):
    """Numbers of nodes, edges in both directions, groups, and the nodes whose group is told."""

    features: Array  # (NODES, FEATURES)
    edges: Array  # (2, number): from, to
    groups: Array  # (NODES)
    told: Array  # (TOLD)


def drawn(seed: int, dtype: str = "float32") -> Graph:
    """A graph whose groups are known: a stochastic block model."""
    draw = np.random.default_rng(seed)
    groups = draw.integers(0, GROUPS, NODES)
    knows = draw.random((NODES, NODES)) < np.where(groups[:, None] == groups, WITHIN, ACROSS)
    knows = np.triu(knows, 1)
    edges = np.stack(np.nonzero(knows | knows.T))
    features = draw.normal(size=(NODES, FEATURES)) + 0.4 * draw.normal(size=(GROUPS, FEATURES))[groups]
    return Graph(features.astype(dtype), edges, groups, draw.choice(NODES, TOLD, replace=False))


class Layer(tg.nn.Module):
    """A node's own numbers, and the mean of those of its neighbours."""

    def __init__(self, inner: int, outer: int) -> None:
        self.own, self.others = tg.nn.Dense(inner, outer), tg.nn.Dense(inner, outer, bias=False)

    def __call__(self, x: Any, edges: Any) -> Any:
        source, target = edges[0], edges[1]
        count = tg.zeros(x.shape[:1], x.type.dtype).at[target].add(1)
        total = tg.zeros(x.shape, x.type.dtype).at[target].add(x[source])
        return self.own(x) + self.others(total / tg.maximum(count, 1)[:, None])


class Network(tg.nn.Module):
    """Layers, so that a node hears of those LAYERS edges away."""

    def __init__(self) -> None:
        self.layers = [Layer(WIDTH if k else FEATURES, WIDTH) for k in range(LAYERS)]
        self.head = tg.nn.Dense(WIDTH, GROUPS)
        self.dropout = tg.nn.Dropout(0.5)

    def __call__(self, x: Any, edges: Any, *, training: bool, key: Any = None) -> Any:
        """The logits (n, GROUPS) of the groups of nodes (n, FEATURES)."""
        for layer in self.layers:
            x = tg.relu(layer(x, edges))
        return self.head(self.dropout(x, training=training, key=key))


def inputs(model: Network) -> tuple[Any, Any]:
    """Numbers of nodes, and edges."""
    x = tg.matrix("x", model.head.weight.type.dtype, shape=(None, FEATURES))
    return x, tg.matrix("edges", "int64", shape=(2, None))


def training_step(model: Network, backend: Any) -> Callable[..., Any]:
    """A function of a graph that returns the loss of the nodes that are told and moves the weights."""
    (x, edges), groups, told = inputs(model), tg.vector("groups", "int64"), tg.vector("told", "int64")
    logits = model(x, edges, training=True, key=tg.random.RandomStream(5).key())
    loss = tg.nn.cross_entropy(logits[told], groups[told])
    updates = tg.optimize.adamw(loss, tg.nn.params(model), learning_rate=RATE)
    return tg.function([x, edges, groups, told], loss, updates=updates, backend=backend, name="training_step")


class Result(NamedTuple):
    """The model, the loss of each step, and how often it is right about nodes that do not say their group."""

    model: Network
    losses: list[float]
    accuracy: float


def train(backend: Any, graph: Graph, steps: int = STEPS) -> Result:
    """Train on one graph: all nodes and edges are known, few groups are."""
    model = tg.nn.randomized(Network(), tg.random.key(1), graph.features.dtype.name)
    step = training_step(model, backend)
    losses = [float(step(*graph)) for _ in range(steps)]
    x, edges = inputs(model)
    most_likely = tg.argmax(model(x, edges, training=False), axis=-1)
    found = tg.function([x, edges], most_likely, backend=backend)(graph.features, graph.edges)
    others = np.setdiff1d(np.arange(NODES), graph.told)
    return Result(model, losses, float(np.mean((found == graph.groups)[others])))


def main(backend: str = "c") -> None:
    graph = drawn(2)
    print(f"{NODES} nodes, {graph.edges.shape[1]} edges, {TOLD} nodes tell which of {GROUPS} groups they belong to")
    for name, edges in (("with edges", graph.edges), ("without", graph.edges[:, :0])):
        result = train(backend, graph._replace(edges=edges))
        print(f"{backend}, {name}: loss {result.losses[-1]:.3f}, right for {100 * result.accuracy:.1f} % of the others")


if __name__ == "__main__":
    main(*sys.argv[1:2])
