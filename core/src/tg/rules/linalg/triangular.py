"""Rules of triangular systems: a transposed matrix is read as it lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.graph.facts import facts_of
from tg.ops.elementwise.complex import conjugate
from tg.ops.linalg.triangular import SolveTriangular
from tg.ops.shape import Transpose, matrix_transpose
from tg.rewrite.phases import EXACT, REASSOCIATES
from tg.rewrite.rule import rule_of
from tg.rules.shape.moved import untransposed
from tg.types.dtypes import is_complex

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

TURNED: Final = {"n": "t", "t": "n"}


@rule_of(
    SolveTriangular,
    kind=REASSOCIATES,
    below=(Transpose,),
    example=lambda x, y: SolveTriangular(False, "n", False, raises=False)(matrix_transpose(x), y),
)
def _solve_triangular_of_transpose(op: Any, a: Variable, b: Variable) -> Variable | None:
    """Substitution goes through a matrix in either direction: it need not be moved."""
    below = untransposed(a)
    if below is None:
        return None
    turned = TURNED.get(op.transpose)
    if below.op is conjugate.op and op.transpose == "n":
        (below,), turned = below.inputs, "c"
    if turned is None:
        return None
    return SolveTriangular(not op.lower, turned, op.unit_diagonal, op.raises)(below, b)  # type: ignore[no-any-return]


@rule_of(
    SolveTriangular,
    kind=EXACT,
    example=lambda x, y: SolveTriangular(True, "c", False, raises=False)(x[..., : x.shape[-2]], y),
)
def _solve_triangular_in_one_form(op: Any, a: Variable, b: Variable) -> Variable | None:
    """Real matrices have no conjugates, and where no diagonal has a zero there is none to look for."""
    transpose = "t" if op.transpose == "c" and not is_complex(a.type.dtype) else op.transpose
    raises = op.raises or "nonzero_diagonal" in facts_of(a)
    if (transpose, raises) == (op.transpose, op.raises):
        return None
    return SolveTriangular(op.lower, transpose, op.unit_diagonal, raises)(a, b)  # type: ignore[no-any-return]


RULES = (_solve_triangular_in_one_form, _solve_triangular_of_transpose)
