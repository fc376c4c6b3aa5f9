"""Ops by the version in force, against ONNX Runtime: what an op meant in an older operator set it means still."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tg_onnx

X = np.linspace(-2, 3, 24, dtype=np.float32).reshape(2, 3, 4)
IMAGE = np.linspace(-1, 2, 2 * 3 * 5 * 6, dtype=np.float32).reshape(2, 3, 5, 6) ** 2
ROW = np.array([3, 1, 2, 5, 4], np.float32)


def floats(*numbers):
    return np.array(numbers, np.float32)


def ints(*numbers):
    return np.array(numbers, np.int64)


CASES = [  # op, operator set, first operand, constants behind it, number of results, attributes
    ("Softmax", 9, X, [], 1, {}),
    ("Softmax", 12, X, [], 1, {"axis": 2}),
    ("Softmax", 13, X, [], 1, {"axis": 1}),
    ("LogSoftmax", 11, X, [], 1, {"axis": 1}),
    ("Hardmax", 11, X, [], 1, {"axis": 1}),
    ("Hardmax", 13, X, [], 1, {}),
    ("Clip", 7, X, [], 1, {"min": -1.0, "max": 1.5}),
    ("Clip", 10, X, [], 1, {"min": 0.5}),
    ("Clip", 11, X, [floats(-1)[0], floats(1.5)[0]], 1, {}),
    ("Pad", 10, X, [], 1, {"pads": [0, 1, 2, 0, 0, 1], "value": 3.0}),
    ("Pad", 7, X, [], 1, {"pads": [0, 0, -1, 0, 1, 0]}),
    ("Pad", 9, X, [], 1, {"pads": [0, 1, 2, 0, 2, 1], "mode": "reflect"}),
    ("Pad", 11, X, [ints(0, 1, 2, 0, 0, -1), floats(3)[0]], 1, {}),
    ("Pad", 18, X, [ints(1, 2), floats(3)[0], ints(-1)], 1, {}),
    ("Squeeze", 7, X[:1], [], 1, {"axes": [0]}),
    ("Squeeze", 13, X[:1], [ints(0)], 1, {}),
    ("Unsqueeze", 11, X, [], 1, {"axes": [0, 3]}),
    ("Unsqueeze", 13, X, [ints(-1)], 1, {}),
    ("ReduceSum", 7, X, [], 1, {"axes": [1], "keepdims": 0}),
    ("ReduceSum", 13, X, [ints(0, 2)], 1, {}),
    ("ReduceSum", 13, X, [], 1, {}),
    ("ReduceMean", 11, X, [], 1, {"axes": [-1]}),
    ("ReduceMean", 18, X, [ints(1)], 1, {"keepdims": 0}),
    ("ReduceMax", 12, X, [], 1, {"axes": [2]}),
    ("ReduceL2", 18, X, [ints(2)], 1, {}),
    ("Slice", 9, X, [], 1, {"starts": [1, -3], "ends": [3, 1000], "axes": [1, 2]}),
    ("Slice", 10, X, [ints(0, -1), ints(2, -1000), ints(1, 2), ints(1, -2)], 1, {}),
    ("Slice", 13, X, [ints(-1), ints(-(2**63)), ints(0), ints(-1)], 1, {}),
    ("Split", 7, X, [], 2, {"axis": 2, "split": [1, 3]}),
    ("Split", 11, X, [], 3, {"axis": 1}),
    ("Split", 13, X, [ints(3, 1)], 2, {"axis": -1}),
    ("Split", 18, X, [], 2, {"axis": 1, "num_outputs": 2}),
    ("TopK", 9, ROW, [], 2, {"k": 3}),
    ("TopK", 10, ROW, [ints(2)], 2, {}),
    ("TopK", 11, ROW, [ints(2)], 2, {"largest": 0}),
    ("Dropout", 7, X, [], 1, {"ratio": 0.3}),
    ("Dropout", 12, X, [floats(0.3)[0]], 1, {}),
    ("Flatten", 9, X, [], 1, {"axis": 2}),
    ("Gemm", 7, X[0], [X[1].T.copy(), floats(1, 2, 3)], 1, {"alpha": 0.5, "beta": 2.0}),
    ("Gemm", 11, X[0], [X[1]], 1, {"transB": 1}),
    ("BatchNormalization", 7, X, [floats(1, 2, 3), floats(0, 1, 2), floats(1, 0, 1), floats(1, 2, 4)], 1, {}),
    ("BatchNormalization", 9, X, [floats(1, 2, 3), floats(0, 1, 2), floats(1, 0, 1), floats(1, 2, 4)], 1, {}),
    ("BatchNormalization", 15, X, [floats(1, 2, 3), floats(0, 1, 2), floats(1, 0, 1), floats(1, 2, 4)], 1, {}),
    ("Upsample", 7, IMAGE, [], 1, {"scales": [1.0, 1.0, 2.0, 1.5]}),
    ("Upsample", 9, IMAGE, [floats(1, 1, 2, 3)], 1, {"mode": "linear"}),
    ("Resize", 10, IMAGE, [floats(1, 1, 0.6, 1.7)], 1, {}),
    ("Resize", 10, IMAGE, [floats(1, 1, 2, 0.5)], 1, {"mode": "linear"}),
    ("Resize", 11, IMAGE, [floats(), floats(1, 1, 1.6, 0.5)], 1, {"mode": "cubic"}),
    ("Resize", 11, IMAGE, [floats(), floats(1, 1, 2, 2)], 1, {"mode": "linear",
     "coordinate_transformation_mode": "align_corners"}),
    ("Resize", 13, IMAGE, [floats(), floats(), ints(2, 3, 7, 4)], 1, {"nearest_mode": "ceil"}),
    ("Resize", 13, IMAGE, [floats(), floats(), ints(2, 3, 7, 4)], 1, {"mode": "linear",
     "coordinate_transformation_mode": "asymmetric"}),
    ("Resize", 18, IMAGE, [floats(), floats(), ints(3, 3)], 1, {"mode": "linear", "antialias": 1, "axes": [2, 3]}),
    ("Resize", 19, IMAGE, [floats(), floats(0.6, 0.6)], 1, {"mode": "linear", "axes": [2, 3],
     "coordinate_transformation_mode": "half_pixel_symmetric"}),
    ("AveragePool", 7, IMAGE, [], 1, {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "strides": [2, 1]}),
    ("AveragePool", 10, IMAGE, [], 1, {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    ("AveragePool", 11, IMAGE, [], 1, {"kernel_shape": [2, 2], "auto_pad": "SAME_LOWER", "count_include_pad": 1}),
    ("MaxPool", 8, IMAGE, [], 2, {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0]}),
    ("MaxPool", 12, IMAGE, [], 1, {"kernel_shape": [2, 3], "dilations": [2, 1], "ceil_mode": 1, "strides": [2, 2]}),
    ("LpPool", 11, IMAGE, [], 1, {"kernel_shape": [2, 2], "p": 3}),
    ("LRN", 7, IMAGE, [], 1, {"size": 3, "alpha": 0.1, "beta": 0.5, "bias": 2.0}),
    ("InstanceNormalization", 7, IMAGE, [floats(1, 2, 3), floats(0, 1, 2)], 1, {}),
    ("DepthToSpace", 11, np.tile(IMAGE[:, :2], (1, 2, 1, 1)), [], 1, {"blocksize": 2, "mode": "CRD"}),
    ("Gather", 11, X, [ints(-1, 0)], 1, {"axis": 1}),
    ("Scatter", 9, ROW, [ints(1, 3), floats(9, 8)], 1, {}),
    ("ScatterElements", 16, ROW, [ints(1, 1), floats(9, 8)], 1, {"reduction": "add"}),
    ("OneHot", 9, np.array([0, 2, -1], np.int64), [ints(3), floats(2, 5)], 1, {}),
    ("CumSum", 11, X, [np.array(1, np.int32)], 1, {"exclusive": 1, "reverse": 1}),
    ("Expand", 8, X[:1], [ints(2, 1, 4)], 1, {}),
    ("Tile", 7, ROW, [ints(2)], 1, {}),
    ("Mod", 10, ROW, [floats(-2)], 1, {"fmod": 1}),
    ("Shrink", 9, X, [], 1, {"bias": 0.3, "lambd": 0.7}),
    ("Where", 9, X > 0, [X, -X], 1, {}),
    ("ArgMax", 12, X, [], 1, {"axis": 1, "select_last_index": 1}),
    ("Einsum", 12, X[0], [X[1]], 1, {"equation": "ij,kj->ki"}),
]  # fmt: skip


def model_of(op, version, constants, count, attributes, x, domain=""):
    """A model of one node, whose further operands are initialisers; from 13 on, those of no elements are left out."""
    names = [f"c{k}" if c.size or version < 13 else "" for k, c in enumerate(constants)]
    node = helper.make_node(op, ["x", *names], [f"y{k}" for k in range(count)], domain=domain, **attributes)
    given = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
    results = [helper.make_empty_tensor_value_info(f"y{k}") for k in range(count)]
    held = [numpy_helper.from_array(np.asarray(c), n) for c, n in zip(constants, names, strict=True) if n]
    sets = [helper.make_opsetid("", version), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(helper.make_graph([node], "g", [given], results, held), opset_imports=sets, ir_version=8)


def runtime(model, **inputs):
    """The outputs by ONNX Runtime."""
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, inputs)


@pytest.mark.parametrize(("op", "version", "x", "constants", "count", "attributes"), CASES)
def test_an_op_of_an_operator_set(op, version, x, constants, count, attributes):
    model = model_of(op, version, constants, count, attributes, x)
    results = tg_onnx.load(model).function("perform")(x)
    for result, expected in zip(results.values(), runtime(model, x=x), strict=True):
        assert result.dtype == expected.dtype
        ulp = np.spacing(np.abs(expected).max()) if expected.dtype.kind == "f" else 0
        np.testing.assert_allclose(result, expected, rtol=2e-6, atol=8 * ulp)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("with_zero", [False, True])
def test_weights_of_few_bits_by_blocks(bits, with_zero):
    rng = np.random.default_rng(bits)
    inner, outer, block = 64, 5, 16
    blocks = inner // block
    packed = rng.integers(0, 256, (outer, blocks, block * bits // 8), dtype=np.uint8)
    constants = [packed, rng.random(outer * blocks, dtype=np.float32)]
    if with_zero:
        constants.append(rng.integers(0, 256, outer * (-(-blocks * bits // 8)), dtype=np.uint8))
    x = rng.standard_normal((3, inner)).astype(np.float32)
    attributes = {"K": inner, "N": outer, "bits": bits, "block_size": block}
    model = model_of("MatMulNBits", 17, constants, 1, attributes, x, "com.microsoft")
    (expected,) = runtime(model, x=x)
    np.testing.assert_allclose(tg_onnx.load(model).function("perform")(x)["y0"], expected, rtol=1e-4, atol=1e-4)


def test_element_types_of_files_hold_what_their_bytes_say():
    kinds = {TensorProto.INT4: (-8, 7), TensorProto.UINT4: (0, 15), TensorProto.INT2: (-2, 1)}
    for kind, (low, high) in kinds.items():
        numbers = list(range(low, high + 1))[-7:]
        for raw in (False, True):
            tensor = helper.make_tensor("c", kind, [len(numbers)], numbers)
            if raw:
                tensor = numpy_helper.from_array(numpy_helper.to_array(tensor), "c")
            node = helper.make_node("Cast", ["c"], ["y"], to=TensorProto.INT32)
            y = helper.make_tensor_value_info("y", TensorProto.INT32, [len(numbers)])
            model = helper.make_model(helper.make_graph([node], "g", [], [y], [tensor]))
            assert tg_onnx.load(model).function("perform")()["y"].tolist() == numbers
