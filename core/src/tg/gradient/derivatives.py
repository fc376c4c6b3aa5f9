"""Derivatives of expressions in their stable forms: gradients, cotangents and tangents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.gradient.pullback import cotangents_of, gradients_of
from tg.gradient.pushforward import tangents_of
from tg.gradient.stable import stable
from tg.graph.collector import paused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.gradient.selection import Supports
    from tg.graph.nodes import Variable

    Gradients = list[Variable | None]


@paused
def gradients(
    outputs: Sequence[Variable],
    dys: Sequence[Variable | None],
    wrt: Sequence[Variable],
    leaves: Sequence[Variable] = (),
    seeds: Sequence[tuple[Variable, Variable]] = (),
) -> Gradients:
    """`gradients_of` the outputs in stable forms."""
    outputs, fenced = stable(outputs, [*wrt, *leaves, *(v for v, _ in seeds)])
    pairs = [(fenced(v), dv) for v, dv in seeds]
    return gradients_of(outputs, dys, [*map(fenced, wrt)], [*map(fenced, leaves)], pairs)


@paused
def cotangents(
    outputs: Sequence[Variable],
    dys: Sequence[Variable | None],
    wrt: Sequence[Variable],
    leaves: Sequence[Variable] = (),
    supports: Supports | None = None,
) -> Gradients:
    """`cotangents_of` the outputs in stable forms."""
    outputs, fenced = stable(outputs, [*wrt, *leaves])
    return cotangents_of(outputs, dys, [*map(fenced, wrt)], [*map(fenced, leaves)], supports=supports)


@paused
def tangents(
    outputs: Sequence[Variable],
    wrt: Sequence[Variable],
    ts: Sequence[Variable | None],
    leaves: Sequence[Variable] = (),
    supports: Supports | None = None,
) -> Gradients:
    """`tangents_of` the outputs in stable forms."""
    outputs, fenced = stable(outputs, [*wrt, *leaves])
    return tangents_of(outputs, [*map(fenced, wrt)], ts, [*map(fenced, leaves)], supports)
