"""Numbers, strings and constants as text and back, without losing a bit.

Floats are the shortest decimals that read back to the same value in their dtype. A NaN with other bits than the usual
one carries them: `nan(0xfff8000000000000)`.
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.types.dtypes import BOOL, dtype_name, is_complex, is_integer, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Array = np.ndarray[Any, Any]

INLINE: Final = 64  # elements of a constant that is written out; larger ones stand beside the text
DIGEST_BYTES: Final = 16
MOST_DIGITS: Final = 17  # significant decimal digits that tell any two float64 apart
DECIMAL_LIMIT: Final = 1 << 64  # larger ints are written in hexadecimal, which takes linear time
BARE_NAME: Final = re.compile(r"[^\W\d]\w*")
COMPONENTS: Final = {"complex64": "float32", "complex128": "float64"}  # the dtype of real and imaginary parts

_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNESCAPES: Final = {"\\": "\\", '"': '"', "n": "\n", "r": "\r", "t": "\t"}
_ESCAPED: Final = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))")
_NAN_BITS: Final = struct.unpack("<Q", struct.pack("<d", math.nan))[0]


def quoted(text: str) -> str:
    """A string in double quotes; what does not print is escaped."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(c: str) -> str:
    return _ESCAPES.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):x}}}")


def unquoted(token: str) -> str:
    """The string that `quoted` wrote.

    Raises:
        ValueError: an escape that does not exist.
    """
    return _ESCAPED.sub(_unescaped, token[1:-1])


def _unescaped(match: re.Match[str]) -> str:
    code, letter = match.groups()
    if code is not None:
        return chr(int(code, 16))
    if letter not in _UNESCAPES:
        text = f'found the escape \\{letter}, needed one of \\\\ \\" \\n \\r \\t \\u{{hex}}'
        raise ValueError(text)
    return _UNESCAPES[letter]


def name_text(name: str) -> str:
    """A name: bare where it is a word, else quoted."""
    return name if BARE_NAME.fullmatch(name) else quoted(name)


def int_text(value: int) -> str:
    """An int in decimal, a very large one in hexadecimal."""
    return str(value) if -DECIMAL_LIMIT < value < DECIMAL_LIMIT else hex(value)


def number_of(token: str) -> int | float:
    """The number that a token is: an int unless it has a point or an exponent, or is `-inf`.

    Raises:
        ValueError: more digits than Python reads.
    """
    if "x" in token:
        return int(token, 16)
    if any(c in token for c in ".eEi"):
        return float(token)
    return int(token)


def float_text(value: float) -> str:
    """A Python float, exactly."""
    if not math.isnan(value):
        return repr(value)
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    return "nan" if bits == _NAN_BITS else f"nan(0x{bits:016x})"


def nan_of(bits: int) -> float:
    """The NaN with these 64 bits.

    Raises:
        ValueError: the bits are not those of a NaN.
    """
    value: float = struct.unpack("<d", bits.to_bytes(8, "little"))[0] if 0 <= bits < DECIMAL_LIMIT else 0.0
    if not math.isnan(value):
        text = f"found {bits:#x}, needed the bits of a NaN"
        raise ValueError(text)
    return value


def complex_text(value: complex) -> str:
    """A Python complex, exactly."""
    return f"complex({float_text(value.real)}, {float_text(value.imag)})"


def array_text(array: Array) -> str:
    """The elements of a small constant as nested lists; the elements alone where there are no axes."""
    if array.size == 0:
        return "[]"
    return _nested(_elements(np.ascontiguousarray(array).reshape(-1)), array.shape)


def _nested(elements: Sequence[str], shape: tuple[int, ...]) -> str:
    rows = list(elements)
    for n in reversed(shape):
        rows = [f"[{', '.join(rows[k : k + n])}]" for k in range(0, len(rows), n)]
    return rows[0]


def _elements(flat: Array) -> list[str]:
    dtype = dtype_name(flat.dtype)
    if dtype == BOOL or is_integer(dtype):
        return [str(v) for v in flat.tolist()]
    if is_complex(dtype):
        parts = _floats(flat.view(COMPONENTS[dtype]))
        return [f"complex({re_}, {im})" for re_, im in zip(parts[::2], parts[1::2], strict=True)]
    return _floats(flat)


def _floats(flat: Array) -> list[str]:
    bits = flat.view(f"uint{8 * flat.dtype.itemsize}").tolist()
    usual = _usual_nan(flat.dtype)
    width = 2 + 2 * flat.dtype.itemsize
    shortest = repr if flat.dtype == np.float64 else _shortest(flat.dtype.type)
    return [
        shortest(x) if not math.isnan(x) else "nan" if b == usual else f"nan({b:#0{width}x})"
        for x, b in zip(map(float, flat), bits, strict=True)
    ]


def _usual_nan(dtype: np.dtype[Any]) -> int:
    return int(np.array([math.nan], dtype).view(f"uint{8 * dtype.itemsize}")[0])


def _shortest(kind: Any) -> Callable[[float], str]:
    """A function that writes a value of a narrow floating dtype with as few digits as tell it apart."""

    def shortest(exact: float) -> str:
        if exact == 0 or math.isinf(exact):
            return repr(exact)
        for digits in range(1, MOST_DIGITS + 1):
            short = float(f"{exact:.{digits}g}")
            if kind(short) == exact:
                return repr(short)
        return repr(exact)

    def quietly(exact: float) -> str:
        with np.errstate(over="ignore", under="ignore"):
            return shortest(exact)

    return quietly


def array_of(dtype: str, shape: tuple[int, ...], elements: Sequence[Any], nans: Mapping[int, int]) -> Array:
    """An array of elements in C order; complex ones are given as two floats, and `nans` has bits of NaNs by position.

    Raises:
        ValueError: an element that the dtype does not hold.
    """
    part = numpy_dtype(COMPONENTS.get(dtype, dtype))
    flat = np.empty(len(elements), part)
    with np.errstate(over="ignore", under="ignore"):
        for k, v in enumerate(elements):
            try:
                flat[k] = v
            except OverflowError:
                raise ValueError(_unheld(v, dtype)) from None
            if part.kind not in "biu" and math.isinf(flat[k]) and not math.isinf(v):
                raise ValueError(_unheld(v, dtype))
    for k, bits in nans.items():
        _put_nan(flat, k, bits, dtype)
    return flat.view(numpy_dtype(dtype)).reshape(shape)


def _unheld(value: object, dtype: str) -> str:
    return f"found {value}, needed a value of {dtype}"


def _put_nan(flat: Array, k: int, bits: int, dtype: str) -> None:
    size = 8 * flat.dtype.itemsize
    if bits >> size == 0:
        flat.view(f"uint{size}")[k] = bits
    if not math.isnan(float(flat[k])) or bits >> size:
        text = f"found {bits:#x}, needed the bits of a NaN of {dtype}"
        raise ValueError(text)


def digest(array: Array) -> str:
    """A short hash of dtype, shape and bytes: how a text refers to a constant that stands beside it."""
    hasher = hashlib.blake2b(f"{dtype_name(array.dtype)}{array.shape}".encode(), digest_size=DIGEST_BYTES)
    hasher.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return hasher.hexdigest()
