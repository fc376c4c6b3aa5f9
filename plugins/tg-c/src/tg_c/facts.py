"""Facts about this machine for the C backend, for `tg doctor`."""

from __future__ import annotations

import shlex

from tg_c import entry
from tg_c.cache import UNITS
from tg_c.compiler import USUAL, compiler
from tg_c.machine import vector_bytes, vector_library
from tg_native.show.facts import cache_fact, machine_facts


def facts() -> dict[str, str]:
    """Compiler, BLAS with its kernels, vectors, how units are called, cache.

    Raises:
        BackendUnavailable: there is no compiler.
    """
    chosen = compiler()
    return {
        "compiler": f"{chosen.version}, for {chosen.target}",
        "command": shlex.join(chosen.line(USUAL)),
        **machine_facts(vector_bytes(), has_libmvec=vector_library() is not None),
        "calls": "in machine code" if entry.opened() is not None else "through Python",
        **cache_fact(UNITS, "units"),
    }
