"""Functions of numba.njit as rules: dtypes and ranks, options, exceptions, the cache, and what is said of mistakes."""

import json
import math
import os
import subprocess
import sys

import numba
import numpy as np
import pytest

import tg
from tg.backend import Family, Op, Rules, TensorType, hookimpl, unary
from tg.errors import NoRuleError, PluginError, ShapeError, TgError
from tg.plugin import registry
from tg_numba import PROTOCOL, Jitted

HALVES = ("float16", "bfloat16")
twice = unary("twice_in_numba", lambda x: x + x, np.positive, "x + x.")


class Blend(Op):
    """Operands of every rank, numbers among them, and three results."""

    def infer(self, x, m, s, flag):
        return (TensorType(x.dtype, x.shape), TensorType("int64"), TensorType(m.dtype, m.shape))

    def perform(self, x, m, s, flag):
        return (x * s, np.asarray(m.size, np.int64), m + s if flag else m * 1.0)


blend = Blend()


@numba.njit
def double(x):
    return x + x


@numba.njit
def blended(x, m, s, flag):
    if s == 99:
        raise ValueError("99")
    if s == 98:
        return x[1:] * s, m.size, m
    return x * s, m.size, m + s if flag else m


class Plugin:
    def __init__(self, rules):
        self.rules = rules

    @hookimpl
    def tg_ops(self):
        return (Family("jitted", (twice,), ops=(Blend,)),)

    @hookimpl
    def tg_rules(self, backend):
        return Rules(PROTOCOL, self.rules) if backend == "numba" else None


@pytest.fixture
def given():
    """Have rules for the time of a test."""
    names = []

    def register(rules):
        for name in names:
            registry().manager.unregister(name=name)
        names[:] = [registry().manager.register(Plugin(rules), name="jitted")]

    yield register
    for name in names:
        registry().manager.unregister(name=name)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "uint16", "int64", "uint64", *HALVES])
def test_elements_in_loops_with_others_and_alone(dtype, given):
    given({twice: Jitted(double)})
    x, s = tg.vector("x", dtype=dtype), tg.scalar("s", dtype=dtype)
    f = tg.function([x, s], [twice(x), twice(x) + x * x, tg.sum(twice(x[::-1])), twice(s)], backend="numba")
    for n in (0, 1, 3, 8, 33):
        a = (np.arange(n) % 7 - 3).astype(tg.backend.numpy_dtype(dtype))
        first = a[:1].sum(keepdims=True).astype(a.dtype)
        alone, with_others, total, one = f(a, first[0])
        np.testing.assert_array_equal(alone, a + a)
        np.testing.assert_array_equal(with_others, a + a + a * a)
        assert total == (a + a).sum()
        assert one == (first + first)[0]
        assert alone.dtype == a.dtype


def test_it_shares_the_loop_with_what_stands_around_it(given):
    given({twice: Jitted(double)})
    x = tg.vector("x")
    f = tg.function([x], tg.sum(twice(tg.exp(x)) - 1), backend="numba")
    assert f.source().count("define void @loop") == 1
    np.testing.assert_allclose(f(np.arange(9.0)), np.sum(2 * np.exp(np.arange(9.0)) - 1), rtol=1e-14)


def test_divisions_are_numpys(given):
    given({twice: Jitted(numba.njit(lambda x: 1 / x))})
    x = tg.vector("x")
    assert tg.function([x], twice(x), backend="numba")([0.0, -0.0, 2.0]).tolist() == [np.inf, -np.inf, 0.5]


def test_options_of_the_function_are_kept(given):
    """With `fastmath`, and not without, x - x is 0 for NaN: an assumption that shows in the result."""
    x = tg.vector("x")
    found = []
    for options in ({}, {"fastmath": True}):
        given({twice: Jitted(numba.njit(**options)(lambda x: 5.0 if math.isnan(x) else 6.0))})
        found.append(tg.function([x], twice(x), backend="numba")([math.nan, 1.0]).tolist())
    assert found == [[5.0, 6.0], [6.0, 6.0]]


@pytest.mark.long
@pytest.mark.parametrize("layout", ["plain", "transposed", "repeated", "empty"])
def test_whole_arrays_in_any_layout_numbers_and_several_results(layout, given):
    given({Blend: Jitted(blended)})
    x, m, s, flag = tg.vector("x"), tg.matrix("m"), tg.scalar("s"), tg.scalar("flag", dtype="bool")
    seen = {"transposed": m.T, "repeated": tg.broadcast_to(m[0], (4, m.shape[1])), "empty": m[:0]}.get(layout, m)
    a, b = np.arange(5.0), np.arange(6.0).reshape(2, 3)
    right = {"transposed": b.T, "repeated": np.broadcast_to(b[:1], (4, 3)), "empty": b[:0]}.get(layout, b)
    f = tg.function([x, m, s, flag], [*blend(x[::-1], seen, s, flag), tg.sum(x)], backend="numba")
    for number, switch in ((2.0, True), (-1.0, False)):
        y, size, z, total = f(a, b, number, switch)
        np.testing.assert_array_equal(y, a[::-1] * number)
        assert size == right.size
        np.testing.assert_array_equal(z, right + number if switch else right)
        assert total == a.sum()


@pytest.mark.long
def test_what_arrays_raise_is_raised_and_the_next_call_is_as_ever(given):
    given({Blend: Jitted(blended)})
    x, m, s = tg.vector("x"), tg.matrix("m"), tg.scalar("s")
    f = tg.function([x, m, s], blend(x, m, s, tg.constant(True))[0], backend="numba")
    for _ in range(2):
        with pytest.raises(TgError, match="a jitted function has raised"):
            f(np.ones(3), np.ones((2, 2)), 99.0)
        with pytest.raises(ShapeError, match="lengths that must be equal differ"):
            f(np.ones(3), np.ones((2, 2)), 98.0)
        assert f(np.ones(3), np.ones((2, 2)), 2.0).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x, y: x, "called with 1 operand, those of twice_in_numba: missing a required argument: 'y'"),
        (lambda: 1.0, "called with 1 operand, those of twice_in_numba: too many positional arguments"),
        (lambda x: x + 1j, r"found a result complex128, needed the float64\[\] of twice_in_numba"),
        (lambda x: x > 0, r"found a result bool, needed the float64\[\]"),
        (lambda x: "a", r"found a result .*, needed the float64\[\]"),
        (lambda x: (x, x), r"found a result UniTuple\(.+\), needed"),
        (lambda x: x.nothing, "Numba does not compile it for twice_in_numba of float64: Unknown attribute 'nothing'"),
    ],
)
def test_what_does_not_fit_the_function_is_refused(function, text, given):
    given({twice: Jitted(numba.njit(function))})
    x = tg.vector("x")
    with pytest.raises(PluginError, match=text) as info:
        tg.function([x], twice(x), backend="numba")
    assert "test_jitted.py" in "".join(info.value.__notes__)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, m, s, flag: (x, m.size),
        lambda x, m, s, flag: x,
        lambda x, m, s, flag: (m, m.size, m),
        lambda x, m, s, flag: (x.astype(np.float32), m.size, m),
        lambda x, m, s, flag: (x, s, m),
    ],
)
def test_what_does_not_fit_the_op_is_refused(function, given):
    given({Blend: Jitted(numba.njit(function))})
    x, m = tg.vector("x"), tg.matrix("m")
    with pytest.raises(PluginError, match=r"found a result .+ needed"):
        tg.function([x, m], blend(x, m, tg.constant(2.0), tg.constant(True)), backend="numba")


def test_a_function_of_elements_that_raises_is_refused(given):
    @numba.njit
    def raises(x):
        assert x > 0
        return x

    given({twice: Jitted(raises)})
    x = tg.vector("x")
    with pytest.raises(PluginError, match="it raises"):
        tg.function([x], twice(x), backend="numba")


def test_complex_elements_and_arrays_of_halves_are_declined(given):
    given({twice: Jitted(double), Blend: Jitted(blended)})
    c, h, m = tg.vector("c", dtype="complex128"), tg.vector("h", dtype="float16"), tg.matrix("m", dtype="float16")
    with pytest.raises(NoRuleError, match="declines"):
        tg.function([c], twice(c), backend="numba")
    with pytest.raises(NoRuleError, match="declines"):
        tg.function([h, m], blend(h, m, tg.constant(2.0), tg.constant(True)), backend="numba")


@pytest.mark.parametrize("function", [np.exp, abs, len, 3, None, lambda x: x, numba.vectorize(lambda x: x)])
def test_what_is_no_function_of_njit_is_refused(function):
    with pytest.raises(PluginError, match=r"needed a function of numba\.njit"):
        Jitted(function)


def test_one_object_serves_all_programs_and_compiles_once(given, monkeypatch):
    count = []
    monkeypatch.setattr(numba, "cfunc", lambda *args, f=numba.cfunc, **kwargs: count.append(args) or f(*args, **kwargs))
    given({twice: Jitted(double)})
    x = tg.vector("x")
    for k in range(3):
        assert tg.function([x], twice(x) + k, backend="numba")([1.0]) == [2.0 + k]
    assert len(count) == 1


PROCESS = """
import json, sys
import numba
import numpy as np, tg
from tests.unit.tg_numba.test_jitted import Plugin, twice
from tg.plugin import registry
from tg_numba import Jitted
factor, other = float(sys.argv[1]), numba.njit(lambda x: x * 2)
function = numba.njit(lambda x: other(x) * factor)
registry().manager.register(Plugin({twice: Jitted(function)}), name="jitted")
x = tg.vector("x")
with tg.config(remember=True):
    f = tg.function([x], tg.exp(twice(x)), backend="numba")
    rows = {row.name for row in f.compile_report().rows}
    again = tg.function([x], tg.exp(twice(x)), backend="numba")
print(json.dumps([f([0.5]).tolist(), again([0.5]).tolist(), "compiler" in rows]))
"""


@pytest.mark.long
def test_loops_around_it_are_found_in_the_cache_as_long_as_the_function_is_the_same(tmp_path):
    environ = {**os.environ, "TG_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    found = []
    for factor in ("1.0", "1.0", "3.0"):
        command = [sys.executable, "-c", PROCESS, factor]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    first, again, other = found
    np.testing.assert_allclose(
        [first[0], first[1], again[0], other[0]], np.exp([[1.0], [1.0], [1.0], [3.0]]), rtol=1e-15
    )
    assert (first[2], again[2], other[2]) == (True, False, True)
