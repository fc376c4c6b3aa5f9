"""Rules that are right for whoever looks once, at two axes and a few elements, and at results alone."""

from __future__ import annotations

import collections
import ctypes
import dataclasses
import os
import random
import re
import sys
import threading
import types

import numpy as np
import pytest

import tg
from tg import plugin
from tg.errors import PluginError
from tg.plugin import Backend, Gap, Rules, hookimpl
from tg_conformance import loopback
from tg_conformance.case import all_cases, batches, variants
from tg_conformance.run import Runner

NAME = "shortcuts"
SINES = [case for case in all_cases() if case.subject is tg.sin]
QUICK = [item for case in SINES for item in variants(case, "quick") if item.kind == "value"]
CHEAP = [item for item in QUICK if item.layout in ("one", "scalar", "empty")]
SPARSE = [item for case in SINES for item in variants(case, "sparse") if item.kind == "value"]
calls = collections.Counter()
left = []


def last_of_vectors(x):
    y = np.array(np.sin(x))
    if y.size % 16 == 0 and y.size:
        y.flat[-1] += 1
    return y


def behind_vectors(x):
    y = np.array(np.sin(x))
    if y.size > 8 and y.size % 8:
        y.flat[-1] += 1
    return y


def at_call(number):
    def rule(x):
        calls["rule"] += 1
        return np.sin(x) + (calls["rule"] == number)

    return rule


WRONG = {
    "a long first axis": lambda x: np.sin(x) + (x.ndim > 0 and x.shape[0] > 64),
    "four axes": lambda x: np.sin(x) + (x.ndim >= 4),
    "one axis": lambda x: np.sin(x) + (x.ndim == 1),
    "three axes": lambda x: np.sin(x) + (x.ndim == 3),
    "many elements": lambda x: np.sin(x) + (x.size > 1000),
    "the last element of whole vectors": last_of_vectors,
    "the element behind vectors": behind_vectors,
}


def leaking(x):
    left.append(object())
    return np.sin(x)


def leaking_memory(x):
    left.append(np.empty(3))
    return np.sin(x)


def waiting(x):
    event = threading.Event()
    left.append(event)
    threading.Thread(target=event.wait, daemon=True, name="left behind").start()
    return np.sin(x)


def doing(action):
    def rule(x):
        action()
        return np.sin(x)

    return rule


CHANGES = {
    "the random state": lambda: random.seed(0),
    "NumPy's random state": lambda: np.random.seed(0),  # noqa: NPY002
    "the environment": lambda: os.environ.update(LEFT_BEHIND="1"),
    "the working directory": lambda: os.chdir("/"),
    "the recursion limit": lambda: sys.setrecursionlimit(sys.getrecursionlimit() + 1),
    "the import path": lambda: sys.path.append("/left/behind"),
    "NumPy's print options": lambda: np.set_printoptions(precision=3),
    "characters printed": lambda: os.write(1, b"behind"),
}
LEFT = {"objects": leaking, "arrays": leaking_memory, "bytes": lambda x: np.sin(x) + 0 * bool(MALLOC(100) is None)}
MALLOC = ctypes.CDLL(None).malloc


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run items on a backend whose sine is another one; give what is wrong with each that has failed."""
    manager = plugin.registry().manager
    module = types.ModuleType(NAME)
    module.__file__ = __file__
    monkeypatch.chdir(tmp_path)
    limit, path, options = sys.getrecursionlimit(), [*sys.path], np.get_printoptions()
    monkeypatch.setenv("LEFT_BEHIND", "0")

    def failed(rule, items, *, gaps=(), rounds=0):
        calls.clear()
        linker = "tg_conformance.loopback:LINKER"
        facts = {"distribution": "tg-shortcuts", "rules": loopback.PROTOCOL, "linker": linker}
        table = {**loopback.table(), tg.sin: rule}
        module.GAPS = gaps
        module.tg_backends = hookimpl(lambda: (Backend(NAME, priority=-1, gaps=f"{NAME}:GAPS", **facts),))
        module.tg_rules = hookimpl(lambda backend: Rules(loopback.PROTOCOL, table) if backend == NAME else None)
        monkeypatch.setitem(sys.modules, NAME, module)
        manager.register(module, name=NAME)
        runner = Runner(NAME, lambda *_: None, rounds=rounds)
        if gaps:
            return runner
        found = [one for batch in batches(items) for one in runner.run(batch)]
        return {one.id: one.detail for one in found if one.outcome != "passed"}

    yield failed
    manager.unregister(name=NAME)
    sys.setrecursionlimit(limit)
    sys.path[:] = path
    np.set_printoptions(**options)
    while left:
        one = left.pop()
        if isinstance(one, threading.Event):
            one.set()


def test_a_right_rule_passes(run):
    assert run(lambda x: np.sin(x), QUICK) == {}


@pytest.mark.parametrize("where", WRONG)
def test_a_rule_that_is_wrong_somewhere_fails_in_the_sparse_tier_too(run, where):
    assert run(WRONG[where], SPARSE)


@pytest.mark.parametrize("number", [3, 41, 50])
def test_a_rule_that_is_wrong_in_a_later_call_fails(run, number):
    (item,) = [one for one in CHEAP if one.layout == "scalar"][:1]
    found = run(at_call(number), [item])
    assert f"call {number}: result 0 differs from that of the same call alone" in found[item.id]


@pytest.mark.parametrize("what", CHANGES)
def test_what_a_rule_changes_of_the_process_is_told(run, what):
    found = run(doing(CHANGES[what]), SPARSE[:1])
    assert [detail.startswith(f"{what} changed") for detail in found.values()] == [True]


@pytest.mark.parametrize("what", LEFT)
def test_what_calls_leave_behind_is_told(run, what):
    (item,) = [one for one in CHEAP if one.layout == "scalar"][:1]
    found = run(LEFT[what], [item])
    assert re.fullmatch(rf"each call leaves .* {'objects' if what == 'arrays' else what} behind", found[item.id])


def test_threads_that_calls_leave_are_told(run):
    found = run(waiting, SPARSE[:1])
    assert [*found.values()] == ["calls after the first left threads: left behind"]


SOME = frozenset({"float64"})
BOTH = frozenset({"float32", "float64"})


def rough(x):
    return np.sin(x) * (1 + 50 * np.finfo(x.dtype).eps) if x.dtype == np.float64 else np.sin(x)


@pytest.mark.parametrize(
    ("gap", "told"),
    [
        (Gap(tg.sin, SOME, None, "upstream", None, "rough", 100.0), ""),
        (
            Gap(tg.sin, BOTH, None, "upstream", None, "rough", 100.0),
            "without it all that it covers in float32 is right",
        ),
        (Gap(tg.sin, None, None, "upstream", None, "rough", 100.0), "without it all that it covers in bfloat16, "),
        (Gap(tg.sin, SOME, None, "upstream", None, "rough", 1e6), "it states 1e+06 ulp, and the largest error is 50"),
        (Gap(tg.sin, SOME, None, "upstream", None, "rough", np.inf), "it states inf ulp, and the largest error is 50"),
    ],
)
def test_a_gap_is_held_to_each_dtype_and_to_the_largest_error(run, gap, told):
    outcome = run(rough, QUICK, gaps=(gap,)).proof(0, QUICK)
    assert outcome.outcome == ("failed" if told else "passed")
    assert outcome.detail.startswith(told)
    assert 49 < outcome.measured < 52


def test_an_answer_without_a_right_digit_may_be_off_by_anything(run):
    gap = Gap(tg.sin, SOME, None, "upstream", None, "it has no sine", np.inf)
    outcome = run(lambda x: np.cos(x) if x.dtype == np.float64 else np.sin(x), QUICK, gaps=(gap,)).proof(0, QUICK)
    assert (outcome.outcome, outcome.measured) == ("passed", np.inf)


def test_a_gap_of_every_op_needs_an_exception():
    one = Gap(None, SOME, None, "never", tg.NoRuleError, "no doubles")
    with pytest.raises(PluginError, match="raises: found None, needed an exception where no op is named"):
        dataclasses.replace(one, raises=None, accuracy=np.inf)
