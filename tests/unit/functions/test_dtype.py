"""The option `dtype` of a backend: programs in float32 and halves whose expressions are in float64."""

from __future__ import annotations

import pickle
import weakref

import numpy as np
import pytest

import tg
from tests.replay.program import FAMILIES, expression, programs
from tg.errors import DtypeError, OptionError
from tg.functions import pickled

BACKENDS = ("perform", "c", "numba", "jax", "torch", "mlx")
WIDE = {"float64", "complex128"}
EPS = float(np.finfo("float32").eps)

everywhere = pytest.mark.parametrize("backend", BACKENDS)


def in_float32(backend):
    return tg.backend(backend, dtype="float32")


def dtypes(graph):
    """The dtypes in a program, inner graphs and loops over elements among it."""
    inner = [g for node in graph.nodes for g in (*node.op.inner_graphs(), *node.op.element_programs)]
    return {t.dtype for t in graph.types}.union(*map(dtypes, inner))


def compiled(inputs, outputs, dtype="float32", backend="perform", **options):
    return tg.function(inputs, outputs, backend=tg.backend(backend, dtype=dtype), **options)


# --- whole programs --------------------------------------------------------------------------------------------------


def network(w, b, v, x, y):
    hidden = tg.tanh(x @ w + b)
    return tg.mean((hidden @ v - y) ** 2) + tg.mean(tg.arange(4)) / 100


@everywhere
def test_a_training_loop_of_float64_trains_in_float32(backend):
    """The oracle is PyTorch in float32; a step differs by the order of sums of at most 15 terms."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    values = [rng.normal(size=shape) for shape in ((3, 5), (5,), (5,))]
    w, b, v = (tg.shared(value, name) for value, name in zip(values, "wbv", strict=True))
    steps = tg.shared(0, "steps")
    x, y = tg.matrix("x"), tg.vector("y")
    loss = network(w, b, v, x, y)
    updates = {s: s - g / 4 for s, g in zip((w, b, v), tg.grad(loss, [w, b, v]), strict=True)}
    train = tg.function([x, y], loss, updates={**updates, steps: steps + 1}, backend=in_float32(backend))
    assert not dtypes(train.graph) & WIDE
    assert [t.type.dtype for t in train.inputs] == ["float32", "float32"]

    theirs = [torch.tensor(value.astype("float32"), requires_grad=True) for value in values]
    points, targets = rng.normal(size=(15, 3)).astype("float32"), rng.normal(size=15).astype("float32")
    for _ in range(4):
        hidden = torch.tanh(torch.tensor(points) @ theirs[0] + theirs[1])
        expected = torch.mean((hidden @ theirs[2] - torch.tensor(targets)) ** 2) + 0.015
        gradients = torch.autograd.grad(expected, theirs)
        theirs = [(p - g / 4).detach().requires_grad_() for p, g in zip(theirs, gradients, strict=True)]
        result = train(points, targets)
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, expected.detach().numpy(), rtol=64 * EPS)
    for s, p in zip((w, b, v), theirs, strict=True):
        assert s.type.dtype == "float64"
        assert s.get_value().dtype == np.float64
        np.testing.assert_allclose(s.get_value(), p.detach().numpy(), rtol=64 * EPS, atol=64 * EPS)
    assert steps.get_value() == 4


@everywhere
def test_loops_branches_and_draws_have_no_float64(backend):
    x0 = tg.vector("x0")

    def step(x, key):
        noise = tg.random.normal(key, shape=(3,)) + tg.random.uniform(key, 1, 2)
        x = tg.cond(tg.sum(x) > 0, lambda v: 0.5 * v, lambda v: v / 3, x) + noise
        return x, tg.mean(tg.arange(3)) + tg.sum(x)

    last, sums = tg.scan(step, x0, tg.random.split(tg.random.key(7), 5))
    halved, _ = tg.while_loop(lambda c: c[1] < 3, lambda c: (c[0] * 0.5, c[1] + 1), (tg.sum(last), 0), max_steps=9)
    kept = tg.checkpoint(lambda v: tg.exp(tg.sin(v)))(halved)
    f = tg.function([x0], [last, sums, kept, tg.grad(kept, x0)], backend=in_float32(backend))
    u = tg.vector("u", "float32")
    quantile = tg.function([u], tg.special.erfinv(u), backend=backend)  # where it is a series, that is of float64
    assert dtypes(f.graph) & WIDE <= dtypes(quantile.graph)

    keys = tg.random.split(tg.random.key(7), 5).eval()
    draw = tg.vector("key", "uint32")
    noises = [tg.random.normal(draw, shape=(3,), dtype="float32"), tg.random.uniform(draw, 1, 2, dtype="float32")]
    draws = [tg.function([draw], noises, backend="perform")(key) for key in keys]
    x, slope, expected = np.array([1, 2, 3], "float32"), np.float32(1), []
    for normal, uniform in draws:
        factor = np.float32(0.5) if x.sum() > 0 else np.float32(1) / np.float32(3)
        x, slope = factor * x + (normal + uniform), slope * factor
        expected.append(x.sum() + 1)
    y = x.sum() / 8
    results = f(np.array([1, 2, 3], "float32"))
    value = np.exp(np.sin(y))
    wanted = [x, expected, value, np.full(3, value * np.cos(y) / 8 * slope)]
    for result, one in zip(results, wanted, strict=True):
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, one, rtol=256 * EPS, atol=256 * EPS)


def test_a_residual_block_is_that_of_torch_in_float32():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    x = tg.tensor("x", shape=(2, 4, 6, 6))
    kernels = [rng.normal(size=(4, 4, 3, 3)) / 6 for _ in range(2)]

    def block(convolve, norm, relu, x, kernels):
        y = relu(norm(convolve(x, kernels[0])))
        return relu(norm(convolve(y, kernels[1])) + x)

    own = block(
        lambda v, k: tg.nn.conv2d(v, k, padding=1),
        lambda v: tg.nn.instance_norm(v),
        tg.relu,
        x,
        [tg.constant(k) for k in kernels],
    )
    loss = tg.mean(own**2)
    f = compiled([x], [own, loss], backend="c")
    assert not dtypes(f.graph) & WIDE
    value = rng.normal(size=(2, 4, 6, 6)).astype("float32")
    theirs = block(
        lambda v, k: torch.nn.functional.conv2d(v, k, padding=1),
        torch.nn.functional.instance_norm,
        torch.relu,
        torch.tensor(value),
        [torch.tensor(k.astype("float32")) for k in kernels],
    )
    result, mean = f(value)
    np.testing.assert_allclose(result, theirs.numpy(), rtol=256 * EPS, atol=256 * EPS)
    np.testing.assert_allclose(mean, torch.mean(theirs**2).numpy(), rtol=64 * EPS)


@pytest.mark.parametrize("family", FAMILIES)
def test_float64_is_left_where_a_user_has_cast_alone(family):
    for one in programs(family)[::6]:
        inputs, outputs = expression(one)
        f = compiled(inputs, outputs, on_unused_input="ignore")
        assert not dtypes(f.graph) & WIDE, one.name


# --- what makes float64 of other dtypes ------------------------------------------------------------------------------

SOURCES = {
    "true_divide": lambda n: n / 2,
    "mean": tg.mean,
    "var": tg.var,
    "exp": tg.exp,
    "zeros": lambda n: n + tg.zeros(3),
    "linspace": lambda n: tg.linspace(0, 1, 3) * n,
    "eye": lambda n: tg.eye(3) @ n,
    "norm": tg.norm,
    "array": lambda n: n * np.array([0.5, 1.5, 2.5]),
    "list": lambda n: n * [0.5, 1.5, 2.5],
    "float": lambda n: n * 0.1,
    "complex": lambda n: tg.real(tg.exp(1j * n)),
    "median": tg.median,
    "interp": lambda n: tg.interp(n, [0.0, 4.0], [1.0, 3.0]),
    "fft": lambda n: tg.sqrt(n) * tg.sum(n, dtype="float64"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_integers_give_float32_where_they_gave_float64(name):
    n = tg.vector("n", "int64", shape=(3,))
    values, result = np.array([1, 2, 4]), SOURCES[name](n)
    wide = tg.function([n], result, backend="perform")(values)
    f = compiled([n], result)
    assert wide.dtype == np.float64
    assert not dtypes(f.graph) & WIDE
    assert f(values).dtype == np.float32
    np.testing.assert_allclose(f(values), wide, rtol=16 * EPS)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_uniform_numbers_are_below_1_and_normal_ones_finite(dtype):
    key = tg.random.key(3)
    draws = [draw(key, shape=(20_000,)) for draw in (tg.random.uniform, tg.random.normal, tg.random.gumbel)]
    u, *others = (np.asarray(v, "float64") for v in compiled([], draws, dtype)())
    assert u.min() >= 0
    assert u.max() < 1
    assert abs(u.mean() - 0.5) < 5 / np.sqrt(12 * 20_000) + 2.0**-8
    assert all(np.isfinite(v).all() for v in others)


def test_draws_with_bits_of_their_own_are_rounded():
    key, a = tg.random.key(3), tg.vector("a")
    f = compiled([a], [tg.random.gamma(key, a), tg.random.poisson(key, a)])
    wide = tg.function([a], [tg.random.gamma(key, a), tg.random.poisson(key, a)], backend="perform")
    values = np.array([0.5, 2.0, 8.0])
    result, expected = f(values.astype("float32")), wide(values)
    np.testing.assert_array_equal(result[0], expected[0].astype("float32"))
    np.testing.assert_array_equal(result[1], expected[1])


def test_limits_stay_limits():
    x = tg.vector("x")
    f = compiled([x], [tg.nan_to_num(x), x / tg.maximum(tg.abs(x), 1e-300), x * 1e300])
    large = np.finfo("float32").max
    result = f(np.array([np.inf, 0.0, 0.5], "float32"))
    np.testing.assert_array_equal(result[0], np.array([large, 0, 0.5], "float32"))
    np.testing.assert_array_equal(result[1][1:], [0, 1])
    np.testing.assert_array_equal(result[2][1:], np.array([0, large / 2], "float32"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_an_op_without_halves_works_in_float32(dtype):
    a = tg.matrix("a", shape=(2, 2))
    f = compiled([a], tg.linalg.cholesky(a), dtype)
    assert f.graph.output_types[0].dtype == dtype
    assert not dtypes(f.graph) & WIDE
    value = np.array([[4, 2], [2, 5]]).astype(f.inputs[0].type.numpy_dtype)
    np.testing.assert_array_equal(f(value).astype("float64"), [[2, 0], [1, 2]])


def test_complex_numbers_are_complex64():
    z = tg.vector("z", "complex128")
    for dtype in ("float16", "float32"):
        f = compiled([z], [z * 2, tg.real(z), tg.abs(z)], dtype)
        assert [t.dtype for t in f.graph.output_types] == ["complex64", dtype, dtype]


# --- casts of users --------------------------------------------------------------------------------------------------


def test_casts_of_a_user_stay_with_what_is_computed_of_them():
    x, n = tg.vector("x"), tg.vector("n", "int32")
    f = compiled([x, n], [tg.sum(x.astype("float64")), tg.cast(n, "float64") * 0.1, x.astype("float32"), x * 0.1])
    assert [t.dtype for t in f.graph.output_types] == ["float64", "float64", "float32", "float32"]
    values = np.array([1e8, 1, -1e8], "float32")
    result = f(values, np.array([1], "int32"))
    assert result[0] == 1
    assert result[1] == 0.1


def test_the_derivative_of_a_cast_comes_back():
    x, y = tg.vector("x"), tg.vector("y")
    loss = tg.sum(tg.exp(y * tg.sin(x)).astype("float64") ** 2)
    f = compiled([x, y], tg.grad(loss, [x, y]))
    assert [t.dtype for t in f.graph.output_types] == ["float32", "float32"]
    a, b = np.array([0.1, 0.7]), np.array([0.2, -0.3])
    value = 2 * np.exp(2 * b * np.sin(a))
    for result, expected in zip(f(a.astype("float32"), b.astype("float32")), (b * np.cos(a), np.sin(a)), strict=True):
        np.testing.assert_allclose(result, value * expected, rtol=16 * EPS)


def test_a_carry_keeps_the_dtype_in_which_it_begins():
    xs = tg.vector("xs")
    total = tg.scan(lambda t, x: (t + x, None), tg.cast(0.0, "float64"), xs)[0]
    plain = tg.scan(lambda t, x: (t + x.astype("float64"), None), tg.constant(0.0), xs)[0]
    f = compiled([xs], [total, plain])
    assert [t.dtype for t in f.graph.output_types] == ["float64", "float32"]
    assert f(np.array([1e8, 1, -1e8], "float32"))[0] == 1


def test_a_branch_that_is_cast_decides_for_all():
    x = tg.scalar("x")
    f = compiled([x], tg.cond(x > 0, lambda v: v.astype("float64") * 0.1, lambda v: v, x))
    assert f.graph.output_types[0].dtype == "float64"
    assert f(np.float32(1)) == 0.1


# --- functions -------------------------------------------------------------------------------------------------------


def test_inputs_keep_names_lengths_defaults_and_structure():
    n = tg.dim("n")
    w, b = tg.vector("w", shape=(n,)), tg.scalar("b")
    x, k = tg.vector("x", shape=(n,)), tg.vector("k", "int64")
    f = compiled([x, {"w": w, "b": b}, k], x @ w * b + tg.sum(k), defaults={k: [1]}, donate=x, givens={b: b + 1.0})
    inputs = f.inputs
    assert [str(v.type) for v in (inputs[0], inputs[1]["w"], inputs[1]["b"], inputs[2])] == [
        "float32[?]", "float32[?]", "float32[]", "int64[?]"
    ]  # fmt: skip
    ones = np.ones(3, "float32")
    assert f(ones, {"w": 2 * ones, "b": 0.5}) == 10
    g = compiled([x, w], x @ w, defaults={w: [1.0, 2.0]})
    assert g(x=np.ones(2, "float32")) == 3
    with pytest.raises(tg.ShapeError, match="dim n"):
        f(ones, {"w": ones[:2], "b": 0.5})


def test_calls_take_what_a_float32_function_takes():
    x = tg.vector("x")
    f = compiled([x], x * 2)
    assert f([1.0, 2.0]).dtype == np.float32
    with pytest.raises(DtypeError, match="found dtype float64, needed float32"):
        f(np.ones(2))


def test_float32_programs_and_the_option_float64_change_nothing():
    x, y = tg.vector("x", "float32"), tg.vector("y")
    f = compiled([x, y], [x * 2, x * y], "float64")
    assert [t.dtype for t in f.graph.output_types] == ["float32", "float64"]
    assert f.inputs[1] is y


def test_a_copy_is_of_the_expression_as_it_was_written():
    x, w = tg.vector("x"), tg.shared([0.1, 0.2], "w")
    f = compiled([x], x * w, updates={w: w * 2})
    plain = f.copy(backend="perform")
    assert plain.inputs == [x]
    np.testing.assert_array_equal(plain(np.ones(2)), [0.1, 0.2])
    other = tg.shared([3.0, 4.0], "other")
    half = plain.copy(backend=tg.backend("perform", dtype="float16"), swap={w: other})
    assert half([1.0, 1.0]).dtype == np.float16
    np.testing.assert_array_equal(other.get_value(), [6, 8])
    assert f.copy(swap={w: other}).inputs[0].type.dtype == "float32"


@pytest.mark.parametrize("is_here", [True, False])
def test_a_pickled_function_stays_in_its_dtype(monkeypatch, is_here):
    x, w = tg.vector("x"), tg.shared([1.0, 2.0], "w")
    f = compiled([x], x * w, updates={w: w + 0.5}, backend="c")
    data = pickle.dumps(f)
    if not is_here:
        monkeypatch.setattr(pickled, "_functions", weakref.WeakValueDictionary())
    g = pickle.loads(data)
    assert g.inputs[0].type.dtype == "float32"
    for step in range(3):
        result = g(np.ones(2, "float32"))
        assert result.dtype == np.float32
        np.testing.assert_array_equal(result, [1 + step / 2, 2 + step / 2])
    np.testing.assert_array_equal(w.get_value(), [1, 2])


def test_explanations_are_of_the_new_types():
    x = tg.vector("x")
    text = str(tg.explain([x], tg.log(1 + x), backend=in_float32("perform")))
    assert "float32" in text
    assert "float64" not in text


def test_the_fate_of_a_variable_is_told_by_that_of_the_expression():
    x, w = tg.vector("x"), tg.shared([1.0, 2.0], "w")
    y = tg.sum(x * w)
    f = compiled([x], tg.exp(y))
    assert "Reduce{fn=add" in f.why(y)
    assert "float32[]" in f.why(y)


def test_python_floats_are_arguments_of_a_traced_function():
    f = tg.jit(lambda x, k: tg.mean(x) * k, backend=tg.backend("perform", dtype="float32"))
    for x in (np.float32([1, 2]), [1.0, 2.0], np.array([1, 2])):
        assert f(x, 3.0) == 4.5
        assert f(x, 3.0).dtype == np.float32


@pytest.mark.parametrize(
    "options", [{"mode": "debug"}, {"nan_guard": True}, {"compile": "background"}, {"mode": "off"}]
)
def test_options_of_functions_keep_working(options):
    x, w = tg.vector("x"), tg.shared([1.0, 2.0], "w")
    f = compiled([x], tg.sum(x * w), backend="c", updates={w: w * 2}, **options)
    assert [f(np.float32([1, 1])) for _ in range(3)] == [3, 6, 12]
    assert f.wait()
    assert f(np.float32([1, 1])) == 24
    assert f.find_nonfinite(np.float32([1, 1])) is None


# --- shared variables ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["perform", "c", "jax", "torch"])
def test_values_keep_their_digits_until_they_are_updated(backend):
    value = np.random.default_rng(2).normal(size=30_000)  # as large as is given up where a backend has its own
    w, n = tg.shared(value, "w"), tg.shared(0, "n")
    x = tg.scalar("x")
    f = tg.function([x], tg.sum(w * x), updates={n: n + 1}, backend=in_float32(backend))
    f(1.0)
    np.testing.assert_array_equal(w.get_value(), value)
    wide = tg.function([], w + 0, backend=backend)
    np.testing.assert_array_equal(wide(), value)
    step = tg.function([], [], updates={w: w * 2}, backend=in_float32(backend))
    step()
    np.testing.assert_array_equal(w.get_value(), 2.0 * value.astype("float32"))
    np.testing.assert_array_equal(wide(), 2.0 * value.astype("float32"))
    step()
    w.set_value(value / 3)
    f(1.0)
    np.testing.assert_array_equal(w.get_value(), value / 3)


@pytest.mark.parametrize("backend", ["perform", "c", "jax", "torch"])
def test_a_training_loop_converts_nothing(backend):
    w = tg.shared(np.ones(4), "w")
    step = tg.function([], tg.sum(w), updates={w: w * 0.5}, backend=in_float32(backend))
    step()
    before = w.has
    step()
    assert before.array is None, "nobody has read it, so there is no float64"
    assert [*w.has.natives] == [*before.natives]
    np.testing.assert_array_equal(w.get_value(), np.full(4, 0.25))


def test_large_values_are_overwritten_in_place():
    w = tg.shared(np.zeros(1 << 16), "w")
    step = tg.function([], [], updates={w: w + 1}, backend=in_float32("c"))
    step()
    (before,) = w.has.natives.values()
    place = before.ctypes.data
    del before
    step()
    (after,) = w.has.natives.values()
    assert after.ctypes.data == place
    assert (w.get_value() == 2).all()


# --- options ---------------------------------------------------------------------------------------------------------


def test_unknown_dtypes_and_those_that_a_backend_lacks_are_refused():
    with pytest.raises(OptionError, match="option dtype: found 'int8'"):
        tg.backend("perform", dtype="int8")
    with pytest.raises(OptionError, match="option dtype: found 'float128'"):
        tg.backend("auto", dtype="float128")
