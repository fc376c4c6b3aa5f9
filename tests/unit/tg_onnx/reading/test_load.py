"""`tg_onnx.load`: names, lengths, weights, values that fix what has to be known, and what is refused."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tg
import tg_onnx


def parsed(text, version=17, ir=9):
    return onnx.parser.parse_model(f'<ir_version: {ir}, opset_import: ["" : {version}]> {text}')


def test_a_model_is_called_by_position_and_by_name():
    model = tg_onnx.load(parsed("f (float[2] x, float[2] y) => (float[2] z) { z = Sub(x, y) }"))
    f = model.function("perform")
    assert f([1.0, 2.0], [3.0, 5.0])["z"].tolist() == f(y=[3.0, 5.0], x=[1.0, 2.0])["z"].tolist() == [-2.0, -3.0]


def test_bytes_paths_and_protos_are_the_same_model(tmp_path):
    proto = parsed("f (float[2] x) => (float[2] y) { y = Neg(x) }")
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    for source in (proto, path, str(path), path.read_bytes()):
        assert tg_onnx.load(source).function("perform")([1.0, -2.0])["y"].tolist() == [-1.0, 2.0]


def test_lengths_of_one_name_are_one_length():
    model = tg_onnx.load(parsed("f (float[n] x, float[n] y) => (float[n] z) { z = Add(x, y) }"))
    f = model.function("perform")
    with pytest.raises(tg.ShapeError, match=r"dim n: found 2 \(x axis 0\) and 3 \(y axis 0\)"):
        f([1.0, 2.0], [1.0, 2.0, 3.0])


def test_a_shape_that_nodes_compute_is_static_where_the_lengths_are():
    text = """f (float[2, 3, 4] x) => (float[a, b] y)
    <int64 zero = {0}, int64[1] rest = {-1}, int64[1] axis = {0}>
    { s = Shape(x)  n = Gather(s, zero)  m = Unsqueeze(n, axis)  t = Concat <axis = 0> (m, rest)  y = Reshape(x, t) }"""
    assert tg_onnx.load(parsed(text)).outputs["y"].type.shape == (2, 12)


def test_a_shape_that_nodes_compute_keeps_the_names_of_lengths():
    text = """f (float[n, 3, 4] x, float[n, 12] w) => (float[n, 12] y)
    <int64 zero = {0}, int64[1] rest = {12}, int64[1] axis = {0}>
    { s = Shape(x)  n = Gather(s, zero)  m = Unsqueeze(n, axis)  t = Concat <axis = 0> (m, rest)
      z = Reshape(x, t)  y = Add(z, w) }"""
    model = tg_onnx.load(parsed(text))
    assert model.outputs["y"].shape[0] == model.inputs["x"].shape[0]
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    assert model.function("perform")(x, np.ones((2, 12), np.float32))["y"].tolist() == (x.reshape(2, 12) + 1).tolist()


def test_weights_are_shared_variables_with_gradients():
    text = "f (float[1, 2] x) => (float[1, 1] y) <float[2, 1] w = {3, 4}> { y = MatMul(x, w) }"
    model = tg_onnx.load(parsed(text))
    slope = tg.function([model.inputs["x"]], tg.grad(model.outputs["y"][0, 0], model.weights["w"]), backend="perform")
    assert slope([[5.0, 6.0]]).tolist() == [[5.0], [6.0]]
    f, g = model.function("perform"), model.function("perform", inference=False)
    model.weights["w"].set_value(np.zeros((2, 1), np.float32))
    assert f([[5.0, 6.0]])["y"].item() == 39.0
    assert g([[5.0, 6.0]])["y"].item() == 0.0


def test_an_input_that_decides_axes_is_named_and_fixed():
    text = "f (float[2, 3] x, int64[1] axes) => (float[n] y) { y = ReduceSum <keepdims = 0> (x, axes) }"
    with pytest.raises(tg.SymbolicError, match=r"node 'y' \(ReduceSum\): found axes that axes decides") as caught:
        tg_onnx.load(parsed(text))
    assert "tg_onnx.load(model, values={'axes': …})" in str(caught.value)
    model = tg_onnx.load(parsed(text), values={"axes": [1]})
    assert list(model.inputs) == ["x"]
    assert model.function("perform")([[1.0, 2, 3], [4, 5, 6]])["y"].tolist() == [6.0, 15.0]


def test_shapes_stand_in_place_of_those_in_the_file():
    text = "f (float[a, b] x) => (float[a, b] y) { y = Relu(x) }"
    assert tg_onnx.load(parsed(text), shapes={"x": (2, None)}).inputs["x"].type.shape == (2, None)
    with pytest.raises(tg.InputError, match="shapes: found z, needed inputs: x"):
        tg_onnx.load(parsed(text), shapes={"z": (2,)})


def test_an_unknown_op_is_told_with_its_domain_version_and_node():
    text = "f (float[2] x) => (float[2] y) { y = Nonsense(x) }"
    with pytest.raises(tg.NoRuleError, match=r"node 'y' \(Nonsense\): found ai\.onnx\.Nonsense, version 17, which"):
        tg_onnx.load(parsed(text))


def test_strings_and_sequences_are_refused_by_name():
    info = helper.make_tensor_value_info("s", TensorProto.STRING, [2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    with pytest.raises(tg.DtypeError, match="input 's': found elements of type string, needed numbers"):
        tg_onnx.load(helper.make_model(helper.make_graph([], "g", [info], [y])))
    sequence = helper.make_tensor_sequence_value_info("q", TensorProto.FLOAT, None)
    with pytest.raises(tg.DtypeError, match="input 'q': found a value of kind sequence, needed a tensor"):
        tg_onnx.load(helper.make_model(helper.make_graph([], "g", [sequence], [y])))


@pytest.mark.parametrize("version", [6, 1000])
def test_operator_sets_out_of_range_are_refused(version):
    proto = parsed("f (float[2] x) => (float[2] y) { y = Relu(x) }")
    proto.opset_import[0].version = version
    with pytest.raises(tg.NoRuleError, match=f"model: found operator set {version}, needed one from 7 to "):
        tg_onnx.load(proto)


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(tg.InputError, match="found bytes that are no model"):
        tg_onnx.load(b"\xff\xff\xff\xff")
    with pytest.raises(tg.InputError, match="found a file without a graph"):
        tg_onnx.load(b"")
    with pytest.raises(tg.InputError, match="found no file"):
        tg_onnx.load(tmp_path / "none.onnx")


def with_weights_outside(name, **more):
    """A model whose weights are in another file."""
    w = numpy_helper.from_array(np.array([1.0, 2.0], np.float32), "w")
    w.ClearField("raw_data")
    w.data_location = TensorProto.EXTERNAL
    for key, value in {"location": name, **more}.items():
        w.external_data.add(key=key, value=value)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in "xy")
    node = helper.make_node("Add", ["x", "w"], ["y"])
    return helper.make_model(helper.make_graph([node], "g", [x], [y], [w]))


def test_weights_beside_the_model_are_read(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "w.bin").write_bytes(b"junk" + np.array([5.0, 7.0], "<f4").tobytes())
    path = folder / "m.onnx"
    path.write_bytes(with_weights_outside("w.bin", offset="4", length="8").SerializeToString())
    assert tg_onnx.load(path).function("perform")([1.0, 1.0])["y"].tolist() == [6.0, 8.0]


@pytest.mark.parametrize("name", ["../w.bin", "/etc/hostname", "sub/../../w.bin", "", ".", "link"])
def test_names_that_leave_the_folder_are_refused(tmp_path, name):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "w.bin").write_bytes(bytes(8))
    (folder / "link").symlink_to(tmp_path / "w.bin")
    path = folder / "m.onnx"
    path.write_bytes(with_weights_outside(name).SerializeToString())
    with pytest.raises(tg.InputError, match="needed a file in the model's folder"):
        tg_onnx.load(path)


@pytest.mark.parametrize("more", [{"offset": "4"}, {"offset": "-4"}, {"length": "4"}, {"offset": "x"}])
def test_parts_of_files_that_are_not_there_are_refused(tmp_path, more):
    (tmp_path / "w.bin").write_bytes(bytes(8))
    path = tmp_path / "m.onnx"
    path.write_bytes(with_weights_outside("w.bin", **more).SerializeToString())
    with pytest.raises(tg.InputError, match="needed 8 bytes inside it"):
        tg_onnx.load(path)


def test_sizes_are_compared_with_bytes_before_memory_is_taken():
    proto = parsed("f (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }")
    proto.graph.initializer[0].dims[:] = [2**20, 2**19]
    with pytest.raises(tg.InputError, match="tensor 'w': found 2 numbers, needed 549755813888"):
        tg_onnx.load(proto)
    proto.graph.initializer[0].dims[:] = [2**40, 2**40]
    with pytest.raises(tg.InputError, match="needed lengths of at least 0 that fit"):
        tg_onnx.load(proto)


def test_an_output_that_no_node_gives_is_refused():
    proto = parsed("f (float[2] x) => (float[2] y) { y = Relu(x) }")
    proto.graph.node[0].input[0] = "z"
    with pytest.raises(tg.InputError, match="found no node that gives 'z', needed one before it is read"):
        tg_onnx.load(proto)


def test_functions_that_call_themselves_end():
    text = """<ir_version: 9, opset_import: ["" : 17, "own" : 1]>
    f (float[2] x) => (float[2] y) { y = own.g(x) }
    <domain: "own", opset_import: ["" : 17, "own" : 1]> g (x) => (y) { y = own.g(x) }"""
    with pytest.raises(tg.LimitError, match="found graphs inside graphs deeper than"):
        tg_onnx.load(onnx.parser.parse_model(text))


def test_local_functions_take_attributes_of_their_callers():
    text = """<ir_version: 9, opset_import: ["" : 17, "own" : 1]>
    f (float[2, 3] x) => (float[2, 3] y) { y = own.g <a = 0> (x) }
    <domain: "own", opset_import: ["" : 17]> g <a> (x) => (y) { y = Softmax <axis: int = @a> (x) }"""
    model = tg_onnx.load(onnx.parser.parse_model(text))
    x = np.array([[1.0, 2.0, 3.0], [1.0, 0.0, 5.0]], np.float32)
    e = np.exp(x - x.max(0))
    np.testing.assert_allclose(model.function("perform")(x)["y"], e / e.sum(0), rtol=1e-6)


def test_small_floats_come_and_go_as_those_of_ml_dtypes():
    import ml_dtypes

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT8E4M3FN, [3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT8E5M2, [3])
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E5M2)
    model = tg_onnx.load(helper.make_model(helper.make_graph([node], "g", [x], [y])))
    small = np.array([1.0, -0.4375, 448.0], ml_dtypes.float8_e4m3fn)
    result = model.function("perform")(small)["y"]
    assert result.dtype == ml_dtypes.float8_e5m2
    assert result.tolist() == small.astype(ml_dtypes.float8_e5m2).tolist()
