"""What is written of a program: a module in memory, made now or by a process before this one.

Beside the rewritten program is kept the name of its machine code in the cache, and what the code is given by its
process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tg_native.calls.blas import blas
from tg_native.plan.shapes import needs_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from tg.backend import FrozenGraph
    from tg_native.graphs.written import Shown
    from tg_numba.engine import Loaded


class Needs(NamedTuple):
    """What machine code is given by its process: the data of constants, and functions of BLAS by their names."""

    arrays: tuple[np.ndarray[Any, Any], ...]
    blas: tuple[str, ...]

    def addresses(self) -> dict[str, int]:
        """The addresses, by the names that code has for them."""
        data = {f"tg.data{k}": array.ctypes.data for k, array in enumerate(self.arrays)}
        return {**data, **{f"tg.blas.{name}": blas().table[name] for name in self.blas}}


class Program(NamedTuple):
    """A module in memory: how it is shown, its entries, their addresses (0: there is no plan), and what these refer to.

    `name` is that of its machine code in the cache; None where it is not kept.
    """

    shown: Shown
    run: Callable[..., int]
    plan: Callable[..., int] | None
    addresses: tuple[int, int]
    name: str | None
    needs: Needs
    owners: tuple[object, ...]


def in_memory(
    graph: FrozenGraph,
    loaded: Loaded,
    name: str | None,
    needs: Needs,
    shown: Shown,
    owners: tuple[object, ...] = (),
) -> Program:
    """The module of a graph whose machine code has been loaded."""
    counts = entry_counts(graph)
    run = loaded.caller("run", counts["run"])
    plan = loaded.caller("plan", counts["plan"]) if "plan" in counts else None
    places = (loaded.address("run"), loaded.address("plan") if plan is not None else 0)
    return Program(shown, run, plan, places, name, needs, (loaded, *owners))


def entry_counts(graph: FrozenGraph) -> dict[str, int]:
    """How many arrays each entry of a graph's module takes."""
    report = 1 if graph.checks else 0
    counts = {"run": graph.arity + len(graph.outputs) + report}
    return {**counts, "plan": graph.arity + 1 + report} if needs_plan(graph) else counts


def operand(name: str) -> str:
    """An address that is the same throughout the process, as code has it."""
    return f'@"tg.{name}"'
