"""What tests of vectors share: functions of elements, hostile numbers, and the comparison with references."""

import itertools

import ml_dtypes
import numpy as np

import tg
from tg.errors import DtypeError
from tg.ops.catalog import FAMILIES
from tg.ops.elementwise.arithmetic import power, radius
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.exponential import logaddexp, matern_3_2, matern_5_2, per_expm1
from tg.ops.elementwise.trigonometric import sinc
from tg.types.dtypes import is_float, numpy_dtype
from tg.types.tensor_type import TensorType
from tg_conformance.compare import differs

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
REAL = ("bool", *INTEGERS, *FLOATS)
PLAIN = [family for family in FAMILIES if "/special/" not in family.path]  # what rounding is relative to, cases say
OF_LENGTHS = (matern_3_2, matern_5_2)  # a length and its square are no operands to draw one by one: terms would cancel
EVERY = tuple(fn for family in PLAIN for fn in family.elementwise)
DRAWS = (
    "gamma_draw",
    "log_gamma_draw",
    "poisson_draw",
    "binomial_draw",
    "hypergeometric_draw",
    "vonmises_draw",
    "wald_draw",
)
"""Of which one unit in what is accepted makes another number: cases count how many differ."""
FUNCTIONS = tuple(fn for fn in EVERY if fn not in OF_LENGTHS and fn.name not in DRAWS)
COMPOSED = (
    logaddexp,
    per_expm1,
    sinc,
    radius,
)  # of steps that lose digits or range: compared at the precision they are computed with


def lengths(width):
    """Lengths around the blocks of vectors of so many bytes."""
    counts = [width // size for size in (1, 2, 4, 8)]
    return sorted({n for count in counts for n in (0, 1, count - 1, count, count + 1, 2 * count + 3)})


def loops(dtype):
    """The functions that take a dtype, with the dtypes of operands and result; no complex numbers."""
    for fn in FUNCTIONS:
        try:
            operands, result = fn.loop((dtype,) * fn.arity)
        except DtypeError:
            continue
        operands = ("bool", dtype, dtype) if fn is where else operands
        if {*operands, result} <= {*REAL, dtype}:
            yield fn, operands, result


def hostile(dtype, shape, seed):
    """Special numbers among random ones of every size."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    if dtype == "bool":
        return rng.random(shape) < 0.5
    kind = numpy_dtype(dtype)
    if is_float(dtype):
        info = ml_dtypes.finfo(kind)
        known = [0.0, 1.0, 0.5, 1.5, 3.0, 1e5, 1e10, 700.0, np.inf, info.max, info.tiny, info.smallest_subnormal]
        found = rng.normal(size=count) * np.exp(3 * rng.normal(size=count))
        known = [*known, *np.negative(known), np.nan]
    else:
        info = np.iinfo(dtype)
        known = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 7, 8, 31, 32, 63, 64]
        found = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
    with np.errstate(all="ignore"):
        known, found = np.array(known, kind), found.astype(kind)
    chosen = rng.random(count) < 0.4
    return np.where(chosen, known[rng.integers(0, known.size, count)], found).reshape(shape)


def operand(fn, k, dtype, shape):
    found = hostile(dtype, shape, EVERY.index(fn) + 100 * k)
    return found % 5 if fn is power and k == 1 and dtype in INTEGERS else found


def wanted(fn, arrays):
    """The reference's values, those of float32 computed in float64."""
    with np.errstate(all="ignore"):
        if fn.accuracy and fn not in COMPOSED:
            arrays = [a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays]
        return np.asarray(fn.reference(*arrays))


def check(fn, arrays, found, result):
    with np.errstate(all="ignore"):
        scale = np.maximum(*map(np.abs, arrays)) if fn is logaddexp else None
    wrong = differs(found, wanted(fn, arrays), dtype=result, accuracy=fn.accuracy, scale=scale)
    assert wrong is None, f"{fn} of {[a.dtype.name for a in arrays]} of {arrays[0].shape}: {wrong}"


def agrees_at_lengths(compiled, frozen_of, dtype, width):
    """Compare every function of a dtype with its reference, at lengths around the blocks of vectors of a width."""
    cases = list(loops(dtype))
    inputs = [[tg.Variable(TensorType(d, (None,)), name="x") for d in operands] for _, operands, _ in cases]
    outputs = [fn(*xs) for (fn, _, _), xs in zip(cases, inputs, strict=True)]
    executable = compiled(frozen_of(list(itertools.chain(*inputs)), outputs))
    for n in lengths(width):
        arrays = [[operand(fn, k, d, (n,)) for k, d in enumerate(operands)] for fn, operands, _ in cases]
        found, status = executable.run(list(itertools.chain(*arrays)))
        assert status == ()
        for (fn, _, result), xs, y in zip(cases, arrays, found, strict=True):
            check(fn, xs, y, result)


# Of each: what the graph makes of a variable, what NumPy makes of the array, the shape for rows of n.
LAYOUTS = (
    (lambda x: x[:, ::2], lambda a: a[:, ::2], lambda m, n: (m, 2 * n)),
    (lambda x: x[:, ::-1], lambda a: a[:, ::-1], lambda m, n: (m, n)),
    (lambda x: x.T, lambda a: a.T, lambda m, n: (n, m)),
    (lambda x: x, lambda a: a, lambda m, n: (1, n)),
    (lambda x: x, lambda a: a, lambda m, n: (m, 1)),
)
