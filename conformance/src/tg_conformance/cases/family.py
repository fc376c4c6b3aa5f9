"""Cases of one family: written without its path, which is added here."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.plugin.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tg.plugin.case import Input


def of_family(path: str, *cases: Case | Iterable[Case]) -> tuple[Case, ...]:
    """The cases with the path of their family."""
    flat = [one for group in cases for one in ([group] if dataclasses.is_dataclass(group) else group)]
    return tuple(dataclasses.replace(case, family=path) for case in flat)


HALVES: Final = ("float16", "bfloat16")


def hundreds(draws: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
    """Numbers in [100, 300], whose squares and sums leave the range of float16."""
    return draws.uniform(100, 300, shape)


def rounded_once(expression: Callable[..., Any]) -> Callable[..., Any]:
    """An oracle of halves: the expression in float64, and its results rounded to the dtype of the first operand."""

    def of(x: Any, *others: Any) -> Any:
        results = expression(x.astype(float), *(v.astype(float) for v in others))
        with np.errstate(over="ignore"):
            return tuple(np.asarray(y).astype(x.dtype) for y in results)

    return of


def widened(a: Any) -> Any:
    """Values in double precision."""
    return a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)


def in_double(function: Callable[..., Any], *first: Any, **options: Any) -> Callable[..., Any]:
    """An oracle in double precision, for SciPy has no longer one; `first` are operands before those of the case."""
    return lambda *arrays: function(*first, *map(widened, arrays), **options)


def twin(name: str, expression: Callable[..., Any], *inputs: Input, **facts: Any) -> Case:
    """A case whose oracle is the same expression with NumPy: `expression(namespace, *values)`."""
    return Case(functools.partial(expression, tg), inputs, name=name, oracle=functools.partial(expression, np), **facts)


def alike(name: str, expression: Callable[..., Any], inputs: list[Input], **facts: Any) -> Case:
    """A case of an expression of a namespace and arrays that reads alike in tg and in NumPy, which is its oracle."""
    return Case(
        lambda *arrays: expression(tg, *arrays),
        inputs,
        name=name,
        oracle=lambda *arrays: expression(np, *arrays),
        **facts,
    )
