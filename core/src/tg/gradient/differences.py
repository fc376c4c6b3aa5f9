"""Derivatives by differences, without any pullback: what `tg.check_grad` holds gradients against.

A graph is interpreted in a wider dtype than its own: in complex numbers, a step along the imaginary axis gives a
derivative to the last digit where the function is analytic on the way; else central differences are extrapolated.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.ops.elementwise.cast import Cast
from tg.types.dtypes import dtype_name, is_float, is_inexact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import FrozenGraph, Node
    from tg.graph.nodes import Variable

    Array = np.ndarray[Any, Any]

COMPLEX_STEP: Final = 1e-20
EPSILON: Final = {1: 0.0, 2: 1e-2, 4: 1.2e-7, 8: 2.3e-16}  # by the bytes of a dtype
SMALLEST: Final = 0.01  # of the magnitudes by which steps are scaled
AGREEMENT: Final = 1e-5  # between both ways, relative to the derivatives: what is not analytic is far off


class Difference(NamedTuple):
    """One partial derivative, how far it may be off, and whether a complex step gave it."""

    value: float
    error: float
    is_complex_step: bool


class _Unavailable(Exception):  # noqa: N818 (never leaves this file)
    """An op does not compute in the wider dtype."""


@final
class Differences:
    """The sum of weight * output of an expression as a function of its inputs' values."""

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        arrays: Sequence[Array],
        weights: Sequence[Array],
    ) -> None:
        self.graph = FunctionGraph.of(inputs, outputs, ones(inputs, arrays)).freeze()
        self.arrays, self.weights = list(arrays), [np.asarray(w, np.float64) for w in weights]
        self.size = abs(self._cost(self.arrays))
        self.wide = [a.astype(np.float64) if is_float(dtype_name(a.dtype)) else a for a in arrays]
        self.is_wide = self._try(self.wide, np.float64) is not None
        self.epsilon = EPSILON[8] if self.is_wide else max(EPSILON[a.dtype.itemsize] for a in arrays)

    def partial(self, k: int, index: tuple[int, ...]) -> Difference:
        """The derivative with respect to one element of input k."""
        magnitude = abs(float(self.arrays[k][index]))
        value, error = self._extrapolated(k, index, max(magnitude, SMALLEST))
        if not np.isfinite(value) and magnitude > 0:  # near the end of a domain
            value, error = self._extrapolated(k, index, magnitude)
        exact = self._try(self._moved(self.arrays, k, index, 1j * COMPLEX_STEP), np.complex128)
        if exact is not None and np.isfinite(exact):
            slope = float(np.imag(exact)) / COMPLEX_STEP
            if abs(slope - value) <= 100 * error + AGREEMENT * max(abs(slope), abs(value)):
                return Difference(slope, abs(slope) * 1e-14, True)
        return Difference(value, error, False)

    def _extrapolated(self, k: int, index: tuple[int, ...], magnitude: float) -> tuple[float, float]:
        """Central differences of two steps, extrapolated to step 0 (Richardson), and what the last one changed."""
        step = magnitude * self.epsilon**0.2
        coarse, middle, fine = (self._slope(k, index, step / n) for n in (1, 2, 4))
        first, second = (4 * middle - coarse) / 3, (4 * fine - middle) / 3
        return second, abs(second - first) + 8 * self.epsilon * self.size / step

    def _slope(self, k: int, index: tuple[int, ...], step: float) -> float:
        ends = [self._moved(self.wide if self.is_wide else self.arrays, k, index, h) for h in (step, -step)]
        values = [self._try(a, np.float64) if self.is_wide else self._cost(a) for a in ends]
        if any(v is None for v in values):
            return float("nan")
        return float((values[0] - values[1]) / (float(ends[0][k][index]) - float(ends[1][k][index])))

    def _moved(self, arrays: Sequence[Array], k: int, index: tuple[int, ...], by: complex) -> list[Array]:
        """The inputs, one element of input k moved."""
        moved = arrays[k].astype(np.complex128) if isinstance(by, complex) else arrays[k].copy()
        moved[index] += by
        return [*arrays[:k], moved, *arrays[k + 1 :]]

    def _cost(self, arrays: Sequence[Array]) -> Any:
        return self._weighted(interpret(self.graph, arrays))

    def _weighted(self, outputs: Sequence[Any]) -> Any:
        return sum(np.sum(w * np.asarray(y)) for w, y in zip(self.weights, outputs, strict=True))

    def _try(self, arrays: Sequence[Array], kind: Any) -> Any:
        """The cost computed in a wider dtype; None where an op does not do that."""
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("error")
                return self._weighted(_widely(self.graph, arrays, np.dtype(kind)))
        except _Unavailable:
            return None


def ones(inputs: Sequence[Variable], arrays: Sequence[Array]) -> list[tuple[int, int]]:
    """The axes of unknown length that are 1, as specialisation counts them."""
    pairs = enumerate(zip(inputs, arrays, strict=True))
    return [(k, a) for k, (v, x) in pairs for a, n in enumerate(v.type.shape) if n is None and x.shape[a] == 1]


def _widely(graph: FrozenGraph, arrays: Sequence[Array], kind: np.dtype[Any]) -> list[Any]:
    """The outputs, whatever depends on an array of the wider dtype being computed in it.

    Raises:
        _Unavailable: an op does not give its floating results in that dtype.
    """
    values: list[Any] = [*arrays, *(c.data for c in graph.constants)]
    values.extend([None] * (len(graph.types) - len(values)))
    wide = {k for k, a in enumerate(arrays) if a.dtype == kind and is_inexact(graph.types[k].dtype)}
    for node in graph.nodes:
        operands = [values[k] for k in node.inputs]
        if wide.isdisjoint(node.inputs):
            results: Any = node.op.perform(*operands)
        else:
            floating = [is_inexact(graph.types[k].dtype) for k in node.outputs]
            results = _step(node, operands, [is_inexact(graph.types[k].dtype) for k in node.inputs], floating, kind)
            wide.update(k for k, f in zip(node.outputs, floating, strict=True) if f)
        for k, value in zip(node.outputs, results, strict=True):
            values[k] = value
    return [values[k] for k in graph.outputs]


def _step(node: Node, operands: list[Any], inexact: list[bool], floating: list[bool], kind: np.dtype[Any]) -> Any:
    """The results of one node: floating ones wide, those that choose (conditions, positions) from the real parts."""
    if isinstance(node.op, Cast) and all(floating):
        return (operands[0].astype(kind),)
    if any(floating) and not all(floating):
        raise _Unavailable
    if not any(floating):
        types = [np.real(v) if v.dtype.kind == "c" else v for v in operands]
        return node.op.perform(*types)
    wide = [v.astype(kind) if f else v for v, f in zip(operands, inexact, strict=True)]
    try:
        results = node.op.perform(*wide)
    except Exception as error:
        raise _Unavailable from error
    if any(v.dtype != kind for v in results):
        raise _Unavailable
    return results
