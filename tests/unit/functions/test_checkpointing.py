"""`checkpointing=`: the same bits with less memory, by layers, by segments and within a limit of bytes."""

import pickle

import numpy as np
import pytest

import tg
from tg.link.memory import peak_bytes
from tg.ops.control import Call
from tg.ops.shape import Transpose

BACKENDS = ("perform", "c", "numba")
WAYS = ("layers", "sqrt", 40_000)


class Block(tg.nn.Module):
    def __init__(self, width):
        self.norm = tg.nn.BatchNorm(width)
        self.first = tg.nn.Dense(width, 2 * width)
        self.second = tg.nn.Dense(2 * width, width)

    def __call__(self, x, *, training, key):
        y = tg.nn.dropout(tg.tanh(self.first(self.norm(x, training=training))), 0.3, key)
        return x + self.second(y)


def trained(backend, checkpointing, blocks=6, width=8, batch=32, steps=2):
    """The losses of steps of training and the weights and statistics after them, and the function."""
    net = tg.nn.Sequential(*(Block(width) for _ in range(blocks)), tg.nn.Dense(width, 1))
    net = tg.nn.randomized(net, tg.random.key(0))
    x = tg.matrix("x", "float32", shape=(batch, width))
    loss = tg.mean(tg.square(net(x, training=True, key=tg.random.RandomStream(3).key())))
    updates = tg.optimize.sgd(loss, tg.nn.params(net), learning_rate=0.1)
    f = tg.function([x], loss, updates=updates, backend=backend, checkpointing=checkpointing)
    data = np.random.default_rng(1).normal(size=(batch, width)).astype("float32")
    losses = [f(data) for _ in range(steps)]
    weights = {**tg.nn.params(net), **tg.nn.state(net)}
    return [np.array(losses), *(v.get_value() for v in weights.values())], f


def peak(f, *shapes):
    """The estimate of the bytes that a program needs at a time."""
    return peak_bytes(f.graph, [*shapes, *(s.get_value().shape for s in f.request.sources)])


def chain(layers=12, width=4, batch=64):
    """The weights and the loss of equal layers, and their input."""
    rng = np.random.default_rng(0)
    weights = [tg.shared(rng.normal(size=(width, width))) for _ in range(layers)]
    h = x = tg.matrix("x", shape=(batch, width))
    for w in weights:
        h = tg.tanh(h @ w)
    return x, weights, tg.sum(h)


def calls(f):
    return [node for node in f.graph.nodes if isinstance(node.op, Call)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.long
def test_training_gives_the_same_bits(backend):
    expected, _ = trained(backend, "none")
    for way in WAYS:
        values, f = trained(backend, way)
        assert calls(f)
        for a, b in zip(values, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_training_on_the_reference_gives_the_same_bits():
    expected, values = (trained("perform", way, blocks=2, steps=1)[0] for way in ("none", "sqrt"))
    for a, b in zip(values, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_calls_hand_on_cotangents_and_no_transposed_copies_of_them():
    """A product of a copy may have other bits than one of a view: OpenBLAS has kernels for each."""
    net = tg.nn.Sequential(*(layer for _ in range(16) for layer in (tg.nn.Dense(8, 8), tg.tanh)))
    net = tg.nn.randomized(net, tg.random.key(4))
    x = tg.matrix("x", "float32", shape=(64, 8))
    gradients = tg.grad(tg.mean(tg.square(net(x))), tg.nn.params(net))
    f = tg.function([x], gradients, checkpointing="sqrt", backend="perform")
    assert len(calls(f)) > 3
    for call in calls(f):
        inner = call.op.graph
        copied = [
            n for n in inner.nodes if isinstance(n.op, Transpose) and not set(n.outputs).isdisjoint(inner.outputs)
        ]
        assert not copied
    values = np.random.default_rng(5).normal(size=(64, 8)).astype("float32")
    for backend in ("c", "numba"):
        every = tg.function([x], gradients, backend=backend)(values)
        again = tg.function([x], gradients, backend=backend, checkpointing="sqrt")(values)
        assert all(np.array_equal(again[path], every[path]) for path in every)


@pytest.mark.parametrize("way", WAYS)
def test_gradients_are_those_of_torch(way):
    torch = pytest.importorskip("torch")
    x, weights, loss = chain()
    f = tg.function([x], tg.grad(loss, weights), backend="perform", checkpointing=way)
    data = np.random.default_rng(2).normal(size=(64, 4))
    theirs = [torch.tensor(w.get_value(), requires_grad=True) for w in weights]
    h = torch.tensor(data)
    for w in theirs:
        h = torch.tanh(h @ w)
    h.sum().backward()
    for a, w in zip(f(data), theirs, strict=True):
        np.testing.assert_allclose(a, w.grad, rtol=1e-10, atol=1e-12)


def test_square_root_of_the_layers_needs_less_than_half_of_the_memory():
    x, weights, loss = chain(layers=32)
    gradient = tg.grad(loss, weights)
    plain, sqrt = (tg.function([x], gradient, backend="perform", checkpointing=w) for w in ("none", "sqrt"))
    assert peak(sqrt, (64, 4)) < 0.4 * peak(plain, (64, 4))
    assert len(calls(sqrt)) == 8  # tanh's operands and results are 64 arrays


def test_blocks_of_a_sequential_are_layers():
    _, f = trained("perform", "layers")
    again = [sum(node.op.rule_key is tg.tanh for node in call.op.graph.nodes) for call in calls(f)]
    assert again.count(1) >= 5  # the tanh of a block, once for each block


def test_limit_is_met_by_the_estimate():
    x, weights, loss = chain(layers=32)
    f = tg.function([x], tg.grad(loss, weights), backend="perform", checkpointing=70_000)
    assert peak(f, (64, 4)) <= 70_000


def test_limit_that_needs_nothing_changes_nothing():
    x, weights, loss = chain(layers=4)
    f = tg.function([x], tg.grad(loss, weights), backend="perform", checkpointing=10**9)
    assert not calls(f)


def test_limit_out_of_reach_says_the_least():
    x, weights, loss = chain(layers=8)
    with pytest.raises(tg.OptionError, match=r"found 1,000 bytes, needed at least [\d,]+"):
        tg.function([x], tg.grad(loss, weights), backend="perform", checkpointing=1000)


def test_limit_needs_known_lengths():
    x = tg.matrix("x")
    with pytest.raises(tg.OptionError, match="needed lengths that are known"):
        tg.function([x], tg.grad(tg.sum(tg.tanh(x)), x), backend="perform", checkpointing=1000)


def test_batches_of_unknown_length():
    w = [tg.shared(np.eye(3) * 0.5) for _ in range(9)]
    h = x = tg.matrix("x")
    for v in w:
        h = tg.tanh(h @ v + tg.mean(h, axis=0))
    data = np.random.default_rng(3).normal(size=(5, 3))
    gradient = tg.grad(tg.mean(h), w)
    plain, sqrt = (tg.function([x], gradient, backend="perform", checkpointing=way) for way in ("none", "sqrt"))
    assert calls(sqrt)
    for a, b in zip(plain(data), sqrt(data), strict=True):
        np.testing.assert_array_equal(a, b)


def test_pickled_function_keeps_its_segments():
    _, f = trained("perform", "sqrt")
    g = pickle.loads(pickle.dumps(f))
    assert len(calls(g)) == len(calls(f)) > 0


def test_configuration_decides_where_a_function_does_not():
    x, weights, loss = chain()
    with tg.config(checkpointing="sqrt"):
        assert calls(tg.function([x], tg.grad(loss, weights), backend="perform"))
        assert not calls(tg.function([x], tg.grad(loss, weights), backend="perform", checkpointing="none"))


@pytest.mark.parametrize("value", ["all", -1, True, 1.5])
def test_other_values_are_refused(value):
    x = tg.scalar("x")
    with pytest.raises(tg.OptionError, match="checkpointing: found"):
        tg.function([x], x, checkpointing=value)


def test_program_without_a_gradient_stays_as_it_is():
    x = tg.vector("x")
    assert not calls(tg.function([x], tg.sum(tg.tanh(x)), backend="perform", checkpointing="sqrt"))


def test_checks_are_those_of_the_plain_program():
    x, k = tg.vector("x", shape=(4,)), tg.scalar("k", "int64")
    h = x
    for _ in range(9):
        h = tg.tanh(h) * h[k]
    f = tg.function([x, k], tg.grad(tg.sum(h), x), backend="perform", checkpointing="sqrt")
    with pytest.raises(IndexError):
        f(np.ones(4), 4)


def test_lengths_that_both_directions_ask_for_are_of_neither():
    w = [tg.shared(np.eye(3), f"w{k}") for k in range(9)]
    h = x = tg.matrix("x", shape=(5, 3))
    for v in w:
        h = tg.tanh(tg.nn.layer_norm(h @ v))
    f = tg.function([x], tg.grad(tg.mean(h), w), backend="perform", checkpointing="sqrt")
    assert len(calls(f)) > 2
