"""`tg cache`: what compiled programs the backends keep on disk, and how to be rid of them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tg.cli import show

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from tg.plugin.records import DiskCache


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("cache", help="compiled programs that backends keep on disk")
    command.add_argument("--clear", action="store_true", help="remove them; programs in use go on working")
    command.add_argument("--list", action="store_true", help="every entry, the last used one first")
    command.add_argument("--json", action="store_true", help="for machines to read")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print, or clear, the caches of the backends that have one."""
    by_backend = caches()
    removed = {name: cache.clear() for name, cache in by_backend.items()} if args.clear else {}
    rows = [{**as_record(name, cache), "removed": removed.get(name, 0)} for name, cache in by_backend.items()]
    if args.json:
        show.as_json(rows)
        return 0
    columns = ("of", "directory", "entries", "MB", "at most", *(("removed",) if args.clear else ()))
    show.table([_line(row)[: len(columns)] for row in rows], *columns)
    if args.list:
        listed = [(row["backend"], *_entry_line(entry)) for row in rows for entry in row["entries"]]
        show.table(listed, "of", "entry", "kB", "last used")
    return 0


def _line(row: Mapping[str, Any]) -> tuple[Any, ...]:
    most = row["limit"]
    sizes = (f"{row['bytes'] / 1e6:.1f}", None if most is None else f"{most / 1e6:.0f}")
    return (row["backend"], row["directory"], len(row["entries"]), *sizes, row["removed"])


def _entry_line(entry: Mapping[str, Any]) -> tuple[str, ...]:
    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry["used"]))
    return (Path(entry["path"]).name, f"{entry['bytes'] / 1e3:.1f}", used)


def caches() -> Mapping[str, DiskCache]:
    """The caches of the backends that are available, by backend, and that of rewritten programs."""
    from tg import plugin
    from tg.cache.entries import limit
    from tg.link.kept import PROGRAMS
    from tg.plugin.records import DiskCache

    registry = plugin.registry()
    by_backend = {one.name: registry.cache(one.name) for one in registry.backends() if one.is_available}
    rewritten = DiskCache(PROGRAMS.directory, PROGRAMS.entries, PROGRAMS.size, PROGRAMS.clear, limit)
    return {name: cache for name, cache in {**by_backend, PROGRAMS.name: rewritten}.items() if cache is not None}


def as_record(name: str, cache: DiskCache) -> dict[str, Any]:
    """One cache, as JSON has it: sizes in bytes, times in seconds since 1970."""
    return {
        "backend": name,
        "directory": str(cache.directory()),
        "bytes": cache.size(),
        "limit": None if cache.limit is None else cache.limit(),
        "entries": sorted(_entries(cache), key=lambda entry: (-entry["used"], entry["path"])),
    }


def _entries(cache: DiskCache) -> Iterator[dict[str, Any]]:
    for path in cache.entries():
        try:
            status = path.stat()
        except FileNotFoundError:  # another process removed it
            continue
        yield {"path": str(path), "bytes": status.st_size, "used": status.st_mtime}
