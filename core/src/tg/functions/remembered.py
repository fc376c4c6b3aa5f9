"""Programs that are kept on disk as rewriting has made them, so that another process need not rewrite them again.

A program is named by the expression as it was written, op by op, by how it is compiled, and by all that decides what
rewriting makes of it: the machine, Python, NumPy, and each file of tg and of the plugins, by its size and time. The
user's lines take no part: what is kept refers to the ops of the expression, whose lines they are now, and to its large
constants. Kept are programs of tg's own ops, for backends that keep compiled code.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg import plugin
from tg.cache.machine import cpu, libc
from tg.configuration import current
from tg.functions.unparsed import Unparsed
from tg.graph.dims import named_type
from tg.graph.frozen import FrozenGraph
from tg.graph.nodes import Constant, Variable
from tg.graph.text.printer import inner_graphs, is_elementwise, to_text
from tg.graph.timing import Span
from tg.graph.traversal import sorted_applies
from tg.link.kept import PROGRAMS, Unnamed, dumped, find, keep, large_constants, loaded
from tg.link.linker import operand_types
from tg.ops.elementwise.record import own_function
from tg.plugin.discovery import top_level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tg.functions.compile import Setting
    from tg.graph.loc import Loc
    from tg.graph.op import Op
    from tg.plugin.records import Rewrites

    Ones = tuple[tuple[int, int], ...]
    Make = Callable[[Sequence[Variable], Sequence[Variable]], FrozenGraph]

FORMAT: Final = "3"
MOST: Final = 1 << 20  # bytes of a program; what has more is mostly numbers that were folded, quickly made again
PLAIN: Final = (type(None), bool, int, float, complex, str)


def remembered(
    inputs: Sequence[Variable], outputs: Sequence[Variable], ones: Ones, setting: Setting, make: Make
) -> FrozenGraph:
    """The rewritten program of an expression: the one that was kept, else the one that `make` gives, which is kept."""
    if not _may_be_kept(setting):
        return make(inputs, outputs)
    shortcut = Shortcut(outputs, ones, setting) if isinstance(outputs, Unparsed) else None
    if shortcut is not None:
        with Span("recall"):
            program = shortcut.read(inputs, make)
        if program is not None and not _has_declined(program, setting.choice.name):
            return program
    with Span("recall"):
        try:
            written = Written(inputs, outputs, parts=setting.checkpointing != "none")
        except Unnamed:
            return make(inputs, outputs)
        name = PROGRAMS.key(FORMAT, written.text, repr(ones), _way(setting), *_surroundings(setting.choice.name))
        program = written.read(find(name))
    if program is None or _has_declined(program, setting.choice.name):
        program = make(inputs, outputs)
        with Span("keep"):
            data = written.written(program)
            if data is None or not _can_be_kept(setting):
                return program
            keep(name, data)
    program.keep_as(name, large_constants(program))
    if shortcut is not None:
        shortcut.write(program)
    return program


def note_pickled(text: Unparsed, program: FrozenGraph, ones: Ones, setting: Setting) -> None:
    """Keep a program that is on disk under the digest of its function's text too, for whoever unpickles that."""
    if program.kept_as is not None and _may_be_kept(setting):
        shortcut = Shortcut(text, ones, setting)
        if not shortcut.is_there():
            shortcut.write(program)


def _may_be_kept(setting: Setting) -> bool:
    """Whether programs of this kind are kept, and what rewriting makes of them depends on nothing else than is told."""
    registry, name = plugin.registry(), setting.choice.name
    return (
        current().remember
        and not isinstance(setting.checkpointing, int)  # which looks at the values of shared variables
        and setting.mode != "debug"
        and registry.backend(name).cache is not None
        and registry.packages(name) is not None
    )


def _can_be_kept(setting: Setting) -> bool:
    """The same of a program that has been made: by now the rewrites are known."""
    registry, name = plugin.registry(), setting.choice.name
    return _may_be_kept(setting) and _is_of_packages(registry.rewrites(name), registry.packages(name) or ())


def _has_declined(program: FrozenGraph, backend: str) -> bool:
    """Whether a program that was kept has an op that a rule has declined since: one made without it takes its place."""
    declines = plugin.registry().declines(backend)
    if not declines:
        return False
    nodes = ((graph, k) for graph in (program, *inner_graphs(program)) for k in range(len(graph.nodes)))
    return any(declines.has(graph.nodes[k].op, operand_types(graph, k)) for graph, k in nodes)


def _is_of_packages(rewrites: Rewrites, packages: Sequence[str]) -> bool:
    """Whether all rewrites are functions of packages whose files are looked at."""
    functions = {
        fn
        for one in (*rewrites.rules, *rewrites.passes)
        for field in ("match", "replace", "when", "function", "run", "inner")
        if (fn := getattr(one, field, None)) is not None
    }
    return all(is_of(packages, one) for one in functions)


def is_of(packages: Sequence[str], function: Any) -> bool:
    """Whether a function is of one of these packages."""
    while isinstance(function, functools.partial):
        function = function.func
    return top_level(getattr(function, "__module__", "")) in packages


def _way(setting: Setting) -> str:
    choice = setting.choice
    mode = setting.mode, sorted(setting.exclude), 0 if setting.fixed is None else len(setting.fixed.variables)
    way = (choice.name, choice.options, choice.general, choice.auto is None, *mode, setting.checkpointing)
    return repr(way)


def _surroundings(backend: str) -> tuple[str, ...]:
    """The machine, and the versions and files of what is installed: all that rewriting depends on besides."""
    registry = plugin.registry()
    chosen = sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith("TG_") and not k.startswith("TG_CACHE"))
    files = map(_state, registry.packages(backend) or ())
    return (*registry.versions(backend), *files, *chosen, sys.platform, sys.version, np.__version__, cpu(), libc())


@functools.cache
def _state(package: str) -> str:
    """The files of a package, each with its size and time: a package under development has one version all along."""
    folders = getattr(importlib.import_module(package), "__path__", ())
    files = sorted(line for folder in folders for line in _files(folder))
    return f"{package} {hashlib.blake2b(chr(10).join(files).encode(), digest_size=20).hexdigest()}"


def _files(folder: str) -> Iterator[str]:
    with os.scandir(folder) as listing:
        for entry in listing:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _files(entry.path)
            else:
                status = entry.stat()
                yield f"{entry.path} {status.st_size} {status.st_mtime_ns}"


@final
class Shortcut:
    """The way from the digest of a pickled function to its rewritten program: its name, and a copy without lines.

    Neither is the text parsed nor an expression named op by op, each of which takes longer than all the rest. The name
    leads to what a backend has written, which refers to large constants; the copy is unpickled where somebody looks at
    the program.
    """

    def __init__(self, text: Unparsed, ones: Ones, setting: Setting) -> None:
        self._text = text
        self._constants = [*map(Constant, text.constants.values())]
        surroundings = _surroundings(setting.choice.name)
        self._name = PROGRAMS.key(FORMAT, "pickled", text.digest, repr(ones), _way(setting), *surroundings)

    def is_there(self) -> bool:
        """Whether there is a program."""
        return find(self._name) is not None

    def read(self, inputs: Sequence[Variable], make: Make) -> FrozenGraph | None:
        """The program, under the name by which what was generated of it is found; None where there is none.

        Args:
            make: makes it anew, if it turns out that it cannot be unpickled.
        """
        entry = loaded(find(self._name), (), self._constants)
        if entry is None:
            return None
        name, arrays, copy = entry
        constants, types, over = [*map(Constant, arrays)], [(named_type(v), v.name) for v in inputs], self._text.over

        # It holds no input: several functions have the program, and the value of a shared variable may be large.
        def unpickled() -> FrozenGraph:
            program = loaded(copy, (), constants)
            if isinstance(program, FrozenGraph):
                return program
            variables = [Variable(t, name=name) for t, name in types]
            return make(variables, over(variables))

        program = FrozenGraph.deferred(unpickled)
        program.keep_as(name, constants)
        return program

    def write(self, program: FrozenGraph) -> None:
        """Keep a program that has a name."""
        copy = dumped(program, None, program.kept_constants, MOST)
        arrays = [c.data for c in program.kept_constants]
        data = None if copy is None else dumped((program.kept_as, arrays, copy), None, self._constants, MOST)
        if data is not None:
            keep(self._name, data)


@final
class Written:
    """An expression as it was written: a text that names it, and what a kept program takes from it.

    Args:
        parts: whether what is made of it depends on the parts of a network that its nodes are of.

    The text is for no reader, and says nothing of types that follow: `to_text` of `pickled.table`, which does, takes
    64 ms for 5,342 ops where this takes 15, and a hit has to be quick.

    Raises:
        Unnamed: it has an op that is not tg's own, or a value that no text holds.
    """

    def __init__(self, inputs: Sequence[Variable], outputs: Sequence[Variable], *, parts: bool = False) -> None:
        self._locs: list[Loc | None] = []
        self._constants: list[Constant] = []
        self._texts: dict[Op, str] = {}
        self._numbers = {id(v): k for k, v in enumerate(inputs)}
        self._lines = [f"{named_type(v)} {v.name!r}" for v in inputs]
        for node, results in sorted_applies(outputs, boundary=inputs):
            text = self._of_op(node.op)
            operands = ",".join([self._place(v) for v in node.inputs])
            names = [(v.index, v.name) for v in results if v is not None and v.name is not None]
            self._numbers[id(node)] = len(self._numbers)
            self._lines.append(f"{text}({operands}){names or ''}")
            self._locs.append(node.loc)
        self._lines.append(",".join(map(self._place, outputs)))
        if parts:
            self._lines += _parts(self._locs)
        self.text = "\n".join(self._lines)

    def written(self, program: FrozenGraph) -> bytes | None:
        """A program as it is kept; None where it is not."""
        return dumped(program, self._locs, self._constants, MOST)

    def read(self, data: bytes | None) -> FrozenGraph | None:
        """The program that was kept; None where there is none that can be read."""
        program = loaded(data, self._locs, self._constants)
        return program if isinstance(program, FrozenGraph) else None

    def _place(self, v: Variable) -> str:
        number = self._numbers.get(id(v))
        if number is None and v.apply is not None:
            return f"{self._numbers[id(v.apply)]}.{v.index}"
        if number is None:
            if not isinstance(v, Constant):
                raise Unnamed
            number = self._numbers[id(v)] = len(self._numbers)
            self._constants.append(v)
            digest = hashlib.blake2b(v.data.tobytes(), digest_size=20).hexdigest()
            self._lines.append(f"{v.type} {v.name!r} {digest}")
        return str(number)

    def _of_op(self, op: Op) -> str:
        text = self._texts.get(op)
        if text is None:
            text = self._texts[op] = self._of_field(op)
        return text

    def _of_field(self, value: Any) -> str:
        if type(value) in PLAIN:
            return repr(value)
        if type(value) is tuple:
            return f"({','.join(map(self._of_field, value))})"
        if isinstance(value, FrozenGraph):
            return self._of_graph(value)
        if is_elementwise(value):
            return _of_function(value)
        cls = type(value)
        if not hasattr(value, "rule_key") or value.opaque or cls.__module__.partition(".")[0] != "tg":
            raise Unnamed
        if is_elementwise(value.rule_key):
            return f"{cls.__name__}:{_of_function(value.rule_key)}"
        fields = [self._of_field(getattr(value, name)) for name in cls.fields]
        return f"{cls.__module__}.{cls.__qualname__}({','.join(fields)})"

    def _of_graph(self, graph: FrozenGraph) -> str:
        for one in (*inner_graphs(graph), graph):
            for node in one.nodes:
                self._of_op(node.op)  # which may be one that no text names
            self._locs += [loc for origin in one.origins.values() for loc in origin.locs]
        return to_text(graph)


def _parts(places: Sequence[Loc | None]) -> Iterator[str]:
    """The parts of a network as text, calls of layers by numbers in the order in which they come."""
    numbers: dict[int, int] = {}
    for loc in places:
        if loc is not None:
            calls = [(numbers.setdefault(call.number, len(numbers)), call.kind) for call in loc.part.calls]
            yield f"{calls} {loc.part.is_backward}"
        else:
            yield ""


def _of_function(function: Any) -> str:
    """The name of an elementwise function of tg's own.

    Raises:
        Unnamed: it is somebody else's.
    """
    name = str(function.name)
    if own_function(name) is not function:
        raise Unnamed
    return name
