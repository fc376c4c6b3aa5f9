"""In how many different programs each rewrite fires beside all others: `python -m tests.mutants.firings [FAMILY ...]`.

Counted in the programs around it (`tests.mutants.variations`). What nothing reaches nothing tests, and what another
rule takes is lost silently: a rewrite that no longer fires is mended, deleted, or listed here with the reason.
"""

from __future__ import annotations

import argparse
import itertools
import sys

from tests.mutants.seeds import seeds
from tests.mutants.trial import families
from tests.mutants.variations import alone, variations
from tests.replay.program import performs
from tg import plugin
from tg.graph.function_graph import FunctionGraph
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rewrite.phases import MODES
from tg.rewrite.rule import Equation
from tg.rules.catalog import PASSES, RULES

NEEDED = 50  # different programs
MOST = 900  # programs that are tried for them
CORE = Rewrites(RULES, PASSES)


def different(one):
    """Different programs around a rewrite, then around those of the replay corpus in which it fires."""
    seen = set()
    for programs in (itertools.islice(variations(one), MOST), met(one)):
        for program in programs:
            if program.before not in seen:
                seen.add(program.before)
                yield program


def met(one):
    """What a rewrite met in the replay corpus; the corpus is read when somebody comes so far."""
    forms = seeds().get(one.name, ())
    yield from itertools.islice(variations(one, forms), MOST) if forms else ()


def fires_alone(one, program) -> bool:
    try:
        return alone(one, program)[1] or alone(one, program, folds=True)[1]
    except Exception:  # noqa: BLE001 (an op with fields that no function gives it)
        return False


def fires_in_company(one, program, rewrites) -> bool:
    graph = FunctionGraph.of(program.inputs, program.outputs)
    mode = "default" if one.kind in MODES["default"] else "finite"
    try:
        rewrite(graph, rewrites, supported=performs, mode=mode)
    except Exception:  # noqa: BLE001 (as above)
        return False
    return bool(graph.fired.get(one.name))


def count(one, rewrites=(CORE,), needed=NEEDED, most=None) -> int:
    """In how many different programs, of so many, a rewrite fires beside others; counted up to what is needed."""
    found = (
        p for p in itertools.islice(different(one), most) if fires_alone(one, p) and fires_in_company(one, p, rewrites)
    )
    return sum(1 for _ in itertools.islice(found, needed))


def others():
    """The rewrites that backends bring, each with all that are applied beside it."""
    registry = plugin.registry()
    known = {id(one) for one in (*RULES, *PASSES)}
    for backend in registry.backends():
        beside = registry.rewrites(backend.name)
        for one in (*beside.rules, *beside.passes):
            if id(one) not in known and (isinstance(one, Equation) or getattr(one, "example", None) is not None):
                yield one, beside


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.firings", description=__doc__)
    parser.add_argument("family", nargs="*")
    given = parser.parse_args()
    known, failed = families(), False
    counted = [(one, CORE) for name in given.family or known for one in known[name]]
    for one, beside in (*counted, *(() if given.family else others())):
        found = count(one, (beside,))
        short = found < NEEDED
        failed |= short
        sys.stdout.write(f"{one.name:44}{found:4}{'   too few' if short else ''}\n")
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
