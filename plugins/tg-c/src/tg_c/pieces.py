"""Long runs of scalar statements as functions of their own: of one function gcc's time grows faster than its length.

A piece takes what it reads as parameters, or from a structure in which pieces leave what others read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from tg_c.text import INDENT
from tg_native.graphs.pieces import cut, parts_of
from tg_native.kernels.dtypes import WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LENGTH: Final = 128  # statements; 1,200 sines and their gradient take gcc 1.3 s so, by 32 2.2, by 512 1.7
LONG: Final = 2 * LENGTH  # of a run that is worth it
NAME: Final = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
TYPES: Final = frozenset(WORDS.values())
MEMORY: Final = frozenset("[]&{")


class Local(NamedTuple):
    """A scalar that a statement declares."""

    dtype: str
    name: str


class Piece(NamedTuple):
    """A function: its head, the lines inside, and the places that some of these had, by where they are now."""

    head: str
    lines: tuple[str, ...]
    places: Mapping[int, int]

    @property
    def text(self) -> str:
        """The whole function."""
        return "\n".join((self.head, *(INDENT + line for line in self.lines), "}"))


def in_pieces(
    function: str, lines: Sequence[str | None], scalars: Mapping[int, Local], others: Mapping[str, str]
) -> tuple[str, list[Piece], list[str | None]]:
    """Text that pieces share, the pieces, and the lines of the function that calls them, as many as there were.

    Args:
        scalars: what lines declare, by their places.
        others: the dtypes of scalars that the function has from elsewhere, by their names.
    """
    declared = {at: local for at, local in scalars.items() if lines[at] is not None}
    if len(declared) < LONG:
        return "", [], list(lines)
    dtypes = {**others, **{local.name: local.dtype for local in declared.values()}}
    words = [NAME.findall(line or "") for line in lines]
    steps = (
        (at, at in declared and _is_of_scalars(line, words[at], dtypes))
        for at, line in enumerate(lines)
        if line is not None
    )
    parts = [*parts_of(steps, LENGTH, LONG)]
    if not parts:
        return "", [], list(lines)
    maker, readers, held = cut(parts, {at: local.name for at, local in declared.items()}, words)
    fields = " ".join(f"{WORDS[dtypes[name]]} {name};" for name in held)
    shared, pieces, statements = f"struct {function}_held {{ {fields} }};", list[Piece](), list(lines)
    for k, part in enumerate(parts):
        read = dict.fromkeys(name for at in part for name in words[at] if name in dtypes and maker.get(name) != k)
        inputs = [name for name in read if name not in maker]
        own = [name for name in held if maker[name] == k]
        before = [_declared(name, f"held->{name}", dtypes) for name in read if name in maker]
        body = (*before, *(str(lines[at]) for at in part), *(f"held->{name} = {name};" for name in own))
        parameters = ", ".join((f"struct {function}_held *const held", *(_declaration(n, dtypes) for n in inputs)))
        head = f"static __attribute__((noinline)) void {function}_piece{k}({parameters}) {{"
        pieces.append(Piece(head, body, {len(before) + j: at for j, at in enumerate(part)}))
        statements[part[0]] = f"struct {function}_held held;" if k == 0 else None
        statements[part[0] + 1 : part[-1]] = [None] * (part[-1] - part[0] - 1)
        call = f"{function}_piece{k}({', '.join(('&held', *inputs))});"
        after = [_declared(name, f"held.{name}", dtypes) for name in own if None in readers[name]]
        statements[part[-1]] = f"\n{INDENT}".join((call, *after))
    return shared, pieces, statements


def _declaration(name: str, dtypes: Mapping[str, str]) -> str:
    return f"const {WORDS[dtypes[name]]} {name}"


def _declared(name: str, value: str, dtypes: Mapping[str, str]) -> str:
    return f"{_declaration(name, dtypes)} = {value};"


def _is_of_scalars(line: str, words: Sequence[str], dtypes: Mapping[str, str]) -> bool:
    """Whether a statement has to do with scalars, and functions of them, alone."""
    return MEMORY.isdisjoint(line) and all(w in dtypes or w in TYPES or w == "const" or f"{w}(" in line for w in words)
