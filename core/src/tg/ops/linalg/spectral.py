"""Eigenvalues of Hermitian matrices and singular values, with their vectors.

At eigenvalues or singular values that are equal, up to rounding, vectors are not decided by the matrix: what would flow
back between the vectors of such a pair is NaN, unless the cotangents of both are 0 by selection. What a program makes
of all vectors may have a derivative all the same: `tg.ops.linalg.spectral_functions` knows it. A matrix with an element
that is NaN or infinite has NaN as results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.errors import InputError, NotDifferentiable, message
from tg.graph.op import Op
from tg.ops.contraction import MatMul
from tg.ops.creation import zeros_like
from tg.ops.elementwise.arithmetic import absolute, add, divide, multiply, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import less_equal, logical_or, where
from tg.ops.family import Family
from tg.ops.linalg.matrices import (
    adjoint,
    conjugated,
    half_diagonal,
    info_check,
    info_of,
    matrix,
    need_matrices,
    need_square,
    on_diagonal,
    real_type,
    whether_to_raise,
)
from tg.ops.reduction import any as any_of
from tg.ops.reduction import reduce_sum
from tg.ops.shape import expand_dims_at, matrix_transpose
from tg.types.dtypes import is_complex, numpy_dtype
from tg.types.lengths import minimum, same
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.graph.checks import Check
    from tg.graph.nodes import Variable
    from tg.types.choices import OnError, Triangle
    from tg.variables.like import TensorLike

    Array = np.ndarray[Any, Any]

ENDLESS: Final = "has no result: LAPACK's iteration did not converge"
TRIANGLES: Final = ("L", "U")
ROUNDING: Final = 4.0
"""Units in the last place of the sum of all values, by which LAPACK's equal ones differ."""


class EighResult(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: Any
    eigenvectors: Any


class SVDResult(NamedTuple):
    """The result of `svd`."""

    U: Any
    S: Any
    Vh: Any


def performed(a: Array, types: Sequence[TensorType], function: Callable[[Array], tuple[Array, ...]]) -> list[Array]:
    """The results of a function of NumPy's, matrix by matrix where one fails; NaN for what is not finite; and info."""
    info = info_of(a)
    finite = np.asarray(np.isfinite(a).all((-2, -1)))
    matrices = np.where(finite[..., None, None], a, 0).astype(a.dtype)
    try:
        results = list(function(matrices))
    except np.linalg.LinAlgError:
        results = [np.full(t.shape, np.nan, numpy_dtype(t.dtype)) for t in types]
        for index in np.ndindex(info.shape):
            try:
                for whole, part in zip(results, function(matrices[index]), strict=True):
                    whole[index] = part
            except np.linalg.LinAlgError:
                info[index] = 1
    for whole in results:
        whole[~finite] = np.nan
    return [*results, info]


@final
class Eigh(Op):
    """Eigenvalues of Hermitian matrices, ascending, and their vectors as columns: a V = V diag(w); and info.

    Only the lower triangle is read. `info` is not 0 where LAPACK's iteration did not converge, which has NaN as
    results, and with `raises` is an error.

    Shapes:
        a (..., n, n) -> w (..., n), V (..., n, n), info int32 (...)
    Dtypes:
        w is real.
    Raises:
        LinAlgError: with `raises`, the iteration did not converge.
    Source:
        numpy.linalg.eigh. The pullback is section 3.1 of M. B. Giles, An extended collection of matrix derivative
        results for forward and reverse mode algorithmic differentiation, 2008.
    """

    raises: bool = True
    by_matrix = True

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        """Values, vectors, info."""
        need_matrices("eigh", a)
        need_square("eigh", a)
        return (TensorType(real_type(a.dtype), a.shape[:-1]), a, TensorType("int32", a.shape[:-2]))

    def perform(self, a: Array) -> tuple[Array, ...]:
        """`np.linalg.eigh` of the lower triangle."""
        read = np.tril(a)
        types = self.infer(TensorType(a.dtype, a.shape))[:2]
        return tuple(performed(read, types, lambda x: tuple(np.linalg.eigh(x, "L"))))

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """The iteration converged."""
        return (info_check(outputs[2], "eigh", ENDLESS, "tg.linalg.eigh"),) if self.raises else ()

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Products with the vectors on both sides."""
        (w, v, _), (dw, dv, _) = outputs, cotangents
        if dv is None:
            if dw is None:
                return (None,)
            scaled = multiply(v, cast_variable(expand_dims_at(dw, (-2,)), v.type.dtype))
            gradient = MatMul()(scaled, adjoint(v))
            return (conjugated(half_diagonal(add(gradient, adjoint(gradient)))),)
        gaps = subtract(expand_dims_at(w, (-2,)), expand_dims_at(w, (-1,)))
        turn = _turn(tools, MatMul()(adjoint(v), conjugated(dv)), dv)
        inner = quotients(tools, turn, gaps, w)
        if dw is not None:
            inner = add(inner, _with_diagonal(cast_variable(dw, v.type.dtype), v))
        gradient = MatMul()(MatMul()(v, inner), adjoint(v))
        return (conjugated(half_diagonal(add(gradient, adjoint(gradient)))),)


def _turn(tools: Any, x: Variable, dv: Variable) -> Variable:
    """Half the skew part of the vectors' products with their cotangents, which is what turns one into another.

    A pair of vectors has no turn by selection where neither cotangent is anything.
    """
    turn = multiply(subtract(x, adjoint(x)), numpy_dtype(real_type(x.type.dtype)).type(0.5))
    return with_columns_of(tools, turn, dv, pairs=True)


def with_columns_of(tools: Any, x: Variable, dv: Variable, *, pairs: bool = False) -> Variable:
    """x, said to be 0 by selection in the columns in which a cotangent is; of pairs, where it is in both columns."""

    def reached(s: Variable | bool) -> Variable | bool:
        if isinstance(s, bool) or s.type.ndim == 0:
            return s
        columns = any_of(s, -2, keepdims=True)
        return logical_or(columns, matrix_transpose(columns)) if pairs else columns

    support = tools.supports.of(dv)
    tools.supports.set(x, support._replace(**{name: reached(s) for name, s in support._asdict().items()}))
    return x


def quotients(tools: Any, x: Variable, gaps: Variable, values: Variable, *, diagonal: bool = False) -> Variable:
    """x over gaps of values; where a gap is nothing but rounding of these, NaN unless x is 0 by selection.

    Args:
        diagonal: whether the diagonal counts; if not, it is 0.
    """
    kind, real_kind = numpy_dtype(gaps.type.dtype).type, numpy_dtype(real_type(gaps.type.dtype))
    size = expand_dims_at(reduce_sum(absolute(values), (-1,)), (-2, -1))
    bound = multiply(size, real_kind.type(ROUNDING * np.finfo(real_kind).eps))
    null = less_equal(absolute(gaps), bound)
    slope = where(null, kind(np.nan), divide(kind(1), where(null, kind(1), gaps)))
    if not diagonal:
        slope = where(on_diagonal(x), kind(0), slope)
    result: Variable | None = tools.times(x, cast_variable(slope, x.type.dtype))
    return zeros_like(x) if result is None else result


def _with_diagonal(d: Variable, like: Variable) -> Variable:
    """Matrices with this diagonal."""
    return where(on_diagonal(like), expand_dims_at(d, (-1,)), numpy_dtype(d.type.dtype).type(0))


@final
class Eigvalsh(Op):
    """Eigenvalues of Hermitian matrices, ascending, without the vectors: as `Eigh`.

    Shapes:
        a (..., n, n) -> w (..., n), info int32 (...)
    Raises:
        LinAlgError: with `raises`, the iteration did not converge.
    Source:
        numpy.linalg.eigvalsh. The pullback needs the vectors.
    """

    raises: bool = True
    by_matrix = True
    has_expansion = True

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        """Values and info."""
        w, _, info = Eigh(self.raises).infer(a)
        return (w, info)

    def perform(self, a: Array) -> tuple[Array, ...]:
        """`np.linalg.eigvalsh` of the lower triangle."""
        types = self.infer(TensorType(a.dtype, a.shape))[:1]
        return tuple(performed(np.tril(a), types, lambda x: (np.linalg.eigvalsh(x, "L"),)))

    def expansion(self, *inputs: Variable) -> tuple[Variable, ...]:
        """The eigenvalues of `Eigh`."""
        w, _, info = Eigh(self.raises)(*inputs)
        return w, info

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """The iteration converged."""
        return (info_check(outputs[1], "eigvalsh", ENDLESS, "tg.linalg.eigvalsh"),) if self.raises else ()


@final
class SVD(Op):
    """Singular values, descending, and their vectors: a = U diag(s) Vh; and info, as `Eigh` has it.

    With `full_matrices` U and Vh are square, otherwise they have min(m, n) columns and rows.

    Shapes:
        a (..., m, n) -> U (..., m, k), s (..., min(m, n)), Vh (..., k, n), info int32 (...)
    Dtypes:
        s is real.
    Raises:
        LinAlgError: with `raises`, the iteration did not converge.
    Source:
        numpy.linalg.svd. The pullback is section 3.2 of Giles, as `Eigh`, with the terms of vectors beyond the square.
    """

    full_matrices: bool = False
    raises: bool = True
    by_matrix = True

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        """Vectors, values, vectors, info."""
        need_matrices("svd", a)
        *lead, m, n = a.shape
        few = minimum(m, n)  # type: ignore[arg-type]
        left, right = (m, n) if self.full_matrices else (few, few)
        values = TensorType(real_type(a.dtype), [*lead, few])
        vectors = a.with_shape([*lead, m, left]), a.with_shape([*lead, right, n])
        return (vectors[0], values, vectors[1], TensorType("int32", lead))

    def perform(self, a: Array) -> tuple[Array, ...]:
        """`np.linalg.svd`."""
        types = self.infer(TensorType(a.dtype, a.shape))[:3]
        return tuple(performed(a, types, lambda x: tuple(np.linalg.svd(x, full_matrices=self.full_matrices))))

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """The iteration converged."""
        return (info_check(outputs[3], "svd", ENDLESS, "tg.linalg.svd"),) if self.raises else ()

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """Singular values are not below 0."""
        return ((), ("nonnegative",), (), ())

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Products with the vectors.

        Raises:
            NotDifferentiable: vectors are used that the matrix does not decide.
        """
        (a,), (u, s, vh, _), (du, ds, dvh, _) = inputs, outputs, cotangents
        if du is None and ds is None and dvh is None:
            return (None,)
        m, n = a.shape[-2:]
        if self.full_matrices and not same(m, n):
            if du is not None or dvh is not None:
                text = "svd: vectors of full_matrices have no derivative: the last are not decided by the matrix"
                raise NotDifferentiable(message(text, hint="full_matrices=False leaves them out"))
            u, s, vh, _ = SVD(False, self.raises)(a)  # the first vectors, which have derivatives themselves
        gu, gvh = (None if d is None else conjugated(d) for d in (du, dvh))
        return (conjugated(_svd_gradient(tools, (u, s, vh), (gu, ds, gvh), square=same(m, n))),)


def _svd_gradient(
    tools: Any,
    factors: tuple[Variable, Variable, Variable],
    gradients: tuple[Variable | None, Variable | None, Variable | None],
    *,
    square: bool,
) -> Variable:
    """The gradient of the matrix for those of reduced factors."""
    (u, s, vh), (gu, gs, gvh) = factors, gradients
    dtype, v = u.type.dtype, adjoint(vh)
    row, column = expand_dims_at(s, (-2,)), expand_dims_at(s, (-1,))
    like = MatMul()(vh, v)
    parts: list[Variable] = []
    if gs is not None:
        parts.append(_with_diagonal(cast_variable(gs, dtype), like))
    for g, vectors, scale in ((gu, u, row), (None if gvh is None else adjoint(gvh), v, column)):
        if g is None:
            continue
        turn = _turn(tools, MatMul()(adjoint(vectors), g), g)
        apart = quotients(tools, turn, subtract(row, column), s)
        tools.supports.set(apart, tools.supports.of(turn))
        together = quotients(tools, apart, add(row, column), s)
        parts.append(multiply(add(together, together), scale))
    if gu is not None and is_complex(dtype):
        turn = _turn(tools, MatMul()(adjoint(u), gu), gu)
        phases = quotients(tools, turn, row, s, diagonal=True)
        parts.append(where(on_diagonal(like), phases, numpy_dtype(dtype).type(0)))
    inner = parts[0]
    for part in parts[1:]:
        inner = add(inner, part)
    gradient: Variable = MatMul()(MatMul()(u, inner), vh)
    if gu is not None and not square:
        beside = quotients(tools, gu, row, s, diagonal=True)
        beside = subtract(beside, MatMul()(u, MatMul()(adjoint(u), beside)))
        gradient = add(gradient, MatMul()(beside, vh))
    if gvh is not None and not square:
        beside = quotients(tools, gvh, column, s, diagonal=True)
        beside = subtract(beside, MatMul()(MatMul()(beside, v), vh))
        gradient = add(gradient, MatMul()(u, beside))
    return gradient


@final
class Svdvals(Op):
    """Singular values, descending, without the vectors: as `SVD`.

    Shapes:
        a (..., m, n) -> s (..., min(m, n)), info int32 (...)
    Raises:
        LinAlgError: with `raises`, the iteration did not converge.
    Source:
        numpy.linalg.svdvals. The pullback needs the vectors.
    """

    raises: bool = True
    by_matrix = True
    has_expansion = True

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        """Values and info."""
        _, s, _, info = SVD(False, self.raises).infer(a)
        return (s, info)

    def perform(self, a: Array) -> tuple[Array, ...]:
        """`np.linalg.svd` without vectors."""
        types = self.infer(TensorType(a.dtype, a.shape))[:1]
        return tuple(performed(a, types, lambda x: (np.linalg.svd(x, compute_uv=False),)))

    def expansion(self, *inputs: Variable) -> tuple[Variable, ...]:
        """The singular values of `SVD`."""
        _, s, _, info = SVD(False, self.raises)(*inputs)
        return s, info

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """The iteration converged."""
        return (info_check(outputs[1], "svdvals", ENDLESS, "tg.linalg.svdvals"),) if self.raises else ()

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """Singular values are not below 0."""
        return (("nonnegative",), ())


def _triangle(what: str, a: Any, UPLO: str) -> Variable:
    """The matrix whose lower triangle is the one that is to be read."""
    a = matrix(what, a)
    if not isinstance(UPLO, str) or UPLO.upper() not in TRIANGLES:
        raise InputError(message(f"{what}: UPLO: found {UPLO!r}, needed 'L' or 'U'"))
    return a if UPLO.upper() == "L" else adjoint(a)


def eigh(a: TensorLike, UPLO: Triangle = "L", *, on_error: OnError = "raise") -> EighResult:
    """Eigenvalues of Hermitian matrices, ascending, and orthonormal vectors as columns.

    The signs, and of complex vectors the directions, are whatever the backend's library gives.

    Args:
        UPLO: "L" or "U": the triangle that is read.
        on_error: "raise", or "nan" where LAPACK's iteration does not converge.
    Shapes:
        a (..., n, n) -> eigenvalues (..., n), eigenvectors (..., n, n)
    Source:
        numpy.linalg.eigh
    """
    w, v, _ = Eigh(whether_to_raise("eigh", on_error))(_triangle("eigh", a, UPLO))
    return EighResult(w, v)


def eigvalsh(a: TensorLike, UPLO: Triangle = "L", *, on_error: OnError = "raise") -> Variable:
    """Eigenvalues of Hermitian matrices, ascending.

    Shapes:
        a (..., n, n) -> (..., n)
    Source:
        numpy.linalg.eigvalsh
    """
    return Eigvalsh(whether_to_raise("eigvalsh", on_error))(_triangle("eigvalsh", a, UPLO))[0]  # type: ignore[no-any-return]


def svd(
    a: TensorLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    *,
    on_error: OnError = "raise",
) -> Any:
    """Singular values, descending, and their vectors: a = U diag(S) Vh; without `compute_uv` the values alone.

    Args:
        full_matrices: whether U and Vh are square; if not, they have min(m, n) columns and rows, and derivatives.
        hermitian: taken, and of no use: any matrix will do.
        on_error: "raise", or "nan" where LAPACK's iteration does not converge.
    Shapes:
        a (..., m, n) -> U (..., m, k), S (..., min(m, n)), Vh (..., k, n)
    Source:
        numpy.linalg.svd
    """
    if not compute_uv:
        return svdvals(a, on_error=on_error)
    return SVDResult(*SVD(bool(full_matrices), whether_to_raise("svd", on_error))(matrix("svd", a))[:3])


def svdvals(x: TensorLike, *, on_error: OnError = "raise") -> Variable:
    """Singular values of matrices, descending.

    Shapes:
        x (..., m, n) -> (..., min(m, n))
    Source:
        numpy.linalg.svdvals
    """
    return Svdvals(whether_to_raise("svdvals", on_error))(matrix("svdvals", x))[0]  # type: ignore[no-any-return]


FAMILY = Family(
    "linalg/spectral",
    ops=(Eigh, Eigvalsh, SVD, Svdvals),
    functions=(eigh, eigvalsh, svd, svdvals),
    module="linalg",
)
