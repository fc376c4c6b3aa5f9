"""Facts about this machine for the Numba backend, for `tg doctor`."""

from __future__ import annotations

import importlib.metadata

import llvmlite
import llvmlite.binding as llvm

from tg_native.show.facts import cache_fact, machine_facts
from tg_numba.cache import PROGRAMS
from tg_numba.engine import LOCK
from tg_numba.processor import has_libmvec, vector_bytes


def facts() -> dict[str, str]:
    """Versions, BLAS with its kernels, vectors, cache."""
    return {
        "numba": importlib.metadata.version("numba"),
        "llvmlite": f"{llvmlite.__version__}, LLVM {'.'.join(map(str, llvm.llvm_version_info))}",
        "forks": "wait for LLVM" if LOCK is not None else "do not wait for LLVM: llvmlite's lock is not where it was",
        **machine_facts(vector_bytes(), has_libmvec=has_libmvec()),
        **cache_fact(PROGRAMS, "programs"),
    }
