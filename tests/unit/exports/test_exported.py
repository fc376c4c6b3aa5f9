"""`Exported`: names, weights, state, golden values, and graphs over all of them."""

import numpy as np
import pytest

import tg
from tg.errors import BoundsError
from tg.graph.interpret import interpret


def run(program, graph):
    inputs = [*program.golden.inputs.values(), *program.arrays][: graph.arity]
    return interpret(graph, inputs)


def results(program):
    return [*program.golden.outputs.values(), *program.golden.state.values()]


def assert_same(values, golden):
    for a, b in zip(values, golden, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_names_are_those_of_the_user_and_of_places(exported):
    x, y, a, b = tg.vector("x"), tg.vector(), tg.scalar("w"), tg.scalar("w")
    outputs = {"loss": tg.sum(x * a), "parts": [y * b, y + b]}
    f = tg.function([x, y, {"one": a, "two": [b]}], outputs, backend="perform")
    program = exported(f)
    assert list(program.input_names) == ["x", "input1", "input2.one", "input2.two.0"]
    assert list(program.output_names) == ["loss", "parts.0", "parts.1"]
    assert list(program.golden.inputs) == list(program.input_names)
    assert list(program.golden.outputs) == list(program.output_names)


def test_outputs_without_keys_have_the_names_of_variables(exported):
    x = tg.vector("x")
    y = tg.exp(x)
    y.name = "y"
    assert list(exported(tg.function([x], y, backend="perform")).output_names) == ["y"]
    assert list(exported(tg.function([x], [y, y, x + 1], backend="perform")).output_names) == [
        "output0",
        "output1",
        "output2",
    ]


def test_weights_and_state_are_told_apart(exported):
    x = tg.vector("x", shape=(2,))
    w, step = tg.shared([[1.0, 2.0], [3.0, 4.0]], "w"), tg.shared(0.5, "x")
    f = tg.function([x], tg.sum(w @ x) * step, updates={step: step * 2}, backend="perform")
    program = exported(f)
    assert list(program.weights) == ["w"]
    assert program.weights["w"].array.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert [(s.name, s.array.item(), program.golden.state[s.name].item()) for s in program.state] == [("x_1", 0.5, 1.0)]
    assert step.get_value() == 0.5
    assert program.names == ("x", "x_1", "w")
    graph = program.graph()
    assert [str(t) for t in graph.input_types] == ["float64[2]", "float64[]", "float64[?, ?]"]
    assert_same(run(program, graph), results(program))
    inside = program.graph(weights="constants", mode="off")
    assert inside.arity == 2
    assert_same(run(program, inside), results(program))


def test_state_that_is_not_read_is_state_all_the_same(exported):
    x, last = tg.scalar("x"), tg.shared(7.0, "last")
    program = exported(tg.function([x], x * 2, updates={last: x}, backend="perform"))
    assert [(s.name, s.array.item()) for s in program.state] == [("last", 7.0)]
    assert_same(run(program, program.graph()), results(program))


def test_snapshots_of_inference_are_weights(exported):
    x, w = tg.vector("x"), tg.shared(np.arange(3.0), "w")
    f = tg.function([x], tg.sum(x * w), backend="perform").inference()
    w.set_value(np.zeros(3))
    program = exported(f, example=[[1.0, 1.0, 1.0]])
    assert program.weights["w"].array.tolist() == [0.0, 1.0, 2.0]
    assert_same(run(program, program.graph()), [np.array(3.0)])


def test_dtypes_are_those_of_the_option(exported):
    x, w = tg.vector("x"), tg.shared(np.arange(3.0), "w")
    f = tg.function([x], x * w, backend=tg.backend("perform", dtype="float32"))
    program = exported(f, example={"x": np.ones(3, "float32")})
    assert [a.dtype.name for a in (*program.arrays, *results(program))] == ["float32", "float32"]
    assert {t.dtype for t in program.graph().input_types} == {"float32"}
    assert_same(
        program.compiled("perform").executable.run([np.ones(3, "float32"), *program.arrays])[0], results(program)
    )


def test_ops_that_a_format_lacks_are_expanded(exported):
    x = tg.matrix("x")
    program = exported(tg.function([x], tg.nn.softmax(x), backend="perform"))
    names = lambda graph: {node.op.name for node in graph.nodes}  # noqa: E731
    assert names(program.graph()) == {"Softmax"}
    expanded = program.graph(lambda op, types: op.name != "Softmax")
    assert "exp" in names(expanded)
    assert_same(run(program, expanded), results(program))


def test_a_backend_compiles_it(exported):
    x, total = tg.vector("x"), tg.shared(0.0, "total")
    f = tg.function([x], tg.sum(tg.exp(x)) + total, updates={total: total + 1}, backend="perform")
    program = exported(f)
    compiled = program.compiled("c")
    outputs, status = compiled.executable.run([*program.golden.inputs.values(), *program.arrays])
    assert not status
    assert_same(outputs, results(program))
    lowered = program.lowered("c", threads=1)
    assert lowered.request.backend == "c"
    assert lowered.graph.arity == 2


def test_an_example_says_the_golden_inputs(exported):
    x, y = tg.vector("x"), tg.scalar("y")
    f = tg.function([x, y], x * y, backend="perform", defaults={y: 3.0})
    for example in ([[1.0, 2.0], 3.0], {"x": [1.0, 2.0]}):
        program = exported(f, example=example)
        assert [a.tolist() for a in program.golden.inputs.values()] == [[1.0, 2.0], 3.0]
        assert program.golden.outputs["output"].tolist() == [3.0, 6.0]


def test_an_index_into_a_short_axis_is_drawn_inside(exported):
    i, w = tg.tensor("i", shape=(None,), dtype="int64"), tg.shared(np.arange(2.0), "w")
    program = exported(tg.function([i], w[i], backend="perform"))
    assert program.golden.inputs["i"].max() <= 1


def test_an_axis_of_length_1_is_another_program(exported):
    x, y = tg.matrix("x"), tg.vector("y")
    f = tg.function([x, y], x * y, backend="perform")
    program = exported(f, example=[[[1.0], [2.0]], [1.0, 2.0, 3.0]])
    assert program.ones == ((0, 1),)
    assert_same(run(program, program.graph()), results(program))


def test_checks_stay_in_graphs(exported):
    i, w = tg.scalar("i", dtype="int64"), tg.shared(np.arange(3.0), "w")
    program = exported(tg.function([i], w[i], backend="perform"))
    with pytest.raises(BoundsError):
        interpret(program.graph(), [np.array(9), *program.arrays])
