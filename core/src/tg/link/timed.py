"""Programs that take the time of their parts: what `f.profile` runs, once for itself, beside the ordinary program.

An executable gives one by `Executable.timed`. Here are the parts, how they are named for people, and the clock of
programs that Python runs part by part.
"""

from __future__ import annotations

import abc
import collections
import functools
import re
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.link.linker import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.graph.loc import Loc
    from tg.graph.op import Op
    from tg.link.linker import Executable

ASSIGNED: Final = re.compile(r"([A-Za-z_]\w*)\s*(?::[^=]*)?=(?!=)")  # the name at the beginning of a user's line
MOST_OPS: Final = 4  # of a loop that are named


class Part(NamedTuple):
    """A part of a program: what it computes, under which name and at which line of the user's."""

    text: str
    name: str
    locs: tuple[Loc, ...]
    graph: FrozenGraph | None = None  # whose node it is
    number: int = -1


class Reading(NamedTuple):
    """The counts of a timed program since it was reset, part by part; the most bytes alive at once, if known."""

    seconds: tuple[float, ...]
    runs: tuple[int, ...]
    peak: int | None


class Timed(abc.ABC):
    """A program that takes the time of its parts; one thread at a time may run it.

    `rest` tells what of the program no part stands for.
    """

    executable: Executable
    parts: tuple[Part, ...]
    rest = "between the parts"
    holds_outputs = True  # whether its peak of memory includes the outputs

    @abc.abstractmethod
    def reset(self) -> None:
        """Count from 0."""

    @abc.abstractmethod
    def read(self) -> Reading:
        """The counts so far; a peak is of intermediate results and outputs."""


def parts_of(graph: FrozenGraph) -> tuple[Part, ...]:
    """The nodes of a graph as parts."""
    return tuple(part_of(graph, k) for k in range(len(graph.nodes)))


def part_of(graph: FrozenGraph, number: int) -> Part:
    """A node as a part."""
    origin = graph.origins.get(number)
    return Part(
        text_of(graph.nodes[number].op),
        ", ".join(names_at(graph, number)),
        origin.locs if origin else (),
        graph,
        number,
    )


def text_of(op: Op) -> str:
    """An op for people; of a loop the ops in it."""
    if not op.element_programs:
        fn = getattr(op, "fn", None)
        return op.name if fn is None or fn.name == op.name else f"{op.name} {fn.name}"
    shown = list(dict.fromkeys(op.element_steps))
    return f"loop of {', '.join(shown[:MOST_OPS])}" + (f" and {len(shown) - MOST_OPS} more" * (len(shown) > MOST_OPS))


def names_at(graph: FrozenGraph, number: int) -> list[str]:
    """The user's names for a node: those given to its results, else what the lines that made it assign to."""
    names = [graph.names[k] for k in graph.nodes[number].outputs if k in graph.names]
    origin = graph.origins.get(number)
    assigned = (ASSIGNED.match(loc.source) for loc in origin.locs) if origin is not None else ()
    return names or list(dict.fromkeys(match[1] for match in assigned if match is not None))


def lines_of(locs: Iterable[Loc]) -> tuple[str, ...]:
    """The user's lines as comments name them."""
    return tuple(dict.fromkeys(f"{loc}:  {loc.source}" for loc in locs))


# --- programs that Python runs part by part --------------------------------------------------------------------------


@final
class Clock:
    """Adds up the time of the nodes of a graph, and follows which of its arrays are alive."""

    def __init__(self, graph: FrozenGraph) -> None:
        self._graph, self._uses = graph, graph.last_uses()
        self.reset()

    def reset(self) -> None:
        """Count from 0."""
        self._seconds: collections.Counter[int] = collections.Counter()
        self._runs: collections.Counter[int] = collections.Counter()
        self._alive: dict[int, int] = {}
        self.peak = 0

    def timed(self, number: int, function: Callable[..., Any], ready: Callable[[Any], Any]) -> Callable[..., Any]:
        """A function that does the work of a node, which is done when `ready` has looked at the result."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            began = perf_counter()
            results = ready(function(*args, **kwargs))
            self._seconds[number] += perf_counter() - began  # type: ignore[assignment]
            self._runs[number] += 1
            self._follow(number, results if isinstance(results, tuple | list) else (results,))
            return results

        return call

    def _follow(self, number: int, results: Sequence[Any]) -> None:
        if number == 0:
            self._alive.clear()
        for k, value in zip(self._graph.nodes[number].outputs, results, strict=False):
            is_view = getattr(value, "base", None) is not None
            self._alive[k] = 0 if is_view else int(getattr(value, "nbytes", 0))
        self.peak = max(self.peak, sum(self._alive.values()))
        for k in self._uses[number]:
            self._alive.pop(k, None)

    def reading(self) -> Reading:
        """The counts so far."""
        numbers = range(len(self._graph.nodes))
        seconds, runs = tuple(self._seconds[k] for k in numbers), tuple(self._runs[k] for k in numbers)
        return Reading(seconds, runs, self.peak)


@final
class TimedByNode(Timed):
    """A program whose nodes are functions that a clock has wrapped."""

    def __init__(self, graph: FrozenGraph, clock: Clock, executable: Executable) -> None:
        self.executable, self.parts, self._clock = executable, parts_of(graph), clock

    def reset(self) -> None:
        self._clock.reset()

    def read(self) -> Reading:
        return self._clock.reading()


@final
class TimedOp:
    """An op whose reference is timed; in all else it is the op."""

    def __init__(self, op: Op, perform: Callable[..., Any]) -> None:
        self._op, self.perform = op, perform

    def __getattr__(self, name: str) -> Any:
        return getattr(self._op, name)


class TimedRequest(Request):
    """A request whose rules for the nodes of one graph are timed."""

    def timing(self, clock: Clock, graph: FrozenGraph, ready: Callable[[Any], Any]) -> TimedRequest:
        """This request, with the clock and with what waits for a result."""
        object.__setattr__(self, "_timing", (clock, graph, ready))
        return self

    def rule(self, op: Op, graph: FrozenGraph, node: int) -> Callable[..., Any]:
        """The rule for an op, timed unless it is in an inner graph."""
        return self.seen(super().rule(op, graph, node), graph, node)

    def seen(self, function: Callable[..., Any], graph: FrozenGraph, node: int) -> Callable[..., Any]:
        """The function, timed unless its node is in an inner graph."""
        clock, timed, ready = self._timing  # type: ignore[attr-defined]
        return clock.timed(node, function, ready) if graph is timed else function
