"""The ledger is of the rewrites that there are, and says what fires: a few of its programs are compiled again."""

import pytest

from tests.rule_use import sources
from tests.rule_use.ledger import NAMES, equation, kept, unmet
from tests.rule_use.watch import MOST, watched

AGAIN = ("integers: grid", "learning: Kadane", "mechanics: Kepler orbit", "signals: mu-law", "statistics: Gumbel")


def test_the_ledger_is_of_the_rewrites_that_there_are():
    assert sorted(kept()) == NAMES, "python -m tests.rule_use programs writes the ledger anew"


def test_every_rewrite_has_a_program_that_was_not_made_for_it():
    assert not unmet(kept()), "no program needs it: delete it, or write down from where the program is that does"


@pytest.fixture(scope="module")
def programs():
    """The programs that are compiled again, by name."""
    return {name: make for name, make in sources.written() if name in AGAIN}


@pytest.mark.parametrize("name", AGAIN)
def test_what_fires_in_a_program_is_what_the_ledger_says(name, programs):
    with watched() as watch:
        watch.program = name
        sources.compile_all(*programs[name]())
    column = {one: sources_of.get("programs", []) for one, sources_of in kept().items()}
    fired = {equation(one) for one in watch.ledger} & column.keys()
    assert {one for one, met in column.items() if name in met} <= fired
    assert all(name in column[one] or len(column[one]) == MOST for one in fired)
