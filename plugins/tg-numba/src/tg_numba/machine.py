"""What generated code does that Python has no words for: pointers, memory, choosing without branching.

Arrays come as the objects that they are: their pointer and lengths stand at the places that NumPy's C interface has
promised since its beginning, so nothing is unpacked, counted or boxed for an array in a call.
"""

from __future__ import annotations

import functools
from typing import Any, Final, final

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import NativeValue, intrinsic, models, register_model, unbox

from tg_numba.native import both, compiled

_types: Any = types  # what Numba's annotations leave out is there too
HEAD: Final = object.__basicsize__  # bytes of a Python object before its own fields
POINTER: Final = 8
DIMENSIONS: Final = HEAD + 2 * POINTER  # PyArrayObject: data, nd, dimensions, ...
ALIGNMENT: Final = 64

I8: Final = ir.IntType(8)
I64: Final = ir.IntType(64)


# --- arrays as arguments ---------------------------------------------------------------------------------------------


@final
class Head(types.Type):
    """The type of an argument that is a NumPy array: only its data and its lengths can be asked for."""

    def __init__(self, item: Any) -> None:
        self.item = item
        super().__init__(name=f"Head({item})")


register_model(Head)(models.OpaqueModel)


@unbox(Head)  # type: ignore[untyped-decorator]
def _unbox(kind: Head, value: Any, context: Any) -> NativeValue:
    return NativeValue(value)


def _field(builder: Any, head: Any, offset: int, kind: Any) -> Any:
    place = builder.gep(builder.bitcast(head, I8.as_pointer()), [I64(offset)])
    return builder.load(builder.bitcast(place, kind.as_pointer()))


@intrinsic  # type: ignore[untyped-decorator]
def data(typing: Any, array: Head) -> Any:
    """The pointer to the first element of an array."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _field(builder, arguments[0], HEAD, context.get_value_type(signature.return_type))

    return _types.CPointer(array.item)(array), write


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def dim(typing: Any, array: Head, axis: Any) -> Any:
    """A length of an array."""
    k = axis.literal_value

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        dimensions = _field(builder, arguments[0], DIMENSIONS, I64.as_pointer())
        return builder.load(builder.gep(dimensions, [I64(k)]))

    return types.int64(array, axis), write


# --- pointers --------------------------------------------------------------------------------------------------------


@intrinsic  # type: ignore[untyped-decorator]
def at(typing: Any, place: Any, item: Any) -> Any:
    """The pointer to elements at an address, or where another pointer points to."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = context.get_value_type(signature.return_type)
        change = builder.bitcast if isinstance(signature.args[0], _types.CPointer) else builder.inttoptr
        return change(arguments[0], kind)

    return _types.CPointer(item.instance_type)(place, item), write


@intrinsic  # type: ignore[untyped-decorator]
def shift(typing: Any, place: Any, count: Any) -> Any:
    """The pointer some elements further on."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]])

    return place(place, types.int64), write


@intrinsic  # type: ignore[untyped-decorator]
def address(typing: Any, place: Any) -> Any:
    """The address that a pointer holds."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(arguments[0], I64)

    return types.int64(place), write


# --- memory ----------------------------------------------------------------------------------------------------------


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def frame(typing: Any, size: Any) -> Any:
    """Memory of the running function: bytes, at a multiple of 64."""
    count = size.literal_value

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        with builder.goto_entry_block():
            place = builder.alloca(ir.ArrayType(I8, count))
            place.align = ALIGNMENT
        return builder.bitcast(place, I8.as_pointer())

    return _types.CPointer(types.uint8)(size), write


@intrinsic  # type: ignore[untyped-decorator]
def _malloc(typing: Any, size: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(I8.as_pointer(), [I64])
        function = cgutils.get_or_insert_function(builder.module, kind, "malloc")
        return builder.ptrtoint(builder.call(function, [arguments[0]]), I64)

    return types.int64(types.int64), write


@intrinsic  # type: ignore[untyped-decorator]
def _free(typing: Any, place: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [I8.as_pointer()])
        function = cgutils.get_or_insert_function(builder.module, kind, "free")
        builder.call(function, [builder.inttoptr(arguments[0], I8.as_pointer())])
        return context.get_dummy_value()

    return types.void(types.int64), write


@compiled
def times(size: Any, length: Any) -> Any:
    """The product of a size and a length; -1 where it is too large to count."""
    if size < 0 or length < 0:
        return -1
    if length > 0 and size > (1 << 62) // length:
        return -1
    return size * length


@compiled
def take(arena: Any, size: Any) -> Any:
    """The address of memory that is released with the arena at the latest; 0 if there is none.

    The memory of an arena is a ring: before the start of each piece stand the one before, the one after, and what
    was allocated.
    """
    if size < 0:
        return 0
    base = _malloc(size + 2 * ALIGNMENT)
    if base == 0:
        return 0
    start = ((base + 2 * ALIGNMENT - 1) // ALIGNMENT) * ALIGNMENT
    head = at(start - 24, numba.int64)
    first = arena[0]
    head[0] = 0
    head[1] = first
    head[2] = base
    if first != 0:
        at(first - 24, numba.int64)[0] = start
    arena[0] = start
    return start


@compiled
def drop(arena: Any, start: Any) -> Any:
    """Give a piece of memory back."""
    head = at(start - 24, numba.int64)
    before, after = head[0], head[1]
    if before == 0:
        arena[0] = after
    else:
        at(before - 24, numba.int64)[1] = after
    if after != 0:
        at(after - 24, numba.int64)[0] = before
    _free(head[2])
    return 0


@compiled
def leave(arena: Any, code: Any) -> Any:
    """Release all memory of an arena; the code."""
    start = arena[0]
    while start != 0:
        head = at(start - 24, numba.int64)
        start = head[1]
        _free(head[2])
    arena[0] = 0
    return code


# --- choosing --------------------------------------------------------------------------------------------------------


@intrinsic  # type: ignore[untyped-decorator]
def select(typing: Any, condition: Any, x: Any, y: Any) -> Any:
    """One of two values, both of which have been computed."""
    kind = typing.unify_types(x, y)

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        flag, *values = arguments
        given = [context.cast(builder, v, t, kind) for v, t in zip(values, (x, y), strict=True)]
        return builder.select(flag, *given)

    return kind(condition, x, y), write


# --- complex numbers -------------------------------------------------------------------------------------------------


@intrinsic  # type: ignore[untyped-decorator]
def pair(typing: Any, x: Any, y: Any) -> Any:
    """The complex number of two parts."""
    kind = types.complex64 if x == types.float32 else types.complex128

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = context.make_complex(builder, kind)
        made.real, made.imag = arguments
        return made._getvalue()

    return kind(x, y), write


@intrinsic  # type: ignore[untyped-decorator]
def real(typing: Any, x: Any) -> Any:
    """The real part."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_complex(builder, x, arguments[0]).real

    return x.underlying_float(x), write


@intrinsic  # type: ignore[untyped-decorator]
def imag(typing: Any, x: Any) -> Any:
    """The imaginary part."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_complex(builder, x, arguments[0]).imag

    return x.underlying_float(x), write


@intrinsic  # type: ignore[untyped-decorator]
def like(typing: Any, x: Any, value: Any) -> Any:
    """A number in the dtype of x."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.cast(builder, arguments[1], signature.args[1], x)

    return x(x, value), write


# --- BLAS ------------------------------------------------------------------------------------------------------------

ROW_MAJOR: Final = 101
AS_IS: Final = 111
TRANSPOSED: Final = 112


@intrinsic  # type: ignore[untyped-decorator]
def gemm(
    typing: Any, place: Any, x_flag: Any, y_flag: Any, m: Any, n: Any, k: Any,
    x: Any, x_lead: Any, y: Any, y_lead: Any, z: Any, z_lead: Any,
) -> Any:  # fmt: skip
    """Z = x y by the function at an address, whose interface is CBLAS with 64-bit integers."""
    i32 = ir.IntType(32)

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, x_flag, y_flag, m, n, k, *matrices, z, z_lead = arguments
        item, pointer = context.get_value_type(x.dtype), context.get_value_type(x)
        if isinstance(x.dtype, types.Complex):
            number: Any = pointer
            one, zero = (_stored(context, builder, x.dtype, value) for value in (1, 0))
        else:
            number, one, zero = item, item(1.0), item(0.0)
        kinds = [i32, i32, i32, I64, I64, I64, number, pointer, I64, pointer, I64, number, pointer, I64]
        function = builder.inttoptr(address, ir.FunctionType(ir.VoidType(), kinds).as_pointer())
        flags = [builder.trunc(flag, i32) for flag in (x_flag, y_flag)]
        builder.call(function, [i32(ROW_MAJOR), *flags, m, n, k, one, *matrices, zero, z, z_lead])
        return context.get_dummy_value()

    whole = types.int64
    return types.void(whole, whole, whole, whole, whole, whole, x, whole, x, whole, x, whole), write


def _stored(context: Any, builder: Any, kind: Any, value: float) -> Any:
    """The address of a complex number."""
    number = context.make_complex(builder, kind)
    part = context.get_value_type(kind.underlying_float)
    number.real, number.imag = part(float(value)), part(0.0)
    return cgutils.alloca_once_value(builder, number._getvalue())


def _chosen(order: str) -> Any:
    def typed(typing: Any, a: Any, b: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.select(builder.icmp_signed(order, *arguments), *arguments)

        return types.int64(types.int64, types.int64), write

    return typed


lesser = intrinsic(_chosen("<"))
greater = intrinsic(_chosen(">"))


# --- lengths ---------------------------------------------------------------------------------------------------------


@compiled
def length_min(a: Any, b: Any) -> Any:
    """The smaller."""
    return lesser(a, b)


@compiled
def length_max(a: Any, b: Any) -> Any:
    """The larger."""
    return greater(a, b)


@compiled
def length_broadcast(a: Any, b: Any) -> Any:
    """What two lengths broadcast to."""
    return b if a == 1 else a


@compiled
def length_floor(a: Any, b: Any) -> Any:
    """The quotient rounded down; 0 for a divisor of 0."""
    if b == 0:
        return 0
    if b == -1:
        return -a
    return a // b


@compiled
def length_mod(a: Any, b: Any) -> Any:
    """The remainder with the sign of the divisor; 0 for a divisor of 0."""
    return 0 if b in (0, -1) else a % b


# --- the words of generated code -------------------------------------------------------------------------------------

MEMORY_TYPES: Final[dict[str, Any]] = {
    "b8": types.uint8,
    "i8": types.int8,
    "i16": types.int16,
    "i32": types.int32,
    "i64": types.int64,
    "u8": types.uint8,
    "u16": types.uint16,
    "u32": types.uint32,
    "u64": types.uint64,
    "f16": types.uint16,
    "bf16": types.uint16,
    "f32": types.float32,
    "f64": types.float64,
    "c64": types.complex64,
    "c128": types.complex128,
}
"""The type of an element in memory, by its word in generated code."""


INTRINSICS: Final = (data, dim, at, shift, address, frame, select, pair, real, imag, like)
COMPILED: Final = (
    times, take, drop, leave, length_min, length_max, length_broadcast, length_floor, length_mod,
)  # fmt: skip


@functools.cache
def element_scope() -> dict[str, Any]:
    """What loop nests can use: no function of it is longer than a few instructions."""
    own = {f.__name__: f for f in INTRINSICS}
    return {**MEMORY_TYPES, **own, "lesser": lesser, "greater": greater}


@functools.cache
def graph_scope() -> dict[str, Any]:
    """What the functions of graphs can use."""
    return {**element_scope(), **{f.__name__: both(f)[1] for f in COMPILED}}
