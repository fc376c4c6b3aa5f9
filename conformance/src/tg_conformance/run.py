"""Running items on a backend inside a worker: compiled together, called, compared; what fails is taken apart."""

from __future__ import annotations

import contextlib
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

import numpy as np

import tg
from tg import plugin
from tg.configuration import current
from tg.functions.compile import find_gap, support
from tg.graph.function_graph import FunctionGraph, freeze
from tg.plugin.records import key_name
from tg.rewrite.driver import rewrite
from tg.rewrite.phases import MODES
from tg_conformance import compare
from tg_conformance.choice import choice
from tg_conformance.outcome import NOT_RUN, Outcome
from tg_conformance.program import Program, drawn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.functions.backends import BackendChoice
    from tg.graph.frozen import FrozenGraph
    from tg.plugin import Gap
    from tg.types.tensor_type import TensorType
    from tg_conformance.case import Item


class Runner:
    """Runs items on one backend."""

    def __init__(self, backend: str, journal: Callable[[Sequence[str]], None], options: Iterable[str] = ()) -> None:
        """A runner on `backend` with options, given as `NAME=VALUE`."""
        self.backend, self.journal, self.choice = backend, journal, choice(backend, options)
        self.gaps = plugin.registry().gaps(backend)
        self.dtypes = plugin.registry().backend(backend).dtypes

    def run(self, items: Sequence[Item]) -> list[Outcome]:
        """The outcomes of a batch, in any order."""
        found: list[Outcome] = []
        together: list[tuple[Program, list[Item]]] = []
        for members in _by_program(items):
            started = time.perf_counter()
            if members[0].kind in ("error", "script"):
                self.journal([item.id for item in members])
                found += [self._alone(item) for item in members]
                continue
            try:
                program = Program(members[0])
                gap = self.covering(program)
            except Exception:  # noqa: BLE001 (whatever a case raises while it is built is its failure)
                found += [_failed(item, f"building the case: {_trace()}", started) for item in members]
                continue
            if gap is None:
                together.append((program, members))
            else:
                found += self._expect_failure(program, members, gap)
        return found + self._together(together)

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
            gap = self.covering(program)
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
            wrong = evaluate(programs, self.choice)
        except Exception as error:  # noqa: BLE001
            raised = error
        else:
            return _passed(programs, wrong, time.perf_counter() - started)
        if len(programs) == 1:
            return self._raised(*programs[0], raised, started)
        middle = len(programs) // 2
        return self._together(programs[:middle]) + self._together(programs[middle:])

    def _raised(self, program: Program, members: list[Item], error: Exception, started: float) -> list[Outcome]:
        """One program raised: with several items, each is run alone."""
        if len(members) > 1:
            return [one for item in members for one in self._together([(program, [item])])]
        gap = self.covering(program, thorough=True) if isinstance(error, tg.NoRuleError) else None
        if gap is not None and (gap.raises is None or isinstance(error, gap.raises)):
            return [Outcome(members[0].id, "xfailed", gap.reason, time.perf_counter() - started)]
        lacking = self.unclaimed(program) if isinstance(error, tg.NoRuleError) else None
        if lacking is not None:
            return [Outcome(members[0].id, NOT_RUN, lacking, time.perf_counter() - started)]
        return [_failed(members[0], _trace(error), started)]

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

    def _expect_failure(self, program: Program, members: list[Item], gap: Gap) -> list[Outcome]:
        """Outcomes of items that a gap covers: each must fail as the gap says."""
        found = []
        for item in members:
            started = time.perf_counter()
            self.journal([item.id])
            try:
                detail = evaluate([(program, [item])], self.choice)[item.id]
            except Exception as error:  # noqa: BLE001
                if gap.raises is None or isinstance(error, gap.raises):
                    found.append(Outcome(item.id, "xfailed", gap.reason, time.perf_counter() - started))
                else:
                    found.append(_failed(item, f"a gap says {gap.raises.__name__}: {_trace()}", started))
                continue
            if detail and gap.raises is None:
                found.append(Outcome(item.id, "xfailed", gap.reason, time.perf_counter() - started))
            else:
                says = f"a gap says that it {'differs' if gap.raises is None else f'raises {gap.raises.__name__}'}"
                text = detail or "it passed: remove the gap"
                found.append(_failed(item, f"{says} ({gap.reason}), but {text}", started))
        return found

    def covering(self, program: Program, *, thorough: bool = False) -> Gap | None:
        """The gap that covers a program: of something the case needs, or of a node that is left in the lowered graph.

        A gap whose `op` is a word ("subnormals") is of what cases need beside ops and dtypes; compiling never meets it.
        """
        if not self.gaps:
            return None
        needed = next((gap for gap in self.gaps if gap.op in program.case.needs), None)
        if needed is not None:
            return needed
        frozen = freeze(program.arguments, program.outputs)
        if not thorough and gap_in(frozen, self.gaps) is None:
            return None
        return gap_in(self.lowered(program), self.gaps)

    def unused_gaps(self, known: Iterable[Item]) -> list[Outcome]:
        """For each gap an outcome: failed if it covers no item at all."""
        started = time.perf_counter()
        open_gaps = dict(enumerate(self.gaps))
        for members in _by_program([item for item in known if item.kind in ("value", "grad")]):
            if not open_gaps:
                break
            for k in [k for k, gap in open_gaps.items() if gap.op in members[0].case.needs]:
                del open_gaps[k]
            with contextlib.suppress(Exception):  # a case that cannot be built fails as itself
                graph = self.lowered(Program(members[0]))
                for k in [k for k, gap in open_gaps.items() if gap_in(graph, [gap]) is not None]:
                    del open_gaps[k]
        seconds = (time.perf_counter() - started) / max(1, len(self.gaps))
        return [
            Outcome(gap_name(k, gap), *(("failed", "it covers no case") if k in open_gaps else ("passed", "")), seconds)
            for k, gap in enumerate(self.gaps)
        ]

    def lowered(self, program: Program) -> FrozenGraph:
        """The program rewritten as compiling for the backend does."""
        registry = plugin.registry()
        backend = registry.backend(self.backend)
        supported = support(backend, self.gaps, lambda key: registry.rule_for(self.backend, key))
        graph = FunctionGraph.of(program.arguments, program.outputs)
        config = current()
        mode = config.mode if config.mode in MODES else "default"  # debugging rewrites as the default does
        rewrites = [registry.rewrites(self.backend)]
        return rewrite(graph, rewrites, supported=supported, mode=mode, exclude=frozenset(config.exclude))


def gap_name(k: int, gap: Gap) -> str:
    """The id of a gap's own item."""
    return f"gap:{k}:{key_name(gap.op) if gap.op is not None else 'any'}[{'+'.join(sorted(gap.dtypes or ())) or 'all'}]"


def gap_in(frozen: FrozenGraph, gaps: Sequence[Gap]) -> Gap | None:
    """The first gap that covers a node of a graph or of the graphs inside."""
    for node in frozen.nodes:
        types: list[TensorType] = [frozen.types[k] for k in (*node.inputs, *node.outputs)]
        found = find_gap(gaps, node.op, types)
        if found is not None:
            return found
        for inner in node.op.inner_graphs():
            found = gap_in(inner, gaps)
            if found is not None:
                return found
    return None


def evaluate(programs: list[tuple[Program, list[Item]]], backend: BackendChoice) -> dict[str, str | None]:
    """What is wrong with each item: all programs as one function, called twice for each item of the longest."""
    function = tg.function(
        [v for program, _ in programs for v in program.arguments],
        [v for program, _ in programs for v in program.outputs],
        backend=backend,
        name="conformance",
        on_unused_input="ignore",
    )
    wrong: dict[str, str | None] = {item.id: None for _, members in programs for item in members}
    for turn in range(max(len(members) for _, members in programs)):
        for number in (0, 1):
            chosen = [(program, members[min(turn, len(members) - 1)]) for program, members in programs]
            calls = [program.call(item, number) for program, item in chosen]
            wants = [program.reference(call) for (program, _), call in zip(chosen, calls, strict=True)]
            outputs = function(*[x for call in calls for x in call.arrays])
            memory = compare.ownership(outputs, [g.buffer for call in calls for g in call.guarded])
            start = 0
            for (program, item), call, want in zip(chosen, calls, wants, strict=True):
                stop = start + len(program.outputs)
                held = next((memory[k] for k in range(start, stop) if k in memory), None)
                found = held or program.wrong(call, outputs[start:stop], want)
                if found and wrong[item.id] is None:
                    wrong[item.id] = f"call {number + 1}: {found}\n  inputs: {_shown(call)}"
                start = stop
    return wrong


def _shown(call: Any) -> str:
    """The inputs of a call, short enough for a report."""
    texts = [f"{x.dtype.name}{list(x.shape)} {np.array2string(x, threshold=12, separator=', ')}" for x in call.plain]
    return "; ".join(" ".join(text.split()) for text in texts)


def _error(item: Item, backend: BackendChoice) -> str | None:
    """What is wrong with the exception of an item: its class, and its text, which is the reference's."""
    case = item.case
    assert case.raises is not None
    want = _raised_by(item, "perform", "off")
    got = _raised_by(item, backend, None)
    if not isinstance(want, case.raises):
        return f"the reference: found {want!r}, needed {case.raises.__name__}"
    if type(got) is not type(want):
        return f"found {got!r}, needed {want!r}"
    return None if str(got) == str(want) else f"found the text\n{got}\nneeded\n{want}"


def _raised_by(item: Item, backend: BackendChoice | str, mode: str | None) -> BaseException | None:
    try:
        program = Program(item)
        call = program.call(item, 0)
        tg.function(program.arguments, program.outputs, backend=backend, mode=mode)(*call.arrays)
    except Exception as error:  # noqa: BLE001 (which one it is decides)
        return error
    return None


def _script(item: Item, backend: BackendChoice) -> str | None:
    """What is wrong with what a script returns."""
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
            found = compare.differs(y, w, dtype=dtype, accuracy=case.accuracy)
            if found:
                return f"result {k} differs from {source}: {found}"
    return None


def _passed(
    programs: Sequence[tuple[Program, list[Item]]], wrong: dict[str, str | None], seconds: float
) -> list[Outcome]:
    """The outcomes of items that ran together: those about which nothing is wrong have passed."""
    found = [item.id for _, members in programs for item in members]
    return [
        Outcome(name, "failed" if wrong[name] else "passed", wrong[name] or "", seconds / len(found)) for name in found
    ]


def _failed(item: Item, detail: str, started: float) -> Outcome:
    return Outcome(item.id, "failed", detail, time.perf_counter() - started)


def _trace(error: BaseException | None = None) -> str:
    """The last frames of an exception, the one being handled unless given."""
    found = error or sys.exception()
    return "".join(traceback.format_exception(found, limit=-6, chain=False)).strip()


def _by_program(items: Sequence[Item]) -> list[list[Item]]:
    found: dict[tuple[object, ...], list[Item]] = {}
    for item in items:
        found.setdefault(item.program, []).append(item)
    return list(found.values())
