"""Which loops run beside the convolutions whose results they read."""

import numpy as np
import pytest

import tg
from tg import plugin
from tg.graph.function_graph import freeze
from tg.graph.interpret import interpret
from tg.link.timed import text_of
from tg.types.tensor_type import TensorType
from tg_native.fusion.epilogue import WithEpilogue, with_epilogues
from tg_native.fusion.fused import fuse
from tg_native.fusion.fusion import Choices

X = tg.tensor("x", shape=(2, 3, 6, 6))
W, V = (tg.tensor(name, shape=(4, 3, 3, 3)) for name in "wv")
B = tg.tensor("b", shape=(4,))


def lowered(inputs, *outputs):
    """The program as written and as lowered, which compute the same."""
    before = freeze(inputs, [*outputs])
    found = with_epilogues(fuse(before, Choices(ends=lambda node, graph: True)))
    draw = np.random.default_rng(1)
    arrays = [draw.normal(size=v.type.shape) for v in inputs]
    for a, b in zip(interpret(before, arrays), interpret(found, arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    return found


def names(found):
    views = ("ExpandDims", "Squeeze", "Reshape")
    return [node.op.name for node in found.nodes if node.op.name not in views]


@pytest.mark.parametrize(
    "y",
    [
        tg.nn.conv2d(X, W, B),
        tg.tanh(tg.nn.conv2d(X, W, B)) * 2,
        tg.nn.conv2d(X, W, B)[None] * 2 + 1,
        tg.nn.conv2d(tg.concat([X, X], 1), tg.concat([W, W], 0), tg.concat([B, B]), groups=2) * 2,
    ],
    ids=["one op", "a loop", "under views", "groups"],
)
def test_what_alone_reads_a_convolution_runs_beside_it(y):
    found = names(lowered([X, W, B], y))
    assert found[-1] == "WithEpilogue"
    assert not {"Convolution", "Loop", "Elementwise"} & set(found)


def test_a_loop_over_two_convolutions_runs_beside_the_last():
    found = lowered([X, W, V, B], tg.tanh(tg.nn.conv2d(X, W) + tg.nn.conv2d(X * 2, V, B)))
    assert names(found).count("Convolution") == names(found).count("WithEpilogue") == 1


@pytest.mark.parametrize(
    "outputs",
    [
        (lambda y: tg.tanh(y) * 2, lambda y: y),
        (lambda y: (y - tg.mean(y)) * 2,),
        (lambda y: tg.sum(tg.tanh(y) * 2),),
        (lambda y: tg.permute_dims(y, (0, 1, 3, 2)) * 2 + 1,),
        (lambda y: y * tg.zeros((5, 2, 4, 4, 4)) + 1,),
        (lambda y: tg.cast(y, "float32") * 2,),
    ],
    ids=["read elsewhere", "its mean is read", "a sum", "another order", "repeated", "another dtype"],
)
def test_other_loops_stay_where_they_are(outputs):
    y = tg.nn.conv2d(X, W)
    assert "WithEpilogue" not in names(lowered([X, W], *(output(y) for output in outputs)))


def test_it_infers_what_the_loop_stores_and_says_what_it_does():
    found = lowered([X, W, B], tg.tanh(tg.nn.conv2d(X, W, B)) * 2)
    (node,) = (node for node in found.nodes if type(node.op) is WithEpilogue)
    shapes = [(2, 1, 3, 6, 6), (1, 4, 3, 3, 3)]
    (made,) = node.op.infer(*(TensorType("float64", s) for s in shapes), *(found.types[n] for n in node.inputs[2:]))
    assert made == TensorType("float64", (2, 4, 4, 4))
    assert text_of(node.op) == "loop of Convolution, add, tanh, multiply"
    assert tg.parse(tg.to_text(found)) == found
    (family,) = (f for f in plugin.registry().families() if WithEpilogue in f.ops)
    assert family.is_lowered


def test_a_value_and_a_view_of_it_are_stored_once():
    y = tg.tanh(X) * 2
    found = fuse(freeze([X], [y[None], y]))
    (loop,) = (node for node in found.nodes if node.op.name == "Loop")
    assert len(loop.outputs) == 1
    for a, b in zip(interpret(found, [np.ones((2, 3, 6, 6))]), ((1, 2, 3, 6, 6), (2, 3, 6, 6)), strict=True):
        np.testing.assert_array_equal(a, np.full(b, np.tanh(1.0) * 2))
