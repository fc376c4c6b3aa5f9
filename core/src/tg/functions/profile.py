"""`f.profile()`: where the time of a call goes: the phases of the call, and the parts of the program."""

from __future__ import annotations

import io
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, final

from tg.errors import InputError, message
from tg.link.timed import lines_of
from tg.turns import Claim, alone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.functions.compiled import Function
    from tg.functions.programs import Programs
    from tg.functions.request import Request
    from tg.link.timed import Reading, Timed


T = TypeVar("T")

PHASES: Final = ("checks and conversion", "program", "outputs")
WHOLE: Final = "the program is one part: its library compiles it whole"
WIDTH: Final = 120  # of a printed table
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


@final
class Profile:
    """The time of a call by parts, in the median of the calls that were made; `print` it, or read it.

    `call` is the seconds of an ordinary call. It may be less than those of its `phases`, which are measured on the
    general way, where every kind of argument is looked at. The `rows` are what the phase "program" is made of; they are
    measured apart, in `timed` seconds, for reading clocks takes time. `peak` is the bytes of intermediate results and
    outputs alive at once, None where only the library knows.
    """

    def __init__(
        self,
        title: str,
        calls: int,
        call: float,
        phases: Sequence[float],
        rows: Sequence[Row],
        timed: float | None,
        peak: int | None,
    ) -> None:
        self.title, self.calls, self.call = title, calls, call
        self.phases: dict[str, float] = dict(zip(PHASES, phases, strict=True))
        self.rows, self.timed, self.peak = tuple(rows), timed, peak

    def __str__(self) -> str:
        lines = [self.title]
        whole = sum(self.phases.values())
        lines += [
            f"  {name:<24}{_time(seconds):>12}{100 * seconds / whole:7.1f} %" for name, seconds in self.phases.items()
        ]
        if self.peak is not None:
            lines.append(f"  {'peak of memory':<24}{_bytes(self.peak):>12}  intermediate results and outputs")
        lines.append(WHOLE if self.timed is None else self._table())
        return "\n".join(lines)

    def _table(self) -> str:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table()
        for name in ("time", "%", "runs", "part", "name", "lines"):
            table.add_column(name, justify="right" if name in ("time", "%", "runs") else "left", overflow="fold")
        total = self.timed or 1.0
        for row in sorted(self.rows, key=lambda row: -row.seconds):
            if row.seconds >= SHOWN * total:
                shown = (_time(row.seconds), f"{100 * row.seconds / total:.1f}", str(row.runs), row.part, row.name)
                table.add_row(*map(Text, (*shown, "\n".join(row.lines))))
        out = io.StringIO()
        Console(file=out, width=WIDTH, color_system=None).print(table)
        return "\n".join(line.rstrip() for line in out.getvalue().rstrip("\n").split("\n"))

    def __repr__(self) -> str:
        return f"<{self.title}>"


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
        every = [_phases(request, programs, args, kwargs) for _ in range(calls + 1)]
        phases = _median(every[1:], sum)
        call = sum(phases) if request.targets else _ordinary(f, args, kwargs, calls)
        timed = program.executable.timed()
        rows, seconds, peak = (
            ([], None, None) if timed is None else _rows(timed, request.operands(program, values, held), calls)
        )
    title = f"a call of {f.name} on {program.backend}: {_time(call)}, the median of {calls}"
    return Profile(title, calls, call, phases, rows, seconds, peak)


def _median(items: Sequence[T], size: Callable[[T], float]) -> T:
    """The one in the middle."""
    return sorted(items, key=size)[len(items) // 2]


def _phases(
    request: Request, programs: Programs, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[float, float, float]:
    """One call, by the general way: the seconds of its phases."""
    began = perf_counter()
    values, held = request.taken(args, kwargs)
    program = programs.program(values, held)
    arrays = request.operands(program, values, held)
    checked = perf_counter()
    outputs, status = program.executable.run(arrays)
    ran = perf_counter()
    if status:
        raise program.descriptors[status[0] - 1].build(status[1:])
    if not request.options.native:
        request.structure(iter([program.executable.to_numpy(v) for v in outputs[: request.count]]))
    return checked - began, ran - checked, perf_counter() - ran


def _ordinary(f: Function, args: tuple[Any, ...], kwargs: dict[str, Any], calls: int) -> float:
    """The median of the seconds of calls as a user makes them."""
    seconds = []
    for _ in range(calls + 1):
        began = perf_counter()
        f(*args, **kwargs)
        seconds.append(perf_counter() - began)
    return _median(seconds[1:], float)


def _rows(timed: Timed, arrays: Sequence[Any], calls: int) -> tuple[list[Row], float, int | None]:
    """The parts of the program in one call, the seconds of that call, and its peak of memory."""
    seconds, reading, outputs = _median([_timed(timed, arrays) for _ in range(calls + 1)][1:], lambda sample: sample[0])
    rows = []
    for part, spent, runs in zip(timed.parts, reading.seconds, reading.runs, strict=True):
        if runs:
            rows.append(Row(spent, runs, part.text, part.name, lines_of(part.locs)))
    rest = seconds - sum(row.seconds for row in rows)
    rows.append(Row(max(rest, 0.0), 1, timed.rest, "", ()))
    apart = 0 if timed.holds_outputs else outputs
    return rows, seconds, None if reading.peak is None else reading.peak + apart


def _timed(timed: Timed, arrays: Sequence[Any]) -> tuple[float, Reading, int]:
    """One call of a timed program: its seconds, what it counted, and the bytes of its outputs."""
    timed.reset()
    began = perf_counter()
    outputs, _ = timed.executable.run(arrays)
    seconds = perf_counter() - began
    return seconds, timed.read(), sum(int(v.nbytes) for v in outputs)
