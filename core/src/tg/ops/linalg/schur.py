"""Eigenvalues of matrices without symmetry, and Schur forms: of a matrix, the triangular ones that are similar to it.

What would flow back between the vectors of equal eigenvalues is NaN, as in `tg.ops.linalg.spectral`.
A matrix with an element that is NaN or infinite has NaN as results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from tg.errors import InputError, NoRuleError, NotDifferentiable, message
from tg.graph.op import Op
from tg.lapack import gees, has_lapack
from tg.ops.contraction import MatMul
from tg.ops.elementwise.arithmetic import multiply, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.complex import conjugate, real
from tg.ops.family import Family
from tg.ops.linalg.linear_systems import Solve
from tg.ops.linalg.matrices import (
    adjoint,
    diagonals,
    info_check,
    info_of,
    matrix,
    need_matrices,
    need_square,
    on_diagonal,
    whether_to_raise,
)
from tg.ops.linalg.spectral import ENDLESS, performed, quotients, with_columns_of
from tg.ops.shape import expand_dims_at
from tg.types.dtypes import is_complex, numpy_dtype
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.checks import Check
    from tg.graph.nodes import Variable
    from tg.types.choices import OnError, SchurOutput
    from tg.variables.like import TensorLike

    Array = np.ndarray[Any, Any]


class EigResult(NamedTuple):
    """The result of `eig`."""

    eigenvalues: Any
    eigenvectors: Any


def complex_type(dtype: str) -> str:
    """The complex dtype of the precision of a dtype."""
    return str(np.result_type(numpy_dtype(dtype), np.complex64))


@final
class Eig(Op):
    """Eigenvalues and eigenvectors of length 1, as columns: a V = V diag(w); and info.

    `info` is not 0 where LAPACK's iteration did not converge, which has NaN as results, and with `raises` is an error.

    Shapes:
        a (..., n, n) -> w (..., n), V (..., n, n), info int32 (...)
    Dtypes:
        w and V are complex.
    Raises:
        LinAlgError: with `raises`, the iteration did not converge.
    Source:
        numpy.linalg.eig. The pullback is that of C. Boeddeker et al., On the computation of complex-valued gradients
        with application to statistically optimum beamforming, 2017 (arXiv:1701.00392), equation 4.77, for vectors of
        length 1.
    """

    raises: bool = True
    by_matrix = True

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        """Values, vectors, info."""
        need_matrices("eig", a)
        need_square("eig", a)
        kind = complex_type(a.dtype)
        values, vectors = TensorType(kind, a.shape[:-1]), TensorType(kind, a.shape)
        return (values, vectors, TensorType("int32", a.shape[:-2]))

    def perform(self, a: Array) -> tuple[Array, ...]:
        """`np.linalg.eig`, complex."""
        types = self.infer(TensorType(a.dtype, a.shape))[:2]
        kind = numpy_dtype(types[0].dtype)
        return tuple(performed(a, types, lambda x: tuple(np.array(y, kind) for y in np.linalg.eig(x))))

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """The iteration converged."""
        return (info_check(outputs[2], "eig", ENDLESS, "tg.linalg.eig"),) if self.raises else ()

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Products with the vectors and a solve with them."""
        (a,), (w, v, _), (dw, dv, _) = inputs, outputs, cotangents
        if dw is None and dv is None:
            return (None,)
        zero = numpy_dtype(v.type.dtype).type(0)
        inner: Any = zero
        if dv is not None:
            turned = MatMul()(adjoint(v), conjugate(dv))
            length = cast_variable(real(diagonals(turned)), v.type.dtype)
            turned = subtract(turned, multiply(MatMul()(adjoint(v), v), expand_dims_at(length, (-2,))))
            gaps = conjugate(subtract(expand_dims_at(w, (-2,)), expand_dims_at(w, (-1,))))
            inner = quotients(tools, with_columns_of(tools, turned, dv), gaps, w)
        on_it = zero if dw is None else expand_dims_at(conjugate(dw), (-1,))
        inner = where(on_diagonal(v), on_it, inner)
        gradient = Solve("n", positive=False, raises=False)(adjoint(v), MatMul()(inner, adjoint(v)))[0]
        return (conjugate(gradient) if is_complex(a.type.dtype) else real(gradient),)


@final
class Schur(Op):
    """The Schur form T and unitary Z of a = Z T Z'; and info, as `Eig` has it.

    Of a complex matrix T is upper triangular; of a real one it has blocks of two on its diagonal for complex pairs of
    eigenvalues, and Z is real.

    Shapes:
        a (..., n, n) -> T (..., n, n), Z (..., n, n), info int32 (...)
    Raises:
        LinAlgError: with `raises`, the iteration did not converge.
    Source:
        scipy.linalg.schur
    """

    raises: bool = True
    by_matrix = True

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        """The type of a, twice, and info."""
        need_matrices("schur", a)
        need_square("schur", a)
        return (a, a, TensorType("int32", a.shape[:-2]))

    def perform(self, a: Array) -> tuple[Array, ...]:
        """LAPACK's.

        Raises:
            NoRuleError: NumPy has none that can be reached, and SciPy is not installed.
        """
        if not has_lapack():
            text = "schur: found no LAPACK that can be called, needed that of NumPy's wheels or of SciPy"
            raise NoRuleError(message(text, hint="pip install 'tg-core[blas]'"))
        finite = np.asarray(np.isfinite(a).all((-2, -1)))
        form, _, vectors, info = gees(np.where(finite[..., None, None], a, 0).astype(a.dtype))
        lost = ~finite | (info != 0)
        form, vectors = (np.where(lost[..., None, None], np.nan, x).astype(a.dtype) for x in (form, vectors))
        return (form, vectors, np.where(finite, info, info_of(a)).astype(np.int32))

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """The iteration converged."""
        return (info_check(outputs[2], "schur", ENDLESS, "tg.linalg.schur"),) if self.raises else ()

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """None: a Schur form is not decided by its matrix.

        Raises:
            NotDifferentiable: always.
        """
        text = "schur: has no derivative: a matrix has many Schur forms"
        raise NotDifferentiable(message(text))


@final
class Eigvals(Op):
    """Eigenvalues without vectors: as `Eig`.

    Shapes:
        a (..., n, n) -> w (..., n), info int32 (...)
    Raises:
        LinAlgError: with `raises`, the iteration did not converge.
    Source:
        numpy.linalg.eigvals. The pullback needs the vectors.
    """

    raises: bool = True
    by_matrix = True
    has_expansion = True

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        """Values and info."""
        w, _, info = Eig(self.raises).infer(a)
        return (w, info)

    def perform(self, a: Array) -> tuple[Array, ...]:
        """`np.linalg.eigvals`, complex."""
        types = self.infer(TensorType(a.dtype, a.shape))[:1]
        kind = numpy_dtype(types[0].dtype)
        return tuple(performed(a, types, lambda x: (np.array(np.linalg.eigvals(x), kind),)))

    def expansion(self, *inputs: Variable) -> tuple[Variable, ...]:
        """The eigenvalues of `Eig`."""
        w, _, info = Eig(self.raises)(*inputs)
        return w, info

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """The iteration converged."""
        return (info_check(outputs[1], "eigvals", ENDLESS, "tg.linalg.eigvals"),) if self.raises else ()


def eig(a: TensorLike, *, on_error: OnError = "raise") -> EigResult:
    """Eigenvalues of square matrices, in no order, and vectors of length 1 as columns; both are always complex.

    Args:
        on_error: "raise", or "nan" where LAPACK's iteration does not converge.
    Shapes:
        a (..., n, n) -> eigenvalues (..., n), eigenvectors (..., n, n)
    Source:
        numpy.linalg.eig, whose results are real where all eigenvalues are
    """
    w, v, _ = Eig(whether_to_raise("eig", on_error))(matrix("eig", a))
    return EigResult(w, v)


def eigvals(a: TensorLike, *, on_error: OnError = "raise") -> Variable:
    """Eigenvalues of square matrices, in no order, always complex.

    Shapes:
        a (..., n, n) -> (..., n)
    Source:
        numpy.linalg.eigvals, whose result is real where all eigenvalues are
    """
    return Eigvals(whether_to_raise("eigvals", on_error))(matrix("eigvals", a))[0]  # type: ignore[no-any-return]


def schur(a: TensorLike, output: SchurOutput = "real", *, on_error: OnError = "raise") -> tuple[Variable, Variable]:
    """The Schur form T and unitary Z of square matrices, a = Z T Z'.

    Args:
        output: "real": of a real matrix T has blocks of two for complex pairs; "complex": it is triangular.
        on_error: "raise", or "nan" where LAPACK's iteration does not converge.
    Shapes:
        a (..., n, n) -> T (..., n, n), Z (..., n, n)
    Source:
        scipy.linalg.schur
    """
    if output not in ("real", "complex"):
        raise InputError(message(f"schur: output: found {output!r}, needed 'real' or 'complex'"))
    a = matrix("schur", a)
    operand = cast_variable(a, complex_type(a.type.dtype)) if output == "complex" else a
    form, vectors, _ = Schur(whether_to_raise("schur", on_error))(operand)
    return form, vectors


FAMILY = Family("linalg/schur", ops=(Eig, Eigvals, Schur), functions=(eig, eigvals, schur), module="linalg")
