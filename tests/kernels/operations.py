"""What each operation of the kernel language is by NumPy, on arrays and on single elements."""

from __future__ import annotations

import ctypes
import functools
import operator
import os
import shlex
import subprocess
import tempfile
from pathlib import Path

import cffi
import numpy as np

from tg.types.dtypes import numpy_dtype

FFI = cffi.FFI()  # 7 microseconds for a call with three arrays, where ctypes takes 29
LIBRARIES = []
ELEMENTS = {"float16": np.uint16, "bfloat16": np.uint16}  # halves are their bits
SAME = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": np.true_divide,
    "negative": np.negative,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "not": np.invert,
    "left": np.left_shift,
    "right": np.right_shift,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "select": np.where,
    "copysign": np.copysign,
    "fabs": np.fabs,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
}


def called(name, *arrays):
    """A function of libm, element by element."""
    if len({a.shape for a in arrays}) > 1:
        arrays = np.broadcast_arrays(*arrays)
    dtype = arrays[0].dtype
    given = [np.ascontiguousarray(a, dtype) for a in arrays]
    found = np.empty_like(given[0])
    libm_loop(name, dtype.char, len(arrays))(found.size, FFI.from_buffer(found), *map(FFI.from_buffer, given))
    return found.reshape(arrays[0].shape)


@functools.cache
def libm_loop(name, char, arity):
    """A function of libm for arrays: a loop of C around its calls, whose arguments are a length, the results, arrays.

    Calls from Python one by one took most of the time of the tests of kernels. C may put in nothing of its own.
    """
    word, suffix = {"d": ("double", ""), "f": ("float", "f")}[char]
    places = [f"x{k}" for k in range(arity)]
    text = (
        f"{word} {name}{suffix}({', '.join([word] * arity)});\n"
        f"void loop(long n, {word} *out, {', '.join(f'const {word} *{x}' for x in places)}) {{\n"
        f"  for (long i = 0; i < n; i++) out[i] = {name}{suffix}({', '.join(f'{x}[i]' for x in places)});\n}}\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.so"
        command = [*shlex.split(os.environ.get("CC", "cc")), "-O1", "-fno-builtin", "-fPIC", "-shared", "-x", "c", "-"]
        subprocess.run([*command, "-o", str(path), "-lm"], input=text, text=True, check=True)
        LIBRARIES.append(ctypes.CDLL(str(path)))
    address = ctypes.cast(LIBRARIES[-1].loop, ctypes.c_void_p).value
    return FFI.cast(f"void (*)(long, {', '.join(['void *'] * (1 + arity))})", address)


def complex_called(name, *parts):
    """The parts of a complex function of libm, of parts."""
    whole = [np.asarray(a) + 1j * np.asarray(b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    found = getattr(np, COMPLEX[name])(*whole)
    return found.real, found.imag


def redone(name, condition, value, *arrays):
    """A value whose lanes that a condition holds in are those of a function of libm."""
    some = np.broadcast_to(condition, np.shape(value))
    found = np.array(value)
    found[some] = called(name, *(np.broadcast_to(x, some.shape)[some] for x in arrays))
    return found


def power(base, exponent):
    """Integers to powers that are not negative, as 64 bits keep them."""
    found = [pow(int(a), int(b), 2**64) for a, b in pairs(base, exponent)]
    return np.array(found, np.uint64).view(base.dtype).reshape(np.shape(base))


def pairs(x, y):
    """The elements of two arrays."""
    return zip(*(a.ravel() for a in np.broadcast_arrays(x, y)), strict=True)


def kind_of(dtype):
    """What elements of a dtype are computed with as: halves are their bits."""
    return ELEMENTS.get(dtype, numpy_dtype(dtype))


def number(value, dtype):
    """One element of a dtype."""
    with np.errstate(all="ignore"):
        return np.asarray(value, numpy_dtype(dtype)).view(kind_of(dtype))[()]


# --- what no function of NumPy is: of the result's dtype, what `Body.computed` is given, and arrays ------------------


def quotient(dtype, given, x, y):
    """Towards 0; a divisor that is 0, or a quotient that no lane holds, is what no kernel may ask for."""
    each = [(int(a), int(b)) for a, b in pairs(x, y)]
    assert all(b and not (b == -1 and a == np.iinfo(dtype).min) for a, b in each), f"quotients of {each}"
    found = [abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in each]
    return np.array(found, dtype).reshape(np.broadcast_shapes(np.shape(x), np.shape(y)))


def remainder(dtype, given, x, y):
    """What goes with the quotient."""
    return x - quotient(dtype, given, x, y) * y


def convert(dtype, given, x):
    """Whole numbers wrap."""
    return x.astype(numpy_dtype(dtype))


def truncate(dtype, given, x):
    """Towards 0; of what is no number, any number."""
    return np.where(np.isfinite(x), x, 0).astype(dtype)


def saturate(dtype, given, x):
    """Towards 0, as near as the dtype goes; NaN becomes 0."""
    limits = np.iinfo(dtype)
    wide = np.asarray(x).astype(np.float64)
    inside = (wide > limits.min) & (wide < limits.max)
    found = np.where(wide >= limits.max, np.array(limits.max, dtype), np.array(0, dtype))
    found = np.where(wide <= limits.min, np.array(limits.min, dtype), found)
    found[inside] = [int(v) for v in wide[inside]]
    return found


def view(dtype, given, x):
    """The same bits."""
    return np.ascontiguousarray(x).view(kind_of(dtype)).reshape(np.shape(x))


def fma(dtype, given, x, y, z):
    """Rounded once."""
    return called("fma", x, y, z)


def scaled(dtype, given, x, n):
    """Times a power of 2, whose exponent is rounded down."""
    exponent = np.clip(np.floor(np.nan_to_num(n)), -(1 << 20), 1 << 20).astype(int)
    return np.where(np.isnan(n), n, np.ldexp(x, exponent))  # of infinite exponents as well: 0 stays 0 with -inf


def lookup(dtype, given, bits):
    """Of a table's 16 numbers."""
    return np.array(given, dtype)[bits & 15]


OTHERS = {f.__name__: f for f in (quotient, remainder, convert, truncate, saturate, view, fma, scaled, lookup)}
COMPLEX = {"cexp": "exp", "clog": "log", "csqrt": "sqrt", "cpow": "power"}
