"""Calls of programs that are compiled together: each item twice, some fifty times, then all from eight threads.

Two calls have other values, and other lengths where these are not known: what a rule keeps of the first call shows in
the second. Elementwise functions of scalars, and of arrays of no or one element, are called up to the fiftieth time. In
threads every call has inputs of its own, and gives what it gave alone. The state of the process stays as it was.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.ops.elementwise.record import ElementwiseFunction
from tg.plugin.case import OTHER_SHAPE
from tg_conformance import compare
from tg_conformance.state import StateError, changed, leak, snapshot, threads
from tg_conformance.threads import THREADS, in_threads
from tg_conformance.watch import REFERENCE, Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from threading import Thread

    from tg.functions.backends import BackendChoice
    from tg_conformance.case import Item
    from tg_conformance.program import Call, Program

CALLS: Final = 50
Programs = list[tuple["Program", list["Item"]]]


def evaluate(
    programs: Programs, backend: BackendChoice, *, rounds: int = 0, copied: Mapping[object, str] = MappingProxyType({})
) -> dict[str, str | None]:
    """The fault of each item, None if there is none: all programs as one function.

    Args:
        rounds: how often each of eight threads calls it, besides.
        copied: what is wrong with ops whose reference somebody has copied.
    Raises:
        BackDoorError: the reference has computed for one of several programs, and it cannot be told for which.
        StateError: the state of the process is not what it was, or calls leave something behind.
    """
    before = snapshot()
    function = tg.function(
        [v for program, _ in programs for v in program.arguments],
        [v for program, _ in programs for v in program.outputs],
        backend=backend,
        name="conformance",
        on_unused_input="ignore",
    )
    wrong: dict[str, str | None] = {item.id: None for _, members in programs for item in members}
    watch = Watch(backend.name, copied)
    for turn in range(max(len(members) for _, members in programs)):
        for number in (0, 1):
            chosen = [(program, members[min(turn, len(members) - 1)]) for program, members in programs]
            calls = [program.call(item, number) for program, item in chosen]
            wants = [program.reference(call) for (program, _), call in zip(chosen, calls, strict=True)]
            arrays = [x for call in calls for x in call.arrays]
            with watch:
                outputs = function(*arrays)
            memory = compare.ownership(outputs, [g.buffer for call in calls for g in call.guarded])
            start = 0
            for (program, item), call, want in zip(chosen, calls, wants, strict=True):
                stop = start + len(program.outputs)
                held = next((memory[k] for k in range(start, stop) if k in memory), None)
                fault = held or program.wrong(call, outputs[start:stop], want)
                if fault and wrong[item.id] is None:
                    wrong[item.id] = f"call {number + 1}: {fault}\n  inputs: {shown(call)}"
                start = stop
            if number == turn == 0:
                alive = threads()
    if _is_cheap(programs) and backend.name != REFERENCE:
        wrong_later = _up_to(CALLS, lambda: function(*arrays), outputs, chosen, calls, watch)
        wrong.update((name, wrong[name] or text) for name, text in wrong_later.items())
    watch.refuse_others([program for program, _ in programs])
    for program, members in programs:
        fault = watch.told_of(program, is_alone=len(programs) == 1)
        if fault:
            wrong.update((item.id, wrong[item.id] or fault) for item in members)
    if rounds:
        for name, text in _in_threads(function, programs, backend, rounds).items():
            wrong[name] = wrong[name] or text
    _refuse_changes(before, alive)
    return wrong


def _refuse_changes(before: Mapping[str, Any], alive: frozenset[Thread]) -> None:
    """Raise where the state of the process is not what it was, or calls after the first have left threads.

    Raises:
        StateError: it is, or they have.
    """
    text = changed(before, snapshot())
    left = [one for one in threads() - alive if not one.name.startswith("tg-")]
    if text is None and left:
        text = f"calls after the first left threads: {', '.join(sorted(one.name for one in left))}"
    if text is not None:
        raise StateError(text)


def _is_cheap(programs: Programs) -> bool:
    """Whether programs are elementwise functions of hardly any elements: all records have such items."""
    return all(
        program.shape_class in OTHER_SHAPE
        and program.kind == "value"
        and isinstance(program.case.subject, ElementwiseFunction)
        for program, _ in programs
    )


def _up_to(
    count: int,
    again: Callable[[], Sequence[Any]],
    wants: Sequence[Any],
    chosen: Sequence[tuple[Program, Item]],
    calls: Sequence[Call],
    watch: Watch,
) -> dict[str, str]:
    """The fault of each item in one of many calls with the same inputs.

    Raises:
        StateError: each call leaves memory behind.
    """
    wrong: dict[str, str] = {}
    for number in range(3, count + 1):
        with watch:
            outputs = again()
        start = 0
        for (program, item), call in zip(chosen, calls, strict=True):
            stop = start + len(program.outputs)
            text = _other(program, call, outputs[start:stop], wants[start:stop])
            if text and item.id not in wrong:
                wrong[item.id] = f"call {number}: {text}\n  inputs: {shown(call)}"
            start = stop
    text = leak(again)
    if text is not None:
        raise StateError(text)
    return wrong


def shown(call: Call) -> str:
    """The inputs of a call, short enough for a report."""
    texts = [f"{x.dtype.name}{list(x.shape)} {np.array2string(x, threshold=12, separator=', ')}" for x in call.plain]
    return "; ".join(" ".join(text.split()) for text in texts)


def _in_threads(function: Any, programs: Programs, backend: BackendChoice, rounds: int) -> dict[str, str]:
    """The fault of the first item of each program when eight threads call at once."""
    chosen = [(program, members[0]) for program, members in programs]
    sets = [[program.call(item, number) for program, item in chosen] for number in range(THREADS)]
    inputs = [[x for call in calls for x in call.arrays] for calls in sets]
    alone = [function(*arrays) for arrays in inputs]
    results = in_threads(function, inputs, rounds, backend.name)
    wrong: dict[str, str] = {}
    for thread, outputs in results:
        start = 0
        for (program, item), call in zip(chosen, sets[thread], strict=True):
            stop = start + len(program.outputs)
            text = _other(program, call, outputs[start:stop], alone[thread][start:stop])
            if text and item.id not in wrong:
                wrong[item.id] = f"in {THREADS} threads: {text}\n  inputs: {shown(call)}"
            start = stop
    return wrong


def _other(program: Program, call: Call, got: Sequence[Any], want: Sequence[Any]) -> str | None:
    """The difference between the results of the same call, among others and alone; the last digits may differ."""
    if not all(g.is_untouched for g in call.guarded):
        return "an input or the memory around it was written"
    if all(_same(y, w) for y, w in zip(got, want, strict=True)):
        return None
    return program.apart(call, got, want)


def _same(y: Any, w: Any) -> bool:
    return bool(y.dtype == w.dtype and y.shape == w.shape and y.tobytes() == w.tobytes())
