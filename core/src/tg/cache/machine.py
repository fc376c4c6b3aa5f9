"""The processor and the C library, as far as compiled code depends on them: a part of the names of entries."""

from __future__ import annotations

import functools
import itertools
import os
from pathlib import Path
from typing import Final

CPU_FIELDS: Final = frozenset(  # of /proc/cpuinfo: x86, then Arm
    ("vendor_id", "cpu family", "model", "flags", "CPU implementer", "CPU part", "CPU variant", "Features")
)


@functools.cache
def cpu() -> str:
    """The processor's model and features: what `-march=native` depends on."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            first = itertools.takewhile(str.strip, lines)  # of the processors
            return "".join(line for line in first if line.partition(":")[0].strip() in CPU_FIELDS)
    except OSError:
        system = os.uname()
        return f"{system.machine} {system.version}"  # on macOS the version names the chip family


def libc() -> str:
    """The version of glibc, whose vector functions code may call; empty where there is another C library."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, ValueError, OSError):
        return ""
