"""What several tables of jobs have: a peer that is compared with, cells of times and of numbers with errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

AGREEMENT = 1e-8  # of any number with the reference's, relative to the largest
STANDARD_ERRORS = 4.0  # from the parameters that made the data
SAME_LOSS = 1e-6
SAME_FIT = 1e-3  # two minimizers, in standard errors; predictions relative to the largest
OF_START = "times: as fast a call as the peer's; difference: of both where the fit begins"


class Peer:
    """What is used without tg: its result is kept, to be compared with."""

    def __init__(self, run: Callable[[Any], Any]) -> None:
        self.run = run
        self.result: Any = None

    def __call__(self, report: Any) -> Any:
        """Run it."""
        self.result = self.run(report)
        return self.result

    def ratio(self, microseconds: float, name: str = "call_microseconds") -> str:
        """How many times as fast a call is as one of its own, whose microseconds are that field; a dash without it."""
        if self.result is None:
            return "–"
        times = getattr(self.result, name) / microseconds
        return f"{times:.2g}" if times < 100 else f"{times:,.0f}"


def with_errors(values: Any, errors: Any) -> tuple[str, ...]:
    """Values, and if there are any their standard errors."""
    if errors is None:
        return tuple(f"{v:.4g}" for v in values)
    return tuple(f"{v:.4g} ± {d:.1g}" for v, d in zip(values, errors, strict=True))


def timed(r: Any, peer: Peer) -> tuple[str, str, str]:
    """How long until the first result, and a call, and how many times as fast that is as the peer's."""
    return f"{r.first_seconds:.2f}", f"{r.call_microseconds:,.0f}", peer.ratio(r.call_microseconds)


def told(r: Any, reference: Any, name: str) -> str:
    """The difference of a field from the reference's."""
    return "reference" if r is reference else f"{difference(getattr(r, name), getattr(reference, name)):.1e}"


def difference(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    """The largest, relative to the largest number, of as many as both have."""
    count = min(len(a), len(b))
    return float(np.max(np.abs(a[:count] - b[:count])) / np.max(np.abs(b[:count])))
