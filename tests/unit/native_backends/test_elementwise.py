"""Every elementwise rule of the backends that generate code, at hostile values, in every dtype they have."""

import functools

import numpy as np
import pytest

import tg
from tg.errors import DtypeError
from tg.ops.catalog import FAMILIES
from tg.types.dtypes import numpy_dtype
from tg.types.tensor_type import TensorType

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTEGERS, *HALVES, *FLOATS, *COMPLEX)
CASES = ("elementwise/special/", "elementwise/draws")  # what rounding is relative to, they say
PLAIN = [family for family in FAMILIES if not family.path.startswith(CASES)]
FUNCTIONS = tuple(fn for family in PLAIN for fn in family.elementwise)


@functools.cache
def hostile(dtype):
    """Values at which functions differ between machines."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        values = {limits.min, limits.min + 1, -7, -3, -2, -1, 0, 1, 2, 3, 7, 100, limits.max - 1, limits.max}
        return np.array(sorted(v for v in values if limits.min <= v <= limits.max), dtype)
    special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        3.5,
        -3.5,
        300.7,
        -300.7,
        1e-30,
        1e30,
        -1e30,
        np.inf,
        -np.inf,
        np.nan,
    ]
    if dtype in COMPLEX:
        few = (0.0, 1.0, -2.5, 0.5, 3.5, 30.0, np.inf, -np.inf, np.nan)
        return np.array([complex(a, b) for a in few for b in few], dtype)
    with np.errstate(over="ignore"):
        return np.array([*special, 2.0**31, -(2.0**31), 2.0**63, 1e20]).astype(numpy_dtype(dtype))


def variables(arrays, static):
    return [
        tg.Variable(TensorType(a.dtype, a.shape if static else (None,) * a.ndim), name=f"x{k}")
        for k, a in enumerate(arrays)
    ]


def loops(fn, dtypes):
    """The dtypes of operands for which the function has a loop of its own and the backend the dtype."""
    for kinds in {(d,) * fn.arity for d in dtypes} | {("bool", d, d)[-fn.arity :] for d in dtypes}:
        try:
            operands, result = fn.loop(kinds)
        except DtypeError:
            continue
        if operands == kinds and result in dtypes:
            yield kinds


@pytest.mark.sampled(16)
@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.name)
def test_a_function_of_elements(fn, agrees, dtypes):
    inputs, outputs, arrays = [], [], []
    for kinds in sorted(loops(fn, dtypes)):
        grid = [g.ravel() for g in np.meshgrid(*(hostile(d) for d in kinds))]
        if fn.name == "power" and kinds[-1] in INTEGERS:
            grid[-1] = np.abs(np.clip(grid[-1].astype(np.int64), 0, 100)).astype(kinds[-1])
        made = variables(grid, static=False)
        inputs += made
        arrays += grid
        outputs.append(fn(*made))
    if not outputs:
        pytest.skip("no dtype has a loop of it: it is for derivatives alone")
    # NumPy's complex powers lose the digits of y * log(x), which is up to 150 here
    agrees(inputs, outputs, arrays, tolerance=4 * max(fn.accuracy, 1) * (150 if fn.name == "power" else 1))


def test_functions_with_loops_of_single_elements(agrees):
    """What C has no vectors for is one element too, with loops inside."""
    x, y = tg.scalar("x"), tg.scalar("y", "float32")
    bits = tg.scalar("bits", "uint64")
    outputs = [
        tg.gammainc(x, 2 * x),
        tg.betaincinv(x, x + 1, 0.3),
        tg.gammaincc(y, y),
        tg.hypergeometric_draw(9 * x, 20, 15, bits),
    ]
    values = (1.5, np.float32(2.5), np.uint64(123456789012345))
    agrees([x, y, bits], outputs, [*map(np.asarray, values)], tolerance=256)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("fn", ["equal", "less", "less_equal", "greater", "not_equal"])
def test_int64_and_uint64_are_compared_by_value(fn, agrees):
    grid = [g.ravel() for g in np.meshgrid(hostile("int64"), hostile("uint64"))]
    x, y = variables(grid, static=False)
    agrees([x, y], [getattr(tg, fn)(x, y), getattr(tg, fn)(y, x)], grid)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("source", DTYPES)
def test_casts(source, agrees, dtypes):
    x = hostile(source)
    (v,) = variables([x], static=False)
    agrees([v], [tg.cast(v, target) for target in DTYPES if target in dtypes - {source}], [x])


def test_every_half_is_widened_and_what_lies_between_two_is_rounded_to_even(backend):
    """NumPy converts by tables and bits; processors have instructions, which backends may use."""
    x, y = tg.vector("x", "float16"), tg.vector("y", "float32")
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    wide = halves.astype(np.float32)
    found = tg.function([x], tg.cast(x, "float32"), backend=backend)(halves)
    assert np.array_equal(found.view(np.uint32)[wide == wide], wide.view(np.uint32)[wide == wide])
    assert np.array_equal(np.isnan(found), np.isnan(wide))

    numbers = np.sort(wide[np.isfinite(wide)])
    middles = (numbers[:-1] + numbers[1:]) / 2
    ends = np.array([65519.996, 65520.0, 2.0**-25, 1e-40, np.inf], np.float32)
    asked = np.concatenate([middles, ends, -ends])
    asked = np.concatenate([np.nextafter(asked, np.float32(np.inf)), asked, np.nextafter(asked, np.float32(-np.inf))])
    with np.errstate(over="ignore", under="ignore"):
        right = asked.astype(np.float16)
    rounded = tg.function([y], tg.cast(y, "float16"), backend=backend)(asked)
    assert np.array_equal(rounded.view(np.uint16), right.view(np.uint16))
