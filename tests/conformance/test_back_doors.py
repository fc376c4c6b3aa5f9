"""Rules that have the reference compute are told of, on a library too that computes when they have returned."""

from __future__ import annotations

import importlib
import sys

import pytest

import tg
from tg import plugin
from tg.plugin.case import Case, f64
from tg_conformance.case import Item
from tg_conformance.cases.random import integers
from tg_conformance.run import Runner
from tg_conformance.watch import performing

MODULE = """
import concurrent.futures
import functools
import threading
import types
import numpy as np
import tg
from tg.backend import Backend, Cast, FuncifyLinker, Hosted, Reduce, RuleProtocol, Rules, hookimpl, interpret
from tg.graph.function_graph import freeze

PROTOCOL = RuleProtocol("array", 2)
POOL = concurrent.futures.ThreadPoolExecutor(1)
OTHERS = concurrent.futures.ThreadPoolExecutor(1)
POOL.submit(int).result(), OTHERS.submit(int).result()  # their threads are there before anything is watched
calls = 0


class Later:
    # An array that is computed when the program is ready.
    def __init__(self, function, *operands, like):
        self.function, self.operands, self.shape, self.dtype = function, operands, like.shape, like.dtype

    def value(self):
        return self.function(*(x.value() for x in self.operands))


def to_native(array):
    kept = np.array(array)
    return Later(lambda: kept, like=kept)


def later(function):
    return lambda *arrays: Later(function, *arrays, like=max(arrays, key=lambda x: len(x.shape)))


def op_later(function):
    return lambda op, x: Later(lambda a: function(op, a), x, like=np.empty((), x.dtype))


def ready(outputs):
    global calls
    calls += 1
    return [*POOL.map(lambda x: x.value(), outputs)]


def third_time(x):
    return tg.sigmoid.op.perform(x)[0] if calls >= 2 else 1 / (1 + np.exp(-x))


@functools.cache
def interpreted():
    x = tg.vector("x")
    return freeze([x], [tg.sigmoid(x)])


LINKER = FuncifyLinker(
    to_native=to_native,
    to_numpy=lambda x: x.value() if isinstance(x, Later) else x,
    argument=to_native,
    ready=ready,
    scope=lambda options: np.errstate(all="ignore"),
)
HONEST = {
    tg.add: later(np.add),
    tg.multiply: later(np.multiply),
    tg.sin: later(np.sin),
    tg.sigmoid: later(lambda x: 1 / (1 + np.exp(-x))),
    Reduce: op_later(lambda op, x: np.sum(x, axis=op.axes)),
}
@functools.cache
def compiled(op, dtype, rank, backend="perform"):
    v = tg.tensor("v", dtype, (None,) * rank)
    return tg.function([v], op(v), backend=backend)


def by_constants(x):
    return tg.function([], tg.sigmoid(tg.constant(x)), backend="perform")()


def in_a_thread(work, x):
    found = []
    thread = threading.Thread(target=lambda: found.append(work(x)))
    thread.start()
    thread.join()
    return found[0]


def within_a_pool(x):  # no frame of this module is on the stack of what computes
    return OTHERS.submit(compiled(tg.sigmoid, x.dtype.name, x.ndim), x).result()


CODE = summed = None
perform, own = tg.sigmoid.op.perform, tg.sigmoid.reference


def copy(is_function):
    global CODE, summed
    code = Reduce.perform.__code__
    CODE = None if is_function else code
    summed = types.FunctionType(code, Reduce.perform.__globals__, "summed") if is_function else None


def kept(op, x):
    return types.FunctionType(CODE, Reduce.perform.__globals__)(op, x)[0]


@functools.cache
def interpreted():
    x = tg.vector("x")
    return freeze([x], [tg.sigmoid(x)])


LINKER = FuncifyLinker(
    to_native=to_native,
    to_numpy=lambda x: x.value() if isinstance(x, Later) else x,
    argument=to_native,
    ready=ready,
    scope=lambda options: np.errstate(all="ignore"),
)
HONEST = {
    tg.add: later(np.add),
    tg.multiply: later(np.multiply),
    tg.sin: later(np.sin),
    tg.sigmoid: later(lambda x: 1 / (1 + np.exp(-x))),
    Reduce: op_later(lambda op, x: np.sum(x, axis=op.axes)),
}
@functools.cache
def compiled(op, dtype, rank, backend="perform"):
    v = tg.tensor("v", dtype, (None,) * rank)
    return tg.function([v], op(v), backend=backend)


def by_constants(x):
    return tg.function([], tg.sigmoid(tg.constant(x)), backend="perform")()


def in_a_thread(work, x):
    found = []
    thread = threading.Thread(target=lambda: found.append(work(x)))
    thread.start()
    thread.join()
    return found[0]


def within_a_pool(x):  # no frame of this module is on the stack of what computes
    return OTHERS.submit(compiled(tg.sigmoid, x.dtype.name, x.ndim), x).result()


CODE = summed = None
perform, own = tg.sigmoid.op.perform, tg.sigmoid.reference


def copy(is_function):
    global CODE, summed
    code = Reduce.perform.__code__
    CODE = None if is_function else code
    summed = types.FunctionType(code, Reduce.perform.__globals__, "summed") if is_function else None


def kept(op, x):
    return types.FunctionType(CODE, Reduce.perform.__globals__)(op, x)[0]


def keep():
    global CODE
    CODE = summed = None


CHEATS = {
    "perform": {tg.sigmoid: later(lambda x: tg.sigmoid.op.perform(x)[0])},
    "perform, got hold of before": {tg.sigmoid: later(lambda x: perform(x)[0])},
    "perform of an op": {Reduce: op_later(lambda op, x: op.perform(x)[0])},
    "reference": {tg.sigmoid: later(lambda x: tg.sigmoid.reference(x))},
    "reference, got hold of before": {tg.sigmoid: later(own)},
    "reference that is NumPy's": {tg.sin: later(lambda x: tg.sin.reference(x))},
    "reference as it is": {tg.sigmoid: lambda x: later(own)(x)},
    "another op's": {tg.sigmoid: later(lambda x: tg.reciprocal.op.perform(1 + np.exp(-x))[0])},
    "interpret": {tg.sigmoid: later(lambda x: interpret(interpreted(), [x])[0])},
    "at the second call": {tg.sigmoid: later(third_time)},
    "compiled for the reference": {tg.sigmoid: later(lambda x: compiled(tg.sigmoid, x.dtype.name, x.ndim)(x))},
    "compiled for a hosted backend": {
        tg.sigmoid: later(lambda x: compiled(tg.sigmoid, x.dtype.name, x.ndim, "loopback")(x))
    },
    "evaluated": {tg.sigmoid: later(lambda x: tg.sigmoid(tg.constant(x)).eval())},
    "folded": {tg.sigmoid: later(by_constants)},
    "in a thread": {tg.sigmoid: later(functools.partial(in_a_thread, lambda x: perform(x)[0]))},
    "in a pool": {tg.sigmoid: later(within_a_pool)},
    "a rule inside that says so": {tg.sigmoid: later(lambda x: Hosted(lambda y: perform(y)[0])(x))},
    "a copied function": {Reduce: op_later(lambda op, x: summed(op, x)[0])},
    "copied code": {Reduce: op_later(kept)},
    "declared": {tg.sigmoid: Hosted(later(own)), Reduce: Hosted(op_later(lambda op, x: op.perform(x)[0]))},
}
chosen = {}


@hookimpl
def tg_backends():
    facts = dict(distribution="lazytoy", rules=PROTOCOL, linker="lazytoy:LINKER", priority=-1)
    return (Backend("lazytoy", **facts),)


@hookimpl
def tg_rules(backend):
    return Rules(PROTOCOL, {**HONEST, **chosen}) if backend == "lazytoy" else None
"""
BY_COPIES = ("a copied function", "copied code")
SINE = Case(lambda x: tg.sin(x) + 1, [f64("n")], name="a sine", family="toy")
SIGMOID = Case(lambda x: tg.sum(tg.sigmoid(x) * tg.sin(x)), [f64("n")], name="a sigmoid", family="toy")
ITEMS = [Item(case, "value", None, "C", static=False) for case in (SINE, SIGMOID)]
TOLD = {  # the op, and the case that has it
    "perform": ("sigmoid", SIGMOID),
    "perform, got hold of before": ("sigmoid", SIGMOID),
    "perform of an op": ("Reduce", SIGMOID),
    "reference": ("sigmoid", SIGMOID),
    "reference, got hold of before": ("sigmoid", SIGMOID),
    "reference that is NumPy's": ("sin", SINE),
    "reference as it is": ("sigmoid", SIGMOID),
    "another op's": ("reciprocal", SIGMOID),
    "interpret": ("sigmoid", SIGMOID),
    "at the second call": ("sigmoid", SIGMOID),
    "compiled for the reference": ("sigmoid", SIGMOID),
    "compiled for a hosted backend": ("sigmoid", SIGMOID),
    "evaluated": ("sigmoid", SIGMOID),
    "folded": ("sigmoid", SIGMOID),
    "in a thread": ("sigmoid", SIGMOID),
    "in a pool": ("sigmoid", SIGMOID),
    "a rule inside that says so": ("sigmoid", SIGMOID),
    "a copied function": ("Reduce", SIGMOID),
    "copied code": ("Reduce", SIGMOID),
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the two items on the toy with a trick; what is wrong with each."""
    (tmp_path / "lazytoy.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    toy = importlib.import_module("lazytoy")
    manager = plugin.registry().manager

    def outcomes(trick):
        toy.chosen = toy.CHEATS.get(trick, {})
        toy.CODE = toy.summed = None
        if trick in BY_COPIES:
            toy.copy(is_function=trick == "a copied function")
        manager.register(toy, name="lazytoy")
        runner = Runner("lazytoy", lambda *_: None, rounds=0)
        return [(one.outcome, one.detail) for one in runner.run(ITEMS)]

    yield outcomes
    manager.unregister(name="lazytoy")
    monkeypatch.delitem(sys.modules, "lazytoy")


@pytest.mark.parametrize("trick", TOLD)
def test_the_reference_by_the_back_door_is_told_of(run, trick):
    op, case = TOLD[trick]
    found = dict(zip((SINE, SIGMOID), run(trick), strict=True))
    outcome, detail = found[case]
    assert outcome == "failed"
    how = (
        "a copy of the reference's code computes it, at"
        if trick in BY_COPIES
        else "the reference computed it, called at"
    )
    assert detail.startswith(f"{op}: {how} ")
    where = {
        "in a pool": "perform.py:",
        "a copied function": "reduction.py:",
    }.get(trick, "lazytoy")
    assert f"{how} {where}" in detail
    assert found[SINE][0] == ("failed" if op == "sin" else "passed")


@pytest.mark.parametrize("trick", ["", "declared"])
def test_nothing_is_told_of_honest_rules_and_of_those_that_say_so(run, trick):
    assert run(trick) == [("passed", "")] * 2


def test_the_functions_are_what_they_were_after_a_watch(run):
    run("perform")
    for function, own, _ in performing():
        assert function.__code__ is own
    assert not isinstance(vars(type(tg.sin))["reference"], property)


@pytest.mark.long
def test_a_rule_of_a_loop_may_ask_whether_shapes_are_refused():
    """Core decides that by lengths, which it computes as the reference does."""
    case = next(one for one in integers.CASES if one.name == "integers int64")
    item = Item(case, "value", None, "C", static=False)
    assert [one.outcome for one in Runner("jax", lambda *_: None, rounds=0).run([item])] == ["passed"]
