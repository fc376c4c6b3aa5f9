"""`f.profile()`: where the time of a call goes: the phases of the call, and the parts of the program."""

from __future__ import annotations

import itertools
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, final

from tg.display.html import bar, element, fold, page
from tg.display.table import Table
from tg.errors import InputError, message
from tg.link.timed import lines_of
from tg.turns import Claim, alone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.functions.compiled import Function
    from tg.functions.programs import Programs
    from tg.functions.request import Request
    from tg.graph.frozen import FrozenGraph
    from tg.link.timed import Reading, Timed


T = TypeVar("T")

PHASES: Final = ("checks and conversion", "program", "outputs")
WHOLE: Final = "the program is one part: its library compiles it whole"
SHOWN: Final = 0.001  # of a program: a part that takes less is not printed
MEASURING: Final = Claim(frozenset(["measuring"]))  # one at a time: they would measure one another


class Row(NamedTuple):
    """A part of the program in one call: seconds, how often it ran, what it computes, and what the user wrote for it.

    `name` is the variable that its lines assign to, empty where there is none; `lines` are file, line and text of each.
    """

    seconds: float
    runs: int
    part: str
    name: str
    lines: tuple[str, ...]
    graph: FrozenGraph | None = None  # whose node it is: the program's, or one inside it
    number: int = -1


@final
class Profile:
    """The time of a call by parts, in the median of the calls that were made; `print` it, or read it.

    `call` is the seconds of an ordinary call. All else is of one call with clocks, which takes longer: it goes the
    general way, where every kind of argument is looked at, and reads a clock around each part. Its `phases` add up to
    `total`, and the `rows` to the phase "program". `is_split` says whether there are rows: a library that compiles the
    program whole has none. `peak` is the bytes of intermediate results and outputs alive at once, None where only the
    library knows. `graph` is the program that ran: lengths that are 1 have one of their own.
    """

    def __init__(
        self,
        title: str,
        calls: int,
        call: float,
        phases: Sequence[float],
        rows: Sequence[Row],
        peak: int | None,
        graph: FrozenGraph,
    ) -> None:
        self.title, self.calls, self.call, self.graph = title, calls, call, graph
        self.phases: dict[str, float] = dict(zip(PHASES, phases, strict=True))
        self.rows, self.peak = tuple(rows), peak

    @property
    def total(self) -> float:
        """The seconds of the call with clocks: the sum of its phases."""
        return sum(self.phases.values())

    @property
    def seconds_by_node(self) -> dict[tuple[FrozenGraph, int], float]:
        """The seconds of nodes, by graph and number in it."""
        return {(row.graph, row.number): row.seconds for row in self.rows if row.graph is not None}

    @property
    def is_split(self) -> bool:
        """Whether the time of the program is known by its parts."""
        return bool(self.rows)

    def __str__(self) -> str:
        lines = [self.title, *(f"  {name:<24}{_time(seconds):>12}{share:>9}" for name, seconds, share in self._split())]
        if self.peak is not None:
            lines.append(f"  {'peak of memory':<24}{_bytes(self.peak):>12}  intermediate results and outputs")
        lines.append(self._table().text() if self.is_split else WHOLE)
        return "\n".join(lines)

    def _split(self) -> list[tuple[str, float, str]]:
        """The phases and their sum, each with its part of that."""
        total = self.total
        pairs = [*self.phases.items(), ("with clocks", total)]
        return [(name, seconds, f"{100 * seconds / total:.1f} %") for name, seconds in pairs]

    def _table(self) -> Table:
        program = self.phases[PHASES[1]]
        slowest = sorted(self.rows, key=lambda row: -row.seconds)
        shown = [row for row in slowest if row.seconds >= SHOWN * program]
        cells = [
            (_time(r.seconds), f"{100 * r.seconds / program:.1f}", str(r.runs), r.part, r.name, "\n".join(r.lines))
            for r in shown
        ]
        left = program - sum(row.seconds for row in shown)
        if len(shown) < len(self.rows):
            parts = f"{len(self.rows) - len(shown)} parts of less than {100 * SHOWN:.1f} % each"
            cells.append((_time(left), f"{100 * left / program:.1f}", "", parts, "", ""))
        cells.append((_time(program), "100.0", "", PHASES[1], "", ""))
        return Table.of(("time", "%", "runs", "part", "name", "lines"), cells, ("time", "%", "runs"))

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def _repr_html_(self) -> str:
        split = [(name, _time(seconds), share) for name, seconds, share in self._split()]
        if self.peak is not None:
            split.append(("peak of memory", _bytes(self.peak), ""))
        phases = Table.of(("", "time", "of the call"), split, ("time", "of the call")).html()
        if not self.is_split:
            return page(element("b", self.title), phases, element("small", WHOLE))
        table, program = self._table(), self.phases[PHASES[1]]
        by_part = sorted(self.rows, key=lambda row: -row.seconds)
        bars = [bar(row.seconds / program) for row in by_part][: len(table.rows)]
        rows = [(*row, mark) for row, mark in itertools.zip_longest(table.rows, bars, fillvalue="")]
        parts = Table.of((*table.columns, ""), rows, table.right).html()
        return page(element("b", self.title), phases, fold("the program by its parts", parts, is_open=True))


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"


def profile(f: Function, args: tuple[Any, ...], kwargs: dict[str, Any], calls: int) -> Profile:
    """The profile of calls with these arguments; nothing is updated.

    Raises:
        InputError: the number of calls is not positive, or the arguments are not those of the function.
    """
    if type(calls) is not int or calls < 1:
        raise InputError(message(f"profile: calls: found {calls!r}, needed a positive int"))
    request, programs = f.request, f.programs
    programs.wait()
    values, held = request.taken(args, kwargs)
    program = programs.program(values, held)
    programs.wait()  # it may be a specialisation that nothing has asked for before
    program = programs.program(values, held)
    for turn in alone():
        turn.take(MEASURING)
        timed = program.executable.timed()
        clocked = [_clocked(request, programs, timed, args, kwargs) for _ in range(calls + 1)]
        sample = _median(clocked[1:], lambda one: sum(one.phases))
        call = sum(sample.phases) if request.targets else _ordinary(f, args, kwargs, calls)
    rows, peak = ([], None) if timed is None or sample.reading is None else _rows(timed, sample.reading, sample)
    title = f"a call of {f.name} on {program.backend}: {_time(call)}, the median of {calls}"
    return Profile(title, calls, call, sample.phases, rows, peak, program.graph)


class _Sample(NamedTuple):
    """One call with clocks: the seconds of its phases, what its program counted, and the bytes of the outputs."""

    phases: tuple[float, float, float]
    reading: Reading | None
    outputs: int


def _median(items: Sequence[T], size: Callable[[T], float]) -> T:
    """The one in the middle."""
    return sorted(items, key=size)[len(items) // 2]


def _clocked(
    request: Request, programs: Programs, timed: Timed | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> _Sample:
    """One call by the general way, of the program that takes the time of its parts where there is one."""
    if timed is not None:
        timed.reset()
    began = perf_counter()
    values, held = request.taken(args, kwargs)
    program = programs.program(values, held)
    executable = program.executable if timed is None else timed.executable
    arrays = request.operands(program, values, held)
    checked = perf_counter()
    outputs, status = executable.run(arrays)
    ran = perf_counter()
    if status:
        raise program.descriptors[status[0] - 1].build(status[1:])
    if not request.options.native:
        request.structure(iter([executable.to_numpy(v) for v in outputs[: request.count]]))
    phases = (checked - began, ran - checked, perf_counter() - ran)
    if timed is None:
        return _Sample(phases, None, 0)
    return _Sample(phases, timed.read(), sum(int(v.nbytes) for v in outputs))


def _ordinary(f: Function, args: tuple[Any, ...], kwargs: dict[str, Any], calls: int) -> float:
    """The median of the seconds of calls as a user makes them."""
    seconds = []
    for _ in range(calls + 1):
        began = perf_counter()
        f(*args, **kwargs)
        seconds.append(perf_counter() - began)
    return _median(seconds[1:], float)


def _rows(timed: Timed, reading: Reading, sample: _Sample) -> tuple[list[Row], int | None]:
    """The parts of the program in a call, which add up to its time, and its peak of memory."""
    rows = []
    for part, spent, runs in zip(timed.parts, reading.seconds, reading.runs, strict=True):
        if runs:
            rows.append(Row(spent, runs, part.text, part.name, lines_of(part.locs), part.graph, part.number))
    rest = sample.phases[1] - sum(row.seconds for row in rows)
    rows.append(Row(max(rest, 0.0), 1, timed.rest, "", ()))
    apart = 0 if timed.holds_outputs else sample.outputs
    return rows, None if reading.peak is None else reading.peak + apart
