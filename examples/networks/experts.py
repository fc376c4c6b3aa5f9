"""A small GPT with mixtures of experts: each character goes to two of four networks, as long as these have room.

The text is that of `characters.py`. `cd examples; python -m networks.experts c` trains it and says what the experts do.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from networks.characters import text

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]

TOKENS, POSITIONS, LAYERS, HEADS, WIDTH = 96, 64, 2, 4, 64
EXPERTS, CHOICES, ROOM, BALANCE = 4, 2, 1.25, 0.02  # ROOM: slots beyond those of experts that are chosen alike
BATCH, STEPS, RATE = 16, 500, 1e-2


class Experts(tg.nn.Module):
    """Networks of which each token of a line has the results of CHOICES, by the weights that a router gives them."""

    def __init__(self) -> None:
        self.router = tg.nn.Dense(WIDTH, EXPERTS, bias=False)
        net = tg.nn.Sequential(tg.nn.Dense(WIDTH, 2 * WIDTH), tg.nn.gelu, tg.nn.Dense(2 * WIDTH, WIDTH))
        self.nets = tg.nn.Ensemble(net, EXPERTS)

    def __call__(self, x: Any) -> tuple[Any, Any]:
        """The results (n, t, WIDTH) for x (n, t, WIDTH), and where tokens went; those without a slot have 0."""
        slots = int(ROOM * CHOICES * POSITIONS / EXPERTS)
        routing = tg.nn.top_k_routing(self.router(x), CHOICES, slots)
        given = tg.einsum("ntec,ntd->encd", routing.dispatch.astype(x.type.dtype), x)
        return tg.einsum("ntec,encd->ntd", routing.combine, self.nets(given, axis=0)), routing


class Block(tg.nn.Module):
    """Attention to what came before, and experts."""

    def __init__(self) -> None:
        self.norms = [tg.nn.LayerNorm(WIDTH), tg.nn.LayerNorm(WIDTH)]
        self.attention, self.experts = tg.nn.Attention(WIDTH, HEADS), Experts()

    def __call__(self, x: Any) -> tuple[Any, Any]:
        x = x + self.attention(self.norms[0](x), is_causal=True)
        y, routing = self.experts(self.norms[1](x))
        return x + y, routing


class Network(tg.nn.Module):
    """Characters and positions embedded, blocks, and logits by the embedding of characters."""

    def __init__(self) -> None:
        self.tokens, self.positions = tg.nn.Embedding(TOKENS, WIDTH), tg.nn.Embedding(POSITIONS, WIDTH)
        self.blocks, self.norm = [Block() for _ in range(LAYERS)], tg.nn.LayerNorm(WIDTH)

    def __call__(self, tokens: Any) -> tuple[Any, list[Any]]:
        """The logits (n, t, TOKENS) of what follows tokens (n, t), and the routing of each block."""
        x, routings = self.tokens(tokens) + self.positions.weight, []
        for block in self.blocks:
            x, routing = block(x)
            routings.append(routing)
        return self.norm(x) @ self.tokens.weight.T * WIDTH**-0.5, routings


def costs(model: Network, lines: Any) -> tuple[Any, Any, Any]:
    """The mean cross-entropy of characters, the loss of balance, and the shares (LAYERS, EXPERTS) of choices."""
    logits, routings = model(lines[:, :-1])
    loss = tg.nn.cross_entropy(tg.swapaxes(logits, 1, 2), lines[:, 1:])
    shares = [tg.mean(tg.sum(r.dispatch, axis=-1), axis=(0, 1)) / CHOICES for r in routings]
    return loss, sum(tg.mean(r.loss) for r in routings), tg.stack(shares)


def training_step(model: Network, backend: Any, steps: int) -> Callable[..., Any]:
    """A function of where lines begin that returns the loss of characters and moves the weights."""
    learnt, starts = tg.shared(text()[0], "text"), tg.tensor("starts", "int64", (BATCH,))
    loss, balance, _ = costs(model, learnt[starts[:, None] + tg.arange(POSITIONS + 1)])
    rate = tg.optimize.warmup_cosine_decay_schedule(0.0, RATE, max(steps // 10, 1), steps, RATE / 10)
    updates = tg.optimize.adam(loss + BALANCE * balance, tg.nn.params(model), learning_rate=rate, b2=0.99)
    return tg.function([starts], loss, updates=updates, backend=backend, name="training_step")


class Result(NamedTuple):
    """The model, the loss of each step in nats a character, that of unseen text, and what experts have to do there."""

    model: Network
    losses: list[float]
    unseen: float
    shares: Array


def train(backend: Any, steps: int = STEPS) -> Result:
    """Train, and look at the text that was kept back."""
    model = tg.nn.randomized(Network(), tg.random.key(1))
    step, draw = training_step(model, backend, steps), np.random.default_rng(3)
    starts = draw.integers(0, len(text()[0]) - POSITIONS, (steps, BATCH))
    losses = [float(step(batch)) for batch in starts]
    lines = tg.tensor("lines", "int64", (None, POSITIONS + 1))
    kept_back = text()[1][: 200 * (POSITIONS + 1)].reshape(200, -1)
    loss, _, shares = costs(model, lines)
    unseen, found = tg.function([lines], [loss, shares], backend=backend)(kept_back)
    return Result(model, losses, float(unseen), np.asarray(found))


def main(backend: str = "c") -> None:
    result = train(backend)
    print(f"{backend}: {result.losses[0]:.2f} nats a character at first, {result.unseen:.3f} of unseen text at the end")
    for k, shares in enumerate(result.shares):
        each = ", ".join(f"{100 * share:.0f}" for share in shares)
        print(f"block {k}: the experts have {each} % of the choices, {100 * (1 - shares.sum()):.1f} % found no room")


if __name__ == "__main__":
    main(*sys.argv[1:2])
