"""Shape: lengths, reshaping, permuting, inserting, dropping, repeating and joining axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.facts import facts_of
from tg.graph.nodes import Constant, Variable, as_size_variable, size_value
from tg.graph.op import Op
from tg.ops.dims import DimLength
from tg.ops.elementwise.cast import cast_variable
from tg.ops.family import Family
from tg.ops.length_checks import LengthsFit
from tg.ops.shape_ops import AxisLength, Concatenate, ExpandDims, Squeeze, Transpose, inverse_permutation
from tg.ops.sized_ops import (
    BroadcastTo,
    Reshape,
    Sized,
    SpecifyShape,
    SumTo,
    known,
    known_shape,
    merge_sizes,
    split_sizes,
)
from tg.types.dtypes import dtype_name
from tg.types.lengths import Length, product, same, whole_quotient
from tg.variables.conversion import (
    as_variable,
    axes_from_end,
    axis_from_end,
    constant,
    holds_variable,
    plain_integer,
    promoted,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tg.types.choices import Order
    from tg.types.tensor_type import TensorType
    from tg.variables.like import Integers, ShapeLike, TensorLike

    Array = np.ndarray[Any, Any]


def axis_length(x: Variable, axis: int) -> Variable:
    """The length of an axis as an int64 scalar variable; a constant where it is known."""
    n = x.type.shape[axis]
    return as_size_variable(n) if isinstance(n, int) else AxisLength(axis)(x)


def specify_shape(x: TensorLike, shape: Any, what: str = "specify_shape") -> Variable:
    """x, of which it is made sure that it has a shape; None stands for any length.

    Raises:
        ShapeError: x has another shape.
    Example:
        >>> import tg
        >>> tg.specify_shape(tg.matrix("x"), (3, None)).type
        float64[3, ?]
    """
    x = as_variable(x)
    wanted = list(shape) if isinstance(shape, tuple | list) else [shape]
    if len(wanted) != x.type.ndim:
        raise ShapeError(message(f"{what}: found {x.type.ndim} axes, needed {len(wanted)}"))
    field, sizes = split_sizes([own if n is None else n for own, n in zip(x.shape, wanted, strict=True)])
    lengths = merge_sizes(field, [size_value(v) for v in sizes])
    if all(same(a, b) for a, b in zip(x.shape, lengths, strict=True)):
        return x
    return SpecifyShape(field, what)(x, *sizes)  # type: ignore[no-any-return]


def state_shape(x: Variable, shape: Sequence[Any]) -> Variable:
    """x with lengths stated that it is known to have, if only by what has been required."""
    field, sizes = split_sizes(shape)
    return SpecifyShape(field)(x, *sizes)  # type: ignore[no-any-return]


def same_shape(*operands: Any) -> tuple[Variable, ...]:
    """Operands, of which it is made sure that they have one shape: nothing is repeated along an axis of length 1.

    Raises:
        ShapeError: shapes differ: known lengths now, others when the program runs.
    Example:
        >>> import tg
        >>> x, y = tg.same_shape(tg.vector("x"), tg.vector("y"))
        >>> tg.evaluate(x + y, {"x": [1.0, 2.0], "y": [2.0, 3.0]}).tolist()
        [3.0, 5.0]
    """
    arrays: list[Variable] = []
    for v in map(as_variable, operands):
        if arrays and v.type.ndim != arrays[0].type.ndim:
            raise ShapeError(message(f"same_shape: ranks differ: found {arrays[0].type} and {v.type}"))
        arrays.append(specify_shape(v, arrays[0].shape, "same_shape") if arrays else v)
    return tuple(arrays)


def with_lengths(x: Variable, lengths: Mapping[int, int | Length], what: str) -> Variable:
    """x, of which it is made sure that some axes have given lengths.

    Raises:
        ShapeError: an axis has another length; a check where that is known at run time only.
    """
    return specify_shape(x, [lengths.get(k) for k in range(-x.type.ndim, 0)], what)


@final
class Named(Op):
    """The operand under a name, for texts and messages; importing removes it."""

    label: str

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The operand's type."""
        return (x,)

    def perform(self, x: Array) -> tuple[Array, ...]:
        """The operand, copied."""
        return (x.copy(),)

    @property
    def named_identity(self) -> str | None:
        """The name."""
        return self.label

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """Facts of the operand."""
        return (facts_of(inputs[0]),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """The cotangent."""
        return tuple(cotangents)


def named(x: TensorLike, name: str) -> Variable:
    """The expression x under a name, which texts, generated code and errors show.

    Raises:
        InputError: the name is not a string.
    """
    if not isinstance(name, str):
        raise InputError(message(f"named: found the name {name!r}, needed a string"))
    expression: Variable = Named(name)(as_variable(x))
    expression.name = name
    return expression


def reshape(x: TensorLike, shape: ShapeLike, order: Order = "C", *, copy: bool | None = None) -> Variable:
    """The elements of x in C order (or with order "F" the first axis fastest) under another shape.

    Args:
        copy: accepted as NumPy has it; it changes nothing, for variables are not written to.
    Shapes:
        x (...) -> y (shape); lengths are ints, lengths of other variables or integer scalars, and one may be -1
    Raises:
        InputError: another order.
        ShapeError: the numbers of elements differ, or more than one length is -1.
    Source:
        numpy.reshape
    """
    x = as_variable(x)
    wanted = [plain_integer(n) for n in (shape if isinstance(shape, tuple | list) else [shape])]
    if order not in ("C", "F"):
        hint = "a shape is one tuple: tg.reshape(x, (2, 3))" if str(order).isdigit() else None
        raise InputError(message(f"reshape: order: found {order!r}, needed 'C' or 'F'", hint=hint))
    if order == "F":
        return transpose(reshape(transpose(x), wanted[::-1]))
    free = [k for k, n in enumerate(wanted) if isinstance(n, int) and n == -1]
    if len(free) > 1:
        raise ShapeError(message(f"reshape: found {len(free)} lengths of -1, needed at most one"))
    if free:
        rest = [n for k, n in enumerate(wanted) if k != free[0]]
        wanted[free[0]] = _remaining(x, rest)
    field, sizes = split_sizes(wanted)
    if not sizes and field == x.type.shape:
        return x
    return Reshape(field)(x, *sizes)  # type: ignore[no-any-return]


def _remaining(x: Variable, rest: Sequence[Any]) -> int | Length:
    lengths = tuple(size_value(n) if isinstance(n, Variable) else n for n in rest)
    total, part = product(x.shape), product(lengths)
    if isinstance(part, int) and part == 0:
        raise ShapeError(message("reshape: -1 stands for no certain length where another length is 0"))
    if isinstance(total, int) and isinstance(part, int) and total % part:
        raise ShapeError(message(f"reshape: numbers of elements differ: {x.type} has {total}, no multiple of {part}"))
    return whole_quotient(total, part)


def ravel(x: TensorLike, order: Order = "C") -> Variable:
    """The elements of x along one axis, in C order, or with order "F" the first axis fastest.

    Source:
        numpy.ravel
    """
    if str(order).isdigit():
        hint = "x.reshape((x.shape[0], -1)) leaves the first axis as it is"
        raise InputError(message(f"ravel: order: found {order}, needed 'C' or 'F'", hint=hint))
    return reshape(x, (-1,), order) if as_variable(x).type.ndim != 1 else as_variable(x)


def transpose(x: TensorLike, axes: Any = None) -> Variable:
    """The axes of x permuted, reversed if `axes` is None.

    Raises:
        ShapeError: `axes` is not a permutation of the axes of x.
    Source:
        numpy.transpose
    """
    x = as_variable(x)
    ndim = x.type.ndim
    order = (
        tuple(reversed(range(-ndim, 0))) if axes is None else tuple(axis_from_end(a, ndim, "transpose") for a in axes)
    )
    if sorted(order) != list(range(-ndim, 0)):
        raise ShapeError(message(f"transpose: found axes {axes}, needed a permutation of {ndim} axes"))
    if order == tuple(range(-ndim, 0)):
        return x
    return Transpose(order)(x)  # type: ignore[no-any-return]


def matrix_transpose(x: TensorLike) -> Variable:
    """The last two axes of x swapped."""
    x = as_variable(x)
    if x.type.ndim < 2:
        raise ShapeError(message(f"matrix_transpose: found {x.type}, needed at least 2 axes"))
    return Transpose((-1, -2))(x)  # type: ignore[no-any-return]


def swapaxes(x: TensorLike, axis1: int, axis2: int) -> Variable:
    """Two axes of x swapped."""
    x = as_variable(x)
    order = list(range(-x.type.ndim, 0))
    a, b = (axis_from_end(k, x.type.ndim, "swapaxes") for k in (axis1, axis2))
    order[a], order[b] = order[b], order[a]
    return transpose(x, order)


def moveaxis(x: TensorLike, source: Any, destination: Any) -> Variable:
    """Axes of x moved to other places, the others staying in order.

    Args:
        source, destination: an axis and its place, or as many of them.
    Raises:
        ShapeError: there are other numbers of axes and places, or one is repeated.
    Source:
        numpy.moveaxis
    """
    x = as_variable(x)
    ndim = x.type.ndim
    axis_lists = [list(v) if isinstance(v, tuple | list) else [v] for v in (source, destination)]
    sources, places = ([axis_from_end(k, ndim, "moveaxis") + ndim for k in axes] for axes in axis_lists)
    if len(sources) != len(places) or len(set(sources)) != len(sources) or len(set(places)) != len(places):
        text = f"found axes {source} and places {destination}, needed as many, and none twice"
        raise ShapeError(message(f"moveaxis: {text}"))
    order = [k for k in range(ndim) if k not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return transpose(x, order)


def expand_dims_at(x: Variable, axes: tuple[int, ...]) -> Variable:
    """Axes of length 1 inserted at ascending negative places of the result; a constant scalar is reshaped at once."""
    if not axes:
        return x
    if isinstance(x, Constant) and x.data.size == 1:
        return Constant(np.expand_dims(x.data, axes).copy())
    return ExpandDims(axes)(x)  # type: ignore[no-any-return]


def expand_dims(x: TensorLike, axis: Any) -> Variable:
    """Axes of length 1 inserted so that they stand at `axis` of the result.

    Source:
        numpy.expand_dims
    """
    x = as_variable(x)
    count = len(axis) if isinstance(axis, tuple | list) else 1
    return expand_dims_at(x, axes_from_end(axis, x.type.ndim + count, "expand_dims", "the result"))


def squeeze(x: TensorLike, axis: Integers | None = None) -> Variable:
    """The axes of length 1 dropped: those named, or all that are known to be 1.

    Raises:
        ShapeError: a named axis has another length.
    Source:
        numpy.squeeze
    """
    x = as_variable(x)
    if axis is None:
        axes = tuple(k - x.type.ndim for k, n in enumerate(x.type.shape) if n == 1)
    else:
        axes = axes_from_end(axis, x.type.ndim, "squeeze")
    return Squeeze(axes)(x) if axes else x


def broadcast_to(x: TensorLike, shape: ShapeLike) -> Variable:
    """The array repeated to a shape.

    Raises:
        ShapeError: a length of x is neither 1 nor that of `shape`.
    Source:
        numpy.broadcast_to
    """
    x = as_variable(x)
    wanted = list(shape) if isinstance(shape, tuple | list) else [shape]
    field, sizes = split_sizes(wanted)
    lengths = merge_sizes(field, [size_value(v) for v in sizes])
    if len(lengths) == x.type.ndim and all(same(a, b) for a, b in zip(x.shape, lengths, strict=True)):
        return x
    return BroadcastTo(field)(x, *sizes)  # type: ignore[no-any-return]


def sum_to(x: Variable, shape: Sequence[int | Length]) -> Variable:
    """The sum of x over the axes along which an array of `shape` was repeated to give that of x."""
    if len(shape) == x.type.ndim and all(same(a, b) for a, b in zip(x.shape, shape, strict=True)):
        return x
    field, sizes = split_sizes(shape)
    return SumTo(field)(x, *sizes)  # type: ignore[no-any-return]


def _need_arrays(what: str, arrays: Any) -> None:
    if isinstance(arrays, Variable):
        hint = f"tg.{what}([x, y]) takes one list of them"
        raise InputError(message(f"{what}: found the variable {arrays!r}, needed a list of arrays", hint=hint))
    if not arrays:
        raise ShapeError(message(f"{what}: found no arrays, needed at least one"))


def concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Variable:
    """Arrays joined along an axis they have (or all elements in C order), in their common dtype.

    Raises:
        ShapeError: there are none, or ranks or other lengths differ.
    Source:
        numpy.concatenate
    """
    _need_arrays("concatenate", arrays)
    operands, dtype = promoted([as_variable(v) for v in arrays])
    ready = [cast_variable(v, dtype) for v in operands]
    if axis is None:
        ready, axis = [reshape(v, (-1,)) for v in ready], 0
    if ready[0].type.ndim == 0:
        raise ShapeError(
            message(f"concatenate: found {ready[0].type}, needed at least one axis", hint="tg.stack joins scalars")
        )
    return Concatenate(axis_from_end(axis, ready[0].type.ndim, "concatenate"))(*ready)  # type: ignore[no-any-return]


def stack(arrays: Sequence[Any], axis: int = 0) -> Variable:
    """Arrays of one shape joined along a new axis.

    Raises:
        ShapeError: shapes differ, or there are no arrays.
    Source:
        numpy.stack
    """
    _need_arrays("stack", arrays)
    operands, dtype = promoted([as_variable(v) for v in arrays])
    if len({v.type.ndim for v in operands}) > 1:
        raise ShapeError(message(f"stack: ranks differ: found {', '.join(str(v.type) for v in operands)}"))
    _need_one_shape(operands)
    k = axis_from_end(axis, operands[0].type.ndim + 1, "stack", "the result")
    return Concatenate(k)(*(expand_dims_at(cast_variable(v, dtype), (k,)) for v in operands))  # type: ignore[no-any-return]


def _need_one_shape(arrays: Sequence[Variable]) -> None:
    for lengths in zip(*(v.type.shape for v in arrays), strict=True):
        if len({n for n in lengths if n is not None}) > 1:
            raise ShapeError(message(f"stack: shapes differ: found {', '.join(str(v.type) for v in arrays)}"))


def array(value: Any, dtype: object = None) -> Variable:
    """An array of nested lists that may hold variables; a constant if they hold none.

    Raises:
        ShapeError: the lists are ragged.
    Example:
        >>> import tg
        >>> x = tg.scalar("x")
        >>> tg.array([[x, 1.0], [2.0, x * x]]).type
        float64[2, 2]
    """
    variable = _stacked(value) if isinstance(value, list | tuple) else as_variable(value)
    if dtype is not None:
        variable = cast_variable(variable, dtype_name(dtype))
    return variable


def _stacked(value: Any) -> Variable:
    if not isinstance(value, list | tuple):
        return as_variable(value)
    if not holds_variable(value):
        return constant(value)
    rows = [_stacked(v) for v in value]
    if len({v.type.ndim for v in rows}) > 1:
        raise ShapeError(message(f"array: ragged: found ranks {[v.type.ndim for v in rows]}, needed equal ones"))
    return stack(rows)


__all__ = [
    "AxisLength", "BroadcastTo", "Concatenate", "ExpandDims", "Named", "Reshape", "Sized", "SpecifyShape", "Squeeze",
    "SumTo", "Transpose", "array", "axis_length", "broadcast_to", "concatenate", "expand_dims", "expand_dims_at",
    "inverse_permutation", "known", "known_shape", "matrix_transpose", "merge_sizes", "moveaxis", "named",
    "ravel", "reshape", "same_shape", "specify_shape", "split_sizes", "squeeze", "stack", "sum_to", "swapaxes",
    "transpose",
]  # fmt: skip

FAMILY = Family(
    "shape",
    ops=(
        AxisLength, Reshape, BroadcastTo, SumTo, Transpose, ExpandDims, Squeeze, Concatenate, SpecifyShape, Named,
        DimLength, LengthsFit,
    ),
    functions=(
        reshape,
        ravel,
        transpose,
        matrix_transpose,
        swapaxes,
        moveaxis,
        expand_dims,
        squeeze,
        broadcast_to,
        specify_shape,
        same_shape,
        concatenate,
        stack,
        array,
        named,
    ),
)  # fmt: skip
