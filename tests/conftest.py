"""Every run of the tests: a compile cache of its own, and the tests that a usual run leaves to `make long`.

`@pytest.mark.long` is a test that takes long and finds little that others do not; `long(minutes=8)` begins before all
others, so that no worker is left alone with it at the end. `@pytest.mark.sampled(n)` is one of many parameters that are
much alike: a usual run has about every n-th of them, always the same ones. Of the sparse tier of conformance it has
every batch of the reference, and of each of the six other backends a sixth, another for each; other tiers are run as
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
    left = [item for item in items if is_left_to_others(item, is_sparse)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not is_left_to_others(item, is_sparse)]


def minutes(item):
    mark = item.get_closest_marker("long")
    return mark.kwargs.get("minutes", 0) if mark else 0


def is_left_to_others(item, is_sparse):
    """Whether a usual run goes without a test; `is_sparse`: the conformance suite, if it is run, in its sparse tier."""
    if item.get_closest_marker("long"):
        return True
    number, _ = getattr(item, "batch", (None, None))  # of a case of the conformance suite
    if is_sparse and isinstance(number, int):
        name = item.parent.backend
        return name != "perform" and (number + others().index(name)) % len(others()) != 0
    sampled = item.get_closest_marker("sampled")
    return sampled is not None and zlib.crc32(item.nodeid.encode()) % sampled.args[0] != 0


@functools.cache
def others():
    """The backends but the reference."""
    return [backend.name for backend in plugin.registry().backends() if backend.name != "perform"]
