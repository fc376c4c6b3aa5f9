"""Keep compiled units between processes, and load only what this user alone can have written.

An entry is one file, named by a digest of everything that determines its bytes, so an entry is never updated and two
processes that store the same one store the same bytes. It is written beside its final name and moved there, so a reader
sees all of it or nothing.

The directory is `$TG_CACHE_DIR/c`, else `$XDG_CACHE_HOME/tg/c`, else `~/.cache/tg/c`. Where it belongs to another user,
can be written by one, or cannot be made or written, a private temporary directory serves until the process ends, with
one warning. Loading a unit runs its code: an entry that another user could have written is compiled again.
"""

from __future__ import annotations

import atexit
import hashlib
import itertools
import os
import re
import shutil
import stat
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from tg.plugin.records import DiskCache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CACHE", "clear", "directory", "discard", "entries", "key", "lookup", "prune", "size", "store"]

LIMIT = 512 * 2**20  # bytes
GRACE = 60.0  # seconds; a younger file may be one that its writer is about to open
TOUCH_AFTER = 3600.0  # seconds; an entry used later than this after its last use is marked as used
STORES_PER_PRUNE = 64  # listing 10,000 entries takes as long as a compilation

# A leading dot and a trailing part mark a file that is still being written. Nothing else in the directory is touched.
_NAME = re.compile(r"\.?[0-9a-f]{40}\.(so|c|txt)(\.[0-9a-f]+)?")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

_stores = itertools.count()
_spares: dict[int, Path] = {}  # by process id: a forked child neither uses nor removes its parent's


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
    home = _home()
    reason = _why_unusable(home)
    return home if reason is None else _spare(home, reason)


def lookup(key: str) -> Path | None:
    """The entry of `key`, or None where there is none that can be trusted."""
    for folder in _folders():
        path = folder / key
        try:
            found = path.lstat()
        except OSError:
            continue
        reason = "it is empty" if found.st_size == 0 else _why_distrusted(found, stat.S_ISREG)
        if reason is None:
            _mark_used(path, found.st_mtime)
            return path
        warnings.warn(f"cache: {path} is not loaded, and made again: {reason}", stacklevel=2)
    return None


def store(key: str, build: Callable[[Path], None]) -> Path:
    """Make the entry of `key`, by `build(path)`, and return where it is.

    Raises:
        OSError: neither the user's directory nor a temporary one can be written. `build` raises OSError for nothing
            but its own writing, for it is then called again with a path in the temporary directory.
    """
    folder = _spares.get(os.getpid()) or directory()
    try:
        path = _write(folder, key, build)
    except OSError as error:
        spare = _spare(folder, str(error))
        if spare == folder:
            raise
        return _write(spare, key, build)
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
    return tuple(path for path, _ in _files() if path.suffix == ".so")


def size() -> int:
    """The bytes that the directory's files take, unfinished ones included."""
    return sum(found.st_size for _, found in _files())


def clear() -> int:
    """Remove all and return how many files went; units that are open stay usable."""
    removed = [path for path, _ in _files()]
    for path in removed:
        discard(path)
    return len(removed)


def prune(limit: int = LIMIT) -> int:
    """Remove the entries unused for longest until the rest take at most `limit` bytes; return how many went.

    Files younger than `GRACE` stay, so the limit is exceeded where they alone exceed it.
    """
    files = sorted(_files(), key=lambda file: file[1].st_mtime)
    excess = sum(found.st_size for _, found in files) - limit
    oldest_kept = time.time() - GRACE
    removed = 0
    for path, found in files:
        if excess <= 0 or found.st_mtime > oldest_kept:
            break
        discard(path)
        excess -= found.st_size
        removed += 1
    return removed


def _home() -> Path:
    """Where the environment puts the cache; not absolute where it says nothing usable."""
    try:
        if chosen := os.environ.get("TG_CACHE_DIR"):
            return Path(chosen).expanduser().absolute() / "c"
        base = Path(os.environ.get("XDG_CACHE_HOME", ""))
        if not base.is_absolute():  # to be ignored then: XDG base directory specification
            base = Path.home() / ".cache"
    except RuntimeError:  # there is no home directory
        return Path()
    return base / "tg" / "c"


def _why_unusable(folder: Path) -> str | None:
    if not folder.is_absolute():
        return "there is no home directory"
    try:
        try:
            found = folder.stat()
        except FileNotFoundError:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = folder.stat()
    except OSError as error:
        return str(error)
    return _why_distrusted(found, stat.S_ISDIR)


def _why_distrusted(found: os.stat_result, is_right_kind: Callable[[int], bool]) -> str | None:
    if not is_right_kind(found.st_mode):
        return "it is not a directory" if is_right_kind is stat.S_ISDIR else "it is not a regular file"
    if found.st_uid != os.geteuid():
        return f"its owner is user {found.st_uid}, this process runs as user {os.geteuid()}"
    if found.st_mode & _OTHERS_WRITE:
        return f"others can write it: its mode is {stat.S_IMODE(found.st_mode):04o}, at most 0755 is needed"
    return None


def _spare(instead_of: Path, reason: str) -> Path:
    """This process's private temporary directory, with one warning."""
    process = os.getpid()
    if (made := _spares.get(process)) is not None:
        return made
    import tempfile  # 3 ms that a usable cache does not need

    fresh = Path(tempfile.mkdtemp(prefix="tg-c-"))  # mode 0700
    if (made := _spares.setdefault(process, fresh)) is not fresh:
        fresh.rmdir()  # another thread came first
        return made
    atexit.register(_remove_spare, process, fresh)
    warnings.warn(
        f"cache: {instead_of} cannot be used: {reason}\n"
        f"  instead  {fresh}, until this process ends\n"
        f"  hint: set TG_CACHE_DIR to a directory that only this user can write",
        stacklevel=3,
    )
    return fresh


def _remove_spare(process: int, folder: Path) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _folders() -> tuple[Path, ...]:
    first = directory()
    spare = _spares.get(os.getpid(), first)
    return (first,) if spare == first else (first, spare)


def _write(folder: Path, key: str, build: Callable[[Path], None]) -> Path:
    unfinished = folder / f".{key}.{os.urandom(8).hex()}"  # not the process id: containers share directories
    try:
        unfinished.touch(mode=0o600, exist_ok=False)  # a directory that cannot be written is known before building
        build(unfinished)
        unfinished.chmod(0o700)  # whatever the umask was
        return unfinished.replace(folder / key)
    except BaseException:
        discard(unfinished)
        raise


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
                if _NAME.fullmatch(entry.name) is None:
                    continue
                try:
                    yield Path(entry.path), entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # another process removed it
                    continue


CACHE = DiskCache(directory, entries, size, clear)
