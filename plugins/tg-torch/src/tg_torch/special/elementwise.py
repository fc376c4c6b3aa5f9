"""Elementwise functions: PyTorch's own where the rule does no more, in the memory of an operand where that is free.

Unsigned integers of more than 8 bits keep the rule, and so do complex numbers where it orders them or mends a zero.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import torch

from tg.backend import COMPLEX, FLOATS, arithmetic, cast, comparison, exponential, rounding, trigonometric
from tg_torch.fused import AddMultiple, Relu, ReluGradient
from tg_torch.rules import RULES
from tg_torch.rules.elementwise.cast import DTYPES
from tg_torch.unsigned import SIGNED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule, Site

    Function = Callable[..., torch.Tensor]
    Make = Callable[[Site], Rule | None]

BITS: Final = {"float16": torch.int16, "bfloat16": torch.int16, "float32": torch.int32, "float64": torch.int64}
LARGE: Final = 4096  # elements: from here on bits are chosen faster than branches (12 times where these are random)
EMULATED: Final = frozenset(str(dtype).removeprefix("torch.") for dtype in SIGNED)
INTO_GRADIENT: Final = torch.ops.aten.threshold_backward.grad_input
UNORDERED: Final = EMULATED | frozenset(COMPLEX)


def direct(function: Function, excluded: frozenset[str] = EMULATED) -> Make:
    """`function`, which has an argument `out`, for operands of one dtype that is not excluded."""
    return lambda site: _into(function, site) if _suits(site, excluded) else None


def _suits(site: Site, excluded: frozenset[str]) -> bool:
    """Whether the operands have one dtype that is not excluded."""
    dtypes = {t.dtype for t in site.operands}
    return len(dtypes) == 1 and not dtypes & excluded


def _into(function: Function, site: Site) -> Function:
    """The function, its result in the memory of an operand if one is free."""
    for k in site.reusable():
        if len(site.operands) == 1:
            return lambda x: function(x, out=x)
        if k == 0:
            return lambda x, y: function(x, y, out=x)
        return lambda x, y: function(x, y, out=y)
    return function


def _cast(site: Site) -> Rule | None:
    """Between numbers all of which, or whose bits, the other dtype has."""
    (x,), op = site.operands, site.op
    assert isinstance(op, cast.Cast)
    target = DTYPES[op.dtype]
    if target == torch.bool or x.dtype in COMPLEX or (x.dtype in FLOATS and op.dtype not in (*FLOATS, *COMPLEX)):
        return None
    return lambda x: x.to(target)


def _comparison(function: Function) -> Make:
    def make(site: Site) -> Rule | None:
        dtypes = {t.dtype for t in site.operands}
        return None if len(dtypes) > 1 or dtypes & UNORDERED else function

    return make


def _where(site: Site) -> Rule | None:
    """The bits of one or the other, for PyTorch's own branches at each element; 0 costs a pass less."""
    if site.results[0].dtype not in BITS:
        return None
    of_bits = BITS[site.results[0].dtype]

    def chosen(c: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if max(c.numel(), x.numel(), y.numel()) < LARGE or not c.is_cpu:
            return torch.where(c, x, y)
        mask, a, b = c.to(of_bits), x.view(of_bits), y.view(of_bits)
        if not a.ndim and a.item() == 0:
            bits = mask.sub_(1) & b
        elif not b.ndim and b.item() == 0:
            bits = mask.neg_() & a
        else:
            bits = (mask.neg_() & (a ^ b)).bitwise_xor_(b)
        return bits.view(x.dtype)

    return chosen


def _add_multiple(site: Site) -> Rule | None:
    op = site.op
    assert isinstance(op, AddMultiple)
    return _into(functools.partial(torch.add, alpha=op.factor), site)


def _relu(site: Site) -> Rule | None:
    function: Rule = torch.relu_ if 0 in site.dying else torch.relu
    return function


def _relu_gradient(site: Site) -> Rule | None:
    if 1 not in site.reusable():
        return None
    return lambda x, dy: INTO_GRADIENT(dy, x, 0, grad_input=dy)


def _floating(function: Function) -> Make:
    return lambda site: _into(function, site) if site.operands[0].dtype in FLOATS else None


def overwrite(rule: Rule, site: Site) -> Rule | None:
    """PyTorch's own function for a node, with an argument `out`, that runs no Python."""
    key = site.op.rule_key
    if RULES.get(key) is not rule:
        return None
    if isinstance(site.op, AddMultiple):
        return functools.partial(torch.add, alpha=site.op.factor)
    return PLAIN[key] if key in PLAIN and _suits(site, _excluded(key)) else None


def _excluded(fn: object) -> frozenset[str]:
    return UNORDERED if fn in OF_REAL else EMULATED


PLAIN: Final[dict[Any, Function]] = {
    arithmetic.add: torch.add,
    arithmetic.subtract: torch.sub,
    arithmetic.multiply: torch.mul,
    arithmetic.divide: torch.true_divide,
    arithmetic.negative: torch.neg,
    arithmetic.square: torch.square,
    arithmetic.sqrt: torch.sqrt,
    arithmetic.hypot: torch.hypot,
    arithmetic.copysign: torch.copysign,
    exponential.exp: torch.exp,
    exponential.exp2: torch.exp2,
    exponential.expm1: torch.expm1,
    exponential.log: torch.log,
    exponential.log2: torch.log2,
    exponential.log10: torch.log10,
    exponential.log1p: torch.log1p,
    exponential.logaddexp: torch.logaddexp,
    exponential.sigmoid: torch.sigmoid,
    rounding.floor: torch.floor,
    rounding.ceil: torch.ceil,
    rounding.trunc: torch.trunc,
    trigonometric.sin: torch.sin,
    trigonometric.cos: torch.cos,
    trigonometric.tan: torch.tan,
    trigonometric.arcsin: torch.arcsin,
    trigonometric.arccos: torch.arccos,
    trigonometric.arctan: torch.arctan,
    trigonometric.arctan2: torch.arctan2,
    trigonometric.sinh: torch.sinh,
    trigonometric.cosh: torch.cosh,
    trigonometric.tanh: torch.tanh,
    trigonometric.arcsinh: torch.arcsinh,
    trigonometric.arccosh: torch.arccosh,
    trigonometric.arctanh: torch.arctanh,
}

OF_REAL: Final = frozenset(
    {arithmetic.negative, exponential.log1p, trigonometric.arccos}
)  # complex numbers keep the rule

SPECIAL: Final[dict[object, Make]] = {
    **{fn: direct(function, _excluded(fn)) for fn, function in PLAIN.items()},
    arithmetic.maximum: direct(torch.maximum, UNORDERED),
    arithmetic.minimum: direct(torch.minimum, UNORDERED),
    arithmetic.power: _floating(torch.pow),
    arithmetic.absolute: _floating(torch.abs),
    arithmetic.reciprocal: _floating(torch.reciprocal),
    cast.Cast: _cast,
    comparison.equal: _comparison(torch.eq),
    comparison.not_equal: _comparison(torch.ne),
    comparison.less: _comparison(torch.lt),
    comparison.less_equal: _comparison(torch.le),
    comparison.greater: _comparison(torch.gt),
    comparison.greater_equal: _comparison(torch.ge),
    comparison.where: _where,
    AddMultiple: _add_multiple,
    Relu: _relu,
    ReluGradient: _relu_gradient,
}
