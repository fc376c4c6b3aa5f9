"""The suite is itself tested: bugs that other systems had, put into copies of loopback or into core, must be caught."""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from collections import Counter
from unittest import mock

import numpy as np
import pytest
from tg_bugs.catalog import BUGS

from tg import plugin
from tg_conformance import parent
from tg_conformance.case import items, witnesses
from tg_conformance.parent import Worker
from tg_conformance.run import Runner

ENOUGH = 48
NAMES = [bug.name for bug in BUGS]
KNOWN = {bug.name: bug for bug in BUGS}
HANGS = 4.0  # seconds

pytestmark = pytest.mark.xdist_group("mutations")


@functools.cache
def quick_items():
    """The quick items of loopback, and so of every copy of it."""
    return items(plugin.registry().backend("loopback"), "quick")


def chosen(pattern):
    return [item for item in quick_items() if re.search(pattern, item.id)]


@pytest.fixture(scope="module")
def installed(site):
    """The backends with bugs, known to this process and to the workers that it starts."""
    sys.path.insert(0, str(site))
    plugin.reset()
    yield
    sys.path.remove(str(site))
    plugin.reset()


@functools.cache
def outcomes(name):
    """What comes of the cases that must catch a bug."""
    bug = KNOWN[name]
    picked = chosen(bug.caught_by)
    if not bug.in_worker:
        return run_here(bug.backend, picked, bug.core)
    worker = Worker(bug.backend, "quick", HANGS if name == "hang" else 60.0)
    try:
        return worker.run([item.id for item in picked])
    finally:
        worker.close()


def run_here(backend, picked, core=()):
    """The outcomes of items in this process, with replaced parts of core."""
    with contextlib.ExitStack() as replaced:
        replaced.enter_context(np.errstate(all="ignore"))
        for owner, attribute, value in core:
            replaced.enter_context(mock.patch.object(owner, attribute, value))
        return Runner(backend, lambda ids: None).run(picked)


def count(found):
    return Counter(one.outcome for one in found)


def test_every_bug_has_a_name_and_a_source():
    assert len(set(NAMES)) == len(NAMES) >= 50
    assert all(re.fullmatch(r"[TR][1-9]\d?", bug.trap) for bug in BUGS)


@pytest.mark.nightly
def test_loopback_itself_passes_what_the_bugs_fail(installed):
    picked = chosen("|".join(sorted({bug.caught_by for bug in BUGS if not bug.in_worker})))
    found = run_here("loopback", picked)
    assert len(found) > 1000
    assert [(one.id, one.detail) for one in found if one.outcome != "passed"] == []


@pytest.mark.sampled(40)
@pytest.mark.parametrize("name", NAMES)
def test_bug_is_caught(installed, name):
    found = count(outcomes(name))
    assert found["failed"], f"none of {found.total()} cases failed"
    assert not found["xfailed"]


@pytest.mark.nightly
def test_the_score(installed, capsys):
    escaped = [name for name in NAMES if not count(outcomes(name))["failed"]]
    score = f"{len(NAMES) - len(escaped)} of {len(NAMES)} known bugs caught"
    with capsys.disabled():
        sys.stdout.write(f"\n{score}; escaped: {', '.join(escaped) or 'none'}\n")
    assert len(NAMES) - len(escaped) >= ENOUGH


@pytest.fixture
def worker(installed):
    """Workers of backends, closed in the end."""
    started = []

    def start(backend, limit=60.0):
        started.append(Worker(backend, "quick", limit))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.mark.long
@pytest.mark.parametrize(("dtypes", "count"), [("float16", 4), ("", 16)])
def test_crash_fails_exactly_the_case_that_crashes(worker, dtypes, count):
    one = worker("bug-crash")
    found = one.run([item.id for item in chosen(rf"^elementwise/exponential:exp2( hostile)?\[{dtypes}")])
    failed = [outcome for outcome in found if outcome.outcome != "passed"]
    assert {outcome.id.partition("[")[0] for outcome in failed} == {"elementwise/exponential:exp2 hostile"}
    assert "signal 6 while running elementwise/exponential:exp2 hostile[float16" in failed[0].detail
    assert len(found) >= count
    assert one.restarts > 1


@pytest.mark.long
def test_hang_fails_exactly_the_case_that_hangs(installed):
    failed = [outcome for outcome in outcomes("hang") if outcome.outcome != "passed"]
    assert {outcome.id.partition("[")[0] for outcome in failed} == {"elementwise/exponential:log2 hostile"}
    assert all(outcome.detail.startswith("hung: no answer within 4 s") for outcome in failed)


@pytest.mark.long
def test_an_interrupted_batch_leaves_no_answer_to_the_next(worker):
    one, first, second = worker("loopback"), *(chosen(rf"trigonometric:{name}\[float64") for name in ("sin", "cos"))
    one.run([first[0].id])
    interrupted = mock.patch.object(parent.select, "select", side_effect=KeyboardInterrupt)
    with interrupted, pytest.raises(KeyboardInterrupt):
        one.run([item.id for item in first])
    assert {outcome.id for outcome in one.run([item.id for item in second])} == {item.id for item in second}


def test_gaps_are_held_to_all_dtypes_in_the_sparse_tier_too():
    backend = plugin.registry().backend("loopback")
    taken, asked = ({(i.case.name, i.kind, i.dtype) for i in found(backend, "sparse")} for found in (items, witnesses))
    assert not {(i.case.name, i.kind, i.dtype) for i in quick_items()} <= taken
    assert {(i.case.name, i.kind, i.dtype) for i in quick_items()} <= asked


@pytest.mark.nightly
def test_gap_is_an_expected_failure_and_strict(worker):
    one = worker("bug-gaps", 600.0)  # a gap is held to every case of its ops
    found = one.run([item.id for item in chosen(r"trigonometric:(sin|cos|tan|tanh)\[float|subnormals added")])
    outcome = {one.id: one.outcome for one in found}
    assert {v for k, v in outcome.items() if ":sin[float32" in k} == {"xfailed"}
    assert {v for k, v in outcome.items() if ":sin[float64" in k} == {"passed"}
    assert {v for k, v in outcome.items() if ":cos[float32" in k} == {"failed"}
    assert {v for k, v in outcome.items() if "subnormals" in k} == {"failed"}
    assert {v for k, v in outcome.items() if ":tan[float32" in k} == {"failed"}
    assert {v for k, v in outcome.items() if ":tanh[float32" in k} == {"passed"}  # no worse than it states
    wrong = {k: one.gap(k, "").pop() for k in range(6)}
    told = {k: v.detail for k, v in wrong.items() if v.outcome == "failed"}
    assert told.pop(2) == "it covers no case"
    assert told.pop(5) == "without it all that it covers in float32 is right: remove or narrow the gap"
    for k in (1, 4):  # as loopback computes cos, tan and tanh, they are right
        words = r"without it elementwise/trigonometric:.* is right, as is all else that it covers"
        assert re.match(words, told.pop(k)), k
    assert not told
