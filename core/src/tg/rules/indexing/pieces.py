"""The pass that joins what is written piece by piece: writes that cover an axis one after another are one joining."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg.ops.creation import zeros_like
from tg.ops.indexing import SliceUpdate
from tg.ops.shape import Concatenate
from tg.rewrite.phases import EXACT
from tg.rewrite.rule import pass_of
from tg.rules.indexing.windows import Window, written_windows
from tg.types.atoms import key
from tg.types.lengths import add
from tg.types.requirements import equal_here

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable
    from tg.graph.view import View
    from tg.types.lengths import Length


class Piece(NamedTuple):
    """Values that are written, and their window along one axis."""

    axis: int
    window: Window
    values: Variable


def _piece(node: Apply) -> Piece | None:
    """Piece that a write replaces, if it is in order along one axis and all along the others."""
    if node.op.fn is not None:  # type: ignore[attr-defined]
        return None
    windows = [(k, w) for k, w in enumerate(written_windows(node)) if w is not None]
    if len(windows) != 1 or windows[0][1].step != 1:
        return None
    return Piece(windows[0][0], windows[0][1], node.inputs[1])


@pass_of(
    SliceUpdate,
    kind=EXACT,
    example=lambda x: SliceUpdate((0,), (1,))(SliceUpdate((3,), (1,))(zeros_like(x), x[:, :1]), x[:, 1:]),
)
def _join_pieces_written(view: View) -> dict[int, Variable]:
    """Pieces written from the start of an axis to its end are joined once; what was there before is not needed."""
    updates = {id(node) for node in view.applies if type(node.op) is SliceUpdate}
    written_over: set[int] = set()  # applies whose result another write alone goes on with
    for node in view.applies:
        base = node.inputs[0].apply if id(node) in updates else None
        if id(base) in updates and view.uses(node.inputs[0]) == 1:
            written_over.add(id(base))
    replacements: dict[int, Variable] = {}
    for node in view.applies:
        if id(node) in updates and id(node) not in written_over:
            joined = _joined(node, written_over)
            if joined is not None:
                replacements[id(view.results(node)[0])] = joined
    return replacements


def _joined(node: Apply, written_over: set[int]) -> Variable | None:
    """The last pieces of a chain of writes joined, if they follow one another from the start of the axis to its end.

    What was written before is written over. No two of the joined pieces overlap, so that their order does not matter;
    a piece among them that is not needed may have written over part of another.
    """
    x = node.inputs[0]
    last = _piece(node)
    if last is None:
        return None
    pieces: dict[object, Piece] = {}  # the last ones of the chain, by their starts
    current: Apply | None = node
    while current is not None:
        earlier = _piece(current)
        if earlier is None or earlier.axis != last.axis or key(earlier.window.start) in pieces:
            break
        pieces[key(earlier.window.start)] = earlier
        below = current.inputs[0].apply
        current = below if id(below) in written_over else None
    ordered = _in_order(dict(pieces), x.shape[last.axis])
    if not ordered or {*map(id, ordered)} != {*map(id, [*pieces.values()][: len(ordered)])}:
        return None
    return Concatenate(last.axis - x.type.ndim)(*(piece.values for piece in ordered))  # type: ignore[no-any-return]


def _in_order(pieces: dict[object, Piece], n: int | Length) -> list[Piece] | None:
    """The pieces that follow one another from the start of an axis of length n to its end; None if they do not."""
    end: int | Length = 0
    ordered: list[Piece] = []
    while not equal_here(end, n):
        piece = pieces.pop(key(end), None)
        if piece is None:
            return None
        ordered.append(piece)
        end = add(piece.window.start, piece.window.size)
    return ordered


PASSES = (_join_pieces_written,)
