"""Values for the inputs of a function, drawn with key 0: small, of few elements, within all that is known of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.errors import TgError
from tg.exports.ranges import Range, ranges
from tg.functions.shared import snapshots
from tg.gradient.differences import ones
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.types.dtypes import BOOL, is_complex, is_inexact
from tg.types.lengths import Length
from tg.types.substitution import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tg.functions.request import Request
    from tg.graph.nodes import Variable
    from tg.types.atoms import Atom

    Array = np.ndarray[Any, Any]

SHORTEST: Final = 3  # no length is 1, which would be another program
MARGIN: Final = 0.1  # of a range, at either end, in which nothing is drawn


class Manner(NamedTuple):
    """One way of drawing: the unknown lengths, and whether numbers are positive and square matrices definite."""

    length: int | None  # of all axes; None: one more for each
    is_tame: bool
    most: int  # integers are below, so that they are places in short axes, and labels of few classes


MANNERS: Final = (
    Manner(None, is_tame=False, most=3),
    Manner(None, is_tame=True, most=2),
    Manner(4, is_tame=False, most=3),
    Manner(4, is_tame=True, most=2),
    Manner(16, is_tame=False, most=3),
    Manner(16, is_tame=True, most=1),
)
"""The ways of drawing, until one gives finite results: lengths that have no names may have to agree all the same."""


def drawn(request: Request) -> Iterator[list[Array]]:
    """Arrays for the inputs, one list for each manner; those of inputs that have defaults are these."""
    limits = ranges(request.inputs, request.results)
    for manner in MANNERS:
        stream = np.random.Generator(np.random.Philox(key=0))
        shapes = lengths_of(request, manner.length)
        pairs = zip(request.inputs, shapes, limits, strict=True)
        arrays = [_array(v, shape, limit, manner, stream) for v, shape, limit in pairs]
        arrays = _in_axes(request, arrays, limits)
        yield [request.defaults.get(k, array) for k, array in enumerate(arrays)]


def lengths_of(request: Request, length: int | None) -> list[tuple[int, ...]]:
    """A shape for each input: known lengths, those that must agree alike, and others as many as said."""
    free = iter(range(SHORTEST, 1 << 30))
    values: dict[Atom, int] = {}
    count, lengths = len(request.inputs), _lengths(request)
    shapes = [value.shape for value in snapshots(request.sources)]
    pairs = [*zip(lengths[count:], shapes, strict=True), *((lengths[k], v.shape) for k, v in request.defaults.items())]
    for own, shape in pairs:
        for n, m in zip(own, shape, strict=True):
            if type(n) is Length and n.atom is not None:
                values.setdefault(n.atom, m)

    def value_of(atom: Atom) -> int:
        if atom not in values:
            values[atom] = next(free) if length is None else length
        return values[atom]

    return [tuple(_number(evaluate(n, value_of)) for n in own) for own in lengths[:count]]


def _lengths(request: Request) -> list[list[int | Length]]:
    """The lengths of the inputs and sources, where those that the expression needs to be equal are one length."""
    pattern = request.likely_ones()
    try:
        graph = FunctionGraph.of(request.variables, request.results, pattern)
    except TgError:
        graph = FunctionGraph.of(request.variables, request.variables, pattern)
    own = [[n for n in v.lengths if n is not None] for v in graph.inputs]
    return [[graph.needs.resolve(n) for n in lengths] for lengths in own]


def _number(length: int | Length) -> int:
    assert type(length) is int
    return max(length, 0)


def _array(v: Variable, shape: tuple[int, ...], limit: Range, manner: Manner, stream: np.random.Generator) -> Array:
    kind = v.type
    if kind.dtype == BOOL:
        return stream.random(shape) < 0.5
    if not is_inexact(kind.dtype):
        return np.asarray(np.floor(stream.random(shape) * manner.most)).astype(kind.numpy_dtype)
    low, high = _limits(limit, manner)
    array = np.asarray(low + (high - low) * (MARGIN + (1 - 2 * MARGIN) * stream.random(shape)))
    if is_complex(kind.dtype):
        array = array + 1j * (low + (high - low) * (MARGIN + (1 - 2 * MARGIN) * stream.random(shape)))
    facts = set(limit.facts)
    if manner.is_tame and not facts and len(shape) >= 2 and shape[-1] == shape[-2]:
        facts = {"positive_definite"}
    return np.asarray(_with(facts, array)).astype(kind.numpy_dtype)


def _limits(limit: Range, manner: Manner) -> tuple[float, float]:
    """The least and the largest number: within [-1, 1], of a tame manner [0, 1], where that is allowed."""
    low, high = limit.low, limit.high
    facts = limit.facts
    if manner.is_tame or facts & {"positive", "nonnegative"}:
        low = max(low, 0.0)
    if facts & {"negative", "nonpositive"} and low < 0:
        high = min(high, 0.0)
    if low >= high:
        low, high = limit.low, limit.high
    if low >= 1:
        return low, min(high, low + 2)
    if high <= -1:
        return max(low, high - 2), high
    return max(low, -1.0), min(high, 1.0)


def _with(facts: set[str], array: Array) -> Array:
    """An array like another, which has facts."""
    if "whole" in facts:
        array = np.round(array * 4)
    if "positive" in facts:
        array = np.abs(array) + (1 if "whole" in facts else 0)
    elif "negative" in facts:
        array = -np.abs(array) - (1 if "whole" in facts else 0)
    elif "nonzero" in facts:
        array = np.where(array == 0, 1, array)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        return array
    return _matrices(facts, array)


def _matrices(facts: set[str], array: Array) -> Array:
    n = array.shape[-1]
    mirror = np.conj(np.swapaxes(array, -1, -2))
    if "orthogonal" in facts:
        array = np.linalg.qr(array + n * np.eye(n))[0] if n else array
    elif "positive_definite" in facts:
        array = (array + mirror) / 2 + n * np.eye(n)
    elif facts & {"symmetric", "hermitian"}:
        array = (array + (np.conj(mirror) if "symmetric" in facts else mirror)) / 2
    for name, zeros in ZEROS.items():
        if name in facts:
            array = np.where(zeros(np.ones((n, n), bool)), array, 0)
    if "unit_diagonal" in facts:
        array = np.where(np.eye(n, dtype=bool), 1, array)
    if "nonzero_diagonal" in facts:
        array = np.where(np.eye(n, dtype=bool) & (array == 0), 1, array)
    return array


ZEROS: Final[dict[str, Any]] = {
    "lower_triangular": np.tril,
    "upper_triangular": np.triu,
    "lower_hessenberg": lambda ones: np.tril(ones, 1),
    "upper_hessenberg": lambda ones: np.triu(ones, -1),
    "tridiagonal": lambda ones: np.tril(ones, 1) & np.triu(ones, -1),
    "diagonal": lambda ones: np.eye(len(ones), dtype=bool),
}


def _in_axes(request: Request, arrays: list[Array], limits: Sequence[Range]) -> list[Array]:
    """The arrays, integers that are places in axes being below the lengths of these."""
    sizes = [(k, size) for k, limit in enumerate(limits) for size in limit.sizes]
    if not sizes:
        return arrays
    held = [*arrays, *request.arrays(snapshots(request.sources))]
    pattern = ones(request.variables, held)
    graph = FunctionGraph.of(request.variables, [size for _, size in sizes], pattern).freeze()
    try:
        values = interpret(graph, held)
    except Exception:  # noqa: BLE001 (checks raise classes of the user's, and so will the call)
        return arrays
    for (k, _), value in zip(sizes, values, strict=True):
        if not is_inexact(request.inputs[k].type.dtype) and int(value) > 0:
            arrays[k] = np.minimum(arrays[k], int(value) - 1).astype(arrays[k].dtype)
    return arrays


def described(v: Variable, limit: Range, array: Array) -> str:
    """An input for a message: its type, the shape that was drawn, and what is known of its elements."""
    known_limits = [f"[{limit.low:g}, {limit.high:g}]"] if math.isfinite(limit.low) or math.isfinite(limit.high) else []
    return f"{v.type.static}, drawn {list(array.shape)} {' '.join([*known_limits, *sorted(limit.facts)])}".rstrip()
