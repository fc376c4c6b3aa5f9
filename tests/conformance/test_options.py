"""The suite with rewriting as the options say: a wrong rewrite is caught unless it is left out."""

import sys
from collections import Counter

import pytest
from tg_bugs.catalog import BUGS

import tg
from tests.conformance.test_mutations import chosen
from tg import plugin
from tg.errors import OptionError
from tg_conformance.case import items
from tg_conformance.choice import choice
from tg_conformance.parent import Worker

BUG = next(bug for bug in BUGS if bug.rewrites and not bug.in_worker)

pytestmark = pytest.mark.xdist_group("mutations")


@pytest.fixture
def outcomes(site):
    sys.path.insert(0, str(site))
    plugin.reset()

    def run(**options):
        worker = Worker(BUG.backend, "quick", 60.0, **options)
        try:
            return Counter(one.outcome for one in worker.run([item.id for item in chosen(BUG.caught_by)]))
        finally:
            worker.close()

    yield run
    sys.path.remove(str(site))
    plugin.reset()


@pytest.mark.long
def test_a_wrong_rewrite_does_nothing_where_it_is_left_out(outcomes):
    assert outcomes()["failed"]
    assert set(outcomes(mode="off")) == {"passed"}
    assert set(outcomes(exclude=["exact"])) == {"passed"}
    assert set(outcomes(exclude=[one.name for one in BUG.rewrites])) == {"passed"}
    assert outcomes(exclude=["reassociates"])["failed"]


def test_an_option_of_the_backend_is_a_literal_or_text():
    assert choice("c", ["optimize=1", "accuracy=strict", "keep_source=True"]) == tg.backend(
        "c", optimize=1, accuracy="strict", keep_source=True
    )
    assert choice("c", []) == tg.backend("c")


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("threads", "found option 'threads', needed NAME=VALUE"),
        ("threads=0", "option threads: found 0, needed at least 1"),
        ("threads=two", "option threads: found 'two', needed int"),
        ("depth=3", "unknown option 'depth'"),
    ],
)
def test_an_option_that_the_backend_cannot_have_is_refused(word, told):
    with pytest.raises(OptionError, match=told):
        choice("c", [word])


def test_the_worker_compiles_with_the_options_of_the_backend(tmp_path, monkeypatch):
    monkeypatch.setenv("TG_CACHE_DIR", str(tmp_path))
    picked = [item.id for item in items(plugin.registry().backend("c"), "sparse") if ":exp2[" in item.id]
    worker = Worker("c", "sparse", 60.0, options=["keep_source=True"])
    try:
        assert {one.outcome for one in worker.run(picked)} == {"passed"}
    finally:
        worker.close()
    assert list(tmp_path.rglob("*.c"))
