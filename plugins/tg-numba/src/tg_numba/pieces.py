"""Lanes in vectors of the width that a function or an instruction is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_numba.assembly import ITEMS
from tg_numba.lanes import Lanes, in_all_lanes, lane_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_numba.assembly import Body


def in_vectors(function: Callable[..., Lanes], width: int, *operands: Lanes) -> Lanes:
    """A function of vectors of `width` lanes, all of one dtype, for as many lanes as the body has."""
    body = operands[0].body
    lanes = body.lanes
    if not lanes:
        with body.of(width):
            return lane_of(function(*map(in_all_lanes, operands)), 0)
    split = [_pieces(x, width) for x in operands]
    with body.of(width):
        found = [function(*given) for given in zip(*split, strict=True)]
    return _joined(found, width, lanes)


def _pieces(x: Lanes, width: int) -> list[Lanes]:
    """The lanes in vectors of another width; lanes are repeated where there are too few."""
    lanes = x.body.lanes
    if width == lanes:
        return [x]
    texts = [_shuffled(x.body, x.kind, x.text, x.text, range(k, k + width), lanes) for k in range(0, lanes, width)]
    return [Lanes(x.body, x.dtype, text) for text in texts]


def _shuffled(body: Body, kind: str, a: str, b: str, places: Sequence[int], count: int) -> str:
    indices = ", ".join(f"i32 {k % count}" for k in places)
    return body.find(f"shufflevector {kind} {a}, {kind} {b}, <{len(places)} x i32> <{indices}>")


def _joined(found: Sequence[Lanes], width: int, lanes: int) -> Lanes:
    """Vectors one behind the other, or the first lanes of one."""
    body, dtype, texts = found[0].body, found[0].dtype, [x.text for x in found]
    if width > lanes:
        kind = f"<{width} x {ITEMS[dtype]}>"
        return Lanes(body, dtype, _shuffled(body, kind, texts[0], texts[0], range(lanes), width))
    while len(texts) > 1:
        kind = f"<{width} x {ITEMS[dtype]}>"
        pairs = zip(texts[::2], texts[1::2], strict=True)
        texts = [_shuffled(body, kind, a, b, range(2 * width), 2 * width) for a, b in pairs]
        width *= 2
    return Lanes(body, dtype, texts[0])
