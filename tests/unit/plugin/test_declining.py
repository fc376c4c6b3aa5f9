"""Rules that decline: the expansion is computed, else the host's reference where the plugin says so, else an error."""

import dataclasses
import sys
import threading

import numpy as np
import pytest
import scipy.special

import tg
from tg import plugin
from tg.errors import NoRuleError, PluginError
from tg.ops.catalog import FAMILIES
from tg.ops.elementwise.dtype_loops import floating
from tg.ops.elementwise.record import unary
from tg.ops.reduction import Reduce
from tg.ops.softmax import Softmax
from tg.ops.sorting import ArgSort
from tg.plugin import Gap
from tg.plugin.coverage import coverage
from tg.plugin.discovery import entries
from tg.plugin.records import ARRAY

WAYS = {"eager": None, "traced": lambda function, unit: function}
X = np.array([[3.0, 1.0, 2.0], [0.5, -1.0, 4.0]])


def softmax_of_floats(op, x):
    return NotImplemented if x.dtype == np.float32 else scipy.special.softmax(x, axis=op.axis)


class Counted:
    """A rule that counts how often it was asked."""

    def __init__(self, rule):
        self.rule, self.asked = rule, []

    def __call__(self, op, x):
        self.asked.append(x.dtype.name)
        return self.rule(op, x)


def by_reference(op, *arrays):
    found = op.perform(*map(np.asarray, arrays))
    return found[0] if len(found) == 1 else found


REST = {
    **{fn: (lambda *a, fn=fn: fn.op.perform(*a)[0]) for family in FAMILIES for fn in family.elementwise},
    **{op: by_reference for family in FAMILIES for op in family.ops if not op.has_expansion},
}


@pytest.fixture
def softmax_rule(install):
    """A rule for the softmax that takes float64 only, beside rules for all that has no expansion."""

    def made(way):
        rule = Counted(softmax_of_floats)
        install({**REST, Softmax: rule}, jit=WAYS[way])
        return rule

    return made


@pytest.mark.parametrize("way", WAYS)
def test_what_a_rule_declines_is_expanded(softmax_rule, way):
    rule = softmax_rule(way)
    for dtype in ("float64", "float32"):
        x = tg.matrix("x", dtype=dtype)
        f = tg.function([x], tg.softmax(x, axis=1), backend="mine")
        value = X.astype(dtype)
        np.testing.assert_allclose(f(value), scipy.special.softmax(X, axis=1), rtol=1e-6)
        assert ("Softmax" in f.source()) is (dtype == "float64")
    asked = len(rule.asked)
    x = tg.matrix("x", dtype="float32")
    again = tg.function([x], tg.softmax(x, axis=1) * 2, backend="mine")  # it is known by now
    assert "Softmax" not in again.source()
    np.testing.assert_allclose(again(X.astype("float32")), 2 * scipy.special.softmax(X, axis=1), rtol=1e-6)
    assert len(rule.asked) == asked


def test_eight_threads_may_find_out_at_once(softmax_rule):
    softmax_rule("eager")
    x = tg.matrix("x", dtype="float32")
    f = tg.function([x], tg.softmax(x, axis=1), backend="mine")
    ready, wrong = threading.Barrier(8), []

    def call(k):
        value = (X + k).astype("float32")
        ready.wait()
        if not np.allclose(f(value), scipy.special.softmax(X + k, axis=1), rtol=1e-6):
            wrong.append(k)

    threads = [threading.Thread(target=call, args=[k]) for k in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


@pytest.mark.parametrize("way", WAYS)
def test_what_has_no_expansion_is_an_error_with_the_users_line(install, way):
    install({tg.sin: lambda x: NotImplemented if x.dtype == np.float64 else np.sin(x)}, jit=WAYS[way])
    x = tg.vector("x")
    f = tg.function([x], tg.sin(x) + x, backend="mine")
    for _ in range(2):
        with pytest.raises(NoRuleError) as caught:
            f(np.arange(3.0))
        text = str(caught.value)
        assert "backend 'mine' has no rule for sin that takes these operands: its rule declines them" in text
        assert "test_declining.py" in text
        assert "f = tg.function([x], tg.sin(x) + x" in text
    small = tg.vector("x", dtype="float32")
    value = np.arange(3, dtype="float32")
    np.testing.assert_array_equal(tg.function([small], tg.sin(small), backend="mine")(value), np.sin(value))


def test_the_host_computes_what_its_plugin_says_it_may(install):
    declined = {tg.sin: lambda x: NotImplemented}
    families = {"tg_ops": lambda: FAMILIES}
    install(declined, offered={"hosted": frozenset({tg.sin, tg.cos, Reduce})}, extension=families)
    x = tg.vector("x")
    f = tg.function([x], [tg.sin(x) + x, tg.cos(x), tg.sum(x)], backend="mine")
    value = np.arange(3.0)
    sine, cosine, total = f(value)
    np.testing.assert_array_equal(sine, np.sin(value) + value)
    np.testing.assert_array_equal(cosine, np.cos(value))
    assert total == 3.0
    assert "host_sin(v0)" in f.source()
    assert "host_cos(v0)" in f.source()
    assert "host_Reduce" not in f.source()  # it has a rule
    found = {row.op: row.cells[0].how for row in coverage(plugin.registry(), ["mine"])}
    assert (found["cos"], found["sin"], found["Reduce"], found["exp"]) == ("host", "rule", "rule", "none")


def test_the_host_computes_what_its_plugin_says_it_may_whole(install):
    install({}, offered={"hosted": frozenset({tg.log_ndtr})})
    x = tg.vector("x")
    f = tg.function([x], tg.log_ndtr(x), backend="mine")
    value = np.array([-30.0, 0.0, 2.0])
    np.testing.assert_array_equal(f(value), tg.log_ndtr.op.perform(value)[0])
    assert "host_log_ndtr(v0)" in f.source()  # whose expansion asks for twenty functions without a rule


def test_the_host_computes_nothing_where_programs_are_traced(install):
    install({}, jit=WAYS["traced"], offered={"hosted": frozenset({tg.cos})})
    x = tg.vector("x")
    with pytest.raises(NoRuleError, match="backend 'mine' has no rule for cos"):
        tg.function([x], tg.cos(x), backend="mine")


HALF = frozenset({"float32"})


def test_rules_have_gaps_of_their_own(install):
    gap = Gap(tg.sin, HALF, None, "upstream", NoRuleError, "float64 only")
    near = Gap(tg.cos, None, None, "upstream", None, "is near", 20.0)
    install({tg.sin: np.sin, tg.cos: np.cos}, offered={"gaps": (gap, near)})
    assert plugin.registry().gaps("mine") == (gap, near)
    x = tg.vector("x", dtype="float32")
    with pytest.raises(NoRuleError, match="backend 'mine' does not run sin: float64 only"):
        tg.function([x], tg.sin(x), backend="mine")
    value = np.arange(3, dtype="float32")
    np.testing.assert_array_equal(tg.function([x], tg.cos(x), backend="mine")(value), np.cos(value))


def test_gaps_of_rules_that_another_plugin_replaces_are_gone(install):
    gap = Gap(tg.sin, HALF, None, "upstream", NoRuleError, "float64 only")
    extension = {"tg_rules": lambda backend: plugin.Rules(ARRAY, {tg.sin: np.sin}, frozenset({tg.sin}))}
    install({tg.sin: np.sin}, offered={"gaps": (gap,)}, extension=extension)
    assert plugin.registry().gaps("mine") == ()


WRONG = [
    ({"gaps": (Gap(tg.cos, None, None, "todo", NoRuleError, "?"),)}, "gap of cos: the table has no rule for it"),
    ({"gaps": ("sin",)}, "found str 'sin', needed a tuple of Gap"),
    ({"hosted": frozenset({"sin"})}, "key sin: found str 'sin', needed an op class"),
]


@pytest.mark.parametrize(("offered", "text"), WRONG, ids=[text[:20] for _, text in WRONG])
def test_mistakes_in_them_are_told_when_tables_are_merged(install, offered, text):
    install({tg.sin: np.sin}, offered=offered)
    with pytest.raises(PluginError, match=r"tg-mine 1\.0: tg_rules: ") as caught:
        plugin.registry().rules("mine")
    assert text in str(caught.value)


squash = unary(
    "squash",
    lambda x: x / (1 + np.abs(x)),
    floating,
    "x / (1 + |x|).",
    expansion=lambda x: x / (1 + tg.absolute(x)),
)


@pytest.mark.parametrize("backend", ["perform", "c", "numba", "jax", "torch", "mlx", "loopback"])
def test_an_elementwise_function_with_an_expansion_needs_no_rule_anywhere(backend):
    for dtype in ("float64", "float32"):
        x = tg.matrix("x", dtype=dtype)
        y = squash(x)
        assert y.type.dtype == dtype
        slope = tg.grad(tg.sum(y), x)  # of the expansion: the record has no derivative
        f = tg.function([x], [tg.sum(y, axis=0), slope], backend=backend)
        value = X.astype(dtype)
        total, found = f(value)
        np.testing.assert_allclose(total, (X / (1 + np.abs(X))).sum(0), rtol=1e-6)
        np.testing.assert_allclose(found, 1 / (1 + np.abs(X)) ** 2, rtol=1e-6)
    tangent = tg.jvp(squash(x), [x], [tg.ones_like(x)])
    np.testing.assert_allclose(tg.function([x], tangent, backend=backend)(value), 1 / (1 + np.abs(X)) ** 2, rtol=1e-6)


@pytest.mark.parametrize("backend", ["c", "numba"])
def test_a_rule_of_a_native_backend_may_decline(backend, world, monkeypatch):
    protocol = plugin.registry().backend(backend).rules
    asked = []

    def rule(op, *rest):
        asked.append(op)
        return NotImplemented

    world.add(
        "tg-ext", tg_rules=lambda backend: plugin.Rules(protocol, {squash: rule, ArgSort: rule}, frozenset({ArgSort}))
    )
    entry = next(one for one in entries() if one.kind == "backends" and one.name == backend)
    world.entries.append(entry)
    world.core = dataclasses.replace(world.core, version=tg.__version__)  # which the backend asks for
    monkeypatch.setattr(sys.modules["tg.plugin.registry"], "_from_environment", world.registry)
    plugin.reset()
    try:
        x = tg.vector("x")
        f = tg.function([x], squash(x) * 2, backend=backend)
        np.testing.assert_allclose(f(X[0]), 2 * X[0] / (1 + X[0]))
        assert asked
        asked.clear()
        plugin.reset()
        later = tg.function([x], squash(x) * 3, backend=backend, compile="background")
        assert later.wait()
        np.testing.assert_allclose(later(X[0]), 3 * X[0] / (1 + X[0]))
        assert asked
        with pytest.raises(NoRuleError, match="no rule for ArgSort that takes these operands: its rule declines"):
            tg.function([x], tg.argsort(x), backend=backend)
    finally:
        monkeypatch.undo()
        plugin.reset()
