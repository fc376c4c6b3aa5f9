"""Elementwise functions: comparison with what a dtype cannot hold, their texts, constants of NumPy's scalars."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import tg
from tg import plugin
from tg.ops.catalog import ELEMENTWISE
from tg.ops.elementwise.dtype_loops import floating
from tg.ops.elementwise.record import unary
from tg.ops.elementwise.trigonometric import log_cosh

COMPARISONS = (tg.equal, tg.not_equal, tg.less, tg.less_equal, tg.greater, tg.greater_equal)


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("number", [-1, 300, 2**70])
def test_an_array_compares_with_an_integer_that_its_dtype_cannot_hold(compare, number):
    x = tg.vector("x", dtype="uint8")
    value = np.array([0, 255], np.uint8)
    np.testing.assert_array_equal(compare(x, number).eval({x: value}), compare.numpy(value, number))
    np.testing.assert_array_equal(compare(number, x).eval({x: value}), compare.numpy(number, value))


def test_arithmetic_with_such_an_integer_is_refused():
    with pytest.raises(tg.RangeError):
        tg.vector("x", dtype="uint8") + 300


def test_help_on_a_function_shows_its_own_sentence():
    assert tg.exp.__doc__ == "e to the power x."
    assert type(tg.exp).__doc__.startswith("A function of single elements")


def test_dir_lists_what_users_call_and_nothing_else():
    names = [name for name in dir(tg) if not name.startswith("__")]
    assert {"exp", "function", "grad", "ShapeError", "sum"} <= set(names)
    assert not {"sys", "importlib", "Any", "annotations", "bind"} & set(names)
    assert all(hasattr(tg, name) for name in names)


def test_a_constant_may_be_made_of_a_numpy_scalar():
    c = tg.constant(2.0)
    assert tg.Constant(-c.data).data.tolist() == -2.0


def test_functions_on_what_they_do_not_change_make_no_node():
    k, x = tg.vector("k", dtype="int32"), tg.vector("x")
    assert tg.floor(k) is k
    assert tg.ceil(k) is tg.trunc(k) is tg.round(k, 2) is k
    assert tg.real(x) is tg.conj(x) is +x is x


def test_python_operators_and_functions_build_the_ops():
    k, x = tg.scalar("k", dtype="int64"), tg.scalar("x")
    values = {k: 5, x: -2.5}
    for expression, value in (
        (k << 2, 20),
        (k >> 1, 2),
        (1 << k, 32),
        (64 >> k, 2),
        (round(x), -2.0),
        (round(x * 1.01, 1), -2.5),
        (math.floor(x), -3.0),
        (math.ceil(x), -2.0),
        (math.trunc(x), -2.0),
        (abs(x), 2.5),
        (divmod(x, 2)[0], -2.0),
        (divmod(7, k)[1], 2),
        (x.real, -2.5),
        (tg.complex(x, 1.0).imag, 1.0),
        (tg.complex(x, 1.0).conj(), -2.5 - 1j),
        (x.round(), -2.0),
    ):
        assert expression.eval(values) == value


UNARY = (
    "floor ceil trunc rint fix cbrt tan arcsin arctan sinh arcsinh signbit positive degrees radians real imag conj "
    "angle nan_to_num around round"
)


@pytest.mark.parametrize("name", UNARY.split())
def test_numpy_functions_on_variables_build_graphs(name):
    x = tg.vector("x")
    value = np.array([0.5, -0.25, 0.0])
    np.testing.assert_array_equal(getattr(np, name)(x).eval({x: value}), getattr(np, name)(value))


def test_numpy_functions_with_arguments_build_graphs():
    x, value = tg.vector("x"), np.array([0.55, -1.25, np.nan])
    for function in (
        lambda v: np.round(v, 1),
        lambda v: np.isclose(v, 0.55, equal_nan=True),
        lambda v: np.allclose(v, v, equal_nan=True),
        lambda v: np.array_equal(v, v, equal_nan=True),
        lambda v: np.nan_to_num(v, nan=3.0),
        lambda v: np.angle(v, deg=True),
        lambda v: np.copysign(v, -1.0),
        lambda v: np.arctan2(1.0, v),
        lambda v: np.hypot(v, v),
        lambda v: np.fmax(v, 0.0),
        lambda v: np.heaviside(v, 0.5),
    ):
        np.testing.assert_array_equal(function(x).eval({x: value}), function(value))


def test_the_names_of_the_array_api_are_there():
    names = """abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or
    bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater
    greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not
    logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder
    round sign signbit sin sinh square sqrt subtract tan tanh trunc where"""
    assert [name for name in names.split() if not hasattr(tg, name)] == []


def test_round_needs_an_integer_number_of_decimals():
    with pytest.raises(tg.InputError, match=r"round: decimals: found 1\.5"):
        tg.round(tg.vector("x"), 1.5)


def test_shifts_of_floating_numbers_are_refused():
    with pytest.raises(tg.DtypeError, match="left_shift"):
        tg.vector("x") << 1


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_slopes_of_arctan2_next_to_the_origin_and_far_from_it(dtype):
    """Where a square, the radius or its reciprocal is out of range, and at subnormal points."""
    least, tiny, most = (float(getattr(np.finfo(dtype), name)) for name in ("smallest_subnormal", "tiny", "max"))
    sizes = [0.0, least, 3 * least, tiny / 3, tiny, 0.07, 0.5, 1.5, 40.0, most / 3, most]
    points = np.array([(s * a, b) for a in sizes for b in sizes for s in (1, -1) if a or b], dtype)
    a, b = tg.vector("a", dtype=dtype), tg.vector("b", dtype=dtype)
    slopes = tg.function([a, b], tg.grad(tg.sum(tg.arctan2(a, b)), [b, a]), backend="perform")(*points.T)
    with mpmath.workdps(1000), np.errstate(over="ignore"):
        pairs = [(mpmath.mpf(float(u)), mpmath.mpf(float(v))) for u, v in points]
        exact = [[-u / (u * u + v * v) for u, v in pairs], [v / (u * u + v * v) for u, v in pairs]]
        for slope, values in zip(slopes, exact, strict=True):
            wanted = np.array([float(value) for value in values]).astype(dtype)
            within = np.isfinite(wanted)
            np.testing.assert_array_equal(slope[~within], wanted[~within])
            np.testing.assert_array_max_ulp(slope[within], wanted[within], 4)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("backend", [one.name for one in plugin.registry().backends() if one.is_available])
def test_normal_slopes_of_arctan2_survive_where_subnormal_numbers_are_0(backend, dtype):
    tiny, most = float(np.finfo(dtype).tiny), float(np.finfo(dtype).max)
    sizes = [tiny, 1.5 * tiny, 0.07, 0.5, 1.0, 1.5, 40.0, most / 3]
    a, b = tg.vector("a", dtype=dtype), tg.vector("b", dtype=dtype)
    points = np.array([(s * u, v) for u in sizes for v in sizes for s in (1, -1)], dtype)
    exact = [Fraction(float(v)) / (Fraction(float(u)) ** 2 + Fraction(float(v)) ** 2) for u, v in points]
    normal = np.array([tiny <= slope <= most for slope in exact])
    wanted = np.array([float(slope) for slope in exact if tiny <= slope <= most], dtype)
    (slope,) = tg.function([a, b], tg.grad(tg.sum(tg.arctan2(a, b)), [a]), backend=backend)(*points.T)
    np.testing.assert_array_max_ulp(np.asarray(slope)[normal], wanted, 4)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_logarithm_of_cosh_keeps_its_digits_near_0(dtype):
    x = tg.vector("x", dtype=dtype)
    at = np.concatenate([np.logspace(-15, 4, 200), [-0.5, -0.999, -1.0, -1.001, 0.0]]).astype(dtype)
    with mpmath.workdps(60):
        wanted = np.array([float(mpmath.log(mpmath.cosh(float(a)))) for a in at], dtype)
    for written in (tg.log(tg.cosh(x)), log_cosh(x)):
        np.testing.assert_array_max_ulp(written.eval({x: at}), wanted, 8)


def test_a_function_is_unpickled_by_its_name_and_only_one_of_tg():
    assert pickle.loads(pickle.dumps(tg.clip)) is tg.clip
    assert all(pickle.loads(pickle.dumps(fn)) is fn for fn in ELEMENTWISE.values())
    own = unary("own_sine", np.sin, floating, "Sine of x.")
    with pytest.raises(tg.errors.InputError, match="pickle: found the function 'own_sine', needed one of tg's own"):
        pickle.loads(pickle.dumps(own))
