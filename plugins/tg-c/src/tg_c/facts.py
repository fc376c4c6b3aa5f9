"""What the C backend finds on this machine, for `tg doctor`."""

from __future__ import annotations

import ctypes
import shlex

from tg.link.blas import blas
from tg_c import cache
from tg_c.compiler import USUAL, compiler

VECTOR_LIBRARY = "libmvec.so.1"


def facts() -> dict[str, str]:
    """Compiler, BLAS with its kernels, vector library, cache.

    Raises:
        BackendUnavailable: there is no compiler.
    """
    chosen, found = compiler(), blas()
    kernels = f", kernels {found.core}" if found.core else ""
    return {
        "compiler": f"{chosen.version}, for {chosen.target}",
        "command": shlex.join(chosen.line(USUAL)),
        "BLAS": f"{found.source}{kernels}",
        "vector library": f"{VECTOR_LIBRARY} is {'there' if _loads(VECTOR_LIBRARY) else 'not there'}; no unit calls it",
        "cache": f"{cache.directory()}: {len(cache.entries())} units, {cache.size() / 1e6:.1f} MB",
    }


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
