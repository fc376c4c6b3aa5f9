"""A change of a rule is reviewed as what it does to a corpus of programs: the texts in `golden`."""

import pytest

from tests.replay.program import COMMAND, FAMILIES, difference, expression, golden, programs
from tg.graph.function_graph import FunctionGraph
from tg.graph.text.printer import to_text

SHOWN = 200  # lines of a difference


@pytest.mark.parametrize("family", FAMILIES)
def test_the_corpus_is_rewritten_as_reviewed(family):
    lines = difference(family).splitlines()
    more = [f"... {len(lines) - SHOWN} more lines"] if len(lines) > SHOWN else []
    message = "\n".join([*lines[:SHOWN], *more, f"if this is what the change is for: {COMMAND}, and commit the texts"])
    assert not lines, message


def test_the_corpus_is_large_and_its_names_are_unique():
    names = [(family, one.name) for family in FAMILIES for one in programs(family)]
    assert len(names) >= 200
    assert len(set(names)) == len(names)
    assert {path.stem for path in golden("any").parent.glob("*.txt")} == set(FAMILIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_program_prints_alike_each_time(family):
    for one in programs(family)[:3]:
        texts = {to_text(FunctionGraph.of(*expression(one)).freeze()) for _ in range(3)}
        assert len(texts) == 1
