"""Steps of which none needs another: what their function is given, so that threads may share them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import FrozenGraph


class Stepped(NamedTuple):
    """An argument with a slice for each step.

    Args:
        pointer: to the first slice.
        size: the elements from one slice to the next.
        is_scalar: whether a slice is one element, which is given by its value.
        lengths: arguments behind it, dtypes and texts.
    """

    dtype: str
    pointer: str
    size: str
    is_scalar: bool = False
    lengths: Sequence[tuple[str, str]] = ()


class Steps(NamedTuple):
    """Calls of the function of a graph, one for each step.

    Args:
        length: how many there are.
        looks: after how many a thread looks whether it is interrupted.
        slices: of sequences, which come first.
        held: the arguments that are the same in all steps, dtypes ("" of pointers) and texts.
        traces: where what the graph gives goes.
    """

    body: FrozenGraph
    length: str
    reverse: bool
    looks: int
    slices: Sequence[Stepped]
    held: Sequence[tuple[str, str]]
    traces: Sequence[Stepped]
