"""Every run of the tests: a compile cache of its own, and the tests that a usual run leaves to `make long`.

`@pytest.mark.long` is a test that takes long and finds little that others do not; `long(minutes=8)` begins before all
others, so that no worker is left alone with it at the end. `@pytest.mark.sampled(n)` is one of many parameters that are
much alike: a usual run has about every n-th of them, always the same ones. Of the sparse tier of conformance it has
every batch of the reference, and of each of the six other backends a twelfth, another for each; other tiers are run as
they are.
"""

import functools
import os
import shutil
import tempfile
import zlib
from pathlib import Path

import hypothesis
import pytest

from tg import plugin

CACHE = pytest.StashKey[Path]()


def pytest_addoption(parser):
    parser.addoption("--whole", action="store_true", help="all that a usual run leaves to `make long`")


def pytest_configure(config):
    """Compiled code goes to a folder that all workers and child processes of this run share, and nobody else.

    No property is timed: the machine may be busy with something else.
    """
    hypothesis.settings.register_profile("tg", deadline=None)
    hypothesis.settings.load_profile("tg")
    if "PYTEST_XDIST_WORKER" not in os.environ:
        folder = config.stash[CACHE] = Path(tempfile.mkdtemp(prefix="tg-cache-of-tests-"))
        os.environ["TG_CACHE_DIR"] = str(folder)
        os.environ["TG_REMEMBER"] = "false"  # each test has its programs rewritten, also where it changes a rule


def pytest_unconfigure(config):
    if CACHE in config.stash:
        shutil.rmtree(config.stash[CACHE], ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc):
    """Of a sampled test no more than is run becomes an item: to make those of the others took a third of collecting.

    One stays, for without any pytest makes an item that has no parameters. A parameter that somebody asks for by its
    name becomes one as well.
    """
    yield
    made, config = metafunc._calls, metafunc.config
    if len(made) > 1 and not config.getoption("--whole") and not any("[" in word for word in config.args):
        marks = [*metafunc.definition.iter_markers()]
        name = metafunc.definition.nodeid
        made[:] = [one for one in made if not is_marked([*one.marks, *marks], f"{name}[{one.id}]")] or made[:1]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    if config.option.dist != "loadgroup":
        return None
    from tests.schedule import Scheduler

    return Scheduler(config, log)


def pytest_collection_modifyitems(config, items):
    items.sort(key=minutes, reverse=True)  # the order of others stays
    if config.getoption("--whole"):
        return
    is_sparse = config.getoption("tier", None) == "sparse"
    kept, left = [], []
    for item in items:
        (left if is_left_to_others(item, is_sparse) else kept).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


def minutes(item):
    mark = item.get_closest_marker("long")
    return mark.kwargs.get("minutes", 0) if mark else 0


def is_left_to_others(item, is_sparse):
    """Whether a usual run goes without a test; `is_sparse`: the conformance suite, if it is run, in its sparse tier."""
    number, _ = getattr(item, "batch", (None, None))  # of a case of the conformance suite
    if number is None:
        return is_marked([*item.iter_markers()], f"{item.parent.nodeid}::{item.name}")  # its nodeid ends with a group
    if not is_sparse or not isinstance(number, int):
        return False
    name = item.parent.backend
    return name != "perform" and (number + 2 * others().index(name)) % (2 * len(others())) != 0


def is_marked(marks, name):
    """Whether marks, the closest first, leave the test of a name to `--whole`."""
    if any(mark.name == "long" for mark in marks):
        return True
    sampled = next((mark for mark in marks if mark.name == "sampled"), None)
    return sampled is not None and zlib.crc32(name.encode()) % sampled.args[0] != 0


@functools.cache
def others():
    """The backends but the reference."""
    return [backend.name for backend in plugin.registry().backends() if backend.name != "perform"]
