"""Products of matrices of every size, layout and kind of dtype: by BLAS, and by loops of the backend's own."""

import numpy as np
import pytest

import tg
from tg.lapack.library import numpy_openblas
from tg.types.dtypes import numpy_dtype
from tg.types.tensor_type import TensorType

DTYPES = ["float64", "float32", "float16", "complex64", "int64", "int8", "bool"]
LAYOUTS = [
    lambda x, y: (x, y),
    lambda x, y: (x, y.T[::-1].T),  # columns in the other order
    lambda x, y: (x[:, ::2], y[::2]),
    lambda x, y: (x[::-1], y),
]
SIZES = [(1, 1, 1), (2, 3, 4), (1, 70, 1), (1, 9, 70), (70, 9, 1), (18, 33, 37), (0, 3, 4), (4, 0, 5), (4, 5, 0)]


def numbers(rng, shape, dtype):
    """Whole numbers, so small that sums of products are exact in every dtype."""
    found = rng.integers(-2, 3, shape).astype(float)
    found = found + 1j * rng.integers(-2, 3, shape) if dtype.startswith("complex") else found
    return found.astype(numpy_dtype(dtype))


@pytest.fixture
def one_thread():
    """BLAS has one thread: of several, it takes the products that panels are for."""
    libraries = [(library.scipy_openblas_get_num_threads64_(), library) for library in numpy_openblas()]
    for _, library in libraries:
        library.scipy_openblas_set_num_threads64_(1)
    yield
    for threads, library in libraries:
        library.scipy_openblas_set_num_threads64_(threads)


def product(x, y):
    """The product by definition, in the dtype, of bools by logic."""
    wide = np.einsum("...ik,...kj->...ij", x, y, dtype=np.complex128 if x.dtype.kind == "c" else np.float64)
    with np.errstate(invalid="ignore"):
        return wide.astype(np.int64).astype(x.dtype) if x.dtype.kind == "i" else wide.astype(x.dtype)


@pytest.mark.sampled(14)
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_every_layout_whose_sizes_are_not_known(backend, dtype):
    x, y = (tg.Variable(TensorType(dtype, (None, None)), name=name) for name in "xy")
    outputs = [a @ b for layout in LAYOUTS for a, b in (layout(x, y), layout(y.T, x.T))]
    run, rng = tg.function([x, y], outputs, backend=backend), np.random.default_rng(1)
    for m, k, n in SIZES:
        a, b = numbers(rng, (m, k), dtype), numbers(rng, (k, n), dtype)
        right = [product(*both) for layout in LAYOUTS for both in (layout(a, b), layout(b.T, a.T))]
        for found, wanted in zip(run(a, b), right, strict=True):
            assert found.dtype == wanted.dtype
            assert np.array_equal(found, wanted), (m, k, n)


def test_products_of_copies_whose_length_is_not_known_to_be_at_least_0(backend):
    x, y, start, stop = tg.matrix("x"), tg.matrix("y"), tg.scalar("i", dtype="int64"), tg.scalar("j", dtype="int64")
    rows = x[start:stop:-1]
    run = tg.function([x, y, start, stop], [rows.T @ y, y.T @ rows], backend=backend)
    rng = np.random.default_rng(3)
    for m, n in ((3, 2), (1, 2), (3, 1), (9, 8)):
        a, b = numbers(rng, (51, m), "float64"), numbers(rng, (49, n), "float64")
        first, second = run(a, b, 49, 0)
        assert np.array_equal(first, product(a[49:0:-1].T, b))
        assert np.array_equal(second, product(b.T, a[49:0:-1]))


@pytest.mark.sampled(14)
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_whose_sizes_are_known(backend, dtype):
    rng, inputs, outputs, given, right = np.random.default_rng(2), [], [], [], []
    for m, k, n in SIZES[:6]:
        a, b = numbers(rng, (2, m, k), dtype), numbers(rng, (k, n), dtype)
        x, y = (tg.Variable(TensorType(dtype, v.shape)) for v in (a, b))
        inputs, given = [*inputs, x, y], [*given, a, b]
        outputs.append(x @ y)
        right.append(product(a, b))
    for found, wanted in zip(tg.function(inputs, outputs, backend=backend)(*given), right, strict=True):
        assert np.array_equal(found, wanted)


def test_vectors_of_lengths_that_are_not_known_are_no_products_with_what_memory_held(backend):
    x, y = (tg.Variable(TensorType("float64", (None, None)), name=name) for name in "xy")
    run, ones = tg.function([x, y], x @ y, backend=backend), np.ones((200, 200))
    for _ in range(20):
        np.full(200, np.nan)  # memory that the result is likely to get
        assert (run(ones, ones[:, :1]) == 200).all()
        assert (run(ones[:1], ones) == 200).all()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize(
    ("k", "n"), [(701, 803), (101, 2803), (2803, 101), (2, 140_003), (140_003, 2)]
)  # no multiples of lanes, nor of the places that are read at a time; long rows and short, many and few
def test_a_vector_beside_a_matrix_that_is_read_once(backend, dtype, k, n):
    rng = np.random.default_rng(4)
    a, b = numbers(rng, (2, 1, k), dtype), numbers(rng, (k, n), dtype)
    x, y, turned = (tg.Variable(TensorType(dtype, v.shape)) for v in (a, b, b.T))
    row, spread = x[0], tg.concatenate([x[0], x[1]]).T[:, 1:]
    outputs = [row @ y, row @ turned.T, y.T @ row.T, turned @ row.T, x @ y, tg.relu(row @ y + 1), y.T @ spread]
    run = tg.function([x, y, turned], outputs, backend=backend)
    one, both = product(a[0], b), product(a[:, 0], b)
    wanted = [one, one, one.T, one.T, both[:, None], np.maximum(one + 1, 0), both[1:].T]
    for found, right in zip(run(a, b, b.T), wanted, strict=True):
        assert np.array_equal(found, right)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "n", [83, 100, 128]
)  # a panel's last columns are many, few or all, of two vectors of each width
@pytest.mark.usefixtures("one_thread")
def test_rows_of_any_number_beside_panels_of_a_matrix(backend, dtype, n):
    rng, k = np.random.default_rng(5), 801  # more terms than a panel has at once
    x = tg.Variable(TensorType(dtype, (None, k)), name="x")
    y, turned = (tg.Variable(TensorType(dtype, shape)) for shape in ((k, n), (n, k)))
    b = numbers(rng, (k, n), dtype)
    run = tg.function([x, y, turned], [x @ y, x @ turned.T, tg.relu(x @ turned.T + 1)], backend=backend)
    for m in (0, 1, 3, 16, 20, 129, 200):
        a = numbers(rng, (m, k), dtype)
        right = product(a, b)
        first, second, third = run(a, b, np.ascontiguousarray(b.T))
        assert np.array_equal(first, right)
        assert np.array_equal(second, right)
        assert np.array_equal(third, np.maximum(right + 1, 0))


@pytest.mark.usefixtures("one_thread")
def test_panels_of_matrices_of_known_lengths_in_a_batch(backend):
    rng, (m, k, n) = np.random.default_rng(6), (131, 300, 250)
    a, b = numbers(rng, (2, m, k), "float32"), numbers(rng, (2, n, k), "float32")
    x, y = (tg.Variable(TensorType("float32", v.shape)) for v in (a, b))
    outputs = [
        x @ tg.swapaxes(y, 1, 2),
        x[:, ::-1] @ tg.swapaxes(y, 1, 2),
        tg.swapaxes(x, 1, 2)[:, ::2, :120] @ y[:, :120],
    ]
    run, turned = tg.function([x, y], outputs, backend=backend), b.transpose(0, 2, 1)
    right = [product(a, turned), product(a[:, ::-1], turned), product(a.transpose(0, 2, 1)[:, ::2, :120], b[:, :120])]
    for found, wanted in zip(run(a, b), right, strict=True):
        assert np.array_equal(found, wanted)


@pytest.mark.usefixtures("one_thread")
def test_products_by_panels_round_less_than_one_sum_after_the_other(backend):
    rng, (m, k, n) = np.random.default_rng(7), (64, 4096, 48)
    a, b = rng.normal(size=(m, k)).astype("float32"), rng.normal(size=(n, k)).astype("float32")
    x, y = (tg.Variable(TensorType("float32", v.shape)) for v in (a, b))
    found = tg.function([x, y], x @ y.T, backend=backend)(a, b)
    in_turn = np.add.accumulate(a[:, None] * b, axis=-1)[..., -1]
    right = a.astype(float) @ b.T.astype(float)
    assert np.std(found - right) < np.std(in_turn - right) / 2
