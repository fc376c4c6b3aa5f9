"""How special functions with loops are written: records whose reference is their expansion, on arrays.

A loop goes on until all elements have settled; one that has keeps what it has, so that no element depends on another.
All is computed in float64.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import NotDifferentiable, message
from tg.graph.function_graph import freeze
from tg.graph.interpret import prepared
from tg.graph.nodes import Variable
from tg.ops.arranging import broadcast_arrays
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.record import ElementwiseFunction, real_floating
from tg.ops.iteration import while_loop
from tg.ops.reduction import any as any_of
from tg.types.dtypes import dtype_name
from tg.types.lengths import unheard
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]

DIGIT: Final = 2.0**-53
"""What a sum has to grow by, relative to itself, for another term to count."""


def iterated(name: str, arity: int, expansion: Callable[..., Variable], doc: str, **facts: Any) -> ElementwiseFunction:
    """The record of a function that a loop computes."""
    wide = in_double(expansion)
    return ElementwiseFunction(name, arity, interpreted(wide), _loops, doc, expansion=wide, **facts)


def _loops(kinds: tuple[Any, ...]) -> tuple[tuple[str, ...], str]:
    """Those of functions of real numbers, for any number of operands."""
    dtype = real_floating(kinds[:1])[1]
    for kind in kinds[1:]:
        dtype = real_floating((dtype, kind))[1]
    return (dtype,) * len(kinds), dtype


def in_double(function: Callable[..., Any]) -> Callable[..., Variable]:
    """A function of the operands in float64 and of one shape; the result has their dtype."""

    @functools.wraps(function)
    def wide(*operands: Variable) -> Variable:
        dtype = operands[0].type.dtype
        doubled = [v if dtype == "float64" else cast_variable(v, "float64") for v in operands]
        found = function(*(broadcast_arrays(*doubled) if len(doubled) > 1 else doubled))
        return found if dtype == "float64" else cast_variable(found, dtype)

    return wide


def interpreted(expansion: Callable[..., Variable]) -> Callable[..., Array]:
    """The function of NumPy arrays that an expansion stands for: its graph is made once for each combination of dtypes.

    It is one of vectors of a common length, whose loops end when all elements have settled.
    """
    graphs: dict[tuple[str, ...], Any] = {}

    def reference(*arrays: Array) -> Array:
        dtypes = tuple([dtype_name(a.dtype) for a in arrays])
        graph = graphs.get(dtypes)
        if graph is None:
            first = Variable(TensorType(dtypes[0], (None,)))
            operands = [first, *(Variable(TensorType(dtype, first.type.shape)) for dtype in dtypes[1:])]
            with unheard():  # it may be asked for while another graph is made
                graph = graphs[dtypes] = prepared(freeze(operands, (expansion(*operands),)))
        whole = np.broadcast_arrays(*arrays)
        with np.errstate(all="ignore"):
            (found,), _ = graph.run([np.ascontiguousarray(a).reshape(-1) for a in whole])
        return found.reshape(whole[0].shape)  # type: ignore[no-any-return]

    return reference


MOST: Final = 3000
"""Steps of a loop: hundreds are needed but at the ends of what a function states."""


def until_settled(step: Callable[..., tuple[Any, ...]], carry: tuple[Any, ...], most: int = MOST) -> tuple[Any, ...]:
    """What is carried when no element goes on: the first that is carried says which do."""
    return while_loop(lambda c: any_of(c[0]), lambda c: step(*c), carry, max_steps=most)  # type: ignore[no-any-return]


def no_derivative(name: str, operand: str) -> Callable[..., Variable]:
    """The partial derivative in an operand for which there is no formula."""

    def partial(*_: Variable) -> Variable:
        text = f"{name}: has no derivative with respect to {operand}"
        raise NotDifferentiable(message(text, hint=f"tg.stop_gradient({operand}) holds it constant"))

    return partial
