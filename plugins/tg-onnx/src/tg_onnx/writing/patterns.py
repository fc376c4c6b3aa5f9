"""Patterns of nodes for which ONNX has one operator: normalizations, means, gelu.

They are looked for from the last node of each; what else reads a value inside one still gets it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.backend import (
    ExpandDims,
    Reshape,
    arithmetic,
    comparison,
    exponential,
    special,
)
from tg_onnx.writing.reader import Match, Reader
from tg_onnx.writing.rules.reduction import reduced
from tg_onnx.writing.scope import agree, is_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tg.backend import Node
    from tg_onnx.writing.scope import Scope, Value

ROOT_OF_HALF: Final = 0.7071067811865476
SATURATED: Final = 30.0
CUBIC: Final = 0.044715
TWICE_ROOT: Final = 1.5957691216057308  # 2 * sqrt(2 / pi)


class Standard(NamedTuple):
    """(x - mean) / sqrt(variance + eps) over axes."""

    x: int
    axes: tuple[int, ...]
    eps: float


def find(reader: Reader, node: Node, opset: int) -> Match | None:
    """The pattern that ends with a node."""
    key = node.op.rule_key
    if key not in ENDS:
        return None
    (value,) = node.outputs
    if not reader.graph.types[value].dtype.startswith(("float", "bfloat")):
        return None
    for pattern in PATTERNS:
        match = pattern(reader, value, opset)
        if match is not None:
            return match
    return None


def _rooted(reader: Reader, value: int) -> tuple[int, float] | None:
    """v and eps of sqrt(v + eps)."""
    inside = reader.operands(value, arithmetic.sqrt)
    for v, eps in reader.pairs(inside[0], arithmetic.add) if inside is not None else ():
        number = reader.number(eps)
        if number is not None:
            return v, number
    return None


def _standard(reader: Reader, value: int) -> Standard | None:
    operands = reader.operands(value, arithmetic.divide)
    if operands is None:
        return None
    deviations, root = operands
    difference, rooted = reader.operands(deviations, arithmetic.subtract), _rooted(reader, root)
    if difference is None or rooted is None:
        return None
    middle, spread = reader.mean(difference[1]), reader.mean(rooted[0])
    if middle is None or spread is None or middle.x != difference[0] or not middle.keeps or not spread.keeps:
        return None
    if reader.square(spread.x) != deviations or spread.axes != middle.axes:
        return None
    return Standard(middle.x, middle.axes, rooted[1])


def _affine(reader: Reader, value: int) -> Iterator[tuple[int, int | None, int | None]]:
    """z, w and b of z * w + b, of which w and b may be absent."""
    for product, b in reader.pairs(value, arithmetic.add):
        for z, w in reader.pairs(product, arithmetic.multiply):
            yield z, w, b
        yield product, None, b
    for z, w in reader.pairs(value, arithmetic.multiply):
        yield z, w, None
    yield value, None, None


def _parameter(reader: Reader, value: int | None, lengths: Sequence[Any], behind: int) -> int | None:
    """A parameter with these lengths, which stands in front of so many axes of length 1."""
    if value is None:
        return None
    shape = reader.shape(value)
    ones = all(map(is_one, shape[len(shape) - behind :]))
    own = shape[: len(shape) - behind][-len(lengths) :] if behind else shape[-len(lengths) :]
    inner = reader.unexpanded(value)
    if not ones or not agree(own, lengths) or not agree(reader.shape(inner), lengths):
        return None
    return inner


def layer_normalization(reader: Reader, value: int, opset: int) -> Match | None:
    """`LayerNormalization` over the last axes."""
    for z, w, b in _affine(reader, value):
        form = _standard(reader, z)
        if form is None:
            continue
        shape = reader.shape(form.x)
        first, lengths = form.axes[0], shape[form.axes[0] :]
        scale, bias = (_parameter(reader, v, lengths, 0) for v in (w, b))
        if form.axes != tuple(range(first, len(shape))) or (w is None) != (scale is None):
            continue
        if (b is None) != (bias is None) or (scale is None and not all(type(n) is int for n in lengths)):
            continue
        operands = tuple(v for v in (form.x, scale, bias) if v is not None)

        def write(
            s: Scope, x: Value, *rest: Value, first: int = first, eps: float = form.eps, has: bool = scale is not None
        ) -> Value:
            ones = () if has else (s.constant(np.ones(x.shape[first:]), x.dtype),)
            return s("LayerNormalization", x, *ones, *rest, axis=first - x.ndim, epsilon=eps, shape=x.shape)

        return Match(operands, write)
    return None


def rms_normalization(reader: Reader, value: int, opset: int) -> Match | None:
    """`RMSNormalization` over the last axes, since opset 23."""
    if opset < 23:
        return None
    for z, w in reader.pairs(value, arithmetic.multiply):
        quotient = reader.operands(z, arithmetic.divide)
        rooted = None if quotient is None else _rooted(reader, quotient[1])
        spread = None if rooted is None else reader.mean(rooted[0])
        if quotient is None or rooted is None or spread is None or reader.square(spread.x) != quotient[0]:
            continue
        shape, first = reader.shape(quotient[0]), spread.axes[0]
        scale = _parameter(reader, w, shape[first:], 0)
        if spread.keeps and scale is not None and spread.axes == tuple(range(first, len(shape))):
            attributes = {"axis": first - len(shape), "epsilon": rooted[1]}
            write = _node("RMSNormalization", **attributes)
            return Match((quotient[0], scale), write)
    return None


def _node(kind: str, **attributes: Any) -> Callable[..., Value]:
    """A node whose result has the shape of its first operand."""
    return lambda w, x, *rest: w(kind, x, *rest, shape=x.shape, **attributes)


class Statistics(NamedTuple):
    """(x - mean) / sqrt(variance + eps) * w + b, of which w and b may be absent."""

    x: int
    mean: int
    variance: int
    eps: float
    w: int | None
    b: int | None


def _by_statistics(reader: Reader, value: int) -> Iterator[Statistics]:
    """The forms of a normalization by statistics: as it is written, and as a product and a sum."""
    for z, w, b in _affine(reader, value):
        quotient = reader.operands(z, arithmetic.divide)
        rooted = None if quotient is None else _rooted(reader, quotient[1])
        difference = None if quotient is None else reader.operands(quotient[0], arithmetic.subtract)
        if rooted is not None and difference is not None:
            yield Statistics(difference[0], difference[1], rooted[0], rooted[1], w, b)
    for scaled, shift in reader.pairs(value, arithmetic.add):
        difference = reader.operands(shift, arithmetic.subtract)
        for x, factor in reader.pairs(scaled, arithmetic.multiply) if difference is not None else ():
            for middle, same in reader.pairs(difference[1], arithmetic.multiply) if difference is not None else ():
                for inverse, w in reader.pairs(factor, arithmetic.multiply) if same == factor else ():
                    quotient = reader.operands(inverse, arithmetic.divide)
                    rooted = _rooted(reader, quotient[1]) if quotient and reader.is_number(quotient[0], 1) else None
                    if rooted is not None and difference is not None:
                        yield Statistics(x, middle, rooted[0], rooted[1], w, difference[0])


def batch_normalization(reader: Reader, value: int, opset: int) -> Match | None:
    """`BatchNormalization` with statistics that are given, channels being the second axis."""
    shape = reader.shape(value)
    if len(shape) < 2:
        return None
    channels, behind = shape[1:2], len(shape) - 2
    for x, average, variance, eps, w, b in _by_statistics(reader, value):
        if not agree(reader.shape(x), shape):
            continue
        middle, spread = (_parameter(reader, v, channels, behind) for v in (average, variance))
        scale, bias = (_parameter(reader, v, channels, behind) for v in (w, b))
        if middle is None or spread is None or (w is None) != (scale is None) or (b is None) != (bias is None):
            continue
        if type(channels[0]) is not int and (scale is None or bias is None):
            continue
        present = [v for v in (scale, bias) if v is not None]
        write = _with_defaults(has_scale=scale is not None, has_bias=bias is not None, eps=eps)
        return Match((x, *present, middle, spread), write)
    return None


def _with_defaults(*, has_scale: bool, has_bias: bool, eps: float) -> Callable[..., Value]:
    def write(w: Scope, x: Value, *rest: Value) -> Value:
        operands = list(rest)
        count = x.shape[1]
        scale = operands.pop(0) if has_scale else w.constant(np.ones(count), x.dtype)
        bias = operands.pop(0) if has_bias else w.constant(np.zeros(count), x.dtype)
        return w("BatchNormalization", x, scale, bias, *operands, epsilon=eps, shape=x.shape)

    return write


def group_normalization(reader: Reader, value: int, opset: int) -> Match | None:
    """`GroupNormalization`, since opset 21, and `InstanceNormalization`; both scale by channel."""
    shape = reader.shape(value)
    if len(shape) < 3:
        return None
    channels, behind = shape[1:2], len(shape) - 2
    for z, w, b in _affine(reader, value):
        scale, bias = (_parameter(reader, v, channels, behind) for v in (w, b))
        if scale is None or bias is None:
            continue
        form = _standard(reader, z)
        if form is not None and form.axes == tuple(range(2, len(shape))):
            return Match((form.x, scale, bias), _node("InstanceNormalization", epsilon=form.eps))
        outside = reader.operands(z, Reshape)
        form = None if outside is None else _standard(reader, outside[0])
        source = None if form is None else reader.operands(form.x, Reshape)
        if form is None or source is None or opset < 21:
            continue
        parted = reader.shape(form.x)
        groups = parted[1] if len(parted) > 1 else None
        whole = agree(reader.shape(source[0]), shape) and agree((parted[0], *parted[3:]), (shape[0], *shape[2:]))
        if whole and type(groups) is int and form.axes == tuple(range(2, len(parted))):
            node = _node("GroupNormalization", epsilon=form.eps, num_groups=groups)
            return Match((source[0], scale, bias), node)
    return None


def mean(reader: Reader, value: int, opset: int) -> Match | None:
    """`ReduceMean`."""
    form = reader.mean(value)
    if form is None:
        return None
    return Match((form.x,), lambda w, x: reduced(w, "ReduceMean", x, form.axes, keepdims=form.keeps))


def gelu(reader: Reader, value: int, opset: int) -> Match | None:
    """`Gelu`, since opset 20; before that the exact one is written with `Erf`."""
    for a, b in reader.pairs(value, arithmetic.multiply):
        x = _half_gelu(reader, a, b)
        if x is not None:
            return Match((x,), _node("Gelu") if opset >= 20 else _gelu_by_erf)
        if opset >= 20 and _is_tanh_share(reader, a, b):
            return Match((a,), _node("Gelu", approximate="tanh"))
    return None


def _half_gelu(reader: Reader, a: int, b: int) -> int | None:
    """x of x * (0.5 * erfc(-x / sqrt(2))), whichever product comes first."""
    for x, half, share in (
        *((p, b, q) for p, q in reader.pairs(a, arithmetic.multiply)),
        *((a, p, q) for p, q in reader.pairs(b, arithmetic.multiply)),
    ):
        inside = reader.operands(share, special.error.erfc) if reader.is_number(half, 0.5) else None
        for u, factor in reader.pairs(inside[0], arithmetic.multiply) if inside is not None else ():
            if u == x and reader.is_number(factor, -ROOT_OF_HALF):
                return x
    return None


def _is_tanh_share(reader: Reader, x: int, share: int) -> bool:
    """Whether a value is sigmoid(2 sqrt(2 / pi) (x + 0.044715 x**3)), of x within limits."""
    inside = reader.operands(share, exponential.sigmoid)
    for total, factor in reader.pairs(inside[0], arithmetic.multiply) if inside is not None else ():
        for near, cube in reader.pairs(total, arithmetic.add) if reader.is_number(factor, TWICE_ROOT) else ():
            clipped = reader.operands(near, arithmetic.clip)
            is_clipped = clipped is not None and clipped[0] == x and reader.is_number(clipped[2], SATURATED)
            for power, small in reader.pairs(cube, arithmetic.multiply) if is_clipped else ():
                for square, other in reader.pairs(power, arithmetic.multiply) if reader.is_number(small, CUBIC) else ():
                    if reader.square(square) == other == near:
                        return True
    return False


def _gelu_by_erf(w: Scope, x: Value) -> Value:
    share = w("Add", w("Erf", w("Mul", x, w.like(x, ROOT_OF_HALF))), w.like(x, 1))
    return w("Mul", w("Mul", x, share), w.like(x, 0.5))


def relu(reader: Reader, value: int, opset: int) -> Match | None:
    """`Relu`: 0 where x is not above 0, else x."""
    operands = reader.operands(value, comparison.where)
    condition = None if operands is None else reader.operands(operands[0], comparison.less_equal)
    if operands is None or condition is None or condition[0] != operands[2]:
        return None
    numbers = [reader.number(v) for v in (condition[1], operands[1])]
    return Match((operands[2],), _node("Relu")) if numbers == [0, 0] else None


def leaky_relu(reader: Reader, value: int, opset: int) -> Match | None:
    """`LeakyRelu`: x where it is above 0, else a number times x."""
    operands = reader.operands(value, comparison.where)
    condition = None if operands is None else reader.operands(operands[0], comparison.greater)
    if operands is None or condition is None or condition[0] != operands[1] or reader.number(condition[1]) != 0:
        return None
    for x, slope in reader.pairs(operands[2], arithmetic.multiply):
        number = reader.number(slope)
        if x == operands[1] and number is not None:
            return Match((x,), _node("LeakyRelu", alpha=number))
    return None


PATTERNS: Final = (
    layer_normalization,
    rms_normalization,
    group_normalization,
    batch_normalization,
    gelu,
    relu,
    leaky_relu,
    mean,
)
ENDS: Final = frozenset({arithmetic.add, arithmetic.multiply, arithmetic.divide, comparison.where, ExpandDims})
