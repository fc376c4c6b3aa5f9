"""Whether another user could have written a file or a directory, or could put another in its place.

Whoever can write a directory can replace what is in it, so all directories on the way count. Root can do anything and
is trusted; so is a sticky directory such as /tmp, where nobody moves what belongs to somebody else.
"""

from __future__ import annotations

import functools
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["why_distrusted", "why_unusable"]

ROOT = 0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_NO_PROGRAMS: int = getattr(os, "ST_NOEXEC", 0)  # of statvfs, on Linux


def why_unusable(folder: Path, *, for_programs: bool = True) -> str | None:
    """Why what is kept in a directory, which is made if it is absent, cannot be loaded; None where it can.

    Args:
        for_programs: whether the system opens what is kept as programs.
    """
    try:
        status = _made(folder)
        forbidden = os.statvfs(folder).f_flag & _NO_PROGRAMS
    except OSError as error:
        return str(error)
    if not stat.S_ISDIR(status.st_mode):
        return "it is not a directory"
    if for_programs and forbidden:
        return "it lies on a file system without programs (mounted noexec)"
    return why_distrusted(status) or _why_replaceable(folder)


def _made(folder: Path) -> os.stat_result:
    """The state of a directory, which is made if it is absent."""
    try:
        return folder.stat()
    except FileNotFoundError:
        for absent in reversed([above for above in (folder, *folder.parents) if not above.exists()]):
            absent.mkdir(mode=0o700, exist_ok=True)
        return folder.stat()


def why_distrusted(status: os.stat_result) -> str | None:
    """Why another user could have written a file or a directory; None where this user alone can have."""
    if status.st_uid != os.geteuid():
        return f"its owner is user {status.st_uid}, this process runs as user {os.geteuid()}"
    if status.st_mode & _OTHERS_WRITE:
        return f"others can write it: its mode is {stat.S_IMODE(status.st_mode):04o}, at most 0755 is needed"
    return None


def _why_replaceable(folder: Path) -> str | None:
    """Why another user could put another directory in the place of one on the way to `folder`."""
    for above in folder.parents:
        status = above.stat()
        if status.st_uid not in (ROOT, os.geteuid()):
            return f"{above} belongs to user {status.st_uid}, this process runs as user {os.geteuid()}"
        if not status.st_mode & stat.S_ISVTX and _lets_others_write(status):
            return f"others can write {above}: its mode is {stat.S_IMODE(status.st_mode):04o}"
    return None


def _lets_others_write(status: os.stat_result) -> bool:
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _has_one_member(status.st_gid, os.geteuid())


@functools.cache
def _has_one_member(group: int, user: int) -> bool:
    """Whether a group is the user's private one, as many systems make them: called as the user is, without others."""
    import grp
    import pwd

    try:
        name, entry = pwd.getpwuid(user).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return entry.gr_name == name and set(entry.gr_mem) <= {name}
