"""Which backend computes which op, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tg
from tg import plugin
from tg.plugin.coverage import coverage
from tg_pages.docstring import cell, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.coverage import Cell, Row

MARKS = {"rule": "✓", "host": "host", "expansion": "expands", "core": "core", "none": "–"}
INTRO = """# Coverage

Made of what the backends that were installed when these pages were built declare: ✓ a rule of the backend's own;
*host*: NumPy computes, by way of the host; *expands*: written with other ops; *core*: removed or computed by core on
every backend; – not there, with the reason below. `tg coverage` shows the same for what is installed elsewhere. That
the declarations are true is the business of the [conformance suite](../conformance.md).

Dtypes that a backend lacks altogether stand [there](../conformance.md#gaps-of-backends), too.

Functions that are not in these tables, such as `tg.mean` or `tg.einsum`, are written with the ops that are: they need
nothing of a backend.

"""


def backends() -> list[str]:
    """The backends that users choose from: available, and none that is for tests."""
    registry = plugin.registry()
    return [one.name for one in tg.backends() if one.is_available and registry.backend(one.name).priority >= 0]


def page() -> str:
    """The page."""
    names = backends()
    rows = coverage(plugin.registry(), names)
    families = list(dict.fromkeys(row.family for row in rows))
    counts = [(f"[{f}](#{anchor(f)})", *counted([row for row in rows if row.family == f])) for f in families]
    parts = [INTRO, table(("family", *names), counts)]
    for family in families:
        mine = [row for row in rows if row.family == family]
        parts += [f"({anchor(family)})=\n## {family}\n", table(("op", *names), [line(row) for row in mine])]
        parts += [f"- {one}" for one in reasons(mine)] + [""]
    return "\n".join(parts)


def anchor(family: str) -> str:
    """The target of the table of a family."""
    return "coverage-" + family.replace("/", "-")


def counted(rows: Sequence[Row]) -> list[str]:
    """For each backend how many ops it computes."""
    return [f"{sum(row.cells[k].how != 'none' for row in rows)} of {len(rows)}" for k in range(len(rows[0].cells))]


def line(row: Row) -> tuple[str, ...]:
    """One op."""
    return (f"`{row.op}`", *map(mark, row.cells))


def mark(one: Cell) -> str:
    """How a backend computes an op."""
    without = f" but {', '.join(one.absent)}" if one.absent else ""
    return MARKS[one.how] + without + ("\\*" if one.gaps and not one.absent else "")


def reasons(rows: Sequence[Row]) -> list[str]:
    """What the backends say of what they lack."""
    found = {f"{c.backend}, `{row.op}`: {cell(why)}": None for row in rows for c in row.cells for why in c.gaps}
    return list(found)
