"""Generated code as it is shown: under the user's names, with the user's lines, loops in the order of their calls.

What is compiled has numbers only, so that the same program under other names, or at other lines, is found compiled.
"""

from __future__ import annotations

import collections
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from tg.link.timed import ASSIGNED, names_at
from tg.ops.shape import AxisLength, BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose
from tg_native.fusion.loop import Loop
from tg_native.plan.values import Scalar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg_native.plan.values import Value

LOOP: Final = re.compile(r"\b(?:loop|nest)\d+\b")
# a comment that names a line, of a file or of a cell of a notebook
PLACE: Final = re.compile(r"^\s*(?:/\*|#|;) (\S.*?(?::|, line )\d+[^:]*:  (.*?))(?: \*/)?$")
MOST_NAMES: Final = 2  # of one loop
MOST_LINES: Final = 4  # of those that share a loop
LONGEST: Final = 40  # characters of a name
UNNAMED: Final = (AxisLength, BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose)
MAKES_FUNCTION: Final = re.compile(r"=\s*(?:\w+\.)?(?:function|jit)\(")
SAYS_NAME: Final = re.compile(r"\s*; \w+ is (\S+)")  # a comment that a name makes needless


class Language(NamedTuple):
    """Syntax of a printer's language: how its text is read and written.

    Args:
        definitions: what a line that defines the loop `{loop}` contains, in either of its forms.
        comment: how a comment is written, with `{text}`.
        word: finds the names of values, and of whatever else has such a name.
        name: how a value is named, with `{name}`.
        reserved: words that name no value.
    """

    definitions: tuple[str, ...]
    comment: str
    word: re.Pattern[str]
    name: str = "{name}"
    reserved: Collection[str] = ()


class Calls:
    """The calls of loops in a unit: what their parameters are, in the functions that call them."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[Mapping[int, Value], FrozenGraph, dict[str, str]]]] = {}
        self._named: dict[int, dict[str, str]] = {}  # by the function's values

    def note(self, loop: str, values: Mapping[int, Value], graph: FrozenGraph, by_name: dict[str, str]) -> None:
        """Remember a call: `by_name` are the arguments by the names of the parameters, in a function with `values`."""
        self._found.setdefault(loop, []).append((values, graph, by_name))

    def in_order(self, loops: Mapping[str, str]) -> dict[str, str]:
        """The texts of loops by their names, in the order in which they are first called."""
        return {loop: loops[loop] for loop in (*self._found, *loops) if loop in loops}

    def parameters(self, loop: str) -> dict[str, str]:
        """The user's names of the parameters that have one and the same at all calls."""
        every: dict[str, set[str]] = collections.defaultdict(set)
        for values, graph, arguments in self._found.get(loop, ()):
            if id(values) not in self._named:
                self._named[id(values)] = values_named(values, graph)
            names = self._named[id(values)]
            for parameter, argument in arguments.items():
                every[parameter].add(names.get(argument, ""))
        return {
            parameter: next(iter(labels))
            for parameter, labels in every.items()
            if len(labels) == 1 and "" not in labels
        }


def identifier(name: str, number: int) -> str:
    """A name for value `number`, from the user's name for it: unique, and no word of a language."""
    word = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:LONGEST]
    if not word:
        return f"v{number}"
    return f"{'_' * word[0].isdigit()}{word}_{number}"


def values_named(values: Mapping[int, Value], graph: FrozenGraph) -> dict[str, str]:
    """The user's names for what a function calls its values: given ones, else those that the lines assign to."""
    checked = {number for check in graph.checks for number in (check.condition, *check.values)}
    last = {name: number for k in range(len(graph.nodes)) for number, name in _assigned(graph, k, checked)}
    named = {**{number: name for name, number in last.items()}, **graph.names}
    by_text: dict[str, str] = {}
    for number, value in values.items():
        text = value.text if isinstance(value, Scalar) else value.pointer if value.fill is None else value.fill
        if number in named and text:
            by_text.setdefault(text, re.sub(r"\W+", "_", named[number], flags=re.ASCII).strip("_")[:LONGEST])
    return by_text


def _assigned(graph: FrozenGraph, k: int, checked: Collection[int]) -> Iterator[tuple[int, str]]:
    """The results of a node that may be what a line of the user's assigns, with the name: no lengths, views, checks."""
    node = graph.nodes[k]
    if isinstance(node.op, Loop):
        outputs = iter(node.outputs)
        for stage in node.op.stages:
            makers = {number: j for j, step in enumerate(stage.program.nodes) for number in step.outputs}
            for result in (r for r in stage.results if r.stored):
                number, maker = next(outputs), makers.get(stage.program.outputs[result.value])
                if result.fn is None and result.into is None and maker is not None:
                    yield from ((number, name) for name in _names(stage.program, maker)[-1:])
        return
    if len(node.outputs) == 1 and not isinstance(node.op, UNNAMED) and node.outputs[0] not in checked:
        yield from ((node.outputs[0], name) for name in _names(graph, k)[-1:])


def _names(graph: FrozenGraph, k: int) -> list[str]:
    """Names that the lines which made a node assign to, unless that is the function that is compiled."""
    origin = graph.origins.get(k)
    is_function = origin is not None and any(MAKES_FUNCTION.search(loc.source) for loc in origin.locs)
    return [] if is_function else names_at(graph, k)


def renamed(text: str, names: Mapping[str, str], language: Language) -> str:
    """A function with values under the user's names, those that mean something else in it excepted."""
    lines = text.split("\n")
    taken = {word for line in lines if not _is_comment(line) for word in language.word.findall(line)}
    chosen: dict[str, str] = {}
    for value, name in names.items():
        new = language.name.format(name=name)
        is_name = language.word.fullmatch(value) is not None and language.word.fullmatch(new) is not None
        if is_name and value in taken and new not in taken and new not in language.reserved:
            chosen[value] = new
            taken.add(new)
    if not chosen:
        return text
    rows: list[str] = []
    for line in lines:
        said = SAYS_NAME.fullmatch(line)
        if said is None or said[1] not in chosen:
            new = language.word.sub(lambda match: chosen.get(match[0], match[0]), line)
            rows.append(line if _is_comment(line) else new)
    return "\n".join(rows)


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(("/*", ";"))


def with_names(text: str, language: Language) -> str:
    """The text of a unit with its loops renamed, and with the user's lines before each.

    Args:
        text: the unit, with comments that name lines before what these became.
    """
    places = _places(text)
    names = {loop: _name(loop, [source for _, source in entry]) for loop, entry in places.items()}
    rows: list[str] = []
    for line in text.split("\n"):
        is_note = PLACE.match(line) is not None
        for loop in () if is_note else dict.fromkeys(LOOP.findall(line)):
            if any(definition.format(loop=loop) in line for definition in language.definitions):
                rows += [language.comment.format(text=place) for place, _ in places.get(loop, ())]
        rows.append(line if is_note else LOOP.sub(lambda entry: names.get(entry[0], entry[0]), line))
    return "\n".join(rows)


def _places(text: str) -> dict[str, list[tuple[str, str]]]:
    """For each loop the lines of the user's above its calls: in full, and their text."""
    by_loop: dict[str, dict[tuple[str, str], None]] = {}
    above: list[tuple[str, str]] = []
    last_was_note = False
    for line in text.split("\n"):
        note = PLACE.match(line)
        if note is not None:
            above = [*(above if last_was_note else ()), (note[1], note[2])]
        elif line and not line[0].isspace():  # another function
            above = []
        else:
            for loop in LOOP.findall(line):
                by_loop.setdefault(loop, {}).update(dict.fromkeys(above))
        last_was_note = note is not None
    return {loop: list(places)[:MOST_LINES] for loop, places in by_loop.items()}


def _name(loop: str, sources: Sequence[str]) -> str:
    assigned = (ASSIGNED.match(source) for source in sources)
    names = dict.fromkeys(match[1] for match in assigned if match is not None)
    return "_".join((loop, *list(names)[:MOST_NAMES]))
