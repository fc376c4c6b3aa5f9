"""What the Numba backend finds on this machine, for `tg doctor`."""

from __future__ import annotations

import importlib.metadata

import llvmlite
import llvmlite.binding as llvm

from tg_native.calls.blas import blas
from tg_native.calls.libmvec import LIBMVEC
from tg_numba.cache import PROGRAMS
from tg_numba.engine import LOCK
from tg_numba.processor import has_libmvec, vector_bytes


def facts() -> dict[str, str]:
    """Versions, BLAS with its kernels, vectors, cache."""
    found = blas()
    kernels = f", kernels {found.core}" if found.core else ""
    return {
        "numba": importlib.metadata.version("numba"),
        "llvmlite": f"{llvmlite.__version__}, LLVM {'.'.join(map(str, llvm.llvm_version_info))}",
        "forks": "wait for LLVM" if LOCK is not None else "do not wait for LLVM: llvmlite's lock is not where it was",
        "BLAS": f"{found.source}{kernels}",
        "vectors": f"{vector_bytes()} bytes",
        "vector library": LIBMVEC if has_libmvec() else f"{LIBMVEC} is not there",
        "cache": f"{PROGRAMS.directory()}: {len(PROGRAMS.entries())} programs, {PROGRAMS.size() / 1e6:.1f} MB",
    }
