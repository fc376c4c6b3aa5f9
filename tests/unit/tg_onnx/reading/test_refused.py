"""Nodes that ONNX does not allow, and such as demand what no memory holds: errors that name the node."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import tg
import tg_onnx


def load(text, version=18):
    return tg_onnx.load(onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : {version}]> {text}'))


DECLARED = {
    "y = Concat(x, x)": "found no attribute 'axis', needed one of type int",
    "y = Softmax <axes = 1> (x)": "found attribute 'axes', needed one of axis",
    "y = Softmax <axis = 1.5> (x)": "found attribute 'axis' of type float, needed int",
    "y = Relu <alpha = 1> (x)": "found attribute 'alpha', needed one of none",
    "y = Add(x)": "found 1 operands, needed 2",
    "y = Relu(x, x)": "found 2 operands, needed 1",
    "y = Clip()": "found 0 operands, needed from 1 to 3",
    "y, z = Relu(x)": "found 2 results, needed 1",
    'y = Add("", x)': "found no operand 0 (A), needed one",
}


@pytest.mark.parametrize("node", DECLARED)
def test_a_node_is_held_against_the_declaration_of_its_op(node):
    with pytest.raises(tg.InputError) as error:
        load(f"f (float[2, 3] x) => (float[2, 3] y) {{ {node} }}")
    op = node.partition("= ")[2].partition("(")[0].partition(" <")[0]
    assert str(error.value).splitlines()[0] == f"node 'y' ({op}): {DECLARED[node]}"


def test_attributes_that_do_not_fit_operands_name_the_node():
    with pytest.raises(tg.InputError, match=r"node 'y' \(Slice\): found operands \(float32\[2, 3\]\)"):
        load("f (float[2, 3] x) => (float[2, 3] y) { y = Slice <starts = [0, 1], ends = [2]> (x) }", 9)


def test_an_error_of_an_op_of_tg_names_the_node():
    with pytest.raises(tg.ShapeError) as error:
        load("f (float[2, 3] x) => (float[2, 3] y) { y = MatMul(x, x) }")
    assert "  in node 'y' (MatMul)" in error.value.__notes__


LARGE = {
    "y = AveragePool <kernel_shape = [2147483648, 2], auto_pad = 'SAME_UPPER'> (x)": "needed at most 65536",
    "y = Split <axis = 3, num_outputs = 4611686018427387904> (x)": "needed 1 to 1",
    "y = ReverseSequence <batch_axis = 2147483648, time_axis = 0> (x, n)": "needed -2 to 1",
    "y = OneHot <axis = 4611686018427387904> (n, n, x)": "needed -2 to 1",
    "y = GatherND(x, places)": "needed a static last axis of at most 4",
    "y = ScatterND(x, places, x)": "needed a static last axis of at most 4",
    "y = LRN <size = 4611686018427387905> (wide)": "needed at most 4096",
    "y = Unique <axis = 0> (wide)": "needed at most 4096 elements",
    'y = Resize(x, "", scales)': "needed at most 16777216",
    'y = Resize <mode = "linear"> (x, "", "", lengths)': "needed at most 16777216",
    'y = Resize <mode = "linear"> (x, "", "", below)': "needed scales above 0",
}


@pytest.mark.parametrize("node", LARGE)
def test_what_no_memory_holds_is_refused_before_it_is_taken(node):
    text = """f (float[1, 1, 8, 8] x, int64[2, 2147483648] places, float[1, 2147483648, 2, 2] wide) => (float[a] y)
    <int64[1] n = {3}, float[4] scales = {1, 1, 1, 1e30}, int64[4] lengths = {1, 1, 8, 1099511627776},
     int64[4] below = {1, 1, 8, -8}>"""
    with pytest.raises((tg.InputError, tg.LimitError)) as error:
        load(f"{text} {{ {node.replace(chr(39), chr(34))} }}")
    assert str(error.value).startswith("node 'y' (")
    assert LARGE[node] in str(error.value)


@pytest.mark.parametrize(
    ("node", "shape"),
    [
        ("y = Range(zero, end, one)", (2**40,)),
        ("y = Tile(one_by_one, count)", (2**40,)),
        ("y = Range(start, stop, step)", (None,)),
    ],
)
def test_long_results_of_constants_are_left_to_the_program(node, shape):
    text = """f () => (float[a] y)
    <int64 zero = {0}, int64 end = {1099511627776}, int64 one = {1}, int64[1] one_by_one = {1},
     int64[1] count = {1099511627776}, float start = {0}, float stop = {1e12}, float step = {1}>"""
    assert load(f"{text} {{ {node} }}").outputs["y"].type.shape == shape


def test_padding_is_not_computed_while_a_model_is_read():
    text = "f () => (float[a, b, c] y) <float[1, 1, 2] x = {1, 2}>"
    node = "LpPool <kernel_shape = [2], pads = [8589934592, 8589934592], strides = [1073741824]>"
    assert load(f"{text} {{ y = {node} (x) }}").outputs["y"].type.shape == (1, 1, 17)


@pytest.mark.parametrize(("start", "stop", "step"), [(-32000, 32000, 400), (32000, -32000, -3), (0, 7, 2)])
def test_a_range_of_narrow_integers_is_as_long_as_numpys(start, stop, step):
    model = load("f (int16 a, int16 b, int16 c) => (int16[n] y) { y = Range(a, b, c) }")
    constant = load(f"f () => (int16[n] y) <int16 a = {{{start}}}, int16 b = {{{stop}}}, int16 c = {{{step}}}>"
                    "{ y = Range(a, b, c) }")  # fmt: skip
    right = np.arange(start, stop, step, dtype=np.int64)
    numbers = np.array([start, stop, step], np.int16)
    np.testing.assert_array_equal(model.function("perform")(*numbers)["y"], right)
    np.testing.assert_array_equal(constant.function("perform")()["y"], right)


def test_lengths_that_leave_their_dtype_wrap_as_those_of_a_program():
    text = "f () => (int64[1] y) <int64[1] a = {9223372036854775807}, int64[1] b = {1}> { y = Add(a, b) }"
    assert load(text).function("perform")()["y"].tolist() == [-(2**63)]
