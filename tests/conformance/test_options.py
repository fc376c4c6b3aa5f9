"""The suite with rewriting as the options say: a wrong rewrite is caught unless it is left out."""

import sys
from collections import Counter

import pytest
from tg_bugs.catalog import BUGS

from tests.conformance.test_mutations import chosen
from tg import plugin
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


def test_a_wrong_rewrite_does_nothing_where_it_is_left_out(outcomes):
    assert outcomes()["failed"]
    assert set(outcomes(mode="off")) == {"passed"}
    assert set(outcomes(exclude=["exact"])) == {"passed"}
    assert set(outcomes(exclude=[one.name for one in BUG.rewrites])) == {"passed"}
    assert outcomes(exclude=["reassociates"])["failed"]
