"""The C files of benchmarks/limits, compiled."""

from __future__ import annotations

import subprocess
from pathlib import Path

LIMITS = Path(__file__).parent / "limits"
COMPILER = ("gcc", "-O2", "-march=native", "-fPIC", "-shared")


def built(file: str, folder: str, *options: str) -> str:
    """The path of a shared library made of a file, in a folder."""
    unit = Path(folder) / Path(file).with_suffix(".so")
    done = subprocess.run([*COMPILER, LIMITS / file, "-o", unit, *options], capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        raise OSError((errors or [f"{file}: gcc ended with {done.returncode}"])[0])
    return str(unit)
