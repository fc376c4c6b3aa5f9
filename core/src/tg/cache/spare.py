"""A private temporary directory, which serves where a cache cannot: one for a cache of a process, removed when it ends.

A process that is killed leaves its directory. It has held a lock on it, which the system lets go with the process; the
next process that needs a directory of its own removes those of the same user that nobody holds.
"""

from __future__ import annotations

import atexit
import os
import stat
import time
from pathlib import Path

from tg.cache.trust import why_distrusted
from tg.callers import warn
from tg.errors import CacheWarning

__all__ = ["instead_of", "of_process"]

LOCK = "in-use"
GRACE = 60.0  # seconds; a younger directory may be one whose process is about to lock it

_made: dict[tuple[int, str], Path] = {}  # by process id: a forked child neither uses nor removes its parent's


def of_process(name: str) -> Path | None:
    """The directory of a cache in this process, if it has needed one and nobody has removed it."""
    folder = _made.get((os.getpid(), name))
    return folder if folder is not None and _is_own(folder) else None


def instead_of(name: str, unusable: Path, reason: str) -> Path:
    """The directory of a cache in this process, made with one warning.

    Raises:
        OSError: there is no temporary directory that can be written.
    """
    owner = (os.getpid(), name)
    folder = _made.get(owner)
    if folder is not None and _is_own(folder):
        return folder
    import tempfile  # 3 ms that a usable cache does not need

    fresh = Path(tempfile.mkdtemp(prefix=f"tg-{name}-"))  # mode 0700
    if folder is not None:
        _made[owner] = fresh  # somebody cleaned up
    elif (winner := _made.setdefault(owner, fresh)) is not fresh:
        fresh.rmdir()  # another thread came first
        return winner
    lock = _locked(fresh / LOCK)
    atexit.register(_remove, os.getpid(), fresh, lock)
    _remove_abandoned(fresh.parent, name)
    warn(
        f"cache: {unusable} cannot be used: {reason}\n"
        f"  instead  {fresh}, until this process ends\n"
        f"  hint: set TG_CACHE_DIR to a directory that only this user can write",
        CacheWarning,
    )
    return fresh


def _is_own(folder: Path) -> bool:
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and why_distrusted(status) is None


def _locked(path: Path) -> int | None:
    """A descriptor of a file that this process now holds, or None where another one does."""
    import fcntl

    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove(process: int, folder: Path, lock: int | None) -> None:
    import shutil

    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:  # another process removed it
        return 0


def _remove_abandoned(place: Path, name: str) -> None:
    import shutil

    for folder in place.glob(f"tg-{name}-*"):
        if folder in _made.values() or not _is_own(folder) or _age(folder) < GRACE:
            continue
        if (lock := _locked(folder / LOCK)) is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
