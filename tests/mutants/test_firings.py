"""Every rewrite fires beside all the others. `python -m tests.mutants.firings` counts in how many programs it does."""

import pytest

from tests.mutants.firings import CORE, count, others
from tests.mutants.forms import FORMS
from tg.rules.catalog import PASSES, RULES

ALL = [(one, CORE) for one in (*RULES, *PASSES)] + list(others())


LATE = {  # which fire in few of the programs around them, or in those of the replay corpus only
    "index_inside", "matmul_of_one_matrix", "reduce_range",
}  # fmt: skip


BY_EXPANSION = {"scan_repetition_of_expansions"}  # of what a backend has no rule for: unit/rules/test_repetition.py


def missing(rewrites, most=None):
    """The names of rewrites that another one leaves nothing to do."""
    return [one.name for one, beside in rewrites if not count(one, (beside,), needed=1, most=most)]


@pytest.mark.long
def test_every_rewrite_fires_beside_all_others():
    found = missing([(one, beside) for one, beside in ALL if one.name not in LATE | BY_EXPANSION], most=120)
    assert not found, "another rule takes what they are for: delete them"


@pytest.mark.long
def test_rewrites_of_rare_forms_fire_beside_all_others():
    assert not missing([(one, beside) for one, beside in ALL if one.name in LATE])


def test_forms_are_of_rewrites_that_there_are():
    assert set(FORMS) <= {one.name for one, _ in ALL}
