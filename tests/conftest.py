"""Every run of the tests: a compile cache of its own, and the tests that a usual run leaves to `make long`.

`@pytest.mark.long` is a test that takes long and finds little that others do not; `long(minutes=8)` begins before all
others, so that no worker is left alone with it at the end. What is marked `nightly` is left to `make nightly`.
`@pytest.mark.sampled(n)` is one of many parameters that are much alike: a usual run has an n-th, always the same
ones, and one at least; of a file that is marked and has tests without parameters about an n-th of these. `make long`
has a fifth or an n-th, whichever is more (`--of-sampled 5`), none that a usual run has and each day others (`--turn`),
and `make nightly` has all. A test without the mark is sampled as if n was 3 where it has four parameters or more, 4
where it has sixteen, and 2 where there are fewer and it runs on several backends; what looks through the source
(WHOLE) is not. A run of some folders or files has the unmarked ones whole but for the backends.
Of long tests a slow machine has a fourth, others on each of four days (`--of-long 4`).
Of the sparse tier of conformance, where it is run beside tests, a usual run has every twelfth batch of the reference,
of each of the six other backends every 60th, others for each, and no gap.
"""

import datetime as dt
import functools
import gc
import os
import shutil
import tempfile
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import hypothesis
import pytest

from tg import plugin

HERE = Path(__file__).parent
CACHE = pytest.StashKey[Path]()
MANY, MOST = 4, 16  # parameters of a test
WHOLE = ("architecture", "errors", "stub")  # folders of short tests that each change is held to
PARTS, SLOWEST = 12, 20  # of a run, told at its end
TODAY = int(os.environ.setdefault("TG_TESTS_DAY", str(dt.datetime.now(dt.UTC).toordinal())))  # all workers have one
TOLD = 60.0  # seconds of tests, from which on a run tells what took them
# Of the garbage collector: it looks at what is new after 50,000 objects, at all that came after collecting when there
# are 2,000,000. By Python's thresholds, 700 and 70,000, a seventh of a run went into looking through frameworks, items
# and caches, which stay.
THRESHOLDS = 50_000, 10, 4


def pytest_addoption(parser):
    parser.addoption("--whole", action="store_true", help="all that a usual run leaves to `make long`")
    parser.addoption("--of-sampled", type=int, default=1, metavar="N", help="with --whole: an N-th of what is sampled")
    parser.addoption(
        "--turn", type=int, metavar="K", help="with --of-sampled: which, by default by the day; a usual run has the 0th"
    )
    parser.addoption(
        "--of-long", type=int, default=1, metavar="N", help="with --whole: an N-th of what is long, others each day"
    )


def pytest_configure(config):
    """Compiled code goes to a folder that all workers and child processes of this run share, and nobody else.

    No property is timed: the machine may be busy with something else.
    """
    hypothesis.settings.register_profile("tg", deadline=None)
    hypothesis.settings.load_profile("tg")
    gc.set_threshold(*THRESHOLDS)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        folder = config.stash[CACHE] = Path(tempfile.mkdtemp(prefix="tg-cache-of-tests-"))
        os.environ["TG_CACHE_DIR"] = str(folder)
        os.environ["TG_REMEMBER"] = "false"  # each test has its programs rewritten, also where it changes a rule


def pytest_unconfigure(config):
    if CACHE in config.stash:
        shutil.rmtree(config.stash[CACHE], ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect items without the garbage collector: they and modules stay, and looking at them took a fifth of it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish():
    """Leave what is there now out of garbage collections: of a test that asks for one it took most of the time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc):
    """Of a sampled test no more than is run becomes an item: to make those of the others took a fourth of collecting.

    A parameter that somebody asks for by its name becomes one as well. One always stays: without any, pytest makes an
    item that has no parameters.
    """
    yield
    made, config = metafunc._calls, metafunc.config
    if not made or any("[" in word for word in config.args):
        return
    whole = config.getoption("--whole")
    usual = [one for one in made if whole or not any(mark.name == "long" for mark in one.marks)] or made[:1]
    sampled = next(metafunc.definition.iter_markers("sampled"), None)
    if sampled is None and (unmarked := share_without_mark(metafunc)) > 1:
        sampled = pytest.mark.sampled(unmarked).mark
        usual = [replace(one, marks=[*one.marks, sampled]) for one in usual]
    if sampled is not None:
        drawn = sorted(usual, key=lambda one: zlib.crc32(f"{metafunc.definition.nodeid}[{one.id}]".encode()))
        chosen = {one.id for one in sample(drawn, *share_and_turn(config, sampled.args[0]))}
        usual = [one for one in usual if one.id in chosen]
    made[:] = usual


def share_without_mark(metafunc):
    """Of how many parameters of a test that is not marked a usual run has one."""
    marks = [*metafunc.definition.iter_markers(), *(mark for one in metafunc._calls for mark in one.marks)]
    is_long = any(mark.name in ("long", "nightly") for mark in marks)
    if is_long or Path(metafunc.definition.path).relative_to(HERE).parts[0] in WHOLE:
        return 1
    if len(metafunc._calls) >= MANY and has_all_folders(metafunc.config):
        return 4 if len(metafunc._calls) >= MOST else 3
    return 2 if len({one.params.get("backend") for one in metafunc._calls}) > 1 else 1


def sample(drawn, share, turn):
    """One of so many equal parts, none of which is empty."""
    return drawn[turn % min(share, len(drawn)) :: share]


def share_and_turn(config, usual):
    """Of how many parameters of a sampled test one is run, and which."""
    if not config.getoption("--whole"):
        return usual, 0
    share, turn = min(config.getoption("--of-sampled"), usual), config.getoption("--turn")
    return share, 1 + TODAY % max(share - 1, 1) if turn is None else turn


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    if config.option.dist != "loadgroup":
        return None
    from tests.schedule import Scheduler

    return Scheduler(config, log, is_sparse=has_little_conformance(config))


def pytest_collection_modifyitems(config, items):
    items.sort(key=minutes, reverse=True)  # the order of others stays
    is_whole, share, is_sparse = (
        config.getoption("--whole"),
        config.getoption("--of-long"),
        has_little_conformance(config),
    )
    kept, left = [], []
    for item in items:
        goes = is_left_to_days(item, share) if is_whole else is_left_to_others(item, is_sparse)
        (left if goes else kept).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


def has_all_folders(config):
    """Whether a run is of all tests, not of some folders or files."""
    return any(Path(word.partition("::")[0]).resolve() == HERE for word in config.args)


def has_little_conformance(config):
    """Whether a run has the sparse tier beside tests; pytest reads this file for runs of the suite alone as well."""
    places = [Path(word.partition("::")[0]).resolve() for word in config.args]
    return config.getoption("tier", None) == "sparse" and any(place.is_relative_to(HERE) for place in places)


def minutes(item):
    mark = item.get_closest_marker("long")
    return mark.kwargs.get("minutes", 0) if mark else 0


def is_left_to_days(item, share):
    """Whether a long test waits for another day: an N-th of them run each day, by their names."""
    is_long = item.get_closest_marker("long") is not None
    return is_long and (zlib.crc32(item.nodeid.encode()) + TODAY) % share != 0


def is_left_to_others(item, is_sparse):
    """Whether a usual run goes without a test; `is_sparse`: and of conformance has no more than the sparse tier."""
    number, _ = getattr(item, "batch", (None, None))  # of a case of the conformance suite
    if number is None:
        sampled = None if hasattr(item, "callspec") else item.get_closest_marker("sampled")
        is_drawn = sampled is None or zlib.crc32(item.name.encode()) % sampled.args[0] == 0
        return any(item.get_closest_marker(name) for name in ("long", "nightly")) or not is_drawn
    if not is_sparse:
        return False
    if not isinstance(number, int):
        return True  # a gap, which is held to all dtypes
    name = item.parent.backend
    return number % 12 != 0 if name == "perform" else (number + 10 * others().index(name)) % (10 * len(others())) != 0


@functools.cache
def others():
    """The backends but the reference."""
    return [backend.name for backend in plugin.registry().backends() if backend.name != "perform"]


def pytest_terminal_summary(terminalreporter):
    """What a long run took: its parts, and the tests that took most."""
    tests, parts = Counter(), Counter()
    for reports in terminalreporter.stats.values():
        for one in reports:
            if hasattr(one, "duration") and hasattr(one, "nodeid"):
                tests[one.nodeid] += one.duration
                parts["/".join(one.nodeid.partition("::")[0].split("/")[:3])] += one.duration
    if sum(parts.values()) >= TOLD:
        terminalreporter.section("seconds, by part and by test")
        for what, seconds in (*parts.most_common(PARTS), *tests.most_common(SLOWEST)):
            terminalreporter.write_line(f"{seconds:8.1f}  {what}")
