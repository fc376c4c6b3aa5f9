"""funcify and its linker, with backends made of NumPy: one that runs as it is, one that pretends to trace."""

from __future__ import annotations

import contextlib
import gc
import inspect
import sys
import threading
from typing import Any

import numpy as np
import pytest

import tg
from tg.errors import NoRuleError, PluginError, ShapeError
from tg.functions.compile import split_checks
from tg.graph.function_graph import FunctionGraph, freeze
from tg.graph.interpret import interpret
from tg.link import executable as module
from tg.link import writing
from tg.link.funcify import FuncifyLinker
from tg.link.linker import Request
from tg.ops.catalog import FAMILIES
from tg.ops.control import Call, lower_checks
from tg.ops.shape import AxisLength, Reshape, Transpose
from tg.rewrite.driver import rewrite

RULES = {fn: (lambda *a, fn=fn: fn.op.perform(*a)[0]) for family in FAMILIES for fn in family.elementwise}


def _op_rule(op, *arrays):
    found = op.perform(*(np.asarray(a) for a in arrays))
    return found[0] if len(found) == 1 else found


RULES |= {op: _op_rule for family in FAMILIES for op in family.ops if op not in (AxisLength, Call)}


class Jit:
    """A compiler that runs what it is given, and counts: how often a function was made, how often it ran."""

    def __init__(self):
        self.made = 0

    def __call__(self, function, options):
        self.made += 1
        return function


def linked(inputs, outputs, *, rules=RULES, **hooks):
    graph = rewrite(FunctionGraph.of(inputs, outputs), [], supported=lambda op, types: True, mode="off")
    guard, checked = split_checks(graph)
    linker = FuncifyLinker(**{"to_native": np.array, "to_numpy": np.asarray, **hooks})
    request = Request("toy", None, rules.get, "a name, not an identifier", has_status=bool(checked.checks), guard=guard)
    with np.errstate(all="ignore"):
        return graph, linker.compile(lower_checks(checked), request)


def test_a_program_is_one_straight_line_function() -> None:
    x = tg.vector("x")
    _, executable = linked([x], [tg.exp(x) * x])
    code = [line.strip() for line in executable.source().splitlines() if not line.strip().startswith("#")]
    assert code == [
        "def graph(sizes, constants, v0):",
        "v1 = exp(v0)",
        "v2 = multiply(v1, v0)",
        "del v1",
        "return (v2, )",
    ]


def test_the_source_names_the_users_line_once_for_its_nodes() -> None:
    x = tg.vector("x")
    _, executable = linked([x], [tg.exp(x) * x])
    assert executable.source().count("# ") == 1
    assert "test_funcify.py" in executable.source()


def test_the_full_source_says_which_functions_the_rules_are() -> None:
    x, large = tg.vector("x"), tg.constant(np.arange(1000.0))
    jit = Recorded()
    _, executable = linked([x], [tg.exp(x) * large], jit=jit)
    head, _, rest = executable.full_source().partition("def graph(")
    exp, multiply, constant = head.splitlines()
    assert exp.startswith("# exp: tests.unit.link.test_funcify.")
    assert multiply.startswith("# multiply: tests.unit.link.test_funcify.")
    assert constant == "# constants[0]: float64[1000]"
    assert executable.source() == f"def graph({rest}"


def test_results_agree_with_the_interpreter() -> None:
    x, n = tg.matrix("x"), tg.scalar("n", dtype="int64")
    graph, executable = linked([x, n], [tg.mean(x[:, :n], 1), tg.argmax(x, 0), tg.zeros((n, x.shape[1])), x.T])
    a, b = np.arange(12.0).reshape(3, 4), np.array(2)
    for found, wanted in zip(executable.run([a, b])[0], interpret(graph, [a, b]), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_missing_rule_names_the_op_and_the_users_line() -> None:
    x = tg.vector("x")
    with pytest.raises(NoRuleError, match=r"backend 'toy' has no rule for Accumulate") as caught:
        linked([x], [tg.cumsum(x)], rules={})
    assert "test_funcify.py" in str(caught.value)


def test_sizes_arrive_as_python_ints() -> None:
    seen = []

    def arange(op, *sizes):
        seen.extend(sizes)
        return np.arange(sizes[0] if sizes else op.length)

    from tg.ops.creation import Arange

    x, n = tg.vector("x"), tg.scalar("n", dtype="int64")
    _, executable = linked([x, n], [tg.arange(x.shape[0] + 1), tg.arange(n)], rules={**RULES, Arange: arange})
    executable.run([np.ones(3), np.array(7)])
    assert sorted(seen) == [4, 7]
    assert {type(v) for v in seen} == {int}


def test_one_program_is_made_for_each_tuple_of_sizes() -> None:
    jit = Jit()
    n = tg.scalar("n", dtype="int64")
    _, executable = linked([n], [tg.arange(n)], jit=jit)
    for k in (2, 3, 2, 3):
        assert executable.run([np.array(k)])[0][0].shape == (k,)
    assert jit.made == 2


def test_old_sizes_are_forgotten(monkeypatch) -> None:
    monkeypatch.setattr(module, "KEPT", 3)
    jit = Jit()
    n = tg.scalar("n", dtype="int64")
    _, executable = linked([n], [tg.arange(n)], jit=jit)
    for k in (*range(10), 9, 8, 7):
        executable.run([np.array(k)])
    assert jit.made == 10
    executable.run([np.array(0)])
    assert jit.made == 11


def test_sizes_read_only_what_they_depend_on() -> None:
    class Native:
        """An array that lies elsewhere."""

        def __init__(self, data):
            self.data, self.shape = data, data.shape

    def to_numpy(a):
        assert type(a) is not Native
        return np.asarray(a)

    x, n = tg.vector("x"), tg.scalar("n", dtype="int64")
    graph = lower_checks(freeze([x, n], [tg.exp(x)[:n]]))
    linker = FuncifyLinker(
        to_native=np.array, to_numpy=to_numpy, argument=lambda a: a.data if type(a) is Native else a, jit=Jit()
    )
    executable = linker.compile(graph, Request("toy", None, RULES.get))
    (found,), _ = executable.run([Native(np.zeros(5)), np.array(2)])
    assert found.tolist() == [1.0, 1.0]
    assert "exp" not in executable.source().split("def graph_sizes")[1]


def test_sizes_inside_inner_graphs_are_computed_outside() -> None:
    x, n = tg.vector("x"), tg.scalar("n", dtype="int64")
    once = tg.call(lambda v, m: v[:m], tg.exp(x), n + 1)
    twice = tg.call(lambda v, m: tg.call(lambda w, k: w[: k * 2], v, m) + 1, x, n)
    jit = Jit()
    graph, executable = linked([x, n], [once, twice], jit=jit)
    for k in (1, 2, 1):
        given = [np.arange(6.0), np.array(k)]
        for found, wanted in zip(executable.run(given)[0], interpret(graph, given), strict=True):
            np.testing.assert_array_equal(found, wanted)
    assert jit.made == 2


def test_equal_inner_graphs_are_one_function() -> None:
    x = tg.vector("x")
    _, executable = linked([x], [tg.call(tg.exp, x), tg.call(tg.exp, x + 1)])
    assert executable.source().count("def inner") == 1


def test_a_failing_check_is_a_status() -> None:
    x, i = tg.vector("x"), tg.scalar("i", dtype="int64")
    _, executable = linked([x, i], [x[i]])
    assert executable.run([np.arange(3.0), np.array(2)])[1] == ()
    status = executable.run([np.arange(3.0), np.array(5)])[1]
    assert status == (1, 5, 3, *[0] * 6)
    assert {type(v) for v in status} == {int}


def test_checks_that_shapes_decide_raise_and_cost_no_status() -> None:
    x, y = tg.vector("x"), tg.vector("y")
    _, executable = linked([x, y], [x + y])
    assert executable.run([np.ones(3), np.ones(3)])[1] == ()
    with pytest.raises(tg.errors.ShapeError, match="lengths differ: 2 and 3"):
        executable.run([np.ones(2), np.ones(3)])


def test_an_error_after_a_check_that_failed_is_its_status() -> None:
    x, n = tg.vector("x"), tg.scalar("n", dtype="int64")
    _, executable = linked([x, n], [tg.reshape(x, (n,)) * 2])
    assert executable.run([np.ones(3), np.array(3)])[1] == ()
    assert executable.run([np.ones(3), np.array(4)])[1][1:3] == (3, 4)
    assert executable.run([np.ones(3), np.array(-1)])[1][:2] == (1, -1)


def test_other_errors_of_a_rule_are_the_cause_of_one_that_names_it() -> None:
    def broken(a):
        raise ZeroDivisionError

    x = tg.vector("x")
    _, executable = linked([x], [tg.exp(x)], rules={**RULES, tg.exp: broken})
    with pytest.raises(PluginError, match="exp: its rule for backend 'toy' raised ZeroDivisionError") as caught:
        executable.run([np.ones(2)])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("jit", [None, Jit()])
def test_outputs_alias_neither_inputs_nor_constants_nor_each_other(jit) -> None:
    x = tg.vector("x")
    c = tg.constant([1.0, 2.0])
    _, executable = linked([x], [x, x, c, c, x + 1, tg.call(lambda v: v, x)], jit=jit)
    given = np.ones(2)
    found = [given, *executable.run([given])[0]]
    for k, a in enumerate(found):
        assert not any(np.shares_memory(a, b) for b in found[:k])
    found[3][:] = 9
    assert executable.run([given])[0][2].tolist() == [1.0, 2.0]


def test_outputs_made_by_views_are_copied() -> None:
    x = tg.matrix("x")
    views = {Transpose: lambda op, a: a.T, Reshape: lambda op, a, *sizes: a.reshape(-1)}
    y = x + 1
    _, executable = linked([x], [x.T, x.reshape((-1,)), y.T, y], rules={**RULES, **views}, views=frozenset(views))
    given = np.ones((2, 3))
    found = [given, *executable.run([given])[0]]
    for k, a in enumerate(found):
        assert not any(np.shares_memory(a, b) for b in found[:k])


def test_a_rule_is_told_which_operands_die() -> None:
    seen = []

    def add(a, b, dying=frozenset()):
        seen.append(set(dying))
        return a + b

    x = tg.vector("x")
    e, s = tg.exp(x), tg.sin(x)
    _, executable = linked([x], [(e + s) + x, s + 1], rules={**RULES, tg.add: add})
    executable.run([np.ones(2)])
    assert seen == [{0}, {0}, {0}]  # exp(x); the sum before; sin(x), which the first sum leaves alive


def test_an_operand_given_twice_or_viewed_does_not_die() -> None:
    seen = []

    def multiply(a, b, dying=frozenset()):
        seen.append(set(dying))
        return a * b

    x = tg.matrix("x")
    e, t = tg.exp(x), tg.sin(x)
    rules = {**RULES, tg.multiply: multiply, Transpose: lambda op, a: a.T}
    _, executable = linked([x], [e * e, t * t.T], rules=rules, views=frozenset({Transpose}))
    executable.run([np.ones((2, 2))])
    assert seen == [set(), set()]


def test_large_constants_are_arguments_where_programs_are_traced() -> None:
    traced = []

    def jit(function, options):
        def run(*arguments):
            traced.append([type(a) for a in arguments])
            return function(*arguments)

        return run

    x = tg.vector("x")
    big = np.arange(2000.0)
    _, executable = linked([x], [x + big, x * big, x + 0.5], jit=jit)
    found = executable.run([np.ones(2000)])[0]
    np.testing.assert_array_equal(found[1], big)
    assert traced == [[tuple, np.ndarray]]
    assert executable.source().count("constants[0]") == 1


def test_the_scope_is_entered_at_compilation_and_once_for_each_call() -> None:
    entered = []

    class Scope:
        def __enter__(self):
            entered.append(1)

        def __exit__(self, *exc):
            entered.append(-1)

    x = tg.vector("x")
    _, executable = linked([x], [x + 1, x * 2], scope=lambda options: Scope())
    count = len(entered)
    executable.run([np.ones(2)])
    assert entered[count:] == [1, -1]


def test_names_of_ops_do_not_disturb_the_generated_code() -> None:
    assert writing.RESERVED.fullmatch("v12")
    unit = writing._Unit(Request("toy", None, RULES.get), FuncifyLinker(to_native=np.array, to_numpy=np.asarray))
    names = [unit.bind(name, None, k) for k, name in enumerate(["v1", "sizes", "del", "np", "a-b", "graph", "int"])]
    assert len(set(names)) == len(names)
    assert not set(names) & {"v1", "sizes", "del", "np", "graph", "int"}
    assert all(name.isidentifier() for name in names)


@pytest.mark.long
def test_a_long_chain_compiles() -> None:
    x = tg.vector("x")
    y = x
    for _ in range(5000):
        y = tg.exp(y) - 1
    graph = freeze([x], [y])
    linker = FuncifyLinker(to_native=np.array, to_numpy=np.asarray)
    executable = linker.compile(graph, Request("toy", None, RULES.get))
    assert executable.run([np.zeros(2)])[0][0].tolist() == [0.0, 0.0]


def test_threads_do_not_disturb_one_another() -> None:
    x, n = tg.vector("x"), tg.scalar("n", dtype="int64")
    _, executable = linked([x, n], [tg.cumsum(x)[:n]], jit=Jit())
    wrong = []

    def work(k):
        for _ in range(200):
            (found,), _ = executable.run([np.full(9, float(k)), np.array(k)])
            if not np.array_equal(found, np.cumsum(np.full(k, float(k)))):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def counted():
    """The rules, and how often each op has been computed by them."""
    calls = {}

    def counting(key, rule):
        def call(*arguments):
            calls[key] = calls.get(key, 0) + 1
            return rule(*arguments)

        return call

    return {key: counting(key, rule) for key, rule in RULES.items()}, calls


def test_what_a_failing_check_tells_is_computed_only_then() -> None:
    from tg.ops.shape import Concatenate

    rules, calls = counted()
    x, i = tg.vector("x"), tg.vector("i", dtype="int64")
    _, executable = linked([x, i], [x[i] * 2], rules=rules)
    outputs, status = executable.run([np.arange(3.0), np.array([2, -3])])
    assert status == ()
    np.testing.assert_array_equal(outputs[0], [4, 0])
    assert Concatenate not in calls
    assert executable.run([np.arange(3.0), np.array([2, -4])])[1] == (1, -4, 3, *[0] * 6)
    assert calls[Concatenate] == 1
    assert executable.run([np.arange(3.0), np.array([2, 1])])[1] == ()


def test_a_value_that_a_failing_check_tells_is_neither_freed_nor_overwritten_before() -> None:
    from tg.ops.elementwise.arithmetic import multiply

    def spent(rule, site):
        return (lambda x, y: np.multiply(x, y, out=x)) if 0 in site.dying and rule is RULES[multiply] else None

    x, i = tg.vector("x"), tg.vector("i", dtype="int64")
    at = i * 2
    _, executable = linked([x, i], [x[at], at * 3], special=spent)
    outputs, status = executable.run([np.arange(3.0), np.array([1, 0])])
    assert status == ()
    assert [v.tolist() for v in outputs] == [[2, 0], [6, 0]]
    assert executable.run([np.arange(3.0), np.array([1, 2])])[1] == (1, 4, 3, *[0] * 6)


def test_what_follows_from_lengths_of_inputs_is_computed_once_for_them() -> None:
    made = []

    def to_native(array):
        made.append(array)
        return np.array(array)

    x = tg.vector("x")
    graph = rewrite(
        FunctionGraph.of([x], [tg.cast(x.shape[0], "float64") * x]), [], supported=lambda op, types: True, mode="off"
    )
    linker = FuncifyLinker(to_native=to_native, to_numpy=np.asarray)
    executable = linker.compile(graph, Request("toy", None, RULES.get))
    made.clear()
    for n in (2, 3, 2, 3, 3):
        np.testing.assert_array_equal(executable.run([np.ones(n)])[0][0], np.full(n, n))
    assert len(made) == 2
    assert "def graph_lengths(n0_1):" in executable.source()


def test_remembered_lengths_are_copied_where_they_are_results() -> None:
    x = tg.vector("x")
    _, executable = linked([x], [tg.as_variable(x.shape[0] + 1), tg.as_variable(x.shape[0])])
    for _ in range(2):
        outputs, _ = executable.run([np.ones(4)])
        assert [int(v) for v in outputs] == [5, 4]
        for v in outputs:
            v[...] = 0


def test_a_function_for_one_node_stands_for_the_rule_and_knows_what_dies() -> None:
    seen = []

    def special(rule, site):
        seen.append((site.op.name, sorted(site.dying), [t.shape for t in site.operands], list(site.reusable())))
        return np.exp if site.op.name == "exp" else None

    x = tg.vector("x")
    _, executable = linked([x], [tg.exp(x) * x], special=special)
    assert seen == [("exp", [], [(None,)], []), ("multiply", [0], [(None,), (None,)], [0])]
    assert executable.run([np.zeros(2)])[0][0].tolist() == [0, 0]
    _, executable = linked([x], [tg.exp(x) * x], special=special, jit=Jit())
    assert len(seen) == 2


def test_outputs_may_be_handed_over_without_a_copy() -> None:
    x = tg.vector("x")
    _, executable = linked([x], [x + 1], owned=lambda array: array)
    (found,), _ = executable.run([np.zeros(2)])
    assert executable.to_numpy(found) is found


@pytest.mark.parametrize("waits", [False, True])
def test_outputs_that_become_numpy_arrays_are_waited_for_once(waits) -> None:
    asked = []
    x = tg.vector("x")
    _, executable = linked([x], [x + 1, x * 2], ready=lambda found: asked.append(1) or found, waits=waits)
    found, status = executable.run_to_numpy([np.ones(2)])
    assert [type(a) for a in found] == [np.ndarray] * 2
    assert [a.tolist() for a in found] == [[2, 2], [2, 2]]
    assert status == ()
    assert len(asked) == (not waits)
    executable.run([np.ones(2)])
    assert len(asked) == 1 + (not waits)


def test_a_scope_may_be_none() -> None:
    x = tg.vector("x")
    _, executable = linked([x], [x + 1], scope=lambda options: None)
    assert executable.run([np.zeros(2)])[0][0].tolist() == [1, 1]
    assert executable.to_native(np.ones(1)).tolist() == [1]


class Recorded:
    """A compiler that runs what it is given, and keeps what it was told."""

    def __init__(self):
        self.units = []

    def __call__(self, function, unit):
        self.units.append(unit)

        def compiled(*arrays):
            return function(*arrays)

        compiled.source = lambda: "made by the library\n"
        return compiled


def length_of(array, axis):
    """What a library with symbolic dimensions gives: an array of its own."""
    return np.array(array.shape[axis], np.int64)


def test_lengths_may_be_the_librarys_own_scalars() -> None:
    x, k = tg.matrix("x"), tg.scalar("k", dtype="int64")
    found: list[Any] = []

    def reshape(op, x, *sizes):
        found.extend(map(type, sizes))
        return _op_rule(op, x, *sizes)

    outputs = [tg.reshape(x.T, (-1,)), tg.sum(x, axis=0) / x.shape[0], x[1:], tg.arange(k) * 2, tg.mean(x)]
    jit = Recorded()
    graph, executable = linked([x, k], outputs, rules={**RULES, Reshape: reshape}, jit=jit, length=length_of)
    for shape in ((2, 3), (4, 5), (7, 2)):
        arrays = [np.arange(float(np.prod(shape))).reshape(shape), np.array(shape[1])]
        results, status = executable.run(arrays)
        assert status == ()
        for got, wanted in zip(results, interpret(graph, arrays), strict=True):
            np.testing.assert_array_equal(got, wanted)
    assert found and int not in found  # noqa: PT018 (as one)
    assert len(jit.units) == 1
    assert "shape[" not in executable.source()


def test_checks_that_shapes_decide_are_made_before_a_call_where_lengths_are_not_known() -> None:
    x, y = tg.vector("x"), tg.vector("y")
    _, executable = linked([x, y], [x + y], jit=Recorded(), length=length_of)
    with pytest.raises(ShapeError, match="3 and 4"):
        executable.run([np.zeros(3), np.zeros(4)])


def test_lengths_of_a_librarys_own_need_a_compiler() -> None:
    with pytest.raises(PluginError, match="length: found a function, needed jit beside it"):
        FuncifyLinker(to_native=np.array, to_numpy=np.asarray, length=length_of)


def test_a_compiler_is_told_what_it_compiles() -> None:
    x = tg.vector("x")
    jit = Recorded()
    _, executable = linked([x], [tg.exp(x)], jit=jit)
    executable.run([np.zeros(3)])
    (unit,) = jit.units
    assert (unit.name, unit.options, unit.sizes) == ("a name, not an identifier", None, ())
    assert [node.op.name for node in unit.graph.nodes] == ["exp"]
    assert executable.source().endswith("\nmade by the library\n")


def test_fingerprints_tell_programs_apart_and_last() -> None:
    def fingerprint(expression, dtype="float64"):
        jit, x = Recorded(), tg.vector("x", dtype=dtype)
        linked([x], [expression(x)], jit=jit)
        return jit.units[0].fingerprint

    table = np.arange(200.0)
    same = [fingerprint(lambda x: tg.exp(x) + table[3]) for _ in range(2)]
    assert same[0] == same[1]
    assert len(same[0]) == 40
    others = [
        fingerprint(lambda x: tg.exp(x) + table[4]),
        fingerprint(lambda x: tg.exp(x) + table[3], "float32"),
        fingerprint(lambda x: x[:3] + tg.sum(table)),
        fingerprint(lambda x: x[:3] + tg.sum(table * 2)),
    ]
    assert len({same[0], *others}) == 5
    wrapped = tg.wrap(lambda a: a, outputs=tg.TensorType("float64", (None,)))
    assert fingerprint(lambda x: tg.exp(x), "float64") is not None
    rules = {**RULES, type(wrapped(tg.vector()).apply.op): lambda op, x: x}
    jit, x = Recorded(), tg.vector("x")
    linked([x], [wrapped(x)], rules=rules, jit=jit)
    assert jit.units[0].fingerprint is None  # a Python function has no text


def test_a_rule_that_asks_for_it_is_given_the_context() -> None:
    x = tg.vector("x")
    found = []

    def sine(x, *, context):
        found.append(context)
        return np.sin(x)

    for jit in (None, Recorded()):
        for context in (None, lambda options: ("device 0", options)):
            _, executable = linked([x], [tg.sin(x)], rules={**RULES, tg.sin: sine}, jit=jit, context=context)
            executable.run([np.zeros(3)])
    assert set(found) == {None, ("device 0", None)}


def test_what_converts_arrays_is_given_the_context_where_it_asks() -> None:
    x = tg.vector("x")
    table, found = np.arange(1000.0), []  # a constant that is an argument

    def asking(name, does):
        def hook(value, context):
            found.append((name, context))
            return does(value)

        return hook

    hooks = {name: asking(name, np.array) for name in ("to_native", "constant", "copy", "argument")}
    hooks["ready"] = asking("ready", lambda outputs: outputs)
    for jit in (None, Recorded()):
        found.clear()
        _, executable = linked(
            [x],
            [x, x, tg.exp(x) + tg.sum(table), tg.exp(x) * 2.5],
            jit=jit,
            context=lambda options: ("device 0", options),
            **hooks,
        )
        executable.run([np.zeros(3)])
        executable.to_native(np.zeros(3))
        assert set(found) == {(name, ("device 0", None)) for name in hooks}


def test_a_copy_by_way_of_numpy_is_given_the_context_too() -> None:
    x, found = tg.vector("x"), []

    def to_native(array, context):
        found.append(context)
        return np.array(array)

    linker = FuncifyLinker(to_native=to_native, to_numpy=np.asarray, context=lambda options: "device 0")
    graph = rewrite(FunctionGraph.of([x], [x]), [], supported=lambda op, types: True, mode="off")
    executable = linker.compile(graph, Request("toy", None, RULES.get))
    executable.run([np.zeros(3)])
    assert found == ["device 0"]


def test_a_builtins_parameters_are_read_in_many_threads_at_once():
    """Its signature is text that CPython parses, and its parser counts for all threads together (gh-106905)."""

    class Loop:
        def __init__(self):
            self.own = self

        def __del__(self):
            sum(range(200))  # where another thread may go on

    started, found = threading.Barrier(8), []

    def read():
        started.wait()
        try:
            for _ in range(200):
                Loop()
                found.append(writing.parameters(np.array))
        except SystemError as error:
            found.append(error)

    threads = [threading.Thread(target=read) for _ in range(8)]
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(3)
    try:
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
    assert len(found) == 1600
    assert {*found} == {frozenset(inspect.signature(np.array).parameters)}


def direct_of(**hooks):
    """The parts of a call of a program that is compiled; `jit` runs the function as it is."""
    x = tg.vector("x")
    hooks = {"jit": lambda function, unit: function, "waits": True, **hooks}
    return linked([x], [x + 1], **hooks)[1].direct


def test_a_program_tells_the_parts_of_a_call() -> None:
    calls = []
    switch = (lambda: calls.append("enter") or 3), (lambda state: calls.append(state))
    direct = direct_of(switch=lambda options: switch, scope=lambda options: contextlib.nullcontext())
    assert not direct.traced
    enter, leave = direct.switch
    before = enter()
    (y,) = direct.program(np.ones(2))
    leave(before)
    assert calls == ["enter", 3]
    assert direct.to_numpy(y).tolist() == direct.view(y).tolist() == [2, 2]
    assert direct.traced
    direct.note()
    assert not direct.traced


@pytest.mark.parametrize(
    "hooks",
    [
        {"jit": None},
        {"waits": False},
        {"argument": np.asarray},
        {"lay_out": lambda graph, options: lambda array, place: array},
        {"scope": lambda options: contextlib.nullcontext()},
        {"scope": lambda options: contextlib.nullcontext(), "switch": lambda options: None},
    ],
)
def test_a_call_that_does_more_has_no_parts(hooks) -> None:
    assert direct_of(**hooks) is None


def test_a_trace_that_failed_is_not_part_of_the_next_call() -> None:
    x = tg.vector("x")
    rules = {**RULES, tg.exp: lambda a: 1 / 0 if fails else np.exp(a)}
    fails = True
    _, executable = linked([x], [tg.exp(x)], rules=rules, jit=lambda function, unit: function)
    with pytest.raises(PluginError, match="division by zero"):
        executable.run([np.ones(2)])
    assert not executable.compilations
    fails = False
    executable.run([np.ones(2)])
    assert len(executable.compilations) == 1
