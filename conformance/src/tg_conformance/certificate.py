"""A certificate: the results of the full tier on one backend, with all versions, to be shipped in its wheel.

The file is `certificate.json`, in the package of the backend's entry point, where `tg backends` looks for it. What is
wanted is a count: each item of the full tier has run, once, compiled as usual, whatever may have kept some of them from
it. `python -m tg_conformance.certify` runs them where nothing of the surroundings takes part.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from tg import plugin
from tg.plugin.coverage import coverage
from tg.plugin.records import key_name
from tg_conformance.case import items
from tg_conformance.lowered import gap_name
from tg_conformance.options import option_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg_conformance.report import Asked, Record, Report

TIER: Final = "full"


def expected(backend: str) -> tuple[str, ...]:
    """The ids of all items of the full tier of a backend, those of its gaps and of its options among them."""
    registry = plugin.registry()
    names = [item.id for item in items(registry.backend(backend), TIER)]
    gaps = [gap_name(k, gap) for k, gap in enumerate(registry.gaps(backend))]
    return (*names, *gaps, *option_names(backend).values())


def refusal(report: Report, request: Asked, records: Iterable[Record]) -> str | None:
    """Why no certificate can be given; None if one can."""
    if not request.is_whole or report.tier != TIER:
        return "a certificate is of the whole full tier, compiled as usual, with the cases of every plugin"
    if len(report.backends) != 1:
        return f"a certificate is of one backend: found {len(report.backends)}"
    (one,) = report.backends
    if one.counts.get("failed"):
        return f"{one.counts['failed']} cases failed"
    if one.achieved < one.level:
        return f"level {one.level} is declared, {one.achieved} was reached"
    return _uncounted(expected(one.name), Counter(record.id for record in records))


def _uncounted(wanted: Sequence[str], ran: Counter[str]) -> str | None:
    """The items that did not run just once, in words."""
    missing = [name for name in wanted if not ran[name]]
    if missing:
        return f"{len(wanted) - len(missing)} of {len(wanted)} items ran: found no result of {missing[0]}"
    more = [name for name, count in ran.items() if count > 1] + sorted(ran.keys() - set(wanted))
    return f"{len(more)} items more than the tier has: {more[0]}" if more else None


def certificate(report: Report, variables: Iterable[str] = ()) -> str:
    """The certificate of a report, as JSON.

    Args:
        variables: names of variables of the environment that were asked for: their values are written down.
    """
    (one,) = report.backends
    count = len(expected(one.name))
    cells = [cell for row in coverage(plugin.registry(), [one.name]) for cell in row.cells]
    facts: dict[str, Any] = {
        "backend": one.name,
        "distribution": one.distribution,
        "version": one.version,
        "engines": dict(one.engines),
        "level": one.achieved,
        "tier": one.tier,
        "mode": "default",
        "items": [count, count],
        "counts": dict(one.counts),
        "ops": dict(Counter(cell.how for cell in cells)),
        "tg": report.tg,
        "suite": report.suite,
        "python": report.python,
        "numpy": report.numpy,
        "machine": report.machine,
        "extensions": report.extensions,
        "environment": {name: os.environ[name] for name in sorted(variables) if name in os.environ},
        "time": report.time,
        "gaps": [
            {
                "op": key_name(gap.op) if gap.op is not None else None,
                "dtypes": sorted(gap.dtypes or ()),
                "category": gap.category,
                "raises": gap.raises.__name__ if gap.raises else None,
                "accuracy": gap.accuracy,
                "measured": one.measured.get(gap_name(k, gap)),
                "reason": gap.reason,
            }
            for k, gap in enumerate(plugin.registry().gaps(one.name))
        ],
    }
    return json.dumps(facts, indent=1) + "\n"
