"""Records of reductions: what each states is true of NumPy's own arrays, dtype by dtype."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import tg
from tg.ops.elementwise.dtype_loops import floating
from tg.ops.elementwise.record import LONG, binary
from tg.ops.indexing import Scatter
from tg.ops.reduction import ArgReduce, Reduce, identity
from tg.ops.reductions import ALL, ANY, LARGEST, LEAST, PRODUCT, REDUCTIONS, SUM, Reduction, by_element
from tg.rewrite.phases import EXACT, REASSOCIATES, SIGNED_ZERO
from tg.types.dtypes import COMPLEX, DTYPES, FLOATS, INTEGERS, is_complex, is_inexact, numpy_dtype
from tg.types.tensor_type import TensorType

CORE = (SUM, PRODUCT, LEAST, LARGEST, ALL, ANY)
NUMPY = {SUM: np.sum, PRODUCT: np.prod, LEAST: np.min, LARGEST: np.max, ALL: np.all, ANY: np.any}
NUMPY_UFUNC = {
    SUM: np.add,
    PRODUCT: np.multiply,
    LEAST: np.minimum,
    LARGEST: np.maximum,
    ALL: np.logical_and,
    ANY: np.logical_or,
}
EACH = pytest.mark.parametrize("record", CORE, ids=lambda record: record.name)
OF_DTYPE = pytest.mark.parametrize("dtype", DTYPES)


def numbers(dtype):
    """Numbers of a dtype: small ones, its ends, zeros of both signs, infinities."""
    kind = numpy_dtype(dtype)
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(kind)
        return np.array([info.min, info.max, 0, 1, 2, 3, 100], kind)
    real = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -3.25, 1e4, np.inf, -np.inf])
    if not is_complex(dtype):
        return real.astype(kind)
    ends = [complex(a, b) for a in (-np.inf, np.inf) for b in (-np.inf, -1, 1, np.inf)]
    return np.array([*(complex(a, b) for a, b in zip(real, real[::-1], strict=True)), *ends], kind)


def taken(record, dtype):
    """Whether a record combines a dtype: truth is that of bool."""
    return record.kind != "logical" or dtype == "bool"


@EACH
@OF_DTYPE
def test_the_identity_changes_nothing(record, dtype):
    if not taken(record, dtype):
        return
    x = numbers(dtype)
    if is_complex(dtype) and record is PRODUCT:
        x = x[np.isfinite(x)]  # 1 * z has a NaN where z is infinite
    start = record.identity(dtype)
    assert start.dtype == x.dtype
    assert identity(record.fn, dtype) == start
    np.testing.assert_array_equal(NUMPY_UFUNC[record](x, start), x)
    np.testing.assert_array_equal(NUMPY_UFUNC[record](start, x), x)


@EACH
@OF_DTYPE
def test_more_of_the_same_changes_nothing_where_the_record_says_so(record, dtype):
    if not taken(record, dtype):
        return
    x = numbers(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        same = np.array_equal(NUMPY_UFUNC[record](x, x), x)
    assert record.is_idempotent(dtype) is bool(same)


@EACH
@OF_DTYPE
def test_another_order_gives_what_its_class_allows(record, dtype):
    if not taken(record, dtype):
        return
    fine = {"float16": 2**-11, "bfloat16": 2**-8, "float32": 2**-24, "complex64": 2**-24}.get(dtype, 2**-53)
    x = np.array([1, fine, fine, 1 + 4 * fine]) if is_inexact(dtype) else numbers(dtype)[:4]
    x = x.astype(numpy_dtype(dtype))
    results = set()
    with np.errstate(over="ignore"):
        for order in itertools.permutations(range(len(x))):
            total = x[order[0]]
            for k in order[1:]:
                total = NUMPY_UFUNC[record](total, x[k]).astype(x.dtype)
            results.add(total.tobytes())
    expected = record.order if is_inexact(dtype) else EXACT
    assert record.class_of(dtype) == expected
    if expected != REASSOCIATES:
        assert len(results) == 1
    elif record is SUM:
        assert len(results) > 1


def test_the_sign_of_a_zero_is_all_that_the_order_of_an_extreme_changes():
    assert (LEAST.order, LARGEST.order, SUM.order, PRODUCT.order) == (
        SIGNED_ZERO,
        SIGNED_ZERO,
        REASSOCIATES,
        REASSOCIATES,
    )
    for record in (LEAST, LARGEST):
        x = np.array([0.0, -0.0])
        assert {NUMPY_UFUNC[record].reduce(x), NUMPY_UFUNC[record].reduce(x[::-1])} == {0.0}


@pytest.mark.parametrize("record", [LEAST, LARGEST])
def test_an_extreme_is_where_its_sign_says_and_its_dual_is_the_other_one(record):
    x = np.random.default_rng(1).normal(size=50)
    extreme = NUMPY[record](x)
    assert (record.sign * extreme >= record.sign * x).all()
    assert extreme == -NUMPY[REDUCTIONS[record.dual]](-x)
    assert REDUCTIONS[record.dual].dual is record.fn


@pytest.mark.parametrize("record", [ALL, ANY])
def test_the_dual_of_a_logical_one_is_that_of_what_is_denied(record):
    for x in itertools.product([False, True], repeat=3):
        assert NUMPY[record](x) == (not NUMPY[REDUCTIONS[record.dual]](np.logical_not(x)))


@EACH
def test_of_truth_values_it_is_what_the_record_says(record):
    for x in itertools.product([False, True], repeat=3):
        assert bool(NUMPY[record](np.array(x))) is {"any": any, "all": all}[record.of_bool](x)


@EACH
def test_a_nan_spreads_or_is_true(record):
    x = np.array([0.0, np.nan, 1.0])
    found = NUMPY[record](x)
    if record.nan == "spreads":
        assert np.isnan(found)
    else:
        assert found == NUMPY[record](np.array([0.0, 7.0, 1.0]))


@EACH
@pytest.mark.parametrize("dtype", ["bool", *INTEGERS])
def test_it_widens_what_numpy_widens(record, dtype):
    x = tg.vector("x", dtype=dtype)
    numpy = NUMPY[record](np.ones(3, dtype))
    assert record(x).type.dtype == numpy.dtype.name
    assert record.widens is (record in (SUM, PRODUCT))


@EACH
def test_no_elements_are_an_error_where_they_are_numpys(record):
    refused = False
    try:
        NUMPY[record](np.ones(0))
    except ValueError:
        refused = True
    assert record.needs_elements is refused
    assert bool(Reduce(record.fn, (-1,)).checks([tg.vector("x")], ())) is refused
    assert not Reduce(record.fn, (-1,), total=True).checks([tg.vector("x")], ())


@EACH
@OF_DTYPE
def test_the_dtype_that_is_worked_in_holds_the_numbers(record, dtype):
    wide = record.working(dtype)
    assert np.can_cast(numpy_dtype(dtype), numpy_dtype(wide), "safe")
    assert dtype not in ("float16", "bfloat16") or wide != dtype
    if record is SUM and dtype in (*FLOATS, *COMPLEX):
        assert numpy_dtype(wide).itemsize == (16 if is_complex(dtype) else 8)


@EACH
@pytest.mark.parametrize("dtype", ["bool", "int16", *FLOATS, "complex64"])
def test_its_reference_is_numpys_reduction(record, dtype):
    if not taken(record, dtype):
        return
    rng = np.random.default_rng(2)
    x = rng.integers(-4, 5, (3, 4, 5)).astype(numpy_dtype(dtype))
    for axes in ((-1,), (-2,), (-3, -1), (-3, -2, -1), ()):
        found = record.perform(x, axes).astype(x.dtype)
        wide = x.astype(np.complex128 if is_complex(dtype) else np.float64) if is_inexact(dtype) else x
        if not axes:
            np.testing.assert_array_equal(found, x)
            continue
        right = NUMPY_UFUNC[record].reduce(wide, axis=axes, initial=record.identity(wide.dtype.name)).astype(x.dtype)
        if record is PRODUCT and dtype in ("bfloat16", "float16"):
            fine = float({"bfloat16": 2.0**-8, "float16": 2.0**-11}[dtype])
            np.testing.assert_allclose(found.astype(float), right.astype(float), rtol=60 * fine)
        else:
            np.testing.assert_allclose(found, right, rtol=1e-5)


def test_the_product_of_elements_without_one_is_exact_for_integers():
    """Python's integers say what the identity and the order of products are, beyond what NumPy's dtypes hold."""
    x = [3, -7, 2, 11]
    assert PRODUCT.perform(np.array(x), (-1,)) == math.prod(x)
    assert Fraction(int(PRODUCT.identity("int64"))) == math.prod([])


# --- a record of one's own --------------------------------------------------------------------------------------------

softadd = binary(
    "softadd",
    lambda x, y: np.maximum(x, y) + np.log1p(np.exp(-np.abs(x - y))),
    lambda kinds: floating(kinds),
    "log(exp(x) + exp(y)), which has no ufunc here.",
    d=(lambda x, y, z: tg.exp(x - z), lambda x, y, z: tg.exp(y - z)),
    expansion=lambda x, y: tg.logaddexp(x, y),
)


@pytest.fixture
def softsum():
    yield Reduction("softsum", softadd, start=-1e300, pullback=by_element(lambda x, y: tg.exp(x - y)))
    del REDUCTIONS[softadd]


def test_a_function_without_a_ufunc_is_combined_pair_by_pair(softsum):
    x = np.random.default_rng(4).normal(size=(3, 7, 5))
    for axes in ((-1,), (-3, -2), (-3, -2, -1)):
        right = np.log(np.sum(np.exp(x), axis=axes))
        np.testing.assert_allclose(Reduce(softadd, axes).perform(x)[0], right, rtol=1e-14)
    assert Reduce(softadd, (-1,)).perform(np.ones((2, 0)))[0].tolist() == [-1e300] * 2
    v = tg.tensor("v", "float64", (3, 7, 5))
    f = tg.function([v], [softsum(v, (0, 2)), tg.grad(softsum(v), v)], backend="perform")
    np.testing.assert_allclose(f(x)[0], np.log(np.sum(np.exp(x), axis=(0, 2))), rtol=1e-14)
    np.testing.assert_allclose(f(x)[1], np.exp(x) / np.exp(x).sum(), rtol=1e-12)


def test_it_runs_along_an_axis_and_scatters_if_the_record_has_these_derivatives(softsum):
    x = tg.matrix("x")
    with pytest.raises(tg.DtypeError, match="accumulate: softadd has no running result"):
        tg.ops.cumulative.Accumulate(softadd, -1)(x)
    with pytest.raises(tg.InputError, match="scatter: found softadd, needed add, multiply, minimum or maximum"):
        Scatter((-1,), softadd).infer(
            TensorType("float64", (3,)), TensorType("float64", (2,)), TensorType("int64", (2,))
        )


def test_running_and_scattered_results_need_no_ufunc(softsum):
    x = np.random.default_rng(5).normal(size=(4, 6))
    np.testing.assert_allclose(softsum.perform_running(x, -1), np.logaddexp.accumulate(x, axis=-1), rtol=1e-14)
    np.testing.assert_allclose(softsum.perform_running(x, -2), np.logaddexp.accumulate(x, axis=-2), rtol=1e-14)
    y, right, places = x.copy(), x.copy(), (np.array([0, 2, 0]),)
    softsum.perform_at(y, places, x[:3])
    np.logaddexp.at(right, places, x[:3])
    np.testing.assert_allclose(y, right, rtol=1e-14)


def test_rewriting_takes_nothing_of_it_for_granted(softsum):
    """More of the same changes it, and so does one element more."""
    x = tg.vector("x")
    value = np.array([0.5, -1.0, 2.0])
    repeated = softsum(tg.broadcast_to(x, (4, *x.shape)), 0)
    joined = softsum(tg.concatenate([x, -x]))
    swapped = softsum(tg.broadcast_to(x, (2, *x.shape)).T, 1)
    f = tg.function([x], [repeated, joined, swapped], backend="perform")
    found = f(value)
    np.testing.assert_allclose(found[0], value + np.log(4), rtol=1e-14)
    np.testing.assert_allclose(found[1], np.log(np.sum(np.exp([*value, *-value]))), rtol=1e-14)
    np.testing.assert_allclose(found[2], value + np.log(2), rtol=1e-14)


def test_a_function_has_one_record():
    with pytest.raises(tg.InputError, match="reduction: found total by add, which sum is by already"):
        Reduction("total", tg.add, start=0, pullback=None)
    with pytest.raises(tg.InputError, match="reduction: found sum by add, which sum is by already"):
        Reduction("sum", tg.add, start=0, pullback=None)
    assert REDUCTIONS[tg.add] is SUM


def test_a_module_that_is_run_again_makes_its_record_anew(softsum):
    again = Reduction("softsum", softadd, start=-1e300, pullback=softsum.pullback)
    assert Reduce(softadd, (-1,)).reduction is again


def test_a_dtype_that_the_function_does_not_keep_is_refused(softsum):
    with pytest.raises(tg.DtypeError, match="softsum: found int64, needed a dtype that softadd keeps"):
        Reduce(softadd, (-1,))(tg.vector("k", dtype="int64"))
    assert softsum(tg.vector("k", dtype="int64")).type.dtype == "float64"


def test_without_a_pullback_it_has_no_derivative():
    x = tg.vector("x")
    record = Reduction("softsum", softadd, start=-1e300, pullback=None)
    try:
        with pytest.raises(tg.NotDifferentiable, match="softsum: has no derivative"):
            tg.grad(record(x), x)
    finally:
        del REDUCTIONS[softadd]


def test_what_has_no_record_is_refused():
    with pytest.raises(tg.DtypeError, match="reduce: divide has no reduction"):
        Reduce(tg.divide, (-1,))(tg.vector("x"))


def test_positions_ask_the_record_of_their_extreme():
    assert ArgReduce(tg.maximum, -1).reduction is LARGEST
    assert ArgReduce(tg.minimum, -1).reduction is LEAST


@EACH
def test_a_reduction_costs_what_its_function_does(record):
    assert record.cost == record.fn.cost < LONG
