"""The lines of messages about values that differ: where, what both are, and of which operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.functions.formula import formula
from tg.graph.nodes import Constant

if TYPE_CHECKING:
    from tg.functions.debug.promises import Difference
    from tg.functions.debug.values import Values
    from tg.graph.frozen import FrozenGraph
    from tg.graph.loc import Loc
    from tg.rewrite.journal import Entry

    Array = np.ndarray[Any, Any]
    Rows = list[tuple[str, str]]

OPERANDS: Final = 6  # how many a message shows


def difference_rows(mismatch: Difference) -> Rows:
    """The first place where two values differ, and both values."""
    where = f"{list(mismatch.place)}, " if mismatch.place else ""
    count = f"{mismatch.many} of {mismatch.size} element{'s' * (mismatch.size != 1)}"
    return [
        ("at", f"{where}{count} differ{'s' * (mismatch.many == 1)}"),
        ("before", str(mismatch.before)),
        ("after", str(mismatch.after)),
    ]


def operand_rows(entry: Entry, values: Values, index: tuple[int, ...] | None) -> Rows:
    """The operands of a replaced node, each at the index if it has an element there, else as a whole."""
    node = entry.old[0].apply
    if node is None:
        return []
    rows = []
    for k, v in enumerate(node.inputs[:OPERANDS]):
        if not isinstance(v, Constant):
            array = np.asarray(values.of(v))
            place = place_in(array, index) if index is not None and node.op.pointwise else None
            rows.append((f"operand {k}", f"{formula(v, {})} = {element(array, place)}"))
    return rows


def element(array: Array, index: tuple[int, ...] | None) -> str:
    """One element and where it is; without an index the array."""
    if index is None:
        return shown(array)
    return f"{array[index]}" + (f" at {list(index)}" if index else "")


def place_in(array: Array, index: tuple[int, ...]) -> tuple[int, ...] | None:
    """The index at which an operand that broadcasts is read for an element of the result."""
    if array.ndim > len(index):
        return None
    tail = index[len(index) - array.ndim :]
    place = tuple(0 if n == 1 else i for n, i in zip(array.shape, tail, strict=True))
    return place if all(i < n for i, n in zip(place, array.shape, strict=True)) else None


def shown(array: Array) -> str:
    """An array on one line, shortened."""
    text = np.array2string(array, threshold=8, edgeitems=3, separator=", ")
    return " ".join(text.split())


def place(loc: Loc | None) -> Rows:
    """The user's line."""
    return [] if loc is None else [("created at", f"{loc}:  {loc.source}".rstrip())]


def output_rows(frozen: FrozenGraph, k: int) -> Rows:
    """The output of a program by number, and the user's line."""
    number = frozen.outputs[k]
    rows = [("output", f"{k}, %{number}")]
    for n, node in enumerate(frozen.nodes):
        if number in node.outputs and (origin := frozen.origins.get(n)) is not None and origin.locs:
            rows += place(origin.locs[0])
    return rows


def leave_out(name: str) -> str:
    """The hint that a rule can be left out."""
    return f'exclude="{name}" leaves it out'
