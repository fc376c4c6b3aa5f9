"""The options of the methods of variables, for type checkers: those of the functions of the same names."""

from __future__ import annotations

from typing import Any, TypedDict


class Reduced(TypedDict, total=False):
    """Of every reduction."""

    keepdims: bool


class Selected(Reduced, total=False):
    """Of those that can leave elements out."""

    where: Any


class Started(Selected, total=False):
    """Of those that can start from a value: `max`, `min`."""

    initial: Any


class Summed(Started, total=False):
    """Of `sum` and `prod`."""

    dtype: object


class Averaged(Selected, total=False):
    """Of `mean`."""

    dtype: object


class Spread(Averaged, total=False):
    """Of `var` and `std`."""

    ddof: float
    mean: Any
    correction: float | None


class Accumulated(TypedDict, total=False):
    """Of `cumsum` and `cumprod`."""

    dtype: object


class Sorted(TypedDict, total=False):
    """Of `sort` and `argsort`."""

    kind: Any
    order: Any
    stable: Any
    descending: bool
