"""Every elementwise function in every dtype it has, at hostile values, against the reference."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tg
from tg.errors import DtypeError
from tg.graph.nodes import Variable
from tg.ops.catalog import FAMILIES
from tg.ops.elementwise.cast import Cast
from tg.types.dtypes import COMPLEX, DTYPES, INTEGERS, is_complex, is_integer, numpy_dtype
from tg.types.tensor_type import TensorType

PLAIN = [family for family in FAMILIES if "/special/" not in family.path]  # what rounding is relative to, cases say
FUNCTIONS = [fn for family in PLAIN for fn in family.elementwise]
OVERFLOWS = {"exp", "exp2", "expm1", "power"}


def loops(fn):
    """The loops of operands of one dtype, and those of the two widest integers."""
    found = set()
    for dtype in DTYPES:
        try:
            found.add(fn.loop((dtype,) * fn.arity))
        except DtypeError:
            continue
    if fn.arity == 2:
        for kinds in (("int64", "uint64"), ("uint64", "int64")):
            try:
                found.add(fn.loop(kinds))
            except DtypeError:
                continue
    return sorted(found)


def values(dtype, fn):
    """Values at which functions differ: limits, zeros of both signs, NaN and infinities."""
    kind = numpy_dtype(dtype)
    if dtype == "bool":
        return np.array([False, True])
    if is_integer(dtype):
        limits = np.iinfo(kind)
        chosen = [
            limits.min,
            limits.min + 1,
            -7,
            -3,
            -2,
            -1,
            0,
            1,
            2,
            3,
            5,
            7,
            63,
            64,
            65,
            100,
            limits.max - 1,
            limits.max,
        ]
        return np.array([v for v in chosen if limits.min <= v <= limits.max], kind)
    low, high = fn.domain or (-20, 20)
    plain = np.linspace(low, high, 41)
    if is_complex(dtype):
        low, high = max(low, -3), min(high, 3)
        plain = np.linspace(low, high, 9)
        return np.array([a + 1j * b for a in plain for b in (-1.5, 0.25, 2.0)], kind)
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 1e-3, -1e-3, 7.5, 700.0, -700.0]
    with np.errstate(over="ignore"):
        return np.concatenate([special, plain]).astype(kind)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.name)
def test_agrees_with_the_reference_in_every_loop(fn, same, dtypes) -> None:
    inputs, outputs, arrays = [], [], []
    for kinds, result in loops(fn):
        if not {*kinds, result} <= {*dtypes}:
            continue
        operands = [Variable(TensorType(d, (None,))) for d in kinds]
        grid = list(itertools.product(*(values(d, fn) for d in kinds))) if fn.arity < 3 else triples(kinds, fn)
        columns = [np.array(column, numpy_dtype(d)) for column, d in zip(zip(*grid, strict=True), kinds, strict=True)]
        if fn.name == "power" and kinds[1].startswith("int"):
            columns[1] = np.abs(columns[1]) & numpy_dtype(kinds[1]).type(127)
        if fn.name == "poisson_draw":  # the last bits of a quantile of 1 - 2**-53 decide between counts
            columns[1] = np.minimum(columns[1], np.uint64(2**63))
        inputs += operands
        arrays += columns
        outputs.append(fn.op(*operands))
    same(inputs, outputs, [arrays], ulps=2 * fn.accuracy + 2)


OF_COMPLEX = [fn for fn in FUNCTIONS if fn.arity == 1 and {kinds[0] for kinds, _ in loops(fn)} & {*COMPLEX}]
EDGES = [0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("fn", OF_COMPLEX, ids=lambda fn: fn.name)
@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_edges_are_those_of_numpy(fn, dtype, backend) -> None:
    """Beside NaN no sign is compared: C leaves it open."""
    x = tg.vector("x", dtype)
    points = np.array([complex(a, b) for a, b in itertools.product(EDGES, EDGES)], dtype)
    # NumPy's has NaN beside a real infinity
    points = points[(points.imag != 0) | np.isfinite(points.real)] if fn.name == "expm1" else points
    found, want = (tg.function([x], fn.op(x), backend=one)(points) for one in (backend, "perform"))
    for a, b in ((found.real, want.real), (found.imag, want.imag)):
        is_lost = np.isnan(want)
        np.testing.assert_allclose(np.where(is_lost, abs(a), a), np.where(is_lost, abs(b), b), rtol=1e-5)
        np.testing.assert_array_equal(np.signbit(a) | is_lost, np.signbit(b) | is_lost)


def triples(dtypes, fn):
    columns = [values(d, fn) for d in dtypes]
    rng = np.random.default_rng(3)
    return [tuple(c[rng.integers(len(c))] for c in columns) for _ in range(300)]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("source", DTYPES)
def test_casts_between_all_dtypes(source, same, dtypes) -> None:
    x = Variable(TensorType(source, (None,)))
    kind = numpy_dtype(source)
    if source == "bool":
        array = np.array([True, False])
    elif source in INTEGERS:
        limits = np.iinfo(kind)
        array = np.array(
            [limits.min, limits.min // 2, 0, 1, 2, 77, 100, limits.max // 3, limits.max - 1, limits.max], kind
        )
    else:
        rng = np.random.default_rng(5)
        special = [np.nan, np.inf, -np.inf, 0.0, -0.0, -1.5, 1.5, 2.5, 300.7, -300.7, 1e10, 3e20, -3e20, 65504.0, 1e-3]
        with np.errstate(all="ignore"):
            array = np.concatenate([special, rng.normal(size=200) * 100]).astype(kind)
    same([x], [Cast(d)(x) for d in dtypes if d != source], [[array]], ulps=1.0)
