"""Cholesky factors of sparse matrices: solutions, determinants, and elements of the inverse."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, final

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.ops.creation import ones, zeros
from tg.ops.elementwise.cast import cast_variable
from tg.ops.linalg.matrices import whether_to_raise
from tg.ops.shape import expand_dims_at, squeeze, with_lengths
from tg.ops.sparse_factors import SparseCholesky, SparseInverse, SparseLogDet, SparseSolve
from tg.sparse.making import csc, csr
from tg.sparse.matrices import COO, CSC, CSR
from tg.sparse.symbolic import Symbolic, of_pattern, symbolic
from tg.types.dtypes import is_float
from tg.variables.conversion import as_variable, promoted

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.types.choices import OnError


@final
@dataclasses.dataclass(frozen=True, eq=False)
class Factor:
    """Cholesky factor of a symmetric positive-definite sparse matrix, made by `tg.sparse.linalg.cholesky`."""

    values: Any
    """The matrix at the factor's places, column by column."""
    elements: Any
    """The factor there."""
    pattern: Symbolic

    def logdet(self) -> Variable:
        """The logarithm of the determinant, whose gradient is the inverse at the stored places.

        It has first derivatives, in both modes; for a second one other elements of the inverse are needed.
        """
        return SparseLogDet()(self.values, self.elements, *self._places())  # type: ignore[no-any-return]

    def solve(self, b: Any) -> Variable:
        """The solution of a x = b, with derivatives of any order by values and by b.

        Shapes:
            b (n) or (n, k) -> x as b
        Raises:
            ShapeError: b has another number of rows than the matrix.
        """
        side = as_variable(b)
        if side.type.ndim not in (1, 2):
            raise ShapeError(message(f"solve: found {side.type}, needed a vector or a matrix"))
        rows = as_variable(self.pattern.order).shape[0]
        side = with_lengths(side, {-side.type.ndim: rows}, "solve: b")
        (_, side), dtype = promoted([self.values, side])
        values, elements, side = (cast_variable(v, dtype) for v in (self.values, self.elements, side))
        order = as_variable(self.pattern.order)
        sides = side if side.type.ndim == 2 else expand_dims_at(side, (-1,))
        x = SparseSolve()(values, elements, *self._places(), sides[order])
        back = zeros(x.shape, dtype=dtype).at[order].set(x)
        return back if side.type.ndim == 2 else squeeze(back, -1)

    def inverse_diagonal(self) -> Variable:
        """The diagonal of the inverse, such as variances of a precision matrix: a vector.

        It has no derivative.
        """
        z = SparseInverse()(self.elements, *self._places())
        order, begins = as_variable(self.pattern.order), as_variable(self.pattern.pointers)[:-1]
        return zeros(order.shape, dtype=z.type.dtype).at[order].set(z[begins])

    def _places(self) -> tuple[Variable, Variable]:
        return as_variable(self.pattern.indices), as_variable(self.pattern.pointers)


def cholesky(a: Any, pattern: Symbolic | None = None, *, on_error: OnError = "raise") -> Factor:
    """The Cholesky factor of a symmetric positive-definite sparse matrix.

    Both triangles are stored; the matrix that is factored is their mean.

    Args:
        a: a CSR or CSC matrix with the whole diagonal.
        pattern: `symbolic(a)`, found once for many matrices of one pattern. Without it, the places of a are known.
        on_error: "raise", or "nan" for a factor of NaN.
    Raises:
        LinAlgError: the matrix is not positive definite.
        InputError: places are variables, and there is no pattern; the pattern is that of other places.
        ShapeError: the pattern has more or fewer rows or elements than a.
    Source:
        sksparse.cholmod.cholesky
    Example:
        >>> import numpy as np, tg
        >>> a = tg.sparse.csr(np.array([[4.0, 2.0], [2.0, 3.0]]))
        >>> factor = tg.sparse.linalg.cholesky(a)
        >>> factor.solve([2.0, 5.0]).eval().round(6).tolist(), float(factor.logdet().eval().round(6))
        ([-0.5, 2.0], 2.079442)
    """
    if isinstance(a, COO):
        raise InputError(message("cholesky: found a COO matrix, needed CSR or CSC", hint="a.tocsr() is one"))
    raises = whether_to_raise("cholesky", on_error)
    if not isinstance(a, CSR | CSC):
        a = csc(a) if getattr(a, "format", None) == "csc" else csr(a)
    data, places = a.values, pattern
    if places is None:
        places = symbolic(a)
    else:
        data = of_pattern(data, a, places)
    if not is_float(data.type.dtype):
        raise DtypeError(message(f"cholesky: found {data.type.dtype}, needed a real floating dtype"))
    halves = cast_variable(as_variable(places.halves), data.type.dtype)
    size = as_variable(places.indices).shape[0]
    values = zeros((size,), dtype=data.type.dtype).at[as_variable(places.places)].add(data * halves)
    elements, _ = SparseCholesky(raises)(values, as_variable(places.indices), as_variable(places.pointers))
    return Factor(values, elements, places)


def slogdet(a: Any, pattern: Symbolic | None = None, *, on_error: OnError = "raise") -> tuple[Variable, Variable]:
    """The sign of the determinant of a symmetric positive-definite sparse matrix, 1, and the logarithm of its size.

    The gradient by values is the inverse at their places (Takahashi's equations); there is no second derivative.

    Args:
        a, pattern, on_error: as `cholesky`.
    Raises:
        LinAlgError: the matrix is not positive definite.
    Source:
        numpy.linalg.slogdet
    Example:
        >>> import numpy as np, tg
        >>> sign, logdet = tg.sparse.linalg.slogdet(tg.sparse.csr(np.array([[2.0, 0.0], [0.0, 3.0]])))
        >>> float(logdet.eval().round(6)), round(float(np.log(6.0)), 6)
        (1.791759, 1.791759)
    """
    logdet = cholesky(a, pattern, on_error=on_error).logdet()
    return ones((), dtype=logdet.type.dtype), logdet
