"""The compiled units that are kept between processes, and what is known of compilers.

The C compiler has temporary files of its own where it works, and makes objects there; one that is killed leaves them.
"""

from __future__ import annotations

from typing import Final

from tg.backend import Cache, DiskCache

__all__ = ["CACHE", "UNITS"]

UNITS: Final = Cache(
    "c",
    compiled=".so",
    sealed=(".txt",),
    unsealed=(".c",),
    unfinished=r"cc\w{6}(\.\w+)+|[\w-]*-[0-9a-f]{6}\.o|\.[0-9a-f]{40}\.so\.[0-9a-f]+\.\d+\.o",
)
CACHE: Final = DiskCache.of(UNITS)
