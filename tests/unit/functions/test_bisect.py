"""`tg.bisect`: the first op whose value on a backend differs, with its operands and a program that shows it."""

from __future__ import annotations

import contextlib
from unittest import mock

import numpy as np
import pytest

import tg
from tg.functions.reproducer import array_text
from tg.plugin.records import Rewrites
from tg.plugin.registry import Registry
from tg.rewrite.phases import CANONICALIZE, EXACT, SPECIALIZE
from tg.rewrite.rule import Pass, rule

ABOUT = {"kind": EXACT, "phase": CANONICALIZE, "why": "A test."}
NATIVE = [one.name for one in tg.backends() if one.is_available and one.name != "perform"]


def wrong_rule(name, key, wrong):
    """A backend's rule replaced by that of another op."""
    real = Registry.rule_for

    def rule_for(self, backend, key_wanted):
        return real(self, backend, wrong if backend == name and key_wanted is key else key_wanted)

    return mock.patch.object(Registry, "rule_for", rule_for)


@contextlib.contextmanager
def installed(*rules, passes=()):
    """These rules and passes besides all others."""
    real = Registry.rewrites

    def rewrites(self, name):
        others = real(self, name)
        return Rewrites((*others.rules, *rules), (*others.passes, *passes))

    with mock.patch.object(Registry, "rewrites", rewrites):
        yield


def shows(bisection):
    """Whether the reproducer of a fault shows it."""
    try:
        exec(bisection.reproducer, {})
    except SystemExit as end:
        return str(end) == "the values differ"
    return False


@pytest.mark.parametrize("backend", [name for name in NATIVE if name in ("c", "mlx")])
def test_a_wrong_rule_of_a_backend_is_found_below_what_it_spoils(backend):
    x, y = tg.vector("x"), tg.vector("y")
    out = tg.sum(tg.exp(tg.sin(x) * y)) + tg.sum(tg.tanh(y))
    values = {"x": [0.5, 1.0, 0.25], "y": [2.0, 3.0, 1.0]}
    with wrong_rule(backend, tg.sin, tg.cos):
        bisection = tg.bisect(out, values, backend=backend)
        assert bisection is not None
        assert shows(bisection)
    assert not shows(bisection)  # where the rule is right
    assert (bisection.op, bisection.backend, bisection.is_alone) == ("sin", backend, True)
    np.testing.assert_array_equal(bisection.operands[0], values["x"])
    np.testing.assert_array_equal(bisection.reference, np.sin(values["x"]))
    np.testing.assert_allclose(bisection.value, np.cos(values["x"]), rtol=1e-6)
    assert bisection.loc.source == "out = tg.sum(tg.exp(tg.sin(x) * y)) + tg.sum(tg.tanh(y))"
    assert "operand x   0.5 at [0]" in str(bisection)


@pytest.mark.parametrize("backend", NATIVE)
def test_nothing_is_found_where_values_agree_up_to_rounding(backend):
    x = tg.matrix("x", dtype="float32")
    out = [tg.softmax(x @ x.T, axis=1), tg.grad(tg.sum(tg.log1p(tg.exp(x))), x)]
    assert tg.bisect(out, {x: np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)}, backend=backend) is None


def test_a_wrong_rewrite_is_found_at_the_op_that_it_spoils():
    wrong = rule("double_is_square", match=lambda x: x * 2, replace=lambda x: x * x, **ABOUT)
    x = tg.vector("x")
    f = tg.function([x], tg.sum(tg.sin(tg.exp(x) * 2) + 1), backend="perform", name="f")
    with installed(wrong):
        bisection = tg.bisect(f, [[0.0, 1.0]])
        assert bisection is not None
        assert shows(bisection)
    assert bisection.op == "multiply"
    assert bisection.reference.tolist() == (2 * np.exp([0.0, 1.0])).tolist()


def test_a_fault_that_shows_only_where_values_are_no_results_is_found_one_by_one():
    def run(view):
        if len(view.outputs) != 1:  # as a fusion that a further result prevents
            return {}
        return {id(v): tg.exp2(*v.inputs) for v in view.outputs if v.apply is not None and v.apply.op.name == "exp"}

    x = tg.vector("x")
    y = x
    for k in range(12):
        y = tg.tanh(y * 1.25) + k
    spoiled = tg.exp(y)
    fault = Pass("exp_is_exp2", run=run, kind=EXACT, why="A test.", phase=SPECIALIZE)
    with installed(passes=(fault,)):
        bisection = tg.bisect(spoiled, {"x": [0.5, 1.0]}, backend="perform")
        assert bisection is not None
        assert shows(bisection)
    assert bisection.op == "exp"
    assert bisection.runs <= 12  # of 48 values


def test_constants_of_any_size_are_part_of_the_program_that_shows_it():
    x, table = tg.vector("x"), np.linspace(0, 1, 100)
    wrong = rule("sin_is_cos", match=tg.sin, replace=tg.cos, **ABOUT)
    with installed(wrong):
        bisection = tg.bisect(tg.sin(x * table), {"x": np.full(100, np.pi)}, backend="perform")
        assert bisection is not None
        assert shows(bisection)


@pytest.mark.parametrize("backend", [name for name in NATIVE if name in ("c", "mlx")][:1])
def test_integers_differ_by_nothing(backend):
    x = tg.vector("x", dtype="int64")
    with wrong_rule(backend, tg.sign, tg.negative):
        bisection = tg.bisect(tg.sign(x), {"x": [-1, 1, 2]}, backend=backend)
        assert bisection is not None
        assert shows(bisection)
    assert bisection.value.tolist() == [1, -1, -2]


def test_shared_variables_have_their_values_and_nothing_is_updated():
    x, w = tg.vector("x"), tg.shared([1.0, 2.0], "w")
    f = tg.function([x], tg.sum(x * w), updates={w: w + 1}, backend="perform")
    assert tg.bisect(f, {"x": [1.0, 1.0]}) is None
    assert tg.bisect(f, [[1.0, 1.0]], backend="perform") is None
    assert w.get_value().tolist() == [1.0, 2.0]


def test_arguments_are_asked_for_by_name():
    x, y = tg.vector("x"), tg.vector("y")
    with pytest.raises(tg.InputError, match="bisect: found no value of y"):
        tg.bisect(x + y, {"x": [1.0]}, backend="perform")
    with pytest.raises(tg.InputError, match="by position, needed a dict for an expression"):
        tg.bisect(x, [[1.0]], backend="perform")


@pytest.mark.parametrize(
    "array",
    [
        np.array([1.5, -2.0]),
        np.float32(0.1),
        np.array([[True, False]]),
        np.array([np.nan, 1.0]),
        np.arange(100),
        1j * np.ones(2),
    ],
)
def test_arrays_in_programs_are_the_same_bit_for_bit(array):
    array = np.asarray(array)
    scope: dict = {}
    exec(
        "import base64, zlib\nimport numpy as np\n" + __import__("tg.functions.reproducer", fromlist=["ARRAYS"]).ARRAYS,
        scope,
    )
    again = eval(array_text(array), scope)
    assert (again.dtype, again.shape, again.tobytes()) == (array.dtype, array.shape, array.tobytes())
