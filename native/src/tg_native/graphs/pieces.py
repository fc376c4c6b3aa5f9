"""Statements cut into pieces that become functions: where, and which values pieces leave in memory for others."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


class Cut(NamedTuple):
    """The pieces that make values, by the values' names; who reads them, None being what is in no piece; those held."""

    maker: Mapping[str, int]
    readers: Mapping[str, set[int | None]]
    held: Sequence[str]


def parts_of(steps: Iterable[tuple[int, bool]], length: int, least: int) -> Iterator[tuple[int, ...]]:
    """The places of the statements of each piece: of so many each, from runs of no fewer steps than are worth it.

    Args:
        steps: the places of all statements, and whether there is a step that a piece may have.
    """
    run: list[int] = []
    for at, is_step in itertools.chain(steps, [(0, False)]):
        if is_step:
            run.append(at)
            continue
        if len(run) >= least:
            whole = len(run) - len(run) % length
            yield from (tuple(run[k : k + length]) for k in range(0, whole, length))
        run = []


def cut(parts: Sequence[Sequence[int]], names: Mapping[int, str], words: Sequence[Sequence[str]]) -> Cut:
    """Names that pieces share: `parts` are the places of statements, `names` what these make, `words` all names."""
    piece_of = {at: k for k, part in enumerate(parts) for at in part}
    maker = {names[at]: k for at, k in piece_of.items() if at in names}
    readers: dict[str, set[int | None]] = {name: set() for name in maker}
    for at, used in enumerate(words):
        for name in maker.keys() & used:
            readers[name].add(piece_of.get(at))
    return Cut(maker, readers, [name for name, k in maker.items() if readers[name] - {k}])
