"""Models of expressions, run by onnxruntime and held against the reference."""

import numpy as np
import onnx
import onnxruntime

import tg
from tg import plugin
from tg.exports.golden import golden as make_golden
from tg.graph.function_graph import FunctionGraph
from tg.rewrite.driver import rewrite
from tg_onnx.writing.graphs import supported
from tg_onnx.writing.model import model_of

OPSETS = (17, 18, 21, 23, 26)


def model(inputs, outputs, opset=21):
    """The model of an expression, checked with its shapes inferred."""
    graph = FunctionGraph.of(inputs, outputs, ())
    frozen = rewrite(graph, [plugin.registry().rewrites("perform")], supported=supported)
    names = [f"out{k}" for k in range(len(outputs))]
    made = model_of(
        frozen, name="f", opset=opset, inputs=[v.name for v in inputs], outputs=names, arrays={}, dims={}, metadata={}
    )
    onnx.checker.check_model(made, full_check=True)
    return made


def kinds(made):
    """The operators of a model, in order."""
    return [node.op_type for node in made.graph.node]


def run(made, *arrays):
    """The outputs that onnxruntime gives."""
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level, settings.intra_op_num_threads = 4, 1
    session = onnxruntime.InferenceSession(made.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip([one.name for one in made.graph.input], map(np.asarray, arrays), strict=True)))


def agree(inputs, outputs, *values, opset=21, tolerance=1e-5):
    """The model of an expression, whose results are those of the reference, dtype by dtype."""
    outputs = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    made = model(inputs, outputs, opset)
    arrays = [np.asarray(value, v.type.numpy_dtype) for v, value in zip(inputs, values, strict=True)]
    wanted = tg.function(inputs, outputs, backend="perform")(*arrays)
    for result, expected in zip(run(made, *arrays), wanted, strict=True):
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)
    return made


def golden(f, folder, **options):
    """The exported model of a function, whose golden values onnxruntime gives as well."""
    example = make_golden("export", f)
    made = onnx.load(tg.export(f, folder / "f.onnx", "onnx", **options))
    names = [one.name for one in made.graph.input]
    states = list(example.state)
    results = run(made, *example.inputs.values(), *(array_of(made, name) for name in names if name in states))
    wanted = [*example.outputs.values(), *example.state.values()]
    assert len(results) == len(wanted)
    for result, expected in zip(results, wanted, strict=True):
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        tolerance = 1e-10 if expected.dtype == "float64" else 2e-5
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)
    return made


def array_of(made, name):
    """The value of a tensor that a model has."""
    return next(onnx.numpy_helper.to_array(one) for one in made.graph.initializer if one.name == name)
