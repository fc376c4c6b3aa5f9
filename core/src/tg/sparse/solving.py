"""`spsolve`: systems with sparse square matrices, by factors of matrices of known places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.errors import DtypeError, InputError, LinAlgError, OptionError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.ops.assumptions import required
from tg.ops.control import stop_gradient
from tg.ops.creation import full, full_like, zeros
from tg.ops.custom import custom_jvp
from tg.ops.elementwise.arithmetic import absolute, sqrt
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import isfinite, where
from tg.ops.iteration import while_loop
from tg.ops.linalg.matrices import whether_to_raise
from tg.ops.reduction import all as all_of
from tg.ops.reduction import any as any_of
from tg.ops.reduction import max as max_of
from tg.ops.shape import expand_dims_at, squeeze, with_lengths
from tg.sparse.components import with_equal
from tg.sparse.factors import Factor, cholesky
from tg.sparse.matrices import CSR
from tg.sparse.products import at_places, sparse_matrices, symbolic_product
from tg.sparse.symbolic import Symbolic, symbolic
from tg.types.dtypes import is_float
from tg.variables.conversion import as_variable, promoted
from tg.variables.structure import short

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.sparse.places import SymbolicProduct
    from tg.types.choices import OnError, SparseStructure

STRUCTURES: Final = ("gen", "pos")
SQUARE: Final = "spsolve: found {0} rows and {1} columns, needed a square matrix"
SINGULAR: Final = "spsolve: the matrix is singular, or its condition number is above 1e7"
SINGULAR_HINT: Final = 'tg.sparse.linalg.spsolve(…, on_error="nan") gives NaN for such a matrix'
MOST: Final = 12  # corrections of a solution
ENOUGH: Final = 4  # of a tangent, which are written out
SMALL: Final = 2.0**-36  # a residual, relative to the terms that it is the difference of


def spsolve(a: Any, b: Any, *, assume_a: SparseStructure = "gen", on_error: OnError = "raise") -> Variable:
    """The solution of a x = b for a sparse square matrix, with derivatives of any order by values and by b.

    A positive-definite matrix is factored as it is. Any other one is scaled, and the product with its transpose is
    factored in float64; each solution is then corrected by its residual until that is at the level of rounding, which
    condition numbers of up to 1e7 allow. Where it is not reached, the matrix counts as singular.

    Args:
        a: a sparse matrix of known places.
        b: a vector, or a matrix of several right sides.
        assume_a: "gen", or "pos" for a symmetric positive-definite matrix with both triangles and its whole diagonal.
        on_error: "raise", or "nan" for a solution of NaN.
    Shapes:
        a (n, n), b (n) or (n, k) -> x as b
    Raises:
        LinAlgError: the matrix is singular or near to it; with "pos", it is not positive definite.
        InputError: places are variables.
        ShapeError: a is not square, or b has another number of rows.
        DtypeError: the numbers are not real floats.
    Source:
        scipy.sparse.linalg.spsolve. Björck, Numerical Methods for Least Squares Problems, 1996, section 6.6: corrected
        seminormal equations.
    Example:
        >>> import numpy as np, tg
        >>> a = tg.sparse.csr(np.array([[0.0, 2.0], [4.0, 1.0]]))
        >>> tg.sparse.linalg.spsolve(a, [2.0, 9.0]).eval().round(6).tolist()
        [2.0, 1.0]
    """
    if assume_a not in STRUCTURES:
        raise OptionError(message(f"spsolve: assume_a: found {short(assume_a)}, needed 'gen' or 'pos'"))
    whether_to_raise("spsolve", on_error)
    matrix, side, dtype = _operands(a, b)
    if assume_a == "pos":
        return cholesky(matrix, on_error=on_error).solve(side)
    places = matrix.known_places()
    if places is None:
        hint = "tg.sparse.linalg.bicgstab needs none"
        raise InputError(message("spsolve: found places that are variables, needed known ones", hint=hint))
    if any(len(np.unique(k)) < n for k, n in zip((places.row, places.column), places.shape, strict=True)):
        if on_error == "nan":
            return full_like(side, np.nan)
        raise LinAlgError(message("spsolve: the matrix is singular: a row or a column has no element"))
    sides = side if side.type.ndim == 2 else expand_dims_at(side, (-1,))
    values, sides = (cast_variable(v, "float64") for v in (matrix.values, sides))
    square = symbolic_product(matrix.T, matrix)
    ones = np.ones(len(square.indices))
    pattern = symbolic(CSR(ones, square.indices, square.indptr, places.shape[1]))

    def system_of(values: Variable) -> _System:
        return _System.of(matrix.with_data(values), square, pattern)

    @custom_jvp
    def solve(values: Variable, sides: Variable) -> Variable:
        return system_of(values).solution(sides, on_error)  # type: ignore[no-any-return]

    def pushforward(primals: Any, tangents: Any) -> tuple[Variable, Variable]:
        (values, sides), (dvalues, dsides) = primals, tangents
        system, near = system_of(values), stop_gradient(solve(values, sides))
        x = near + system.estimate(sides - system.matrix @ near)  # whose derivatives are those of the solution
        return x, system.corrected(dsides - matrix.with_data(dvalues) @ x, ENOUGH)

    solve.defjvp(pushforward)
    x = cast_variable(solve(values, sides), dtype)
    return x if side.type.ndim == 2 else squeeze(x, -1)


def _operands(a: Any, b: Any) -> tuple[CSR, Variable, str]:
    """The matrix by rows, the right sides, and the dtype of the solution.

    Raises:
        InputError: a is no sparse matrix.
        DtypeError, ShapeError: as `spsolve`.
    """
    (matrix,), side = sparse_matrices("spsolve", a), as_variable(b)
    matrix = matrix.tocsr()
    if side.type.ndim not in (1, 2):
        raise ShapeError(message(f"spsolve: b: found {side.type}, needed a vector or a matrix"))
    side = with_lengths(side, {-side.type.ndim: matrix.shape[0]}, "spsolve: b")
    side = with_equal(side, [matrix.shape], SQUARE)
    (values, side), dtype = promoted([matrix.values, side])
    if not is_float(dtype):
        raise DtypeError(message(f"spsolve: found {dtype}, needed a real floating dtype"))
    return matrix.with_data(cast_variable(values, dtype)), cast_variable(side, dtype), dtype


class _Steps(NamedTuple):
    x: Any
    left: Any
    size: Any
    before: Any
    steps: Any


class _System(NamedTuple):
    """A matrix, one near it whose rows and columns are about as long as others, and a factor of that one's square."""

    matrix: CSR
    scaled: CSR
    rows: Any
    columns: Any
    factor: Factor

    @classmethod
    def of(cls, matrix: CSR, square: SymbolicProduct, pattern: Symbolic) -> _System:
        """The system of a matrix in float64, of the places of its square and of that one's factor."""
        row, column = matrix.coordinates()
        n, values = matrix.shape[0], matrix.values
        rows = _scale(values, row, n)
        columns = _scale(values * rows[row], column, n)
        elements = values * rows[row] * columns[column]
        product = at_places(elements, elements, square, n)
        factor = cholesky(product, pattern, on_error="nan")
        return cls(
            matrix, matrix.with_data(elements), expand_dims_at(rows, (-1,)), expand_dims_at(columns, (-1,)), factor
        )

    def estimate(self, b: Any) -> Any:
        """The solution by the seminormal equations."""
        return self.columns * self.factor.solve(self.scaled.T @ (self.rows * b))

    def corrected(self, b: Any, times: int) -> Any:
        """The solution, corrected so many times: linear in b."""
        x = self.estimate(b)
        for _ in range(times):
            x = x + self.estimate(b - self.matrix @ x)
        return x

    def solution(self, b: Any, on_error: str) -> Any:
        """The solution, corrected as long as a residual falls; NaN or an error where one stays too large.

        Right sides have a residual each, rows of equal weight.
        """

        def size(terms: Any) -> Any:
            return max_of(self.rows * absolute(terms), axis=0, initial=0)

        def step(s: _Steps) -> _Steps:
            x = s.x + self.estimate(s.left)
            left = b - self.matrix @ x
            return _Steps(x, left, size(left), s.size, s.steps + 1)

        x = self.estimate(b)
        left = b - self.matrix @ x
        first = _Steps(x, left, size(left), full((b.shape[1],), np.inf, "float64"), np.int64(0))
        end = while_loop(lambda s: any_of((s.size <= s.before / 2) & (s.size > 0)) & (s.steps < MOST), step, first)
        terms = self.matrix.with_data(absolute(self.matrix.values)) @ absolute(end.x) + absolute(b)
        is_fine = (end.size <= SMALL * size(terms)) | ~all_of(isfinite(b), axis=0)
        if on_error == "nan":
            return where(is_fine, end.x, np.nan)
        return required(end.x, all_of(is_fine), (), Descriptor("LinAlgError", SINGULAR, SINGULAR_HINT))


def _scale(values: Any, at: Any, n: Any) -> Any:
    """For each row or column one over its length; a solution does not depend on it."""
    squares = zeros((n,), dtype="float64").at[at].add(stop_gradient(values) ** 2)
    return where(squares > 0, 1 / sqrt(squares), 1)
