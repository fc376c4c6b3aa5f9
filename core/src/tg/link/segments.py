"""Segments of a forward pass: its layers, or stretches that hold about the same bytes."""

from __future__ import annotations

import bisect
import itertools
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.loc import LayerCall
    from tg.link.directions import Directions

    Segments = dict[int, int]
    Path = tuple[LayerCall, ...]

CONTAINER: Final = "Sequential"  # of layers, and none itself


def by_layers(directions: Directions) -> Segments:
    """The layers of a program as segments, by the nodes of its forward pass; 0 for what is of none.

    A layer is the outermost call of a class of modules of which the calls around it have several. A class that is
    called once there is looked into, as `Sequential` always is, and is a layer if it calls no other module.
    """
    paths = {k: part.calls for k in directions.forward if (part := directions.parts[k]) is not None and part.calls}
    layers: dict[LayerCall, int] = {}
    _note_layers(set(paths.values()), 0, layers)
    segments = dict.fromkeys(directions.forward, 0)
    numbers: dict[int, int] = {}
    for k, calls in paths.items():
        layer = next((layers[call] for call in calls if call in layers), None)
        if layer is not None:
            segments[k] = numbers.setdefault(layer, len(numbers) + 1)
    return segments


def _note_layers(paths: set[Path], depth: int, layers: dict[LayerCall, int]) -> None:
    """Note the layers among calls at a depth, and inside of those that are none."""
    inside: dict[LayerCall, set[Path]] = {}
    for path in paths:
        if len(path) > depth:
            inside.setdefault(path[depth], set()).add(path)
    kinds = Counter(call.kind for call in inside)
    for call, below in inside.items():
        is_leaf = all(len(path) == depth + 1 for path in below)
        if call.kind != CONTAINER and (kinds[call.kind] > 1 or is_leaf):
            layers[call] = call.number
        else:
            _note_layers(below, depth + 1, layers)


def evenly(directions: Directions, sizes: Sequence[int], count: int) -> Segments:
    """So many stretches of the forward pass, of which the backward pass needs about the same bytes each.

    Between two of them fewest bytes are handed on, of values that the backward pass reads anyway where there are some.

    Source:
        Chen et al., "Training Deep Nets with Sublinear Memory Cost", arXiv:1604.06174, 2016, algorithm 3.
    """
    nodes = directions.forward
    saved = [sum(sizes[v] for v in _values(directions, k) if directions.is_saved(v)) for k in nodes]
    sums = list(itertools.accumulate(saved))
    costs = _crossing(directions, sizes)
    cuts: list[int] = []
    for j in range(1, count):
        target, half = sums[-1] * j / count, sums[-1] / count / 2
        begin = max(bisect.bisect_left(sums, target - half), cuts[-1] + 1 if cuts else 0)
        end = bisect.bisect_right(sums, target + half)
        places = range(begin, min(end, len(nodes) - 1))
        if places:
            cuts.append(min(places, key=lambda at: (costs[at], abs(sums[at] - target), at)))
    return {k: 1 + bisect.bisect_left(cuts, at) for at, k in enumerate(nodes)}


def saved_values(directions: Directions) -> int:
    """The number of arrays of the forward pass that the backward pass reads: the length of the chain."""
    return sum(directions.is_saved(v) for k in directions.forward for v in _values(directions, k))


def _values(directions: Directions, k: int) -> Iterable[int]:
    return directions.graph.nodes[k].outputs


def _crossing(directions: Directions, sizes: Sequence[int]) -> list[int]:
    """For each place in the forward pass the bytes handed on there, those twice that no backward pass reads."""
    nodes = directions.forward
    place = {k: at for at, k in enumerate(nodes)}
    changes = [0] * (len(nodes) + 1)
    for at, k in enumerate(nodes):
        for v in _values(directions, k):
            last = max((place[r] for r in directions.readers[v] if r in place), default=at)
            weight = sizes[v] if directions.is_saved(v) else 2 * sizes[v]
            changes[at] += weight
            changes[last] -= weight
    return list(itertools.accumulate(changes))
