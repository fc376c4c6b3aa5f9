"""Compiled functions inside of programs of JAX: `f.traceable()` in jit, grad, vmap and scan, beside JAX's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.scipy import stats
from scipy import special

import tg

pytestmark = pytest.mark.sampled(3)

POINT = np.array([0.3, -1.2, 2.5])


@pytest.fixture
def wide():
    with jax.enable_x64(True):
        yield


def compiled(inputs, outputs, **options):
    return tg.function(inputs, outputs, backend="jax", **options)


def density():
    """A log-density as a function of tg, and as one of JAX."""
    x = tg.vector("x")
    value = tg.sum(tg.distributions.normal.logpdf(x, 1.0, 2.0)) + tg.sum(tg.distributions.t.logpdf(x, 4.0))
    return compiled([x], value), lambda x: jnp.sum(stats.norm.logpdf(x, 1.0, 2.0)) + jnp.sum(stats.t.logpdf(x, 4.0))


WAYS = {
    "as it is": lambda f: f,
    "jit": jax.jit,
    "grad": jax.grad,
    "value_and_grad in jit": lambda f: jax.jit(jax.value_and_grad(f)),
    "grad of jit": lambda f: jax.grad(jax.jit(f)),
    "hessian": jax.hessian,
    "hessian in jit": lambda f: jax.jit(jax.hessian(jax.jit(f))),
    "reverse over reverse": lambda f: jax.jacrev(jax.jacrev(f)),
    "vmap": lambda f: lambda x: jax.vmap(f)(jnp.stack([x, 2 * x, -x])),
    "vmap of grad": lambda f: lambda x: jax.jit(jax.vmap(jax.grad(f)))(jnp.stack([x, 2 * x, -x])),
    "grad of vmap": lambda f: jax.grad(lambda x: jnp.sum(jax.vmap(f)(jnp.stack([x, 2 * x])) ** 2)),
    "steps in scan": lambda f: lambda x: lax.scan(lambda c, _: (c + 0.1 * jax.grad(f)(c), f(c)), x, None, length=5),
    "grad of scan": lambda f: jax.grad(lambda x: lax.scan(lambda c, _: (c + f(c), c), x, None, length=3)[0].sum()),
    "in a branch": lambda f: jax.jit(lambda x: lax.cond(x[0] > 0, f, lambda x: x[0], x)),
    "checkpointed": lambda f: jax.grad(jax.checkpoint(lambda x: jnp.exp(0.1 * f(x)))),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_density_in_programs_of_jax(way, wide):
    f, expected = density()
    got, want = WAYS[way](f.traceable())(POINT), WAYS[way](expected)(POINT)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_32_bits_while_jax_has_no_more(way):
    x = tg.vector("x", dtype="float32")
    rows = np.linspace(0.5, 1.5, 3 * 500).reshape(500, 3)  # a large constant of 64 bits, and indices of 64 bits
    value = tg.sum(tg.erf(x)) * x[tg.constant(2)] + tg.cast(tg.mean(tg.tanh(tg.constant(rows) @ x)), "float32")
    f = compiled([x], value).traceable()

    def expected(x):
        return jnp.sum(lax.erf(x)) * x[2] + jnp.mean(jnp.tanh(rows.astype("float32") @ x))

    point = POINT.astype("float32")
    if "hessian" in way or "over" in way:
        with pytest.raises(tg.InputError, match="a second derivative, of what has floats of 64 bits inside"):
            WAYS[way](f)(point)
        return
    got, want = WAYS[way](f)(point), WAYS[way](expected)(point)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert a.dtype == np.float32
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)
    assert jnp.ones(1).dtype == np.float32


@pytest.mark.parametrize("way", [name for name in WAYS if "hessian" in name or "over" in name])
def test_second_derivatives_of_32_bits(way):
    x = tg.vector("x", dtype="float32")
    got = WAYS[way](compiled([x], tg.sum(tg.sin(x) * x[::-1]) * tg.prod(x)).traceable())(POINT.astype("float32"))
    want = WAYS[way](lambda x: jnp.sum(jnp.sin(x) * x[::-1]) * jnp.prod(x))(POINT.astype("float32"))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=2e-5)


READS = {
    "an embedding": (lambda x, i: tg.take(x, i, 0, mode="clip"), lambda x, i: jnp.take(x, i, 0, mode="clip")),
    "entries": (
        lambda x, i: tg.take_along_axis(x, i[:, None], 0, mode="clip"),
        lambda x, i: jnp.take_along_axis(x, i[:, None], 0, mode="clip"),
    ),
    "a sort": (
        lambda x, i: tg.take(tg.sort(x, 0), i, 0, mode="clip"),
        lambda x, i: jnp.take(jnp.sort(x, 0), i, 0, mode="clip"),
    ),
    "written": (
        lambda x, i: x.at[tg.clip(i, 0, 2), 0].add(1.0) * x,
        lambda x, i: x.at[jnp.clip(i, 0, 2), 0].add(1.0) * x,
    ),
}


@pytest.mark.parametrize("way", ["grad", "value_and_grad in jit", "grad of jit"])
@pytest.mark.parametrize("read", READS)
def test_positions_of_64_bits_in_gradients_of_32(read, way):
    """JAX lowers what a trace had in 64 bits where it has no more than 32: a bound beside positions was cut."""
    ours, theirs = READS[read]
    x, i = tg.tensor("x", "float32", (3, 2)), tg.vector("i", dtype="int64")
    f = compiled([x, i], tg.sum(ours(x, i) ** 2)).traceable()
    places, point = jnp.array([0, 5, 1]), jnp.array(np.random.default_rng(0).normal(size=(3, 2)), "float32")
    got = WAYS[way](lambda x: f(x, places))(point)
    want = WAYS[way](lambda x: jnp.sum(theirs(x, places) ** 2))(point)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert a.dtype == np.float32
        np.testing.assert_allclose(a, b, rtol=2e-6)


def test_the_gradient_is_that_of_tg(wide):
    x = tg.vector("x")
    logp = tg.logsumexp(tg.stack([tg.sum(tg.log(x)), tg.max(x) * tg.min(x)])) + tg.sum(tg.gammainc(x, 2 * x))
    value, slope = compiled([x], tg.value_and_grad(logp, x))([0.5, 1.5, 1.5])
    got = jax.jit(jax.value_and_grad(compiled([x], logp).traceable()))(np.array([0.5, 1.5, 1.5]))
    np.testing.assert_allclose(got[0], value, rtol=1e-15)
    np.testing.assert_allclose(got[1], slope, rtol=1e-13)


def test_a_derivative_that_jax_does_not_have(wide):
    a, x = tg.scalar("a"), tg.scalar("x")
    f = compiled([a, x], tg.gammainc(a, x)).traceable()
    h = 1e-6
    by_a = (special.gammainc(2.5 + h, 1.25) - special.gammainc(2.5 - h, 1.25)) / (2 * h)
    by_x = 1.25**1.5 * np.exp(-1.25) / special.gamma(2.5)
    np.testing.assert_allclose(jax.grad(f, (0, 1))(2.5, 1.25), [by_a, by_x], rtol=1e-8)


def test_what_the_expression_says_of_its_derivative(wide):
    x = tg.vector("x")

    @tg.custom_vjp
    def clipped(v):
        return v * v

    clipped.defvjp(lambda v: (v * v, v), lambda v, dy: (tg.clip(2 * v * dy, -1.0, 1.0),))
    f = compiled([x], tg.sum(clipped(x)) + tg.sum(tg.stop_gradient(x) * x)).traceable()
    np.testing.assert_allclose(f(POINT), 2 * (POINT**2).sum())
    np.testing.assert_allclose(jax.grad(f)(POINT), np.clip(2 * POINT, -1, 1) + POINT)
    with pytest.raises(tg.NotDifferentiable, match="second derivative asked for") as caught:
        jax.hessian(f)(POINT)
    assert "test_traceable.py" in str(caught.value)


def test_a_loop_that_jax_could_not_walk_back(wide):
    x = tg.scalar("x")
    found = tg.while_loop(lambda v: v < 100.0, lambda v: v * v, x, max_steps=10)
    f = compiled([x], found).traceable()
    np.testing.assert_allclose(jax.jit(jax.value_and_grad(f))(2.0), [256.0, 8 * 2.0**7])


def test_structures_names_and_defaults(wide):
    x, k, m = tg.vector("x"), tg.scalar("k", "int32"), tg.matrix("m")
    outputs = {"sum": tg.sum(x) * k, "both": (m @ x, [tg.cumsum(x), k + 1])}
    f = compiled([x, k, m], outputs, defaults={k: 3}, name="parts").traceable()
    matrix = np.arange(6.0).reshape(2, 3)

    @jax.jit
    def called(x, m):
        return f(x, m=m), f(m=m, x=2 * x, k=jnp.int32(5))

    first, second = called(POINT, matrix)
    np.testing.assert_allclose(first["sum"], POINT.sum() * 3, rtol=1e-15)
    np.testing.assert_allclose(second["sum"], POINT.sum() * 10, rtol=1e-15)
    np.testing.assert_allclose(second["both"][0], matrix @ (2 * POINT), rtol=1e-15)
    np.testing.assert_allclose(first["both"][1][0], np.cumsum(POINT), rtol=1e-15)
    assert (int(first["both"][1][1]), int(second["both"][1][1])) == (4, 6)
    assert first["both"][1][1].dtype == np.int32
    assert isinstance(f(POINT, m=matrix)["sum"], jax.Array)
    program = str(jax.make_jaxpr(lambda x, m: f(x, m=m))(POINT, matrix))
    assert "name=parts" in program
    assert "callback" not in program


def test_the_jacobian_of_several_results_some_of_integers(wide):
    x, k = tg.vector("x"), tg.scalar("k", "int64")
    f = compiled([x, k], [tg.sin(x) * tg.sum(x), tg.argmax(x), tg.prod(x) * k]).traceable()

    def expected(x, k):
        return [jnp.sin(x) * jnp.sum(x), jnp.argmax(x), jnp.prod(x) * k]

    def weighed(f):
        return lambda x: sum(jnp.sum((j + 1.0) * v) for j, v in enumerate(f(x, 3)) if j != 1)

    np.testing.assert_allclose(jax.grad(weighed(f))(POINT), jax.grad(weighed(expected))(POINT), rtol=1e-13)
    jacobian = jax.jacrev(lambda x: f(x, 3)[0])(POINT)
    np.testing.assert_allclose(jacobian, jax.jacrev(lambda x: expected(x, 3)[0])(POINT), rtol=1e-13)


def test_complex_numbers_have_jaxs_sense_of_a_gradient(wide):
    z = tg.vector("z", dtype="complex128")
    point = np.array([0.5 + 1j, -1.0 + 0.25j])
    cost = compiled([z], tg.sum(tg.abs(z * z * z + 1.0))).traceable()
    want = jax.grad(lambda z: jnp.sum(jnp.abs(z * z * z + 1.0)))(point)
    np.testing.assert_allclose(jax.grad(cost)(point), want, rtol=1e-13)
    f = compiled([z], tg.exp(z) * z[0]).traceable()
    want = jax.jacrev(lambda z: jnp.exp(z) * z[0], holomorphic=True)(point)
    np.testing.assert_allclose(jax.jacrev(f, holomorphic=True)(point), want, rtol=1e-13)


def test_lengths_of_one_and_others(wide):
    x, y = tg.vector("x"), tg.vector("y")
    f = compiled([x, y], tg.sum(x * y)).traceable()
    one, three = np.array([2.0]), np.arange(3.0)
    for a, b in ((three, three), (one, three), (three, one), (one, one)):
        np.testing.assert_allclose(jax.jit(f)(a, b), (a * b).sum())
        want = jax.grad(lambda a, b: jnp.sum(a * b), (0, 1))(a, b)
        for got, expected in zip(jax.jit(jax.grad(f, (0, 1)))(a, b), want, strict=True):
            np.testing.assert_allclose(got, expected)
    with pytest.raises(tg.ShapeError, match="lengths differ: 3 and 2"):
        jax.jit(f)(three, three[:2])


def test_shared_variables_have_the_values_that_they_had(wide):
    x, data = tg.vector("x"), tg.shared(np.arange(3.0), "data")
    logp = tg.sum(tg.distributions.normal.logpdf(data, x, 2.0))
    made = compiled([x], logp)
    f = made.traceable()
    data.set_value(np.zeros(3))
    want = stats.norm.logpdf(np.arange(3.0), POINT, 2.0).sum()
    np.testing.assert_allclose(jax.jit(f)(POINT), want, rtol=1e-14)
    np.testing.assert_allclose(jax.grad(f)(POINT), (np.arange(3.0) - POINT) / 4, rtol=1e-14)
    np.testing.assert_allclose(jax.grad(made.traceable())(POINT), -POINT / 4, rtol=1e-14)
    np.testing.assert_allclose(made(POINT), stats.norm.logpdf(np.zeros(3), POINT, 2.0).sum(), rtol=1e-14)


def test_made_and_differentiated_while_jax_traces(wide):
    rows, data = np.random.default_rng(0).normal(size=(300, 3)), tg.shared(np.ones(300), "data")
    x = tg.vector("x")
    made = []

    @jax.jit
    def program(v):
        f = compiled([x], tg.sum(tg.tanh(tg.constant(rows) @ x) * data))
        made.append((f, f.traceable()))
        return jax.grad(made[-1][1])(v)

    want = ((1 - np.tanh(rows @ POINT) ** 2)[:, None] * rows).sum(0)
    np.testing.assert_allclose(program(POINT), want, rtol=1e-12)
    f, traced = made[0]
    np.testing.assert_allclose(f(POINT), np.tanh(rows @ POINT).sum(), rtol=1e-12)
    np.testing.assert_allclose(jax.jit(jax.grad(traced))(POINT), want, rtol=1e-12)
    np.testing.assert_allclose(data.get_value(), 1.0)


def test_a_check_of_values_is_refused_or_gives_nan(wide):
    x, k = tg.vector("x"), tg.scalar("k", "int64")
    f = compiled([x, k], [x[k] * x, tg.cast(tg.sum(x), "complex128") * np.inf])
    with pytest.raises(tg.InputError, match="a check that values decide") as caught:
        f.traceable()
    text = str(caught.value)
    assert "BoundsError: index … is out of bounds for an axis of length …" in text
    assert "test_traceable.py" in text
    assert 'hint: f.traceable(on_error="nan"' in text
    traced = jax.jit(f.traceable(on_error="nan"))
    found, infinite = traced(POINT, 1)
    np.testing.assert_array_equal(found, POINT[1] * POINT)
    np.testing.assert_array_equal(infinite, f(POINT, 1)[1])
    found, infinite = traced(POINT, 3)
    assert np.isnan(found).all()
    assert np.isnan(infinite)
    slopes = jax.vmap(jax.grad(lambda x, k: traced(x, k)[0].sum()), (None, 0))(POINT, jnp.array([1, 3]))
    np.testing.assert_allclose(slopes[0], jax.grad(lambda x: (x[1] * x).sum())(POINT), rtol=1e-15)
    assert np.isnan(slopes[1]).all()


def test_a_check_in_a_loop_gives_nan(wide):
    x = tg.vector("x")
    walked, _ = tg.scan(lambda c, v: (c * 0.5 + tg.assert_(v, v > 0), None), 0.0, x)  # noqa: PT009
    f = compiled([x], walked)
    with pytest.raises(tg.InputError, match="AssertionFailed: a condition does not hold"):
        f.traceable()
    values = jax.vmap(f.traceable(on_error="nan"))(np.array([[1.0, 2.0, 3.0], [1.0, -2.0, 3.0]]))
    np.testing.assert_allclose(values, [4.25, np.nan])


def test_arguments_are_looked_at_while_jax_traces(wide):
    x, n = tg.vector("x", shape=(3,)), tg.scalar("n", "int32")
    f = compiled([x, n], x * n).traceable()
    np.testing.assert_allclose(jax.jit(f)(np.float32(POINT), 2), 2 * np.float32(POINT))  # to float64, as a call does
    np.testing.assert_allclose(f(list(POINT), 2), 2 * POINT)
    wrong = {
        "input 'x': found 2 axes": (jnp.ones((3, 1)), 2),
        "input 'x': axis 0 has length 4, needed 3": (jnp.ones(4), 2),
        "input 'n': found dtype float64, needed int32": (POINT, jnp.float64(2)),
        "input 'n': found dtype int64, needed int32": (POINT, jnp.int64(2)),
        "input 'x': found dtype complex128, needed float64": (jnp.ones(3) * 1j, 2),
        "input 'x': found dtype int64, needed float64": (jnp.arange(3), 2),
        "input 'n': found 'two', needed an array": (POINT, "two"),
    }
    for text, args in wrong.items():
        for call in (f, lambda *args: jax.jit(lambda x: f(x, args[1]))(args[0])):
            with pytest.raises(tg.TgError, match=text):
                call(*args)
    for text, args in {"found 3 arguments, needed 2": (POINT, 2, 3), "input 'n' is missing": (POINT,)}.items():
        with pytest.raises(tg.InputError, match=text):
            f(*args)
    with pytest.raises(tg.InputError, match="no input is named 'm'"):
        f(POINT, m=2)


def test_what_is_not_traced():
    x, n, s = tg.vector("x"), tg.scalar("n", "int64"), tg.shared(0.0, "s")
    with pytest.raises(tg.InputError, match="backend 'perform' has no programs that trace functions"):
        tg.function([x], tg.exp(x), backend="perform").traceable()
    with pytest.raises(tg.InputError, match="updates s, needed a function without updates"):
        compiled([x], tg.exp(x), updates={s: s + 1}).traceable()
    with pytest.raises(tg.InputError, match="looked at in each call, by nan_guard"):
        compiled([x], tg.exp(x), nan_guard=True).traceable()
    with pytest.raises(tg.OptionError, match="on_error: found 'raise', needed None or 'nan'"):
        compiled([x], tg.exp(x)).traceable(on_error="raise")
    with pytest.raises(tg.InputError, match=r"value of <n : int64\[\]> decides a length") as caught:
        compiled([n], tg.sum(tg.arange(n) ** 2)).traceable()
    assert "test_traceable.py" in str(caught.value)
    assert "node" in str(caught.value)
    with pytest.raises(tg.InputError, match="result 0 of dtype int64, which has no NaN"):
        compiled([x, n], [tg.argmax(x), x[n]]).traceable(on_error="nan")
    with pytest.raises(tg.InputError, match="function: result 0 is float64, which JAX has with jax_enable_x64 alone"):
        jax.jit(compiled([x], tg.exp(x)).traceable())(np.ones(3, "f4"))
    with pytest.raises(tg.InputError, match=r"found JitTracer.*\n.*takes f.traceable\(\) for f"):
        jax.jit(lambda v: compiled([x], tg.exp(x))(v))(np.ones(3))


def test_lengths_and_checks_that_shared_variables_decide(wide):
    x, n, places = tg.vector("x"), tg.shared(np.int64(4), "n"), tg.shared(np.array([2, 0]), "places")
    f = compiled([x], tg.sum(x[0] * tg.arange(n)) + tg.sum(tg.constant(POINT)[places])).traceable()
    value, slope = jax.jit(jax.value_and_grad(f))(np.array([2.0]))
    np.testing.assert_allclose([value, *slope], [12.0 + POINT[0] + POINT[2], 6.0])


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (
            lambda m: tg.softmax(m @ tg.constant(np.ones((3, 2), "float32")), axis=-1),
            lambda m: np.full((len(m), 2), 0.5),
        ),
        (lambda m: tg.sum(tg.exp(m), axis=0), lambda m: np.exp(m).sum(axis=0)),
        (lambda m: tg.grad(tg.sum(tg.exp(m) ** 2), m), lambda m: 2 * np.exp(2 * m)),
        (lambda m: tg.cumsum(m, axis=0), lambda m: np.cumsum(m, axis=0)),
    ],
    ids=["layer", "sum", "gradient", "running sum"],
)
def test_a_batch_of_any_length_is_exported(build, expected):
    m = tg.matrix("m", dtype="float32")
    f = tg.function([m], build(m), backend="jax").traceable()
    (batch,) = jax.export.symbolic_shape("batch")
    program = jax.export.export(jax.jit(f))(jax.ShapeDtypeStruct((batch, 3), "float32"))
    for count in (1, 2, 5):
        value = np.linspace(-1, 1, 3 * count, dtype="float32").reshape(count, 3)
        np.testing.assert_allclose(program.call(value), expected(value), rtol=1e-5)


SPREAD = """
import json
import jax, numpy as np, tg
from jax.sharding import NamedSharding, PartitionSpec

spread = NamedSharding(jax.make_mesh((4,), ("data",)), PartitionSpec("data"))
values = np.arange(16, dtype="float32")
array = jax.device_put(values, spread)
x, w = tg.vector("x", dtype="float32"), tg.shared(np.zeros(16, "float32"), "w")
double = tg.function([x], [x * 2, tg.sum(x)], backend="jax", output="native")
step = tg.function([x], w + x, updates={w: w + x}, backend="jax")
twice, total = double(array)
sums = [step(array), step(values), step(x=array)]
try:
    double(array.astype("int32"))
except tg.DtypeError as error:
    refused = str(error).partition("\\n")[0]
print(json.dumps([
    len(twice.sharding.device_set), len(double(values)[0].sharding.device_set), np.asarray(twice).tolist(),
    float(total), [s.tolist() for s in sums], [type(s).__name__ for s in sums], w.get_value().tolist(), refused,
]))
"""


@pytest.mark.long
def test_arrays_on_several_devices_stay_there():
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    found = subprocess.run([sys.executable, "-c", SPREAD], env=environment, capture_output=True, text=True, check=True)
    devices, alone, twice, total, sums, kinds, last, refused = json.loads(found.stdout)
    values = np.arange(16.0)
    assert (devices, alone) == (4, 1)
    assert (twice, total) == ((2 * values).tolist(), 120.0)
    assert sums == [(k * values).tolist() for k in (1, 2, 3)]
    assert kinds == ["ndarray"] * 3
    assert last == (3 * values).tolist()
    assert refused == "input 'x': found an array of int32 on several devices, needed float32"
