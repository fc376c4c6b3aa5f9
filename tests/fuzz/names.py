"""The two namespaces in which a random program is written: tg's, and NumPy's with tg's declared results.

What NumPy has under the same name and with the same meaning is NumPy's, so a program's values are an oracle for tg.
The rest is computed by the reference, one operation at a time.
"""

from __future__ import annotations

import numpy as np

import tg
from tg.graph.function_graph import freeze
from tg.graph.interpret import interpret

NUMPY_HAS = frozenset({
    "add", "subtract", "multiply", "maximum", "minimum", "divide", "negative", "absolute", "square", "sqrt", "cbrt",
    "reciprocal", "hypot", "copysign", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp",
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh",
    "arctanh", "sinc", "floor", "ceil", "trunc", "rint", "isnan", "isinf", "isfinite", "signbit",
    "less", "less_equal", "greater", "greater_equal", "equal", "not_equal",
    "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor", "where",
    "conj", "real", "imag", "sum", "prod", "max", "min", "mean", "var", "any", "all", "argmax", "argmin",
    "cumsum", "cumprod", "sort", "argsort", "reshape", "ravel", "transpose", "swapaxes", "moveaxis", "expand_dims",
    "squeeze", "broadcast_to", "concatenate", "stack", "flip", "roll", "tile", "repeat", "rot90", "tril", "triu",
    "diff", "diagonal", "trace", "diag", "matmul", "outer", "tensordot", "kron", "einsum", "pad", "take",
    "take_along_axis",
    "zeros_like", "ones_like", "full_like", "searchsorted", "nonzero", "vander", "linspace", "count_nonzero",
})  # fmt: skip
ROUNDED_OTHERWISE = frozenset({"var", "trace", "einsum", "kron", "tensordot", "vander"})


def evaluate(function, operands, options):
    """What the reference makes of one operation on arrays; Python's own numbers stay what they are."""
    arrays = [np.asarray(x) for x in operands if isinstance(x, np.ndarray | np.generic)]
    inputs = [tg.tensor(f"v{k}", x.dtype, x.shape) for k, x in enumerate(arrays)]
    given = iter(inputs)
    made = function(*(next(given) if isinstance(x, np.ndarray | np.generic) else x for x in operands), **options)
    several = isinstance(made, tuple | list)
    found = interpret(freeze(inputs, made if several else [made]), arrays)
    return tuple(found) if several else np.asarray(found[0])


class Arrays:
    """NumPy under the names of tg, with tg's declared results."""

    def __getattr__(self, name):
        if name in NUMPY_HAS:
            return getattr(np, name)
        return lambda *operands, **options: evaluate(getattr(tg, name), operands, options)

    @staticmethod
    def call(function, *operands):
        """A function of tg alone."""
        return evaluate(function, operands, {})

    @staticmethod
    def cast(x, dtype):
        x = np.asarray(x)
        if x.dtype.kind == "f" and np.dtype(dtype).kind in "iu":
            return evaluate(lambda v: tg.cast(v, dtype), [x], {})
        return x.astype(dtype)

    @staticmethod
    def set(x, index, value):
        y = np.array(x)
        y[index] = value
        return y

    @staticmethod
    def increase(x, index, value):
        y = np.array(x)
        np.add.at(y, index, np.broadcast_to(value, y[index].shape))  # NumPy misreads a value that it has to broadcast
        return y


class Symbols:
    """tg under the same names."""

    def __getattr__(self, name):
        return getattr(tg, name)

    @staticmethod
    def call(function, *operands):
        return function(*operands)

    @staticmethod
    def set(x, index, value):
        return x.at[index].set(value)

    @staticmethod
    def increase(x, index, value):
        return x.at[index].add(value)


NUMPY, TG = Arrays(), Symbols()
