"""Convolutions with epilogues in one program: equal ones are written once."""

import re

import numpy as np
import pytest

import tg
from tg_native.convolutions.windows import Windows


@pytest.fixture
def written(monkeypatch):
    """The convolutions whose functions are written."""
    found, plain = [], Windows._write

    def write(self):
        found.append(self)
        plain(self)

    monkeypatch.setattr(Windows, "_write", write)
    return found


def chain(activations):
    """How many convolutions run an epilogue, in a program of as many as there are activations."""
    x, y = (tg.tensor("x", "float32", (None, 8, 9, 9)),) * 2
    w = [tg.tensor(f"w{k}", "float32", (8, 8, 3, 3)) for k in range(len(activations))]
    b = [tg.tensor(f"b{k}", "float32", (8, 1, 1)) for k in range(len(activations))]
    for activation, kernel, shift in zip(activations, w, b, strict=True):
        y = activation(tg.nn.conv2d(y, kernel, padding=1) + shift)
    f = tg.function([x, *w, *b], y, backend="c")
    return [node.op.name for node in f.graph.nodes].count("WithEpilogue")


def test_equal_blocks_are_written_once(written):
    assert chain([tg.relu] * 4) == 4
    assert len(written) == 1


def test_other_programs_on_results_are_written_each(written):
    assert chain([tg.relu, tg.tanh, tg.relu, tg.tanh]) == 4
    assert len(written) == 2


def test_an_update_by_a_clipped_gradient_reads_whole_rows():
    """As does the sum of its squares: with the gradient as it comes out, both read windows of nine elements."""
    x, w = tg.tensor("x", "float32", (None, 5, 6, 7)), tg.shared(np.zeros((4, 5, 3, 3), "float32"), shape=(4, 5, 3, 3))
    loss = tg.sum(tg.nn.conv2d(x, w, padding=1) ** 2)
    gradients = tg.optimize.clip_by_global_norm(tg.grad(loss, [w]), 0.5)
    updates = tg.optimize.sgd(None, [w], learning_rate=1.0, gradients=gradients)
    text = tg.function([x], [], updates=updates, backend="c").source()
    assert "180" in text  # the elements of a row
    assert re.search(r"\* 9;", text) is None


def test_one_function_reads_held_images_and_images_as_they_lie():
    x, w = tg.tensor("x", "float32", (None, 3, 9, 9)), tg.tensor("w", "float32", (16, 3, 2, 2))
    f = tg.function([x, w], [tg.nn.conv2d(x, w, padding=1), tg.nn.conv2d(x, w)], backend="c")
    images = [*re.finditer(r"void tg_convolved_tiles\w*\((.*?) \*p0,", f.source(full=True))]
    assert [match[1] for match in images] == ["const f32"]  # else compilers warn of what the second call discards
