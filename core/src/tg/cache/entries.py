"""Keep what was compiled between processes, and load only what this user alone can have written.

An entry is one file, named by a digest of everything that determines its bytes, so an entry is never updated and two
processes that store the same one store the same bytes, or such as do the same. It is written beside its final name and
moved there, so a reader sees all of it or nothing; what a machine that lost its power or its disk left half is told by
the seal that ends an entry, a digest of what stands before it. What a process that was killed left unfinished is
removed later.

The directory of a cache is named as the cache, in `$TG_CACHE_DIR`, else `$XDG_CACHE_HOME/tg`, else `~/.cache/tg`. It
takes at most `$TG_CACHE_LIMIT` megabytes, 512 by default: beyond these, what was unused for longest goes. Where the
directory belongs to another user, can be written or replaced by one, or cannot be made or written, a private temporary
directory serves until the process ends, with one warning. Loading an entry runs its code: an entry that another user
could have written is made again.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, final

from tg.cache import spare
from tg.cache.trust import why_distrusted, why_unusable
from tg.callers import warn
from tg.errors import CacheWarning, OptionError, message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Cache", "key", "limit"]

MEGABYTE = 10**6
USUAL_LIMIT = 512 * MEGABYTE
GRACE = 60.0  # seconds; a younger file may be one that its writer is about to open
ABANDONED_AFTER = 3600.0  # seconds; a file that has been unfinished for longer has lost its writer
TOUCH_AFTER = 3600.0  # seconds; an entry used later than this after its last use is marked as used
STORES_PER_PRUNE = 64  # listing 10,000 entries takes as long as a compilation

_SEAL = b"\ntg "  # and a digest in hexadecimal digits; programs and lines of text may be followed by anything
_DIGEST_BYTES = 16


def key(*parts: str, suffix: str) -> str:
    """The file name of the entry that `parts` determine."""
    digest = hashlib.blake2b(digest_size=20)
    for part in parts:
        data = part.encode()
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest() + suffix


def limit() -> int:
    """The bytes that the files of a cache may take.

    Raises:
        OptionError: TG_CACHE_LIMIT is no number of megabytes.
    """
    text = os.environ.get("TG_CACHE_LIMIT")
    if not text:
        return USUAL_LIMIT
    if not text.isdecimal():
        raise OptionError(message(f"TG_CACHE_LIMIT: found {text!r}, needed a whole number of megabytes"))
    return int(text) * MEGABYTE


@final
class Cache:
    """The entries of one backend.

    Args:
        name: of the directory.
        compiled: the suffix of entries that are programs: they are what `entries` lists.
        sealed: suffixes of entries that are read again besides; they end in a seal too.
        unsealed: suffixes of files that are for people and never read again.
        unfinished: a pattern of the names of temporary files that compilers make in the directory.
        is_opened: whether the system opens the entries as programs, which not all file systems allow.
    """

    def __init__(
        self,
        name: str,
        *,
        compiled: str,
        sealed: tuple[str, ...] = (),
        unsealed: tuple[str, ...] = (),
        unfinished: str = "",
        is_opened: bool = True,
    ) -> None:
        self.name, self._compiled, self._is_opened = name, compiled, is_opened
        self._sealed = (compiled, *sealed)
        suffixes = "|".join(re.escape(suffix) for suffix in (*self._sealed, *unsealed))
        # A leading dot and a trailing part mark a file that is still being written. Nothing else in the directory is
        # touched.
        self._name = re.compile(rf"[0-9a-f]{{40}}({suffixes})")
        own = rf"\.[0-9a-f]{{40}}({suffixes})\.[0-9a-f]+"
        self._unfinished = re.compile(f"{own}|{unfinished}" if unfinished else own)
        self._stores = itertools.count()

    def key(self, *parts: str, suffix: str | None = None) -> str:
        """The file name of the entry that `parts` determine, by default of a program."""
        return key(*parts, suffix=suffix or self._compiled)

    def directory(self) -> Path:
        """The directory in use: the user's, made if absent, or a private temporary one."""
        home, reason = self._home()
        if reason is None:
            home = Path(os.path.realpath(home))  # what links lead to is looked at, and no link is followed after that
            reason = why_unusable(home, for_programs=self._is_opened)
        return home if reason is None else spare.instead_of(self.name, home, reason)

    def lookup(self, key: str) -> Path | None:
        """The entry of `key`, or None where there is none that is whole and can be trusted."""
        entry = self._found(key)
        return None if entry is None else entry[0]

    def read(self, key: str) -> bytes | None:
        """The content of the entry of `key`, or None where there is none that is whole and can be trusted."""
        entry = self._found(key)
        return None if entry is None else entry[1]

    def store(self, key: str, build: Callable[[Path], None]) -> Path:
        """Make the entry of `key`, by `build(path)`, and return where it is.

        Raises:
            OSError: neither the user's directory nor a temporary one can be written. `build` raises OSError for
                nothing but its own writing, for it is then called again with a path in the temporary directory.
        """
        folder = spare.of_process(self.name) or self.directory()
        try:
            path = self._write(folder, key, build)
        except FileNotFoundError:  # somebody cleared the cache, or removed the directory
            path = self._write(self.directory(), key, build)
        except OSError as error:
            instead = spare.instead_of(self.name, folder, str(error))
            if instead == folder:
                raise
            return self._write(instead, key, build)
        if next(self._stores) % STORES_PER_PRUNE == 0:
            self.prune()
        return path

    @staticmethod
    def discard(path: Path) -> None:
        """Remove one entry, if it is there."""
        try:
            path.unlink(missing_ok=True)
        except OSError:  # a read-only directory
            return

    def entries(self) -> tuple[Path, ...]:
        """All programs."""
        suffix = self._compiled
        return tuple(p for p, _ in self._files() if p.name.endswith(suffix) and not p.name.startswith("."))

    def size(self) -> int:
        """The bytes that the directory's files take, unfinished ones included."""
        return sum(status.st_size for _, status in self._files())

    def clear(self) -> int:
        """Remove all and return how many files went; programs that are open stay usable."""
        removed = [path for path, _ in self._files()]
        for path in removed:
            self.discard(path)
        return len(removed)

    def prune(self, most: int | None = None) -> int:
        """Remove what was abandoned, and the entries unused for longest until the rest take at most so many bytes.

        Files younger than `GRACE` stay, so the limit is exceeded where they alone exceed it. Gives how many files went.
        """
        now, removed = time.time(), 0
        files: list[tuple[Path, os.stat_result]] = []
        for path, status in self._files():
            if self._name.fullmatch(path.name) is None and status.st_mtime < now - ABANDONED_AFTER:
                self.discard(path)
                removed += 1
            else:
                files.append((path, status))
        excess = sum(status.st_size for _, status in files) - (limit() if most is None else most)
        for path, status in sorted(files, key=lambda file: file[1].st_mtime):
            if excess <= 0 or status.st_mtime > now - GRACE:
                break
            self.discard(path)
            excess -= status.st_size
            removed += 1
        return removed

    def _home(self) -> tuple[Path, str | None]:
        """The cache's path as the environment sets it, and why that cannot be."""
        try:
            if chosen := os.environ.get("TG_CACHE_DIR"):
                return Path(chosen).expanduser().absolute() / self.name, None
            base = Path(os.environ.get("XDG_CACHE_HOME", ""))
            if base.is_absolute():  # to be ignored if it is not: XDG base directory specification
                return base / "tg" / self.name, None
            home = Path.home()
        except RuntimeError:
            return Path("~"), "there is no home directory"
        return home / ".cache" / "tg" / self.name, None if home.is_dir() else f"there is no home directory {home}"

    def _folders(self) -> tuple[Path, ...]:
        first = self.directory()
        other = spare.of_process(self.name)
        return (first,) if other is None or other == first else (first, other)

    def _found(self, key: str) -> tuple[Path, bytes] | None:
        for folder in self._folders():
            path = folder / key
            try:
                status = path.lstat()
            except OSError:
                continue
            reason = why_distrusted(status) if stat.S_ISREG(status.st_mode) else "it is not a regular file"
            if reason is not None:
                warn(f"cache: {path} is not loaded, and made again: {reason}", CacheWarning)
            elif (content := _content(path)) is not None:
                _mark_used(path, status.st_mtime)
                return path, content
        return None

    def _write(self, folder: Path, key: str, build: Callable[[Path], None]) -> Path:
        unfinished = folder / f".{key}.{os.urandom(8).hex()}"  # not the process id: containers share directories
        try:
            unfinished.touch(mode=0o600, exist_ok=False)  # a directory that cannot be written is known before building
            build(unfinished)
            if key.endswith(self._sealed):
                with unfinished.open("r+b") as file:
                    seal = _seal(file.read())
                    file.write(seal)
            unfinished.chmod(0o700)  # whatever the umask was
            return unfinished.replace(folder / key)
        except BaseException:
            self.discard(unfinished)
            raise

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        for folder in self._folders():
            with os.scandir(folder) as listing:
                for entry in listing:
                    if not (self._name.fullmatch(entry.name) or self._unfinished.fullmatch(entry.name)):
                        continue
                    try:
                        yield Path(entry.path), entry.stat(follow_symlinks=False)
                    except FileNotFoundError:  # another process removed it
                        continue


def _seal(content: bytes | memoryview) -> bytes:
    return _SEAL + hashlib.blake2b(content, digest_size=_DIGEST_BYTES).hexdigest().encode()


def _content(path: Path) -> bytes | None:
    """The content of an entry, if it ends in its seal."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    end = len(content) - len(_SEAL) - 2 * _DIGEST_BYTES
    return content[:end] if end > 0 and content[end:] == _seal(memoryview(content)[:end]) else None


def _mark_used(path: Path, last: float) -> None:
    if time.time() - last > TOUCH_AFTER:
        try:
            os.utime(path)
        except OSError:  # a read-only directory
            return
