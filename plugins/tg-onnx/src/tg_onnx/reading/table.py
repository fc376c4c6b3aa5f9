"""The table of rules: for each op, what reads it, by the version since which that is so."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tg_onnx.reading.node import Node

    Rule = Callable[[Node], Any]
    Rules = Mapping[str, Rule | Mapping[int, Rule]]

FILES: Final = (
    "elementwise", "casting", "shape", "indexing", "creation", "reduction", "contraction", "normalization",
    "convolution", "pooling", "quantised", "control", "recurrent", "resizing", "sampling",
    "signal", "detection", "training", "features",
)  # fmt: skip
DOMAINS: Final = {
    "": "RULES",
    "com.microsoft": "MICROSOFT",
    "ai.onnx.ml": "ML",
    "ai.onnx.preview.training": "TRAINING",
}


@functools.cache
def rules() -> dict[tuple[str, str], Mapping[int, Rule]]:
    """All rules by domain and op; those of one op by the version that each begins with."""
    table: dict[tuple[str, str], Mapping[int, Rule]] = {}
    for file in FILES:
        module = importlib.import_module(f"tg_onnx.reading.rules.{file}")
        for domain, name in DOMAINS.items():
            for op, rule in getattr(module, name, {}).items():
                table[domain, op] = {1: rule} if callable(rule) else rule
    return table


def rule_for(domain: str, op: str, since: int) -> Rule | None:
    """The rule for an op whose version in force is `since`."""
    versions = rules().get((domain, op), {})
    earlier = [v for v in versions if v <= since]
    return versions[max(earlier)] if earlier else None
