"""Calling a compiled program from Python: what runs where no entry in machine code stands for it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.link.linker import Executable
from tg.link.perform import explained
from tg_native.plan.shapes import LENGTH_SCOPE, python_length, results_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.link.linker import Request, Status
    from tg_native.graphs.written import Shown

    Array = np.ndarray[Any, Any]

USABLE: Final = 0x101  # of ndarray.flags.num: contiguous in C order, and aligned


class Compiled(Executable):
    """A compiled program and how to call it."""

    def __init__(self, graph: FrozenGraph, request: Request, shown: Shown, call: Callable[..., Any]) -> None:
        self.graph, self.request, self._shown = graph, request, shown
        self.run = call  # type: ignore[method-assign]

    def run(self, arrays: Sequence[Array]) -> tuple[Sequence[Any], Status]:
        """Call the program: `__init__` puts the caller here that is made for it."""
        raise NotImplementedError

    def source(self) -> str:
        """The loops and the functions of graphs, with the user's lines and names."""
        return self._shown(full=False)

    def full_source(self) -> str:
        """All that is compiled, with the user's lines."""
        return self._shown(full=True)


def caller(
    graph: FrozenGraph, plan: Callable[..., Any] | None, call: Sequence[str], scope: Mapping[str, Any]
) -> Callable[..., Any]:
    """`run` as a function made for a program: tests layouts, allocates outputs, calls, looks at the code.

    Args:
        plan: gives for inputs the lengths of all outputs, one after another, or the result of a call that failed; None
            where they follow from those of the inputs.
        call: the lines that call the program for inputs `a0`, `a1` and so on and outputs `y0`, `y1` and so on, and
            return from a call that failed; `found` are the lengths of the outputs where there is a plan.
        scope: what they use.
    """
    names = [f"a{k}" for k in range(graph.arity)]
    everything: dict[str, Any] = {
        "__name__": "tg.link",
        "empty": np.empty,
        **LENGTH_SCOPE,
        "plan": plan,
        "refused": functools.partial(explained, graph),
        "usable": _usable,
        **scope,
    }
    lines = ["def call(arrays):"]
    if names:
        lines.append(f"    {', '.join(names)}, = arrays")
    lines += [f"    if {a}.flags.num & {USABLE} != {USABLE}: {a} = usable({a})" for a in names]
    if plan is not None:
        lines.append(f"    found = plan(({', '.join(names)}{',' if names else ''}))")
        lines.append("    if type(found) is tuple: return found")
    at = 0
    results: dict[str, str] = {}
    for k, number in enumerate(graph.outputs):
        t = graph.types[number]
        if plan is None:
            lengths = [python_length(d, graph) for d in graph.symbolic[number].shape]
            shape = f"({', '.join(lengths)},)" if lengths else "()"
        else:
            shape = f"tuple(found[{at}:{at + t.ndim}])"
            at += t.ndim
        everything[f"T{k}"] = t.numpy_dtype
        results[f"y{k}"] = f"empty({shape}, T{k})"
    lines += [*results_text(results), *(f"    {line}" for line in call), f"    return [{', '.join(results)}], ()"]
    exec(compile("\n".join(lines), "<tg caller>", "exec"), everything)
    return everything["call"]  # type: ignore[no-any-return]


def planned_size(graph: FrozenGraph) -> int:
    """How many lengths all outputs have."""
    return sum(graph.types[number].ndim for number in graph.outputs)


def _usable(array: Array) -> Array:
    """A copy that is contiguous in C order and aligned."""
    return np.array(array, order="C", copy=True)
