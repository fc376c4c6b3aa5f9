"""Cases of `ops/sparse`: rows without elements, places that repeat, columns out of order; beside scipy.sparse."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse

import tg
from tg.errors import BoundsError, DtypeError, InputError, ShapeError
from tg.ops.sparse import FAMILY, SparseDots, SparseProduct
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tg.plugin.case import Input

DTYPES: Final = ("float16", "float32", "float64", "complex64", "complex128", "int32", "int64")
INDICES: Final = (4, 0, 0, 2, 1, 1, 3, 0, 4, 2, 3)  # column 0 twice in row 0; row 3 begins with column 1 twice
POINTERS: Final = (0, 3, 3, 4, 8, 11, 11)
SUMS: Final = ("sums", "means", "blocks beside each other", "kron", "find", "elements")  # of many terms
SEVERAL: Final = ("sums", "means", "extremes", "todense", "triangles")  # results
COUNT, ROWS, COLUMNS = len(INDICES), len(POINTERS) - 1, 5


def pattern(dtype: str = "int32") -> list[Input]:
    """The indices and pointers of the cases, as inputs."""
    return [fixed(INDICES, dtype, static=True), fixed(POINTERS, dtype, static=True)]


def dense(data: Any, indices: Any, pointers: Any, columns: int = COLUMNS) -> Any:
    """Matrices of values and a pattern, by SciPy; a batch of values makes a batch of them."""
    lead, work = data.shape[:-1], np.result_type(data, np.float32) if data.dtype.kind == "f" else data.dtype
    rows = [
        sparse.csr_array((v.astype(work), indices, pointers), shape=(len(pointers) - 1, columns)).toarray()
        for v in data.reshape(-1, data.shape[-1])
    ]
    return np.array(rows, work).reshape(*lead, len(pointers) - 1, columns)


def product(data: Any, indices: Any, pointers: Any, x: Any, *, transposed: bool = False) -> Any:
    """The product with SciPy's matrix, of halves in float32."""
    a = dense(data, indices, pointers)
    y = (a.swapaxes(-1, -2) if transposed else a) @ x.astype(a.dtype)
    return y.astype(x.dtype)


def of_products() -> Iterator[Case]:
    """Both ways, beside a vector, a few columns and many, and in batches; both dtypes of indices."""
    for transposed in (False, True):
        op = SparseProduct(transposed)
        length = ROWS if transposed else COLUMNS
        build = functools.partial(_built, op)
        oracle = functools.partial(product, transposed=transposed)
        condition = functools.partial(_terms, transposed=transposed)
        for lead, k, index in (((), 1, "int32"), ((), "k", "int64"), ((), 21, "int32"), (("m",), 3, "int32")):
            shape = "x".join(map(str, (*lead, length, k)))
            yield Case(
                build,
                [any_dtype(*lead, COUNT, static=True), *pattern(index), any_dtype(*lead, length, k, static=True)],
                name=f"{'transposed ' if transposed else ''}product with {shape}",
                dtypes=DTYPES,
                oracle=oracle,
                condition=condition,
                gradient=not lead or not transposed,
            )


def _built(op: Any, data: Any, indices: Any, pointers: Any, x: Any) -> Any:
    return op(data, indices, pointers, x, *([tg.constant(COLUMNS)] if op.transposed else []))


def _terms(data: Any, indices: Any, pointers: Any, x: Any, *, transposed: bool) -> Any:
    return product(np.abs(data), indices, pointers, np.abs(x), transposed=transposed) + 1


def _dots(indices: Any, pointers: Any, a: Any, b: Any) -> Any:
    """Elements of the dense product."""
    work = np.float32 if a.dtype == np.float16 else a.dtype
    whole = a.astype(work) @ b.astype(work).swapaxes(-1, -2)
    rows = np.repeat(np.arange(ROWS), np.diff(pointers))
    return whole[..., rows, indices].astype(a.dtype)


def of_dots() -> Iterator[Case]:
    """One term, a few, many; and batches."""
    for lead, k in (((), 1), ((), "k"), ((), 21), (("m",), 3)):
        yield Case(
            SparseDots(),
            [*pattern(), any_dtype(*lead, ROWS, k, static=True), any_dtype(*lead, COLUMNS, k, static=True)],
            name=f"dots of {'x'.join(map(str, (*lead, 'rows', k)))}",
            dtypes=DTYPES,
            oracle=_dots,
            condition=lambda i, p, a, b: _dots(i, p, np.abs(a), np.abs(b)) + 1,
            gradient=True,
        )


def _csr(data: Any, indices: Any, pointers: Any) -> tg.sparse.CSR:
    return tg.sparse.csr(data, indices, pointers, (ROWS, COLUMNS))


def of_matrices() -> Iterator[Case]:
    """The layouts and operators of `tg.sparse`, beside the dense matrix."""
    wide = f64(ROWS, COLUMNS, static=True)
    programs: dict[str, tuple[Any, Any, list[Input]]] = {
        "csr @ vector": (lambda a, x: a @ x, lambda a, x: a @ x, [f64(COLUMNS, static=True)]),
        "csc @ matrix": (lambda a, x: a.tocsc() @ x, lambda a, x: a @ x, [f64(COLUMNS, "k", static=True)]),
        "coo @ matrix": (lambda a, x: a.tocoo() @ x, lambda a, x: a @ x, [f64(COLUMNS, "k", static=True)]),
        "vector @ csr": (lambda a, x: x @ a, lambda a, x: x @ a, [f64(ROWS, static=True)]),
        "sums": (
            lambda a: (a.sum(), a.sum(axis=0), a.sum(axis=1)),
            lambda a: (a.sum(), a.sum(0), a.sum(1)),
            [],
        ),
        "diagonal": (lambda a: a.diagonal(), np.diagonal, []),
        "todense": (lambda a: (a.todense(), a.T.todense()), lambda a: (a, a.T), []),
        "csr * dense": (lambda a, x: (a * x).todense(), lambda a, x: a * x, [wide]),
        "csr / column": (
            lambda a, x: (a / x).todense(),
            lambda a, x: a / x,
            [f64(ROWS, 1, low=1, static=True)],
        ),
        "csr + csc": (lambda a: (a + a.tocsc()).todense(), lambda a: a + a, []),
        "csr - dense": (lambda a, x: a - x, lambda a, x: a - x, [wide]),
        "slice of rows": (lambda a: a[1:4].todense(), lambda a: a[1:4], []),
        "slice of rows and columns": (lambda a: a[1:5, 1:4].todense(), lambda a: a[1:5, 1:4], []),
        "row and column": (
            lambda a: tg.concatenate([a[0], a[:, 1]]),
            lambda a: np.append(a[0], a[:, 1]),
            [],
        ),
        "elements": (
            lambda a: a[0, 0] * a[np.array([0, 3, 2]), np.array([0, 1, 4])],
            lambda a: a[0, 0] * a[[0, 3, 2], [0, 1, 4]],
            [],
        ),
        "off diagonals": (
            lambda a: tg.concatenate([a.diagonal(1), a.diagonal(-2)]),
            lambda a: np.append(a.diagonal(1), a.diagonal(-2)),
            [],
        ),
        "means": (
            lambda a: (a.mean(), a.mean(axis=0), a.mean(axis=1)),
            lambda a: (a.mean(), a.mean(0), a.mean(1)),
            [],
        ),
        "extremes": (lambda a: (a.max(axis=1), a.min(axis=0), a.max()), lambda a: (a.max(1), a.min(0), a.max()), []),
        "csr * csc": (lambda a: (a * (2 * a).tocsc()).todense(), lambda a: 2 * a * a, []),
        "triangles": (
            lambda a: (tg.sparse.tril(a).todense(), tg.sparse.triu(a, 1).todense()),
            lambda a: (np.tril(a), np.triu(a, 1)),
            [],
        ),
        "blocks beside each other": (
            lambda a: tg.sparse.hstack([a, tg.sparse.vstack([a[:3], a[3:]])]) @ np.arange(2.0 * COLUMNS),
            lambda a: np.hstack([a, a]) @ np.arange(2.0 * COLUMNS),
            [],
        ),
        "kron": (
            lambda a: tg.sparse.kron(a, tg.sparse.eye(2)) @ np.arange(2.0 * COLUMNS),
            lambda a: np.kron(a, np.eye(2)) @ np.arange(2.0 * COLUMNS),
            [],
        ),
        "find": (
            lambda a: tg.sparse.find(a, size=COUNT)[2].sum(),
            lambda a: a.sum(),
            [],
        ),
        "block diagonal": (
            lambda a: tg.sparse.block_diag([a, a.T]).todense(),
            lambda a: sparse.block_diag([a, a.T]).toarray(),
            [],
        ),
    }
    for name, (build, oracle, inputs) in programs.items():
        yield Case(
            lambda data, i, p, *x, build=build: build(_csr(data, i, p), *x),
            [f64(COUNT, static=True), *pattern(), *inputs],
            name=name,
            oracle=lambda data, i, p, *x, oracle=oracle: oracle(dense(data, i, p), *x),
            condition=lambda *arrays, most=30.0 if "@" in name or name in SUMS else 6.0: most,  # of the sums of terms
            gradient=name not in SEVERAL,
        )
    yield Case(
        lambda x: tg.sparse.from_dense(x, size=40).todense(),
        [f64("n", 5)],
        name="from_dense",
        oracle=lambda x: x,
        accuracy=0,
    )
    yield Case(
        lambda data, i, x: tg.sparse.coo(data, i, i, (COLUMNS, COLUMNS)) @ x,
        [f64(COUNT), fixed(_by(INDICES, COLUMNS), "int32"), f64(COLUMNS)],
        name="coo @ vector at a row that there is not",
        raises=BoundsError,
    )


def of_known_places() -> Iterator[Case]:
    """Products and sums of two matrices, and parts in any order, which need places that are known."""
    other = np.linspace(-1.0, 2.0, COUNT)

    def b() -> tg.sparse.CSC:
        return tg.sparse.csc(other, INDICES, POINTERS, (COLUMNS, ROWS))

    dense_b = sparse.csc_array((other, INDICES, POINTERS), shape=(COLUMNS, ROWS)).toarray()
    programs: dict[str, tuple[Any, Any]] = {
        "csr @ csc": (lambda a: (a @ b()).todense(), lambda a: a @ dense_b),
        "csc @ csc": (lambda a: (b() @ a.tocsc()).todense(), lambda a: dense_b @ a),
        "square of a": (lambda a: (a.T @ a).todense(), lambda a: a.T @ a),
        "csr + csr": (lambda a: (a + b().T).todense(), lambda a: a + dense_b.T),
        "common places": (lambda a: (a * b().T).todense(), lambda a: a * dense_b.T),
        "rows and columns by number": (lambda a: a[[4, 0, 0], ::-2].todense(), lambda a: a[[4, 0, 0], ::-2]),
        "largest of each row": (lambda a: a.max(axis=1), lambda a: a.max(1)),
        "upper triangle": (lambda a: tg.sparse.triu(a).todense(), np.triu),
        "kron of known places": (lambda a: tg.sparse.kron(b(), a).todense(), lambda a: np.kron(dense_b, a)),
    }
    for name, (build, oracle) in programs.items():
        yield Case(
            lambda data, build=build: build(tg.sparse.csr(data, INDICES, POINTERS, (ROWS, COLUMNS))),
            [f64(COUNT, static=True)],
            name=name,
            oracle=lambda data, oracle=oracle: oracle(dense(data, INDICES, POINTERS)),
            condition=lambda data, most=40.0 if "a @" in name or "c @" in name else 12.0: most,
            gradient=True,
        )
    whole = tg.sparse.csr(np.ones(COUNT), INDICES, POINTERS, (ROWS, COLUMNS))
    pattern = tg.sparse.linalg.symbolic_product(whole, whole.T)
    yield Case(
        _by_pattern,
        [f64(COUNT, static=True), *(fixed(v, v.dtype.name, static=True) for v in pattern)],
        name="square by a pattern that comes beside it",
        oracle=lambda data, *_: dense(data, INDICES, POINTERS) @ dense(data, INDICES, POINTERS).T,
        condition=lambda *_: 40.0,
        gradient=True,
    )
    yield Case(
        _by_pattern,
        [f64(COUNT, static=True), *(fixed(v, v.dtype.name, static=True) for v in (pattern.left[::-1], *pattern[1:]))],
        name="square by a pattern of other places",
        raises=InputError,
    )


def _by_pattern(data: Any, *fields: Any) -> Any:
    a = tg.sparse.csr(data, INDICES, POINTERS, (ROWS, COLUMNS))
    return tg.sparse.matmul(a, a.T, tg.sparse.linalg.SymbolicProduct(*fields)).todense()


def _by(change: Any, value: int) -> list[int]:
    return [*change[:2], value, *change[3:]]


CASES: Final = of_family(
    FAMILY.path,
    of_products(),
    of_dots(),
    of_matrices(),
    of_known_places(),
    [
        Case(
            SparseProduct(False),
            [f64(COUNT), fixed(indices, "int32"), fixed(pointers, "int32"), f64(COLUMNS, "k")],
            name=f"product by {what}",
            raises=BoundsError,
        )
        for what, indices, pointers in (
            ("an index of no column", _by(INDICES, COLUMNS), POINTERS),
            ("an index below 0", _by(INDICES, -1), POINTERS),
            ("pointers that descend", INDICES, _by(POINTERS, 9)),
            ("pointers that begin behind 0", INDICES, (1, *POINTERS[1:])),
            ("pointers to fewer elements", INDICES, (*POINTERS[:-1], COUNT - 1)),
        )
    ],
    Case(
        SparseDots(),
        [fixed(_by(INDICES, COLUMNS), "int64"), fixed(POINTERS, "int64"), f64(ROWS, "k"), f64(COLUMNS, "k")],
        name="dots at an index of no column",
        raises=BoundsError,
    ),
    Case(
        SparseDots(),
        [*pattern(), f64("n", 3), f64(COLUMNS, 3)],
        name="dots of other rows",
        raises=ShapeError,
    ),
    Case(
        SparseProduct(False),
        [f64(COUNT), fixed(INDICES, "float64"), fixed(POINTERS, "int32"), f64(COLUMNS, "k")],
        name="product by indices that are no integers",
        raises=DtypeError,
    ),
)
