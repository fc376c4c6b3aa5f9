"""Keep compiled units between processes, and load only what this user alone can have written.

An entry is one file, named by a digest of everything that determines its bytes, so an entry is never updated and two
processes that store the same one store the same bytes. It is written beside its final name and moved there, so a reader
sees all of it or nothing; what a machine that lost its power or its disk left half is told by the seal that ends an
entry, a digest of what stands before it. What a process that was killed left unfinished is removed later.

The directory is `$TG_CACHE_DIR/c`, else `$XDG_CACHE_HOME/tg/c`, else `~/.cache/tg/c`. It takes at most
`$TG_CACHE_LIMIT` megabytes, 512 by default: beyond these, what was unused for longest goes. Where the directory belongs
to another user, can be written or replaced by one, or cannot be made or written, a private temporary directory serves
until the process ends, with one warning. Loading a unit runs its code: an entry that another user could have written is
compiled again.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import stat
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from tg.errors import OptionError, message
from tg.plugin.records import DiskCache
from tg_c import spare
from tg_c.trust import why_distrusted, why_unusable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CACHE", "clear", "directory", "discard", "entries", "key", "limit", "lookup", "prune", "size", "store"]

MEGABYTE = 10**6
USUAL_LIMIT = 512 * MEGABYTE
GRACE = 60.0  # seconds; a younger file may be one that its writer is about to open
ABANDONED_AFTER = 3600.0  # seconds; a file that has been unfinished for longer has lost its writer
TOUCH_AFTER = 3600.0  # seconds; an entry used later than this after its last use is marked as used
STORES_PER_PRUNE = 64  # listing 10,000 entries takes as long as a compilation

# A leading dot and a trailing part mark a file that is still being written, and the compiler has temporary files of its
# own there. Nothing else in the directory is touched.
_NAME = re.compile(r"[0-9a-f]{40}\.(so|c|txt)")
_UNFINISHED = re.compile(r"\.[0-9a-f]{40}\.(so|c|txt)\.[0-9a-f]+|cc\w{6}(\.\w+)+|[\w-]*-[0-9a-f]{6}\.o")
_SEALED = (".so", ".txt")  # a kept source is for people and never read again
_SEAL = b"\ntg "  # and a digest in hexadecimal digits; programs and lines of text may be followed by anything
_DIGEST_BYTES = 16

_stores = itertools.count()


def key(*parts: str, suffix: str = ".so") -> str:
    """The file name of the entry that `parts` determine."""
    digest = hashlib.blake2b(digest_size=20)
    for part in parts:
        data = part.encode()
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest() + suffix


def directory() -> Path:
    """The directory in use: the user's, made if absent, or a private temporary one."""
    home, reason = _home()
    if reason is None:
        home = Path(os.path.realpath(home))  # what links lead to is looked at, and no link is followed after that
        reason = why_unusable(home)
    return home if reason is None else spare.instead_of(home, reason)


def lookup(key: str) -> Path | None:
    """The entry of `key`, or None where there is none that is whole and can be trusted."""
    for folder in _folders():
        path = folder / key
        try:
            found = path.lstat()
        except OSError:
            continue
        reason = why_distrusted(found) if stat.S_ISREG(found.st_mode) else "it is not a regular file"
        if reason is not None:
            warnings.warn(f"cache: {path} is not loaded, and made again: {reason}", stacklevel=2)
        elif _is_whole(path):
            _mark_used(path, found.st_mtime)
            return path
    return None


def store(key: str, build: Callable[[Path], None]) -> Path:
    """Make the entry of `key`, by `build(path)`, and return where it is.

    Raises:
        OSError: neither the user's directory nor a temporary one can be written. `build` raises OSError for nothing
            but its own writing, for it is then called again with a path in the temporary directory.
    """
    folder = spare.of_process() or directory()
    try:
        path = _write(folder, key, build)
    except FileNotFoundError:  # somebody cleared the cache, or removed the directory
        path = _write(directory(), key, build)
    except OSError as error:
        instead = spare.instead_of(folder, str(error))
        if instead == folder:
            raise
        return _write(instead, key, build)
    if next(_stores) % STORES_PER_PRUNE == 0:
        prune()
    return path


def discard(path: Path) -> None:
    """Remove one entry, if it is there."""
    try:
        path.unlink(missing_ok=True)
    except OSError:  # a read-only directory
        return


def entries() -> tuple[Path, ...]:
    """All compiled units."""
    return tuple(path for path, _ in _files() if path.suffix == ".so" and not path.name.startswith("."))


def size() -> int:
    """The bytes that the directory's files take, unfinished ones included."""
    return sum(found.st_size for _, found in _files())


def limit() -> int:
    """The bytes that the directory's files may take.

    Raises:
        OptionError: TG_CACHE_LIMIT is no number of megabytes.
    """
    given = os.environ.get("TG_CACHE_LIMIT")
    if not given:
        return USUAL_LIMIT
    if not given.isdecimal():
        raise OptionError(message(f"TG_CACHE_LIMIT: found {given!r}, needed a whole number of megabytes"))
    return int(given) * MEGABYTE


def clear() -> int:
    """Remove all and return how many files went; units that are open stay usable."""
    removed = [path for path, _ in _files()]
    for path in removed:
        discard(path)
    return len(removed)


def prune(most: int | None = None) -> int:
    """Remove what was abandoned, and the entries unused for longest until the rest take at most so many bytes.

    Files younger than `GRACE` stay, so the limit is exceeded where they alone exceed it. Gives how many files went.
    """
    now, removed = time.time(), 0
    kept: list[tuple[Path, os.stat_result]] = []
    for path, found in _files():
        if _NAME.fullmatch(path.name) is None and found.st_mtime < now - ABANDONED_AFTER:
            discard(path)
            removed += 1
        else:
            kept.append((path, found))
    excess = sum(found.st_size for _, found in kept) - (limit() if most is None else most)
    for path, found in sorted(kept, key=lambda file: file[1].st_mtime):
        if excess <= 0 or found.st_mtime > now - GRACE:
            break
        discard(path)
        excess -= found.st_size
        removed += 1
    return removed


def _home() -> tuple[Path, str | None]:
    """Where the environment puts the cache, and why that cannot be."""
    try:
        if chosen := os.environ.get("TG_CACHE_DIR"):
            return Path(chosen).expanduser().absolute() / "c", None
        base = Path(os.environ.get("XDG_CACHE_HOME", ""))
        if base.is_absolute():  # to be ignored if it is not: XDG base directory specification
            return base / "tg" / "c", None
        home = Path.home()
    except RuntimeError:
        return Path("~"), "there is no home directory"
    return home / ".cache" / "tg" / "c", None if home.is_dir() else f"there is no home directory {home}"


def _folders() -> tuple[Path, ...]:
    first = directory()
    other = spare.of_process()
    return (first,) if other is None or other == first else (first, other)


def _write(folder: Path, key: str, build: Callable[[Path], None]) -> Path:
    unfinished = folder / f".{key}.{os.urandom(8).hex()}"  # not the process id: containers share directories
    try:
        unfinished.touch(mode=0o600, exist_ok=False)  # a directory that cannot be written is known before building
        build(unfinished)
        if key.endswith(_SEALED):
            with unfinished.open("r+b") as file:
                seal = _seal(file.read())
                file.write(seal)
        unfinished.chmod(0o700)  # whatever the umask was
        return unfinished.replace(folder / key)
    except BaseException:
        discard(unfinished)
        raise


def _seal(content: bytes) -> bytes:
    return _SEAL + hashlib.blake2b(content, digest_size=_DIGEST_BYTES).hexdigest().encode()


def _is_whole(path: Path) -> bool:
    """Whether an entry ends in the seal of what it holds."""
    try:
        content = path.read_bytes()
    except OSError:
        return False
    end = len(content) - len(_SEAL) - 2 * _DIGEST_BYTES
    return end > 0 and content[end:] == _seal(content[:end])


def _mark_used(path: Path, last: float) -> None:
    if time.time() - last > TOUCH_AFTER:
        try:
            os.utime(path)
        except OSError:  # a read-only directory
            return


def _files() -> Iterator[tuple[Path, os.stat_result]]:
    for folder in _folders():
        with os.scandir(folder) as listing:
            for entry in listing:
                if not (_NAME.fullmatch(entry.name) or _UNFINISHED.fullmatch(entry.name)):
                    continue
                try:
                    yield Path(entry.path), entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # another process removed it
                    continue


CACHE = DiskCache(directory, entries, size, clear, limit)
