"""Products of two sparse matrices: where elements of the result are, found once on the host, and what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.errors import DtypeError, InputError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import as_size_variable
from tg.ops.assumptions import required
from tg.ops.creation import zeros
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, logical_and
from tg.ops.reduction import all as all_of
from tg.ops.reduction import sum as sum_of
from tg.ops.shape import expand_dims_at, squeeze, with_lengths
from tg.ops.sparse import SparseProduct, row_numbers
from tg.sparse.components import with_equal
from tg.sparse.matrices import CSC, CSR, SparseMatrix
from tg.sparse.places import SymbolicProduct, multiplied
from tg.types.lengths import add as add_lengths
from tg.variables.conversion import as_variable, promoted
from tg.variables.structure import short

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

OTHER: Final = "sparse product: found the pattern of a product of matrices with elements at other places"
OTHER_HINT: Final = "tg.sparse.linalg.symbolic_product(a, b) is the pattern of a @ b"
SHAPES: Final = "sparse: found {0} columns and {1} rows in @, needed as many"


def symbolic_product(a: Any, b: Any) -> SymbolicProduct:
    """The places of the product of two sparse matrices, and the pairs of elements that add up to each.

    There are as many pairs as products of two numbers, so `a @ (b @ x)` needs less memory where the product itself is
    not wanted.

    Args:
        a, b: sparse matrices, of tg or SciPy, of known places. Values are not read.
    Raises:
        InputError: places are variables, or there is no sparse matrix.
        ShapeError: a has not as many columns as b has rows.
    Source:
        The symbolic phase of Gustavson, ACM Trans. Math. Softw. 4 (1978), 250
    Example:
        >>> import numpy as np, tg
        >>> a = tg.sparse.csr(np.array([[1.0, 2.0], [0.0, 3.0]]))
        >>> tg.sparse.linalg.symbolic_product(a, a).pointers  # the element at (0, 1) has two terms
        array([0, 1, 3, 4], dtype=int32)
    """
    matrices = sparse_matrices("symbolic_product", a, b)
    with_equal(as_variable(0), [(matrices[0].shape[1], matrices[1].shape[0])], SHAPES)
    places = [m.known_places() for m in matrices]
    if places[0] is None or places[1] is None:
        hint = "tg.sparse.matmul(a, b, pattern) takes the pattern as an input; a @ (b @ x) needs none"
        raise InputError(message("symbolic_product: found places that are variables, needed known ones", hint=hint))
    return multiplied(places[0], places[1])


def matmul(a: Any, b: Any, pattern: SymbolicProduct | None = None) -> CSR | CSC:
    """The product of two sparse matrices, sparse: `a @ b` where the pattern of the product is known.

    Derivatives, of any order, are by values.

    Args:
        a, b: sparse matrices.
        pattern: `tg.sparse.linalg.symbolic_product(a, b)`, which may be an input. Without it, places are known.
    Shapes:
        a (m, k), b (k, n) -> (m, n), of layout CSC if both have it, else CSR
    Raises:
        InputError: places are variables, and there is no pattern; the pattern is that of other places.
        ShapeError: a has not as many columns as b has rows.
        DtypeError: both are bool.
    Source:
        scipy.sparse.csr_array.__matmul__
    Example:
        >>> import numpy as np, tg
        >>> a = tg.sparse.csr(np.array([[1.0, 2.0], [0.0, 3.0]]))
        >>> tg.sparse.matmul(a, a).todense().eval().tolist()
        [[1.0, 8.0], [0.0, 9.0]]
    """
    a, b = sparse_matrices("matmul", a, b)
    if pattern is None and isinstance(a, CSC) and isinstance(b, CSC):
        return matmul(b.T, a.T).T
    (x, y), dtype = promoted([a.values, b.values])
    if dtype == "bool":
        raise DtypeError(message("sparse: found bool in @, needed numbers", hint="a.astype(int) has 0 and 1"))
    x, y = cast_variable(x, dtype), cast_variable(y, dtype)
    x = with_equal(x, [(a.shape[1], b.shape[0])], SHAPES)
    if pattern is None:
        pattern = symbolic_product(a, b)
    else:
        x = _of_pattern(x, a, b, pattern)
    return at_places(x, y, pattern, b.shape[1])


def at_places(x: Variable, y: Variable, pattern: SymbolicProduct, columns: Any) -> CSR:
    """The product of matrices with such elements, of which a pattern is known to be that of the product."""
    left, right, pointers = map(as_variable, pattern[:3])
    terms = SparseProduct(False)(x[left], right, pointers, expand_dims_at(y, (-1,)))
    return CSR(squeeze(terms, -1), pattern.indices, pattern.indptr, columns)


def _of_pattern(x: Variable, a: SparseMatrix, b: SparseMatrix, pattern: SymbolicProduct) -> Variable:
    """The elements of a, of which it is made sure that a pattern is that of the product.

    Each pair is of elements that meet, each meets once, and there are as many pairs as meet.

    Raises:
        InputError: the pattern is another one.
        ShapeError: it has other lengths.
    """
    left, right, pointers, indices, indptr = map(as_variable, pattern)
    right = with_lengths(right, {-1: left.shape[0]}, "sparse product: pairs of the pattern")
    pointers = with_lengths(pointers, {-1: add_lengths(indices.shape[0], 1)}, "sparse product: elements of the pattern")
    indptr = with_lengths(indptr, {-1: add_lengths(a.shape[0], 1)}, "sparse product: rows of the pattern")
    (row, inner), (other, column) = a.coordinates(), b.coordinates()
    target, count = row_numbers(pointers, left.shape[0]), indices.shape[0]
    meet = equal(inner[left], other[right])
    is_there = logical_and(
        equal(row[left], row_numbers(indptr, count)[target]),
        equal(column[right], cast_variable(indices, "int64")[target]),
    )
    pair = cast_variable(left, "int64") * as_size_variable(b.values.shape[0]) + cast_variable(right, "int64")
    twice = logical_and(equal(target[1:], target[:-1]), pair[1:] <= pair[:-1])
    counts = zeros((b.shape[0],), dtype="int64").at[other].add(1)
    are_all = equal(sum_of(counts[inner]), as_size_variable(left.shape[0]))
    fine = logical_and(logical_and(all_of(logical_and(meet, is_there)), are_all), all_of(~twice))
    return required(x, fine, (), Descriptor("InputError", OTHER, OTHER_HINT))


def sparse_matrices(what: str, *operands: Any) -> list[Any]:
    """Operands as sparse matrices of tg.

    Raises:
        InputError: one is none.
    """
    from tg.sparse.making import as_sparse

    matrices = []
    for a in operands:
        if not isinstance(a, SparseMatrix) and not hasattr(a, "tocsr"):
            raise InputError(message(f"{what}: found {short(a)}, needed a sparse matrix"))
        matrices.append(as_sparse(a))
    return matrices
