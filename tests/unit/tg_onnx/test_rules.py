"""Rules for ops: onnxruntime's results are the reference's, in the oldest opset and in newer ones."""

import numpy as np
import pytest

import tg
from tests.unit.tg_onnx.models import agree, kinds, model, run

RANDOM = np.random.default_rng(1)
EVERY = (17, 21, 26)
FUNCTIONS = (
    tg.sin, tg.cos, tg.exp, tg.expm1, tg.log1p, tg.log2, tg.tanh, tg.sqrt, tg.floor, tg.rint, tg.trunc, tg.sign,
    tg.sinc, tg.cbrt, tg.sigmoid, tg.softplus, tg.signbit, tg.isnan, tg.isfinite, tg.exp2, tg.reciprocal, tg.tan,
    tg.arctan, tg.arcsinh, tg.special.erf,
)  # fmt: skip
PAIRS = (
    tg.hypot, tg.arctan2, tg.copysign, tg.logaddexp, tg.floor_divide, tg.remainder, tg.maximum, tg.less,
    tg.not_equal,
)  # fmt: skip
HOSTILE = [0.0, -0.0, 1e-20, -1e-3, 0.5, -2.5, 3.0, np.inf, -np.inf, np.nan]


def scalar_inputs(*names, dtype="float64"):
    return [tg.vector(name, dtype=dtype) for name in names]


@pytest.mark.parametrize("opset", EVERY)
def test_functions_of_elements_have_the_values_of_the_reference(opset):
    (x,) = scalar_inputs("x", dtype="float32")
    values = np.concatenate([RANDOM.standard_normal(20), [0.0, 1.0, -1.0, 2.5]])
    outputs = [f(x) for f in FUNCTIONS if f not in (tg.sqrt, tg.log1p, tg.log2)]
    agree([x], outputs, values, opset=opset)
    agree([x], [tg.sqrt(x), tg.log1p(x), tg.log2(x)], np.abs(values) + 1e-7, opset=opset)


@pytest.mark.parametrize("opset", EVERY)
def test_functions_of_pairs_hold_at_zeros_infinities_and_nan(opset):
    x, y = scalar_inputs("x", "y", dtype="float32")
    first, other = (a.ravel() for a in np.meshgrid(HOSTILE, HOSTILE))
    with np.errstate(all="ignore"):
        agree([x, y], [f(x, y) for f in PAIRS[:4]], first, other, opset=opset)
        plain = np.isfinite(first) & np.isfinite(other) & (other != 0)
        agree([x, y], [f(x, y) for f in PAIRS[4:]], first[plain], other[plain], opset=opset)


def test_integers_divide_and_shift_as_numpy_does():
    i, j = scalar_inputs("i", "j", dtype="int64")
    outputs = [i // j, i % j, i & j, i | j, i ^ j, ~i, i << 2, i >> 1, i * j, abs(i), i.astype("int32")]
    agree([i, j], outputs, [5, -7, 8, -9, 3], [3, 2, -5, -4, 0])


def test_bits_are_refused_before_the_opset_that_has_them():
    i, j = scalar_inputs("i", "j", dtype="int64")
    with pytest.raises(tg.NoRuleError, match="since opset 18"):
        model([i, j], [i & j], opset=17)


def test_what_onnx_has_no_operator_for_is_refused_at_the_users_line():
    a = tg.matrix("a")
    factor = tg.linalg.cholesky(a)  # the line
    with pytest.raises(tg.NoRuleError, match="ONNX has no operator") as refusal:
        model([a], [factor])
    assert "# the line" in str(refusal.value)


def test_complex_numbers_are_refused_whatever_is_done_with_them():
    z = tg.vector("z", dtype="complex128")
    for result in (z * z, tg.real(z), tg.reshape(z, (-1, 1))):
        with pytest.raises(tg.NoRuleError, match="complex numbers"):
            model([z], [result])


@pytest.mark.parametrize("opset", EVERY)
def test_reductions_and_running_results(opset):
    m = tg.matrix("m")
    values = RANDOM.standard_normal((3, 4))
    sums = [tg.sum(m, axis=0), tg.prod(m), tg.max(m, axis=1), tg.any(m > 0, axis=1), tg.all(m > 0), tg.var(m, axis=0)]
    running = [tg.cumsum(m, axis=1), tg.cumprod(m, axis=0), tg.cumsum(m, axis=0)]
    order = [tg.sort(m, axis=-1), tg.argsort(m, axis=0), tg.argmax(m, axis=1), tg.logsumexp(m, axis=1)]
    agree([m], [*sums, *running, *order], values, opset=opset)


@pytest.mark.parametrize("opset", EVERY)
def test_slices_and_indices(opset):
    m, i = tg.matrix("m"), tg.vector("i", dtype="int64")
    values, at = RANDOM.standard_normal((5, 6)), [0, -1, 3]
    agree([m], [m[1:, ::-1], m[::2, -2:], m[-1], m[:, 1:-1], m[::-2]], values, opset=opset)
    agree([m, i], [m[i], m[:, i], m[i, i], m.at[i].add(1.0), m.at[:, i].set(0.0)], values, at, opset=opset)
    agree([m], [m.at[1:3].set(2.0), m.at[:, 0].multiply(3.0), tg.grad(tg.sum(m[1:3] ** 2), m)], values, opset=opset)


def test_slices_are_numpys_whatever_the_length():
    x = tg.vector("x")
    for place in (slice(-9, 3, -1), slice(3, -9, -1), slice(-9, -2, 2), slice(-2, -9, -3), slice(2, None, -1)):
        made = model([x], [x[place]])
        for n in (0, 2, 5, 12):
            np.testing.assert_array_equal(run(made, np.arange(float(n)))[0], np.arange(float(n))[place])


def test_lengths_of_0_are_lengths():
    x = tg.tensor("x", shape=(None, None))
    agree([x], [tg.tile(x, (0, 3)), tg.repeat(x, 0, axis=0), tg.reshape(x[:0], (0, 5))], RANDOM.random((3, 4)))


def test_an_index_is_given_to_gather_as_it_is():
    m, i = tg.matrix("m"), tg.vector("i", dtype="int64")
    made = model([m, i], [m[i]])
    assert kinds(made) == ["Gather"]


def test_lengths_that_nobody_knows_are_asked_for_once():
    x = tg.tensor("x", shape=(None, None, 6))
    b, t = x.shape[:2]
    heads = tg.transpose(tg.reshape(x, (b, t, 2, 3)), (0, 2, 1, 3))
    made = agree([x], [heads, tg.reshape(tg.transpose(heads, (0, 2, 1, 3)), (b, t * 6))], RANDOM.random((2, 3, 6)))
    assert kinds(made) == ["Reshape", "Transpose", "Reshape"]


def test_draws_are_the_same_bits():
    seed = tg.scalar("seed", dtype="int64")
    agree([seed], tg.random.normal(tg.random.key(seed), shape=(4,)), 3, tolerance=1e-12)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint32"])
def test_numbers_that_an_integer_dtype_cannot_hold_become_its_nearest(dtype):
    for source in ("float16", "float32", "float64"):
        (x,) = scalar_inputs("x", dtype=source)
        made = model([x], [x.astype(dtype)])
        values = np.array([-3.5, -0.0, 2.5, 100.0, -200.0, 300.0], source)
        (result,) = run(made, values)
        np.testing.assert_array_equal(result, tg.function([x], x.astype(dtype), backend="perform")(values))


def test_small_integers_are_reduced_in_a_wider_dtype():
    for dtype in ("int8", "int16", "uint8", "uint16"):
        m = tg.matrix("m", dtype=dtype)
        agree([m], [tg.max(m, axis=0), tg.min(m), tg.max(m)], [[3, 1, 2], [0, 5, 4]])
