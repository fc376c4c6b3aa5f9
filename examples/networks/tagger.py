"""An LSTM that colours Python: for each character of a line whether it is of a keyword, a name, a number, a text, ….

The lines are those of modules that ship with Python, and `tokenize` says what they are. They have other lengths, so a
batch is padded. `python examples/networks/tagger.py c` trains it and shows a line of a module that it has not seen.
"""

from __future__ import annotations

import argparse
import inspect
import io
import keyword
import statistics
import sys
import textwrap
import tokenize
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tg

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    Array = np.ndarray[Any, Any]

SIGNS, LONGEST, WIDTH, BATCH, STEPS, RATE = 96, 80, 64, 32, 400, 1e-2  # sign 0 pads
TAGS = {" ": "space", "k": "keyword", "n": "name", "0": "number", "t": "text", "#": "comment", ".": "operator"}
KINDS = {tokenize.NUMBER: "0", tokenize.STRING: "t", tokenize.COMMENT: "#", tokenize.OP: "."}


def lines(module: ModuleType) -> list[tuple[str, str]]:
    """The lines of a module and a sign of TAGS for each character; those within texts of several lines are left out."""
    source = inspect.getsource(module)
    texts = source.splitlines()
    tags, is_whole = [[" "] * len(text) for text in texts], [bool(text.strip()) for text in texts]
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        (row, begin), (last, end) = token.start, token.end
        if row != last:
            is_whole[row - 1 : last] = [False] * (last - row + 1)
        elif token.type in KINDS or token.type == tokenize.NAME:
            name = "k" if keyword.iskeyword(token.string) else "n"
            tags[row - 1][begin:end] = KINDS.get(token.type, name) * (end - begin)
    rows = zip(texts, tags, is_whole, strict=True)
    return [(text, "".join(tag)) for text, tag, whole in rows if whole and len(text) <= LONGEST]


def padded(rows: list[tuple[str, str]]) -> tuple[Array, Array, Array]:
    """The signs of lines (n, LONGEST), their tags, and how long each line is."""
    signs, tags = np.zeros((2, len(rows), LONGEST), np.int64)
    for k, (text, tag) in enumerate(rows):
        codes = np.array([ord(c) - 31 for c in text])
        signs[k, : len(text)] = np.where((codes > 0) & (codes < SIGNS), codes, 1)
        tags[k, : len(text)] = [list(TAGS).index(t) for t in tag]
    return signs, tags, np.array([len(text) for text, _ in rows])


class Tagger(tg.nn.Module):
    """Both directions of an LSTM over the signs of lines."""

    def __init__(self) -> None:
        self.signs = tg.nn.Embedding(SIGNS, WIDTH // 2, padding_idx=0)
        self.lstm = tg.nn.LSTM(WIDTH // 2, WIDTH, bidirectional=True, axis=1)
        self.head = tg.nn.Dense(2 * WIDTH, len(TAGS))

    def __call__(self, signs: Any, lengths: Any) -> Any:
        """The logits (n, LONGEST, tags) of the signs (n, LONGEST) of lines of these lengths (n)."""
        states, _ = self.lstm(self.signs(signs), lengths=lengths)
        return self.head(states)


def training_step(model: Tagger, backend: Any, steps: int) -> Callable[..., Any]:
    """A function of padded lines that returns the mean loss of a character and moves the weights."""
    signs, tags, lengths = tg.matrix("signs", "int64"), tg.matrix("tags", "int64"), tg.vector("lengths", "int64")
    logits = tg.swapaxes(model(signs, lengths), 1, 2)
    counts = tg.arange(signs.shape[1]) < lengths[:, None]
    loss = tg.nn.cross_entropy(logits, tg.where(counts, tags, -100))  # which counts for no class
    rate = tg.optimize.cosine_decay_schedule(RATE, steps)
    updates = tg.optimize.adam(loss, tg.nn.params(model), learning_rate=rate)
    return tg.function([signs, tags, lengths], loss, updates=updates, backend=backend, name="training_step")


class Result(NamedTuple):
    """The model, the loss of each step, and the share of characters of the unseen module that are tagged right."""

    model: Tagger
    losses: list[float]
    accuracy: float
    tagged: list[tuple[str, str]]


def train(backend: Any, steps: int = STEPS) -> Result:
    """Train on the lines of two modules and tag those of a third."""
    model = tg.nn.randomized(Tagger(), tg.random.key(1))
    step, data = training_step(model, backend, steps), padded([*lines(argparse), *lines(inspect)])
    batches = tg.data.batches(data, BATCH, key=tg.random.key(2))
    losses = [float(step(*batch)) for batch, _ in zip(batches, range(steps), strict=False)]
    rows = [*lines(statistics), *lines(textwrap)]
    signs, tags, lengths = padded(rows)
    given = tg.matrix("signs", "int64"), tg.vector("lengths", "int64")
    found = tg.function(given, tg.argmax(model(*given), axis=-1), backend=backend)(signs, lengths)
    counts = np.arange(LONGEST) < lengths[:, None]
    signs_of_tags = np.array(list(TAGS))[found]
    tagged = [(text, "".join(tag[: len(text)])) for (text, _), tag in zip(rows, signs_of_tags, strict=True)]
    return Result(model, losses, float(np.mean((found == tags)[counts])), tagged)


def main(backend: str = "c") -> None:
    result = train(backend)
    print(f"{backend}: {result.losses[0]:.2f} nats a character at first, {np.mean(result.losses[-20:]):.3f} at the end")
    print(f"{100 * result.accuracy:.2f} % of the characters of unseen modules: {TAGS}")
    for text, tag in result.tagged[40:46]:
        print(f"{text}\n{tag}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
