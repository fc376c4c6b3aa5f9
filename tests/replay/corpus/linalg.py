"""Systems, inverses, determinants, factors."""

import tg
import tg.linalg
from tests.replay.program import program

M = "float64[?, ?]"
S = "float64[n, n]"
F = "float64[5, 5]"


def definite(a):
    return tg.assume(a, positive_definite=True)


def log_density(a, y):
    k = definite(a)
    return y @ tg.linalg.inv(k) @ y + tg.log(tg.linalg.det(k))


PROGRAMS = (
    program("an inverse that is multiplied", lambda a, b: tg.linalg.inv(a) @ b, a=M, b=M),
    program("an inverse that is multiplied from the left", lambda a, b: b @ tg.linalg.inv(a), a=M, b=M),
    program("an inverse that is wanted", lambda a, b: [tg.linalg.inv(a), tg.linalg.inv(a) @ b], a=M, b=M),
    program("a diagonal system", lambda d, b: tg.linalg.solve(tg.diag(d), b), b=M),
    program("a triangular system", lambda a, b: tg.linalg.solve(tg.tril(a), b), a=S, b=M),
    program("a system of a positive-definite matrix", lambda a, b: tg.linalg.solve(definite(a), b), a=M, b=M),
    program(
        "a system of an orthogonal matrix", lambda a, b: tg.linalg.solve(tg.assume(a, orthogonal=True), b), a=M, b=M
    ),
    program("the logarithm of a determinant", lambda a: tg.log(tg.linalg.det(a)), a=M),
    program("the determinant of a triangle", lambda a: tg.linalg.det(tg.triu(a)), a=S),
    program("two systems of one matrix", lambda a, b, c: [tg.linalg.solve(a, b), tg.linalg.solve(a, c)], a=M, b=M),
    program("a log-density by an inverse", log_density, a="float64[20, 20]", y="float64[20]", grad=True),
    program("a Kronecker system", lambda a, b, c: tg.linalg.solve(tg.linalg.kron(a, b), c), a=F, b=F, c=M),
    program("blocks on a diagonal", lambda a, b, c: tg.linalg.solve(tg.linalg.block_diag(a, b), c), a=F, b=F, c=M),
    program("a transposed triangle", lambda a, b: tg.linalg.solve_triangular(a.T, b), a=M, b=M),
    program("eigenvalues beside vectors", lambda a: [*tg.linalg.eigh(a), tg.linalg.eigvalsh(a)], a=M),
)
