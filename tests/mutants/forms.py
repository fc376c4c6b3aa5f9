"""More of what single rewrites are for: forms that their left side or example does not show, by their names.

Each is a function of floating arrays of one shape, as an example is. One is written where a mutant survived, or where
other rules take an example before its own does.
"""

from __future__ import annotations

import numpy as np

import tg
from tests.mutants.forms_of_arrays import FORMS_OF_ARRAYS, column
from tests.mutants.forms_of_choices import FORMS_OF_CHOICES
from tests.mutants.forms_of_indices import FORMS_OF_INDICES
from tests.mutants.forms_of_matrices import FORMS_OF_MATRICES
from tests.mutants.forms_of_products import SQUARES
from tests.mutants.forms_of_trees import FORMS_OF_TREES
from tg.ops.cumulative import Accumulate
from tg.types.dtypes import numpy_dtype


def shifted_softmax(x):
    return tg.softmax(x - tg.max(x, -1, keepdims=True), -1)


def shifted_otherwise(x):
    return tg.softmax(x - tg.max(x, 0, keepdims=True), -1)


def shifts(dtype, first, second, counts):
    """Two shifts by constants, one after the other."""
    kind = numpy_dtype(dtype)
    a, b = (kind.type(n) for n in counts)
    return lambda x: second(first(tg.cast(x, dtype), a), b)


def masks(function, dtype, a, b):
    """Two masks, the second in front."""
    a, b = (numpy_dtype(dtype).type(n) for n in (a, b))
    return lambda x: function(b, function(tg.cast(x, dtype), a))


def casts(source, middle, target):
    return lambda x: tg.cast(tg.cast(tg.cast(x, source), middle), target)


def running(fn, axis=-1, dtype=None):
    return lambda x: Accumulate(fn, axis)(repeated(tg.cast(x, dtype or x.dtype)))


def running_twice(inner, outer, first=-1, second=-1):
    return lambda x: Accumulate(outer, second)(Accumulate(inner, first)(x))


def repeated(x):
    return tg.broadcast_to(x[..., 0][..., None], x.shape)


def triangles(join, first, second, j, k):
    """Two conditions that say on which side of a diagonal a place is."""

    def form(x):
        rows, columns = (tg.arange(x.shape[n]) for n in (0, 1))
        numbers = columns[None, :]
        a = (rows + j)[:, None] >= numbers
        b = (columns - k)[None, :] <= rows[:, None]
        return join(first(a), second(b))

    return form


def itself(x):
    return x


FORMS = {
    **FORMS_OF_ARRAYS,
    **FORMS_OF_TREES,
    **FORMS_OF_CHOICES,
    **FORMS_OF_MATRICES,
    **FORMS_OF_INDICES,
    "shifts_of_two_counts": tuple(
        shifts(dtype, first, second, counts)
        for dtype, width in (("int8", 8), ("uint8", 8), ("int64", 64), ("uint16", 16))
        for first in (tg.left_shift, tg.right_shift)
        for second in (tg.left_shift, tg.right_shift)
        for counts in (
            (3, 3),
            (2, 3),
            (width - 1, 1),
            (width - 1, width - 1),
            (1, width - 1),
            (1, width),
            (width, 1),
            (0, 2),
            (width // 2, width // 2 - 1),
            (2, 0),
            (width, width),
        )
    ),
    "bits_of_two_masks": tuple(
        masks(function, dtype, a, b)
        for function in (tg.bitwise_and, tg.bitwise_or, tg.bitwise_xor)
        for dtype in ("int32", "uint8", "bool")
        for a, b in ((6, 3), (1, 0))
    ),
    "cast_through_wider": tuple(
        casts(source, middle, target)
        for source, middle, target in (
            ("int64", "float16", "bool"),
            ("int64", "float64", "bool"),
            ("complex64", "complex128", "complex64"),
            ("complex64", "complex128", "complex128"),
            ("uint8", "int16", "uint8"),
            ("uint8", "uint16", "float32"),
            ("uint8", "int16", "float32"),
            ("uint16", "float32", "uint16"),
            ("int8", "float16", "int8"),
            ("bool", "uint8", "int64"),
            ("float32", "complex64", "float32"),
            ("float16", "float32", "float16"),
            ("bfloat16", "float32", "bfloat16"),
            ("int8", "int16", "int64"),
            ("int64", "int8", "int8"),
            ("uint8", "int8", "uint8"),
            ("int64", "uint8", "bool"),
            ("float64", "int64", "bool"),
        )
    ),
    "round_whole": (
        lambda x: tg.floor(tg.cast(tg.cast(x, "int32"), "float64")),
        lambda x: tg.trunc(tg.cast(tg.cast(x, "bool"), "float32")),
        lambda x: tg.rint(tg.cast(tg.cast(x, "float32"), "float64")),
        lambda x: tg.ceil(tg.trunc(x)),
        lambda x: tg.floor(-tg.ceil(x)),
    ),
    "running_of_repeated": (
        *(running(fn, axis) for fn in (tg.maximum, tg.minimum, tg.add, tg.multiply) for axis in (-1, -2)),
        *(
            (lambda x, fn=fn, c=c: Accumulate(fn, -1)(tg.broadcast_to(np.asarray(c, x.type.numpy_dtype), x.shape)))
            for fn in (tg.add, tg.multiply)
            for c in (0, 1, 2)
        ),
        lambda x: Accumulate(tg.add, -1)(tg.broadcast_to(np.asarray(-0.0, x.type.numpy_dtype), x.shape)),
        lambda x: Accumulate(tg.add, -2)(tg.broadcast_to(np.eye(5, dtype=x.type.numpy_dtype)[0], (3, 5))) * x[0],
        lambda x: Accumulate(tg.logical_or, -1)(repeated(tg.cast(x, "bool"))),
        lambda x: Accumulate(tg.logical_and, -1)(repeated(tg.cast(x, "bool"))),
    ),
    "running_sum_of_repeated": (
        *(
            running(fn, axis, dtype)
            for fn in (tg.add, tg.multiply)
            for axis in (-1, -2)
            for dtype in ("float32", "float64", "float16", "int64", "uint8", "complex128")
        ),
        lambda x: Accumulate(tg.add, -1)(tg.broadcast_to(tg.cast(x[:1, :1], "float16"), (1, 70000))),
    ),
    "joined_exponentials": (
        lambda x, y: tg.exp2(x) * tg.exp2(y),
        lambda x, y: tg.exp2(x) / tg.exp2(y),
        lambda x, y: tg.exp(x) / tg.exp(y),
        lambda x, y: tg.exp(x) * tg.exp2(y),
        lambda x, y: tg.exp(x) * tg.exp(y) + tg.exp(x),
    ),
    "squared_norm": SQUARES,
    "cancelled_factors": (
        lambda x, y: (x * y) / (x * tg.sin(y)),
        lambda x, y: (x * tg.sin(y)) / (y * x),
        lambda x, y: tg.sin(x) * y * x / y,
        lambda x, y: x * y * tg.sin(x) / x,
        lambda x, y: x / y * (tg.sin(x) * y),
        lambda x, y: (tg.exp(y) / x) * (x / tg.sin(y)),
        lambda x, y: x**3 * y / x,
        lambda x, y: x * y / x**2,
        lambda x, y: tg.square(x) * y / (3 * x),
        lambda x, y: x / (y / (x * 2)) / x,
        lambda x, y: -x * y * tg.sin(y) / (2 * x),
        lambda x, y: (x * tg.sin(y)) / (y * tg.sin(y)) * (y / x),
        lambda x, y: x * column(y) * tg.sin(x) / column(y),
    ),
    "logsumexp_shifted_back": (
        lambda x: tg.logsumexp(x - tg.max(x)) + tg.max(x),
        lambda x: tg.max(x, -1) + tg.logsumexp(x - tg.max(x, -1, keepdims=True), -1),
        lambda x: tg.logsumexp(x - tg.max(x, -1, keepdims=True), -1, keepdims=True) + tg.max(x, -1, keepdims=True),
        lambda x: tg.logsumexp(x - tg.max(x, 0, keepdims=True), 0) + tg.max(x, 0),
        lambda x: tg.logsumexp(x - tg.max(x, 0, keepdims=True), -1) + tg.max(x, -1),
        lambda x: tg.logsumexp(x - tg.max(x), -1) + tg.max(x),
    ),
    "logsumexp_of_shifted": (
        lambda x: tg.logsumexp(x - 2, -1),
        lambda x: tg.logsumexp(2 - x, -1),
        lambda x: tg.logsumexp(x + np.inf, -1),
        lambda x: tg.logsumexp(x + tg.max(x, -1, keepdims=True), -1),
        lambda x: tg.logsumexp(x + 1, (0, 1)),
    ),
    "positions_in_order": (
        lambda x: tg.argsort(repeated(x), axis=-1),
        lambda x: tg.argsort(repeated(x), axis=0),
        lambda x: tg.argsort(tg.sort(x, axis=-1), axis=-1),
        lambda x: tg.argsort(tg.sort(x, axis=0), axis=-1),
        lambda x: tg.argsort(tg.broadcast_to(x, (3, *x.shape)), axis=0),
    ),
    "softmax_of_shifted": (
        shifted_softmax,
        shifted_otherwise,
        lambda x: tg.softmax(x - tg.logsumexp(x, -1, keepdims=True), -1),
        lambda x: tg.softmax(x - tg.logsumexp(x, 0, keepdims=True), -1),
        lambda x: tg.softmax(tg.max(x, -1, keepdims=True) - x, -1),
        lambda x: tg.softmax(x + tg.max(x, -1, keepdims=True), -1),
        lambda x: tg.softmax(x - tg.min(x, -1, keepdims=True), -1),
        lambda x: tg.softmax(x - tg.broadcast_to(tg.max(x, -1, keepdims=True), x.shape), -1),
        lambda x, y: tg.softmax(x - tg.max(y, -1, keepdims=True), -1),
    ),
    "logsumexp_from_log_of_multiple": (
        lambda x: tg.log(tg.sum(tg.exp(x), -1) * 2),
        lambda x: tg.log(tg.sum(tg.exp(x), -1) / 3),
        lambda x: tg.log(tg.sum(tg.exp(x), -1) / tg.sum(x)),
        lambda x: tg.log(3 / tg.sum(tg.exp(x), -1)),
        lambda x: tg.log(tg.sum(tg.exp(x), -1) * tg.sum(x, 0)),
    ),
}
