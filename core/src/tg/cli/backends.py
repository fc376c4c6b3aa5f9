"""`tg backends`: what is installed, with which versions, devices and dtypes, and what would mend the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.cli import show
from tg.types.dtypes import DTYPES

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from tg.plugin.records import BackendStatus


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("backends", help="what is installed, and what would mend the rest")
    command.add_argument("--json", action="store_true", help="for machines to read")
    command.add_argument("--options", action="store_true", help="what each takes beside its name, and what it refuses")
    command.add_argument("--all", action="store_true", help="doubles of tests too")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the backends; those that are not available are no failure."""
    if args.options:
        return _run_options(args)
    rows = [as_record(one) for one in listed(every=args.all)]
    if args.json:
        show.as_json(rows)
    else:
        table(rows)
        if left := [one.name for one in listed(every=True) if one.name not in {row["name"] for row in rows}]:
            show.text(f"not shown: {', '.join(left)}, a double for tests (--all shows it)")
    return 0


def _run_options(args: argparse.Namespace) -> int:
    """Print the options: those of every backend first, then each backend's own, its refusals last."""
    records = [*options_of(listed(every=args.all))]
    if args.json:
        show.as_json(records)
        return 0
    for one in records:
        rows = [(o["name"], o["type"], o["default"], o["meaning"]) for o in one["options"]]
        rows += [(name, "refused", "", reason) for name, reason in one["refuses"].items()]
        if rows:
            show.table(rows, "option", "type", "default", "meaning", title=one["backend"])
    return 0


def options_of(backends: Sequence[BackendStatus]) -> Iterator[dict[str, Any]]:
    """The options of every backend together, then of each that is available, as JSON has them."""
    from tg import plugin
    from tg.plugin.fields import described, reason_text
    from tg.plugin.records import General

    def rows(record: type) -> list[dict[str, str]]:
        return [one._asdict() for one in described(record)]

    yield {"backend": "every backend", "options": rows(General), "refuses": {}}
    for one in backends:
        if one.is_available:
            record = plugin.registry().backend(one.name)
            refuses = {name: reason_text(reason) for name, reason in record.refuses.items()}
            yield {"backend": one.name, "options": rows(record.options), "refuses": refuses}


def listed(*, every: bool = False) -> tuple[BackendStatus, ...]:
    """The backends that are known, doubles for tests only where `every` one is wanted."""
    import tg
    from tg import plugin

    return plugin.registry().backends() if every else tg.backends()


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
    """Print the backends, then what keeps one from working, and what else is wrong with plugins.

    Reasons and commands stand below: a column of 80 would break a command in its middle.
    """
    show.table(
        [
            (
                row["name"] + "".join(f" ({alias})" for alias in row["aliases"]),
                "\n".join(f"{name} {version}" for name, version in _versions(row)),
                "\n".join(filter(None, (", ".join(row["devices"]), _dtypes(row["dtypes"])))),
                row["state"],
                row["certified"],
            )
            for row in rows
        ],
        *("backend", "versions", "devices, dtypes", "state", "certified"),
    )
    for row in rows:
        told = [text for text in dict.fromkeys((row["reason"], row["remedy"])) if text and text != row["state"]]
        if told:
            show.text("\n  ".join([f"{row['name']}: {told[0]}", *told[1:]]))
    if healthy := extensions():
        show.text(f"extensions: {', '.join(healthy)}")
    reasons = {row["reason"] for row in rows}
    for problem in problems():
        if not any(reason and reason in problem for reason in reasons):
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
