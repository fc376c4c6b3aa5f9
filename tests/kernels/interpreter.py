"""The third printer of kernels: operations are computed by NumPy at once, over as many lanes as an array has."""

from __future__ import annotations

import ctypes
import ctypes.util
import operator

import numpy as np

from tg.types.dtypes import numpy_dtype
from tg_native.kernels.body import Body, Machine
from tg_native.kernels.dtypes import FORMATS
from tg_native.kernels.lanes import Lanes

LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
C_TYPES = {"float64": ctypes.c_double, "float32": ctypes.c_float}
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
    dtype = arrays[0].dtype.name
    function = getattr(LIBM, name + ("f" if dtype == "float32" else ""))
    function.restype, function.argtypes = C_TYPES[dtype], [C_TYPES[dtype]] * len(arrays)
    given = np.broadcast_arrays(*arrays)
    found = [function(*map(float, one)) for one in zip(*(a.ravel() for a in given), strict=True)]
    return np.array(found, dtype).reshape(given[0].shape)


class Computed(Body):
    """Lanes are arrays. `tables`: numbers are looked up, as where an instruction does that; `fused`: fma is one."""

    backend = "numpy"

    def __init__(self, lanes, *, vector_bytes=64, fused=True, tables=True):
        self.lanes, self.machine, self.tables = lanes, Machine(vector_bytes, fused), tables

    def given(self, array):
        """An array as the operand of a kernel."""
        return Lanes(self, array.dtype.name, array)

    def kind(self, dtype):
        return ELEMENTS.get(dtype, numpy_dtype(dtype))

    def number(self, value, dtype):
        if dtype in ELEMENTS:
            return Lanes(self, dtype, np.asarray(value, numpy_dtype(dtype)).view(np.uint16)[()])
        with np.errstate(all="ignore"):
            return Lanes(self, dtype, np.asarray(value, numpy_dtype(dtype))[()])

    def write(self, word, operands, dtype, given):
        arrays = [np.asarray(x.text) for x in operands]
        with np.errstate(all="ignore"):
            found = SAME[word](*arrays) if word in SAME else getattr(self, f"_{word}")(dtype, given, *arrays)
        return Lanes(self, dtype, np.asarray(found).astype(self.kind(dtype), copy=False))

    def _quotient(self, dtype, given, x, y):
        found = [abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1) for a, b in pairs(x, y)]
        return np.array(found, dtype)

    def _remainder(self, dtype, given, x, y):
        return x - self._quotient(dtype, given, x, y).astype(x.dtype) * y

    def _convert(self, dtype, given, x):
        return x.astype(numpy_dtype(dtype))

    def _truncate(self, dtype, given, x):
        return np.where(np.isfinite(x), x, 0).astype(dtype)

    def _saturate(self, dtype, given, x):
        limits = np.iinfo(dtype)
        with np.errstate(all="ignore"):
            wide = x.astype(np.float64)
            inside = (wide > limits.min) & (wide < limits.max)
            found = np.where(wide >= limits.max, np.array(limits.max, dtype), np.array(0, dtype))
            found = np.where(wide <= limits.min, np.array(limits.min, dtype), found)
        found[inside] = [int(v) for v in wide[inside]]
        return found

    def _view(self, dtype, given, x):
        return np.ascontiguousarray(x).view(self.kind(dtype)).reshape(x.shape)

    def _fma(self, dtype, given, x, y, z):
        return called("fma", x, y, z)

    def has_form(self, word, dtype):
        return word == "scaled" and self.tables

    def _scaled(self, dtype, given, x, n):
        return np.ldexp(x, np.floor(np.nan_to_num(n)).astype(int)) + 0 * n

    def _lookup(self, dtype, given, bits):
        return np.array(given, dtype)[bits & 15]

    def splat(self, value):
        return value

    def lane(self, value, lane):
        return Lanes(self, value.dtype, np.asarray(value.text).ravel()[lane])

    def in_vectors(self, function, width, *operands):
        return function(*operands)

    def anywhere(self, condition):
        return bool(np.any(condition.text))

    def replaced(self, condition, value, write):
        return write() if condition else value

    def looks_up(self, dtype):
        return self.tables and dtype in FORMATS

    def shared(self, name, write, operands, *, inline):
        return write(*operands)

    def uses(self, name, dtype):
        return 1

    def vector_library(self, name, operands):
        return None

    def one_by_one(self, name, operands):
        return Lanes(self, operands[0].dtype, called(name, *(np.asarray(x.text) for x in operands)))

    def redone(self, name, condition, value, operands):
        some = np.broadcast_to(condition.text, np.shape(value.text))
        found = np.array(value.text)
        found[some] = called(name, *(np.broadcast_to(x.text, some.shape)[some] for x in operands))
        return Lanes(self, value.dtype, found)

    def one_complex(self, name, operands):
        whole = [
            np.asarray(a.text) + 1j * np.asarray(b.text) for a, b in zip(operands[::2], operands[1::2], strict=True)
        ]
        found = getattr(np, COMPLEX[name])(*whole)
        return Lanes(self, "float64", found.real), Lanes(self, "float64", found.imag)

    def power(self, base, exponent):
        found = [pow(int(a), int(b), 2**64) for a, b in pairs(base.text, exponent.text)]
        return Lanes(self, base.dtype, np.array(found, np.uint64).view(base.dtype))


COMPLEX = {"cexp": "exp", "clog": "log", "csqrt": "sqrt", "cpow": "power"}


def pairs(x, y):
    """The elements of two arrays."""
    return zip(*(a.ravel() for a in np.broadcast_arrays(x, y)), strict=True)
