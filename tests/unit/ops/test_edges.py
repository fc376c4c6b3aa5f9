"""Values and lengths at the edge of what functions are defined for: NumPy's and SciPy's results, and tg's errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.special

import tg
from tg.errors import ShapeError
from tg.ops.sized_ops import SumTo

pytestmark = pytest.mark.sampled(4)

BACKENDS = ("perform", tg.backend("auto").name)
INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def same(found: np.ndarray, wanted: np.ndarray) -> None:
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bincount_of_nothing_counts_nothing(dtype: str) -> None:
    x = tg.vector("x", dtype=dtype)
    f = tg.function([x], [tg.bincount(x), tg.bincount(x, minlength=2), tg.bincount(x, size=2)], backend="perform")
    empty = np.array([], dtype)
    assert [y.tolist() for y in f(empty)] == [[], [0, 0], [0, 0]]
    ones = np.array([1, 0, 1], dtype)
    assert [y.tolist() for y in f(ones)] == [[1, 2], [1, 2], [1, 2]]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("dtype", "value"), [("int64", 2**63 - 1), ("uint64", 2**63), ("uint64", 2**64 - 1)])
def test_bincount_of_a_number_beyond_all_lengths_is_an_error(backend: str, dtype: str, value: int) -> None:
    x = tg.vector("x", dtype=dtype)
    f = tg.function([x], tg.bincount(x), backend=backend)
    with pytest.raises((ValueError, MemoryError)):
        f(np.array([value], dtype))


@pytest.mark.parametrize("default", [3, True, 2.5, 1j, np.float32(1)])
@pytest.mark.parametrize("choices", [("uint64", "bool"), ("uint8", "int8"), ("float32", "uint8"), ("bool", "bool")])
def test_select_promotes_its_choices_and_its_default_at_once(default: object, choices: tuple[str, str]) -> None:
    x, y = np.array([1, 0, 1], choices[0]), np.array([1, 1, 0], choices[1])
    if choices[0] == "uint64":
        x = x + np.uint64(2**63)
    masks = [np.array([True, False, False]), np.array([True, True, False])]
    try:
        wanted = np.select(masks, [x, y], default)
    except OverflowError:
        with pytest.raises(tg.RangeError):
            tg.select(masks, [tg.constant(x), tg.constant(y)], default)
        return
    same(tg.select(masks, [tg.constant(x), tg.constant(y)], default).eval(), wanted)


@pytest.mark.parametrize("dtype", INTEGERS[1:])
@pytest.mark.parametrize("limits", [(-2, None), (None, 2**70), (-(2**70), 2**70), (300, None), (None, -300), (-2, 3)])
def test_clip_takes_limits_that_limit_nothing(dtype: str, limits: tuple[int | None, int | None]) -> None:
    x = np.array([0, 5, 100], dtype)
    v = tg.vector("v", dtype=dtype)
    try:
        wanted = np.clip(x, *limits)
    except OverflowError:
        with pytest.raises(tg.RangeError):
            tg.clip(v, *limits)
        return
    same(tg.clip(v, *limits).eval({v: x}), wanted)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_clip_gives_the_zero_of_the_limit_however_arrays_lie(dtype: str) -> None:
    x, lower, upper = (tg.tensor(name, dtype, (None,)) for name in "xlu")
    clipped = tg.clip(x, lower, upper)
    values = np.array(list(itertools.product([0.0, -0.0, 1.0, -1.0], repeat=3))).astype(clipped.type.numpy_dtype).T
    wanted = np.where(values[0] > values[1], values[0], values[1])
    wanted = np.where(wanted < values[2], wanted, values[2])
    for arrays in (values, np.repeat(values, 16, axis=1)[:, ::16]):
        found = clipped.eval(dict(zip((x, lower, upper), arrays, strict=True)))
        assert found.tobytes() == wanted.tobytes()
    for one, y in zip(values.T, wanted, strict=True):
        repeated = [tg.constant(a) for a in one[1:]]  # NumPy has a loop of its own for limits that are scalars
        assert tg.clip(x, *repeated).eval({x: one[:1].repeat(40)}).tobytes() == y.repeat(40).tobytes()


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_clip_at_zero_is_no_minimum_where_signs_of_zeros_are_kept(dtype: str) -> None:
    x = tg.tensor("x", dtype, (None,))
    for zero in (0.0, -0.0):
        at = np.array([zero, -zero], x.type.numpy_dtype)
        found = tg.function([x], tg.clip(x, -np.inf, zero), mode="strict", backend="perform")(at)
        assert np.signbit(found).tolist() == [bool(np.signbit(zero))] * 2


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_diagonals_keep_the_sign_of_zeros(dtype: str) -> None:
    x = np.array([-0.0, 1.0, -0.0]).astype(dtype)
    v = tg.tensor("v", dtype, (None,))
    for k in (-2, 0, 1):
        assert tg.diag(v, k).eval({v: x}).tobytes() == np.diag(x, k).tobytes()
        assert tg.diagflat(v, k).eval({v: x}).tobytes() == np.diagflat(x, k).tobytes()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("number", [-(10**400), -(2**70), -1, 256, 2**63, 2**64, 10**400])
def test_comparisons_with_numbers_of_any_size_are_numpys(dtype: str, number: int) -> None:
    x = np.array([0, 1, 1], dtype)
    v = tg.vector("v", dtype=dtype)
    for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"):
        same(getattr(tg, name)(v, number).eval({v: x}), getattr(np, name)(x.astype("int8"), number))
        same(getattr(tg, name)(number, v).eval({v: x}), getattr(np, name)(number, x.astype("int8")))


PADS = ("edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric", "wrap")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("mode", PADS)
def test_an_axis_found_empty_is_not_continued(backend: str, mode: str) -> None:
    x, k = tg.vector("x"), tg.vector("k", dtype="int64")
    f = tg.function([x, k], [tg.pad(x, (2, 1), mode), tg.pad(k, (0, 1), mode)], backend=backend)
    for dtype in (float, int):
        with pytest.raises(ValueError, match="can't extend empty axis"):
            np.pad(np.ones(0, dtype), (2, 1), mode)  # type: ignore[call-overload]
    with pytest.raises(tg.ShapeError, match=f"pad: mode '{mode}': found an axis of no entries"):
        f([], [])
    with pytest.raises(tg.ShapeError, match=f"pad: mode '{mode}': found an axis of no entries"):
        f([1.0], [])
    with pytest.raises(tg.ShapeError, match="found an axis of no entries"):
        tg.pad(tg.vector("y", shape=(0,)), 1, mode)
    np.testing.assert_array_equal(f([1.0, 2.0], [3, 5])[0], np.pad([1.0, 2.0], (2, 1), mode))  # type: ignore[call-overload]


@pytest.mark.parametrize("backend", BACKENDS)
def test_positions_are_not_counted_from_the_end_where_numpy_does_not(backend: str) -> None:
    i = tg.vector("i", dtype="int64")
    made = {
        "unravel_index": lambda v: tg.unravel_index(v, (3, 4)),
        "ravel_multi_index": lambda v: tg.ravel_multi_index((v, v), (3, 4)),
        "choose": lambda v: tg.choose(v, [np.zeros(2), np.ones(2)]),
    }
    for name, build in made.items():
        f = tg.function([i], build(i), backend=backend)
        np.testing.assert_array_equal(f([1, 0]), build_with_numpy(name, np.array([1, 0])))
        for bad in (np.array([-1, 0]), np.array([0, -(2**63)])):
            with pytest.raises(ValueError):  # noqa: PT011 (three texts of NumPy)
                build_with_numpy(name, bad)
            with pytest.raises(tg.BoundsError, match=f"{name}: found the index {bad.min()}, needed one of at least 0"):
                f(bad)
        with pytest.raises(tg.BoundsError, match="found the index -1"):
            build(np.array([-1, 1]))
        assert np.shape(f([7, 1]) if name == "unravel_index" else f([1, 1])) is not None


def build_with_numpy(name: str, v: np.ndarray) -> object:
    if name == "unravel_index":
        return np.unravel_index(v, (3, 4))
    return np.ravel_multi_index((v, v), (3, 4)) if name == "ravel_multi_index" else np.choose(v, [[0.0, 0], [1.0, 1]])


@pytest.mark.parametrize("dtype", [*INTEGERS, "float16", "float32", "float64", "complex64"])
def test_vander_sinc_and_edges_have_numpys_dtypes(dtype: str) -> None:
    x = np.array([0, 1, 3]).astype(dtype)
    v = tg.vector("v", dtype=dtype)
    same(tg.vander(v, 3).eval({v: x}), np.vander(x, 3))
    same(tg.vander(v, increasing=True).eval({v: x}), np.vander(x, increasing=True))
    if not dtype.startswith("complex"):
        assert tg.sinc(v).type.dtype == np.sinc(x).dtype.name
        for bins, ends in ((3, None), (3, (0, 2)), (3, (0.5, 2.5)), (np.array([0, 1, 3]), None)):
            if dtype == "bool":
                continue  # NumPy warns
            counts, edges = (y.eval({v: x}) for y in tg.histogram(v, bins, ends))
            same(counts, np.histogram(x, bins, ends)[0])
            assert edges.dtype == np.histogram(x, bins, ends)[1].dtype
            np.testing.assert_allclose(edges, np.histogram(x, bins, ends)[1], rtol=1e-3)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), (2, 0), (1,), (0, 1, 2), ()])
def test_softmax_over_several_axes_is_scipys(axis: object) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 4)) * 30
    t = tg.tensor("t", shape=(None, 3, None))
    for name in ("softmax", "log_softmax"):
        if axis == () and name == "log_softmax":
            continue  # SciPy's maximum has no elements to go by there
        f = tg.function([t], getattr(tg, name)(t, axis=axis), backend="perform")
        wanted = np.ones_like(x) if axis == () else getattr(scipy.special, name)(x, axis=axis)
        np.testing.assert_allclose(f(x), wanted, rtol=1e-12, atol=1e-13)  # logarithms of almost 1 are rounded in both
    s = tg.scalar("s")
    assert float(tg.softmax(s, axis=None).eval({s: 3.0})) == 1.0
    assert np.isnan(tg.softmax(s, axis=None).eval({s: np.nan}))


def test_integers_that_are_constants_of_the_graph_are_known() -> None:
    one, x = tg.constant(2) - 1, tg.tensor("x", shape=(2, 3, 4))
    assert tg.sum(x, axis=one).type.shape == (2, 4)
    assert tg.sum(x, axis=(0, one)).type.shape == (4,)
    assert tg.sum(x, axis=np.array(1)).type.shape == (2, 4)
    assert tg.diff(x, one, axis=one).type.shape == (2, 2, 4)
    assert tg.rot90(x, one).type.shape == (3, 2, 4)
    assert len(tg.split(x, tg.constant(2), axis=one - 1)) == 2
    assert tg.topk(x, one)[0].type.shape == (2, 3, 1)
    assert tg.diagonal(x, one).type.shape == (4, 2)
    assert tg.tensordot(x, x, tg.constant(3)).type.shape == ()
    assert tg.expand_dims(x, one).type.shape == (2, 1, 3, 4)
    with pytest.raises(tg.InputError, match="axis: found"):
        tg.sum(x, axis=tg.scalar("k", dtype="int64"))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_number_and_an_infinity_have_a_median(backend: str) -> None:
    x = tg.vector("x")
    f = tg.function([x], tg.median(x), backend=backend)
    inf, nan = np.inf, np.nan
    for v in ([0.0, inf], [-inf, 0.0], [inf, inf], [1.0, 2.0, inf], [-inf, 1.0, inf, inf], [5e-324, 5e-324]):
        assert f(v) == np.median(v), v
    assert np.isnan([f([-inf, inf]), f([nan, 1.0]), f([])]).all()


@pytest.mark.parametrize(
    "values", [[np.nan, 1.0, 2.0], [1.0, 2.0, np.inf], [1.0, 3.0, 4.0], [-np.inf, 5.0, np.nan], [2.0]]
)
@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_an_odd_reflection_leaves_what_it_continues_and_reads_no_other_edge(values: list[float], mode: str) -> None:
    x = tg.vector("x")
    for width in (1, 2, (0, 2), (2, 0)):
        found = tg.pad(x, width, mode, reflect_type="odd").eval({x: values})
        with np.errstate(invalid="ignore"):
            same(found, np.pad(values, width, mode, reflect_type="odd"))  # type: ignore[call-overload]


@pytest.mark.parametrize("mode", ["mean", "median", "linear_ramp", "maximum", "edge"])
def test_pads_of_bool_are_numpys(mode: str) -> None:
    x = tg.matrix("x", dtype="bool")
    for bits in range(16):
        values = np.array([(bits >> k) & 1 for k in range(4)], bool).reshape(2, 2)
        same(tg.pad(x, (2, 1), mode).eval({x: values}), np.pad(values, (2, 1), mode))  # type: ignore[call-overload]


@pytest.mark.parametrize("values", [[np.nan, 1.0], [-np.inf, 1.0], [np.inf]])
def test_a_histogram_has_no_infinite_range(values: list[float]) -> None:
    x = tg.vector("x")
    for out in (tg.histogram(x, 3)[0], tg.histogram_bin_edges(x)):
        with pytest.raises(tg.DomainError, match="histogram: found ends that are not finite"):
            out.eval({x: values})
    counts = tg.histogram(x, 3, (0, 2))[0].eval({x: values})
    same(counts, np.histogram(values, 3, (0, 2))[0])


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("count", [0, 1])
def test_too_few_observations_have_no_covariance(dtype: str, count: int) -> None:
    x = tg.vector("x", dtype=dtype)
    assert np.isnan(tg.cov(x).eval({x: np.ones(count, dtype)}))


def test_functions_take_numpys_names_of_values() -> None:
    x = tg.vector("x", dtype="float32")
    assert np.full_like(x, fill_value=2).eval({x: [1.0, 2.0]}).tolist() == [2.0, 2.0]  # type: ignore[attr-defined]
    assert tg.full((2,), fill_value=3.0).eval().tolist() == [3.0, 3.0]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float32"])
@pytest.mark.parametrize("number", [3, -1, 300, 2**63, 2.5])
def test_python_numbers_are_weak_and_fit(dtype: str, number: float) -> None:
    x, mask = np.array([0, 1, 3], dtype), np.array([True, False, True])
    programs = {
        "choose": lambda m, v: m.choose([0, 1, 1], [v, number]),
        "sum": lambda m, v: m.sum(v, initial=number),
        "max": lambda m, v: m.max(v, initial=number),
        "piecewise": lambda m, v: m.piecewise(v, [mask], [number, 0]),
        "full_like": lambda m, v: m.full_like(v, number),
        "isin": lambda m, v: m.isin(v, number),
        "searchsorted": lambda m, v: m.searchsorted(v, number),
        "linspace": lambda m, v: m.linspace(v, number, 3),
    }
    for name, program in programs.items():
        try:
            wanted = np.asarray(program(np, x))
        except OverflowError:
            with pytest.raises(tg.RangeError):
                program(tg, tg.constant(x))
            continue
        if name == "choose" and isinstance(number, int) and not same_value(number, dtype):
            with pytest.raises(tg.RangeError):  # where NumPy wraps
                program(tg, tg.constant(x))
            continue
        found = program(tg, tg.constant(x)).eval()
        assert found.dtype == wanted.dtype, name
        np.testing.assert_allclose(found, wanted, rtol=1e-6, err_msg=name)


def same_value(number: int, dtype: str) -> bool:
    return dtype == "float32" or np.iinfo(dtype).min <= number <= np.iinfo(dtype).max


LIMITS = (-(2**64), -(2**63) - 1, -(2**63), 1 - 2**63, -5, 0, 5, 2**62, 2**63 - 2, 2**63 - 1, 2**63, 2**70)


def test_known_ranges_near_the_limits_of_int64_are_pythons() -> None:
    steps = (-(2**70), -(2**63), -(2**62), -1, 1, 2**62, 2**63 - 1, 2**63, 2**64)
    few = [(a, b, s) for a in LIMITS for b in LIMITS for s in steps if not range(a, b, s)[9:]]
    held = [r for r in few if all(-(2**63) <= v < 2**63 for v in range(*r))]
    ranges = [tg.arange(*r) for r in held]
    assert {v.type.dtype for v in ranges} == {"int64"}
    for r, found in zip(held, tg.function([], ranges, backend="perform")(), strict=True):
        assert found.tolist() == list(range(*r)), r
    beyond = sorted(set(few) - set(held))
    assert beyond
    for r in beyond:
        with pytest.raises(tg.RangeError, match="needed values that int64 can hold"):
            tg.arange(*r)


class Two:
    """An integer by `__index__` alone."""

    def __index__(self) -> int:
        return 2


class One:
    def __index__(self) -> int:
        return 1


ROW, TABLE = np.arange(6.0), np.arange(24.0).reshape(6, 4)
TAKE_TWO = {
    "stop": lambda m, x, v, i: x[:i],
    "start": lambda m, x, v, i: x[i:, i],
    "step": lambda m, x, v, i: x[::i],
    "index": lambda m, x, v, i: x[i],
    "take": lambda m, x, v, i: m.take(v, i),
    "zeros": lambda m, x, v, i: m.zeros((i, 3)),
    "eye": lambda m, x, v, i: m.eye(5, k=i),
    "arange": lambda m, x, v, i: m.arange(0, 9, i),
    "linspace": lambda m, x, v, i: m.linspace(0, 1, i),
    "reshape": lambda m, x, v, i: m.reshape(x, (i, -1)),
    "tile": lambda m, x, v, i: m.tile(v, (i, 2)),
    "repeat": lambda m, x, v, i: m.repeat(v, i),
    "roll": lambda m, x, v, i: m.roll(v, i),
    "pad": lambda m, x, v, i: m.pad(v, i),
    "pads": lambda m, x, v, i: m.pad(v, (i, 1)),
    "split": lambda m, x, v, i: m.split(v, i)[1],
    "split at": lambda m, x, v, i: m.array_split(v, [i, 4])[1],
    "trace": lambda m, x, v, i: m.trace(x, i),
    "tril": lambda m, x, v, i: m.tril(x, i),
    "histogram": lambda m, x, v, i: m.histogram(v, i)[0],
    "power": lambda m, x, v, i: m.linalg.matrix_power(x[:4], i),
    "round": lambda m, x, v, i: m.round(v / 7, i),
}
TAKE_ONE = {
    "sum": lambda m, x, v, i: m.sum(x, axis=i),
    "var": lambda m, x, v, i: m.var(x, axis=(0, i)),
    "argmax": lambda m, x, v, i: m.argmax(x, axis=i),
    "cumsum": lambda m, x, v, i: m.cumsum(x, axis=i),
    "sort": lambda m, x, v, i: m.sort(x, axis=i),
    "concatenate": lambda m, x, v, i: m.concatenate([x, x], axis=i),
    "stack": lambda m, x, v, i: m.stack([x, x], axis=i),
    "transpose": lambda m, x, v, i: m.transpose(x, (i, 0)),
    "moveaxis": lambda m, x, v, i: m.moveaxis(x, 0, i),
    "expand_dims": lambda m, x, v, i: m.expand_dims(x, i),
    "norm": lambda m, x, v, i: m.linalg.norm(x, axis=i),
    "median": lambda m, x, v, i: m.median(x, axis=i),
}


@pytest.mark.parametrize("name", [*TAKE_TWO, *TAKE_ONE])
def test_whatever_is_an_integer_by_index_is_one(name: str) -> None:
    """Sizes, places, shifts and axes, as NumPy takes them."""
    x, v = tg.tensor("x", "float64", TABLE.shape), tg.tensor("v", "float64", ROW.shape)
    two = name in TAKE_TWO
    expression = (TAKE_TWO if two else TAKE_ONE)[name]
    taken = 0
    for i in (Two(), np.array(2), np.int32(2)) if two else (One(), np.array(1), np.int32(1)):
        try:
            wanted = expression(np, TABLE, ROW, i)
        except (TypeError, AttributeError):  # NumPy multiplies some numbers before it asks what they are
            continue
        taken += 1
        np.testing.assert_allclose(expression(tg, x, v, i).eval({x: TABLE, v: ROW}), wanted, rtol=1e-13)
    assert taken


def test_what_is_no_integer_stays_an_error() -> None:
    x = tg.vector("x")
    for i in (True, np.array([1, 2]), np.array(1.0), 1.0, "1"):
        with pytest.raises(tg.InputError, match="needed an integer"):
            x[:i]
        with pytest.raises(tg.InputError, match=r"axis: found .*, needed an integer"):
            tg.sum(x, axis=(i,))


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "eye", "identity", "tri"])
def test_no_dtype_is_numpys(name: str) -> None:
    assert getattr(tg, name)(2, dtype=None).type.dtype == getattr(np, name)(2, dtype=None).dtype


@pytest.mark.parametrize("parts", [tg.scalar("n", "int64"), tg.vector("x").shape[0], 2.5, None, True])
def test_a_number_of_parts_is_known_when_the_expression_is_made(parts: object) -> None:
    for cut in (tg.split, tg.array_split, tg.hsplit):
        with pytest.raises(tg.InputError, match=r"split: found .*, needed a number of parts, or a list of positions"):
            cut(tg.vector("x"), parts)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_range_that_no_memory_holds_is_told_as_that(backend: str) -> None:
    """NumPy counts the elements of its ranges in float64, where 2**60 - 5 is 2**60, of too many bytes for int64."""
    start, stop = tg.scalar("start", "int64"), tg.scalar("stop", "int64")
    f = tg.function([start, stop], tg.arange(start, stop), backend=backend)
    with pytest.raises(MemoryError):
        f(5, 2**60)


@pytest.mark.parametrize(("shape", "target"), [((), (1,)), ((3,), (1, 3)), ((3,), (1, 1)), ((2, 3), (1, 2, 3))])
def test_an_array_is_summed_to_no_shape_of_more_axes_than_it_has(
    shape: tuple[int, ...], target: tuple[int, ...]
) -> None:
    x = tg.tensor("x", shape=shape)
    with pytest.raises(ShapeError, match=f"sum_to: found {len(target)} lengths, needed at most the {len(shape)} axes"):
        SumTo(target)(x)
