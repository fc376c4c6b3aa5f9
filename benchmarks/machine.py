"""The machine that figures are of."""

import os
import platform
from pathlib import Path


def processor() -> str:
    """The processor's maker, how many there are, their vectors."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    vectors = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "no AVX2"
    return f"{model or platform.machine()}, {os.cpu_count()} cores, {vectors}"
