"""The tests of the suite that run a mutant: called in this process, for starting pytest takes longer than they do."""

from __future__ import annotations

import contextlib
import functools
import io
import time

import pytest

from tests.enumerate.run import EndlessError, limited
from tests.mutants.trial import ENDLESS, Verdict, codes_run

TESTS = ("tests/unit/rewrite", "tests/unit/rules", "tests/replay", "tests/programs")
LEFT_OUT = ("keeps_the_promise", "says_what_it_is", "names_are_unique", "class_that_is_weaker")
LONGEST = 1.0  # seconds of a test that is called so often
SECONDS = 6.0


class Collected:
    """A plugin of pytest that keeps the tests and runs none."""

    def __init__(self):
        self.items = []

    def pytest_collection_modifyitems(self, items):
        self.items.extend(items)


def collected():
    """The tests that need nothing but their parameters, all of these, as names and functions without arguments."""
    found = Collected()
    options = ["--collect-only", "-q", "--whole", "-p", "no:cacheprovider", "-p", "no:xdist"]
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main([*options, *TESTS], plugins=[found])
    tests = []
    for item in found.items:
        given = item.callspec.params if hasattr(item, "callspec") else {}
        if hasattr(item.obj, "hypothesis"):
            continue
        if set(item.fixturenames) - {"request"} <= set(given) and not any(name in item.name for name in LEFT_OUT):
            tests.append((item.nodeid, functools.partial(item.obj, **given)))
    return tests


@functools.cache
def by_code():
    """By each code of rules the tests that run it and pass, the quickest first."""
    found = {}
    for name, test in collected():
        started = time.process_time()
        try:
            with limited(2 * LONGEST):
                _, codes = codes_run(test)
        except (Exception, EndlessError):  # noqa: BLE001 (whatever fails unmutated says nothing)
            continue
        took = time.process_time() - started
        if took < LONGEST:
            for code in codes:
                found.setdefault(code, []).append((took, name, test))
    return {
        code: [(name, test) for _, name, test in sorted(tests, key=lambda t: t[:2])] for code, tests in found.items()
    }


def tested(code, in_place):
    """Whether one of the tests that run a code fails with a mutant in its place."""
    tests = by_code().get(code, ())
    started = time.process_time()
    for name, test in tests:
        if time.process_time() - started > SECONDS:
            break
        try:
            with in_place(), limited(4 * ENDLESS):
                test()
        except (Exception, EndlessError, pytest.fail.Exception) as error:  # noqa: BLE001 (of whatever kind)
            return Verdict("test", f"{name}: {error!r}"[:300])
    return Verdict("", "")
