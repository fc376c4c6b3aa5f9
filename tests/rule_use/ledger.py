"""The ledger `tests/rule_use.json`: by rewrite of core and by source, the first programs in which it fires."""

from __future__ import annotations

import json
from pathlib import Path

from tg.rules.catalog import PASSES, RULES
from tg.rules.stable import STABLE

PATH = Path(__file__).parents[1] / "rule_use.json"
NAMES = sorted({one.name for one in (*RULES, *PASSES, *STABLE)})


def kept():
    """What is written down."""
    return json.loads(PATH.read_text()) if PATH.exists() else {}


def merged(ledger, source, met):
    """A ledger with the column of a source anew."""
    columns = {name: {**ledger.get(name, {})} for name in NAMES}
    for name, column in columns.items():
        column.pop(source, None)
        if name in met:
            column[source] = sorted(met[name])
    return {name: dict(sorted(column.items())) for name, column in columns.items()}


def written(ledger):
    """Write a ledger down, a line for each rewrite."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(column)}" for name, column in sorted(ledger.items()))
    PATH.write_text(f"{{\n{lines}\n}}\n")


def unmet(ledger):
    """The rewrites that no program needs."""
    return [name for name in NAMES if not ledger.get(name)]
