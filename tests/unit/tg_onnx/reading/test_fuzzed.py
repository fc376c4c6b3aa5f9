"""Models with random changes: each is read, or refused by an error of tg."""

import pytest

from tests.fuzz_files import fuzz
from tests.fuzz_onnx import MODELS, SOME_MODELS


def run(form, count, seed, processes=1):
    faults = []
    counts = fuzz(form, count, seed, processes, faults.append)
    assert not [line for line in faults if line.startswith("fault")]
    assert sum(counts.values()) == count
    assert counts["InputError"] > count / 3
    assert counts["loaded"] > count / 10


def test_some_changed_models_are_read_or_refused():
    run(SOME_MODELS, 300, 3)


@pytest.mark.long(minutes=1)
def test_more_changed_models_are_read_or_refused():
    run(MODELS, 10_000, 7)


@pytest.mark.nightly
@pytest.mark.timeout(5400)
def test_a_hundred_thousand_changed_models_are_read_or_refused():
    run(MODELS, 100_000, 0, 2)
