"""`tg coverage`: which backend computes which op, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.cli import backends, show

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from tg.plugin.coverage import Cell, Row

MARKS: Final = {"rule": "✓", "host": "host", "expansion": "expands", "core": "core", "none": "–"}


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("coverage", help="which backend computes which op")
    command.add_argument("families", nargs="*", metavar="FAMILY", help="op by op, for families such as shape")
    command.add_argument("--json", action="store_true", help="for machines to read")
    command.add_argument("--all", action="store_true", help="doubles of tests too")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the coverage: counts for each family, or each op of the families asked for."""
    from tg import plugin
    from tg.errors import InputError, message
    from tg.plugin.coverage import Coverage, coverage

    available = [one.name for one in backends.listed(every=args.all) if one.is_available]
    faults = {name: fault for name in available if (fault := _fault(name)) is not None}
    names = [name for name in available if name not in faults]
    rows = coverage(plugin.registry(), names)
    families = list(dict.fromkeys(row.family for row in rows))
    if unknown := [name for name in args.families if name not in families]:
        raise InputError(message(f"no family is called {unknown[0]!r}", ("families", ", ".join(families))))
    rows = Coverage(row for row in rows if not args.families or row.family in args.families)
    if args.json:
        show.as_json([as_record(row) for row in rows])
    elif args.families:
        show.table([(row.op, *map(_mark, row.cells)) for row in rows], "op", *names)
        for line in _reasons(rows):
            show.text(line)
    else:
        show.table([_counts(family, [r for r in rows if r.family == family]) for family in families], "family", *names)
        show.text("ops computed of ops known; `tg coverage FAMILY` lists them")
    for name, fault in faults.items():
        show.aside(f"not shown: {name}: {fault}")
    return 0


def _fault(backend: str) -> str | None:
    """The fault that keeps the tables of a backend from being read, which says nothing of the others; None if none."""
    from tg import plugin
    from tg.errors import TgError

    try:
        plugin.registry().rules(backend), plugin.registry().gaps(backend)
    except TgError as error:
        return str(error).partition("\n")[0]
    return None


def as_record(row: Row) -> dict[str, Any]:
    """One op, as JSON has it."""
    cells = {c.backend: {"how": c.how, "absent": list(c.absent), "gaps": list(c.gaps)} for c in row.cells}
    return {"family": row.family, "op": row.op, "backends": cells}


def _counts(family: str, rows: Sequence[Row]) -> tuple[str, ...]:
    columns = range(len(rows[0].cells))
    return family, *(f"{sum(row.cells[i].how != 'none' for row in rows)}/{len(rows)}" for i in columns)


def _mark(cell: Cell) -> str:
    if cell.absent:
        return f"{MARKS[cell.how]} but {', '.join(cell.absent)}"
    return MARKS[cell.how] + ("*" if cell.gaps else "")


def _reasons(rows: Sequence[Row]) -> list[str]:
    told = {f"{c.backend}, {row.op}: {reason}": None for row in rows for c in row.cells for reason in c.gaps}
    return list(told)
