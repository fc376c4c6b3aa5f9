"""Loop nests in Python as machine code: object files by Numba's internals, or addresses by `numba.cfunc` without them.

A release of Numba may change what `tg_numba.internals` takes of it. Then nests are compiled by what Numba promises:
`numba.cfunc`, `numba.njit` and `numba.extending.intrinsic`. They compute the same; but no other process finds such a
program compiled, and what has been compiled stays in memory until the process ends.
"""

from __future__ import annotations

import functools
import hashlib
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numba
from numba.extending import intrinsic

from tg.turns import exclusive
from tg_numba import engine, meanings
from tg_numba.native import COMPILING, Callee, Word
from tg_numba.nest import LENGTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_numba.engine import Code
    from tg_numba.native import Nest

OPTIONS: Final = {"nogil": True, "error_model": "numpy"}
CALLER: Final = """
define internal i64 @{name}({heads}) nounwind {{
  %code = call i64 @"{symbol}"({heads})
  ret i64 %code
}}
"""
_flaws: Final[list[str]] = []  # why internals are not used, once that is known


class Wanted(NamedTuple):
    """A nest that is to be called by a name, and the kinds of its arguments."""

    name: str
    nest: Nest
    kinds: tuple[str, ...]


class Compiled(NamedTuple):
    """Nests as machine code: object files, or addresses by their symbols, and functions by which others call them."""

    codes: Sequence[Code]
    callers: Sequence[str]
    addresses: dict[str, int]


def compiled(wanted: Sequence[Wanted]) -> Compiled:
    """The machine code of nests."""
    if flaw() is None:
        try:
            return _by_internals(wanted)
        except Exception:
            if flaw(tested=True) is None:
                raise
    return _by_cfunc(wanted)


def flaw(*, tested: bool = False) -> str | None:
    """Why Numba's internals cannot be used; None if they can, as far as they import, or as their test tells."""
    if not _flaws:
        try:
            from tg_numba import internals

            if tested:
                internals.check()
        except Exception as error:  # noqa: BLE001 (whatever an internal that is another does)
            _flaws.append(f"{type(error).__name__}: {error}")
    return _flaws[0] if _flaws else None


def _by_internals(wanted: Sequence[Wanted]) -> Compiled:
    from tg_numba import internals

    entries = [internals.overload_of(one.nest, tuple(map(meanings.argument, one.kinds))) for one in wanted]
    codes = [found.code for found in internals.with_callees(entries)]
    callers = [
        engine.nest_caller(one.name, entry.name, [_kind(kind) for kind in one.kinds])
        for one, entry in zip(wanted, entries, strict=True)
    ]
    return Compiled(codes, callers, {})


def _kind(kind: str) -> str:
    return "i64" if kind == LENGTH else "ptr"


# --- by what Numba promises ------------------------------------------------------------------------------------------


@exclusive(COMPILING)
def _by_cfunc(wanted: Sequence[Wanted]) -> Compiled:
    callers, addresses = [], {}
    for one in wanted:
        made = one.nest.overloads.get(one.kinds)
        if made is None:
            signature = numba.types.int64(*map(meanings.argument, one.kinds))
            made = one.nest.overloads[one.kinds] = numba.cfunc(signature, **OPTIONS)(plain(one.nest.function))
        digest = hashlib.blake2b(f"{id(made)}".encode(), digest_size=16).hexdigest()
        addresses[symbol := f"tg.nest.{digest}"] = made.address
        heads = ", ".join(f"{_kind(kind)} %a{k}" for k, kind in enumerate(one.kinds))
        callers.append(CALLER.format(name=one.name, symbol=symbol, heads=heads))
    return Compiled([], callers, addresses)


def plain(function: Any) -> Any:
    """A function of ours that names nothing but what Numba takes."""
    used = set(function.__code__.co_names) & function.__globals__.keys()
    scope = {**function.__globals__, **{name: _plain(function.__globals__[name]) for name in used}}
    cells = tuple(CellType(_plain(cell.cell_contents)) for cell in function.__closure__ or ())
    return FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells or None)


def _plain(thing: Any) -> Any:
    return _made_plain(thing) if isinstance(thing, Word | Callee) else thing


@functools.cache
def _made_plain(thing: Word | Callee) -> Any:
    if isinstance(thing, Word):
        return intrinsic(meanings.of(thing.__name__))
    return numba.njit(**OPTIONS)(plain(thing.function))
