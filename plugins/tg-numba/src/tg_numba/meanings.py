"""What the words of generated code mean: the types that they have in Numba, and LLVM's instructions for them."""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Any, Final, final

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.typeof import typeof
from numba.extending import models, register_model

from tg_numba.machine import ALIGNMENT, DIMENSIONS, HEAD, ROW_MAJOR
from tg_numba.ticks import HEAD as FIRST_PART
from tg_numba.ticks import WORDS as PART_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_types: Any = types  # what Numba's annotations leave out is there too
I8: Final = ir.IntType(8)
I64: Final = ir.IntType(64)
ITEM_TYPES: Final[dict[str, Any]] = {
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
_MEANINGS: Final[dict[str, Callable[..., Any]]] = {}


def meaning(function: Callable[..., Any]) -> Callable[..., Any]:
    """Say that a function is the meaning of the word that it is named by."""
    _MEANINGS[function.__name__] = function
    return function


def of(word: str) -> Callable[..., Any]:
    """What a word means: from the types of arguments to a signature, and what writes instructions for it."""
    return _MEANINGS[word]


def item_type(word: str) -> Any:
    """The type of the word for a type of elements."""
    return typeof(ITEM_TYPES[word])


def with_arguments(typed: Any, count: int) -> Any:
    """A function of any arguments as one of a certain number: Numba takes them one by one."""
    names = ("typing", *(f"a{k}" for k in range(count)))
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    typed.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])
    return typed


# --- arrays as arguments ---------------------------------------------------------------------------------------------


@final
class Head(types.Type):
    """The type of an argument that is a NumPy array: only its data and its lengths can be asked for."""

    def __init__(self, item: Any) -> None:
        self.item = item
        super().__init__(name=f"Head({item})")


register_model(Head)(models.OpaqueModel)


def heads(words: Sequence[str]) -> tuple[Any, ...]:
    """The types of arguments that are arrays, by the words for their elements."""
    return tuple(Head(ITEM_TYPES[word]) for word in words)


def _field(builder: Any, head: Any, offset: int, kind: Any) -> Any:
    place = builder.gep(builder.bitcast(head, I8.as_pointer()), [I64(offset)])
    return builder.load(builder.bitcast(place, kind.as_pointer()))


@meaning
def data(typing: Any, array: Head) -> Any:
    """The pointer to the first element of an array."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _field(builder, arguments[0], HEAD, context.get_value_type(signature.return_type))

    return _types.CPointer(array.item)(array), write


@meaning
def dim(typing: Any, array: Head, axis: Any) -> Any:
    """A length of an array."""
    k = axis.literal_value

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        dimensions = _field(builder, arguments[0], DIMENSIONS, I64.as_pointer())
        return builder.load(builder.gep(dimensions, [I64(k)]))

    return types.int64(array, axis), write


# --- pointers --------------------------------------------------------------------------------------------------------


@meaning
def at(typing: Any, place: Any, item: Any) -> Any:
    """The pointer to elements at an address, or where another pointer points to."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = context.get_value_type(signature.return_type)
        change = builder.bitcast if isinstance(signature.args[0], _types.CPointer) else builder.inttoptr
        return change(arguments[0], kind)

    return _types.CPointer(item.instance_type)(place, item), write


@meaning
def shift(typing: Any, place: Any, count: Any) -> Any:
    """The pointer some elements further on."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]])

    return place(place, types.int64), write


@meaning
def address(typing: Any, place: Any) -> Any:
    """The address that a pointer holds."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(arguments[0], I64)

    return types.int64(place), write


# --- memory ----------------------------------------------------------------------------------------------------------


@meaning
def frame(typing: Any, size: Any) -> Any:
    """Memory of the running function: bytes, at a multiple of 64."""
    count = size.literal_value

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        with builder.goto_entry_block():
            place = builder.alloca(ir.ArrayType(I8, count))
            place.align = ALIGNMENT
        return builder.bitcast(place, I8.as_pointer())

    return _types.CPointer(types.uint8)(size), write


@meaning
def malloc(typing: Any, size: Any) -> Any:
    """The address of so many bytes; 0 if there are none."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(I8.as_pointer(), [I64])
        function = cgutils.get_or_insert_function(builder.module, kind, "malloc")
        return builder.ptrtoint(builder.call(function, [arguments[0]]), I64)

    return types.int64(types.int64), write


@meaning
def free(typing: Any, place: Any) -> Any:
    """Give memory back."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [I8.as_pointer()])
        function = cgutils.get_or_insert_function(builder.module, kind, "free")
        builder.call(function, [builder.inttoptr(arguments[0], I8.as_pointer())])
        return context.get_dummy_value()

    return types.void(types.int64), write


# --- choosing --------------------------------------------------------------------------------------------------------


@meaning
def select(typing: Any, condition: Any, x: Any, y: Any) -> Any:
    """One of two values, both of which have been computed."""
    kind = typing.unify_types(x, y)

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        flag, *values = arguments
        given = [context.cast(builder, v, t, kind) for v, t in zip(values, (x, y), strict=True)]
        return builder.select(flag, *given)

    return kind(condition, x, y), write


# --- complex numbers -------------------------------------------------------------------------------------------------


@meaning
def pair(typing: Any, x: Any, y: Any) -> Any:
    """The complex number of two parts."""
    kind = types.complex64 if x == types.float32 else types.complex128

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = context.make_complex(builder, kind)
        made.real, made.imag = arguments
        return made._getvalue()

    return kind(x, y), write


@meaning
def real(typing: Any, x: Any) -> Any:
    """The real part."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_complex(builder, x, arguments[0]).real

    return x.underlying_float(x), write


@meaning
def imag(typing: Any, x: Any) -> Any:
    """The imaginary part."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_complex(builder, x, arguments[0]).imag

    return x.underlying_float(x), write


@meaning
def like(typing: Any, x: Any, value: Any) -> Any:
    """A number in the dtype of x."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.cast(builder, arguments[1], signature.args[1], x)

    return x(x, value), write


# --- BLAS ------------------------------------------------------------------------------------------------------------


@meaning
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


def _chosen(name: str, order: str) -> Any:
    def typed(typing: Any, a: Any, b: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.select(builder.icmp_signed(order, *arguments), *arguments)

        return types.int64(types.int64, types.int64), write

    typed.__name__ = name
    return typed


meaning(_chosen("lesser", "<"))
meaning(_chosen("greater", ">"))


# --- clocks ----------------------------------------------------------------------------------------------------------


def _now(builder: Any) -> Any:
    """The nanoseconds of the monotonic clock."""
    moment = cgutils.alloca_once(builder, ir.LiteralStructType([I64, I64]))
    declared = ir.FunctionType(ir.IntType(32), [ir.IntType(32), moment.type])
    function = cgutils.get_or_insert_function(builder.module, declared, "clock_gettime")
    builder.call(function, [ir.IntType(32)(time.CLOCK_MONOTONIC), moment])
    seconds, nanoseconds = (builder.load(cgutils.gep_inbounds(builder, moment, 0, k)) for k in (0, 1))
    return builder.add(builder.mul(seconds, I64(10**9)), nanoseconds)


def _change(builder: Any, table: Any, part: Any) -> Any:
    """Make another part the one that runs; the one that ran."""
    words = builder.inttoptr(table, I64.as_pointer())
    when, which = (builder.gep(words, [I64(k)]) for k in (0, 1))
    now, before = _now(builder), builder.load(which)
    spent = builder.gep(words, [builder.add(I64(FIRST_PART), builder.mul(before, I64(PART_WORDS)))])
    builder.store(builder.add(builder.load(spent), builder.sub(now, builder.load(when))), spent)
    builder.store(now, when)
    builder.store(part, which)
    return before


@meaning
def tick_change(typing: Any, table: Any, part: Any) -> Any:
    """The part that ran, when another goes on."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _change(builder, *arguments)

    return types.int64(types.int64, types.int64), write


@meaning
def tick_enter(typing: Any, table: Any, part: Any) -> Any:
    """The part that ran, when another begins."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, part = arguments
        words = builder.inttoptr(table, I64.as_pointer())
        runs = builder.gep(words, [builder.add(I64(FIRST_PART + 1), builder.mul(part, I64(PART_WORDS)))])
        builder.store(builder.add(builder.load(runs), I64(1)), runs)
        return _change(builder, table, part)

    return types.int64(types.int64, types.int64), write


@meaning
def tick_begin(typing: Any, table: Any) -> Any:
    """Start the clock, with no part running."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = builder.inttoptr(arguments[0], I64.as_pointer())
        builder.store(_now(builder), words)
        builder.store(I64(0), builder.gep(words, [I64(1)]))
        return I64(0)

    return types.int64(types.int64), write
