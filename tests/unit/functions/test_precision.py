"""Contractions of float32 in 16 bits and by parts: oracles are NumPy's roundings, torch.autocast, and float64."""

from __future__ import annotations

import itertools
import pickle

import ml_dtypes
import numpy as np
import pytest

import tg
from tg.errors import DtypeError, OptionError

RNG = np.random.default_rng(0)
BACKENDS = [one.name for one in tg.plugin.registry().backends() if one.is_available]
HALVES = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
ERRORS = {"highest": 1e-6, "bfloat16x3": 2e-5, "bfloat16": 8e-3}  # of a product, relative to the product of magnitudes


def normal(*shape):
    return RNG.normal(size=shape).astype("float32")


def contractions(graph):
    """The dtypes of operands of all contractions of a program and of the graphs inside its ops."""
    for node in graph.nodes:
        numbers = node.op.factors(len(node.inputs))
        yield from (graph.types[node.inputs[k]].dtype for k in numbers)
        yield from itertools.chain.from_iterable(map(contractions, node.op.inner_graphs()))


def perceptron():
    """Inputs, the loss and its gradients of a network with one hidden layer, and arrays for it."""
    inputs = [tg.tensor(name, "float32", shape) for name, shape in (("x", (5, 9)), ("w", (9, 7)), ("v", (7, 3)))]
    x, w, v = inputs
    loss = tg.sum(tg.square(tg.relu(x @ w) @ v))
    return inputs, [loss, *tg.grad(loss, [w, v])], [normal(*one.type.shape) for one in inputs]


@pytest.mark.parametrize("half", HALVES)
def test_operands_and_results_of_products_are_rounded_and_all_else_is_float32(half):
    def product(a, b):
        a, b = (one.astype(HALVES[half]).astype("float32") for one in (a, b))
        return (a @ b).astype(HALVES[half]).astype("float32")

    inputs, outputs, (x, w, v) = perceptron()
    before = product(x, w)
    hidden = np.maximum(before, 0)
    y = product(hidden, v)
    slopes = product(2 * y, v.T) * (before > 0)
    wanted = [np.sum(y * y), product(x.T, slopes), product(hidden.T, 2 * y)]
    f = tg.function(inputs, outputs, backend=tg.backend("perform", amp=half))
    for got, want in zip(f(x, w, v), wanted, strict=True):
        assert got.dtype == "float32"
        np.testing.assert_allclose(got, want, rtol=1e-6)
    assert set(contractions(f.graph)) == {half}


def test_a_network_has_the_values_and_gradients_of_torch_s_autocast():
    torch = pytest.importorskip("torch")
    inputs, outputs, arrays = perceptron()
    x, w, v = (torch.tensor(a, requires_grad=True) for a in arrays)
    with torch.autocast("cpu", torch.bfloat16):
        y = torch.relu(x @ w) @ v
        loss = y.float().square().sum()
    loss.backward()
    got = tg.function(inputs, outputs, backend=tg.backend("perform", amp="bfloat16"))(*arrays)
    for array, want in zip(got, (loss, w.grad, v.grad), strict=True):
        np.testing.assert_allclose(array, want.detach().numpy(), rtol=1e-2, atol=0.02 * np.abs(array).max())
    np.testing.assert_allclose(got[0], loss.item(), rtol=1e-6)


def test_convolutions_and_attention_are_those_of_torch_s_autocast():
    torch = pytest.importorskip("torch")
    images, kernel = normal(2, 3, 8, 8), normal(4, 3, 3, 3)
    q, k, v = normal(2, 2, 6, 4), normal(2, 2, 6, 4), normal(2, 2, 6, 4)
    with torch.autocast("cpu", torch.bfloat16):
        convolved = torch.nn.functional.conv2d(torch.tensor(images), torch.tensor(kernel), padding=1)
        attended = torch.nn.functional.scaled_dot_product_attention(*map(torch.tensor, (q, k, v)), is_causal=True)
    assert convolved.dtype == attended.dtype == torch.bfloat16
    arrays = (images, kernel, q, k, v)
    variables = [tg.tensor(name, "float32", a.shape) for name, a in zip("xwqkv", arrays, strict=True)]
    x, w, *heads = variables
    results = [tg.nn.conv2d(x, w, padding=1), tg.nn.scaled_dot_product_attention(*heads, is_causal=True)]
    f = tg.function(variables, results, backend=tg.backend("perform", amp="bfloat16"), mode="off")
    got = f(*arrays)
    for array, want in zip(got, (convolved, attended), strict=True):
        np.testing.assert_allclose(array, want.float().numpy(), rtol=2**-7, atol=2**-7)
        assert (array == array.astype(ml_dtypes.bfloat16).astype("float32")).all()


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name != "perform"])
@pytest.mark.parametrize("option", [{"amp": "bfloat16"}, {"amp": "float16"}, {"precision": "bfloat16x3"}], ids=repr)
def test_every_backend_computes_the_program_of_the_reference(backend, option):
    inputs, outputs, arrays = perceptron()
    want = tg.function(inputs, outputs, backend=tg.backend("perform", **option))(*arrays)
    got = tg.function(inputs, outputs, backend=tg.backend(backend, **option))(*arrays)
    step = {"bfloat16": 2**-7, "float16": 2**-10}.get(option.get("amp"), 1e-5)  # sums that are rounded to another half
    for a, b in zip(got, want, strict=True):
        assert a.dtype == "float32"
        np.testing.assert_allclose(a, b, rtol=step, atol=step * np.abs(b).max())


@pytest.mark.long
@pytest.mark.parametrize("backend", [name for name in BACKENDS if name != "perform"])
@pytest.mark.parametrize("option", [{"amp": "bfloat16"}, {"amp": "float16"}, {"precision": "bfloat16x3"}], ids=repr)
def test_every_backend_convolves_and_attends_as_the_reference_does(backend, option):
    q, k, x, w = inputs = [
        tg.tensor(name, "float32", shape)
        for name, shape in zip("qkxw", ((2, 3, 6, 4), (2, 3, 6, 4), (2, 3, 9, 9), (4, 3, 3, 3)), strict=True)
    ]
    attended = tg.nn.scaled_dot_product_attention(q, k, k, is_causal=True)
    convolved = tg.nn.conv2d(x, w, stride=2, padding=1)
    outputs = [attended, convolved, *tg.grad(tg.sum(tg.sin(attended)), [q, k])]
    outputs += tg.grad(tg.sum(tg.sin(convolved)), [x, w])
    arrays = [normal(*one.type.shape) for one in inputs]
    want = tg.function(inputs, outputs, backend=tg.backend("perform", **option))(*arrays)
    got = tg.function(inputs, outputs, backend=tg.backend(backend, **option))(*arrays)
    step = {"bfloat16": 2**-7, "float16": 2**-10}.get(option.get("amp"), 1e-5)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=step, atol=step * np.abs(b).max())


def loops():
    """Programs with products inside other ops, by name."""
    x, w = tg.tensor("x", "float32", (4, 4)), tg.tensor("w", "float32", (4, 4))
    return {
        "scan": ([x, w], tg.scan(lambda h, _: (tg.tanh(h @ w), None), x, length=3)[0]),
        "while": ([x, w], tg.while_loop(lambda h: tg.sum(h) > 1e9, lambda h: h @ w, x @ w)),
        "cond": ([x, w], tg.cond(tg.sum(x) > 1e9, lambda: x, lambda: x @ w)),
        "checkpoint": ([x, w], tg.grad(tg.sum(tg.checkpoint(lambda v: tg.tanh(v @ w) @ w)(x)), w)),
        "vmap": ([x, w], tg.vmap(lambda row: row @ w)(x)),
    }


@pytest.mark.parametrize("name", loops())
def test_products_inside_loops_branches_and_checkpoints_are_lowered(name):
    inputs, y = loops()[name]
    arrays = [normal(4, 4), 0.3 * normal(4, 4)]
    exact = tg.function(inputs, y, backend="perform", mode="off")(*arrays)
    f = tg.function(inputs, y, backend=tg.backend("perform", amp="bfloat16"), mode="off")
    assert set(contractions(f.graph)) == {"bfloat16"}
    got = f(*arrays)
    assert got.dtype == "float32"
    assert 0 < np.abs(got - exact).max() < 0.03 * np.abs(exact).max()
    by_parts = tg.function(inputs, y, backend=tg.backend("perform", precision="bfloat16x3"))(*arrays)
    np.testing.assert_allclose(by_parts, exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("precision", ERRORS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_products_have_the_error_of_their_algorithm(backend, precision):
    a, b = normal(40, 300), normal(300, 30)
    exact, size = a.astype("float64") @ b, np.abs(a).astype("float64") @ np.abs(b)
    x, y = tg.matrix("x", "float32"), tg.matrix("y", "float32")
    got = tg.function([x, y], x @ y, backend=tg.backend(backend, precision=precision))(a, b)
    error = np.max(np.abs(got - exact) / size)
    assert got.dtype == "float32"
    assert ERRORS[precision] / 2000 < error < ERRORS[precision]


@pytest.mark.parametrize("backend", BACKENDS)
def test_operands_are_the_nearest_bfloat16(backend):
    a, b = normal(3, 50), normal(50, 4)
    rounded = [one.astype(ml_dtypes.bfloat16).astype("float64") for one in (a, b)]
    x, y = tg.matrix("x", "float32"), tg.matrix("y", "float32")
    got = tg.function([x, y], x @ y, backend=tg.backend(backend, precision="bfloat16"))(a, b)
    np.testing.assert_allclose(got, rounded[0] @ rounded[1], rtol=1e-5, atol=1e-5)


def test_attention_and_convolutions_are_by_parts_too():
    q = tg.tensor("q", "float32", (None, 4, 6, 8))
    k = tg.tensor("k", "float32", (None, None, 6, 8))
    x, w = tg.tensor("x", "float32", (2, 3, 8, 8)), tg.tensor("w", "float32", (4, 3, 3, 3))
    attended = tg.checkpoint(lambda v: tg.nn.scaled_dot_product_attention(q, v, v, enable_gqa=True))(k)
    outputs = [attended, tg.grad(tg.sum(tg.sin(attended)), q), tg.nn.conv2d(x, w, stride=2)]
    arrays = [normal(2, 4, 6, 8), normal(2, 2, 6, 8), normal(2, 3, 8, 8), normal(4, 3, 3, 3)]
    exact = tg.function([q, k, x, w], outputs, backend="perform")(*arrays)
    for precision, most in (("bfloat16", 3e-2), ("bfloat16x3", 1e-4)):
        got = tg.function([q, k, x, w], outputs, backend=tg.backend("perform", precision=precision))(*arrays)
        for a, b in zip(got, exact, strict=True):
            assert 0 < np.max(np.abs(a - b)) < most * np.max(np.abs(b))


def test_infinities_stay_infinities():
    x, y = tg.matrix("x", "float32"), tg.matrix("y", "float32")
    f = tg.function([x, y], x @ y, backend=tg.backend("perform", precision="bfloat16x3"))
    a = np.array([[np.inf, 1.1], [-np.inf, 1.1], [np.nan, 1.1], [1e-40, 1.1]], "float32")
    np.testing.assert_allclose(f(a, np.float32([[2.0], [1.0]]))[:, 0], [np.inf, -np.inf, np.nan, 1.1], rtol=1e-4)


def test_an_inner_product_of_vectors_is_a_reduction():
    x, y = tg.vector("x", "float32"), tg.vector("y", "float32")
    f = tg.function([x, y], x @ y, backend=tg.backend("perform", amp="float16"))
    assert f([300.0, 300.0], [300.0, 300.0]) == 180000


def test_masters_stay_in_float32():
    w, x = tg.shared(np.ones((2, 2), "float32"), "w"), tg.matrix("x", "float32")
    updates = tg.optimize.sgd(tg.sum(x @ w), w, learning_rate=1e-4)
    tg.function([x], [], updates=updates, backend=tg.backend("perform", amp="bfloat16"))(np.ones((1, 2), "float32"))
    np.testing.assert_allclose(w.get_value(), np.full((2, 2), 0.9999, "float32"))  # bfloat16: 1


def test_products_of_other_dtypes_stay():
    x, y = tg.matrix("x", "float32"), tg.matrix("y", "float16")
    wide = x.astype("float64")
    f = tg.function([x, y], [x @ x, wide @ wide, y @ y], backend=tg.backend("perform", amp="bfloat16"))
    assert sorted(set(contractions(f.graph))) == ["bfloat16", "float16", "float64"]


@pytest.mark.parametrize("option", [{"amp": "bfloat16"}, {"precision": "bfloat16"}], ids=repr)
def test_a_program_of_float64_is_refused(option):
    x = tg.matrix("x")
    with pytest.raises(DtypeError) as caught:
        tg.function([x], tg.sum(x @ x), backend=tg.backend("perform", **option))
    (name,) = option
    first, *rest = str(caught.value).splitlines()
    assert first == f"{name}: MatMul: found float64, needed float32"
    assert "tg.sum(x @ x)" in rest[-1]
    assert tg.function([x], tg.sum(x), backend=tg.backend("perform", **option))([[1.0]]) == 1


def test_wrong_values_are_told():
    with pytest.raises(OptionError, match=r"option amp: found 'int8', needed .*'bfloat16', 'float16'"):
        tg.backend("perform", amp="int8")
    with pytest.raises(OptionError, match=r"option precision: found 'tf32', needed .*'highest', 'bfloat16x3'"):
        tg.backend("perform", precision="tf32")


def test_a_choice_is_pickled_and_a_program_is_kept_with_its_options():
    x = tg.tensor("x", "float32", (3, 3))
    a = normal(3, 3)
    results = []
    for options in ({}, {"amp": "bfloat16"}, {}, {"amp": "float16"}, {"precision": "bfloat16"}):
        choice = pickle.loads(pickle.dumps(tg.backend("c", **options)))
        results.append(tg.function([x], x @ x, backend=choice)(a))
    assert np.array_equal(results[0], results[2])
    assert len({r.tobytes() for r in results}) == 4


def test_debug_mode_the_guard_and_explanations_follow_the_change():
    x, w = tg.matrix("x", "float32"), tg.assume(tg.matrix("w", "float32"), nonnegative=True)
    choice = tg.backend("c", amp="bfloat16")
    hidden = x @ w
    f = tg.function([x, w.inputs[0]], tg.exp(hidden), backend=choice, mode="debug")
    assert f(normal(3, 4), np.abs(normal(4, 2))).shape == (3, 2)
    guarded = tg.function([x, w.inputs[0]], tg.exp(hidden), backend=choice, nan_guard=True)
    with pytest.raises(tg.errors.NonFiniteError, match="exp makes an infinity"):
        guarded([[100.0]], [[1.0]])
    explanation = tg.explain(tg.exp(hidden), backend=choice)
    assert "amp=bfloat16" in explanation.before
    assert "hidden = x @ w\n  stays, as" in str(explanation.why(hidden))
