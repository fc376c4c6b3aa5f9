"""Reductions, in the dtype of the operand.

Deviations from PyTorch: no elements give the identity, positions in no elements 0 (checks refuse both where it is an
error), complex extrema are lexicographic and propagate NaN, and unsigned integers are reduced as signed ones.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import torch

from tg import maximum, minimum
from tg.backend import reduction as t
from tg_torch.unsigned import as_dtype, ordered, signed, unordered

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule

EXTREMA: Final[dict[object, Callable[..., torch.Tensor]]] = {maximum: torch.amax, minimum: torch.amin}
OF_BOOL: Final[dict[str | None, Callable[..., torch.Tensor]]] = {"any": torch.any, "all": torch.all}


def reduce(op: t.Reduce, x: torch.Tensor) -> Any:
    """The elements along the axes combined, by a function that PyTorch has a reduction for."""
    reduction = op.reduction
    if reduction.kind == "other":
        return NotImplemented
    if x.dtype == torch.bool:
        return OF_BOOL[reduction.of_bool](x, op.axes)
    if reduction.is_sum:
        bits = signed(x)
        return as_dtype(torch.sum(bits, op.axes, dtype=bits.dtype), x.dtype)
    if reduction.kind == "product":
        return as_dtype(_product(signed(x), op.axes), x.dtype)
    if 0 in [x.shape[k] for k in op.axes]:
        start = reduction.identity(str(x.dtype).removeprefix("torch."))
        return x.new_full(_rest(x, op.axes), start.item())
    if x.is_complex():
        flat = _flat(x, op.axes)
        return flat.gather(-1, _first_extreme(op.fn, flat).unsqueeze(-1)).squeeze(-1)
    return unordered(EXTREMA[op.fn](ordered(x), op.axes), x.dtype)


def _product(x: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    for k in axes:  # ascending from the end: those behind keep their numbers
        x = torch.prod(x, k, dtype=x.dtype)
    return x


def _rest(x: torch.Tensor, axes: tuple[int, ...]) -> list[int]:
    """The lengths of the other axes."""
    return [n for k, n in enumerate(x.shape, -x.ndim) if k not in axes]


def _flat(x: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    """The axes joined to one, the last."""
    joined = math.prod([x.shape[k] for k in axes])
    return x.movedim(axes, tuple(range(-len(axes), 0))).reshape(*_rest(x, axes), joined)


def _first_extreme(fn: object, x: torch.Tensor) -> torch.Tensor:
    """The first position along the last axis of the lexicographic extremum of complex numbers, or of NaN."""
    best, worst = (torch.amax, float("-inf")) if fn is maximum else (torch.amin, float("inf"))
    outermost = x.real == best(x.real, -1, keepdim=True)
    imaginary = torch.where(outermost, x.imag, x.imag.new_full((), worst))
    is_extreme = outermost & (imaginary == best(imaginary, -1, keepdim=True))
    unknown = torch.isnan(x)
    is_extreme = torch.where(unknown.any(-1, keepdim=True), unknown, is_extreme)
    return torch.argmax(is_extreme.to(torch.uint8), -1)


def arg_reduce(op: t.ArgReduce, x: torch.Tensor) -> torch.Tensor:
    """The position of the first extremum, or of the first NaN."""
    if x.shape[op.axis] == 0:
        return x.new_zeros(_rest(x, (op.axis,)), dtype=torch.int64)
    if x.is_complex():
        return _first_extreme(op.fn, x.movedim(op.axis, -1))
    find = torch.argmax if op.reduction.sign > 0 else torch.argmin
    return find(x.view(torch.uint8) if x.dtype == torch.bool else ordered(x), op.axis)


RULES: Final[dict[object, Rule]] = {t.Reduce: reduce, t.ArgReduce: arg_reduce}
