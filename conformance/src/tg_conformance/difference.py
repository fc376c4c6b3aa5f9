"""Derivatives by differences of an oracle, without tg: by a complex step, else central ones in extended precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg_conformance.compare import widen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = np.ndarray[Any, Any]

STEP: Final = 1e-4  # of central differences, which Richardson's extrapolation makes exact to the fourth order
COMPLEX_STEP: Final = 1e-30


class Derivative(NamedTuple):
    """The derivative of a scalar with respect to one array, and how far it may be off."""

    value: Array
    error: Array


def gradient(
    oracle: Callable[..., Any], arrays: Sequence[Array], weights: Sequence[Array], wrt: Sequence[int], *, analytic: bool
) -> list[Derivative]:
    """The gradient of the sum of weight * output over an oracle's floating outputs, for the arrays in `wrt`."""
    wide = [_wide(x) for x in arrays]
    factors = [_wide(w) for w in weights]

    def cost(values: Sequence[Array]) -> Any:
        results = oracle(*values)
        outputs = [
            y for y in (results if isinstance(results, tuple) else (results,)) if np.asarray(y).dtype.kind in "fc"
        ]
        return sum((np.sum(w * y) for w, y in zip(factors, outputs, strict=True)), np.longdouble(0))

    with np.errstate(all="ignore"):
        one = _by_complex_step if analytic else _by_central_differences
        return [one(cost, wide, k) for k in wrt]


def _wide(x: Array) -> Array:
    return x.astype(np.longdouble) if widen(x).dtype.kind == "f" else x


def _by_complex_step(cost: Callable[..., Any], arrays: list[Array], k: int) -> Derivative:
    value = np.zeros(arrays[k].shape, np.longdouble)
    for index in np.ndindex(arrays[k].shape):
        moved = arrays[k].astype(np.clongdouble)
        moved[index] += 1j * COMPLEX_STEP
        value[index] = cost([*arrays[:k], moved, *arrays[k + 1 :]]).imag / COMPLEX_STEP
    return Derivative(value, np.abs(value) * 1e-15)


def _by_central_differences(cost: Callable[..., Any], arrays: list[Array], k: int) -> Derivative:
    value = np.zeros(arrays[k].shape, np.longdouble)
    error = np.zeros(arrays[k].shape, np.longdouble)
    size = abs(cost(arrays))
    for index in np.ndindex(arrays[k].shape):
        h: Any = STEP * np.maximum(np.abs(arrays[k][index]), 0.1)
        coarse, fine = (_slope(cost, arrays, k, index, step) for step in (h, h / 2))
        value[index] = (4 * fine - coarse) / 3
        error[index] = abs(fine - coarse) * STEP + size * np.finfo(np.longdouble).eps * 16 / h
    return Derivative(value, error)


def _slope(cost: Callable[..., Any], arrays: list[Array], k: int, index: tuple[int, ...], h: Any) -> Any:
    ends = []
    for step in (h, -h):
        moved = arrays[k].copy()
        moved[index] += step
        ends.append(cost([*arrays[:k], moved, *arrays[k + 1 :]]))
    return (ends[0] - ends[1]) / (2 * h)
