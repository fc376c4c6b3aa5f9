"""What the words of generated code mean: the types that they have in Numba, and LLVM's instructions for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from numba import types

from tg_numba.nest import LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable

_types: Any = types  # what Numba's annotations leave out is there too
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


def argument(word: str) -> Any:
    """The type of an argument of a nest: a pointer to elements, by their word, or a length."""
    return types.int64 if word == LENGTH else _types.CPointer(ITEM_TYPES[word])


@meaning
def shift(typing: Any, place: Any, count: Any) -> Any:
    """The pointer some elements further on."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]])

    return place(place, types.int64), write


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
def lesser(typing: Any, a: Any, b: Any) -> Any:
    """The lesser of two numbers."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(builder.icmp_signed("<", *arguments), *arguments)

    return types.int64(types.int64, types.int64), write
