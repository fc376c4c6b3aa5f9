"""`tg backends`: what is installed, with which versions, devices and dtypes, and what would mend the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.cli import show
from tg.types.dtypes import DTYPES

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from tg.plugin.records import BackendStatus


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("backends", help="what is installed, and what would mend the rest")
    command.add_argument("--json", action="store_true", help="for machines to read")
    command.add_argument("--all", action="store_true", help="doubles of tests too")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the backends; those that are not available are no failure."""
    rows = [as_record(one) for one in listed(every=args.all)]
    if args.json:
        show.as_json(rows)
    else:
        table(rows)
        if left := [one.name for one in listed(every=True) if one.name not in {row["name"] for row in rows}]:
            show.text(f"not shown: {', '.join(left)}, a double for tests (--all shows it)")
    return 0


def listed(*, every: bool = False) -> tuple[BackendStatus, ...]:
    """The backends that are known, doubles for tests only where `every` one is wanted."""
    import tg
    from tg.functions.backends import is_double

    return tuple(one for one in tg.backends() if every or not is_double(one))


def as_record(status: BackendStatus) -> dict[str, Any]:
    """One backend, as JSON has it."""
    return {
        "name": status.name,
        "aliases": list(status.aliases),
        "distribution": status.distribution,
        "version": status.version,
        "engines": dict(status.engines),
        "devices": list(status.devices),
        "dtypes": [name for name in DTYPES if name in status.dtypes],
        "state": status.state,
        "reason": status.reason,
        "remedy": status.remedy,
        "certified": status.certified,
    }


def table(rows: Sequence[dict[str, Any]]) -> None:
    """Print the backends, then what else is wrong with plugins."""
    show.table(
        [
            (
                row["name"] + "".join(f" ({alias})" for alias in row["aliases"]),
                "\n".join(f"{name} {version}" for name, version in _versions(row)),
                "\n".join(filter(None, (", ".join(row["devices"]), _dtypes(row["dtypes"])))),
                "\n".join(dict.fromkeys(filter(None, (row["state"], row["reason"], row["remedy"])))),
                row["certified"],
            )
            for row in rows
        ],
        *("backend", "versions", "devices, dtypes", "state", "certified"),
    )
    if healthy := extensions():
        show.text(f"extensions: {', '.join(healthy)}")
    told = {row["reason"] for row in rows}
    for problem in problems():
        if not any(reason and reason in problem for reason in told):
            show.text(problem)


def extensions() -> list[str]:
    """The plugins that work, beside those of backends."""
    from tg import plugin

    return list(dict.fromkeys(entry.source for entry in plugin.registry().extensions()))


def problems() -> list[str]:
    """Faults of plugins, those that provide no backend included."""
    from tg import plugin

    registry = plugin.registry()
    outdated = registry.outdated()  # which may find more that is broken
    return list(map(str, (*registry.problems(), *outdated)))


def _versions(row: dict[str, Any]) -> list[tuple[str, str]]:
    """The distribution, then what it runs on, as far as they are installed."""
    named = {row["distribution"]: row["version"], **row["engines"]}
    return [(name, version) for name, version in named.items() if version]


def _dtypes(names: Sequence[str]) -> str:
    """All of them, or all but some, or a list: whichever is short."""
    absent = [name for name in DTYPES if name not in names]
    if not names:
        return ""
    if not absent:
        return "every dtype"
    return f"all but {', '.join(absent)}" if len(absent) < len(names) else ", ".join(names)
