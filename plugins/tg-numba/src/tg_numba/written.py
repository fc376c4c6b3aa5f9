"""Code of a program: a module in memory, made now or by a process before this one.

Beside the rewritten program is kept the name of its machine code in the cache, and what the code is given by its
process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tg_native.calls.blas import blas
from tg_native.calls.transforms import transforms

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from tg_native.calls.interface import Interface
    from tg_native.graphs.written import Shown
    from tg_numba.engine import Loaded


def address_of(name: str) -> int:
    """The address of a function of BLAS or LAPACK, or of a transform."""
    table = blas().table
    return table[name] if name in table else transforms()[name]


class Needs(NamedTuple):
    """Needs of machine code that its process meets: the data of constants, and functions of BLAS by their names."""

    arrays: tuple[np.ndarray[Any, Any], ...]
    blas: tuple[str, ...]

    def addresses(self) -> dict[str, int]:
        """The addresses, by the names that code has for them."""
        data = {f"tg.data{k}": array.ctypes.data for k, array in enumerate(self.arrays)}
        return {**data, **{f"tg.blas.{name}": address_of(name) for name in self.blas}}


class Program(NamedTuple):
    """A module in memory: how it is shown, its entries, their addresses (0: there is no plan), and what these refer to.

    `name` is that of its machine code in the cache, None where it is not kept; an entry has to know the `interface`.
    """

    shown: Shown
    run: Callable[..., int]
    plan: Callable[..., int] | None
    addresses: tuple[int, int]
    name: str | None
    needs: Needs
    interface: Interface
    owners: tuple[object, ...]


def in_memory(
    interface: Interface,
    loaded: Loaded,
    name: str | None,
    needs: Needs,
    shown: Shown,
    owners: tuple[object, ...] = (),
) -> Program:
    """The module whose machine code has been loaded."""
    counts = entry_counts(interface)
    run = loaded.caller("run", counts["run"])
    plan = loaded.caller("plan", counts["plan"]) if "plan" in counts else None
    places = (loaded.address("run"), loaded.address("plan") if plan is not None else 0)
    return Program(shown, run, plan, places, name, needs, interface, (loaded, *owners))


def entry_counts(interface: Interface) -> dict[str, int]:
    """Number of arrays that each entry of a module takes."""
    report = 1 if interface.has_checks else 0
    counts = {"run": len(interface.dtypes) + report}
    return {**counts, "plan": len(interface.inputs) + 1 + report} if interface.has_plan else counts


def operand(name: str) -> str:
    """An address that is the same throughout the process, as code has it."""
    return f'@"tg.{name}"'
