"""What a program's results owe to rounding: it is interpreted again and again with every rounding made anew.

Stochastic arithmetic: each operation that rounds gets operands and gives results that are wrong by a few units in the
last place, at random. Where results stay near one another so must those of any program that means the same; where a
comparison, a maximum or a rounding turns out otherwise, nothing is known and nothing is compared.
"""

from __future__ import annotations

import contextlib
from typing import NamedTuple
from unittest import mock

import numpy as np

import tg
from tests.fuzz.noise import Flushing, Rounding, Shortening, is_inexact, limits
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import failure
from tg.ops.contraction import MatMul
from tg.ops.elementwise.arithmetic import gate
from tg.ops.elementwise.record import Elementwise

SHORTER = 1 / 4  # how far a rounding moves a number, against leaving out its last digits


class Run(NamedTuple):
    """The outputs of one interpretation, all its values, and whether a finite operation overflowed on the way."""

    outputs: tuple
    overflowed: bool
    values: list


def run(frozen, arrays, noise=None) -> Run:
    """Interpret a program, with other numbers if a noise is given (`tests.fuzz.noise`). A check that fails raises."""
    values = [*map(packed, arrays), *(c.data for c in frozen.constants)]
    values.extend([None] * (len(frozen.types) - len(values)))
    checks = {c.condition: c for c in reversed(frozen.checks)}
    overflowed = False
    with np.errstate(all="ignore"), one_way():
        for node in frozen.nodes:
            operands = [values[k] for k in node.inputs]
            if noise is not None:
                operands = noise.operands(node.op, operands)
            for number, made in zip(node.outputs, node.op.perform(*operands), strict=True):
                overflowed = overflowed or overflows(operands, made)
                value = made if noise is None else noise.result(node.op, operands, made)
                values[number] = packed(value)
                if number in checks and not value:
                    raise checks[number].descriptor.build(failure(frozen, values)[1:])
    return Run(tuple(np.asarray(values[k]) for k in frozen.outputs), overflowed, values)


def packed(x):
    """The array in C order without gaps: NumPy's sums depend on strides."""
    return x if isinstance(x, np.ndarray) and x.flags.c_contiguous else np.ascontiguousarray(x).reshape(np.shape(x))


@contextlib.contextmanager
def one_way():
    """NumPy computes alike whatever operands were made of, also when constants are folded.

    Otherwise it multiplies a matrix by its own transpose, takes powers with an exponent of one element, and products
    and sizes of complex numbers by their place in an array and by which of them is first, in ways of their own.
    """
    elementwise, matmul = Elementwise.perform, MatMul.perform
    if getattr(elementwise, "is_one_way", False):  # it is so already
        yield
        return

    def of_elements(op, *arrays):
        if arrays[0].dtype.kind == "c" and op.fn in COMPLEX:
            return (COMPLEX[op.fn](*arrays),)
        return elementwise(op, *(x.copy() for x in np.broadcast_arrays(*arrays)) if op.fn is tg.power else arrays)

    of_elements.is_one_way = True
    with (
        mock.patch.object(Elementwise, "perform", of_elements),
        mock.patch.object(MatMul, "perform", lambda op, *arrays: matmul(op, *(x.copy() for x in arrays))),
    ):
        yield


def product(x, y):
    """The product of complex numbers, each real product and sum rounded on its own."""
    found = np.empty(np.broadcast_shapes(x.shape, y.shape), x.dtype)
    found.real = x.real * y.real - x.imag * y.imag
    found.imag = x.real * y.imag + x.imag * y.real
    return found


WIDTH = 64  # elements, more than NumPy takes at a time: those that are left over it takes one by one
COMPLEX = {
    tg.absolute: lambda x: np.abs(np.append(x, np.zeros(WIDTH, x.dtype)))[: x.size].reshape(x.shape),
    tg.multiply: product,
    tg.square: lambda x: product(x, x),
    gate: lambda x, y: np.where(x == 0, np.zeros((), x.dtype), product(x, y)),
}


def overflows(operands, value) -> bool:
    """Whether finite operands have an infinite result, or one beyond the root of the largest number.

    Of complex numbers also NaN: which of the two a quotient by 0 is, or an infinite one, libraries do not agree on.
    """
    if not is_inexact(value.dtype) or not value.size:
        return False
    size = np.abs(wide(value))
    beyond = size > limits(value.dtype).largest ** 0.5
    if value.dtype.kind == "c":
        beyond |= np.isnan(size)
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
        self.others: list[tuple] = []  # with roundings made anew
        self.weighed: list[tuple[tuple, float]] = []  # with other numbers, and how much their distance counts
        self.rng = np.random.default_rng(seed)
        self.unstable = False  # whether an error comes or goes with rounding
        self.more(runs)

    def more(self, runs: int) -> None:
        """Interpret it so many times more."""
        with one_way():
            for _ in range(runs):
                self.others.extend(self._outputs(Rounding(self.rng)))

    def _outputs(self, noise) -> list[tuple]:
        try:
            return [run(self.frozen, self.arrays, noise).outputs]
        except Exception:  # noqa: BLE001 (a check that fails for other numbers)
            self.unstable = True
            return []

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

    def confirmed(self, found, *, flushes: bool = False) -> str | None:
        """The difference, if it is still one after many more runs; `flushes` where subnormals may be taken for 0."""
        if self.difference(found) is None:
            return None
        self.more(40)
        for _ in range(20):
            self.weighed.extend((outputs, SHORTER) for outputs in self._outputs(Shortening(self.rng)))
        if flushes:
            self.weighed.extend((outputs, 1.0) for outputs in self._outputs(Flushing()))
        return self.difference(found)

    def _differs(self, k, plain, other) -> str | None:
        runs = [o[k] for o in self.others]
        weighed = [(o[k], weight) for o, weight in self.weighed]
        every = [*runs, *(r for r, _ in weighed)]
        if self.unstable or self.lenient or any(r.shape != plain.shape for r in every):
            return None
        if plain.shape != other.shape:
            return f"shape {other.shape}, needed {plain.shape}"
        if not is_inexact(plain.dtype):
            wrong = plain != other
            for r in every:
                wrong = wrong & (r == plain)
            return shown(plain, other, wrong) if np.any(wrong) else None
        wrong = self.wrong_numbers(plain, other, runs, weighed)
        return shown(plain, other, wrong) if np.any(wrong) else None

    def wrong_numbers(self, plain, other, runs, weighed=()):
        """Where a floating result is neither the plain one nor within what rounding explains."""
        info = limits(plain.dtype)
        wide = np.complex128 if plain.dtype.kind == "c" else np.float64
        a, b = plain.astype(wide), other.astype(wide)
        finite = np.isfinite(a)
        known = np.ones(a.shape, bool)
        spread = np.zeros(a.shape)
        with np.errstate(all="ignore"):
            for r, weight in [*((r, 1.0) for r in runs), *weighed]:
                c = r.astype(wide)
                known &= np.where(finite, np.isfinite(c), (c == a) | (np.isnan(c) & np.isnan(a)))
                spread = np.fmax(spread, weight * np.where(finite & np.isfinite(c), np.abs(c - a), 0))
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
