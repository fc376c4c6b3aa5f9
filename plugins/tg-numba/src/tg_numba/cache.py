"""The object files that are kept between processes: those of a program in one entry, with what loading them takes.

An entry is named by a digest of the texts that it was made of, of what makes machine code of them, and of the
processor. Machine code holds no address: it has names for them, which the process that loads it resolves.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import json
import os
import sys
from typing import TYPE_CHECKING, Final

import llvmlite
import llvmlite.binding as llvm

import tg
from tg.backend import Cache, DiskCache, Span, annotate, warn
from tg_numba import engine
from tg_numba.engine import Bundle, MissingError, bundle, loaded
from tg_numba.identity import own

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from tg_numba.engine import Loaded

__all__ = ["CACHE", "PROGRAMS", "assembled", "circumstances", "named", "opened", "reopened"]

PROGRAMS: Final = Cache("numba", compiled=".o", is_opened=False)
CACHE: Final = DiskCache.of(PROGRAMS)


def named(*parts: str) -> str:
    """The name of the entry for the code that texts determine."""
    return PROGRAMS.key(*parts, *circumstances())


def opened(name: str, addresses: Mapping[str, int], make: Callable[[], Bundle]) -> Loaded:
    """The code of a name, from the cache or made now.

    Args:
        addresses: of what the code has names for besides functions of libraries.
    """
    code = reopened(name, addresses)
    if code is not None:
        return code
    bundle = make()
    with Span("cache"):
        _store(name, bundle)
    with Span("open"):
        return loaded(bundle, addresses)


def assembled(word: str, text: str, names: Iterable[str], addresses: Mapping[str, int]) -> Loaded:
    """The code of functions that are compiled fast: they are called once in a call and have no loops over elements.

    Args:
        addresses: of what the text has other names for.
    """
    return opened(
        named(word, text), addresses, lambda: bundle([engine.assembled(text, level=0)], {n: n for n in names})
    )


def reopened(name: str, addresses: Mapping[str, int]) -> Loaded | None:
    """The code of a name from the cache; None where it is not there, or needs what this process does not have."""
    with Span("cache"):
        bundle = _read(name)
        annotate("miss" if bundle is None else "hit")
    if bundle is None:
        return None
    with contextlib.suppress(MissingError), Span("open"):
        return loaded(bundle, addresses)
    return None


@functools.cache
def _machine() -> tuple[str, ...]:
    """Circumstances that machine code depends on besides its text."""
    versions = (importlib.metadata.version("numba"), llvmlite.__version__, sys.version)
    processor = (llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    return (*versions, *processor, own())


def circumstances() -> tuple[str, ...]:
    """The machine, and Numba's options that the environment gives."""
    return (*_machine(), *(f"{k}={v}" for k, v in sorted(os.environ.items()) if k.startswith("NUMBA_")))


def _read(key: str) -> Bundle | None:
    try:
        content = PROGRAMS.read(key)
    except OSError:  # there is no directory, not even a temporary one: `_store` says so
        return None
    if content is None:
        return None
    head, _, data = content.partition(b"\n")
    about = json.loads(head)
    objects, at = [], 0
    for size in about["sizes"]:
        objects.append(data[at : at + size])
        at += size
    return Bundle(tuple(objects), about["names"], tuple(about["needs"]))


def _store(key: str, bundle: Bundle) -> None:
    head = {"names": dict(bundle.names), "needs": bundle.needs, "sizes": [len(data) for data in bundle.objects]}
    content = json.dumps(head).encode() + b"\n" + b"".join(bundle.objects)

    def write(path: Path) -> None:
        path.write_bytes(content)

    try:
        PROGRAMS.store(key, write)
    except OSError as error:
        warn(f"cache: nothing is kept: {error}", tg.errors.CacheWarning)
