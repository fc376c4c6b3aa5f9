"""What the C backend finds on this machine, for `tg doctor`."""

from __future__ import annotations

import shlex

from tg_c import entry
from tg_c.cache import UNITS
from tg_c.compiler import USUAL, compiler
from tg_c.machine import vector_bytes, vector_library
from tg_native.calls.blas import blas
from tg_native.calls.libmvec import LIBMVEC


def facts() -> dict[str, str]:
    """Compiler, BLAS with its kernels, vectors, how units are called, cache.

    Raises:
        BackendUnavailable: there is no compiler.
    """
    chosen, found = compiler(), blas()
    kernels = f", kernels {found.core}" if found.core else ""
    return {
        "compiler": f"{chosen.version}, for {chosen.target}",
        "command": shlex.join(chosen.line(USUAL)),
        "BLAS": f"{found.source}{kernels}",
        "vectors": f"{vector_bytes()} bytes",
        "vector library": LIBMVEC if vector_library() is not None else f"{LIBMVEC} is not there",
        "calls": "in machine code" if entry.opened() is not None else "through Python",
        "cache": f"{UNITS.directory()}: {len(UNITS.entries())} units, {UNITS.size() / 1e6:.1f} MB",
    }
