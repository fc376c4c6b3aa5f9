"""Linear algebra: one matrix and batches of them, read from one triangle, empty and in any layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytensor.tensor.slinalg as sl
import pytest
import scipy.linalg
from differential import Case, check, classes
from pytensor.graph.op import Op
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.nlinalg import (
    SVD,
    Det,
    MatrixInverse,
    MatrixPinv,
    SLogDet,
    TensorInv,
)
from pytensor.tensor.type_other import NoneConst

import tg
import tg_pytensor

DRAWS = np.random.default_rng(20261127)
OPS: dict[str, Any] = classes(Op)  # PyTensor moves them from release to release


def general(*shape: int, dtype: str = "float64") -> Any:
    x = DRAWS.normal(size=shape)
    if dtype.startswith("complex"):
        x = x + 1j * DRAWS.normal(size=shape)
    return x.astype(dtype)


def positive(*shape: int, dtype: str = "float64") -> Any:
    x = general(*shape, dtype=dtype)
    return (x @ np.conj(np.swapaxes(x, -1, -2)) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def layouts(x: Any) -> list[Any]:
    """One value in C order, in Fortran's, and with negative strides."""
    return [x, np.asfortranarray(x), np.flip(np.flip(x, -1).copy(), -1)]


def variable(x: Any) -> Any:
    return pt.tensor(dtype=x.dtype, shape=tuple(1 if n == 1 else None for n in x.shape))


def case(op: Any, *values: Any, name: str = "", scale: float = 100.0) -> Case:
    inputs = [variable(np.asarray(x)) for x in values]
    outputs = op(*inputs)
    outputs = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    return Case(name or str(op), inputs, outputs, [np.asarray(x) for x in values], scale)


def factorisations(dtype: str) -> list[Case]:
    a, many = positive(4, 4, dtype=dtype), positive(3, 4, 4, dtype=dtype)
    found = [case(sl.Cholesky(lower=lower), x) for lower in (True, False) for x in layouts(a)]
    found += [case(Blockwise(sl.Cholesky(lower=lower)), many) for lower in (True, False)]
    found += [case(sl.Cholesky(lower=True), np.tril(a) + 7 * np.triu(a, 1)), case(sl.Cholesky(lower=True), a[:0, :0])]
    g, batch = general(4, 4, dtype=dtype), general(2, 3, 4, 4, dtype=dtype)
    for options in ({}, {"permute_l": True}, {"p_indices": True}):
        found += [case(op, x) for op, x in ((sl.LU(**options), g), (Blockwise(sl.LU(**options)), batch))]
    found += [case(op, x) for op, x in ((sl.LUFactor(), g), (Blockwise(sl.LUFactor()), batch))]
    return found


def equations(dtype: str) -> list[Case]:
    found = []
    for b_ndim in (1, 2):
        b = general(4, 3, dtype=dtype) if b_ndim == 2 else general(4, dtype=dtype)
        many = general(3, *b.shape, dtype=dtype)
        g, p = general(4, 4, dtype=dtype) + 3 * np.eye(4, dtype=dtype), positive(4, 4, dtype=dtype)
        batch = general(3, 4, 4, dtype=dtype) + 3 * np.eye(4, dtype=dtype)
        for lower in (True, False):
            triangular = sl.SolveTriangular(lower=lower, b_ndim=b_ndim)
            found += [case(triangular, x, b) for x in layouts(g)]
            found += [case(Blockwise(triangular), batch, many), case(Blockwise(triangular), g[None], many)]
            found.append(case(sl.SolveTriangular(lower=lower, unit_diagonal=True, b_ndim=b_ndim), g, b))
            found += [case(sl.CholeskySolve(lower=lower, b_ndim=b_ndim), p, b)]
            half, kind = np.tril(p) if lower else np.triu(p), "her" if "complex" in dtype else "sym"
            found += [case(sl.Solve(assume_a=word, lower=lower, b_ndim=b_ndim), half, b) for word in ("pos", kind)]
        found += [case(sl.Solve(b_ndim=b_ndim), x, b) for x in layouts(g)]
        found += [
            case(Blockwise(sl.Solve(b_ndim=b_ndim)), batch, many),
            case(Blockwise(sl.Solve(b_ndim=b_ndim)), batch, b[None]),
        ]
        band = np.triu(np.tril(g, 1), -1)
        found += [case(sl.Solve(assume_a=kind, b_ndim=b_ndim), band, b) for kind in ("tridiagonal", "banded")]
    return found


def functions(dtype: str) -> list[Case]:
    g, batch, p = general(4, 4, dtype=dtype), general(3, 4, 4, dtype=dtype), positive(4, 4, dtype=dtype)
    found = []
    for op in (Det(), SLogDet(), MatrixInverse(), MatrixPinv(False), sl.Expm()):
        found += [case(op, g), case(Blockwise(op), batch)]
    found += [case(MatrixPinv(False), general(*shape, dtype=dtype)) for shape in ((4, 2), (2, 4))]
    found += [case(MatrixPinv(True), p), case(sl.BlockDiagonal(2), g, general(2, 3, dtype=dtype))]
    found += [case(TensorInv(2), general(4, 6, 8, 3, dtype=dtype)), case(Blockwise(sl.BlockDiagonal(2)), batch, batch)]
    found += [
        case(SVD(True, False), general(*shape, dtype=dtype))
        for shape in ((4, 2), (2, 4), (4, 4))
        if "complex" not in dtype
    ]
    return found


def eigenvalues(dtype: str) -> list[Case]:
    """Vectors of eigenvalues have a length of 1, no sign and no phase: what is compared does not depend on these."""
    g, p, many = general(4, 4, dtype=dtype), positive(4, 4, dtype=dtype), positive(3, 4, 4, dtype=dtype)
    hermitian, b = p + general(1, dtype=dtype).real, positive(4, 4, dtype=dtype)

    def eig(x: Any) -> list[Any]:
        w, v = Blockwise(OPS["Eig"]())(x)
        norm = pt.sqrt(pt.sum(abs(x) ** 2, (-2, -1), keepdims=True))
        residual = (pt.matmul(x, v) - v * w[..., None, :]) / norm
        return [pt.sort(pt.real(w)), pt.sort(pt.imag(w)), residual, pt.sum(abs(v) ** 2, -2)]

    found = [case(eig, x, name="Eig", scale=1e3) for x in (g, many)]
    for lower in (True, False):
        half = np.tril(hermitian) if lower else np.triu(hermitian)
        found += [
            case(OPS["Eigvalsh"](lower), half, b),
            case(lambda x, lower=lower: OPS["Eigvalsh"](lower)(x, NoneConst), half),
        ]
        if "complex" in dtype:
            continue  # of these PyTensor says that results are real: they have tests of their own

        def eigh(x: Any, lower: bool = lower) -> list[Any]:
            triangle = ("L" if lower else "U") if "UPLO" in OPS["Eigh"].__props__ else lower  # until 2.38, from 3.0
            w, v = Blockwise(OPS["Eigh"](triangle), signature="(m,m)->(m),(m,m)")(x)
            return [w, pt.matmul(v * w[..., None, :], v.mT), pt.matmul(v.mT, v)]

        found += [case(eigh, x, name="Eigh", scale=1e3) for x in (half, many)]
        if "EighGrad" in OPS:  # until 3.0
            grads = general(4, dtype=dtype), general(4, 4, dtype=dtype)
            found.append(case(OPS["EighGrad"]("L" if lower else "U"), p, *np.linalg.eigh(p), *grads, scale=1e3))
            found.append(case(OPS["EigvalshGrad"](lower), p, b, grads[0], scale=1e3))
    return found


def signed(factors: Any) -> list[Any]:
    """Factors of which rows or columns may have another sign."""
    return [abs(x) for x in factors]


def orthogonal(dtype: str) -> list[Case]:
    """QR and Schur forms: factors up to signs, and what they are factors of."""
    if "complex" in dtype:
        forms = [general(4, 4, dtype=dtype)]
        found = []
    else:
        forms = [general(4, 4, dtype=dtype), positive(3, 3, dtype=dtype)]
        found = [
            case(lambda x: abs(OPS["QR"]("r")(x)), general(*n, dtype=dtype), name="QR r") for n in ((5, 3), (3, 5))
        ]

        def qr(x: Any, mode: str) -> list[Any]:
            q, r = Blockwise(OPS["QR"](mode))(x)
            return [*signed([q, r] if mode == "economic" else [r]), pt.matmul(q, r), pt.matmul(q.mT, q)]

        for shape in ((4, 4), (5, 3), (3, 5), (2, 4, 3)):
            x = general(*shape, dtype=dtype)
            found += [case(lambda v, m=m: qr(v, m), x, name=f"QR {m}") for m in ("economic", "full")]

    def schur(x: Any, output: str) -> list[Any]:
        t, z = OPS["Schur"](output)(x)
        return [pt.matmul(pt.matmul(z, t), pt.conj(z).mT), abs(pt.tril(t, -2))]

    return found + [case(lambda v, o=o: schur(v, o), x, name=f"Schur {o}") for x in forms for o in ("real", "complex")]


def equations_of_several(dtype: str) -> list[Case]:
    """Least squares, Sylvester's equation, tensors and pivots."""
    a, b, c = (general(*shape, dtype=dtype) for shape in ((4, 4), (3, 3), (4, 3)))
    form = "complex" if "complex" in dtype else "real"
    left, right = (scipy.linalg.schur(x, output=form)[0].astype(dtype) for x in (a, b))
    tall = general(6, 4, 3, 8, dtype=dtype)
    found = [
        case(OPS["TRSYL"](), left, right, c, scale=1e3),
        case(
            Blockwise(OPS["TRSYL"]()),
            np.stack([left, left.T.copy().T]),
            np.stack([right] * 2),
            np.stack([c, 2 * c]),
            scale=1e3,
        ),
        case(OPS["TensorSolve"](), tall, general(6, 4, dtype=dtype), scale=1e3),
        case(OPS["TensorSolve"]((1,)), np.moveaxis(tall, -1, 1), general(6, 4, dtype=dtype), scale=1e3),
    ]
    found.append(case(pt.linalg.solve_sylvester, a, b, c, name="SolveSylvester", scale=1e3))
    _, pivots = scipy.linalg.lu_factor(general(6, 6))
    found += [case(OPS["PivotToPermutations"](inverse), pivots) for inverse in (True, False)]
    if dtype != "float64":  # that is what PyTensor declares whatever it is given
        return found
    rank = general(5, 2) @ general(2, 3)
    for x in (general(5, 3), general(3, 5), rank, np.arange(12).reshape(4, 3)):
        y = general(len(x), 2)
        found.append(case(lambda v, w: OPS["Lstsq"]()(v, w, 1e-10), x, y, name=f"Lstsq {x.shape}", scale=1e4))
    if "PosDefMatrix" in classes(Op):  # of PyMC 5
        found += [
            case(classes(Op)["PosDefMatrix"](), x) for x in (positive(3, 3), -positive(3, 3), np.triu(positive(3, 3)))
        ]
    return found


def eigenpairs(lower: bool, *matrices: Any) -> Any:
    """PyTensor's eigenvalues and vectors of a Hermitian matrix, or of a pair: with batches in front."""
    op = OPS["Eigh"](("L" if lower else "U") if "UPLO" in OPS["Eigh"].__props__ else lower)  # until 2.38, from 3.0
    inputs = ",".join("(m,m)" for _ in matrices)
    return Blockwise(op, signature=f"{inputs}->(m),(m,m)")(*matrices)


@pytest.mark.parametrize("mode", ["TG_PERFORM", "TG_C", "TG_NUMBA"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_eigenvectors_of_a_hermitian_matrix_are_complex(mode: str, dtype: str) -> None:
    """PyTensor says that they are real, and computes them complex."""
    limit = 30 * np.finfo(dtype).eps
    pairs = "UPLO" not in OPS["Eigh"].__props__  # of a pair since 3.0
    for lower in (True, False):
        a, b = positive(3, 4, 4, dtype=dtype), positive(3, 4, 4, dtype=dtype)
        half = (np.tril if lower else np.triu)(a)  # the rest is not read
        for operands in ((half,), (half, b))[: 1 + pairs]:
            inputs = [variable(x) for x in operands]
            f = pytensor.function(inputs, eigenpairs(lower, *inputs), mode=mode)
            assert not tg_pytensor.report(f).left
            w, v = f(*operands)
            right = b if len(operands) == 2 else np.broadcast_to(np.eye(4), b.shape)
            for k in range(3):
                wanted = scipy.linalg.eigh(a[k], right[k], eigvals_only=True)
                np.testing.assert_allclose(w[k], wanted, rtol=limit)
                np.testing.assert_allclose(a[k] @ v[k], right[k] @ v[k] * w[k], atol=limit * abs(wanted).max())
                np.testing.assert_allclose(v[k].conj().T @ right[k] @ v[k], np.eye(4), atol=limit)


@pytest.mark.parametrize("backend", ["perform", "c"])
def test_what_is_made_of_complex_eigenvectors_keeps_their_imaginary_parts(backend: str) -> None:
    """PyTensor has wrong dtypes for all of it, too."""
    a = pt.matrix("a", dtype="complex128")
    _, v = eigenpairs(True, a)
    row, zeros = v[0], pt.zeros((4, 4))
    outputs = [
        v, 2 * v, pt.exp(v), v.sum(0), v.prod(1), pt.cumsum(v, 0), pt.concatenate([v, zeros]), pt.stack([row, row]),
        pt.dot(v, row), pt.where(pt.arange(4) > 1, v, zeros), pt.set_subtensor(zeros[1], row),
        pt.inc_subtensor(zeros[2], row),
        pt.fill_diagonal(zeros, v[1, 2]), pt.as_tensor([v[1, 0], v[1, 1]]), pt.cast(v, "float32"), abs(v),
    ]  # fmt: skip
    graph = tg_pytensor.from_pytensor([a], outputs)
    x, *found = tg.function(graph.inputs, graph.outputs, backend=backend)(positive(4, 4, dtype="complex128"))
    one, two = np.zeros((4, 4), complex), np.zeros((4, 4), complex)
    one[1], two[2] = x[0], x[0]
    filled = np.zeros((4, 4), complex)
    np.fill_diagonal(filled, x[1, 2])
    wanted = [
        2 * x, np.exp(x), x.sum(0), x.prod(1), np.cumsum(x, 0), np.concatenate([x, np.zeros((4, 4))]),
        np.stack([x[0]] * 2), x @ x[0], np.where(np.arange(4) > 1, x, 0), one, two, filled, x[1, :2], x, abs(x),
    ]  # fmt: skip
    assert abs(x.imag).max() > 0.1
    for k, (ours, expected) in enumerate(zip(found, wanted, strict=True)):
        assert ours.dtype.kind == expected.dtype.kind, outputs[k + 1]
        np.testing.assert_allclose(ours, expected, rtol=1e-6 if ours.dtype == "complex64" else 1e-14, atol=1e-16)


FAMILIES = (factorisations, equations, functions, eigenvalues, orthogonal, equations_of_several)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("family", FAMILIES)
def test_linear_algebra(family: Any, dtype: str) -> None:
    check(family(dtype))
