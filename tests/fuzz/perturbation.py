"""What a program's results owe to rounding: it is interpreted again and again with every rounding made anew.

Stochastic arithmetic: each operation that rounds gets operands and gives results that are wrong by a few units in the
last place, at random. Where results stay near one another so must those of any program that means the same; where a
comparison, a maximum or a rounding turns out otherwise, nothing is known and nothing is compared.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import ml_dtypes
import numpy as np

from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import failure
from tg.types.dtypes import numpy_dtype

# What rounds nothing: a result is an element of an operand, or a whole number, or a truth value.
EXACT = frozenset({
    "negative", "absolute", "sign", "maximum", "minimum", "where", "floor", "ceil", "trunc", "rint", "clip",
    "isnan", "isinf", "isfinite", "logical_and", "logical_or", "logical_xor", "logical_not", "conjugate",
    "less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "real", "imag", "complex", "positive",
    "Reshape", "BroadcastTo", "Transpose", "ExpandDims", "Squeeze", "Concatenate", "SpecifyShape", "Named", "Assume",
    "AxisLength", "Slice", "Gather", "WrapIndex", "Nonzero", "Arange", "Sort", "ArgSort", "SearchSorted", "ArgReduce",
})  # fmt: skip
ALIKE = frozenset({"MatMul", "power"})
ELEMENTS = frozenset({"Reduce", "Accumulate", "SliceUpdate", "Scatter"})  # as exact as the function in their field


class Limits(NamedTuple):
    """Of a floating dtype: the distance from 1 to the next number, the least normal number, the least, the largest."""

    eps: float
    tiny: float
    least: float
    largest: float


@functools.cache
def limits(dtype: np.dtype) -> Limits:
    info = ml_dtypes.finfo(np.finfo(dtype).dtype if dtype.kind == "c" else dtype)
    return Limits(float(info.eps), float(info.tiny), float(info.smallest_subnormal), float(info.max))


def is_inexact(dtype: np.dtype) -> bool:
    return dtype.kind in "fc" or dtype == ml_dtypes.bfloat16


def rounds(op) -> bool:
    """Whether an op gives results that are rounded."""
    if type(op).__name__ == "Cast":
        return is_inexact(numpy_dtype(op.dtype))
    if type(op).__name__ in ELEMENTS:
        fn = getattr(op, "fn", None)
        return fn is not None and fn.name not in EXACT
    return op.name not in EXACT and type(op).__name__ not in EXACT


def perturbed(x, rng, *, ulps: float = 2.0):
    """The array with every finite element moved by at most so many units in the last place."""
    x = np.asarray(x)
    if not is_inexact(x.dtype) or not x.size:
        return x
    if x.dtype.kind == "c":
        parts = [perturbed(part, rng, ulps=ulps) for part in (x.real, x.imag)]
        return (parts[0] + 1j * parts[1]).astype(x.dtype) if np.isfinite(x).all() else x
    info = limits(x.dtype)
    wide = x.astype(np.float64)
    steps = rng.uniform(-ulps, ulps, x.shape)
    moved = wide * (1 + info.eps * steps)
    small = (np.abs(wide) < info.tiny) & (wide != 0)
    if small.any():
        moved = np.where(small, wide + info.least * np.rint(steps), moved)
    moved = moved.astype(x.dtype)
    moved = np.where((x == 0) & (steps < 0), -moved, moved)  # of a zero the sign is as uncertain
    return np.where(np.isfinite(moved), moved, x)


class Run(NamedTuple):
    """The outputs of one interpretation, all its values, and whether a finite operation overflowed on the way."""

    outputs: tuple
    overflowed: bool
    values: list


def run(frozen, arrays, rng=None) -> Run:
    """Interpret a program; with a generator each rounding is made anew. A check that fails raises."""
    values = [*(np.ascontiguousarray(x).reshape(np.shape(x)) for x in arrays), *(c.data for c in frozen.constants)]
    values.extend([None] * (len(frozen.types) - len(values)))
    checks = {c.condition: c for c in reversed(frozen.checks)}
    overflowed = False
    with np.errstate(all="ignore"):
        for node in frozen.nodes:
            operands = [values[k] for k in node.inputs]
            moves = rng is not None and rounds(node.op)
            if node.op.name in ALIKE:
                operands = alike(node.op, operands)
            if moves:
                operands = moved_operands(node.op, operands, rng)
            for number, made in zip(node.outputs, node.op.perform(*operands), strict=True):
                overflowed = overflowed or overflows(operands, made)
                value = with_noise(operands, made, rng) if moves else made
                values[number] = np.ascontiguousarray(value).reshape(value.shape)  # NumPy's sums depend on strides
                if number in checks and not value:
                    raise checks[number].descriptor.build(failure(frozen, values)[1:])
    return Run(tuple(np.asarray(values[k]) for k in frozen.outputs), overflowed, values)


def alike(op, operands):
    """Operands for which NumPy takes the same way whatever they were made of."""
    if op.name == "MatMul":  # a matrix and its own transpose are multiplied otherwise
        return [x.copy() for x in operands]
    return [x.copy() for x in np.broadcast_arrays(*operands)]  # an exponent of one element has a way of its own


def moved_operands(op, operands, rng):
    """Operands as if each had been rounded before; whole exponents stay whole, and what a gate reads stays as it is."""
    if op.name == "gate" or type(op).__name__ == "Cast":
        return operands
    if op.name in ("power", "float_power"):
        return [perturbed(operands[0], rng), operands[1]]
    return [perturbed(x, rng) for x in operands]


def with_noise(operands, value, rng):
    """A result with its rounding made anew; a product that underflowed to 0 may be the least number."""
    moved = perturbed(value, rng)
    if value.dtype.kind == "f" and value.size and not value.all():
        lost = value == 0
        for x in operands:
            if x.shape == value.shape or x.ndim == 0:
                lost = lost & (x != 0)
            else:
                return moved
        if lost.any():
            noise = limits(value.dtype).least * rng.integers(-1, 2, value.shape)
            return np.where(lost, noise.astype(value.dtype), moved)
    return moved


def overflows(operands, value) -> bool:
    """Whether finite operands have an infinite result, or one beyond the root of the largest number."""
    if not is_inexact(value.dtype) or not value.size:
        return False
    size = np.abs(wide(value))
    beyond = size > limits(value.dtype).largest ** 0.5
    if not beyond.any():
        return False
    if (beyond & np.isfinite(size)).any():
        return True
    for x in operands:
        if is_inexact(x.dtype):
            finite = np.isfinite(wide(x))
            lengths = zip(x.shape[::-1], value.shape[::-1], strict=False)
            fits = x.ndim <= value.ndim and all(m in (1, n) for m, n in lengths)
            beyond = beyond & (finite if fits else finite.all())
    return bool(beyond.any())


def wide(x):
    """The array in the widest dtype of its kind."""
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


class Expectation:
    """What any program that means the same as a given one may return for the same arrays."""

    def __init__(self, frozen, arrays, *, runs: int = 3, seed: int = 0, multiple: float = 24.0) -> None:
        self.frozen, self.arrays, self.multiple = frozen, arrays, multiple
        self.outputs, self.overflowed, _ = run(frozen, arrays)
        # Overflow may be removed, and a limit be taken at infinity: what then is NaN or not decides the rest.
        given = (*arrays, *(c.data for c in frozen.constants))
        infinite = (is_inexact(a.dtype) and np.isinf(a).any() for a in map(np.asarray, given))
        self.lenient = self.overflowed or any(infinite)
        self.others: list[tuple] = []
        self.rng = np.random.default_rng(seed)
        self.unstable = False  # whether an error comes or goes with rounding
        self.more(runs)

    def more(self, runs: int) -> None:
        """Interpret it so many times more."""
        for _ in range(runs):
            try:
                self.others.append(run(self.frozen, self.arrays, self.rng).outputs)
            except Exception:  # noqa: BLE001 (a check that fails for other roundings)
                self.unstable = True

    def difference(self, found, *, strict: bool = False) -> str | None:
        """How outputs differ from what may come; None where they do not. With `strict` every bit counts."""
        for k, (plain, other) in enumerate(zip(self.outputs, map(np.asarray, found), strict=True)):
            if plain.dtype != other.dtype:
                return f"output {k}: dtype {other.dtype}, needed {plain.dtype}"
            if strict:
                wrong = bits_differ(plain, other) if plain.shape == other.shape else True
                if np.any(wrong):
                    return f"output {k}: exact rewrites changed {shown(plain, other, wrong)}"
                continue
            found_wrong = self._differs(k, plain, other)
            if found_wrong is not None:
                return f"output {k}: {found_wrong}"
        return None

    def confirmed(self, found) -> str | None:
        """The difference, if it is still one after many more runs."""
        if self.difference(found) is None:
            return None
        self.more(40)
        return self.difference(found)

    def _differs(self, k, plain, other) -> str | None:
        runs = [o[k] for o in self.others]
        if self.unstable or self.lenient or any(r.shape != plain.shape for r in runs):
            return None
        if plain.shape != other.shape:
            return f"shape {other.shape}, needed {plain.shape}"
        if not is_inexact(plain.dtype):
            wrong = plain != other
            for r in runs:
                wrong = wrong & (r == plain)
            return shown(plain, other, wrong) if np.any(wrong) else None
        wrong = self.wrong_numbers(plain, other, runs)
        return shown(plain, other, wrong) if np.any(wrong) else None

    def wrong_numbers(self, plain, other, runs):
        """Where a floating result is neither the plain one nor within what rounding explains."""
        info = limits(plain.dtype)
        wide = np.complex128 if plain.dtype.kind == "c" else np.float64
        a, b = plain.astype(wide), other.astype(wide)
        finite = np.isfinite(a)
        known = np.ones(a.shape, bool)
        spread = np.zeros(a.shape)
        with np.errstate(all="ignore"):
            for r in runs:
                c = r.astype(wide)
                known &= np.where(finite, np.isfinite(c), (c == a) | (np.isnan(c) & np.isnan(a)))
                spread = np.fmax(spread, np.where(finite & np.isfinite(c), np.abs(c - a), 0))
            allowed = self.multiple * spread + 4 * info.eps * np.abs(a) + 8 * info.least
            near = np.abs(a - b) <= allowed
            near |= ~np.isfinite(allowed)
            near |= (np.abs(a) + allowed > info.largest) & ~np.isfinite(b)  # just below what overflows
        alike = (a == b) | (np.isnan(a) & np.isnan(b))
        return known & ~alike & ~(finite & near)


def bits_differ(a, b):
    """Where two arrays of one dtype differ in a bit; NaNs are one value."""
    if not is_inexact(a.dtype):
        return a != b
    if a.dtype.kind == "c":  # NumPy's products of complex numbers depend on where these stand in memory
        differ = bits_differ(a.real, b.real) | bits_differ(a.imag, b.imag)
        with np.errstate(all="ignore"):
            near = np.isfinite(a) & (a != b) & (np.abs(a - b) <= 8 * limits(a.dtype).eps * np.abs(a))
        return differ & ~(np.isnan(a) & np.isnan(b)) & ~near
    return ~((np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b))))


def shown(plain, other, wrong) -> str:
    """The first element that differs, both ways."""
    if plain.shape != other.shape:
        return f"shape {plain.shape} to {other.shape}"
    index = tuple(int(i[0]) for i in np.nonzero(np.broadcast_to(wrong, plain.shape))) if plain.ndim else ()
    return f"element {index}: found {other[index]!r}, needed {plain[index]!r}"


def frozen_of(inputs, outputs, ones=()):
    """The program as it is written."""
    return FunctionGraph.of(inputs, outputs, ones).freeze()
