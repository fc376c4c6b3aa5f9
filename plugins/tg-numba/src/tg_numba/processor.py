"""Features of the processor, as LLVM knows them."""

from __future__ import annotations

import functools
from typing import Final

import llvmlite.binding as llvm

from tg_native.calls.libmvec import LIBMVEC

GATHERED: Final = 8  # elements that an instruction reads at once
GATHERS: Final = {  # of a dtype its type in LLVM's language, and what ends the name of the instruction
    "float64": ("double", "qpd"),
    "float32": ("float", "qps"),
    **dict.fromkeys(("int64", "uint64"), ("i64", "qpq")),
    **dict.fromkeys(("int32", "uint32"), ("i32", "qpi")),
}


@functools.cache
def features() -> frozenset[str]:
    """Features of the processor."""
    return frozenset(name for name, there in llvm.get_host_cpu_features().items() if there)


@functools.cache
def has_libmvec() -> bool:
    """Whether the vector mathematics of glibc is there, which code has names for from now on."""
    if "sse4.1" not in features():
        return False
    try:
        llvm.load_library_permanently(LIBMVEC)
    except RuntimeError:
        return False
    return True


@functools.cache
def vector_bytes() -> int:
    """The width of the processor's vectors."""
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= features():
        return 64
    return 32 if "avx2" in features() else 16


def has_tables() -> bool:
    """Whether a register serves as a table of 16 numbers."""
    return vector_bytes() == 64


def has_halves() -> bool:
    """Whether there are instructions that convert float16."""
    return not features().isdisjoint(("f16c", "avx512f"))


def has_pairs() -> bool:
    """Whether an instruction multiplies pairs of 16 bits and adds both products up."""
    return "sse2" in features()


def has_summed_pairs() -> bool:
    """Whether it adds them to others as well, in vectors of the processor's width."""
    return {"avx512vnni", "avx512vl"} <= features() and vector_bytes() == 64


def has_gathers(dtype: str) -> bool:
    """Whether an instruction reads elements of a dtype at computed positions."""
    return vector_bytes() == 64 and dtype in GATHERS
