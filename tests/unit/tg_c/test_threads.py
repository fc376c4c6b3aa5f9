"""Loops that threads share: the same results, however they are divided, and a pool that nothing can hang."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import tg
from tg.errors import BoundsError, OptionError
from tg_c import division, pool
from tg_conformance.case import items
from tg_conformance.run import Runner

pytestmark = pytest.mark.sampled(2)

LENGTHS = (0, 1, 2, 3, 63, 64, 65, 129, 1000, 4097)
SHAPES = ((0, 3), (3, 0), (1, 1), (2, 5), (3, 7), (17, 64), (65, 3), (2, 300), (300, 2))
EPS = np.finfo("float64").eps


@pytest.fixture
def anything(monkeypatch):
    """Every loop is divided that can be, into as many parts as there may be."""
    monkeypatch.setattr(division, "LEAST", 1)
    monkeypatch.setattr(division, "PART", 1)


def both(inputs, outputs, threads=3):
    """The function on one thread, and on several."""
    alone = tg.function(inputs, outputs, backend="c")
    return alone, tg.function(inputs, outputs, backend=tg.backend("c", threads=threads))


def drawn(*shape, dtype="float64"):
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


def softmax(x):
    e = tg.exp(x - tg.max(x, axis=-1)[:, None])
    return e / tg.sum(e, axis=-1)[:, None]


def run(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(8)
@pytest.mark.parametrize("threads", [0, -1])
def test_no_thread_is_refused(threads):
    with pytest.raises(OptionError, match=f"backend 'c': option threads: found {threads}, needed at least 1"):
        tg.backend("c", threads=threads)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("threads", [True, 2.0, "2", None])
def test_threads_are_a_number(threads):
    with pytest.raises(OptionError, match="option threads: found"):
        tg.backend("c", threads=threads)


def test_the_text_mentions_threads_only_where_a_loop_may_be_shared():
    x, small = tg.vector("x"), tg.tensor("x", "float64", (100,))
    for alone, shared, differ in (
        (*both([x], tg.exp(x)), True),
        (*both([small], tg.exp(small)), False),
        (*both([x], x[0]), False),
    ):
        assert "tg_share" not in alone.source(full=True)
        assert (alone.source(full=True) != shared.source(full=True)) == differ


# --- results ---------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "bool", "float16", "complex128"])
@pytest.mark.usefixtures("anything")
def test_elements_are_the_same_bit_for_bit(dtype):
    x = tg.vector("x", dtype=dtype)
    alone, shared = both([x], [~x & x[::-1] if dtype == "bool" else x * x + x, x == x[::-1]])
    assert "tg_share" in shared.source(full=True)
    for n in LENGTHS:
        given = drawn(n, dtype=dtype)
        for a, b in zip(alone(given), shared(given), strict=True):
            assert a.tobytes() == b.tobytes()


@pytest.mark.sampled(8)
@pytest.mark.parametrize("threads", [2, 5])
@pytest.mark.usefixtures("anything")
def test_rows_are_the_same_bit_for_bit(threads):
    x = tg.matrix("x")
    outputs = [softmax(x), tg.sum(tg.exp(x), axis=-1), tg.exp(x) * x[:, 0][:, None], tg.max(tg.sin(x), axis=-1)]
    for output in outputs:
        alone, shared = both([x], output, threads)
        assert "tg_share" in shared.source(full=True)
        for rows, columns in SHAPES:
            if columns and rows > 1:
                given = drawn(rows, columns)
                assert alone(given).tobytes() == shared(given).tobytes()


@pytest.mark.parametrize("threads", [2, 5])
@pytest.mark.usefixtures("anything")
def test_loops_over_steps_are_the_same_bit_for_bit(threads):
    """Each thread has memory of its own for what the way forward traces for the way back."""
    rate, start, x = tg.vector("rate"), tg.vector("start"), tg.vector("x")

    def both_of(rate, start):
        (c, total), ys = tg.scan(lambda c, v: ((tg.tanh(rate * c[0] + v), c[1] + c[0] ** 2), c[0]), (start, 0.0), x)
        return total + c, ys, tg.grad(total + c, rate)

    alone, shared = both([rate, start, x], list(tg.vmap(both_of)(rate, start)), threads)
    assert "divided_" in shared.source(full=True)
    for lanes in LENGTHS:
        given = [drawn(lanes), drawn(lanes)[::-1].copy(), drawn(6)]
        for a, b in zip(alone(*given), shared(*given), strict=True):
            assert a.tobytes() == b.tobytes()


@pytest.mark.usefixtures("anything")
def test_steps_that_hand_nothing_on_are_shared():
    x, w = tg.vector("x"), tg.scalar("w")
    alone, shared = both([x, w], tg.map(lambda v: tg.exp(v) * w, x))
    assert "tg_share" in shared.source(full=True)
    for n in LENGTHS:
        assert alone(drawn(n), 0.7).tobytes() == shared(drawn(n), 0.7).tobytes()


@pytest.mark.usefixtures("anything")
def test_loops_over_steps_of_matrices_are_the_same_bit_for_bit():
    """The outer of two axes, along which one operand is repeated, is what threads share."""
    c, w, x = tg.matrix("c"), tg.tensor("w", shape=(1, None)), tg.vector("x")
    wide = tg.broadcast_to(w, c.shape)
    alone, shared = both([c, w, x], list(tg.scan(lambda c, v: (c * wide + v, c), c, x)))
    for rows, columns in SHAPES:
        if columns > 1:
            given = [drawn(rows, columns), drawn(1, columns), drawn(4)]
            for a, b in zip(alone(*given), shared(*given), strict=True):
                assert a.tobytes() == b.tobytes()


@pytest.mark.usefixtures("anything")
def test_sums_are_within_their_bound_and_the_same_at_every_call():
    x = tg.vector("x")
    alone, shared = both([x], [tg.sum(x * x), tg.sum(tg.sin(x)), tg.sum(tg.exp(x)) * 2])
    for n in (*LENGTHS, 300_001):
        given = drawn(n)
        first = shared(given)
        bound = (2 * 64 + np.log2(n + 1)) * EPS
        for a, b, term in zip(alone(given), first, (given**2, np.sin(given), 2 * np.exp(given)), strict=True):
            assert abs(a - b) <= bound * np.abs(term).sum()
        assert all(np.array_equal(first, shared(given)) for _ in range(20))


@pytest.mark.usefixtures("anything")
def test_what_is_not_a_sum_of_floats_is_joined_exactly():
    x, k = tg.vector("x"), tg.vector("k", dtype="int64")
    outputs = [tg.all(tg.sin(x) < 1.5), tg.any(tg.exp(x) > 8), tg.sum(k * k), tg.max(k * 3 - k * k), tg.min(k - 2 * k)]
    alone, shared = both([x, k], outputs)
    assert shared.source(full=True).count("divided_loop") > 2
    for n in LENGTHS[1:]:
        given = drawn(n), np.arange(n) % 41 - 20
        assert [y.item() for y in alone(*given)] == [y.item() for y in shared(*given)]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ["float64", "float16", "int64", "complex128"])
@pytest.mark.parametrize("axis", [0, 2, (0, 2)])
@pytest.mark.usefixtures("anything")
def test_reductions_that_leave_axes_are_the_same_bit_for_bit(dtype, axis):
    x = tg.tensor("x", dtype, (None, None, None))
    outputs = [tg.sum(x, axis=axis), tg.prod(x, axis=axis)]
    if dtype != "complex128":
        outputs += [tg.max(x, axis=axis), tg.argmax(x, axis=1)]
    alone, shared = both([x], outputs)
    assert "divided_loop" in shared.source(full=True)
    for shape in ((1000, 7, 5), (5, 300, 2), (2, 3, 700), (129, 65, 3)):
        given = drawn(*shape, dtype=dtype)
        for a, b in zip(alone(given), shared(given), strict=True):
            assert a.tobytes() == b.tobytes()


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "bool"])
@pytest.mark.usefixtures("anything")
def test_reductions_of_all_elements_join_what_parts_have_met(dtype):
    x = tg.matrix("x", dtype=dtype)
    alone, shared = both([x], [tg.max(x), tg.min(x[::-1].T), tg.sum(x), tg.sum(x[:, ::2])])
    assert shared.source(full=True).count("divided_loop") > 3
    for shape in ((1, 4097), (4097, 1), (70, 65), (3, 5)):
        given = drawn(*shape, dtype=dtype)
        first = shared(given)
        assert all(np.array_equal(a, b) for a, b in zip(first, shared(given), strict=True))
        *exact, a, b = (abs(y.astype("float64") - z) for y, z in zip(alone(given), first, strict=True))
        bound = 0 if dtype in ("int64", "bool") else np.finfo(dtype).eps * np.abs(given).astype("float64").sum()
        assert (*exact, a <= bound, b <= bound) == (0, 0, True, True)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.usefixtures("anything")
def test_sums_of_complex_numbers_are_of_all_parts(dtype):
    x = tg.matrix("x", dtype=dtype)
    _, shared = both([x], [tg.sum(x), tg.sum(x[::-1].T), tg.sum(x[:, ::2]), tg.sum(x * x)])
    assert shared.source(full=True).count("divided_loop") > 3
    rng = np.random.default_rng(0)
    for shape in ((1, 4097), (4097, 1), (70, 65), (3, 5)):
        real, imag = rng.integers(-9, 10, (2, *shape))
        every = [*map(np.sum, (real, imag))], [*map(np.sum, (real[:, ::2], imag[:, ::2]))]
        square = np.sum(real * real - imag * imag), np.sum(2 * real * imag)
        found = shared((real + 1j * imag).astype(dtype))
        assert [(y.real, y.imag) for y in found] == [*map(tuple, (every[0], *every, square))]


@pytest.mark.usefixtures("anything")
def test_nan_in_any_part_is_seen():
    x = tg.vector("x")
    _, shared = both([x], [tg.max(x * 2), tg.sum(x * x), tg.any(tg.isnan(x * 2))])
    for place in (0, 63, 64, 2500, 4096):
        given = drawn(4097)
        given[place] = np.nan
        assert [bool(y) if y.dtype == bool else bool(np.isnan(y)) for y in shared(given)] == [True] * 3


@pytest.mark.usefixtures("anything")
def test_an_index_that_is_outside_is_reported_from_any_part():
    x, k = tg.vector("x"), tg.vector("k", dtype="int64")
    alone, shared = both([x, k], tg.exp(x[k]) * 2)
    assert "tg_share" in shared.source(full=True)
    for place in (0, 70, 2500, 4096):
        at = np.arange(4097) % 50
        assert np.array_equal(alone(drawn(50), at), shared(drawn(50), at))
        at[place] = 50
        with pytest.raises(BoundsError, match="index 50 is out of bounds for an axis of length 50"):
            shared(drawn(50), at)


@pytest.mark.usefixtures("anything")
def test_elements_that_are_added_at_positions_are_added_in_the_order_of_the_parts():
    x, k, base = tg.vector("x"), tg.vector("k", dtype="int64"), tg.vector("base")
    alone, shared = both([base, k, x], base.at[k].add(tg.exp(x) * 2))
    given = drawn(7), np.arange(4097) % 7, drawn(4097)
    found = shared(*given)
    np.testing.assert_allclose(found, alone(*given), rtol=1e-13)
    assert all(np.array_equal(found, shared(*given)) for _ in range(20))


@pytest.mark.long
@pytest.mark.usefixtures("anything")
@pytest.mark.parametrize("family", ["reduction", "elementwise/exponential"])
def test_the_cases_of_a_family_pass(family):
    picked = [one for one in items(tg.plugin.registry().backend("c"), "sparse") if one.case.family == family]
    with np.errstate(all="ignore"):
        found = Runner("c", lambda ids: None, ["threads=3"]).run(picked)
    assert len(found) > 30
    assert [(one.id, one.detail) for one in found if one.outcome == "failed"] == []


def scattered():
    a, x, i = tg.vector("a"), tg.vector("x"), tg.vector("i", dtype="int64")
    z = x - a[i]
    return [a, x, i], [tg.sum(z * z), *tg.grad(tg.sum(z * z), [a, x])]


@pytest.mark.sampled(8)
@pytest.mark.usefixtures("anything")
@pytest.mark.parametrize("places", [1, 7, 1024, 1025])
def test_what_is_scattered_in_parts_is_the_same_at_each_call(places):
    alone, shared = both(*scattered())
    assert "tg_share" in shared.source(full=True)
    for n in LENGTHS:
        index = np.random.default_rng(n).integers(-places, places, n)
        for at in (index, np.sort(index)):
            arrays = drawn(places), drawn(n), at
            wants, found = alone(*arrays), shared(*arrays)
            for want, one in zip(wants, found, strict=True):
                np.testing.assert_allclose(one, want, rtol=1e-11, atol=1e-12)
            for _ in range(5):
                assert all(np.array_equal(a, b) for a, b in zip(shared(*arrays), found, strict=True))


@pytest.mark.usefixtures("anything")
def test_a_position_outside_is_refused_in_parts_too():
    _, shared = both(*scattered())
    at = np.zeros(5000, "int64")
    for bad in (-8, 7):
        at[4321] = bad
        with pytest.raises(BoundsError, match=f"index {bad} is out of bounds for an axis of length 7"):
            shared(drawn(7), drawn(5000), at)


@pytest.mark.long
def test_parts_of_loops_that_are_given_tables_of_numbers_are_the_same_bit_for_bit():
    x = tg.vector("x")
    y = x
    for k in range(100):
        y = tg.sin(y) * (1 / (k % 11 + 2)) + x * (k / 512 + 0.25) - 0.25 * (k % 3 + 1)
    alone, shared = both([x], [y, tg.grad(tg.sum(y), x)])
    assert "divided_" in shared.source()
    assert "const f64 *doubles" in shared.source()
    for n in (1, 4097, 50_000):
        for found, right in zip(shared(drawn(n)), alone(drawn(n)), strict=True):
            np.testing.assert_array_equal(found, right)


# --- the pool --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("anything")
def test_there_are_as_many_threads_as_any_function_may_have():
    x = tg.vector("x")
    for threads in (2, 4, 3):
        both([x], tg.exp(x), threads)[1](drawn(1000))
        assert pool.threads() >= threads - 1
    assert pool.threads() >= 3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_vector_beside_a_matrix_that_is_read_once(dtype):
    shapes = (1, 5003), (5003, 1021), (1021, 5003)  # large enough to be shared
    row, y, turned = (tg.tensor(name, dtype, shape) for name, shape in zip("xyz", shapes, strict=True))
    alone, shared = both([row, y, turned], [row @ y, row @ turned.T, y.T @ row.T, turned @ row.T])
    arrays = [drawn(*shape, dtype=dtype) for shape in shapes]
    for found, wanted in zip(shared(*arrays), alone(*arrays), strict=True):
        assert np.array_equal(found, wanted)
    assert shared.source().count("= tg_parts(") == 4


@pytest.mark.usefixtures("anything")
@pytest.mark.usefixtures("anything")
@pytest.mark.parametrize("rows", [None, 131])
def test_panels_of_a_matrix_are_the_same_however_they_are_divided(rows):
    x, y = tg.matrix("x", shape=(rows, 300)), tg.matrix("y", shape=(250, 300))
    alone, shared = both([x, y], [x @ y.T, tg.tanh(x @ y.T)])
    b = np.rint(3 * drawn(250, 300))  # whole: BLAS, of few rows, adds parts up in another order
    for m in (1, 2, 131) if rows is None else (131,):
        a = np.rint(3 * drawn(m, 300))
        for one, several in zip(alone(a, b), shared(a, b), strict=True):
            assert np.array_equal(one, several)


def test_many_threads_may_call_at_once():
    x = tg.vector("x")
    alone, shared = both([x], [tg.exp(x), tg.sum(x * x)], threads=2)
    arrays = [drawn(n) for n in range(1000, 1016)]
    wants = [shared(a) for a in arrays]
    assert all(np.array_equal(alone(a)[0], want[0]) for a, want in zip(arrays, wants, strict=True))
    wrong = []

    def call(a, want):
        for _ in range(300):
            y, total = shared(a)
            if not (np.array_equal(y, want[0]) and total == want[1]):
                wrong.append(a.size)

    callers = [threading.Thread(target=call, args=one) for one in zip(arrays, wants, strict=True)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert not any(caller.is_alive() for caller in callers)
    assert wrong == []


COMMON = """
import os, sys, threading, warnings
import numpy as np
import tg
from tg_c import division, pool
warnings.simplefilter("ignore")
division.LEAST = division.PART = 1
x = tg.vector("x")
f = tg.function([x], [tg.exp(x), tg.sum(x * x)], backend=tg.backend("c", threads=3))
given = np.linspace(-1, 1, 20000)
"""

FORKED = (
    COMMON
    + """
want = f(given)
assert pool.threads() == 2
stop = threading.Event()

def call():
    while not stop.is_set():
        f(given)

callers = [threading.Thread(target=call) for _ in range(3)]
for caller in callers:
    caller.start()
codes = []
for _ in range(30):
    child = os.fork()
    if child == 0:
        assert pool.threads() == 0
        found = f(given)
        right = np.array_equal(found[0], want[0]) and found[1] == want[1] and pool.threads() == 2
        if right and (grandchild := os.fork()) == 0:
            found = f(given)
            os._exit(0 if np.array_equal(found[0], want[0]) and pool.threads() == 2 else 1)
        os._exit(0 if right and os.waitpid(grandchild, 0)[1] == 0 else 1)
    codes.append(os.waitpid(child, 0)[1])
stop.set()
for caller in callers:
    caller.join()
found = f(given)
print(set(codes), np.array_equal(found[0], want[0]), pool.threads())
"""
)


def test_a_child_that_is_forked_while_threads_are_at_work_has_threads_of_its_own():
    assert run(FORKED) == "{0} True 2\n"


# No memory is left for the stack of another thread.
FULL = (
    COMMON
    + """
import resource
assert pool.threads() == 0
alone = tg.function([x], [tg.exp(x), tg.sum(x * x)], backend="c")
want = alone(given)
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (4 << 20), -1))
for _ in range(50):
    found = f(given)
    assert np.array_equal(found[0], want[0]) and abs(found[1] - want[1]) < 1e-9
print(pool.threads())
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
f(given)
print(pool.threads())
"""
)


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system for the size of a process")
def test_where_no_thread_can_be_made_the_caller_does_it_all():
    assert run(FULL) == "0\n2\n"


@pytest.mark.skipif(sys.platform != "linux", reason="chooses the processors of a process")
def test_where_there_is_one_processor_the_caller_does_it_all():
    script = """
want = f(given)
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
print(all(np.array_equal(f(given)[0], want[0]) and f(given)[1] == want[1] for _ in range(100)))
"""
    assert run(COMMON + script) == "True\n"


def test_a_process_ends_while_threads_are_at_work():
    script = (
        "threading.Thread(target=lambda: [f(given) for _ in iter(int, 1)], daemon=True).start()\nf(given)\nprint('end')"
    )
    assert run(COMMON + script) == "end\n"


def test_a_unit_without_a_pool_runs_its_parts_by_itself(anything, monkeypatch):
    monkeypatch.setattr("tg_c.unit.Unit._function", lambda unit, name: None)
    x = tg.vector("x")
    alone, shared = both([x], tg.exp(x))
    assert np.array_equal(alone(drawn(1000)), shared(drawn(1000)))


# --- convolutions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("x", "w", "groups"),
    [((4, 8, 30, 30), (40, 8, 3, 3), 1), ((1, 8, 40, 40), (200, 8, 3, 3), 1), ((2, 200, 60, 60), (200, 1, 3, 3), 200)],
    ids=["images", "outer channels", "groups"],
)
def test_convolutions_are_the_same_however_they_are_divided(anything, x, w, groups, known):
    images, kernel = (tg.tensor(n, shape=s if known else (None,) * 4) for n, s in (("x", x), ("w", w)))
    y = tg.nn.conv2d(images, kernel, padding=1, stride=2, groups=groups)
    alone, shared = both([images, kernel], [y, *tg.grad(tg.sum(y * y), [images, kernel])])
    assert "divided_" in shared.source(full=True)
    for a, b in zip(alone(drawn(*x), drawn(*w)), shared(drawn(*x), drawn(*w)), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize(
    ("x", "w", "groups"),
    [((4, 8, 30, 30), (40, 8, 3, 3), 1), ((1, 8, 40, 40), (200, 8, 3, 3), 1), ((2, 200, 60, 60), (200, 1, 3, 3), 200)],
    ids=["images", "outer channels", "groups"],
)
def test_epilogues_are_the_same_however_convolutions_are_divided(anything, x, w, groups):
    images, kernel, shift = (tg.tensor(n, shape=s) for n, s in (("x", x), ("w", w), ("b", w[:1])))
    y = tg.relu(tg.nn.conv2d(images, kernel, shift, padding=1, groups=groups))
    alone, shared = both([images, kernel, shift], y * y + 1)
    assert "WithEpilogue" in [node.op.name for node in shared.graph.nodes]
    assert "divided_" in shared.source(full=True)
    given = drawn(*x), drawn(*w), drawn(*w[:1])
    assert np.array_equal(alone(*given), shared(*given))


# --- attention -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
def test_attention_is_the_same_however_its_heads_are_divided(anything, known):
    shapes = ((3, 6, 130, 13), (3, 3, 150, 13), (3, 3, 150, 13))
    q, k, v = (tg.tensor(shape=s if known else (None,) * 4) for s in shapes)
    y = tg.nn.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    alone, shared = both([q, k, v], [y, *tg.grad(tg.sum(y * y), [q, k, v])])
    assert shared.source(full=True).count("divided_") > 1
    arrays = [drawn(*s) for s in shapes]
    for a, b in zip(alone(*arrays), shared(*arrays), strict=True):
        assert np.array_equal(a, b)
