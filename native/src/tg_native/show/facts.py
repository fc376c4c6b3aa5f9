"""What `tg doctor` tells of a machine whatever the language: BLAS with its kernels, vectors, cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_native.calls.blas import blas
from tg_native.calls.libmvec import LIBMVEC

if TYPE_CHECKING:
    from tg.cache.entries import Cache


def machine_facts(vector_bytes: int, *, has_libmvec: bool) -> dict[str, str]:
    """BLAS, and the vectors of the processor."""
    found = blas()
    return {
        "BLAS": f"{found.source}, kernels {found.core}" if found.core else found.source,
        "vectors": f"{vector_bytes} bytes",
        "vector library": LIBMVEC if has_libmvec else f"{LIBMVEC} is not there",
    }


def cache_fact(cache: Cache, kept: str) -> dict[str, str]:
    """Where a cache is, and how much is kept there."""
    return {"cache": f"{cache.directory()}: {len(cache.entries())} {kept}, {cache.size() / 1e6:.1f} MB"}
