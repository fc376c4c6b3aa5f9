"""Files with random changes: each loads with the right golden values, or is refused by an error of tg."""

import pytest

from tests.fuzz_files import FILES, fuzz


def run(count, seed, processes=1):
    faults = []
    counts = fuzz(FILES, count, seed, processes, faults.append)
    assert not [line for line in faults if line.startswith("fault")]
    assert sum(counts.values()) == count
    assert counts["FileError"] > count / 3
    assert counts["loaded"]


def test_some_changed_files_are_read_or_refused():
    run(250, 11)


@pytest.mark.long(minutes=2)
def test_more_changed_files_are_read_or_refused():
    run(5_000, 5)


@pytest.mark.nightly
@pytest.mark.timeout(5400)  # beside much other work; alone eleven minutes
def test_a_hundred_thousand_changed_files_are_read_or_refused():
    run(100_000, 0, 2)
