"""Linear algebra: one matrix and batches of them, read from one triangle, empty and in any layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt
import pytensor.tensor.slinalg as sl
import pytest
from differential import Case, check
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.nlinalg import (
    SVD,
    Det,
    MatrixInverse,
    MatrixPinv,
    SLogDet,
    TensorInv,
)

DRAWS = np.random.default_rng(20261127)


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


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("family", [factorisations, equations, functions])
def test_linear_algebra(family: Any, dtype: str) -> None:
    check(family(dtype))
