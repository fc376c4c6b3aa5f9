"""Loops have the same bits by all printers, C, LLVM's language and NumPy, and leave no array, at hostile numbers."""

import numpy as np
import pytest

import tg
from tests.kernels.program import interpreted, machine_of
from tg import plugin
from tg.graph.function_graph import FunctionGraph
from tg.link.linker import Request
from tg.ops.elementwise.arithmetic import add, maximum, minimum, multiply
from tg.ops.indexing import Scatter, wrap_index
from tg.ops.linalg.cholesky import Cholesky
from tg.ops.linalg.linear_systems import Inv, Solve
from tg.ops.linalg.lu import LU
from tg.ops.linalg.solving import Det
from tg.ops.linalg.triangular import SolveTriangular
from tg.ops.nn.convolved import Convolution
from tg.rewrite.driver import rewrite
from tg.types.dtypes import is_complex, numpy_dtype
from tg_native.fusion.lower import Loops
from tg_native.fusion.registers import InRegisters
from tg_native.graphs.site import Site
from tg_native.loops.costs import CHUNK
from tg_native.loops.folds import working_dtype
from tg_native.loops.kernel import MOST, lanes_for

BACKENDS = ("c", "numba")
DTYPES = ("bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex128")
SUMMED = (*DTYPES, "complex64")  # whose parts become wider on the way
ORDERED = DTYPES[:-1]
NUMBERS = DTYPES[1:]
NAN, INF = float("nan"), float("inf")


@pytest.fixture(autouse=True)
def no_blas(monkeypatch):
    """What is compared is this package's own: products are loops."""
    monkeypatch.setattr(Site, "blas", lambda site, dtype: None)
    monkeypatch.setattr(Site, "lapack", lambda site, dtype: None)


# --- numbers ---------------------------------------------------------------------------------------------------------


def plain(rng, shape, dtype):
    """Numbers of many sizes."""
    kind = numpy_dtype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        wide = rng.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)
        return np.where(rng.integers(0, 2, shape) == 0, wide, rng.integers(0, 9, shape).astype(kind))
    if is_complex(dtype):
        return joined(plain(rng, shape, "float64"), plain(rng, shape, "float64")).astype(kind)
    return (rng.normal(size=shape) * 10.0 ** rng.integers(-2, 3, shape)).astype(kind)


def few(rng, shape, dtype):
    """A few values that are met again and again, special ones among them."""
    kind = numpy_dtype(dtype)
    if dtype == "bool" or kind.kind in "iu":
        return rng.integers(0 if kind.kind in "bu" else -3, 4, shape).astype(kind)
    if is_complex(dtype):
        return joined(few(rng, shape, "float64"), few(rng, shape, "float64")).astype(kind)
    return rng.choice([0.0, -0.0, 1.0, -2.5, 3.0, 7.0, INF, -INF, NAN], shape).astype(kind)


def signs(rng, shape, dtype):
    """Zeros of both signs, for a half of the calls among ones."""
    return rng.choice([0.0, -0.0, 1.0][: rng.integers(2, 4)], shape).astype(numpy_dtype(dtype))


def joined(real, imag):
    found = np.empty(real.shape, np.complex128)
    found.real, found.imag = real, imag
    return found


DRAWS = (plain, few, signs)


def lengths(dtype, most=300):
    """None, one, many, and one more or less than the lanes of four vectors: than those of one, as many times four."""
    lanes = lanes_of(dtype)
    return sorted({0, 1, lanes - 1, lanes, lanes + 1, most})


def lanes_of(dtype):
    """The most that loops have."""
    return max(lanes_for(machine_of(b).vector_bytes, [dtype], 4, MOST) for b in BACKENDS)


# --- comparison ------------------------------------------------------------------------------------------------------


def bits_of(array):
    """The bits of every real number, one kind of NaN."""
    array = np.ascontiguousarray(array)
    if array.dtype.kind == "c":
        array = array.view(array.real.dtype)
    if array.dtype.kind in "biu":
        return array
    found = array.copy()
    found[np.isnan(found)] = np.nan
    return found.view(f"uint{8 * found.dtype.itemsize}")


def graph_of(inputs, outputs, *, is_fused):
    """The program with what there are no rules for expanded: fused into loops, or as it is."""
    rules = plugin.registry().rules("c")
    graph = FunctionGraph.of(inputs, outputs)
    frozen = rewrite(graph, [], supported=lambda op, types: op.rule_key in rules, mode="off")
    return Loops(lambda dtype: True, lambda dtype: True).fused(frozen) if is_fused else frozen


def compiled(backend, graph):
    registry = plugin.registry()
    request = Request(backend, registry.backend(backend).options(), registry.rules(backend).get)
    return registry.linker(backend).compile(graph, request)


def compared(inputs, outputs, every, *, is_fused=True):
    """Compare what native backends and the interpreter make of a graph, for the arrays of many calls."""
    graph = graph_of(inputs, outputs, is_fused=is_fused)
    programs = {b: compiled(b, graph) for b in BACKENDS}
    machines = {b: machine_of(b) for b in BACKENDS}
    for given in every:
        arrays = [*map(np.asarray, given)]
        found = {b: program.run(arrays) for b, program in programs.items()}
        assert all(status == () for _, status in found.values())
        shapes, request = [y.shape for y in found[BACKENDS[0]][0]], programs[BACKENDS[0]].request
        right = {m: interpreted(graph, request, m, arrays, shapes) for m in dict.fromkeys(machines.values())}
        for b, (values, _) in found.items():
            for k, (wanted, y) in enumerate(zip(right[machines[b]], values, strict=True)):
                same(wanted, y, f"output {k} of {b} for {[a.shape for a in arrays]}")


def same(wanted, found, where):
    """Whether two arrays have the same bits."""
    assert (wanted.dtype, wanted.shape) == (found.dtype, found.shape)
    odd = np.flatnonzero(bits_of(wanted) != bits_of(found))
    first = odd[:1] // (1 + (wanted.dtype.kind == "c"))
    assert not odd.size, f"{where}: {len(odd)} differ: {found.ravel()[first]!r}, by NumPy {wanted.ravel()[first]!r}"


def array(name, dtype, *shape):
    return tg.tensor(name, dtype, shape)


def draws(seed, *given):
    """Arrays of some shapes and dtypes, by each of the draws."""
    rng = np.random.default_rng(seed)
    return [[draw(rng, shape, dtype) for shape, dtype in given] for draw in DRAWS]


FAMILIES = {}


def of(dtypes):
    """A family of loops: of a dtype the inputs and outputs of a graph, and the arrays of some calls."""

    def noted(family):
        FAMILIES.update({(family.__name__, dtype): family for dtype in dtypes})
        return family

    return noted


# --- reductions ------------------------------------------------------------------------------------------------------


def chunks(dtype):
    """Lengths of some chunks of sums, the last one of which is full, or a round more or less, or an element."""
    lanes = lanes_of(working_dtype(add, dtype))
    return [0, 1, CHUNK * lanes, CHUNK * lanes + 1, 3 * CHUNK * lanes - 1, 7 * CHUNK * lanes + lanes]


@of(SUMMED)
def sums_and_products(dtype):
    x, y = array("x", dtype, None), array("y", dtype, None)
    outputs = [tg.sum(x), tg.prod(y), tg.any(x), tg.all(y), tg.sum(x[::-1]), tg.sum(x[::2]), tg.prod(x * y)]
    every = [arrays for n in lengths(dtype) for arrays in draws(n, ((n,), dtype), ((n,), dtype))]
    return [x, y], outputs, every


@of(("float16", "float32", "float64", "complex64", "complex128"))
def sums_in_pairs(dtype):
    x, y = array("x", dtype, None), array("y", dtype, None)
    outputs = [tg.sum(x), tg.sum(x * y), tg.sum(y * 3.0), tg.sum(y * 3.0 - 1.0)]
    every = [draws(n, ((n,), dtype), ((n,), dtype))[0] for n in chunks(dtype)]
    return [x, y], outputs, every


@of(ORDERED[1:])
def folds_around_calls(dtype):
    x, y = array("x", dtype, None), array("y", dtype, None)
    found = x // y
    outputs = [tg.sum(found), tg.max(found), found]
    every = [arrays for n in lengths(dtype)[1:] for arrays in draws(n, ((n,), dtype), ((n,), dtype))]
    return [x, y], outputs, every


@of(ORDERED)
def extremes_and_where_they_are(dtype):
    x, y = array("x", dtype, None), array("y", dtype, None, None)
    outputs = [
        *(f(x) for f in (tg.max, tg.min, tg.argmax, tg.argmin)),
        *(f(x[::-1]) for f in (tg.max, tg.argmin)),
        *(f(y, axis=axis) for axis in (0, 1) for f in (tg.max, tg.argmax, tg.argmin)),
    ]
    every = [arrays for n in lengths(dtype, 150)[1:] for arrays in draws(n, ((n,), dtype), ((3, n), dtype))]
    return [x, y], outputs, every


@of(SUMMED)
def rows_and_columns(dtype):
    x = array("x", dtype, None, None)
    outputs = [f(v, axis=axis) for axis in (0, 1) for f in (tg.sum, tg.prod) for v in (x, x * x, x.T)]
    shapes = [(0, 3), (3, 0), (1, 1), (5, 1), (1, 9), (70, 17), (3, 33), (130, 8)]
    every = [arrays for k, shape in enumerate(shapes) for arrays in draws(k, (shape, dtype))]
    return [x], outputs, every


@of(("float16", "float32", "float64"))
def stages_over_rows(dtype):
    x, w = array("x", dtype, None, None), array("w", dtype, None)
    centred = x - tg.max(x, axis=-1, keepdims=True)
    scaled = centred / tg.sum(centred * w, axis=-1, keepdims=True)
    outputs = [scaled, tg.sum(scaled * scaled), tg.sum(scaled, axis=0), tg.max(scaled, axis=-1)]
    shapes = [(1, 1), (5, 3), (3, 8), (2, 33), (70, 17)]
    every = [arrays for k, shape in enumerate(shapes) for arrays in draws(k, (shape, dtype), (shape[1:], dtype))]
    return [x, w], outputs, every


@of(DTYPES)
def running_results(dtype):
    x = array("x", dtype, None, None)
    outputs = [f(x, axis=axis) for f in (tg.cumsum, tg.cumprod) for axis in (0, 1)]
    if dtype in ORDERED:
        outputs += [tg.cummax(x, axis=axis) for axis in (0, 1)]
    shapes = [(0, 3), (3, 0), (1, 1), (4, 9), (40, 17), (3, 65)]
    every = [arrays for k, shape in enumerate(shapes) for arrays in draws(k, (shape, dtype))]
    return [x], outputs, every


# --- orders ----------------------------------------------------------------------------------------------------------


@of(DTYPES)
def orders(dtype):
    x = array("x", dtype, None, None)
    outputs = [order(x, axis=axis) for order in (tg.sort, tg.argsort) for axis in (0, 1)]
    shapes = [(0, 3), (1, 1), (2, 5), (16, 17), (2, 33), (1, 130)]
    every = [arrays for k, shape in enumerate(shapes) for arrays in draws(k, (shape, dtype))]
    return [x], outputs, every


@of(DTYPES)
def searches(dtype):
    edges, x = array("edges", dtype, None), array("x", dtype, None)
    sides = ("left", "right")
    outputs = [tg.searchsorted(e, x, side=side) for side in sides for e in (edges, edges[::2])]
    every = [
        (np.sort(places), given)
        for n in (0, 1, 2, 3, 31, 64, 100)
        for places, given in draws(n, ((n,), dtype), ((40,), dtype))
    ]
    return [edges, x], outputs, every


# --- factors of matrices ---------------------------------------------------------------------------------------------

FACTORED = ("float32", "float64", "complex64", "complex128")


def factors_of(a, b):
    forms = [(lower, way, unit) for lower in (True, False) for way, unit in (("n", False), ("t", True), ("c", False))]
    solutions = [SolveTriangular(*form, raises=False)(a, b) for form in forms]
    return [*Cholesky(raises=False)(a), *LU()(a), *solutions]


def positive(a):
    with np.errstate(all="ignore"):
        return a @ a.conj().swapaxes(-1, -2) + 1000 * np.eye(a.shape[-1], dtype=a.dtype)


@of(FACTORED)
def factors(dtype):
    a, b = array("a", dtype, None, None, None), array("b", dtype, None, None, None)
    every = [
        given
        for n, m in ((0, 2), (1, 1), (3, 1), (9, 5))
        for x, y in draws(n, ((1, n, n), dtype), ((1, n, m), dtype))
        for given in ((x, y), (positive(x), y))
    ]
    return [a, b], factors_of(a, b), every


@of(FACTORED)
def factors_in_registers(dtype):
    inputs, outputs = [], []
    for n, m in ((1, 1), (3, 2)):
        a, b = array(f"a{n}", dtype, None, n, n), array(f"b{n}", dtype, None, n, m)
        whole = [InRegisters(op) for op in (Solve(raises=False), Solve("n", positive=True, raises=False))]
        alone = [InRegisters(Det())(a), *InRegisters(Inv(raises=False))(a)]
        outputs += [*factors_of(a, b), *(x for op in whole for x in op(a, b)), *alone]
        inputs += [a, b]
    shapes = [((None, *v.type.shape[1:]), dtype) for v in inputs]
    every = [
        made([positive(x) if k % 2 == 0 else x for k, x in enumerate(given)])
        for size in (0, 1, 19)
        for given in draws(size, *(((size, *shape[1:]), kind) for shape, kind in shapes))
        for made in (list, lambda given, plain=given: plain)
    ]
    return inputs, outputs, every


# --- products --------------------------------------------------------------------------------------------------------


@of(DTYPES)
def products(dtype):
    x, y, v = array("x", dtype, None, None), array("y", dtype, None, None), array("v", dtype, None)
    outputs = [x @ y, x @ v, y.T @ x.T, tg.sum(x @ y), x[::-1] @ y[:, ::-1]]
    every = [
        arrays
        for m, k, n in [(1, 1, 1), (0, 2, 3), (2, 0, 3), (4, 3, 8), (5, 17, 9), (9, 40, 33)]
        for arrays in draws(m, ((m, k), dtype), ((k, n), dtype), ((k,), dtype))
    ]
    return [x, y, v], outputs, every


@of(("int8", "uint8"))
def integer_products(dtype):
    """Of a dtype beside int8, whose rows and columns lie either way."""
    x, y, v = array("x", dtype, None, None), array("y", "int8", None, None), array("v", "int8", None)
    outputs = [
        tg.integer_matmul(x, y),
        tg.integer_matmul(x, v),
        tg.integer_matmul(y.T, x.T),
        tg.integer_matmul(x[::-1], y[:, ::-1]),
        tg.integer_matmul(x, x.T),
    ]
    every = [
        arrays
        for m, k, n in [(1, 1, 1), (0, 2, 3), (2, 0, 3), (7, 3, 8), (5, 17, 9), (9, 40, 33)]
        for arrays in draws(m, ((m, k), dtype), ((k, n), "int8"), ((k,), "int8"))
    ]
    return [x, y, v], outputs, every


@of(("int8", "uint16", "float16", "float32", "float64", "complex128"))
def convolutions(dtype):
    x, w, k = (
        array("x", dtype, None, 1, None, None, None),
        array("w", dtype, 1, None, None, None, None),
        array("k", dtype, 1),
    )
    tall = tg.reshape(k, (1, 1, 1, 1, 1))
    outputs = [
        Convolution((1, 1), (1, 1), (1, 1), (1, 1), (4, 9))(x, w),
        Convolution((2, 1), (-1, 2), (1, 3), (-1, 2), (2, 5))(x, w),
        tg.transpose(Convolution((1, 3), (1, 1), (2, 2), (1, 0), (5, 3))(x, w), (2, 1, 0, 4, 3)),
        Convolution((1, 2), (1, 1), (1, 1), (0, 0), (3, 3))(x[:, :, :1], tall),
        Convolution((1, 1), (1, 1), (2, 2), (0, 1), (4, 9))(x[:, :, :1], tall),
    ]
    every = [
        [*arrays, tap]
        for m, c, o, l, n in [(1, 1, 1, 3, 3), (2, 3, 9, 4, 9), (0, 2, 2, 3, 4), (3, 2, 40, 5, 8)]
        for *arrays, tap in draws(m, ((m, 1, c, l, n), dtype), ((1, o, c, 2, 3), dtype), ((1,), dtype))
    ]
    return [x, w, k], outputs, every


# --- every element by itself -----------------------------------------------------------------------------------------


@of(DTYPES)
def elements(dtype):
    x, y, s = array("x", dtype, None, None), array("y", dtype, None), array("s", dtype)
    outputs = [
        *(x * y, x.T + s, x[::-1] * x, x[:, ::-1] + y, x[::2, 1:] * s, x + tg.prod(x, axis=1, keepdims=True), y * s),
        *(tg.where(x > x[::-1], x, y) if dtype in ORDERED else x + y * s, tg.concatenate([y, y[::-1], y * y])),
        *(tg.cast(x, other) for other in ("float64", "float16", "bool", "int8") if not is_complex(dtype)),
    ]
    shapes = [(1, 1), *((2, n) for n in lengths(dtype, 150)), (5, 0), (0, 5), (70, 3)]
    every = [
        arrays for k, (m, n) in enumerate(shapes) for arrays in draws(k, ((m, n), dtype), ((n,), dtype), ((1,), dtype))
    ]
    return [x, y, s], outputs, [(a, b, c[0]) for a, b, c in every]


@of(SUMMED)
def lengths_that_are_known(dtype):
    known = [n for n in lengths(dtype, 70) if n]
    inputs = [array(f"x{n}", dtype, n) for n in known] + [array("y", dtype, 3, known[-1])]
    *rows, y = inputs
    outputs = [*(x * x + x for x in rows), *(tg.sum(x) for x in rows), *(tg.prod(x[::-1]) for x in rows)]
    outputs += [tg.sum(y, axis=0), tg.cumsum(y, axis=0), y.T @ y, tg.sort(y, axis=1)]
    shapes = [*((n,) for n in known), (3, known[-1])]
    return inputs, outputs, draws(0, *((shape, dtype) for shape in shapes))


# --- positions -------------------------------------------------------------------------------------------------------


@of(DTYPES)
def reads_at_positions(dtype):
    a, b, x = array("a", dtype, None), array("b", dtype, None, None), array("x", dtype, None)
    i, j = array("i", "int64", None), array("j", "int8", None)
    outputs = [a[i], a[i] * x, b[i], b[:, i], b[i, j] + x, tg.sum(a[::-1][i] * x), tg.take(a, j, mode="clip")]
    rng, every = np.random.default_rng(1), []
    for n in lengths(dtype, 100):
        at = rng.integers(-7, 7, n), rng.integers(-5, 5, n).astype(np.int8)
        every += [(*arrays, *at) for arrays in draws(n, ((7,), dtype), ((7, 7), dtype), ((n,), dtype))]
    return [a, b, x, i, j], outputs, every


@of(NUMBERS)
def writes_at_positions(dtype):
    y, v, i = array("y", dtype, None), array("v", dtype, None), array("i", "int64", None)
    at = wrap_index(i, y.shape[0])
    combined = (None, add, multiply) if is_complex(dtype) else (None, add, multiply, maximum, minimum)
    outputs = [Scatter((-1,), fn)(y, given, at) for fn in combined for given in (v, v + v)]
    outputs += [tg.nonzero(v)[0]]
    rng, every = np.random.default_rng(2), []
    for n in lengths(dtype, 100):
        arrays = draws(n, ((5,), dtype), ((n,), dtype))
        index = rng.integers(-5, 5, n)
        every += [(*one, at) for one, at in zip(arrays, (index, np.sort(index), np.zeros(n, np.int64)), strict=True)]
    return [y, v, i], outputs, every


# --- the test --------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(140)
@pytest.mark.parametrize("is_fused", [True, False], ids=["fused", "single"])
@pytest.mark.parametrize(("family", "dtype"), FAMILIES, ids=map("-".join, FAMILIES))
def test_the_same_bits(family, dtype, is_fused):
    compared(*FAMILIES[family, dtype](dtype), is_fused=is_fused)
