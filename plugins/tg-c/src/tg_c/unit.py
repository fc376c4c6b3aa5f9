"""Open a compiled unit and call it.

Every unit has the same entries, so cffi describes them by one module made in advance, `_entry`: no C is parsed when
tg runs. After a change of `DECLARATIONS`, make it again with

    python -m tg_c.unit

A call from Python costs 1.2 µs with one input and one output and 2.3 µs with five and five: 0.1 µs an array for
`ffi.from_buffer` (`__array_interface__` takes 0.9), 0.2 µs for the call and the GIL, the rest for the lists. cffi
makes C arrays of lists faster while calling than `ffi.new` does before.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from tg.backend import Span
from tg_c import pool
from tg_c._entry import ffi
from tg_c.compiler import USUAL, Flags, opened
from tg_native.calls import transforms
from tg_native.calls.blas import Blas, blas

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from tg_c.objects import Loop

__all__ = ["DECLARATIONS", "Unit", "load"]

DECLARATIONS = """
int64_t tg_run(const void *const *inputs, const int64_t *dims, void *const *outputs, int64_t *status);
int64_t tg_plan(const void *const *inputs, const int64_t *dims, int64_t *out_dims, int64_t *status);
void tg_bind(void *const *table);
void tg_bind_transforms(void *const *table);
void tg_help(void *share);
void tg_lend(void *lender, void *taker);
"""

ENTRY_HEADER = "# ruff: noqa: E501, Q000\n# fmt: off\n# mypy: ignore-errors\n"
STATUS_VALUES = 9

_STATUS = ffi.typeof(f"int64_t[{STATUS_VALUES}]")
_DIMS = ffi.typeof("int64_t[]")
_BYTES = ffi.typeof("char[]")
_new: Any = ffi.new
_data_of: Any = ffi.from_buffer


@final
class Unit:
    """A loaded shared object with the entries of `DECLARATIONS`.

    Inputs and outputs are C-contiguous, aligned arrays of the dtypes and ranks that the unit was generated for; a unit
    gets the lengths of its inputs and nothing else about its arrays. Any number of threads may call at once: a call
    keeps everything in its own frame, and runs without the GIL.

    The object is closed when the last reference to it is gone; a running call is one. Addresses of its functions and
    threads that it started do not count: whoever keeps those keeps the Unit.
    """

    __slots__ = ("__weakref__", "_library", "_plan", "_run", "path")

    def __init__(self, path: Path, table: Blas | None = None) -> None:
        """Open `path` and bind it to `table`, by default the process's BLAS, and to its threads, if it asks for them.

        Raises:
            OSError: the file is not there, is damaged, or needs a symbol that nothing has.
        """
        self.path = path
        self._library: Any = ffi.dlopen(os.fspath(path))
        self._run: Any = self._library.tg_run
        self._plan: Any = self._library.tg_plan
        bind = self._function("tg_bind")
        if bind is not None:
            bind([ffi.cast("void *", pointer) for pointer in (table or blas()).pointers()])
        bind = self._function("tg_bind_transforms")
        if bind is not None:
            bind([ffi.cast("void *", pointer) for pointer in transforms.pointers()])
        get_help = self._function("tg_help")
        if get_help is not None:
            get_help(ffi.cast("void *", pool.share()))

    def lend(self, lender: int, taker: int) -> None:
        """Have the unit take large memory from the function at an address, and give it back to another."""
        self._library.tg_lend(ffi.cast("void *", lender), ffi.cast("void *", taker))

    def _function(self, name: str) -> Any:
        """A function that not every unit has."""
        try:
            return getattr(self._library, name)
        except ffi.error:
            return None

    def run(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> tuple[int, tuple[int, ...]]:
        """Compute into `outputs`; return 0 and (), or 1 + the id of the check that failed and its values.

        Raises:
            ValueError: an array is not C-contiguous.
            BufferError, ValueError: an output is read-only.
        """
        dims: list[int] = []
        for array in inputs:
            dims += array.shape
        status = _new(_STATUS)
        code: int = self._run(
            [_data_of(array) for array in inputs],
            dims,
            [_data_of(_BYTES, array, True) for array in outputs],  # True: writable; by keyword it takes 0.2 µs more
            status,
        )
        return (code, tuple(status)) if code else (0, ())

    def plan(
        self, inputs: Sequence[np.ndarray], count: int, extra: Sequence[Any] = ()
    ) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """The `count` lengths of all outputs, one output after another: (0, lengths, ()); `extra` are more pointers.

        Where a check fails: (1 + its id, (), its values).
        """
        dims: list[int] = []
        for array in inputs:
            dims += array.shape
        status = _new(_STATUS)
        lengths = _new(_DIMS, count)
        code: int = self._plan([*map(_data_of, inputs), *extra], dims, lengths, status)
        return (code, (), tuple(status)) if code else (0, tuple(lengths), ())

    def address(self, symbol: str) -> int:
        """The address of one of the entries, valid while this Unit lives."""
        return int(ffi.cast("intptr_t", getattr(self._library, symbol)))


def load(source: str, options: Flags = USUAL, loops: Sequence[Loop] = ()) -> Unit:
    """The unit of `source`, from the cache or compiled now; one that the cache lost or damaged is compiled again."""
    return opened(_open_unit, source, options, loops)


def _open_unit(path: str) -> Unit:
    with Span("open"):
        return Unit(Path(path))


def write_entry_module(path: Path) -> None:
    """Describe `DECLARATIONS` as a Python module that needs only cffi's C part."""
    import cffi  # with pycparser 13 ms, and never when tg runs

    description = cffi.FFI()
    description.set_source("_entry", None)
    description.cdef(DECLARATIONS)
    description.emit_python_code(os.fspath(path))
    path.write_text(ENTRY_HEADER + path.read_text(encoding="utf-8"), encoding="utf-8")


if __name__ == "__main__":
    write_entry_module(Path(__file__).with_name("_entry.py"))
