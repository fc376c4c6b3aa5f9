"""Running items on a backend inside a worker: compiled together, called, compared; what fails is taken apart."""

from __future__ import annotations

import functools
import math
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg import plugin
from tg.graph.function_graph import freeze
from tg.ops.catalog import FAMILIES
from tg.ops.elementwise.record import ElementwiseFunction
from tg_conformance import compare
from tg_conformance.choice import choice
from tg_conformance.evaluate import evaluate
from tg_conformance.lowered import covered, gap_name, gaps_in, lowered
from tg_conformance.outcome import NOT_RUN, Outcome
from tg_conformance.program import Program, drawn
from tg_conformance.state import StateError
from tg_conformance.threads import ThreadsError
from tg_conformance.watch import BackDoorError, copied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.functions.backends import BackendChoice
    from tg.plugin import Gap
    from tg_conformance.case import Item


OFTEN: Final = 10  # after how many batches copies of the reference are looked for again
NO_CASE: Final = "it covers no case"
LOOSE: Final = 16.0  # by how much a gap may state more than the largest error that is found


class Evidence:
    """The evidence of programs for a gap whose answers differ: the dtypes in which they do, and by how much."""

    def __init__(self, gap: Gap) -> None:
        self.gap = gap
        self.errors: dict[str, float] = {}  # the largest in each dtype that was seen, in units of the last place
        self._off: dict[bool, set[str]] = {True: set(), False: set()}  # by whether a program has one dtype alone
        self._alone: set[str] = set()

    def add(self, dtypes: set[str], error: float | None) -> None:
        """Take the error of a program in which the gap covers nodes of some dtypes; None where it is right."""
        self.errors.update((name, max(error or 0.0, self.errors.get(name, 0.0))) for name in dtypes)
        self._alone |= dtypes if len(dtypes) == 1 else set()
        self._off[len(dtypes) == 1] |= dtypes if error is not None else set()

    @property
    def right(self) -> list[str]:
        """The dtypes in which nothing is off; of a program of several it is not known which one was."""
        return sorted(self.errors.keys() - self._off[True] - (self._off[False] - self._alone))

    @property
    def is_enough(self) -> bool:
        """Whether more programs could show nothing against the gap."""
        return self.gap.dtypes is not None and not self.fault()

    def fault(self) -> str:
        """The fault of the gap; "" if there is none."""
        if not self.errors:
            return f"{NO_CASE} that no other gap covers"
        worst, unseen = max(self.errors.values()), sorted((self.gap.dtypes or set()) - self.errors.keys())
        if unseen:
            return f"{NO_CASE} of {', '.join(unseen)}: narrow the gap"
        if self.right:
            return f"without it all that it covers in {', '.join(self.right)} is right: remove or narrow the gap"
        assert self.gap.accuracy is not None
        if self.gap.accuracy > LOOSE * worst:
            error = f"the largest error is {worst:.3g}: state {LOOSE * worst:.3g} at most"
            return f"it states {self.gap.accuracy:g} ulp, and {error}"
        return ""


class Runner:
    """Runs items on one backend."""

    def __init__(
        self, backend: str, journal: Callable[..., None], options: Iterable[str] = (), *, rounds: int = 2
    ) -> None:
        """A runner on `backend` with options, given as `NAME=VALUE`.

        Each program is called `rounds` times by each of eight threads; `journal(ids)` is told what runs next, and
        `journal(ids, reason)` what is tried past a gap with this reason.
        """
        self.backend, self.journal, self.choice = backend, journal, choice(backend, options)
        self.gaps, self.rules = plugin.registry().gaps(backend), plugin.registry().rules(backend)
        self.rounds = rounds
        self.batches, self.copied = 0, dict[object, str]()
        self.dtypes = plugin.registry().backend(backend).dtypes

    def run(self, items: Sequence[Item]) -> list[Outcome]:
        """The outcomes of a batch, in any order."""
        if self.batches % OFTEN == 0:  # a look takes 0.1 s, and 0.3 beside a framework
            self.copied.update(copied(self.backend))
        self.batches += 1
        outcomes: list[Outcome] = []
        together: list[tuple[Program, list[Item]]] = []
        for members in _by_program(items):
            started = time.perf_counter()
            if members[0].kind in ("error", "script"):
                self.journal([item.id for item in members])
                outcomes += [self._alone(item) for item in members]
                continue
            try:
                program = Program(members[0])
                gaps = self.covering(program)
            except Exception:  # noqa: BLE001 (whatever a case raises while it is built is its failure)
                outcomes += [_failed(item, f"building the case: {_trace()}", started) for item in members]
                continue
            if gaps:
                outcomes += self._gapped(program, members, gaps)
            else:
                together.append((program, members))
        return outcomes + self._together(together)

    def _alone(self, item: Item) -> Outcome:
        """The outcome of an item that raises or makes its own functions."""
        started = time.perf_counter()
        try:
            detail = (_error if item.kind == "error" else _script)(item, self.choice)
        except Exception:  # noqa: BLE001
            detail = _trace()
        gap = self._refused(item) if detail and item.kind == "error" else None
        seconds = time.perf_counter() - started
        if gap is not None:
            return Outcome(item.id, "xfailed", gap.reason, seconds)
        lacking = self._unclaimed_by(item) if detail and item.kind == "error" else None
        if lacking is not None:
            return Outcome(item.id, NOT_RUN, lacking, seconds)
        return Outcome(item.id, "failed" if detail else "passed", detail or "", seconds)

    def _refused(self, item: Item) -> Gap | None:
        """The gap for which compiling an item that is to raise raises already, as the gap says."""
        try:
            program = Program(item)
            gap = next(iter(self.covering(program)), None)
        except Exception:  # noqa: BLE001 (what the case is about)
            return None
        if gap is None or gap.raises is None:
            return None
        try:
            tg.function(program.arguments, program.outputs, backend=self.choice, on_unused_input="ignore")
        except gap.raises:
            return gap
        except Exception:  # noqa: BLE001 (not what the gap says)
            return None
        return None

    def _together(self, programs: list[tuple[Program, list[Item]]]) -> list[Outcome]:
        """Outcomes of programs compiled as one function; halves of them where that raises."""
        if not programs:
            return []
        started = time.perf_counter()
        self.journal([item.id for _, members in programs for item in members])
        try:
            wrong = evaluate(programs, self.choice, rounds=self.rounds, copied=self.copied)
        except Exception as error:  # noqa: BLE001
            raised = error
        else:
            return _passed(programs, wrong, time.perf_counter() - started)
        if len(programs) == 1:
            return self._raised(*programs[0], raised, started)
        middle = len(programs) // 2
        outcomes = self._together(programs[:middle]) + self._together(programs[middle:])
        if isinstance(raised, ThreadsError | BackDoorError | StateError) and all(
            one.outcome == "passed" for one in outcomes
        ):
            return [_failed(item, str(raised), started) for _, members in programs for item in members]
        return outcomes

    def _raised(self, program: Program, members: list[Item], error: Exception, started: float) -> list[Outcome]:
        """One program raised: with several items, each is run alone."""
        if len(members) > 1:
            return [one for item in members for one in self._together([(program, [item])])]
        gaps = self.covering(program, thorough=True) if isinstance(error, tg.NoRuleError) else []
        if gaps:
            return self._gapped(program, members, gaps)
        lacking = self.unclaimed(program) if isinstance(error, tg.NoRuleError) else None
        if lacking is not None:
            return [Outcome(members[0].id, NOT_RUN, lacking, time.perf_counter() - started)]
        return [_failed(members[0], str(error) if isinstance(error, StateError) else _trace(error), started)]

    def unclaimed(self, program: Program) -> str | None:
        """Why a program is none of the backend's: the case itself computes in a dtype that the backend does not claim.

        What counts is the case as written: a dtype that rewriting brings in is no excuse.
        """
        used = {t.dtype for t in freeze(program.arguments, program.outputs).types}
        lacking = sorted(used - self.dtypes) if self.dtypes else []
        return f"it computes in {', '.join(lacking)}, which the backend does not claim" if lacking else None

    def _unclaimed_by(self, item: Item) -> str | None:
        """The same of an item that is to raise, where compiling it raises for want of a rule."""
        try:
            program = Program(item)
            tg.function(program.arguments, program.outputs, backend=self.choice, on_unused_input="ignore")
        except tg.NoRuleError:
            return self.unclaimed(program)
        except Exception:  # noqa: BLE001 (what the case is about)
            return None
        return None

    def _gapped(self, program: Program, members: list[Item], gaps: Sequence[Gap]) -> list[Outcome]:
        """Outcomes of items that gaps cover: each must fail as these say, and fail without the declaration too."""
        outcomes = []
        for item in members:
            started = time.perf_counter()
            self.journal([item.id])
            refused = [gap for gap in gaps if gap.raises is not None]
            if not refused:
                outcomes.append(self._differs(program, item, gaps, started))
            elif detail := self._refused_wrongly(program, item, refused):
                outcomes.append(_failed(item, detail, started))
            else:
                outcomes.append(Outcome(item.id, "xfailed", gaps[0].reason, time.perf_counter() - started))
        return outcomes

    def _refused_wrongly(self, program: Program, item: Item, gaps: Sequence[Gap]) -> str | None:
        """The fault of gaps that say that a program raises: it does not, or all is well without them.

        That the program raises shows nothing by itself: declaring the gap makes it. So it is compiled past them.
        """
        gap = gaps[0]
        assert gap.raises is not None
        says = f"a gap says that it raises {gap.raises.__name__} ({gap.reason}), but"
        try:
            evaluate([(program, [item])], self.choice)
        except Exception as error:  # noqa: BLE001
            if not isinstance(error, gap.raises):
                return f"{says} it raised:\n{_trace()}"
        else:
            return f"{says} it ran"
        self.journal([item.id], gap.reason)
        if self._fault(program, item, gaps) is None:
            return f"{says} without the declaration the answer is right: remove or narrow the gap"
        return None

    def _differs(self, program: Program, item: Item, gaps: Sequence[Gap], started: float) -> Outcome:
        """The outcome of an item of which gaps say that the answer differs: by no more than they state.

        An item that is right all the same has passed: the gap itself is held to a case that fails (`proof`).
        """
        gap = gaps[0]
        says = f"a gap says that it differs ({gap.reason}), but it"
        try:
            detail = evaluate([(program, [item])], self.choice)[item.id]
            if detail is None and gap.accuracy is None:
                return _failed(item, f"{says} passed: remove the gap", started)
            program.slack = max(g.accuracy or 0.0 for g in gaps)
            beyond = evaluate([(program, [item])], self.choice)[item.id] if detail and program.slack else None
        except Exception:  # noqa: BLE001
            return _failed(item, f"{says} raised:\n{_trace()}", started)
        if beyond:
            says = f"a gap says that it differs by {gap.accuracy:g} ulp ({gap.reason}), but"
            return _failed(item, f"{says} {beyond}", started)
        seconds = time.perf_counter() - started
        return Outcome(item.id, "xfailed", gap.reason, seconds) if detail else Outcome(item.id, "passed", "", seconds)

    def _fault(self, program: Program, item: Item, gaps: Iterable[Gap]) -> str | None:
        """The fault of an item that is compiled as if gaps were not declared."""
        try:
            with plugin.unsaid(gaps):
                return evaluate([(program, [item])], self.choice)[item.id]
        except Exception as error:  # noqa: BLE001
            return repr(error)

    def covering(self, program: Program, *, thorough: bool = False) -> list[Gap]:
        """The gaps that cover a program: of something the case needs, or of nodes that are left in the lowered graph.

        A gap whose `op` is a word ("subnormals") is of what cases need beside ops and dtypes; compiling never meets it.
        """
        if not self.gaps:
            return []
        needed = [gap for gap in self.gaps if gap.op in program.case.needs]
        if needed:
            return needed
        frozen = freeze(program.arguments, program.outputs)
        if not thorough and not gaps_in(frozen, self.gaps):
            return []
        return gaps_in(lowered(self.backend, program), self.gaps)

    def proof(self, k: int, candidates: Iterable[Item]) -> Outcome:
        """The outcome of a gap itself: it must cover cases, and one that no other gap covers must fail without it.

        A gap may also keep a rule from being used where the op has an expansion: no case is refused then. One whose
        answers differ must have one that is off in each dtype, by not far less than it states.
        """
        gap, started = self.gaps[k], time.perf_counter()
        if gap.raises is None and not isinstance(gap.op, str):
            detail, worst = self._difference(k, candidates)
            return Outcome(
                gap_name(k, gap), "failed" if detail else "passed", detail, time.perf_counter() - started, worst
            )
        others = [one for one in self.gaps if one is not gap]
        detail, right = NO_CASE, ""
        for members in _by_program([item for item in candidates if item.kind in ("value", "grad")]):
            if gap.op in members[0].case.needs:  # a word: each of its cases is held against it
                return Outcome(gap_name(k, gap), "passed", "", time.perf_counter() - started)
            try:
                program = Program(members[0])
                with plugin.unsaid([gap]):
                    graph = lowered(self.backend, program)
            except Exception:  # noqa: BLE001, S112 (a case that cannot be built fails as itself)
                continue
            if gap in gaps_in(graph, [gap]):
                if gaps_in(graph, others):
                    detail = "no case shows it alone: wherever it stands another gap stands too"
                    continue
                self.journal([gap_name(k, gap)], gap.reason)
                if self._fault(program, members[0], [gap]) is not None:
                    return Outcome(gap_name(k, gap), "passed", "", time.perf_counter() - started)
                right = right or members[0].id  # the first, most often the op alone, tells most
        if gap.op not in self.rules and gap.op not in _cores_ops() and detail == NO_CASE:
            detail = ""  # of an op of an extension that says so itself, and gives no case
        elif right:
            detail = f"without it {right} is right, as is all else that it covers: remove the gap"
        return Outcome(gap_name(k, gap), "failed" if detail else "passed", detail, time.perf_counter() - started)

    def _difference(self, k: int, candidates: Iterable[Item]) -> tuple[str, float | None]:
        """The fault of a gap whose answers differ, and the largest error found, in units of the last place.

        Programs that have the op as they are written come first; whether others get it by rewriting is seen only if
        those show nothing. It ends where enough has been seen.
        """
        gap, programs = self.gaps[k], _by_program([item for item in candidates if item.kind in ("value", "grad")])
        evidence = Evidence(gap)
        for as_written in (True, False):
            for members in programs:
                self._add_evidence(evidence, members[0], k, as_written=as_written)
                if evidence.is_enough:
                    break
            if evidence.errors:
                break
        return evidence.fault(), max(evidence.errors.values(), default=None)

    def _add_evidence(self, evidence: Evidence, item: Item, k: int, *, as_written: bool) -> None:
        """Run an item past a gap, if the gap covers it and no other one does."""
        gap, subject = evidence.gap, item.case.subject
        is_of_functions = isinstance(gap.op, ElementwiseFunction) and isinstance(subject, ElementwiseFunction)
        if as_written and is_of_functions and item.kind == "value" and subject is not gap.op:
            return  # most items, which need not be built
        try:
            program = Program(item)
            if as_written and not covered(freeze(program.arguments, program.outputs), gap):
                return
            with plugin.unsaid([gap]):
                graph = lowered(self.backend, program)
        except Exception:  # noqa: BLE001 (a case that cannot be built fails as itself)
            return
        dtypes = covered(graph, gap)
        if dtypes and not gaps_in(graph, [one for one in self.gaps if one is not gap]):
            self.journal([gap_name(k, gap)])
            is_off = self._fault(program, item, [gap]) is not None
            evidence.add(dtypes, self._measured(program, item, gap) if is_off else None)

    def _measured(self, program: Program, item: Item, gap: Gap) -> float:
        """The largest error of an item compiled past a gap, in units of the last place; infinite where it raises."""
        try:
            with plugin.unsaid([gap]):
                function = tg.function(
                    program.arguments, program.outputs, backend=self.choice, on_unused_input="ignore"
                )
                calls = [program.call(item, number) for number in (0, 1)]
                return max(program.error(call, function(*call.arrays), program.reference(call)) for call in calls)
        except Exception:  # noqa: BLE001 (no answer at all)
            return math.inf


@functools.cache
def _cores_ops() -> frozenset[object]:
    return frozenset(key for family in FAMILIES for key in (*family.elementwise, *family.ops))


def _error(item: Item, backend: BackendChoice) -> str | None:
    """The fault of an item's exception: its class, and its text, which is the reference's."""
    case = item.case
    assert case.raises is not None
    want = _raised_by(item, "perform", "off")
    got = _raised_by(item, backend, None)
    if not isinstance(want, case.raises):
        return f"the reference: found {want!r}, needed {case.raises.__name__}"
    if type(got) is not type(want):
        return f"found {got!r}, needed {want!r}"
    return None if str(got) == str(want) else f"found the text\n{got}\nneeded\n{want}"


def _raised_by(item: Item, backend: BackendChoice | str, mode: Any) -> BaseException | None:
    try:
        program = Program(item)
        call = program.call(item, 0)
        tg.function(program.arguments, program.outputs, backend=backend, mode=mode)(*call.arrays)
    except Exception as error:  # noqa: BLE001 (which one it is decides)
        return error
    return None


def _script(item: Item, backend: BackendChoice) -> str | None:
    """The fault of a script's results."""
    case = item.case
    arrays = [drawn(item, k, 0) for k in range(len(case.inputs))]

    def compiled(*args: Any, **options: Any) -> Any:
        return tg.function(*args, **{"backend": backend, **options})

    got = case.subject(compiled, *arrays)
    want = case.subject(lambda *a, **o: tg.function(*a, **{"backend": "perform", "mode": "off", **o}), *arrays)
    wants = [(want, "the reference")]
    if case.oracle is not None:
        wants.append((case.oracle(*arrays), "the oracle"))
    gots = got if isinstance(got, tuple) else (got,)
    for expected, source in wants:
        pairs = zip(gots, expected if isinstance(expected, tuple) else (expected,), strict=True)
        for k, (y, w) in enumerate(pairs):
            dtype = np.asarray(w).dtype.name if source == "the reference" else y.dtype.name
            fault = compare.differs(y, w, dtype=dtype, accuracy=case.accuracy)
            if fault:
                return f"result {k} differs from {source}: {fault}"
    return None


def _passed(
    programs: Sequence[tuple[Program, list[Item]]], wrong: dict[str, str | None], seconds: float
) -> list[Outcome]:
    """The outcomes of items that ran together: those about which nothing is wrong have passed."""
    ids = [item.id for _, members in programs for item in members]
    return [Outcome(name, "failed" if wrong[name] else "passed", wrong[name] or "", seconds / len(ids)) for name in ids]


def _failed(item: Item, detail: str, started: float) -> Outcome:
    return Outcome(item.id, "failed", detail, time.perf_counter() - started)


def _trace(error: BaseException | None = None) -> str:
    """The last frames of an exception, the one being handled unless given."""
    exception = error or sys.exception()
    return "".join(traceback.format_exception(exception, limit=-6, chain=False)).strip()


def _by_program(items: Sequence[Item]) -> list[list[Item]]:
    groups: dict[tuple[object, ...], list[Item]] = {}
    for item in items:
        groups.setdefault(item.program, []).append(item)
    return list(groups.values())
