"""Runs over programs, drawn or listed ones, and what was found in them, told once."""

from __future__ import annotations

import contextlib
import signal
import time
from collections import Counter
from typing import NamedTuple

import numpy as np

from tests.enumerate.judge import Data
from tests.enumerate.programs import random_program, short_programs
from tests.enumerate.search import FIRED, Fault, Rewritten, faults, runs, suspects
from tests.enumerate.shrink import Case, least, reproducer

MODES = (("default", frozenset()),) * 6 + (
    ("strict", frozenset()),
    ("finite", frozenset()),
    ("default", frozenset({"exact"})),
    ("default", frozenset({"reassociates"})),
)


MOST = 6  # faults of no single step that are told


class EndlessError(BaseException):
    """Raised in what has had its time; nothing that catches exceptions on the way catches it."""


@contextlib.contextmanager
def limited(seconds):
    """Raise `EndlessError` in what takes longer, of the processor; in the main thread."""

    def ring(number, frame):
        raise EndlessError

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)  # again and again: Python ignores one in a finalizer
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class Find(NamedTuple):
    """A fault and the least program that shows it, as text."""

    fault: Fault
    seed: object
    text: str


class Run:
    """What a run has seen so far.

    Args:
        patience: seconds of the processor for a drawn program, a find if it takes longer; None has no limit.
        modes: modes and what is excluded, one of which a program's seed chooses.
    """

    def __init__(self, *, shrinks=True, known=(), patience=None, modes=MODES):
        self.outputs = self.programs = self.skipped = 0
        self.finds: list[Find] = []
        self.again: Counter = Counter(known)  # by rule and class
        self.shrinks, self.patience, self.modes = shrinks, patience, modes
        self.started = time.perf_counter()

    @property
    def seconds(self):
        return time.perf_counter() - self.started

    def one(self, program, seed, *, datas=("tame", "hostile", "infinite")):
        """Compare a program with what rewriting makes of it."""
        try:
            inputs, outputs = program.built(program.known)
        except Exception:  # noqa: BLE001 (with unknown lengths it cannot be written)
            self.skipped += 1
            return
        if not outputs:
            return
        mode, exclude = self.modes[hash_of(seed) % len(self.modes)]
        rng = np.random.default_rng(hash_of(seed))
        ones = () if program.known else program.ones
        self.programs += 1
        self.outputs += len(outputs)
        try:
            rewritten = Rewritten(inputs, outputs, ones, mode=mode, exclude=exclude)
        except Exception as error:  # noqa: BLE001 (of whatever kind: it is a fault, if the program is one)
            if not program.is_raw:
                self.rewriting_raised(inputs, outputs, ones, program, rng, error, seed)
            return
        for name in datas:
            arrays = program.arrays(name, rng)
            if arrays is None:  # what is assumed of them cannot be made true
                continue
            data = Data(name, rewritten.inputs, arrays, tame=name == "tame", infinite=name == "infinite")
            try:
                found = faults(rewritten, data, raw=program.is_raw)
            except MemoryError:
                continue
            except Exception as error:  # noqa: BLE001 (of the judge itself: a find, and no reason to stop)
                found = [Fault("?", "judge", f"the judge raises {error!r}", "", data, None)]
            again = lambda out, built=(inputs, outputs, ones): Rewritten(*built, mode=mode, exclude=out)  # noqa: E731
            for fault in found:
                named = fault
                if fault.rule == "?" and self.again["?", fault.kind] < MOST:
                    names = ", ".join(suspects(rewritten, fault, again))
                    named = fault._replace(step=f"{fault.step}; not without {names or '?'}")
                self.note(named, rewritten.before, data.arrays, seed, mode, exclude)
            if found:
                return

    def took_too_long(self, family, seed):
        """Note that a program has had its time."""
        fault = Fault("?", "time", f"{family} {seed}: not done after {self.patience:g} s", "", None, None)
        self.again[fault.rule, fault.kind] += 1
        self.finds.append(Find(fault, seed, f"# {fault.doubt}\n"))

    def rewriting_raised(self, inputs, outputs, ones, program, rng, error, seed):
        from tg.graph.function_graph import FunctionGraph

        try:
            frozen = FunctionGraph.of(inputs, outputs, ones).freeze()
        except Exception:  # noqa: BLE001
            return
        data = Data("tame", inputs, program.arrays("tame", rng), tame=True)
        if runs(frozen, data):
            fault = Fault(
                "?",
                "rewriting",
                f"rewriting raises {type(error).__name__}: {str(error).splitlines()[0]}",
                "",
                data,
                None,
            )
            self.note(fault, frozen, data.arrays, seed, "default", frozenset())

    def note(self, fault, frozen, arrays, seed, mode, exclude):
        key = (fault.rule, fault.kind)
        self.again[key] += 1
        if self.again[key] > (1 if fault.rule != "?" else MOST):
            return
        case = None
        if self.shrinks:
            try:
                case = least(frozen, fault, arrays, mode=mode, exclude=exclude)
            except Exception:  # noqa: BLE001 (then it is shown as it was drawn)
                case = None
        text = reproducer(case or Case(frozen, arrays), fault, mode, exclude)
        self.finds.append(Find(fault, seed, text))


def hash_of(seed):
    return seed if isinstance(seed, int) else sum(map(ord, str(seed)))


def drawn(run, family, seeds, until=None):
    """Compare random programs of a family."""
    for seed in seeds:
        if until is not None and time.perf_counter() > until:
            return
        try:
            with limited(run.patience) if run.patience else contextlib.nullcontext():
                try:
                    program = random_program(family, seed)
                except Exception:  # noqa: BLE001
                    run.skipped += 1
                    continue
                run.one(program, seed)
        except EndlessError:
            run.took_too_long(family, seed)


def listed(run, family, dtype, size, shard=(0, 1), until=None):
    """Compare every short program of a family."""
    for k, program in enumerate(short_programs(family, dtype, size)):
        if until is not None and time.perf_counter() > until:
            return
        if k % shard[1] == shard[0]:
            run.one(program, f"{family} {dtype} {size} {k}")


__all__ = ["FIRED", "Run", "drawn", "listed"]
