"""Unique names of what a function takes and gives: the user's own where there is one, else the place."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Final

from tg.variables.structure import paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.functions.request import Request
    from tg.graph.nodes import Variable

STEP: Final = re.compile(r"\['((?:[^'\\]|\\.)*)'\]|\[([^\]]*)\]|\.(\w+)")


def names_of_inputs(request: Request) -> list[str]:
    """The names of a function's inputs: "x" of a variable of that name, "input0.w" of one in a structure without."""
    nesting = request.nesting
    places = [str(k) for k in range(len(request.inputs))] if nesting is None else nesting.places
    by_place = [f"input{dotted(place)}" for place in places]
    return chosen([v.name for v in request.inputs], by_place)


def names_of_outputs(request: Request) -> list[str]:
    """The names of what a call gives: of keys ("loss", "parts.0"), else of variables, else "output0"."""
    places = paths(request.structure)
    results = [v.name for v in request.results[: request.count]]
    if places == [""]:
        return chosen(results, ["output"])
    has_keys = any("." in place or "'" in place for place in places)
    by_place = [dotted(place).lstrip(".") if has_keys else f"output{dotted(place).lstrip('.')}" for place in places]
    return chosen([None] * len(places) if has_keys else results, by_place)


def names_of_shared(variables: Sequence[Variable], taken: Iterable[str]) -> list[str]:
    """The names of shared variables, other than those that are taken."""
    names = [v.name or f"shared{k}" for k, v in enumerate(variables)]
    return distinct(names, taken)


def chosen(own: Sequence[str | None], by_place: Sequence[str]) -> list[str]:
    """A name each: its own if nothing else has that, else that of its place."""
    names = [name if name and own.count(name) == 1 else place for name, place in zip(own, by_place, strict=True)]
    return distinct(names, ())


def distinct(names: Sequence[str], taken: Iterable[str]) -> list[str]:
    """The names, those that came before made another by a number at the end."""
    used = set(taken)
    reserved = set(names)
    unique = []
    for name in names:
        free = name
        if free in used:
            free = next(other for k in count(1) if (other := f"{name}_{k}") not in used and other not in reserved)
        used.add(free)
        unique.append(free)
    return unique


def dotted(place: str) -> str:
    """A place as Python writes it, with dots: "0['rates'][1].w" is "0.rates.1.w"."""
    return STEP.sub(lambda step: f".{next(part for part in step.groups() if part is not None)}", place)
