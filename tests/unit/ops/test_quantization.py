"""Quantization against ONNX's reference evaluator and PyTorch, products of integers against int64 of NumPy."""

import itertools

import numpy as np
import pytest

import tg
from tg.errors import DtypeError, InputError, ShapeError
from tg.graph.function_graph import freeze
from tg.ops.integer_products import IntegerMatMul, exact_depth

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")

PAIRS = [*itertools.product(["int8", "uint8"], repeat=2)]


def by_onnx(op, attributes, *operands):
    """The result of ONNX's reference evaluator for one node."""
    names = [f"i{k}" for k, v in enumerate(operands)]
    kinds = [onnx.helper.np_dtype_to_tensor_dtype(v.dtype) for v in operands]
    inputs = [onnx.helper.make_tensor_value_info(n, t, v.shape) for n, t, v in zip(names, kinds, operands, strict=True)]
    output = onnx.helper.make_value_info("y", onnx.TypeProto())
    node = onnx.helper.make_node(op, names, ["y"], **attributes)
    graph = onnx.helper.make_graph([node], "one", inputs, [output])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)])
    (y,) = reference.ReferenceEvaluator(model).run(None, dict(zip(names, operands, strict=True)))
    return y


def numbers(shape, seed=0, scale=4.0):
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype(np.float32)


def integers(shape, dtype, seed=0):
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype, endpoint=True)


def same(actual, expected):
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


# --- quantize and dequantize -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_levels_and_numbers_are_onnxs(dtype):
    x, scale = numbers((5, 7), scale=900.0), np.float32(0.37)
    zero = np.array(11, dtype)
    q = tg.quantize(tg.constant(x), scale, zero, dtype).eval()
    same(q, by_onnx("QuantizeLinear", {}, x, np.asarray(scale), zero))
    y = tg.dequantize(tg.constant(q), scale, zero).eval()
    same(y, by_onnx("DequantizeLinear", {}, q, np.asarray(scale), zero))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scales_along_an_axis_are_onnxs(axis):
    x = numbers((3, 4, 5))
    n = x.shape[axis]
    scale, zero = np.linspace(0.01, 0.2, n, dtype=np.float32), integers(n, "int8")
    q = tg.quantize(tg.constant(x), scale, zero, "int8", axis).eval()
    same(q, by_onnx("QuantizeLinear", {"axis": axis}, x, scale, zero))
    same(
        tg.dequantize(tg.constant(q), scale, zero, axis).eval(),
        by_onnx("DequantizeLinear", {"axis": axis}, q, scale, zero),
    )


def test_scales_of_blocks_are_onnxs():
    x, scale, zero = numbers((6, 4)), np.abs(numbers((2, 4), 1, 0.1)), integers((2, 4), "uint8")
    q = tg.quantize(tg.constant(x), scale, zero, "uint8", 0, block=3).eval()
    attributes = {"axis": 0, "block_size": 3}
    same(q, by_onnx("QuantizeLinear", attributes, x, scale, zero))
    same(
        tg.dequantize(tg.constant(q), scale, zero, 0, block=3).eval(),
        by_onnx("DequantizeLinear", attributes, q, scale, zero),
    )


def test_ties_go_to_the_even_level_before_the_zero_point_is_added():
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5], np.float32)
    same(tg.quantize(tg.constant(x), 1.0, 1).eval(), np.array([1, 3, 3, 1, -1], np.int8))


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_four_bits_are_packed_as_onnx_packs_them(dtype):
    low = -8 if dtype == "int4" else 0
    levels = np.arange(low, low + 15).astype(f"{dtype[:-1]}8")
    tensor = onnx.numpy_helper.from_array(levels.astype(onnx.helper.tensor_dtype_to_np_dtype(
        getattr(onnx.TensorProto, dtype.upper())
    )))  # fmt: skip
    packed = tg.pack_int4(tg.constant(levels)).eval()
    assert packed.tobytes() == tensor.raw_data
    same(tg.unpack_int4(tg.constant(packed), dtype, length=15).eval(), levels)


@pytest.mark.parametrize(("low", "dtype"), [(-8, "int4"), (0, "uint4"), (-128, "int8"), (0, "uint8")])
def test_the_gradient_of_fake_quantization_is_pytorchs(low, dtype):
    high = low + (15 if dtype.endswith("4") else 255)
    x, scale, zero = numbers((40, 30), scale=20.0), 0.25, 3  # a power of 2: PyTorch multiplies with 1 / scale
    weights = numbers((40, 30), 1)
    theirs = torch.tensor(x, requires_grad=True)
    y = torch.fake_quantize_per_tensor_affine(theirs, scale, zero, low, high)
    (y * torch.tensor(weights)).sum().backward()
    v = tg.tensor("x", "float32", (None, None))
    ours = tg.fake_quantize(v, scale, zero, dtype)
    result, gradient = tg.function([v], [ours, tg.grad(tg.sum(ours * weights), v)])(x)
    same(result, y.detach().numpy())
    same(gradient, theirs.grad.numpy())


def test_scales_of_fake_quantization_are_trained_as_pytorch_trains_them():
    x, weights = numbers((6, 50)), numbers((6, 50), 1)
    scale = np.array([0.125, 0.25, 0.5, 0.0625, 1.0, 2.0], np.float32)
    ours, theirs = tg.vector("s", "float32"), torch.tensor(scale, requires_grad=True)
    zero = torch.zeros(6)
    y = torch._fake_quantize_learnable_per_channel_affine(torch.tensor(x), theirs, zero, 0, -8, 7, 1.0)
    (y * torch.tensor(weights)).sum().backward()
    loss = tg.sum(tg.fake_quantize(tg.constant(x), ours, dtype="int4", axis=0) * weights)
    result = tg.function([ours], tg.grad(loss, ours))(scale)
    np.testing.assert_allclose(result, theirs.grad.numpy(), rtol=1e-5, atol=1e-5)


def test_tangents_of_fake_quantization_are_those_of_its_gradient():
    x, s = tg.vector("x"), tg.scalar("s")
    y = tg.fake_quantize(x, s, 1, "int4")
    forward = tg.jvp(y, [x, s], [tg.ones(5), tg.constant(1.0)])
    backward = [tg.jacobian(y, v) for v in (x, s)]
    values = [0.1, 0.9, -7.0, 30.0, 2.2], 0.5
    f = tg.function([x, s], [forward, tg.sum(backward[0], 1) + backward[1]])
    same(*f(*values))


def test_levels_have_no_gradient_and_what_is_beside_them_has():
    x = tg.vector("x")
    y = tg.dequantize(tg.quantize(x, 0.1), 0.1) + 2 * x
    same(tg.function([x], tg.grad(tg.sum(y), x))([1.0, 2.0]), np.array([2.0, 2.0]))


def test_batches_of_scales_and_of_numbers():
    x, s = tg.matrix("x"), tg.vector("s")
    ours = tg.vmap(lambda row, one: tg.quantize(row, one, 2))(x, s)
    values, scales = numbers((3, 4)).astype(float), np.array([0.1, 0.2, 0.3])
    result = tg.function([x, s], ours)(values, scales)
    same(result, np.clip(np.rint(values / scales[:, None]) + 2, -128, 127).astype(np.int8))


def test_a_batch_of_scales_along_an_axis_and_by_blocks_of_the_same_numbers():
    x = numbers((4, 6)).astype(float)
    along, blocks = np.linspace(0.1, 0.3, 12).reshape(2, 6), np.linspace(0.1, 0.3, 16).reshape(2, 4, 2)
    ours = (
        tg.vmap(lambda s: tg.quantize(x, s, axis=1))(along),
        tg.vmap(lambda s: tg.fake_quantize(x, s, axis=1, block=3))(blocks),
    )
    by_axis, by_block = tg.function([], ours)()
    same(by_axis, np.clip(np.rint(x / along[:, None]), -128, 127).astype(np.int8))
    wide = np.repeat(blocks, 3, axis=2)
    np.testing.assert_allclose(by_block, np.clip(np.rint(x / wide), -128, 127) * wide, rtol=1e-15)


@pytest.mark.parametrize(
    ("write", "error", "text"),
    [
        (lambda x: tg.quantize(x, 0.1, dtype="int32"), DtypeError, "found 'int32'"),
        (lambda x: tg.quantize(x, [0.1, 0.2]), ShapeError, "axis= says"),
        (lambda x: tg.quantize(x, 0.1, np.uint8(3)), DtypeError, "found uint8, needed int8"),
        (lambda x: tg.quantize(x, np.ones((4, 2)), axis=1, block=2), ShapeError, "2 blocks of 2 along a length of 5"),
        (lambda x: tg.quantize(x, np.ones((4, 3)), block=2), InputError, "and an axis"),
        (lambda x: tg.dequantize(x, 0.1), DtypeError, "found float64"),
        (lambda x: tg.pack_int4(x), DtypeError, "found float64"),
        (lambda x: tg.unpack_int4(tg.constant(np.uint8([1])), "int8"), DtypeError, "found 'int8'"),
    ],
)
def test_what_does_not_fit_is_refused(write, error, text):
    with pytest.raises(error, match=text):
        write(tg.tensor("x", "float64", (4, 5)))


# --- products of integers --------------------------------------------------------------------------------------------


def product(x, y, a=0, b=0):
    return np.matmul(x.astype(np.int64) - a, y.astype(np.int64) - b).astype(np.int32)


@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_so_many_terms_are_exact_in_float32_and_one_more_is_not(x, y):
    depth = exact_depth(x, y)
    largest = [np.full(depth + 1, -128 if t == "int8" else 255, t) for t in (x, y)]
    sums = np.cumsum(largest[0].astype(np.int64) * largest[1])
    assert abs(sums[depth - 1]) <= 2**24 < abs(sums[depth])


@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_the_reference_adds_up_as_int64_does(x, y):
    for k in (0, 1, 257, 1024, 2500):
        a, b = integers((3, k), x), integers((k, 5), y, 1)
        same(IntegerMatMul().perform(a, b)[0], product(a, b))


@pytest.mark.parametrize(("x", "y"), [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8")])
def test_zero_points_are_onnxs(x, y):
    a, b = integers((4, 6), x), integers((6, 5), y, 1)
    p, q = np.array(3, x), np.array(7, y)
    result = tg.integer_matmul(tg.constant(a), tg.constant(b), p, q).eval()
    same(result, by_onnx("MatMulInteger", {}, a, b, p, q))


def test_convolutions_are_onnxs():
    x, w = integers((2, 3, 6, 5), "uint8"), integers((4, 3, 3, 2), "uint8", 1)
    zero, other = np.array(120, np.uint8), np.array(9, np.uint8)
    attributes = {"pads": [1, 0, 1, 1], "strides": [2, 1]}
    result = tg.nn.integer_conv(tg.constant(x), tg.constant(w), zero, other, stride=(2, 1), padding=((1, 1), (0, 1)))
    same(result.eval(), by_onnx("ConvInteger", attributes, x, w, zero, other))


def test_products_of_integers_have_no_gradient():
    x = tg.matrix("x")
    q = tg.quantize(x, 0.1)
    y = tg.sum(tg.integer_matmul(q, tg.constant(integers((3, 2), "int8"))).astype("float64")) + tg.sum(x)
    same(tg.function([x], tg.grad(y, x))(np.ones((2, 3))), np.ones((2, 3)))


def test_batches_of_products_of_integers():
    x, y = tg.tensor("x", "int8", (None, None, None)), tg.tensor("y", "uint8", (None, None))
    a, b = integers((3, 2, 4), "int8"), integers((4, 5), "uint8")
    result = tg.function([x, y], tg.vmap(lambda v: tg.integer_matmul(v, y))(x))(a, b)
    same(result, product(a, b))


def test_ops_of_levels_are_read_from_their_texts():
    x, w = tg.tensor("x", "float32", (2, 3, None)), tg.tensor("w", "int8", (4, 3, 2))
    levels = tg.quantize(x, np.float32(0.1), 3, "uint8")
    y = tg.dequantize(tg.nn.integer_conv(levels, w, 3), np.float32(0.01))
    products = tg.integer_matmul(levels, tg.transpose(levels, (0, 2, 1)))
    frozen = freeze([x, w], [y, products, tg.fake_quantize(x, np.float32(2))])
    text = tg.to_text(frozen)
    assert tg.parse(text) == frozen
    for name in ("Quantize", "Dequantize", "FakeQuantize", "IntegerMatMul", "IntegerConvolution"):
        assert name in text
