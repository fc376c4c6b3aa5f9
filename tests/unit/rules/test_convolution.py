"""Convolutions and what stands around them: zeros, scales and shifts of channels, orders of axes."""

import collections
import itertools

import numpy as np
import pytest

import tg
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rules.catalog import PASSES, RULES

CORE = Rewrites(RULES, PASSES)
DRAW = np.random.default_rng(5)


def rewritten(inputs, output, mode="default"):
    graph = FunctionGraph.of(inputs, [output])
    return rewrite(graph, [CORE], supported=lambda op, types: True, mode=mode)


def computed(inputs, output, *arrays, mode="default"):
    return interpret(rewritten(inputs, output, mode), arrays)[0]


def large(frozen, size):
    """How often each op makes a value of more elements than that."""
    sizes = [np.prod([n or 1 for n in frozen.types[node.outputs[0]].shape]) for node in frozen.nodes]
    names = [getattr(getattr(node.op, "fn", node.op), "name", None) for node in frozen.nodes]
    views = ("ExpandDims", "Squeeze", "Transpose", "Reshape")
    return collections.Counter(n for n, k in zip(names, sizes, strict=True) if k > size and n not in views)


def convolved(x, w, groups=1, padding=0):
    """The convolution by its definition, in NumPy's float64."""
    n, _, *lengths = x.shape
    outer, inner, *window = w.shape
    x = np.pad(x, ((0, 0), (0, 0), *((padding, padding) for _ in lengths)))
    sizes = [m - k + 1 for m, k in zip(x.shape[2:], window, strict=True)]
    y = np.zeros((n, outer, *sizes))
    for o, at in itertools.product(range(outer), np.ndindex(*sizes)):
        first = o // (outer // groups) * inner
        part = x[:, first : first + inner, *(slice(p, p + k) for p, k in zip(at, window, strict=True))]
        y[:, o, *at] = (part * w[o]).sum((1, 2, 3))
    return y


def normal(*shape):
    return DRAW.normal(size=shape)


def variables(**arrays):
    return {name: tg.tensor(name, shape=a.shape) for name, a in arrays.items()}


def batch_normed(y, mean, var, scale, shift):
    mean, var, scale, shift = (v[:, None, None] for v in (mean, var, scale, shift))
    return (y - mean) / np.sqrt(var + 1e-5) * scale + shift


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_batch_norm_by_known_weights_is_a_kernel_and_a_shift(groups):
    x, w = normal(2, 4, 6, 6), normal(8, 4 // groups, 3, 3)
    statistics = [normal(8), normal(8) ** 2, normal(8), normal(8)]
    v = tg.tensor("x", shape=x.shape)
    y = tg.nn.batch_norm(tg.nn.conv2d(v, w, padding=1, groups=groups), *statistics)
    found = large(rewritten([v], y), 2 * 8)
    assert {name: found[name] for name in ("multiply", "divide", "subtract")} == dict.fromkeys(
        ("multiply", "divide", "subtract"), 0
    )
    assert (found["Convolution"], found["add"]) == (1, 1)
    want = batch_normed(convolved(x, w, groups, 1), *statistics)
    np.testing.assert_allclose(computed([v], y, x), want, rtol=1e-12, atol=1e-12)


def test_large_known_kernels_are_scaled_when_the_function_is_made():
    x, w, scale = normal(1, 300, 2, 2), normal(300, 300, 2, 2), normal(300)
    v = tg.tensor("x", shape=x.shape)
    frozen = rewritten([v], tg.nn.conv2d(v, w) * scale[:, None, None])
    assert [n.op.name for n in frozen.nodes].count("Convolution") == 1
    assert not any(getattr(n.op, "fn", None) is tg.multiply for n in frozen.nodes)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_batch_norm_by_large_weights_that_are_given_is_one_scale_and_one_shift(layout):
    a = {
        "x": normal(1, 8, 4, 4),
        "w": normal(8, 8, 3, 3),
        "m": normal(8),
        "s": normal(8) ** 2,
        "g": normal(8),
        "b": normal(8),
    }
    p = variables(**a)
    x, axis = (tg.permute_dims(p["x"], (0, 2, 3, 1)), -1) if layout == "NHWC" else (p["x"], 1)
    y = tg.nn.batch_norm(tg.nn.conv2d(x, p["w"], layout=layout), p["m"], p["s"], p["g"], p["b"], axis=axis)
    found = large(rewritten([*p.values()], y), 8)
    assert found == {"Convolution": 1, "multiply": 1, "add": 1}
    want = batch_normed(convolved(a["x"], a["w"]), a["m"], a["s"], a["g"], a["b"])
    got = computed([*p.values()], y, *a.values())
    np.testing.assert_allclose(got if layout == "NCHW" else np.moveaxis(got, -1, 1), want, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("groups", [1, 2])
def test_kernels_smaller_than_results_are_scaled(groups):
    a = {"x": normal(2, 2, 9, 9), "w": normal(4, 2 // groups, 2, 2), "s": normal(4)}
    p = variables(**a)
    y = tg.nn.conv2d(p["x"], p["w"], groups=groups) / p["s"][:, None, None]
    found = large(rewritten([*p.values()], y), a["w"].size)
    assert found == {"Convolution": 1}
    want = convolved(a["x"], a["w"], groups) / a["s"][:, None, None]
    np.testing.assert_allclose(computed([*p.values()], y, *a.values()), want, rtol=1e-12, atol=1e-12)


def test_numbers_that_differ_along_images_scale_no_kernel():
    a = {"x": normal(2, 2, 9, 9), "w": normal(4, 2, 2, 2), "s": normal(8), "t": normal(2, 1, 1, 1)}
    p = variables(**a)
    for other in (p["s"], p["t"]):
        found = large(rewritten([*p.values()], tg.nn.conv2d(p["x"], p["w"]) * other), 100)
        assert found == {"Convolution": 1, "multiply": 1}


def test_a_convolution_that_is_read_elsewhere_is_computed_once():
    a = {"x": normal(2, 2, 9, 9), "w": normal(4, 2, 2, 2), "g": normal(4)}
    p = variables(**a)
    y = tg.nn.batch_norm_training(tg.nn.conv2d(p["x"], p["w"]), p["g"])[0]
    assert large(rewritten([*p.values()], y), 100)["Convolution"] == 1


def test_exact_rules_alone_keep_the_order_of_batch_norm():
    a = {"x": normal(1, 2, 9, 9), "w": normal(4, 2, 2, 2), "m": normal(4), "s": normal(4) ** 2}
    p = variables(**a)
    y = tg.nn.batch_norm(tg.nn.conv2d(p["x"], p["w"]), p["m"], p["s"])
    assert large(rewritten([*p.values()], y, mode="strict"), 100) == {"Convolution": 1, "subtract": 1, "divide": 1}


@pytest.mark.parametrize("mode", ["default", "strict"])
@pytest.mark.parametrize("groups", [1, 4])
def test_zeros_around_images_are_those_of_the_convolution(groups, mode):
    a = {"x": normal(2, 4, 5, 6), "w": normal(4, 4 // groups, 3, 3)}
    p = variables(**a)
    y = tg.nn.conv2d(tg.pad(p["x"], ((0, 0), (0, 0), (2, 1), (0, 3))), p["w"], groups=groups, padding=1, stride=2)
    frozen = rewritten([*p.values()], y, mode)
    assert "Concatenate" not in [node.op.name for node in frozen.nodes]
    padded = np.pad(a["x"], ((0, 0), (0, 0), (2, 1), (0, 3)))
    want = convolved(padded, a["w"], groups, 1)[:, :, ::2, ::2]
    np.testing.assert_allclose(computed([*p.values()], y, *a.values()), want, rtol=1e-12, atol=1e-12)


def test_zeros_around_images_of_unknown_lengths_and_spread_ones():
    torch = pytest.importorskip("torch")
    x, w = tg.tensor("x", shape=(None, 2, None, None)), tg.tensor("w", shape=(2, 3, 3, 3))
    y = tg.nn.conv_transpose2d(tg.pad(x, ((0, 0), (0, 0), (2, 1), (1, 0))), w, stride=2, padding=1)
    assert "Concatenate" not in [node.op.name for node in rewritten([x, w], y).nodes]
    a, b = normal(2, 2, 5, 4), normal(2, 3, 3, 3)
    padded = torch.nn.functional.pad(torch.tensor(a), (1, 0, 2, 1))
    want = torch.nn.functional.conv_transpose2d(padded, torch.tensor(b), stride=2, padding=1)
    np.testing.assert_allclose(computed([x, w], y, a, b), want.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("value", [1.0, -0.0, np.nan])
def test_other_numbers_around_images_stay(value):
    x, w = tg.tensor("x", shape=(1, 1, 4, 4)), tg.tensor("w", shape=(1, 1, 2, 2))
    padded = tg.pad(x, ((0, 0), (0, 0), (0, 0), (1, 1)), constant_values=value)
    assert "Concatenate" in [node.op.name for node in rewritten([x, w], tg.nn.conv2d(padded, w)).nodes]


def test_orders_of_axes_between_convolutions_cancel():
    x, w, b = tg.tensor("x", shape=(2, 9, 9, 3)), tg.tensor("w", shape=(3, 3, 2, 2)), tg.tensor("b", shape=(3,))
    y = x
    for _ in range(3):
        y = tg.relu(tg.nn.conv2d(y, w, b, layout="NHWC", padding="same")) + y
    names = [node.op.name for node in rewritten([x, w, b], y).nodes]
    assert names.count("Transpose") == 2
    a, k, c = normal(2, 9, 9, 3), normal(3, 3, 2, 2), normal(3)
    want = np.moveaxis(a, -1, 1)
    for _ in range(3):
        more = convolved(np.pad(want, ((0, 0), (0, 0), (0, 1), (0, 1))), k) + c[:, None, None]
        want = np.maximum(more, 0) + want
    np.testing.assert_allclose(computed([x, w, b], y, a, k, c), np.moveaxis(want, 1, -1), rtol=1e-11, atol=1e-11)
