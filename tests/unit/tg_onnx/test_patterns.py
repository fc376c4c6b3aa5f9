"""Programs for which ONNX has one operator: that it is found, and that onnxruntime gives the reference's results."""

import numpy as np
import pytest

import tg
from tests.unit.tg_onnx.models import OPSETS, agree, kinds

RANDOM = np.random.default_rng(0)
BATCH = {"x": (None, 8), "w": (8,), "b": (8,)}
IMAGES = {"x": (None, 4, 6, 6), "w": (4,), "b": (4,)}
KERNEL = {"x": (None, 4, 6, 6), "k": (5, 4, 3, 3), "b": (5,)}
OF_ANY_SIZE = {"x": (None, 4, None, None), "k": (5, 4, 3, 3), "b": (5,)}
SEQUENCES = {"q": (None, 2, None, 4), "k": (None, 2, None, 4)}

CASES = [
    ("layer_norm", BATCH, lambda x, w, b: tg.nn.layer_norm(x, w, b), 17, ["LayerNormalization"]),
    ("layer_norm alone", {"x": (None, 8)}, tg.nn.layer_norm, 17, ["LayerNormalization"]),
    ("rms_norm", {"x": (None, 8), "w": (8,)}, lambda x, w: tg.nn.rms_norm(x, w), 23, ["RMSNormalization"]),
    ("group_norm", IMAGES, lambda x, w, b: tg.nn.group_norm(x, 2, w, b), 21, ["GroupNormalization"]),
    ("instance_norm", IMAGES, lambda x, w, b: tg.nn.instance_norm(x, w, b), 17, ["InstanceNormalization"]),
    (
        "batch_norm",
        {**IMAGES, "m": (4,), "v": (4,)},
        lambda x, w, b, m, v: tg.nn.batch_norm(x, m, v, w, b),
        17,
        ["BatchNormalization"],
    ),
    ("gelu", {"x": (None, 8)}, tg.nn.gelu, 20, ["Gelu"]),
    ("gelu by tanh", {"x": (None, 8)}, lambda x: tg.nn.gelu(x, approximate="tanh"), 20, ["Gelu"]),
    ("leaky_relu", {"x": (None, 8)}, tg.nn.leaky_relu, 17, ["LeakyRelu"]),
    ("relu", {"x": (None, 8)}, lambda x: tg.maximum(x, 0), 17, ["Relu"]),
    ("softmax", {"x": (None, 8)}, lambda x: tg.softmax(x, axis=0), 17, ["Softmax"]),
    ("mean", {"x": (None, 4, 6, 6)}, lambda x: tg.mean(x, axis=(2, 3)), 17, ["ReduceMean"]),
    ("dense", {"x": (None, 8), "w": (3, 8), "b": (3,)}, lambda x, w, b: x @ w.T + b, 17, ["Gemm"]),
    ("conv", KERNEL, lambda x, k, b: tg.nn.conv2d(x, k, b, 2, 1), 17, ["Conv"]),
    ("conv of any size", OF_ANY_SIZE, lambda x, k, b: tg.nn.conv2d(x, k, b, 2, 1), 17, ["Conv"]),
    (
        "conv in groups",
        {"x": (None, 4, 6, 6), "k": (8, 2, 3, 3)},
        lambda x, k: tg.nn.conv2d(x, k, dilation=2, padding="same", groups=2),
        17,
        ["Conv"],
    ),
    (
        "conv_transpose",
        {"x": (None, 4, 6, 6), "k": (4, 5, 3, 3)},
        lambda x, k: tg.nn.conv_transpose2d(x, k, stride=2, padding=1, output_padding=1),
        17,
        ["ConvTranspose"],
    ),
    ("max_pool", {"x": (None, 4, 6, 6)}, lambda x: tg.nn.max_pool2d(x, 3, 2, 1), 17, ["MaxPool"]),
    ("avg_pool", {"x": (None, 4, 6, 6)}, lambda x: tg.nn.avg_pool2d(x, 2), 17, ["AveragePool"]),
    (
        "attention",
        SEQUENCES,
        lambda q, k: tg.nn.scaled_dot_product_attention(q, k, k, is_causal=True),
        23,
        ["Attention"],
    ),
]


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(("shapes", "make", "since", "wanted"), [one[1:] for one in CASES], ids=[c[0] for c in CASES])
def test_one_operator_stands_for_what_it_says_since_its_opset(shapes, make, since, wanted, opset):
    inputs = [tg.tensor(name, shape=shape, dtype="float32") for name, shape in shapes.items()]
    arrays = [RANDOM.random([3 if n is None else n for n in shape]) for shape in shapes.values()]
    made = agree(inputs, make(*inputs), *arrays, opset=opset, tolerance=2e-5)
    assert (kinds(made) == wanted) == (opset >= since)


def test_what_else_reads_a_value_inside_a_pattern_still_gets_it():
    x = tg.tensor("x", shape=(None, 8))
    middle = tg.mean(x, axis=1, keepdims=True)
    made = agree([x], [tg.nn.layer_norm(x), middle], RANDOM.standard_normal((3, 8)))
    assert sorted(kinds(made)) == ["LayerNormalization", "ReduceMean"]


def test_a_mean_that_is_no_mean_of_what_is_subtracted_is_no_normalization():
    x, y = tg.tensor("x", shape=(None, 8)), tg.tensor("y", shape=(None, 8))
    away = x - tg.mean(y, axis=1, keepdims=True)
    result = away / tg.sqrt(tg.mean(away * away, axis=1, keepdims=True) + 1e-5)
    made = agree([x, y], result, *RANDOM.standard_normal((2, 3, 8)))
    assert "LayerNormalization" not in kinds(made)


def test_a_query_without_a_key_gives_zeros():
    q = tg.tensor("q", shape=(1, 2, 3, 4), dtype="float32")
    mask = tg.tensor("mask", shape=(3, 3), dtype="bool")
    rows = np.array([[True, False, True], [False, False, False], [True, True, True]])
    for opset in OPSETS:
        agree(
            [q, mask], tg.nn.scaled_dot_product_attention(q, q, q, mask), RANDOM.random((1, 2, 3, 4)), rows, opset=opset
        )
