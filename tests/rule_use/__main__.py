"""Write down in which programs each rewrite of core fires: `python -m tests.rule_use [SOURCE ...]`.

The ledger is `tests/rule_use.json`: by rewrite and source at most three programs. Sources that are not named keep what
they had; `--pytensor CHECKOUT` is the source of PyTensor's own tests.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.rule_use.ledger import kept, merged, written
from tests.rule_use.sources import SOURCES, of_pytensor


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.rule_use", description=__doc__)
    parser.add_argument("sources", nargs="*", choices=[*SOURCES, []])
    parser.add_argument("--pytensor", type=Path, metavar="CHECKOUT")
    chosen = parser.parse_args()
    named = chosen.sources or ([] if chosen.pytensor else list(SOURCES))
    ledger = kept()
    for name in named:
        ledger = merged(ledger, name, SOURCES[name]())
    if chosen.pytensor:
        ledger = merged(ledger, "pytensor", of_pytensor(chosen.pytensor.resolve()))
    written(ledger)


if __name__ == "__main__":
    main()
