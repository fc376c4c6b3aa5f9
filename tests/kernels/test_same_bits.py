"""Every kernel has the same bits by all printers, C, LLVM's language and NumPy, for hostile numbers."""

import itertools

import numpy as np
import pytest

from tests.kernels.interpreter import Interpreter
from tests.kernels.operations import kind_of
from tests.kernels.printed import Case, in_c, in_llvm, in_numpy, run
from tg.errors import DtypeError, NoRuleError
from tg.ops.catalog import FAMILIES
from tg.ops.elementwise import draws
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.comparison import where
from tg.types.dtypes import is_complex, is_float, numpy_dtype
from tg_c import body as c_body
from tg_c.machine import has_fused, vector_bytes
from tg_c.prelude import Prelude
from tg_native.kernels.body import Machine
from tg_native.kernels.elementwise import KERNELS as RULES
from tg_native.kernels.elementwise.cast import by_words
from tg_native.kernels.lanes import in_all_lanes, lane_of
from tg_native.kernels.mathematics import KERNELS
from tg_numba import body as numba_body

FLOATS = ("float32", "float64")
REAL = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", *FLOATS),
)
BINARY = frozenset(("atan2", "fmod", "hypot", "nextafter", "pow"))


@pytest.fixture(autouse=True)
def no_library(monkeypatch):
    """What is compared is this package's own: no function of a vector library; tables as this machine has them."""
    monkeypatch.setattr(numba_body, "library_symbol", lambda name, dtype, arity: None)


def hostile(dtype, seed, n=600):
    """Numbers of every size and sign of a dtype, every special one and its neighbours, in an order of its own."""
    rng, kind = np.random.default_rng(seed), numpy_dtype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, n).astype(bool)
    if not is_float(dtype):
        limits = np.iinfo(dtype)
        known = [0, 1, 2, 3, 7, 8, limits.bits - 1, limits.bits, limits.max, limits.max - 1, limits.min, limits.min + 1]
        known += [] if limits.min == 0 else [-1, -2, -7]
        spread = rng.integers(limits.min, limits.max, n // 2, dtype=dtype, endpoint=True)
        small = rng.integers(-9 if limits.min else 0, 10, n // 2).astype(dtype)
        found = np.concatenate([np.array(known, dtype), spread, small])
    else:
        bits = rng.integers(0, 256, n * kind.itemsize, dtype=np.uint8).view(kind)
        normal = [(rng.normal(size=n // 4) * size).astype(kind) for size in (1e-3, 1, 5, 200)]
        whole = rng.integers(-20, 20, n // 4).astype(kind)
        known = np.array([0, 1, 0.5, 1.5, 2, 88, 104, 710, 745, 1e5, 6e4, 3e38, 1e300, np.inf, np.nan, 1e-40, 1e-310])
        with np.errstate(all="ignore"):
            known = known.astype(kind)
        found = np.concatenate([bits, *normal, whole, known, -known])
    return rng.permutation(found)


def bits_of(array):
    """The bits of every element, one kind of NaN."""
    if array.dtype.kind in "biu":
        return array
    found = array.copy()
    with np.errstate(all="ignore"):
        found[np.isnan(array.astype(np.float64))] = np.nan
    return found.view(f"uint{8 * array.dtype.itemsize}")


def same(case, arrays, name, results):
    """Whether all results have the same bits; those of the interpreter come first."""
    first, right = results[0]
    for other, found in results[1:]:
        odd = np.flatnonzero(bits_of(right) != bits_of(found))
        assert not odd.size, (
            f"{name} of {[a[odd[0]] for a in arrays]}: {first} {right[odd[0]]!r}, {other} {found[odd[0]]!r}, "
            f"{odd.size} of {right.size} differ"
        )


def interpreted(case, arrays):
    """The results by NumPy, with tables where this machine has them."""
    body = c_body.Body(Prelude(), case.lanes)
    tables = frozenset(d for d in FLOATS if body.looks_up(d))
    body = Interpreter(arrays[0].size, Machine(vector_bytes(), has_fused()), tables=tables)
    names = [f"x{k}" for k in range(len(arrays))]
    found = case.write(*map(body.argument, names, case.dtypes))
    bits = (a.view(kind_of(d)) for a, d in zip(arrays, case.dtypes, strict=True))
    return body.run(dict(zip(names, bits, strict=True)), found.text).view(numpy_dtype(case.result))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", sorted(KERNELS))
def test_a_kernel_of_mathematics(name, dtype):
    case = Case(KERNELS[name].written, (dtype,) * (1 + (name in BINARY)), dtype)
    arrays = [hostile(dtype, seed) for seed, _ in enumerate(case.dtypes)]
    compiled = {"C": in_c([case])[0], "LLVM": in_llvm([case])[0]}
    results = [(printer, run(function, case, arrays)) for printer, function in compiled.items()]
    same(case, arrays, name, [("NumPy", interpreted(case, arrays)), *results])


@pytest.mark.parametrize("printed", [in_c, in_llvm, in_numpy])
def test_a_lane_of_a_vector_is_a_single_element(printed):
    cases = [Case(lambda x: in_all_lanes(lane_of(x, 1)), (dtype,), dtype) for dtype in REAL]
    for function, case in zip(printed(cases), cases, strict=True):
        (array,) = arrays = [hostile(case.result, 0)[:512]]
        second = array.reshape(-1, case.lanes)[:, 1]
        assert run(function, case, arrays).tobytes() == np.repeat(second, case.lanes).tobytes()


def elementwise():
    """Every function of single elements and every loop of dtypes that it has, no complex ones."""
    for family in FAMILIES:
        for fn in (fn for fn in family.elementwise if fn.cost < 500):  # without loops
            for dtype in REAL:
                try:
                    operands, result = fn.loop((dtype,) * fn.arity)
                except DtypeError:
                    continue
                operands = ("bool", dtype, dtype) if fn is where else operands
                if any(map(is_complex, (*operands, result))) or fn not in RULES or set(operands) - {dtype, "bool"}:
                    continue
                rule, op = RULES[fn], fn.op
                write = lambda *x, r=rule, o=op, t=result: r(o, x, t)  # noqa: E731
                yield f"{fn.name} {dtype}", Case(write, operands, result, is_arithmetic=fn.accuracy <= 1)
    for source, target in itertools.product(REAL, REAL):
        rule, op = RULES[Cast], Cast(target)
        yield f"cast {source} {target}", Case(lambda *x, r=rule, o=op, t=target: r(o, x, t), (source,), target)


PARTS = 24  # in which the functions are compiled


@pytest.mark.sampled(48)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("single", [False, True], ids=["lanes", "one"])
def test_elementwise_functions(single, part):
    cases = {}
    for name, case in list(elementwise())[part::PARTS]:
        if single and not case.is_arithmetic:
            continue  # of one number C takes libm's own where LLVM takes the kernel that lanes have
        arrays = [hostile(d, seed)[:600] for seed, d in enumerate(case.dtypes)]
        try:
            cases[name] = case, arrays, interpreted(case, arrays)
        except NoRuleError:
            continue
    assert len(cases) > 10
    listed = [case for case, *_ in cases.values()]
    compiled = zip(in_c(listed, single=single), in_llvm(listed, single=single), strict=True)
    for (name, (case, arrays, right)), (c, other) in zip(cases.items(), compiled, strict=True):
        same(case, arrays, name, [("NumPy", right), ("C", run(c, case, arrays)), ("LLVM", run(other, case, arrays))])


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_an_integer_of_64_bits_by_its_words_is_rounded_once(dtype):
    limits = np.iinfo(dtype)
    near = (-1025, -1024, -513, -512, -511, -3, -1, 0, 1, 3, 512, 1025)
    powers = [2**k + d for k in range(limits.bits) for d in near]
    known = [sign * n for n in (*powers, limits.max) for sign in (1, -1) if limits.min <= sign * n <= limits.max]
    array = np.concatenate([np.array(known, dtype), hostile(dtype, 0, 4000)])
    body = Interpreter(array.size, Machine(32, fused=True))
    found = body.run({"x": array}, by_words(body.argument("x", dtype)).text)
    np.testing.assert_array_equal(found.view(np.uint64), array.astype("float64").view(np.uint64))


LOOPS = [
    fn
    for family in FAMILIES
    for fn in family.elementwise
    if fn in RULES and family is not draws.FAMILY and fn.cost >= 500
]
DRAWS = [fn for fn in draws.FAMILY.elementwise if fn in RULES]


@pytest.mark.long
@pytest.mark.parametrize("fn", DRAWS, ids=lambda fn: fn.name)
def test_draws(fn):
    """The words that one element takes are its own, and no other's: with whole and hostile parameters."""
    operands = ("float64",) * (fn.arity - 1) + ("uint64",)
    case = Case(lambda *x: RULES[fn](fn.op, x, "float64"), operands, "float64")
    rng = np.random.default_rng(1)
    usual = rng.uniform(0.05, 0.95 if fn.name == "binomial_draw" else 30, (fn.arity - 1, 400))
    if fn.name in ("binomial_draw", "hypergeometric_draw"):  # how many there are, and are chosen
        usual[0] = rng.integers(0, 60, 400)
    parameters = [np.concatenate([x, hostile("float64", k)[:200]]) for k, x in enumerate(usual)]
    arrays = [*parameters, rng.integers(0, 2**64, 600, dtype="uint64")]
    found = [("NumPy", interpreted(case, arrays)), ("C", run(in_c([case])[0], case, arrays))]
    found.append(("LLVM", run(in_llvm([case])[0], case, arrays)))
    same(case, arrays, fn.name, found)


@pytest.mark.long
@pytest.mark.parametrize("fn", LOOPS, ids=lambda fn: fn.name)
def test_functions_with_loops(fn):
    """Elements end at steps of their own: what one has does not depend on those beside it, few or many."""
    case = Case(lambda *x: RULES[fn](fn.op, x, "float64"), ("float64",) * fn.arity, "float64")
    usual = np.random.default_rng(1).uniform(0.05, 0.95 if fn.domain[1] < 1 else 30, (fn.arity, 400))
    if fn.domain[1] < 1:
        usual[: fn.arity - 1] *= 20
    arrays = [np.concatenate([x, hostile("float64", k)[:200]]) for k, x in enumerate(usual)]
    found, compiled = [("NumPy", interpreted(case, arrays))], in_llvm([case])[0]
    found.append(("C", run(in_c([case])[0], case, arrays)))
    llvm = run(compiled, case, arrays)
    if fn.name in ("hyp2f1", "hyp2f1_along"):  # its logarithm is libm's, of which LLVM calls the one for vectors
        order = np.random.default_rng(2).permutation(len(llvm))
        same(
            case,
            arrays,
            fn.name,
            [("LLVM", llvm[order]), ("in another order", run(compiled, case, [x[order] for x in arrays]))],
        )
    else:
        found.append(("LLVM", llvm))
    same(case, arrays, fn.name, found)
