"""A certificate: what came of the full tier on one backend, with all versions, to be shipped in its wheel.

The file is `certificate.json`, in the package of the backend's entry point, where `tg backends` looks for it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tg import plugin
from tg.plugin.records import key_name

if TYPE_CHECKING:
    from tg_conformance.report import Asked, Report

TIER: Final = "full"


def refusal(report: Report, asked: Asked) -> str | None:
    """Why no certificate can be given; None if one can."""
    if not asked.is_whole or report.tier != TIER:
        return "a certificate is of the whole full tier, compiled as usual, with the cases of every plugin"
    if len(report.backends) != 1:
        return f"a certificate is of one backend: found {len(report.backends)}"
    (one,) = report.backends
    if one.counts.get("failed"):
        return f"{one.counts['failed']} cases failed"
    if one.achieved < one.level:
        return f"level {one.level} is declared, {one.achieved} was reached"
    return None


def certificate(report: Report) -> str:
    """The certificate of a report, as JSON."""
    (one,) = report.backends
    facts: dict[str, Any] = {
        "backend": one.name,
        "distribution": one.distribution,
        "version": one.version,
        "engines": dict(one.engines),
        "level": one.achieved,
        "tier": one.tier,
        "counts": dict(one.counts),
        "tg": report.tg,
        "suite": report.suite,
        "python": report.python,
        "numpy": report.numpy,
        "machine": report.machine,
        "extensions": report.extensions,
        "time": report.time,
        "gaps": [
            {
                "op": key_name(gap.op) if gap.op is not None else None,
                "dtypes": sorted(gap.dtypes or ()),
                "category": gap.category,
                "raises": gap.raises.__name__ if gap.raises else None,
                "accuracy": gap.accuracy,
                "reason": gap.reason,
            }
            for gap in plugin.registry().gaps(one.name)
        ],
    }
    return json.dumps(facts, indent=1) + "\n"
