"""`tg cache`: what compiled programs the backends keep on disk, and how to be rid of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.cli import show

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from tg.plugin.records import DiskCache


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("cache", help="compiled programs that backends keep on disk")
    command.add_argument("--clear", action="store_true", help="remove them; programs in use go on working")
    command.add_argument("--list", action="store_true", help="every entry")
    command.add_argument("--json", action="store_true", help="for machines to read")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Print, or clear, the caches of the backends that have one."""
    found = caches()
    removed = {name: cache.clear() for name, cache in found.items()} if given.clear else {}
    rows = [{**as_record(name, cache), "removed": removed.get(name, 0)} for name, cache in found.items()]
    if given.json:
        show.as_json(rows)
        return 0
    columns = ("backend", "directory", "entries", "MB", *(("removed",) if given.clear else ()))
    megabytes = [f"{row['bytes'] / 1e6:.1f}" for row in rows]
    show.table(
        [
            (row["backend"], row["directory"], len(row["entries"]), size, *((row["removed"],) if given.clear else ()))
            for row, size in zip(rows, megabytes, strict=True)
        ],
        *columns,
    )
    if given.list:
        for row in rows:
            for entry in row["entries"]:
                show.text(entry)
    return 0


def caches() -> Mapping[str, DiskCache]:
    """The caches of the backends that are available, by backend."""
    import tg
    from tg import plugin

    found = {one.name: plugin.registry().cache(one.name) for one in tg.backends() if one.is_available}
    return {name: cache for name, cache in found.items() if cache is not None}


def as_record(name: str, cache: DiskCache) -> dict[str, Any]:
    """One cache, as JSON has it."""
    entries = sorted(str(path) for path in cache.entries())
    return {"backend": name, "directory": str(cache.directory()), "bytes": cache.size(), "entries": entries}
