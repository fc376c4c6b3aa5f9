"""Matrices for the ops of linear algebra: in LAPACK's dtypes, their triangles, checks of what they report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.checks import STATUS_VALUES, Check, Descriptor
from tg.graph.nodes import as_size_variable
from tg.ops.creation import iota
from tg.ops.diagonal import diagonal, tril
from tg.ops.elementwise.arithmetic import maximum, multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, where
from tg.ops.elementwise.complex import conjugate
from tg.ops.reduction import Reduce, reduce_sum, total_min
from tg.ops.reduction import all as reduce_all
from tg.ops.shape import broadcast_to, expand_dims_at, matrix_transpose, ravel
from tg.types.dtypes import is_complex, numpy_dtype
from tg.types.requirements import broadcast, require_same
from tg.variables.conversion import as_variable, promoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.types.tensor_type import TensorType

    Array = np.ndarray[Any, Any]

DTYPES: Final = ("float32", "float64", "complex64", "complex128")
HALVES: Final = ("float16", "bfloat16")
TRANSPOSES: Final = {0: "n", 1: "t", 2: "c", "N": "n", "T": "t", "C": "c"}  # SciPy's words and those of ops
ON_ERROR: Final = ("raise", "nan")


def matrices(what: str, *values: Any) -> list[Variable]:
    """Operands of at least two axes in their common dtype, which is one of LAPACK's: bool and integers are float64.

    Raises:
        DtypeError: half precision, of which LAPACK has nothing.
        ShapeError: an operand has fewer than two axes.
    """
    variables, dtype = promoted([as_variable(v) for v in values])
    if dtype in HALVES:
        text = f"{what}: found {dtype}, needed one of {', '.join(DTYPES)}"
        raise DtypeError(message(text, hint='tg.cast(a, "float32") has a dtype that factorisations exist for'))
    for v in variables:
        if v.type.ndim < 2:
            raise ShapeError(message(f"{what}: found {v.type}, needed a matrix, or several along leading axes"))
    return [cast_variable(v, dtype if dtype in DTYPES else "float64") for v in variables]


def matrix(what: str, a: Any) -> Variable:
    """One operand as `matrices` has it."""
    (operand,) = matrices(what, a)
    return operand


def matrix_and_sides(what: str, a: Any, b: Any) -> tuple[Variable, Variable, bool]:
    """A matrix, right sides as the columns of another, and whether b was one vector; leading axes are broadcast.

    As in NumPy 2, b is a vector if it has one axis, and matrices otherwise.

    Raises:
        DtypeError, ShapeError: as `matrices`; or leading lengths that do not fit.
    """
    b = as_variable(b)
    is_vector = b.type.ndim == 1
    a, b = broadcast_matrices(what, a, expand_dims_at(b, (-1,)) if is_vector else b)
    return a, b, is_vector


def broadcast_matrices(what: str, *values: Any) -> list[Variable]:
    """Operands as `matrices` has them, whose leading axes are broadcast.

    Raises:
        DtypeError, ShapeError: as `matrices`; or leading lengths that do not fit.
    """
    operands = matrices(what, *values)
    rank = max(v.type.ndim for v in operands)
    operands = [v if v.type.ndim == rank else expand_dims_at(v, tuple(range(-rank, -v.type.ndim))) for v in operands]
    lead = operands[0].shape[:-2]
    for v in operands[1:]:
        lead = tuple(broadcast(n, m, lambda: f"{what}: leading axes") for n, m in zip(lead, v.shape[:-2], strict=True))
    return [broadcast_to(v, (*lead, *v.shape[-2:])) if lead else v for v in operands]


def need_matrices(what: str, *types: TensorType) -> None:
    """Of an op: operands of one of LAPACK's dtypes, of equal ranks of two at least, of the same leading lengths.

    Raises:
        DtypeError, ShapeError: they are not.
    """
    first = types[0]
    for t in types:
        if t.dtype not in DTYPES or t.dtype != first.dtype:
            actual = ", ".join(one.dtype for one in types)
            raise DtypeError(message(f"{what}: found {actual}, needed one of {', '.join(DTYPES)}"))
        if len(t.shape) < 2 or len(t.shape) != len(first.shape):
            actual = " and ".join(str(len(one.shape)) for one in types)
            raise ShapeError(message(f"{what}: ranks: found {actual}, needed equal, >= 2"))
        for n, m in zip(first.shape[:-2], t.shape[:-2], strict=True):
            need_same(what, "leading axes", n, m)


def need_square(what: str, a: TensorType) -> None:
    """Of an op: a matrix of as many rows as columns.

    Raises:
        ShapeError: it is known to have others.
    """
    need_same(what, "rows and columns", a.shape[-2], a.shape[-1])


def need_same(what: str, axes: str, n: Any, m: Any) -> None:
    """Lengths that have to be equal.

    Raises:
        ShapeError: they are known to differ.
    """
    if isinstance(n, int) and isinstance(m, int) and n != m:
        raise ShapeError(message(f"{what}: {axes}: lengths differ: {n} and {m}"))
    require_same(n, m, lambda: f"{what}: {axes}")


def whether_to_raise(what: str, on_error: str) -> bool:
    """The field `raises` of an op for the argument `on_error` of a function.

    Raises:
        InputError: it is neither "raise" nor "nan".
    """
    if on_error not in ON_ERROR:
        raise InputError(message(f"{what}: on_error: found {on_error!r}, needed 'raise' or 'nan'"))
    return on_error == "raise"


def transpose_of(what: str, trans: Any, dtype: str) -> str:
    """The field `transpose` of an op for SciPy's argument; of real matrices "c" is "t".

    Raises:
        InputError: no such word.
    """
    letter = TRANSPOSES.get(trans)
    if letter is None:
        raise InputError(message(f"{what}: trans: found {trans!r}, needed one of {', '.join(map(repr, TRANSPOSES))}"))
    return "t" if letter == "c" and not is_complex(dtype) else letter


def adjoint(a: Variable) -> Variable:
    """The matrices transposed, and conjugated if complex."""
    return matrix_transpose(conjugated(a))


def conjugated(a: Variable) -> Variable:
    """The conjugate of a complex array, any other as it is."""
    return conjugate(a) if is_complex(a.type.dtype) else a


def real_type(dtype: str) -> str:
    """The dtype of the parts of a dtype."""
    return str(np.zeros((), numpy_dtype(dtype)).real.dtype)


def diagonals(a: Variable) -> Variable:
    """The main diagonals of matrices along the last two axes.

    Shapes:
        a (..., n, m) -> (..., min(n, m))
    """
    return diagonal(a, 0, -2, -1)


def half_diagonal(a: Variable) -> Variable:
    """The lower triangle with half the diagonal: of a Hermitian matrix, what its two triangles share is in one."""
    return halved_diagonal(tril(a))


def halved_diagonal(a: Variable) -> Variable:
    """Matrices with half their diagonal."""
    kind = numpy_dtype(real_type(a.type.dtype)).type
    return multiply(a, where(on_diagonal(a), kind(0.5), kind(1)))


def on_diagonal(a: Variable) -> Variable:
    """The mask of elements of a matrix that lie on the diagonal."""
    rows, columns = (iota(a.shape[k]) for k in (-2, -1))
    return equal(expand_dims_at(rows, (-1,)), expand_dims_at(columns, (-2,)))


def spread_columns(op: Any, a: Variable, b: Variable) -> list[Variable]:
    """The results of an op on one matrix and a batch of right sides: these are columns of one, solved for together.

    Shapes:
        a (..., n, n), b (size, ..., n, m) -> (size, ..., n, m), and what else the op gives, without the batch
    """
    from tg.ops.shape import moveaxis, reshape

    beside = moveaxis(b, 0, -2)  # (..., n, size, m)
    wide = reshape(beside, (*beside.shape[:-2], beside.shape[-2] * beside.shape[-1]))
    results = op(a, wide)
    x, *rest = results if isinstance(results, tuple) else (results,)
    return [moveaxis(reshape(x, beside.shape), -2, 0), *rest]


def zero_place(diagonal: Variable) -> Variable:
    """The number of the first 0 along the last axis, counted from 1; 0 where there is none.

    Shapes:
        diagonal (..., n) -> int32 (...)
    """
    n = as_size_variable(diagonal.shape[-1])
    zero = numpy_dtype(diagonal.type.dtype).type(0)
    left = where(equal(diagonal, zero), n - iota(diagonal.shape[-1]), 0)  # how many places are left, the zero's too
    most = Reduce(maximum, (-1,), True)(left)
    return cast_variable(where(greater(most, 0), n - most + 1, 0), "int32")


def info_check(info: Variable, what: str, fact: str, function: str) -> Check:
    """The check that what an op reports of its matrices is 0 for all; the text names the first that fails.

    Args:
        fact: what is true of a matrix whose info is `{0}`: "is singular: …".
        function: the function that has `on_error`, for the hint.
    """
    lead = info.shape
    condition = reduce_all(equal(info, 0)) if lead else equal(info, 0)
    hint = f'{function}(…, on_error="nan") gives NaN for such a matrix'
    if not lead:
        shown = (cast_variable(info, "int64"),)
        return Check(condition, shown, Descriptor("LinAlgError", f"{what}: the matrix {fact}", hint))
    flat = ravel(info)
    places = iota(flat.shape[0])
    first = total_min(where(equal(flat, 0), as_size_variable(flat.shape[0]), places))
    number = reduce_sum(cast_variable(where(equal(places, first), flat, 0), "int64"), (-1,))
    index = _unravelled(first, lead)
    name = f"[{', '.join(f'{{{k + 1}}}' for k in range(len(index)))}]"
    text = f"{what}: matrix {name} of the batch {fact}"
    return Check(condition, (number, *index), Descriptor("LinAlgError", text, hint))


def _unravelled(place: Variable, lengths: Sequence[Any]) -> list[Variable]:
    """The index of a place in C order; the place itself where the status has no room for an index of so many axes."""
    if len(lengths) >= STATUS_VALUES:
        return [place]
    index: list[Variable] = []
    for length in reversed(lengths[1:]):
        n = as_size_variable(length)
        index.append(place % n)
        place = place // n
    return [place, *reversed(index)]


def info_of(a: Array) -> Array:
    """Zeros, one for each matrix."""
    return np.zeros(a.shape[:-2], np.int32)
