"""Short programs before and after the sweep of one phase: text in, text out.

A file is `phase: <name>`, a program, a line of dashes, and the program that the phase makes of it.
"""

from pathlib import Path

import pytest

from tg.graph.function_graph import FunctionGraph
from tg.graph.text.parser import parse
from tg.graph.text.printer import to_text
from tg.ops.catalog import FAMILIES
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rewrite.phases import EXPAND, SWEEPS
from tg.rules.catalog import RULES

OPS = {fn.name: fn for family in FAMILIES for fn in family.elementwise}
OPS |= {op.__name__: op for family in FAMILIES for op in family.ops}
PROGRAMS = sorted(Path(__file__).parent.glob("*.tg"))


def after(phase, before):
    """The program that the rules of a phase make of one."""
    graph = FunctionGraph.thaw(parse(before, OPS, []))
    rules = tuple(rule for rule in RULES if rule.phase in SWEEPS[phase])
    return to_text(rewrite(graph, [Rewrites(rules)], supported=lambda op, types: phase != EXPAND))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_phase_makes_the_second_program_of_the_first(path):
    head, _, rest = path.read_text().partition("\n")
    before, wanted = rest.split("----\n")
    found = after(head.removeprefix("phase: "), before)
    assert found.strip() == wanted.strip()
    assert after(head.removeprefix("phase: "), found).strip() == wanted.strip()
