"""The ledger `tests/rule_use.json`: by rewrite of core and by source, the first programs in which it fires."""

from __future__ import annotations

import json
from pathlib import Path

from tests.rule_use.watch import MOST
from tg.rules.catalog import PASSES, RULES
from tg.rules.stable import STABLE

PATH = Path(__file__).parents[1] / "rule_use.json"


def equation(name):
    """The name that the rules of one equation share: of several classes (`cases`), or of 1 - x and x - 1."""
    name = name.removeprefix("integer_").removesuffix("_of_known")
    return f"one_minus_{name.removesuffix('_minus_one')}" if name.endswith("_minus_one") else name


NAMES = sorted({equation(one.name) for one in (*RULES, *PASSES, *STABLE)})


def kept():
    """What is written down."""
    return json.loads(PATH.read_text()) if PATH.exists() else {}


def merged(ledger, source, met):
    """A ledger with the column of a source anew."""
    columns = {name: {**ledger.get(name, {})} for name in NAMES}
    for name, column in columns.items():
        column.pop(source, None)
        if programs := [program for one, programs in met.items() if equation(one) == name for program in programs]:
            column[source] = sorted(set(programs))[:MOST]
    return {name: dict(sorted(column.items())) for name, column in columns.items()}


def written(ledger):
    """Write a ledger down, a line for each rewrite."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(column)}" for name, column in sorted(ledger.items()))
    PATH.write_text(f"{{\n{lines}\n}}\n")


def unmet(ledger):
    """The rewrites that no program needs."""
    return [name for name in NAMES if not ledger.get(name)]
