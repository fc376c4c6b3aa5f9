"""Calling a compiled program from Python: what runs where no entry in machine code stands for it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.link.perform import explained
from tg_native.graphs.failure import Failure, failed
from tg_native.plan.shapes import LENGTH_SCOPE, python_length, results_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tg.graph.frozen import FrozenGraph

    Array = np.ndarray[Any, Any]

USABLE: Final = 0x101  # of ndarray.flags.num: contiguous in C order, and aligned


class Call(NamedTuple):
    """Call of a program with inputs `a0`, `a1` and so on and outputs `y0`, `y1` and so on.

    Args:
        given: the arguments; `found` are the lengths of the outputs where there is a plan.
        scope: what they use; `run` is the program, which gives a code, and `new_status` makes the memory for one.
        unread: the status that nobody will read, behind the arguments; "" if the program takes none.
        before: lines that come before.
        plan: gives for inputs, and so many lengths of all outputs, a code, these lengths, and a status; None where they
            follow from those of the inputs.
    """

    given: str
    scope: Mapping[str, Any]
    unread: str = ""
    before: Sequence[str] = ()
    plan: Callable[[Sequence[Array], int], tuple[int, Sequence[int], Iterable[int]]] | None = None

    @property
    def lines(self) -> list[str]:
        """The lines that call the program and return from a call that failed."""
        if not self.unread:
            run = f"code = run({self.given})"
            again = f"while code == {int(Failure.INTERRUPTED)}: {run}"  # by what the signal's handler did not raise for
            return [*self.before, run, again, "if code: return failed(arrays, code, ())"]
        run = f"code = run({self.given}, status)"
        return [
            *self.before,
            f"if run({self.given}, {self.unread}):",  # once more, to see the values that the check reports
            "    status = new_status()",
            f"    {run}",
            f"    while code == {int(Failure.INTERRUPTED)}: {run}",
            "    if code: return failed(arrays, code, status)",
        ]


def caller(backend: str, graph: FrozenGraph, call: Call) -> Callable[..., Any]:
    """`run` as a function made for a program: tests layouts, allocates outputs, calls, looks at the code."""
    names, fails = [f"a{k}" for k in range(graph.arity)], functools.partial(failed, backend, graph)
    everything: dict[str, Any] = {
        "__name__": "tg.link",
        "empty": np.empty,
        **LENGTH_SCOPE,
        "failed": fails,
        "plan": _planned(graph, call.plan, fails) if call.plan is not None else None,
        "refused": functools.partial(explained, graph),
        "usable": _usable,
        **call.scope,
    }
    lines = ["def call(arrays):"]
    if names:
        lines.append(f"    {', '.join(names)}, = arrays")
    lines += [f"    if {a}.flags.num & {USABLE} != {USABLE}: {a} = usable({a})" for a in names]
    if call.plan is not None:
        lines.append(f"    found = plan(({', '.join(names)}{',' if names else ''}))")
        lines.append("    if type(found) is tuple: return found")
    at = 0
    results: dict[str, str] = {}
    for k, number in enumerate(graph.outputs):
        t = graph.types[number]
        if call.plan is None:
            lengths = [python_length(d, graph) for d in graph.symbolic[number].shape]
            shape = f"({', '.join(lengths)},)" if lengths else "()"
        else:
            shape = f"tuple(found[{at}:{at + t.ndim}])"
            at += t.ndim
        everything[f"T{k}"] = t.numpy_dtype
        results[f"y{k}"] = f"empty({shape}, T{k})"
    lines += [*results_text(results), *(f"    {line}" for line in call.lines), f"    return [{', '.join(results)}], ()"]
    exec(compile("\n".join(lines), "<tg caller>", "exec"), everything)
    return everything["call"]  # type: ignore[no-any-return]


def _planned(
    graph: FrozenGraph, plan: Callable[..., tuple[int, Sequence[int], Iterable[int]]], fails: Callable[..., Any]
) -> Callable[[Sequence[Array]], Any]:
    """A function from the inputs to the list of the lengths of all outputs, or to the result of a call that failed."""
    size = sum(graph.types[number].ndim for number in graph.outputs)

    def planned(arrays: Sequence[Array]) -> Any:
        code, lengths, status = plan(arrays, size)
        return fails(arrays, code, status) if code else list(lengths)

    return planned


def _usable(array: Array) -> Array:
    """A copy that is contiguous in C order and aligned."""
    return np.array(array, order="C", copy=True)
