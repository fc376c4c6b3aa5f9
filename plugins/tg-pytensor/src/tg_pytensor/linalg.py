"""Linear algebra: of matrices by themselves and, where the rule says so, of every one of a batch."""

from __future__ import annotations

from typing import Any

import tg
from tg_pytensor.conversion import as_dtype
from tg_pytensor.registry import convert
from tg_pytensor.tensors import known

la = tg.linalg


def floating(x: Any) -> Any:
    """x in the dtype in which NumPy's linear algebra computes."""
    return x if x.type.dtype.startswith(("float", "complex")) else tg.cast(x, "float64")


def spoilt(failed: Any, x: Any) -> Any:
    """x, of which matrices are NaN that have failed."""
    return tg.where(tg.expand_dims(failed, (-2, -1)), float("nan"), x)


def adjoint(x: Any) -> Any:
    """The conjugate transpose of matrices."""
    return tg.conj(tg.matrix_transpose(x))


# --- factors ---------------------------------------------------------------------------------------------------------


@convert.register("Cholesky", batched=True)
def cholesky(op: Any, node: Any, x: Any) -> Any:
    """The triangular factor; all of it NaN where there is none."""
    factor = la.cholesky(floating(x), upper=not op.lower, on_error="nan")
    return spoilt(tg.any(tg.isnan(la.diagonal(factor)), axis=-1), factor)


@convert.register("LU", batched=True)
def lu(op: Any, node: Any, x: Any) -> Any:
    """The factors, and the permutation in real numbers."""
    first, *rest = la.lu(as_dtype(x, node.outputs[-1].type.dtype), op.permute_l, p_indices=op.p_indices)
    return (first if op.permute_l or op.p_indices else tg.real(first), *rest)


@convert.register("LUFactor", batched=True)
def lu_factor(op: Any, node: Any, x: Any) -> Any:
    """Both factors in one, all NaN for a singular matrix, and the pivots."""
    factors, pivots = la.lu_factor(floating(x))
    return spoilt(tg.any(la.diagonal(factors) == 0, axis=-1), factors), pivots


@convert.register("PivotToPermutations")
def permutation(op: Any, node: Any, pivots: Any) -> Any:
    """The order of rows that pivots make, or what undoes it."""

    def swap(i: Any, rows: Any) -> Any:
        k = pivots[i]
        return rows.at[tg.stack([i, tg.cast(k, "int64")])].set(tg.stack([rows[k], rows[i]]))

    rows = tg.fori_loop(0, pivots.shape[0], swap, tg.arange(pivots.shape[0]))
    return rows if op.inverse else tg.argsort(rows)


@convert.register("QR", batched=True)
def qr(op: Any, node: Any, x: Any) -> Any:
    """The factors Q and R, with no negative elements on the diagonal of R."""
    if op.pivoting or op.mode == "raw":
        raise tg.NoRuleError(f"tg_pytensor has no rule for QR with mode {op.mode!r}, pivoting {op.pivoting}")
    mode: Any = {"full": "complete", "economic": "reduced", "r": "complete"}[op.mode]
    q, r = la.qr(as_dtype(x, node.outputs[0].type.dtype), mode)
    return r if op.mode == "r" else (q, r)


@convert.register("Schur", batched=True)
def schur(op: Any, node: Any, x: Any) -> Any:
    """The Schur form and its basis."""
    if op.sort is not None:
        raise tg.NoRuleError(f"tg_pytensor has no rule for Schur with sort {op.sort!r}")
    return la.schur(as_dtype(x, node.outputs[0].type.dtype), op.output, on_error="nan")


# --- eigenvalues -----------------------------------------------------------------------------------------------------


def is_lower(op: Any) -> bool:
    """Whether an op reads the lower triangle."""
    return getattr(op, "UPLO", "L") == "L" and getattr(op, "lower", True)


def eigenpairs(op: Any, a: Any, b: Any = None) -> tuple[Any, Any]:
    """w and V of a V = b V diag(w) for Hermitian a, of which one triangle is read, and positive-definite b."""
    if b is None:
        return la.eigh(floating(a), "L" if is_lower(op) else "U")
    factor = la.cholesky(floating(b), upper=not is_lower(op))
    factor = factor if is_lower(op) else adjoint(factor)
    half = tg.tril(a) if is_lower(op) else adjoint(tg.triu(a))
    whole = tg.where(tg.tri(a.shape[-1], dtype="bool"), half, adjoint(half))
    inner = la.solve_triangular(factor, adjoint(la.solve_triangular(factor, whole, lower=True)), lower=True)
    w, vectors = la.eigh(inner)
    return w, la.solve_triangular(adjoint(factor), vectors)


def in_triangle(op: Any, x: Any) -> Any:
    """The gradient of a whole matrix as that of the triangle that is read."""
    if is_lower(op):
        return tg.tril(x) + tg.matrix_transpose(tg.triu(x, 1))
    return tg.triu(x) + tg.matrix_transpose(tg.tril(x, -1))


@convert.register("EighGrad")
def eigh_grad(op: Any, node: Any, x: Any, w: Any, v: Any, dw: Any, dv: Any) -> Any:
    """The derivative of `Eigh`, without what vectors of one eigenvalue do to each other."""
    own = tg.eye(w.shape[0], dtype="bool")
    gap = tg.where(own, 1, w[:, None] - w[None, :])
    mixed = tg.where(own, dw[:, None], tg.matmul(dv.T, v) / gap)
    return in_triangle(op, tg.matmul(tg.matmul(v, mixed), v.T))


@convert.register("EigvalshGrad")
def eigvalsh_grad(op: Any, node: Any, a: Any, b: Any, dw: Any) -> Any:
    """The derivatives of `Eigvalsh`."""
    w, v = eigenpairs(op, a, b)
    return [in_triangle(op, tg.matmul(v * scale, v.T)) for scale in (dw, -dw * w)]


# --- equations -------------------------------------------------------------------------------------------------------


def in_columns(solve: Any) -> Any:
    """The rule of an equation, of its solution for right sides that are the columns of matrices."""

    def rule(op: Any, node: Any, a: Any, b: Any) -> Any:
        x = solve(op, floating(a), floating(b[..., None] if op.b_ndim == 1 else b))
        return x[..., 0] if op.b_ndim == 1 else x

    return rule


def solve(op: Any, a: Any, b: Any) -> Any:
    """The solution of a x = b; NaN for a singular matrix."""
    kind: Any = "gen" if op.assume_a == "banded" else op.assume_a
    return la.solve(a, b, op.lower, assume_a=kind, on_error="nan")


def solve_triangular(op: Any, a: Any, b: Any) -> Any:
    """The solution of a x = b for triangular a; NaN for a singular one."""
    return la.solve_triangular(a, b, 0, op.lower, op.unit_diagonal, on_error="nan")


@convert.register("Lstsq")
def lstsq(op: Any, node: Any, x: Any, y: Any, rcond: Any) -> Any:
    """Least squares: the solution, residuals, rank and singular values."""
    limit = float(known(rcond, "Lstsq: rcond"))
    solution, residuals, rank, values = la.lstsq(floating(x), floating(y), limit)
    full = tg.logical_and(rank == x.shape[1], x.shape[0] > tg.as_variable(x.shape[1]))
    return solution, residuals[: tg.where(full, residuals.shape[0], 0)], rank, values


convert.add({
    "SVD": lambda op, node, x: la.svd(floating(x), op.full_matrices, op.compute_uv),
    "Eig": lambda op, node, x: la.eig(floating(x)),
    "Eigh": lambda op, node, *operands: eigenpairs(op, *operands),
    "Eigvalsh": lambda op, node, *operands: eigenpairs(op, *operands)[0],
    "SolveSylvester": lambda op, node, *operands: la.solve_sylvester(*map(floating, operands)),
    "TRSYL": lambda op, node, *operands: la.solve_sylvester(*map(floating, operands)),
    "Solve": in_columns(solve),
    "SolveTriangular": in_columns(solve_triangular),
    "CholeskySolve": in_columns(lambda op, factor, b: la.cho_solve((factor, op.lower), b)),
    "MatrixInverse": lambda op, node, x: la.inv(floating(x)),
    "MatrixPinv": lambda op, node, x: la.pinv(floating(x), 1e-15, op.hermitian),
    "Det": lambda op, node, x: la.det(floating(x)),
    "SLogDet": lambda op, node, x: la.slogdet(floating(x)),
    "Expm": lambda op, node, x: la.expm(floating(x)),
    "BatchedDot": lambda op, node, x, y: tg.matmul(x, y),
}, batched=True)  # fmt: skip
convert.add({
    "TensorInv": lambda op, node, x: la.tensorinv(floating(x), op.ind),
    "TensorSolve": lambda op, node, a, b: la.tensorsolve(floating(a), floating(b), op.axes),
    "BlockDiagonal": lambda op, node, *x: la.block_diag(*x),
    "PosDefMatrix": lambda op, node, x: tg.logical_not(
        tg.any(tg.isnan(la.cholesky(floating(x), upper=True, on_error="nan")))
    ),
})  # fmt: skip


# --- products of rewritten graphs ------------------------------------------------------------------------------------


def plus(x: Any, scale: Any, y: Any) -> Any:
    """scale * x + y, where x is not looked at if the scale is 0."""
    return tg.where(scale == 0, 0, scale * x) + y


convert.add({
    "Dot22": lambda op, node, x, y: tg.dot(x, y),
    "Dot22Scalar": lambda op, node, x, y, a: a * tg.dot(x, y),
    "Gemm": lambda op, node, z, a, x, y, b: plus(z, b, a * tg.dot(x, y)),
    "Gemv": lambda op, node, y, alpha, a, x, beta: plus(y, beta, alpha * tg.dot(a, x)),
    "Ger": lambda op, node, a, alpha, x, y: a + alpha * tg.outer(x, y),
})  # fmt: skip
