"""A small GPT that learns to write the reference of Python's language, character by character.

The text is that of `help()`, which ships with Python as `pydoc_data.topics`: 450 kB. What the network writes is
generated with its cache. `python examples/training.py c` runs this.
"""

from __future__ import annotations

import math
import time
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from networks import gpt

import tg

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

KIND = gpt.Kind(tokens=96, positions=64, layers=3, heads=4, width=128)
BATCH, STEPS = 32, 600
RATE, DECAY, DECAY_OF_SQUARES = 3e-3, 0.9, 0.99  # of Adam
WARM = 50  # steps in which the rate grows


@cache
def text() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The characters to learn from and the last tenth, by their codes: 0 is a newline, 1 to 95 are ASCII's signs."""
    from pydoc_data.topics import topics

    joined = "\n".join(topics[name] for name in sorted(topics))
    codes = np.frombuffer(joined.encode("ascii", "replace"), np.uint8).astype(np.int64) - 31
    codes = np.where((codes >= 1) & (codes < KIND.tokens), codes, 0)
    return codes[: len(codes) * 9 // 10], codes[len(codes) * 9 // 10 :]


def batches(steps: int) -> np.ndarray[Any, Any]:
    """Where each line of each batch begins: (steps, BATCH)."""
    last = len(text()[0]) - KIND.positions
    return np.random.default_rng(3).integers(0, last, (steps, BATCH))


def mean_loss(lines: Any, p: Mapping[str, Any]) -> Any:
    """The mean cross-entropy of each character of lines (n, positions + 1) but the first, by those before it."""
    logits = gpt.gpt(lines[:, :-1], p, KIND)
    return tg.nn.cross_entropy(logits.reshape((-1, KIND.tokens)), lines[:, 1:].reshape((-1,)))


def training_step(p: Mapping[str, tg.Shared], backend: Any) -> Callable[..., Any]:
    """A function of where lines begin and the rate that returns the loss and moves the parameters."""
    dtype = p["wte.weight"].type.dtype
    learnt = tg.shared(text()[0], "text")
    starts, rate = tg.tensor("starts", "int64", (BATCH,)), tg.scalar("rate", dtype)
    loss = mean_loss(learnt[starts[:, None] + tg.arange(KIND.positions + 1)], p)
    updates = tg.optimize.adam(loss, p, learning_rate=rate, b1=DECAY, b2=DECAY_OF_SQUARES)
    return tg.function([starts, rate], loss, updates=updates, backend=backend, name="training_step")


def rate_at(step: int) -> float:
    """A rate that grows for WARM steps and falls by a cosine to a tenth."""
    return RATE * min(1.0, (step + 1) / WARM) * (0.55 + 0.45 * math.cos(math.pi * step / STEPS))


class Result(NamedTuple):
    """What a training gave."""

    losses: np.ndarray[Any, Any]  # of each step, in nats a character
    unseen: float  # the same of the text that was kept back
    seconds: float  # without the first step
    written: str


def train(backend: Any, steps: int = STEPS, dtype: str = "float32", report: Any = None) -> Result:
    """Train on one backend; `report(step, loss)` is called after each step."""
    values = gpt.random_weights(KIND, dtype)
    p = {name: tg.shared(value, name, shape=value.shape) for name, value in values.items()}
    step, losses, spent = training_step(p, backend), [], 0.0
    for k, starts in enumerate(batches(steps)):
        start = time.perf_counter()
        losses.append(float(step(starts, rate_at(k))))
        spent += time.perf_counter() - start if k else 0.0
        if report:
            report(k + 1, losses[-1])
    lines = tg.matrix("lines", "int64")
    kept_back = text()[1][: 300 * (KIND.positions + 1)].reshape(300, -1)
    unseen = float(tg.function([lines], mean_loss(lines, p), backend=backend)(kept_back))
    weights = {name: v.get_value() for name, v in p.items()}
    return Result(np.array(losses), unseen, spent, written(weights, backend, "The "))


def written(p: Mapping[str, Any], backend: Any, beginning: str, seed: int = 4) -> str:
    """What the network writes after a beginning: each character is drawn from what it expects."""
    draw, dtype = np.random.default_rng(seed), p["wte.weight"].dtype.name
    step, caches = gpt.decoder(backend, KIND, dtype=dtype), gpt.no_past(KIND, dtype=dtype)
    codes, logits = [ord(c) - 31 for c in beginning], np.zeros(KIND.tokens)
    for position in range(KIND.positions):
        if position == len(codes):
            shares = np.exp((logits - logits.max()) / 0.8, dtype=np.float64)  # a little bolder than it is
            codes.append(int(draw.choice(KIND.tokens, p=shares / shares.sum())))
        (logits,), caches = step(np.array(codes[position : position + 1]), position, caches, p)
    return "".join(chr(code + 31) if code else "\n" for code in codes)
