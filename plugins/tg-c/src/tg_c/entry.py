"""Open the entry of compiled functions, `entry.c` after `results.c`, and make functions of it."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tg_c import compiler
from tg_c.compiler import Flags
from tg_native.calls import objects
from tg_native.calls.entry import Native, record

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Signature
    from tg_native.calls.interface import Interface

ENTRY: Final = Flags(level=1)  # more takes longer to compile and no less to call


def make(interface: Interface, native: Native, signature: Signature) -> Callable[..., Any] | None:
    """A function that is called as the compiled one is; None where this machine has no entry for it."""
    library = opened()
    return _by_record(library, interface, native, signature) if library is not None else None


def memory() -> tuple[int, int]:
    """The addresses of what hands out memory that is kept, and of what takes it back, where there is an entry."""
    library = opened()
    assert library is not None
    taking, giving = (
        ctypes.cast(getattr(library, f"tg_{name}"), ctypes.c_void_p) for name in ("take_memory", "give_memory_back")
    )
    return taking.value or 0, giving.value or 0


def release() -> int:
    """Free the memory that is kept between calls; how many bytes it was."""
    library = opened() if opened.cache_info().currsize else None
    return library.tg_release() if library is not None else 0


def _by_record(
    library: ctypes.PyDLL, interface: Interface, native: Native, signature: Signature
) -> Callable[..., Any] | None:
    table = record(interface, native, signature, objects.scalar_type)
    return library.tg_entry((table.words, *table.objects)) if table is not None else None


@functools.cache
def opened() -> ctypes.PyDLL | None:
    """Library that makes functions, bound and tried; None where this machine has no entry."""
    return objects.tried(_bound, _probe)


def _bound() -> ctypes.PyDLL:
    table = objects.bound()
    results, entry = (Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("results.c", "entry.c"))
    library = compiler.opened(ctypes.PyDLL, f"#define HEAD {objects.HEAD}\n{results}{entry}", ENTRY)
    library.tg_bind((ctypes.c_void_p * len(table))(*table.values()))
    library.tg_entry.argtypes, library.tg_entry.restype = (ctypes.py_object,), ctypes.py_object
    library.tg_release.restype = ctypes.c_int64
    return library


def _probe(library: ctypes.PyDLL, interface: Interface, signature: Signature, code: int) -> Any:
    probe = ctypes.cast(library.tg_probe, ctypes.c_void_p).value or 0
    return _by_record(library, interface, Native(probe, 0, (code,), library), signature)
