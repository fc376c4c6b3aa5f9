"""A recurrent network that learns to close brackets: a GRU over characters, trained beside torch's.

The text is made here: brackets of three kinds, at most DEEP of them open at a time, as in `([]{()})[{`. A bracket may
open or close at random, but what closes is what was opened last, so a network that is right about the kind of each has
learnt to keep a stack. The network is that of `torch.nn.GRU`, its weights have the same names and values:

    r, z = sigmoid(W x + b + U h + c)             two gates: how much of the past n sees, how much of h is kept
    n    = tanh(W x + b + r * (U h + c))          what is new
    h'   = (1 - z) * n + z * h

This file is a tutorial. Read it from top to bottom, or run it: `python examples/gru.py c`.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

OPENING, CLOSING = "([{", ")]}"
CHARACTERS = OPENING + CLOSING
DEEP = 6
LENGTH = 40  # characters of a line that are read; as many are foretold, each from those before it
BATCH = 32
HIDDEN = 48
STEPS = 200
RATE, DECAY, DECAY_OF_SQUARES, TINY = 0.01, 0.9, 0.999, 1e-8  # of Adam


# 1. Data: lines that begin with nothing open.
def line(draw: np.random.Generator, length: int) -> list[int]:
    """A line of brackets, by their numbers in CHARACTERS."""
    stack: list[int] = []
    found = []
    for _ in range(length):
        opens = not stack or (len(stack) < DEEP and draw.uniform() < 0.5)
        if opens:
            stack.append(int(draw.integers(len(OPENING))))
            found.append(stack[-1])
        else:
            found.append(len(OPENING) + stack.pop())
    return found


def lines(count: int, seed: int) -> np.ndarray[Any, Any]:
    """Lines of LENGTH + 1 characters, as columns."""
    draw = np.random.default_rng(seed)
    return np.array([line(draw, LENGTH + 1) for _ in range(count)], np.int64).T


# 2. Parameters: uniform in ± 1 / sqrt(HIDDEN), as torch begins. The three gates r, z and n lie one below the other.
def first_parameters() -> dict[str, np.ndarray[Any, Any]]:
    """The values with which training begins, the same at every call."""
    draw, size = np.random.default_rng(1), len(CHARACTERS)
    shapes = {
        "weight_ih_l0": (3 * HIDDEN, size),
        "weight_hh_l0": (3 * HIDDEN, HIDDEN),
        "bias_ih_l0": (3 * HIDDEN,),
        "bias_hh_l0": (3 * HIDDEN,),
        "weight": (size, HIDDEN),
        "bias": (size,),
    }
    return {name: draw.uniform(-1, 1, shape) / np.sqrt(HIDDEN) for name, shape in shapes.items()}


# 3. The network: a scan over characters. What does not depend on h is computed for all characters before it.
def scores(p: dict[str, tg.Shared], text: tg.Variable) -> tg.Variable:
    """What is foretold after each character: text (t, n) -> scores (t, n, characters), not yet normalised."""
    inputs = p["weight_ih_l0"].T[text] + p["bias_ih_l0"]  # a column of weights for each character: no product
    recurrent = p["weight_hh_l0"].T

    def step(h: Any, x: Any) -> Any:
        g = h @ recurrent + p["bias_hh_l0"]
        r = tg.sigmoid(x[:, :HIDDEN] + g[:, :HIDDEN])
        z = tg.sigmoid(x[:, HIDDEN : 2 * HIDDEN] + g[:, HIDDEN : 2 * HIDDEN])
        n = tg.tanh(x[:, 2 * HIDDEN :] + r * g[:, 2 * HIDDEN :])
        h = (1 - z) * n + z * h
        return h, h

    _, states = tg.scan(step, tg.zeros((text.shape[1], HIDDEN)), inputs)
    return states @ p["weight"].T + p["bias"]


# 4. A training step: Adam, written out as updates of shared variables.
def training_step(p: dict[str, tg.Shared], data: np.ndarray[Any, Any], backend: str) -> Any:
    """A function of the batch's number that returns the loss and moves the parameters."""
    text = tg.shared(data, "text", shape=data.shape)
    k = tg.scalar("k", dtype="int64")
    batch = text[:, k * BATCH : (k + 1) * BATCH]
    found, target = tg.log_softmax(scores(p, batch[:-1])), batch[1:]
    loss = -tg.mean(tg.take_along_axis(found, target[..., None], axis=-1))
    gradients = tg.grad(loss, p)

    count = tg.shared(0.0, "count")
    now = count + 1
    updates = {count: now}
    for name, gradient in gradients.items():
        nothing = np.zeros_like(p[name].get_value())
        mean = tg.shared(nothing, f"mean of {name}", shape=nothing.shape)
        square = tg.shared(nothing, f"square of {name}", shape=nothing.shape)
        updates[mean] = DECAY * mean + (1 - DECAY) * gradient
        updates[square] = DECAY_OF_SQUARES * square + (1 - DECAY_OF_SQUARES) * gradient**2
        size = tg.sqrt(updates[square] / (1 - DECAY_OF_SQUARES**now)) + TINY
        updates[p[name]] = p[name] - RATE * updates[mean] / (1 - DECAY**now) / size
    return tg.function([k], loss, updates=updates, backend=backend, name="training_step")


# 5. How well it closes: of the brackets that close, how many are of the kind that it holds most likely.
def closes_rightly(found: np.ndarray[Any, Any], text: np.ndarray[Any, Any]) -> float:
    """The share of them; found (t, n, characters) are scores, text (t + 1, n)."""
    after = text[1:]
    closing = after >= len(OPENING)
    kinds = np.argmax(found[..., len(OPENING) :], axis=-1) + len(OPENING)
    return float(np.mean(kinds[closing] == after[closing]))


# 6. Training is a plain loop of calls.
class Result(NamedTuple):
    """What a training run gave."""

    backend: str
    first_seconds: float  # until the first step is done: building, compiling, a call
    step_microseconds: float
    losses: np.ndarray[Any, Any]
    right: float  # of the brackets that close in lines that it has not seen
    seconds: float  # all of it


def train(backend: str, steps: int = STEPS, progress: Callable[[int, float], None] | None = None) -> Result:
    """Train on one backend; `progress(step, loss)` is called after each step."""
    data, unseen = lines(steps * BATCH, 2), lines(200, 3)
    began = time.perf_counter()
    p = {name: tg.shared(value, name, shape=value.shape) for name, value in first_parameters().items()}
    step = training_step(p, data, backend)

    def scored() -> Any:
        return prediction(p, backend)(unseen[:-1])

    return _trained(backend, lambda k: float(step(k)), scored, began, steps, progress)


def prediction(p: dict[str, tg.Shared], backend: str) -> Any:
    """A function from text to scores."""
    text = tg.matrix("text", dtype="int64")
    return tg.function([text], scores(p, text), backend=backend, name="prediction")


def _trained(backend: str, step: Any, scored: Any, began: float, steps: int, progress: Any) -> Result:
    losses, spent = [step(0)], 0.0
    first_seconds = time.perf_counter() - began
    for k in range(1, steps):
        start = time.perf_counter()
        losses.append(step(k))
        spent += time.perf_counter() - start
        if progress is not None:
            progress(k + 1, losses[-1])
    right = closes_rightly(np.asarray(scored()), lines(200, 3))
    microseconds = 1e6 * spent / max(steps - 1, 1)
    return Result(backend, first_seconds, microseconds, np.array(losses), right, time.perf_counter() - began)


# 7. The same with torch: its GRU and its derivatives. Its own Adam is this one, and takes seconds to import.
def train_torch(steps: int = STEPS, progress: Callable[[int, float], None] | None = None) -> Result:
    """Train `torch.nn.GRU` from the same parameters on the same batches, on one thread, as tg's own loops run.

    Its threads wait for one another at every product: beside other work two took 20 times as long as one.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _train_torch(torch, steps, progress)
    finally:
        torch.set_num_threads(threads)


def _train_torch(torch: Any, steps: int, progress: Any) -> Result:
    data, unseen = (torch.from_numpy(lines(*which)) for which in ((steps * BATCH, 2), (200, 3)))
    began = time.perf_counter()
    values = {name: torch.from_numpy(value) for name, value in first_parameters().items()}
    size = len(CHARACTERS)
    network = torch.nn.GRU(size, HIDDEN, dtype=torch.float64)
    last = torch.nn.Linear(HIDDEN, size, dtype=torch.float64)
    network.load_state_dict({name: value for name, value in values.items() if name.endswith("_l0")})
    last.load_state_dict({name: values[name] for name in ("weight", "bias")})
    parameters = [*network.parameters(), *last.parameters()]
    moments = [(torch.zeros_like(v), torch.zeros_like(v)) for v in parameters]

    def scored(text: Any) -> Any:
        return last(network(torch.nn.functional.one_hot(text, size).to(torch.float64))[0])

    def step(k: int) -> float:
        batch = data[:, k * BATCH : (k + 1) * BATCH]
        loss = torch.nn.functional.cross_entropy(scored(batch[:-1]).reshape(-1, size), batch[1:].reshape(-1))
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for v, gradient, (mean, square) in zip(parameters, gradients, moments, strict=True):
                mean.mul_(DECAY).add_(gradient, alpha=1 - DECAY)
                square.mul_(DECAY_OF_SQUARES).addcmul_(gradient, gradient, value=1 - DECAY_OF_SQUARES)
                length = (square / (1 - DECAY_OF_SQUARES ** (k + 1))).sqrt_().add_(TINY)
                v.addcdiv_(mean, length, value=-RATE / (1 - DECAY ** (k + 1)))
        return float(loss.detach())

    return _trained("nn.GRU", step, lambda: scored(unseen[:-1]).detach().numpy(), began, steps, progress)


if __name__ == "__main__":
    result = train(
        sys.argv[1] if len(sys.argv) > 1 else "auto",
        progress=lambda k, loss: print(f"step {k:4}: loss {loss:.4f}") if k % 50 == 0 else None,
    )
    print(f"{result.backend}: {100 * result.right:.1f} % of the brackets, {result.step_microseconds:.0f} µs a step")
