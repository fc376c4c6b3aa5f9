"""Facts of a machine for `tg doctor`, whatever the language: BLAS with its kernels, vectors, cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_native.calls.blas import blas
from tg_native.calls.libmvec import LIBMVEC

if TYPE_CHECKING:
    from tg.cache.entries import Cache


def machine_facts(vector_bytes: int, *, has_libmvec: bool) -> dict[str, str]:
    """BLAS, and the vectors of the processor."""
    library = blas()
    return {
        "BLAS": f"{library.source}, kernels {library.core}" if library.core else library.source,
        "vectors": f"{vector_bytes} bytes",
        "vector library": LIBMVEC if has_libmvec else f"{LIBMVEC} is not there",
    }


def cache_fact(cache: Cache, noun: str) -> dict[str, str]:
    """Place of a cache, and how much is kept there."""
    return {"cache": f"{cache.directory()}: {len(cache.entries())} {noun}, {cache.size() / 1e6:.1f} MB"}
