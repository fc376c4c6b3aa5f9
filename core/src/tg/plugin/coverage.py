"""Coverage of the ops by each backend: by a rule of its own or by way of the host, by an expansion, by core, or not.

Read from what plugins declare, their rules and gaps; the conformance suite holds the declarations against results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

from tg.display.html import element, fold, page
from tg.display.table import Table
from tg.link.hosted import Hosted
from tg.ops.assumptions import Assume
from tg.ops.control import Call, GradClip, GradScale, StopGradient
from tg.ops.custom import Custom
from tg.ops.dims import DimLength
from tg.ops.implicit import Implicit
from tg.ops.shape import AxisLength, Named
from tg.plugin.records import key_name
from tg.plugin.registry import FALLBACK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.op import Op
    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.ops.family import Family
    from tg.plugin.records import Gap
    from tg.plugin.registry import Registry

How = Literal["rule", "host", "expansion", "core", "none"]

WITHOUT_RULES: Final = frozenset(
    {Assume, AxisLength, Call, Custom, DimLength, GradClip, GradScale, Implicit, Named, StopGradient}
)
"""Removed by core, or done by its linkers, on every backend."""


@dataclass(frozen=True, slots=True)
class Cell:
    """An op on a backend: how it is computed, and what the backend says it lacks."""

    backend: str
    how: How
    absent: tuple[str, ...]  # dtypes that the backend does not have here
    gaps: tuple[str, ...]  # the reasons given


@dataclass(frozen=True, slots=True)
class Row:
    """An op or elementwise function, and how every backend covers it."""

    family: str
    op: str
    cells: tuple[Cell, ...]


@final
class Coverage(tuple[Row, ...]):
    """The rows of ops by backend, family by family; notebooks show how many ops of each family are computed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<coverage of {len(self)} ops>"

    def _repr_html_(self) -> str:
        families: dict[str, list[Row]] = {}
        for row in self:
            families.setdefault(row.family, []).append(row)
        names = [cell.backend for cell in self[0].cells] if self else []
        parts = []
        for family, rows in families.items():
            counts = (sum(row.cells[k].how != "none" for row in rows) for k in range(len(names)))
            head = ", ".join(f"{name} {count}/{len(rows)}" for name, count in zip(names, counts, strict=True))
            table = Table.of(("op", *names), ((row.op, *(cell.how for cell in row.cells)) for row in rows))
            parts.append(fold(element("span", element("code", family), element("small", f"  {head}")), table.html()))
        return page(*parts)


def coverage(registry: Registry, backends: Sequence[str]) -> Coverage:
    """Every op of every family on these backends, which have to be available.

    Raises:
        BackendUnavailable, PluginError: as the registry raises them.
    """
    return Coverage(
        Row(family.path, key_name(key), tuple(_cell(registry, name, key) for name in backends))
        for family in registry.families()
        if not family.is_lowered
        for key in _keys(family)
    )


def _keys(family: Family) -> Iterable[ElementwiseFunction | type[Op]]:
    return (*family.elementwise, *family.ops)


def _cell(registry: Registry, backend: str, key: ElementwiseFunction | type[Op]) -> Cell:
    mine = [gap for gap in registry.gaps(backend) if _concerns(gap, key)]
    absent = {name for gap in mine if gap.when is None for name in gap.dtypes or ()}
    return Cell(backend, _how(registry, backend, key), tuple(sorted(absent)), tuple(gap.reason for gap in mine))


def _concerns(gap: Gap, key: ElementwiseFunction | type[Op]) -> bool:
    """Gaps of no op in particular are gaps of dtypes, and stand with the backend."""
    return gap.op is key


def _how(registry: Registry, backend: str, key: ElementwiseFunction | type[Op]) -> How:
    if registry.computes(backend, key):
        rule = registry.rules(backend).get(key)
        if rule is None and backend != FALLBACK:  # what has an expansion is expanded, before the host is asked
            return "expansion" if _expands(key) else "host"
        return "host" if isinstance(rule, Hosted) else "rule"
    if key in WITHOUT_RULES:
        return "core"
    return "expansion" if _expands(key) else "none"


def _expands(key: ElementwiseFunction | type[Op]) -> bool:
    return key.has_expansion if isinstance(key, type) else key.expansion is not None
