"""Memory of a call as XLA has planned it, or of operations one by one."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.backend import Plan, plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.backend import FrozenGraph

ALIGNED: Final = 16  # bytes: arrays that lie otherwise are copied


def compiled_memory(graph: FrozenGraph, program: Callable[..., Any], arrays: Sequence[Any]) -> Plan | None:
    """XLA's plan of a compiled program, and the arguments that are copied; None where this XLA does not tell."""
    function, arguments = program, (*arrays,)
    if isinstance(program, functools.partial):
        function, arguments = program.func, (*program.args, *arrays)
    analysis = function.lower(*arguments).compile().memory_analysis()  # type: ignore[attr-defined]
    if analysis is None:
        return None
    copied = sum(a.nbytes for a in arrays if isinstance(a, np.ndarray) and a.ctypes.data % ALIGNED)
    return Plan(analysis.output_size_in_bytes, analysis.temp_size_in_bytes + copied)


def eager_memory(graph: FrozenGraph, program: Callable[..., Any], arrays: Sequence[Any]) -> Plan | None:
    """The values of a program that runs operation by operation, in which nothing is a view."""
    return plan(graph, arrays, frozenset())
