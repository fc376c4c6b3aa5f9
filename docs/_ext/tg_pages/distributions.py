"""The distributions: which there are, what their parameters have to be, and what is known of them."""

from __future__ import annotations

import tg
from tg_pages.docstring import cell, table
from tg_pages.functions import members

METHODS = ("cdf", "ppf", "entropy", "mean", "variance")
"""What some have and others lack; `sf` is there with `cdf`, and `isf` with `ppf`."""


def laws() -> list[tg.distributions.Distribution]:
    """All records, by their names."""
    found = (getattr(tg.distributions, name) for name in tg.distributions.__all__)
    return [law for law in found if isinstance(law, tg.distributions.Distribution)]


def part() -> str:
    """A table of the distributions."""
    rows = [
        (
            f"`{law.name}`",
            cell(law.doc),
            "<br>".join(f"`{p}` {cell(p.constraint.text)}" for p in law.parameters),
            cell(law.support.text),
            lacks(law),
        )
        for law in laws()
    ]
    return table(("name", "what it is", "parameters", "numbers", "without"), rows)


def lacks(law: tg.distributions.Distribution) -> str:
    """What is not known of a distribution."""
    return ", ".join(f"`{name}`" for name in METHODS if not law.has(name))


def record_part() -> str:
    """What is asked of a distribution."""
    return "\n".join(members("tg.distributions.Distribution", tg.distributions.Distribution))
