"""Ops whose results have the shape that is asked for: reshaping, repeating, summing and stating lengths."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.checks import Check, Descriptor
from tg.graph.facts import ZEROS, elements_of, facts_of
from tg.graph.nodes import Variable, as_size_variable, size_value
from tg.graph.op import Op
from tg.ops.elementwise.cast import Cast, cast_variable
from tg.ops.elementwise.comparison import equal
from tg.ops.elementwise.facts import is_zero
from tg.ops.length_checks import is_ring, size_checks
from tg.types.atoms import ScalarValue
from tg.types.dtypes import is_float, is_integer, numpy_dtype
from tg.types.lengths import LONGEST, Length, product, same
from tg.types.requirements import broadcast, equal_here, require_same
from tg.types.substitution import atoms
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Array = np.ndarray[Any, Any]


SMALL, WIDE = 2, 8  # bytes: integers so small do not fill ones so wide in any sum that memory can hold
FREE_HINT: Final = "one length may be -1: it follows from the others"


def split_sizes(shape: Sequence[Any]) -> tuple[tuple[int | None, ...], list[Variable]]:
    """A shape as the field and the operands of an op: ints in the field, None and an int64 scalar for the others.

    Raises:
        InputError: a length is no integer.
        ShapeError: a known length is negative.
    """
    field: list[int | None] = []
    sizes: list[Variable] = []
    for n in shape:
        v = n
        if isinstance(n, Variable):
            v = size_value(n)
        elif type(n) is not Length:
            try:
                v = operator.index(n)
            except TypeError:
                raise InputError(
                    message(f"shape: found {n!r}, needed an integer, a length or a scalar variable")
                ) from None
        if type(v) is int:
            if v < 0:
                raise ShapeError(message(f"shape: found the length {v}, needed one of at least 0"))
            if v > LONGEST:
                raise ShapeError(message(f"shape: found the length {v}, needed one of at most 2**62"))
            field.append(v)
        else:
            field.append(None)
            sizes.append(cast_variable(as_size_variable(n if is_ring(n) else v), "int64"))
    return tuple(field), sizes


def merge_sizes(field: Sequence[int | None], sizes: Sequence[int | Length]) -> tuple[int | Length, ...]:
    """The shape of a field and the values of its operands.

    Raises:
        InputError: there are more operands, or fewer, than lengths that are None.
    """
    if len(sizes) != field.count(None):
        raise InputError(message(f"shape: found {len(sizes)} operands, needed {field.count(None)} for {tuple(field)}"))
    rest = iter(sizes)
    return tuple(next(rest) if n is None else n for n in field)


def known_shape(field: Sequence[int | None], sizes: Sequence[Array | int]) -> tuple[int, ...]:
    """The shape of a field and the values of its operands; of a library's symbols, where its programs have some."""
    merged = merge_sizes(field, [int(v) if hasattr(v, "dtype") else v for v in sizes])
    return tuple(n for n in merged if not isinstance(n, Length))


def known(length: int | Length | None) -> int | Length:
    """A length of a type that shape rules work on, where none is unknown."""
    assert length is not None
    return length


class Sized(Op):
    """An op whose operands after the first are the lengths that are None in its field `shape`."""

    shape: tuple[int | None, ...]

    def size_operands(self, count: int) -> range:
        """All operands but the first."""
        return range(1, count)

    def batched_fields(self, tools: Any, size: Any, inputs: Any) -> tuple[tuple[int | None, ...], list[Variable]]:
        """The field and the sizes with the length of the batch in front."""
        field, sizes = split_sizes([size])
        return (*field, *self.shape), [*sizes, *inputs[1:]]


@final
class Reshape(Sized):
    """The same elements in C order under another shape.

    Shapes:
        x (...) -> y (shape); the number of elements stays
    Raises:
        ShapeError: the number of elements differs (a check where it is known at run time only).
    """

    def infer(self, x: TensorType, *sizes: int | Length) -> tuple[TensorType, ...]:
        """The new shape; the numbers of elements must agree."""
        shape = merge_sizes(self.shape, sizes)
        old, new = product(tuple(known(n) for n in x.shape)), product(shape)
        if isinstance(old, int) and isinstance(new, int) and old != new:
            text = f"reshape: numbers of elements differ: {x.shape} has {old}, {shape} has {new}"
            raise ShapeError(message(text, hint=FREE_HINT))
        return (TensorType(x.dtype, shape),)

    def perform(self, x: Array, *sizes: Array) -> tuple[Array, ...]:
        """`np.reshape`, copied."""
        return (x.reshape(known_shape(self.shape, sizes)).copy(),)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """Sizes are lengths, and the numbers of elements agree."""
        x, *sizes = inputs
        shape = merge_sizes(self.shape, [size_value(v) for v in sizes])
        old, new = product(x.shape), product(shape)
        if equal_here(old, new) or (isinstance(old, int) and isinstance(new, int)):
            return size_checks(sizes)
        a, b = as_size_variable(old), as_size_variable(new)
        text = "reshape: numbers of elements differ: the array has {0}, the new shape has {1}"
        return (*size_checks(sizes, shape), Check(equal(a, b), (a, b), Descriptor("ShapeError", text, FREE_HINT)))

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """The elements stay."""
        return (elements_of(inputs[0]),)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The cotangent under the old shape."""
        from tg.ops.shape import reshape

        (dy,) = cotangents
        return (None if dy is None else reshape(dy, inputs[0].shape), *(None for _ in inputs[1:]))

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """The batch stays in front."""
        field, sizes = self.batched_fields(tools, size, inputs)
        return (Reshape(field)(inputs[0], *sizes),)


@final
class BroadcastTo(Sized):
    """The array repeated along axes where it has length 1, and along new leading axes.

    Shapes:
        x (...) -> y (shape)
    Raises:
        ShapeError: a length of x is neither 1 nor that of `shape`.
    """

    repeats = True

    def infer(self, x: TensorType, *sizes: int | Length) -> tuple[TensorType, ...]:
        """The new shape; each old length is 1 or equal."""
        shape = merge_sizes(self.shape, sizes)
        if len(x.shape) > len(shape):
            raise ShapeError(message(f"broadcast_to: found {len(x.shape)} axes, needed at most {len(shape)}"))
        for a, b in zip(reversed(x.shape), reversed(shape), strict=False):
            if isinstance(a, int) and isinstance(b, int) and a not in (1, b):
                raise ShapeError(message(f"broadcast_to: lengths differ: found {a}, needed 1 or {b}"))
            if same(b, 1):  # which broadcasts with any length, but has room for one alone
                require_same(a, b, lambda: "broadcast_to")
            broadcast(a, b, lambda: "broadcast_to")  # type: ignore[arg-type]
        return (TensorType(x.dtype, shape),)

    def perform(self, x: Array, *sizes: Array) -> tuple[Array, ...]:
        """`np.broadcast_to`, copied."""
        shape = known_shape(self.shape, sizes)
        return (np.broadcast_to(x, shape).copy(),)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """Sizes are lengths, and the elements can be counted, also where no array of them will be made.

        Of lengths of arrays that is left to whoever makes one.
        """
        sizes = inputs[1:]
        lengths = [size_value(v) for v in sizes]
        is_symbolic = any(type(a) is ScalarValue for n in lengths for a in atoms(n))
        return size_checks(sizes, merge_sizes(self.shape, lengths) if is_symbolic else ())

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """The elements stay; a matrix does where it is repeated whole."""
        x, *sizes = inputs
        shape = merge_sizes(self.shape, [size_value(v) for v in sizes])
        if x.type.ndim >= 2 and all(map(same, x.shape[-2:], shape[-2:])):
            return (facts_of(x),)
        square = len(shape) >= 2 and same(shape[-1], shape[-2])
        return (elements_of(x) | ZEROS if square and is_zero(x) else elements_of(x),)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The cotangent summed over what was repeated."""
        from tg.ops.shape import sum_to

        (dy,) = cotangents
        return (None if dy is None else sum_to(dy, inputs[0].shape), *(None for _ in inputs[1:]))

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """The batch stays in front, apart from the axes that are added."""
        from tg.ops.shape import expand_dims_at

        field, sizes = self.batched_fields(tools, size, inputs)
        x = inputs[0]
        missing = len(self.shape) - (x.type.ndim - 1)
        x = expand_dims_at(x, tuple(range(-len(self.shape), -len(self.shape) + missing)))
        return (BroadcastTo(field)(x, *sizes),)


@final
class SumTo(Sized):
    """The sum over the axes along which an array of shape `shape` would have to be repeated: BroadcastTo turned round.

    Shapes:
        x (...) -> y (shape)
    """

    def infer(self, x: TensorType, *sizes: int | Length) -> tuple[TensorType, ...]:
        """The target shape, which must broadcast to that of x: a length that is not known to be 1 is that of x."""
        shape = merge_sizes(self.shape, sizes)
        if len(shape) > len(x.shape):
            text = f"found {len(shape)} lengths, needed at most the {len(x.shape)} axes of {x}"
            raise ShapeError(message(f"sum_to: {text}"))
        for a, b in zip(reversed(shape), reversed(x.shape), strict=False):
            broadcast(a, b, lambda: "sum_to")  # type: ignore[arg-type]
        return (TensorType(x.dtype, shape),)

    def perform(self, x: Array, *sizes: Array) -> tuple[Array, ...]:
        """A sum over the repeated axes."""
        shape = known_shape(self.shape, sizes)
        lead = x.ndim - len(shape)
        axes = (*range(lead), *(k + lead for k, n in enumerate(shape) if n == 1 and x.shape[k + lead] != 1))
        total = np.sum(x, axis=axes, dtype=x.dtype) if axes else x.copy()  # a sum of one -0.0 would be 0.0
        return (np.asarray(total).reshape(shape),)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """As those of a sum."""
        return (sum_facts(inputs[0]),)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The cotangent repeated."""
        from tg.ops.shape import broadcast_to

        (dy,) = cotangents
        return (None if dy is None else broadcast_to(dy, inputs[0].shape), *(None for _ in inputs[1:]))

    has_expansion = True

    def expansion(self, *inputs: Variable) -> Variable:
        """Reductions over the axes that the specialised shapes show to be repeated."""
        from tg.ops.reduction import reduce_sum
        from tg.ops.shape import expand_dims_at, reshape

        x, *sizes = inputs
        shape = merge_sizes(self.shape, [size_value(v) for v in sizes])
        n = len(shape)
        lead = tuple(range(-x.type.ndim, -n))
        ones = tuple(k - n for k, m in enumerate(shape) if equal_here(m, 1) and not equal_here(x.shape[k - n], 1))
        y = reduce_sum(x, (*lead, *ones)) if lead or ones else x
        y = expand_dims_at(y, ones) if ones else y
        vague = any(type(m) is int and n is None for m, n in zip(shape, y.type.shape, strict=True))
        return reshape(y, shape) if vague else y

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """Leading axes that are summed away are summed first, then the batch stays in front."""
        from tg.ops.reduction import reduce_sum

        field, sizes = self.batched_fields(tools, size, inputs)
        x = inputs[0]
        lead = tuple(range(-(x.type.ndim - 1), -len(self.shape)))
        return (SumTo(field)(reduce_sum(x, lead) if lead else x, *sizes),)


def sum_facts(x: Variable) -> set[str]:
    """The facts of sums of elements of x: infinities of both signs, which an overflow makes too, cancel to NaN."""
    facts, dtype = facts_of(x), x.type.dtype
    if is_float(dtype):
        names = set(facts & {"whole", "no_negative_zero", "nonnegative", "nonpositive"})
        return names | (facts & {"not_nan"}) if facts & {"nonnegative", "nonpositive"} else names
    if isinstance(x.op, Cast) and numpy_dtype(x.inputs[0].type.dtype).itemsize <= SMALL and is_integer(dtype):
        return set(facts & {"nonnegative", "nonpositive"}) if numpy_dtype(dtype).itemsize == WIDE else set()
    return set()


@final
class SpecifyShape(Sized):
    """The operand, of which it is made sure that it has a shape; what uses it may count on that.

    Shapes:
        x (shape) -> y (shape)
    Raises:
        ShapeError: a length differs (a check where it is known at run time only); the text begins with `what`.
    """

    what: str = "specify_shape"
    has_expansion = True

    def infer(self, x: TensorType, *sizes: int | Length) -> tuple[TensorType, ...]:
        """The more precise of the lengths found and stated."""
        if len(x.shape) != len(self.shape):
            raise ShapeError(message(f"{self.what}: found {len(x.shape)} axes, needed {len(self.shape)}"))
        pairs = enumerate(zip(x.shape, merge_sizes(self.shape, sizes), strict=True))
        return (TensorType(x.dtype, [require_same(a, b, lambda k=k: f"{self.what}: axis {k}") for k, (a, b) in pairs]),)  # type: ignore[misc]

    def perform(self, x: Array, *sizes: Array) -> tuple[Array, ...]:
        """The operand, copied."""
        return (x.copy(),)

    def expansion(self, *inputs: Variable) -> Variable:
        """A reshape to the shape that it is known to have: of each length what is known and what is stated."""
        from tg.ops.shape import reshape

        x, *sizes = inputs
        stated = merge_sizes(self.shape, [size_value(v) for v in sizes])
        lengths = zip(x.shape, stated, strict=True)
        return reshape(x, tuple(n if type(n) is int else m for n, m in lengths))

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """Facts of the operand."""
        return (facts_of(inputs[0]),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """The cotangent."""
        return (cotangents[0], *(None for _ in inputs[1:]))

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """The batch stays in front."""
        field, sizes = self.batched_fields(tools, size, inputs)
        return (SpecifyShape(field, self.what)(inputs[0], *sizes),)
