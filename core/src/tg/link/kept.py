"""`Kept`: what a backend has written of a program, on disk beside the rewritten program that it was written of.

A program that was kept (`tg.functions.remembered`) has a name, by which another process finds what its backend needs to
run it, so that no code is generated again. What is kept refers to large constants of the program by their places in it.
"""

from __future__ import annotations

import contextlib
import functools
import io
import pickle
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

import numpy as np

from tg.cache.entries import Cache
from tg.graph.frozen import Origin
from tg.graph.loc import Loc
from tg.graph.nodes import Constant
from tg.graph.text.printer import inner_graphs
from tg.graph.timing import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tg.graph.frozen import FrozenGraph

T = TypeVar("T")

PROGRAMS: Final = Cache("programs", compiled=".program", sealed=(".written",), is_opened=False)
LARGE: Final = 4096  # bytes of a constant that is not kept but looked up in the expression
MOST: Final = 4 << 20  # bytes of what a backend has written; longer code takes its compiler far longer to make


class Unnamed(Exception):  # noqa: N818 (it is no error)
    """An expression or a program has something that no text names."""


@final
class Kept:
    """The entry on disk with what a backend generated for one program: any value that can be pickled without lines.

    Args:
        graph: the program, kept under a name.
        facts: all that decides what is written of it besides the program, its way of compiling and what is installed.
        is_known: whether a rule is code that the program's name stands for.
    """

    def __init__(self, graph: FrozenGraph, facts: str, is_known: Callable[[Any], bool]) -> None:
        assert graph.kept_as is not None, "a program that was kept"
        self._program, self._constants = graph.kept_as, graph.kept_constants
        self._facts, self._is_known = facts, is_known
        self._is_known_whole = True

    def watched(self, rule_for: Callable[[object], T]) -> Callable[[object], T]:
        """The same look-up of rules: where a rule is used that is not known, nothing is kept."""

        def found(key: object) -> T:
            rule = rule_for(key)
            self._is_known_whole = self._is_known_whole and (rule is None or self._is_known(rule))
            return rule

        return found

    def read(self, *circumstances: str) -> Any:
        """The value that was stored under these circumstances, None if there is none that can be read."""
        with Span("recall"):
            return loaded(find(self._name(circumstances)), (), self._constants)

    def store(self, value: Any, *circumstances: str) -> None:
        """Keep a value, unless rules took part that are not known, or something in it cannot be kept."""
        if not self._is_known_whole:
            return
        with Span("keep"):
            data = dumped(value, (), self._constants, MOST)
            if data is not None:
                keep(self._name(circumstances), data)

    def _name(self, circumstances: Sequence[str]) -> str:
        return PROGRAMS.key(self._program, self._facts, *circumstances, suffix=".written")


def large_constants(graph: FrozenGraph) -> list[Constant]:
    """The constants of a program, and of the graphs inside it, that what is kept refers to."""
    return [c for each in (graph, *inner_graphs(graph)) for c in each.constants if c.data.nbytes > LARGE]


def find(name: str) -> bytes | None:
    """The bytes of an entry, None if there is none that can be read."""
    try:
        return PROGRAMS.read(name)
    except OSError:  # there is no directory, not even a temporary one
        return None


def keep(name: str, data: bytes) -> None:
    """Write an entry, where there is a directory for it: a program is made again where there is none."""
    with contextlib.suppress(OSError):
        PROGRAMS.store(name, functools.partial(_write, data))


def _write(data: bytes, path: Path) -> None:
    path.write_bytes(data)


def dumped(value: Any, locs: Sequence[Loc | None] | None, constants: Sequence[Constant], most: int) -> bytes | None:
    """A value as bytes in which lines and large constants are places; None if there is no way, or it is longer.

    Args:
        locs: None leaves the lines out.
    """
    file = io.BytesIO()
    try:
        _Pickler(file, locs, constants).dump(value)
    except (Unnamed, pickle.PicklingError):
        return None
    return file.getvalue() if file.tell() <= most else None


def loaded(data: bytes | None, locs: Sequence[Loc | None], constants: Sequence[Constant]) -> Any:
    """The value of such bytes, with the lines and constants of an equal expression; None if they cannot be read.

    An expression whose text was parsed has no lines, and its nodes then have none.
    """
    if data is None:
        return None
    try:
        return _Unpickler(io.BytesIO(data), locs, constants).load()
    except Exception:  # noqa: BLE001 (of another version of anything: it is made again)
        return None


@final
class _Pickler(pickle.Pickler):
    """Writes lines and large constants as their places in the expression."""

    def __init__(self, file: io.BytesIO, locs: Sequence[Loc | None] | None, constants: Sequence[Constant]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._locs = None if locs is None else {id(loc): k for k, loc in reversed([*enumerate(locs)])}
        self._data = {c.key: k for k, c in enumerate(constants) if c.data.nbytes > LARGE}

    def persistent_id(self, value: Any) -> tuple[str, Any] | None:
        """The place, of what has one; of an origin the places of its lines, and its rules.

        Raises:
            Unnamed: a line that is none of the expression's.
        """
        if type(value) is Origin and value.locs:
            return "origin", (self._places(value.locs), value.rules)
        if type(value) is Loc:
            return "loc", self._places((value,))
        if type(value) is np.ndarray and value.nbytes > LARGE:
            place = self._data.get(Constant(value).key)
            return None if place is None else ("data", place)
        return None

    def _places(self, locs: Sequence[Loc]) -> tuple[int, ...]:
        places = [] if self._locs is None else [self._locs.get(id(loc)) for loc in locs]
        if None in places:
            raise Unnamed
        return tuple(places)  # type: ignore[arg-type]


@final
class _Unpickler(pickle.Unpickler):
    """Reads what `_Pickler` has written of an equal expression."""

    def __init__(self, file: io.BytesIO, locs: Sequence[Loc | None], constants: Sequence[Constant]) -> None:
        super().__init__(file)
        self._locs, self._constants = locs, constants

    def persistent_load(self, reference: tuple[str, Any]) -> Any:
        """The data of the constant, the line (None if the expression has none) or the origin of these places."""
        kind, place = reference
        if kind == "data":
            return self._constants[place].data
        if kind == "loc":
            return next(iter(self._lines(place)), None)
        places, rules = place
        return Origin(self._lines(places), rules)

    def _lines(self, places: Sequence[int]) -> tuple[Loc, ...]:
        return tuple([loc for k in places if k < len(self._locs) and (loc := self._locs[k]) is not None])
