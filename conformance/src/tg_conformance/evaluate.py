"""Calls of programs that are compiled together: each item twice, then all at once from eight threads.

Two calls have other values, and other lengths where these are not known: what a rule keeps of the first call shows in
the second. In threads every call has inputs of its own, and gives what it gave alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tg
from tg_conformance import compare
from tg_conformance.threads import THREADS, in_threads
from tg_conformance.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.functions.backends import BackendChoice
    from tg_conformance.case import Item
    from tg_conformance.program import Call, Program

Programs = list[tuple["Program", list["Item"]]]


def evaluate(programs: Programs, backend: BackendChoice, *, rounds: int = 0) -> dict[str, str | None]:
    """What is wrong with each item: all programs as one function.

    Args:
        rounds: how often each of eight threads calls it, besides.
    Raises:
        BackDoorError: the reference has computed for one of several programs, and it cannot be told for which.
    """
    function = tg.function(
        [v for program, _ in programs for v in program.arguments],
        [v for program, _ in programs for v in program.outputs],
        backend=backend,
        name="conformance",
        on_unused_input="ignore",
    )
    wrong: dict[str, str | None] = {item.id: None for _, members in programs for item in members}
    watch = Watch(backend.name)
    for turn in range(max(len(members) for _, members in programs)):
        for number in (0, 1):
            chosen = [(program, members[min(turn, len(members) - 1)]) for program, members in programs]
            calls = [program.call(item, number) for program, item in chosen]
            wants = [program.reference(call) for (program, _), call in zip(chosen, calls, strict=True)]
            with watch:
                outputs = function(*[x for call in calls for x in call.arrays])
            memory = compare.ownership(outputs, [g.buffer for call in calls for g in call.guarded])
            start = 0
            for (program, item), call, want in zip(chosen, calls, wants, strict=True):
                stop = start + len(program.outputs)
                held = next((memory[k] for k in range(start, stop) if k in memory), None)
                found = held or program.wrong(call, outputs[start:stop], want)
                if found and wrong[item.id] is None:
                    wrong[item.id] = f"call {number + 1}: {found}\n  inputs: {shown(call)}"
                start = stop
    watch.refuse_others([program for program, _ in programs])
    for program, members in programs:
        found = watch.told_of(program, is_alone=len(programs) == 1)
        if found:
            wrong.update((item.id, wrong[item.id] or found) for item in members)
    if rounds:
        for name, text in _in_threads(function, programs, backend, rounds).items():
            wrong[name] = wrong[name] or text
    return wrong


def shown(call: Call) -> str:
    """The inputs of a call, short enough for a report."""
    texts = [f"{x.dtype.name}{list(x.shape)} {np.array2string(x, threshold=12, separator=', ')}" for x in call.plain]
    return "; ".join(" ".join(text.split()) for text in texts)


def _in_threads(function: Any, programs: Programs, backend: BackendChoice, rounds: int) -> dict[str, str]:
    """What is wrong with the first item of each program when eight threads call at once."""
    chosen = [(program, members[0]) for program, members in programs]
    sets = [[program.call(item, number) for program, item in chosen] for number in range(THREADS)]
    given = [[x for call in calls for x in call.arrays] for calls in sets]
    alone = [function(*arrays) for arrays in given]
    found = in_threads(function, given, rounds, backend.name)
    wrong: dict[str, str] = {}
    for thread, outputs in found:
        start = 0
        for (program, item), call in zip(chosen, sets[thread], strict=True):
            stop = start + len(program.outputs)
            text = _other(program, call, outputs[start:stop], alone[thread][start:stop])
            if text and item.id not in wrong:
                wrong[item.id] = f"in {THREADS} threads: {text}\n  inputs: {shown(call)}"
            start = stop
    return wrong


def _other(program: Program, call: Call, got: Sequence[Any], want: Sequence[Any]) -> str | None:
    """What differs between the results of the same call, among others and alone; the last digits may."""
    if not all(g.is_untouched for g in call.guarded):
        return "an input or the memory around it was written"
    if all(_same(y, w) for y, w in zip(got, want, strict=True)):
        return None
    return program.apart(call, got, want)


def _same(y: Any, w: Any) -> bool:
    return bool(y.dtype == w.dtype and y.shape == w.shape and y.tobytes() == w.tobytes())
