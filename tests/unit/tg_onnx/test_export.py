"""`tg.export(f, path, "onnx")`: models that onnxruntime runs with the golden values of the function."""

import numpy as np
import onnx
import pytest

import tg
from tests.unit.tg_onnx.models import golden, kinds

DRAW = np.random.default_rng(5)


def shared(name, *shape):
    return tg.shared((DRAW.standard_normal(shape) / 2).astype("float32"), name=name)


def dense(x, name, inner, outer):
    return x @ shared(f"{name}.weight", inner, outer) + shared(f"{name}.bias", outer)


def test_a_network_of_any_batch(tmp_path):
    x = tg.tensor("x", shape=(tg.dim("batch"), 8), dtype="float32")
    scores = tg.softmax(dense(tg.nn.gelu(dense(x, "first", 8, 16)), "last", 16, 3), axis=1)
    made = golden(tg.function([x], {"scores": scores}, backend="perform"), tmp_path)
    assert kinds(made) == ["Gemm", "Gelu", "Gemm", "Softmax"]
    assert {one.name for one in made.graph.initializer} == {"first.weight", "first.bias", "last.weight", "last.bias"}
    (taken,), (given,) = made.graph.input, made.graph.output
    dims = [[d.dim_param or d.dim_value for d in one.type.tensor_type.shape.dim] for one in (taken, given)]
    assert (taken.name, given.name, dims) == ("x", "scores", [["batch", 8], ["batch", 3]])


def test_a_training_step_has_its_state_as_inputs_and_outputs(tmp_path):
    x, y = tg.tensor("x", shape=(None, 4), dtype="float32"), tg.tensor("y", shape=(None, 2), dtype="float32")
    w, b = shared("w", 4, 2), shared("b", 2)
    cost = tg.mean((x @ w + b - y) ** 2)
    dw, db = tg.grad(cost, [w, b])
    step = tg.function([x, y], {"cost": cost}, updates=[(w, w - 0.1 * dw), (b, b - 0.1 * db)], backend="perform")
    made = golden(step, tmp_path)
    assert [one.name for one in made.graph.input] == ["x", "y", "w", "b"]
    assert [one.name for one in made.graph.output] == ["cost", "w.new", "b.new"]
    assert {one.name for one in made.graph.initializer} >= {"w", "b"}  # what they are unless a caller says otherwise


@pytest.mark.parametrize("opset", [17, 21, 23])
def test_a_small_transformer(tmp_path, opset):
    width, heads = 12, 3
    tokens = tg.tensor("tokens", shape=(tg.dim("batch"), tg.dim("time")), dtype="int64")
    batch, time = tokens.shape
    x = shared("wte", 7, width)[tokens] + shared("wpe", 9, width)[:time]
    y = tg.nn.layer_norm(x, shared("ln.weight", width), shared("ln.bias", width))
    parts = tg.reshape(dense(y, "qkv", width, 3 * width), (batch, time, 3, heads, width // heads))
    q, k, v = (tg.transpose(parts[:, :, j], (0, 2, 1, 3)) for j in range(3))
    y = tg.nn.scaled_dot_product_attention(q, k, v, is_causal=True)
    x = x + tg.reshape(tg.transpose(y, (0, 2, 1, 3)), (batch, time, width))
    x = x + dense(tg.nn.gelu(dense(x, "up", width, 24), approximate="tanh"), "down", 24, width)
    made = golden(
        tg.function([tokens], {"logits": dense(x, "head", width, 7)}, backend="perform"), tmp_path, opset=opset
    )
    assert ("Attention" in kinds(made)) == (opset >= 23)
    assert "LayerNormalization" in kinds(made)


def test_a_filter_of_kalman_by_a_scan(tmp_path):
    y, q = tg.vector("y"), tg.scalar("q")
    forward = np.array([[1.0, 1.0], [0.0, 1.0]])

    def step(carry, seen):
        mean, spread = carry
        mean, spread = forward @ mean, forward @ spread @ forward.T + q * q * np.eye(2)
        scale = spread[0, 0] + 0.5
        gain = spread[:, 0] / scale
        off = seen - mean[0]
        return (mean + gain * off, spread - tg.outer(gain, gain) * scale), -0.5 * (off**2 / scale + tg.log(scale))

    (mean, _), terms = tg.scan(step, (np.zeros(2), np.eye(2)), y)
    cost = tg.sum(terms)
    made = golden(
        tg.function([y, q], {"cost": cost, "mean": mean, "slope": tg.grad(cost, q)}, backend="perform"), tmp_path
    )
    assert kinds(made).count("Scan") == 2


def test_a_log_density_and_its_gradient(tmp_path):
    beta, x, y = tg.tensor("beta", shape=(3,)), tg.tensor("x", shape=(None, 3)), tg.vector("y")
    logits = x @ beta
    logp = tg.sum(tg.where(y > 0, tg.nn.logsigmoid(logits), tg.nn.logsigmoid(-logits))) - tg.sum(beta**2) / 2
    golden(tg.function([beta, x, y], [logp, tg.grad(logp, beta)], backend="perform"), tmp_path)


def test_dtypes_that_onnxruntime_lacks_kernels_for_are_written_in_another_by_the_general_option(tmp_path):
    x = tg.vector("x")
    backend = tg.backend("perform", dtype="float32")
    made = golden(tg.function([x], tg.arctan(x), backend=backend), tmp_path)
    assert made.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT


def test_weights_in_a_file_of_their_own_lie_beside_golden_values(tmp_path):
    x = tg.tensor("x", shape=(None, 40), dtype="float32")
    f = tg.function([x], dense(x, "only", 40, 40), backend="perform")
    folder = tg.export(f, tmp_path / "net", "onnx", external=True)
    assert sorted(p.name for p in folder.iterdir()) == ["model.data", "model.onnx", "test_data_set_0"]
    assert (folder / "model.data").stat().st_size >= 6400
    case = folder / "test_data_set_0"
    arrays = [onnx.numpy_helper.to_array(onnx.load_tensor(case / name)) for name in ("input_0.pb", "output_0.pb")]
    import onnxruntime

    (result,) = onnxruntime.InferenceSession(folder / "model.onnx").run(None, {"x": arrays[0]})
    np.testing.assert_allclose(result, arrays[1], rtol=1e-5)


def test_an_opset_that_there_is_not_is_refused_and_nothing_is_left(tmp_path):
    x = tg.vector("x")
    f = tg.function([x], x + 1, backend="perform")
    for opset in (16, 99):
        with pytest.raises(tg.OptionError, match="opset: found"):
            tg.export(f, tmp_path / "f.onnx", "onnx", opset=opset)
    assert not list(tmp_path.iterdir())


def test_each_opset_is_written(tmp_path):
    x = tg.tensor("x", shape=(None, 3), dtype="float32")
    f = tg.function([x], [tg.sum(x, axis=0), tg.max(x, axis=1), tg.nn.gelu(x)], backend="perform")
    for opset in range(17, onnx.defs.onnx_opset_version() + 1):
        made = onnx.load(tg.export(f, tmp_path / "f.onnx", "onnx", opset=opset))
        assert [one.version for one in made.opset_import] == [opset]
