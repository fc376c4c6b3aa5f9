"""Convolutions with epilogues in one program: equal ones are written once."""

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
