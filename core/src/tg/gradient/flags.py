"""Conditions of what flows through loops and branches, as leaves of inner graphs and as results beside it.

A condition of a value goes in and out in the value's shape, or as a scalar where no two of its elements differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg.gradient.conditions import carried, has_axes, wide
from tg.gradient.reading import FIELDS, asked_inside
from tg.gradient.regular import Regularity
from tg.gradient.selection import Supports, flag_of
from tg.graph.nodes import Constant, Variable
from tg.ops.elementwise.comparison import logical_or
from tg.ops.shape import expand_dims_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tg.gradient.conditions import Condition
    from tg.gradient.selection import Place

Cotangents = list[Variable | None]


def inside_graph(
    stand_ins: Mapping[int, Variable],
    places: Mapping[Place, bool],
    inner: Sequence[Variable],
    regularity: Callable[[], Sequence[int]],
    known_given: Mapping[int, Callable[[], int]],
    *,
    kinks: bool,
) -> tuple[Supports, dict[Place, Variable], list[Variable]]:
    """Supports of what stands for values inside a graph, leaves for the conditions at these places, and the values.

    Of the graph's inputs it is `regularity` whether they are regular, and of what stands for values as well.
    """
    inside = Supports(Regularity(inner, regularity), kinks=kinks)
    for k, v in stand_ins.items():
        inside.regularity.tell(v, known_given[k])
    flags = {(k, field): flag_of(stand_ins[k], whole=whole) for (k, field), whole in places.items()}
    fields = {k: {field: flags[k, field] for field in FIELDS if (k, field) in flags} for k in stand_ins}
    return inside, flags, [inside.stated(v, fields[k]) for k, v in stand_ins.items()]


def widths(conditions: Mapping[Place, Variable]) -> dict[Place, bool]:
    """Of which values each element has a condition of its own."""
    return {place: has_axes(s) for place, s in conditions.items()}


def grown(
    places: Mapping[Place, bool], inside: Supports, slopes: Cotangents, moving: set[int], from_zeros: set[int]
) -> dict[Place, bool]:
    """Further places of conditions that carries have: what they begin with is zeros, or a step makes them."""
    more = {(k, "selected"): False for k in sorted(from_zeros) if (k, "selected") not in places}
    wide_places = widths(inside.places({k: v for k in sorted(moving) if (v := slopes[k]) is not None}))
    return more | {place: whole for place, whole in wide_places.items() if whole > places.get(place, -1)}


class Flagged(NamedTuple):
    """Conditions that flow through a loop beside what they are of."""

    places: dict[Place, bool]
    leaves: list[Variable]
    after: list[Variable]
    same: dict[Place, Variable]  # of sums, what holds of each step's part

    def starts(
        self, supports: Supports, flows: Mapping[int, Variable | None], operands: Sequence[Variable]
    ) -> list[Variable]:
        """The initial conditions: that of each value in `flows`, nowhere where that is zeros."""
        return [
            as_told(
                False if (v := flows.get(k)) is None else condition_of(supports, v, field), operands[k], whole=whole
            )
            for (k, field), whole in self.places.items()
        ]


def flagged_by(
    inside: Supports,
    flags: Mapping[Place, Variable],
    places: Mapping[Place, bool],
    slopes: Cotangents,
    inner: Sequence[Variable],
    carries: int,
    held: Sequence[int],
) -> Flagged:
    """The conditions of carries after a step, and of sums over all steps."""
    flagged = Flagged({}, [], [], {})
    for (k, field), leaf in flags.items():
        if k < carries:
            v, whole = slopes[k], places[k, field]
            flagged.places[k, field] = whole
            flagged.leaves.append(leaf)
            condition = False if v is None else condition_of(inside, v, field)
            flagged.after.append(as_told(condition, inner[k], whole=whole))
    for place, condition in inside.places({k: v for k in held if (v := slopes[k]) is not None}).items():
        if isinstance(condition, Constant):
            flagged.same[place] = condition
            continue
        flagged.places[place] = has_axes(condition)
        flagged.leaves.append(Variable(condition.type))
        flagged.after.append(logical_or(flagged.leaves[-1], condition))
    return flagged


def condition_of(supports: Supports, v: Variable, field: str) -> Condition:
    """A field of a value's support."""
    return getattr(asked_inside(supports.of(v)), field)  # type: ignore[no-any-return]


def as_told(s: Condition, v: Variable, *, whole: bool) -> Variable:
    """A condition of a value in its shape, or the scalar that it is."""
    return wide(s, v) if whole else carried(s, v)


def of_slices(
    flags: Mapping[Place, Variable], places: Mapping[Place, bool], first: int, last: int | None = None
) -> tuple[dict[Place, Variable], dict[Place, Variable]]:
    """Stand-ins for conditions of sequences: those of a step's slice, and scalars that all steps share."""
    own = {p: leaf for p, leaf in flags.items() if first <= p[0] and (last is None or p[0] < last)}
    return {p: v for p, v in own.items() if places[p]}, {p: v for p, v in own.items() if not places[p]}


def by_step(
    places: Iterable[Place], conditions: Sequence[Variable], values: Mapping[int, Variable | None]
) -> list[Variable]:
    """Conditions by step of its part of numbered values, in the ranks of these: a scalar is one of the whole part."""
    results = []
    for (k, _), s in zip(places, conditions, strict=False):
        v = values[k]
        assert v is not None
        more = v.type.ndim - s.type.ndim
        results.append(expand_dims_at(s, tuple(range(-more, 0))) if more else s)
    return results
