"""Quantised programs: ONNX's own operators, and whole functions whose weights are packed."""

from collections import Counter

import numpy as np
import pytest

import tg
from tests.unit.tg_onnx.models import agree, golden, kinds

RANDOM = np.random.default_rng(7)
REALS = 5 * RANDOM.standard_normal((3, 8))
LEVELS = RANDOM.integers(0, 100, (3, 8))


@pytest.mark.parametrize(("dtype", "since"), [("int8", 17), ("uint8", 17), ("int16", 21)])
@pytest.mark.parametrize("opset", [17, 21])
def test_levels_are_of_one_scale_or_one_for_each_entry_of_an_axis(dtype, since, opset):
    x, one = tg.tensor("x", shape=(None, 8), dtype="float32"), tg.scalar("one", dtype="float32")
    each = tg.tensor("each", shape=(8,), dtype="float32")
    zero = tg.scalar("zero", dtype=dtype)
    made = [
        agree([x, one], tg.quantize(x, one, dtype=dtype), REALS, 0.1, opset=opset),
        agree([x, one, zero], tg.quantize(x, one, zero, dtype=dtype), REALS, 0.1, 3, opset=opset),
        agree([x, each], tg.quantize(x, each, dtype=dtype, axis=1), REALS, RANDOM.random(8) + 0.1, opset=opset),
    ]
    assert {kinds(one) == ["QuantizeLinear"] for one in made} == {opset >= since}


def test_levels_become_numbers_again():
    q, scale = tg.tensor("q", shape=(None, 8), dtype="uint8"), tg.scalar("scale", dtype="float32")
    zero = tg.scalar("zero", dtype="uint8")
    made = agree([q, scale, zero], tg.dequantize(q, scale, zero), LEVELS, 0.1, 3)
    assert kinds(made) == ["DequantizeLinear"]


def test_four_bits_are_written_by_what_they_are():
    x, scale = tg.tensor("x", shape=(None, 8), dtype="float32"), tg.scalar("scale", dtype="float32")
    made = agree([x, scale], tg.quantize(x, scale, dtype="int4"), REALS, 0.1)
    assert "QuantizeLinear" not in kinds(made)


@pytest.mark.parametrize("left", ["int8", "uint8"])
@pytest.mark.parametrize("right", ["int8", "uint8"])
def test_products_of_integers_are_exact(left, right):
    x, y = tg.tensor("x", shape=(None, 8), dtype=left), tg.tensor("y", shape=(8, 4), dtype=right)
    made = agree([x, y], tg.integer_matmul(x, y), LEVELS, RANDOM.integers(0, 100, (8, 4)), tolerance=0)
    assert kinds(made) == ["MatMulInteger"]
    images, kernel = tg.tensor("x", shape=(None, 2, 5, 5), dtype=left), tg.tensor("k", shape=(3, 2, 3, 3), dtype=right)
    arrays = RANDOM.integers(0, 100, (2, 2, 5, 5)), RANDOM.integers(0, 100, (3, 2, 3, 3))
    made = agree([images, kernel], tg.nn.integer_conv(images, kernel, padding=1), *arrays, tolerance=0)
    assert kinds(made) == ["ConvInteger"]


@pytest.mark.parametrize("options", [{}, {"activations": "int8"}, {"weights": "int4"}, {"weights": "q8_0"}], ids=str)
def test_quantised_functions_have_packed_weights(options, tmp_path):
    x = tg.tensor("x", shape=(tg.dim("batch"), 32), dtype="float32")
    w = tg.shared(RANDOM.standard_normal((32, 64)).astype("float32"), name="w", shape=(32, 64))
    f = tg.function([x], {"y": tg.relu(x @ w)}, backend="perform")
    options = {"weights": "int8", **options}
    if "activations" in options:
        options["calibrate"] = [RANDOM.standard_normal((16, 32)).astype("float32")]
    made = golden(tg.quantized(f, **options), tmp_path)
    (packed,) = (one for one in made.graph.initializer if one.name.startswith("w.") and "scale" not in one.name)
    assert len(packed.raw_data) < 32 * 64 * 1.1
    assert Counter(kinds(made))["MatMulInteger"] == ("activations" in options)
