"""Special functions: records whose reference is their own expansion, and the polynomials in these.

An expansion computes every branch for all elements, so each branch is given an argument that it can take wherever
another one is chosen. float32 is computed in float64 and halves in float32: what cancels in between costs no digit.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.errors import NotDifferentiable, message
from tg.graph.function_graph import freeze
from tg.graph.interpret import prepared
from tg.graph.nodes import Variable
from tg.ops.elementwise.arithmetic import minimum
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.dtype_loops import real_floating
from tg.ops.elementwise.exponential import exp
from tg.ops.elementwise.record import ElementwiseFunction
from tg.ops.elementwise.rounding import floor
from tg.types.dtypes import dtype_name
from tg.types.requirements import unheard
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Array = np.ndarray[Any, Any]

WIDER: Final = {"float16": "float32", "bfloat16": "float32", "float32": "float64"}
WIDEST: Final = dict.fromkeys(WIDER, "float64")  # where what is in between is out of the range of float32
SPLIT: Final = 2.0**20  # the square of a multiple of 2^-20 below 2^6 has no more than 52 bits
FAR: Final = 40.0  # the exponential of its square, or of half of it, is infinite, or 0


def special(
    name: str,
    arity: int,
    expansion: Callable[..., Variable],
    doc: str,
    *,
    wider: Mapping[str, str] = WIDER,
    **facts: Any,
) -> ElementwiseFunction:
    """The record of a function that is written with others.

    Args:
        wider: the dtypes that it is computed in.
    """
    wide = in_wider(expansion, wider)
    return ElementwiseFunction(name, arity, interpreted(wide), real_floating, doc, expansion=wide, **facts)


def in_wider(expansion: Callable[..., Variable], wider: Mapping[str, str]) -> Callable[..., Variable]:
    """An expansion that is computed in other dtypes, which have more digits."""

    @functools.wraps(expansion)
    def wide(*operands: Variable) -> Variable:
        dtype = operands[0].type.dtype
        if dtype not in wider:
            return expansion(*operands)
        return cast_variable(expansion(*(cast_variable(v, wider[dtype]) for v in operands)), dtype)

    return wide


def interpreted(expansion: Callable[..., Variable], *, of_vectors: bool = False) -> Callable[..., Array]:
    """The function of NumPy arrays that an expansion stands for: its graph is made once for each combination of dtypes.

    Args:
        of_vectors: the graph is one of vectors of a common length, as a loop over all elements needs it; else of single
            elements, whose functions take arrays of any shape.
    """
    graphs: dict[tuple[str, ...], Any] = {}

    def made(dtypes: tuple[str, ...]) -> Any:
        first = Variable(TensorType(dtypes[0], (None,) if of_vectors else ()))
        operands = [first, *(Variable(TensorType(dtype, first.type.shape)) for dtype in dtypes[1:])]
        with unheard():  # it may be asked for while another graph is made
            return prepared(freeze(operands, (expansion(*operands),)))

    def reference(*arrays: Array) -> Array:
        dtypes = tuple([dtype_name(a.dtype) for a in arrays])
        graph = graphs.get(dtypes)
        if graph is None:
            graph = graphs[dtypes] = made(dtypes)
        vectors, shape = arrays, None
        if of_vectors:
            shape = np.broadcast_shapes(*(a.shape for a in arrays))
            vectors = tuple([np.broadcast_to(a, shape).reshape(-1) for a in arrays])
        with np.errstate(all="ignore"):
            (result,), _ = graph.run(vectors)
        return result if shape is None else result.reshape(shape)  # type: ignore[no-any-return]

    return reference


def no_derivative(name: str, operand: str) -> Callable[..., Variable]:
    """The partial derivative in an operand for which there is no formula."""

    def partial(*_: Variable) -> Variable:
        text = f"{name}: has no derivative with respect to {operand}"
        raise NotDifferentiable(message(text, hint=f"tg.stop_gradient({operand}) holds it constant"))

    return partial


def polynomial(t: Variable, coefficients: Sequence[float]) -> Variable:
    """A polynomial, from the constant term on."""
    total: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * t + c
    return total  # type: ignore[no-any-return]


class Quotient(NamedTuple):
    """A number and a quotient of two polynomials, from the constant terms on: they have half the steps of one."""

    constant: float
    top: tuple[float, ...]
    bottom: tuple[float, ...]

    def at(self, t: Any, polynomial: Callable[..., Any]) -> Any:
        """The value, by a function for polynomials."""
        return self.constant + polynomial(t, self.top) / polynomial(t, self.bottom)


def of_gaussian(x: Array) -> Array:
    """The units by which a derivative exp(-x^2), or the root of it, may be off: those of the square that is rounded."""
    return 16 + 2 * np.asarray(x * x, np.float64)


def exp_of_square(a: Variable, factor: float) -> Variable:
    """e^(factor a^2) for a >= 0, with a factor of -1, 1 or -1/2: of the square without its rounding.

    The square is one that is exact and a rest, whose exponential is near 1.
    """
    a = minimum(a, FAR)
    high = floor(a * SPLIT) * (1 / SPLIT)
    rest = ((a - high) * (a + high)) * factor
    e = exp((high * high) * factor)
    value = e + e * (rest * (1 + rest * (0.5 + rest * (1 / 6))))
    return value if factor < 0 else where(e < np.inf, value, e)
