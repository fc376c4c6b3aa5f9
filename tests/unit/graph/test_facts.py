"""Every fact that is derived is true of what is computed, for values of every dtype that try it."""

import functools
import itertools
import math
import random

import numpy as np
import pytest

import tg
from tg.graph.facts import ELEMENT, FACTS, closure, fact_holds, facts_of, holds
from tg.graph.traversal import inputs_of, sorted_applies
from tg.ops.catalog import FAMILIES
from tg.types.dtypes import COMPLEX, INTEGERS, limits, numpy_dtype

FUNCTIONS = {fn.name: fn for family in FAMILIES for fn in family.elementwise if fn.facts or fn.cost < 500}
DTYPES = ("bool", "int8", "uint8", "uint64", "float16", "bfloat16", "float64", "complex64")
POINTS = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 1e-8, -1e-8, 1e4, -1e4)
EXTREMES = (np.inf, -np.inf, np.nan)
MOST = 1 << 16  # combinations of elements
KINDS = (
    (),
    ("finite",),
    ("not_nan",),
    ("nonnegative",),
    ("nonnegative", "no_negative_zero"),
    ("nonnegative", "finite"),
    ("nonnegative", "not_nan", "no_negative_zero"),
    ("nonnegative", "finite", "whole"),
    ("positive",),
    ("positive", "finite"),
    ("positive", "whole", "not_nan"),
    ("nonpositive",),
    ("nonpositive", "not_nan"),
    ("negative",),
    ("negative", "finite"),
    ("nonzero", "not_nan"),
    ("whole",),
    ("no_negative_zero",),
)


@functools.cache
def values(dtype):
    """Scalars of a dtype: the ends of its range, both zeros, whole numbers and fractions, NaN and infinities."""
    kind = numpy_dtype(dtype)
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        ends = np.iinfo(dtype)
        return np.array([0, 1, 2, 7, *([-1, -2, -7] if ends.min else []), ends.max, ends.min, ends.max - 1], kind)
    with np.errstate(all="ignore"):
        if dtype in COMPLEX:
            parts = np.array([0.0, -0.0, 1.0, -1.5, 1e30, *EXTREMES])
            return np.array([complex(a, b) for a in parts for b in parts]).astype(kind)
        least = np.nextafter(kind.type(0), kind.type(1))
        return np.array([*POINTS, *EXTREMES, *limits(dtype), least, -least]).astype(kind)


def assumed(name, dtype, shape, names):
    return tg.assume(tg.tensor(name, dtype, shape), **dict.fromkeys(names, True))


@functools.cache
def kinds_of(dtype):
    """Sets of facts that values of a dtype may have, each with the values that have them."""
    found = {}
    for names in KINDS:
        try:
            known = facts_of(assumed("x", dtype, (None,), names))
        except tg.DtypeError:
            continue
        fitting = [v for v in values(dtype) if all(fact_holds(name, v) for name in known)]
        if fitting:
            found[known] = (tuple(names), np.array(fitting))
    return tuple(found.values())


def source(x):
    return x.inputs[0] if x.inputs else x


def computed(outputs, given):
    """All values below outputs with their variables; checks are left out."""
    found, variables = dict(given), []

    def value(v):
        return v.data if isinstance(v, tg.Constant) else found[id(v)]

    with np.errstate(all="ignore"):
        for node, results in sorted_applies(outputs):
            for v, array in zip(results, node.op.perform(*map(value, node.inputs)), strict=True):
                if v is not None:
                    found[id(v)] = array
                    variables.append((v, array))
    return variables


def wrong(outputs, given):
    """The facts that are derived and not true: of which op, of what operands, and the array."""
    return [
        (v.op, name, [sorted(facts_of(u)) for u in v.inputs], array)
        for v, array in computed(outputs, given)
        for name in sorted(facts_of(v))
        if not fact_holds(name, array)
    ]


def combined(arrays):
    """All combinations of elements; some of them where there are many."""
    shape = [len(a) for a in arrays]
    count = math.prod(shape)
    places = np.unravel_index(np.arange(0, count, count // MOST | 1), shape)
    return [a[k] for a, k in zip(arrays, places, strict=True)]


def applied(fn, operands):
    try:
        return fn(*operands)
    except (tg.DtypeError, tg.ShapeError):
        return None


@pytest.mark.sampled(36)
@pytest.mark.parametrize("dtype", [t for t in DTYPES if t != "uint64"])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_facts_of_elementwise_functions_are_true(name, dtype):
    fn, kinds = FUNCTIONS[name], kinds_of(dtype)
    kinds = kinds[: {3: 8, 4: 4}.get(fn.arity)]
    for chosen in itertools.product(kinds, repeat=fn.arity):
        operands = [assumed("x", dtype, (None,), names) for names, _ in chosen]
        y = applied(fn, operands)
        if y is None:
            return
        arrays = combined([a for _, a in chosen])
        assert not wrong([y], {id(source(x)): a for x, a in zip(operands, arrays, strict=True)})
    if fn.arity == 2:
        for names, array in kinds:
            x = assumed("x", dtype, (None,), names)
            assert not wrong([fn(x, x)], {id(source(x)): array})


@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_facts_of_casts_are_true(dtype, target):
    for names, array in kinds_of(dtype):
        x = assumed("x", dtype, (None,), names)
        assert not wrong([tg.cast(x, target)], {id(source(x)): array})


def matrices(dtype):
    """Matrices with structure, some of them with infinities where they may be, as pairs of an input and its value."""
    with np.errstate(all="ignore"):
        full = np.resize(values(dtype), (2, 4, 4)).copy()
    rng = np.random.default_rng(7)
    small = rng.integers(1, 5, (2, 4, 4)).astype(full.dtype)
    low = np.tril(np.ones((4, 4), bool))
    near = np.tril(np.ones((4, 4), bool), 1)
    zero = full.dtype.type(0)
    some = [
        ((), full),
        (("finite",), small),
        (("lower_triangular",), np.where(low, full, zero)),
        (("upper_triangular", "finite"), np.where(low.T, small, zero)),
        (("lower_triangular", "finite", "unit_diagonal"), np.where(low & ~np.eye(4, dtype=bool), small, np.eye(4))),
        (("diagonal",), np.where(np.eye(4, dtype=bool), full, zero)),
        (("tridiagonal",), np.where(near & near.T, full, zero)),
        (("lower_hessenberg", "finite"), np.where(near, small, zero)),
        (("symmetric",), np.where(low, full, np.swapaxes(full, -1, -2))),
        (("symmetric", "finite"), np.where(low, small, np.swapaxes(small, -1, -2))),
        (("orthogonal",), np.broadcast_to(np.eye(4)[::-1], (2, 4, 4))),
        (("diagonal", "unit_diagonal", "finite"), np.broadcast_to(np.eye(4), (2, 4, 4))),
    ]
    if dtype not in ("bool", "int8", "uint8"):
        definite = small[:, :1] * 0 + 5 * np.eye(4) + 1
        some.append((("positive_definite", "finite"), definite))
    for names, array in some:
        yield assumed("x", dtype, (None, None, None), names), array.astype(full.dtype)


def smaller(dtype):
    """What is repeated along the axes of a matrix."""
    for shape in ((), (1, 1), (4,), (4, 1)):
        array = np.resize(values(dtype), shape).astype(numpy_dtype(dtype))
        yield tg.tensor("v", dtype, shape), array
    yield assumed("v", dtype, (), ("positive", "finite") if dtype not in COMPLEX else ("finite",)), np.ones((), dtype)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float64", "complex64"])
@pytest.mark.parametrize("name", sorted(name for name, fn in FUNCTIONS.items() if fn.arity < 3))
@pytest.mark.sampled(36)
def test_structure_through_elementwise_functions(name, dtype):
    fn, all_matrices = FUNCTIONS[name], list(matrices(dtype))
    repeated = list(smaller(dtype))
    pairs = [((x, a),) for x, a in all_matrices]
    if fn.arity == 2:
        pairs = [
            *itertools.product(all_matrices, [*all_matrices, *repeated]),
            *itertools.product(repeated, all_matrices),
        ]
    for operands in pairs:
        y = applied(fn, [x for x, _ in operands])
        if y is not None:
            assert not wrong([y], {id(source(x)): a for x, a in operands})


OTHERS = {
    "sum": lambda x: tg.sum(x, 0),
    "sum of all": tg.sum,
    "prod": lambda x: tg.prod(x, -1),
    "max": lambda x: tg.max(x, -1),
    "min": lambda x: tg.min(x, 0),
    "max of some": lambda x: tg.max(x, -1, initial=0, where=tg.constant([True, False, True, False])),
    "any": lambda x: tg.any(x, -1),
    "argmax": lambda x: tg.argmax(x, -1),
    "argsort": tg.argsort,
    "sort": tg.sort,
    "cumsum": lambda x: tg.cumsum(x, -1),
    "cumprod": lambda x: tg.cumprod(x, -1),
    "cummax": lambda x: tg.cumulative_max(x, -1) if hasattr(tg, "cumulative_max") else tg.sort(x),
    "mean": lambda x: tg.mean(x, -1),
    "var": lambda x: tg.var(x, -1),
    "softmax": tg.softmax,
    "logsumexp": lambda x: tg.logsumexp(x, -1),
    "log_softmax": tg.log_softmax,
    "transpose": tg.matrix_transpose,
    "turned": lambda x: tg.transpose(x, (2, 0, 1)),
    "led": lambda x: tg.transpose(x, (0, 1, 2)) if x.type.ndim == 3 else x,
    "reshape": lambda x: tg.reshape(x, (4, 8)),
    "expand": lambda x: x[:, None],
    "expand last": lambda x: x[..., None],
    "squeeze": lambda x: x[:1][0],
    "broadcast": lambda x: tg.broadcast_to(x[0], (3, *x[0].shape)),
    "broadcast column": lambda x: tg.broadcast_to(x[0, :, :1], (4, 4)),
    "flip": tg.flip,
    "slice": lambda x: x[:, 1:, 1:],
    "take": lambda x: tg.take(x, tg.constant([0, 3, -1]), 1),
    "gather": lambda x: x[0, tg.constant([0, 1]), tg.constant([2, 3])],
    "concatenate": lambda x: tg.concatenate([x, x], 1),
    "stack": lambda x: tg.stack([x, x]),
    "set": lambda x: x.at[:, 0].set(0),
    "add at": lambda x: x.at[:, 0].add(x[:, 1]),
    "scatter": lambda x: x.at[0, tg.constant([0, 0]), tg.constant([1, 1])].add(1),
    "scatter max": lambda x: x.at[0, tg.constant([0, 0])].max(x[0, 1]),
    "diagonal": lambda x: tg.diagonal(x[0]),
    "tril": tg.tril,
    "where": lambda x: tg.where(tg.less(x, 1), x, 0),
    "shape": lambda x: tg.axis_length(x, -1) + 1,
    "nonzero": lambda x: tg.flatnonzero(x),
    "named": lambda x: tg.named(x, "n"),
    "stopped": lambda x: tg.stop_gradient(x),
    "specified": lambda x: tg.specify_shape(x, (2, 4, 4)),
    "searched": lambda x: tg.searchsorted(tg.constant([0.0, 1.0]), tg.cast(x, "float64")),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OTHERS)
def test_facts_of_other_ops_are_true(name, dtype):
    elements = [
        (assumed("x", dtype, (None, None, None), names), np.resize(array, (2, 4, 4)).astype(array.dtype))
        for names, array in kinds_of(dtype)
    ]
    for x, array in (*elements, *matrices(dtype)):
        y = applied(OTHERS[name], [x])
        if y is not None:
            assert not wrong([y], {id(source(x)): array})


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float64", "complex64"])
def test_facts_of_matrix_products_are_true(dtype):
    found = list(matrices(dtype))
    for (x, a), (y, b) in itertools.product(found, found):
        for v in (tg.matmul(x, y), tg.matmul(x, tg.matrix_transpose(x)), tg.matmul(tg.matrix_transpose(x), x)):
            assert not wrong([v], {id(source(x)): a, id(source(y)): b})
        z = tg.matmul(x, tg.matrix_transpose(tg.conjugate(x))) if dtype in COMPLEX else x
        assert not wrong([z], {id(source(x)): a})


BUILT = {
    "eye": (lambda n: tg.eye(n), {"diagonal", "unit_diagonal", "nonnegative"}),
    "eye of ints": (lambda n: tg.eye(n, dtype="int8"), {"diagonal", "unit_diagonal"}),
    "eye above": (lambda n: tg.eye(n, k=1), {"upper_triangular"}),
    "eye below": (lambda n: tg.eye(n, k=-2), {"lower_triangular"}),
    "tri": (lambda n: tg.tri(n), {"lower_triangular", "unit_diagonal"}),
    "tri below": (lambda n: tg.tri(n, k=-1), {"lower_triangular"}),
    "tri above": (lambda n: tg.tri(n, k=1), {"unit_diagonal"}),
    "tril": (lambda n: tg.tril(tg.broadcast_to(tg.vector("v"), (n, n))), {"lower_triangular"}),
    "tril above": (lambda n: tg.tril(tg.broadcast_to(tg.vector("v"), (n, n)), 1), {"lower_hessenberg"}),
    "tril far above": (lambda n: tg.tril(tg.broadcast_to(tg.vector("v"), (n, n)), 2), set()),
    "triu": (lambda n: tg.triu(tg.broadcast_to(tg.vector("v"), (n, n))), {"upper_triangular"}),
    "triu of tril": (lambda n: tg.triu(tg.tril(tg.broadcast_to(tg.vector("v"), (n, n)))), {"diagonal"}),
    "diag": (lambda n: tg.diag(tg.broadcast_to(tg.scalar("v"), (n,))), {"diagonal"}),
    "diag above": (lambda n: tg.diag(tg.broadcast_to(tg.scalar("v"), (n,)), 1), {"upper_triangular", "tridiagonal"}),
    "diag below": (lambda n: tg.diag(tg.broadcast_to(tg.scalar("v"), (n,)), -1), {"lower_triangular", "tridiagonal"}),
    "diag far": (lambda n: tg.diag(tg.broadcast_to(tg.scalar("v"), (n,)), 2), {"upper_triangular"}),
    "three diagonals": (lambda n: 2 * tg.eye(n) - tg.eye(n, k=1) - 3 * tg.eye(n, k=-1), {"tridiagonal"}),
    "triu of tril above": (
        lambda n: tg.triu(tg.tril(tg.broadcast_to(tg.vector("v"), (n, n)), 1), -1),
        {"tridiagonal"},
    ),
    "turned hessenberg": (
        lambda n: tg.matrix_transpose(tg.tril(tg.broadcast_to(tg.vector("v"), (n, n)), 1)),
        {"upper_hessenberg"},
    ),
    "diagonal times three": (
        lambda n: tg.diag(tg.arange(n)) @ tg.cast(tg.eye(n, k=1), "int64"),
        {"tridiagonal", "upper_triangular"},
    ),
    "zeros": (lambda n: tg.zeros((n, n)), {"diagonal", "finite"}),
    "columns": (lambda n: tg.cast(tg.arange(n)[None, :] < tg.arange(n)[:, None], "float64"), {"lower_triangular"}),
    "rows": (lambda n: tg.cast(tg.arange(n)[:, None] - 2 >= tg.arange(n)[None, :] - 1, "int8"), {"lower_triangular"}),
    "other rows": (lambda n: tg.cast(1 + tg.arange(n)[:, None] <= tg.arange(n)[None, :], "int8"), {"upper_triangular"}),
    "mask turned": (lambda n: tg.where(tg.tri(n, k=-1, dtype="bool"), 0.0, tg.eye(n)), {"diagonal"}),
    "square one": (lambda n: tg.where(tg.less(tg.arange(n)[:, None], 3), tg.tril(tg.ones((1, 1))), 1.0), set()),
}


@pytest.mark.parametrize("name", BUILT)
def test_the_structure_of_matrices_that_are_built(name):
    build, expected = BUILT[name]
    n = tg.scalar("n", "int64")
    y = build(n)
    assert expected <= facts_of(y)
    for size in (1, 4):
        made = [v for v in inputs_of([y]) if v is not n]
        given = {id(v): np.full((size,) if v.type.ndim else (), np.nan) for v in made}
        assert not wrong([y], {id(n): np.asarray(size), **given})


@pytest.mark.parametrize("seed", range(40))
def test_facts_of_random_programs_are_true(seed):
    rng = random.Random(seed)
    pool, given = [], {}
    for dtype in ("bool", "int8", "float64", "complex64"):
        for names, array in rng.sample(kinds_of(dtype), min(5, len(kinds_of(dtype)))):
            pool.append(assumed("x", dtype, (2, 4, 4), names))
            given[id(source(pool[-1]))] = np.resize(array, (2, 4, 4)).astype(array.dtype)
        for x, array in rng.sample(list(matrices(dtype)), 3):
            pool.append(tg.specify_shape(x, (2, 4, 4)))
            given[id(source(x))] = array
    for _ in range(60):
        fn = rng.choice([*FUNCTIONS.values(), *OTHERS.values()])
        count = getattr(fn, "arity", 1)
        y = applied(fn, [rng.choice(pool[-12:] if rng.random() < 0.7 else pool) for _ in range(count)])
        if y is not None and y.type.shape == (2, 4, 4):
            pool.append(y)
    assert not [w for w in wrong(pool, given) if w[1] not in ("symmetric", "hermitian")]  # rounding is amplified


def test_matrices_of_one_element_teach_nothing_about_others():
    facts_of(tg.exp(tg.tensor("one", shape=(1, 1))))
    assert not holds(tg.exp(tg.matrix("x")), "symmetric")


def test_a_number_times_a_symmetric_matrix_is_symmetric_on_either_side():
    s, u = tg.scalar("s"), tg.matrix("u")
    whole = u @ u.T
    assert all(holds(v, "symmetric") for v in (s * whole, whole * s, s * whole + whole, whole / (s + s * whole)))
    assert not holds(s * u, "symmetric")


def test_programs_of_facts_are_walked_without_recursion():
    y = x = tg.vector("x")
    for _ in range(50_000):
        y = tg.exp(y)
    assert holds(y, "nonnegative")
    assert not holds(x, "nonnegative")


def test_what_follows_from_facts():
    assert closure(["positive"], "float64") == {"positive", "nonnegative", "nonzero", "no_negative_zero"}
    assert "symmetric" in closure(["positive_definite"], "float32")
    assert "symmetric" not in closure(["positive_definite"], "complex64")
    assert closure(["lower_triangular", "upper_triangular"], "int8") >= {"diagonal", "symmetric"}
    assert closure(["nonnegative", "nonzero"], "float64") >= {"positive"}
    assert {"finite", "whole", "not_nan", "nonnegative"} <= closure([], "uint8")


def test_facts_of_constants_are_read_from_their_elements():
    c = tg.constant([[1.0, 0, 0], [2, np.inf, 0], [1, 0, 0]])
    elements = {"not_nan", "nonnegative", "whole", "no_negative_zero"}
    assert facts_of(c) == elements | {"lower_triangular", "lower_hessenberg"}
    assert holds(tg.constant([1.5, 2.0]), "finite")
    assert not holds(tg.constant([1.0, np.nan]), "not_nan")
    assert facts_of(tg.constant(np.zeros((0, 3)))) >= ELEMENT


def test_every_fact_has_a_sentence():
    assert all(fact.text.endswith(".") for fact in FACTS.values())
