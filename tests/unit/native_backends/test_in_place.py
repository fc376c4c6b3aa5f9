"""Updates in the memory of old values, and donated inputs: the same results, and nothing that others see is written."""

import gc
import os
import signal
import threading
import time
import typing

import numpy as np
import pytest

import tg
from tests.interrupts.signalled import alarmed
from tg import turns
from tg.functions import lending
from tg.functions.shared import Value, snapshots

pytestmark = pytest.mark.sampled(2)
N = 37  # no multiple of the lanes of a vector


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.fixture(autouse=True)
def lend_small_values(monkeypatch):
    monkeypatch.setattr(lending, "WORTH", 0)


class Picky(typing.NamedTuple("Picky", [("x", object)])):
    """A tuple of one thing that cannot be an array of ones."""

    __slots__ = ()

    def __new__(cls, x):
        1 / (not isinstance(x, np.ndarray))
        return super().__new__(cls, x)


def address(shared):
    """Where the value lies that backend c reads, seen without keeping anything."""
    value = shared.snapshot
    return value.natives.get("c", value.array).ctypes.data


def updating(updates, outputs=(), inputs=(), **options):
    f = tg.function(list(inputs), list(outputs), updates=updates, backend="c", **options)
    f.reused = [(k, j) for k, j in f.programs.main.executable.reuses]
    return f


def both(build, values, calls=3):
    """A function on backend c that makes the outputs and values in some calls that the reference makes.

    Args:
        build: gives outputs and updates for shared variables of these values.
    """
    found = []
    for backend in ("c", "perform"):
        shared = [tg.shared(v) for v in values]
        outputs, updates = build(*shared)
        f = tg.function([], outputs, updates=updates, backend=backend)
        results = [f() for _ in range(calls)]
        found.append(([np.array(a) for r in results for a in r], [s.get_value() for s in shared], f))
    for ours, theirs in zip(found[0][0] + found[0][1], found[1][0] + found[1][1], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    return found[0][2]


# --- where a new value lies ------------------------------------------------------------------------------------------


def test_a_step_of_descent_writes_into_the_old_array():
    w, g = tg.shared(numbers(N, 5), "w"), tg.matrix("g")
    f = updating({w: w - 0.1 * g}, inputs=[g])
    before, wanted = address(w), w.get_value()
    for k in range(4):
        f(numbers(N, 5, seed=k))
        wanted = wanted - 0.1 * numbers(N, 5, seed=k)
        assert address(w) == before
        np.testing.assert_allclose(w.get_value(), wanted, rtol=1e-15)


def test_whoever_holds_a_value_keeps_it():
    w = tg.shared(numbers(N), "w")
    f = updating({w: w * 2.0})
    f()
    for hold in (lambda: w.snapshot, lambda: w.snapshot.natives["c"], lambda: w.snapshot.natives["c"][3:]):
        held, before = hold(), address(w)
        kept = np.array(getattr(held, "numpy", held))
        f()
        assert address(w) != before
        np.testing.assert_array_equal(getattr(held, "numpy", held), kept)
        del held
        before = address(w)
        f()
        assert address(w) == before


def test_looking_at_a_value_does_not_keep_it():
    w = tg.shared(numbers(N), "w")
    f = updating({w: w + 1.0})
    f()
    before, copy = address(w), w.get_value()
    f()
    assert address(w) == before
    np.testing.assert_array_equal(w.get_value(), copy + 1)


def test_a_value_that_another_backend_has_seen():
    w = tg.shared(numbers(N), "w")
    f, g = updating({w: w + 1.0}), tg.function([], tg.sum(w), backend="perform")
    for _ in range(3):
        f()
        np.testing.assert_allclose(g(), w.get_value().sum(), rtol=1e-12)


def test_small_values_are_not_worth_it(monkeypatch):
    monkeypatch.setattr(lending, "WORTH", 1000)
    w, v = tg.shared(numbers(124), "w"), tg.shared(numbers(125), "v")
    f, g = updating({w: w + 1.0}), updating({v: v + 1.0})
    before = address(w), address(v)
    f()
    g()
    assert (address(w) == before[0], address(v) == before[1]) == (False, True)


def test_a_few_elements_of_a_large_vector():
    w, i, v = tg.shared(np.zeros(1 << 20), "w"), tg.vector("i", dtype="int64"), tg.vector("v")
    f = updating({w: w.at[i].add(v)}, inputs=[i, v])
    s = updating({w: w.at[10:14].set(7.0)})
    before = address(w)
    f(np.array([3, 5, 3]), np.array([1.0, 2.0, 4.0]))
    s()
    assert address(w) == before
    wanted = np.zeros(1 << 20)
    wanted[[3, 5]], wanted[10:14] = (5.0, 2.0), 7.0
    np.testing.assert_array_equal(w.get_value(), wanted)


def test_scalars_and_several_variables_at_once():
    n, m, v = tg.shared(0, "n"), tg.shared(numbers(N), "m"), tg.shared(numbers(N, seed=1), "v")
    g = tg.vector("g")
    new_m, new_v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    w = tg.shared(numbers(N, seed=2), "w")
    f = updating({n: n + 1, m: new_m, v: new_v, w: w - 0.1 * new_m / tg.sqrt(tg.abs(new_v) + 1e-8)}, inputs=[g])
    variables = (n, m, v, w)
    before = [address(s) for s in variables]
    for k in range(3):
        f(numbers(N, seed=10 + k))
    assert [address(s) for s in variables] == before
    assert n.get_value() == 3


def test_a_value_that_stays_as_it_is():
    w, n = tg.shared(numbers(N), "w"), tg.shared(0, "n")
    f = updating({w: w, n: n + 1})
    wanted, before = w.get_value(), address(w)
    f()
    assert address(w) == before
    np.testing.assert_array_equal(w.get_value(), wanted)


# --- what reads the old value ----------------------------------------------------------------------------------------

SHIFTED = {
    "shifted": lambda w: tg.concatenate([w[1:], w[:1]]),
    "plus shifted": lambda w: w + tg.concatenate([w[1:], w[:1]]),
    "reversed": lambda w: w[::-1],
    "plus reversed": lambda w: w + w[::-1],
    "gathered": lambda w: w + w[tg.arange(w.shape[0]) * 7 % w.shape[0]],
    "normalised": lambda w: tg.exp(w - tg.max(w)) / tg.sum(tg.exp(w - tg.max(w))),
    "less its mean": lambda w: w - tg.mean(w),
    "running sum": lambda w: tg.cumsum(w, 0),
    "sorted": lambda w: tg.sort(w),
    "its part to another": lambda w: w.at[1:].set(w[:-1]),
    "its part added": lambda w: w.at[:-1].add(w[1:]),
    "scattered to itself": lambda w: w.at[tg.arange(w.shape[0])[::-1]].set(w),
    "some elements": lambda w: w.at[tg.as_variable(np.array([1, 0, 2]))].set(w[:3] * 2.0),
}


@pytest.mark.parametrize("name", SHIFTED)
def test_vectors_that_are_read_elsewhere(name):
    both(lambda w: ([], {w: SHIFTED[name](w)}), [numbers(N)])


SQUARE = {
    "transposed": lambda w: w.T,
    "plus transposed": lambda w: w + w.T,
    "product": lambda w: tg.matmul(w, w) / 10.0,
    "rows less their largest": lambda w: w - tg.max(w, axis=1)[:, None],
    "softmax of rows": lambda w: tg.softmax(w, axis=1),
    "softmax of columns": lambda w: tg.softmax(w, axis=0),
    "plus its first row": lambda w: w + w[0],
    "plus its first column": lambda w: w + w[:, 0][:, None],
    "diagonal": lambda w: w * tg.diagonal(w),
}


@pytest.mark.parametrize("name", SQUARE)
def test_matrices_that_are_read_elsewhere(name):
    both(lambda w: ([], {w: SQUARE[name](w)}), [numbers(19, 19)])


COLUMN = {
    "scaled": lambda b: tg.exp(-b) * 2.0,
    "with all others": lambda b: b + tg.sum(tg.sin(b.T * b), axis=1, keepdims=True),
    "largest of products": lambda b: tg.max(b.T * b - b, axis=1)[:, None],
    "normalised": lambda b: tg.exp(b) / tg.sum(tg.exp(b)),
    "plus reversed": lambda b: b + b[::-1],
    "of a vector": lambda b: (b[:, 0] * 2.0)[:, None],
}


@pytest.mark.parametrize("shape", [(N, 1), (1, N)])
@pytest.mark.parametrize("name", COLUMN)
def test_columns_and_rows_that_are_read_elsewhere(name, shape):
    def build(b):
        column = COLUMN[name](b if shape[1] == 1 else b.T)
        return [tg.sum(b, axis=0), b.T + 1.0], {b: column if shape[1] == 1 else column.T}

    both(build, [numbers(*shape)])


def test_axes_of_length_one_need_no_copies():
    b, g = tg.shared(numbers(1, N), "b"), tg.matrix("g")
    f = updating({b: b - tg.sum(g, axis=0, keepdims=True)}, inputs=[g])
    assert f.source().count("= tg_take(") == 1  # for the sum
    before, wanted = address(b), b.get_value() - 3.0
    f(np.ones((3, N)))
    assert address(b) == before
    np.testing.assert_allclose(b.get_value(), wanted, rtol=1e-15)


def test_rows_are_normalised_in_place():
    f = both(lambda w: ([], {w: tg.softmax(w, axis=1)}), [numbers(19, 23)])
    assert f.programs.main.executable.reuses


def test_rows_that_are_read_again_when_they_have_been_written():
    def build(w):
        y = w / tg.sum(w * w, axis=1)[:, None]
        return [tg.sum(tg.abs(w - tg.sum(w * y, axis=1)[:, None]), axis=1)], {w: y}

    both(build, [numbers(19, 23)])


def test_variables_that_read_one_another():
    values = [numbers(N), numbers(N, seed=1)]
    both(lambda a, b: ([], {a: b, b: a}), values)
    both(lambda a, b: ([], {a: a + b, b: a - b}), values)
    both(lambda a, b: ([], {a: a + b[::-1], b: b + a[::-1]}), values)
    both(lambda a, b: ([], {a: b, b: b}), values)
    both(lambda a, b: ([a, b], {a: a * 2.0, b: a}), values)


def test_outputs_that_are_old_values():
    f = both(lambda w: ([w, w[1:], w.T], {w: w * 2.0}), [numbers(8, 8)])
    assert not f.programs.main.executable.reuses
    both(lambda w: ([w * 2.0, tg.sum(w)], {w: w * 2.0}), [numbers(8, 8)])


def test_outputs_never_share_memory():
    w = tg.shared(numbers(N), "w")
    f = updating({w: w + 1.0}, [w + 1.0, w])
    first, second = f()
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(first, w.snapshot.natives["c"])
    kept = first.copy()
    f()
    np.testing.assert_array_equal(first, kept)


# --- calls that fail -------------------------------------------------------------------------------------------------


def test_a_check_that_fails_leaves_everything_as_it_was():
    w, b, i = tg.shared(numbers(N), "w"), tg.shared(numbers(N), "b"), tg.scalar("i", dtype="int64")
    f = updating({w: w * 2.0, b: b.at[i].set(w[i])}, inputs=[i])
    assert f.reused
    wanted, places = [s.get_value() for s in (w, b)], [address(s) for s in (w, b)]
    for _ in range(3):
        with pytest.raises(tg.errors.BoundsError):
            f(N)
        for s, value, place in zip((w, b), wanted, places, strict=True):
            np.testing.assert_array_equal(s.get_value(), value)
            assert address(s) == place
    f(3)
    np.testing.assert_array_equal(w.get_value(), wanted[0] * 2)


def test_lengths_that_do_not_fit_leave_everything_as_it_was():
    w, v, g = tg.shared(numbers(N), "w"), tg.shared(numbers(5), "v"), tg.vector("g")
    f = updating({w: w * 2.0, v: v + g}, inputs=[g])
    assert len(f.reused) == 2
    wanted = w.get_value()
    with pytest.raises(tg.errors.ShapeError):
        f(np.ones(6))
    np.testing.assert_array_equal(w.get_value(), wanted)
    assert w.snapshot is not None


def test_an_update_that_its_variable_does_not_take():
    w, v, g = tg.shared(numbers(N), "w"), tg.shared(numbers(5), "v", shape=(5,)), tg.vector("g")
    f = updating({w: w * 2.0, v: g}, inputs=[g], on_unused_input="ignore")
    wanted = w.get_value()
    with pytest.raises(tg.errors.ShapeError):
        f(np.ones(6))
    np.testing.assert_array_equal(w.get_value(), wanted)


def test_other_patterns_of_lengths():
    w, g = tg.shared(np.ones((3, 4)), "w"), tg.matrix("g")
    f = updating({w: w - g}, inputs=[g])
    for shape in ((3, 4), (1, 4), (3, 1), (3, 4), (1, 1)):
        f(np.ones(shape))
    np.testing.assert_array_equal(w.get_value(), np.full((3, 4), -4.0))


# --- threads ---------------------------------------------------------------------------------------------------------


def test_no_reader_sees_a_value_half_written():
    w = tg.shared(np.zeros(20000), "w")
    f, g = updating({w: w + 1.0}), tg.function([], [tg.min(w), tg.max(w)], backend="c")
    wrong, stop = [], threading.Event()

    def read():
        last = 0.0
        while not stop.is_set():
            low, high = g()
            copy = w.get_value()
            if not low == high >= last or copy.min() != copy.max() or copy[0] < low:
                wrong.append((low, high, copy.min(), copy.max(), last))
            last = float(high)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(2000):
        f()
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert w.get_value()[0] == 2000


def test_updates_of_several_threads_are_all_there():
    a, b = tg.shared(np.zeros(5000), "a"), tg.shared(np.zeros(5000), "b")
    up, down = updating({a: a + b * 0 + 1.0}), updating({b: b + a * 0 + 1.0, a: a + 1.0})

    def work():
        for _ in range(300):
            up()
            down()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (a.get_value() == 2400).all()
    assert (b.get_value() == 1200).all()


def test_a_reader_waits_while_a_value_is_lent():
    w = tg.shared(np.zeros(3), "w")
    f = updating({w: w + 1.0})
    f()
    found = []
    reader = threading.Thread(target=lambda: found.append(snapshots([w])[0].numpy[0]))
    for turn in turns.alone():
        turn.take(w.claim)
        loan, held = lending.Loan(turn, (w,), f.programs.main, list), snapshots([w])
        assert loan.begin((w,))
        assert w.has is loan
        assert w.snapshot is held[0]  # this thread finds the old value
        reader.start()
        while not w.patience:  # it has found that it has to wait
            time.sleep(0)
        assert found == []
        del held
    reader.join()
    assert found == [1.0]
    assert w.has is loan  # nobody has ended it, and nobody needs to
    loan = None
    f()
    assert type(w.has) is Value
    before = address(w)
    f()
    assert address(w) != before  # somebody had to wait
    w.patience = 0
    before = address(w)
    f()
    assert address(w) == before


@pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning")  # where a test before imported JAX
def test_a_child_process_finds_values_whole():
    w, stop = tg.shared(np.zeros(50000), "w"), threading.Event()
    f = updating({w: w + 1.0})

    def work():
        while not stop.is_set():
            f()

    thread = threading.Thread(target=work)
    thread.start()
    codes = []
    for _ in range(10):
        child = os.fork()
        if child == 0:
            code = 2
            try:
                signal.alarm(20)  # a child that waits for ever is told from others
                value = w.get_value()
                code = int(value.min() != value.max())
            finally:  # no test runs on here, whatever happens
                os._exit(code)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    stop.set()
    thread.join()
    assert codes == [0] * 10


def test_an_interrupt_leaves_all_old_values_or_all_new_ones(monkeypatch):
    w, v = tg.shared(numbers(N), "w"), tg.shared(numbers(N, seed=1), "v")
    f = updating({w: w * 2.0, v: tg.cumsum(v, 0)})
    assert len(f.reused) == 1
    wanted, fresh = [w.get_value() * 2, np.cumsum(v.get_value())], type(f)._fresh
    calls = iter([True, False])

    def interrupted(*args):
        if next(calls):
            raise KeyboardInterrupt
        return fresh(*args)

    monkeypatch.setattr(type(f), "_fresh", interrupted)
    before = address(w)
    with pytest.raises(KeyboardInterrupt):
        f()
    monkeypatch.undo()
    assert address(w) == before
    np.testing.assert_allclose([w.get_value(), v.get_value()], wanted, rtol=1e-15)


def test_interrupts_of_long_calls():
    w, v = tg.shared(np.zeros(1 << 15), "w"), tg.shared(np.zeros(1 << 15), "v")
    grown = w
    for _ in range(10):
        grown = tg.sin(grown) + grown
    f = updating({w: w + 1.0 + 0.0 * grown, v: v + 1.0})
    assert len(f.reused) == 2
    came = 0
    with alarmed() as alarm:
        for delay in np.linspace(1e-4, 0.005, 12):
            came += alarm.during(f, delay)
            assert turns.held() == []
            assert (w.get_value() == v.get_value()).all()
    assert came > 6  # Python ignores those that come in a finalizer


def test_nothing_is_lent_for_good():
    w = tg.shared(np.zeros(3), "w")
    f = updating({w: w + 1.0})
    with pytest.raises(tg.errors.InputError):
        f(1, 2)
    f()
    gc.collect()
    assert type(w.has) is Value
    assert turns.held() == []


# --- donated inputs --------------------------------------------------------------------------------------------------


def test_a_donated_array_is_given_back():
    x, y = tg.matrix("x"), tg.matrix("y")
    f = tg.function([x, y], x * 2.0 + y, backend="c", donate=x)
    a, b = numbers(5, N), numbers(5, N, seed=1)
    wanted = a * 2 + b
    found = f(a, b)
    assert found is a
    np.testing.assert_array_equal(found, wanted)
    g = tg.function([x, y], {"sum": tg.sum(x), "new": (x + y, x - y)}, backend="c", donate=[x, y])
    a, b = numbers(5, N), numbers(5, N, seed=1)
    wanted = a + b, a - b
    found = g(a, b)
    assert {id(v) for v in found["new"]} == {id(a), id(b)}
    np.testing.assert_array_equal(found["new"], wanted)


def caching(length, width):
    """A step that writes a row of a cache, and reads the cache through intermediate results on the heap."""
    cache, row, at = tg.matrix("cache", shape=(length, 16)), tg.vector("row", shape=(16,)), tg.scalar("at", "int64")
    first, second = tg.matrix("first", shape=(16, width)), tg.matrix("second", shape=(width, 16))
    written = cache.at[at].set(row)
    y = tg.tanh(tg.tanh(written[:2] @ first) @ second) @ first
    inputs = [cache, row, at, first, second]
    values = [numbers(*v.type.shape, seed=k) for k, v in enumerate(inputs) if k != 2]
    return inputs, [written, y], [*values[:2], np.int64(1), *values[2:]]


def test_memory_that_is_needed_after_a_write_is_taken_before_it():
    inputs, outputs, values = caching(4096, 2048)
    f = tg.function(inputs, outputs, backend="c", donate=inputs[:1])
    wanted = tg.function(inputs, outputs, backend="perform")(*values)
    for _ in range(2):
        found = f(*values)
        assert found[0] is values[0]
        assert np.array_equal(found[0], wanted[0])
        assert np.allclose(found[1], wanted[1], rtol=1e-12)


def test_a_cache_that_is_smaller_than_what_is_made_of_it_is_copied():
    inputs, outputs, values = caching(8, 2048)
    before = values[0].copy()
    found = tg.function(inputs, outputs, backend="c", donate=inputs[:1])(*values)
    assert found[0] is not values[0]
    assert np.array_equal(values[0], before)


def test_layers_are_updated_one_by_one():
    x, start = tg.matrix("x"), [numbers(64, 64, seed=k) / 8 for k in range(4)]

    def build(values):
        w = [tg.shared(value, f"w{k}", shape=value.shape) for k, value in enumerate(values)]
        y = x
        for v in w:
            y = tg.tanh(y @ v.T)
        return w, {v: v - 0.1 * slope for v, slope in zip(w, tg.grad(tg.sum(y), w), strict=True)}

    (found, updates), (wanted, same) = build(start), build(start)
    f, g = updating(updates, inputs=[x]), tg.function([x], [], updates=same, backend="perform")
    assert len(f.reused) == 4
    for count in (5, 3):
        f(numbers(count, 64))
        g(numbers(count, 64))
        for v, u in zip(found, wanted, strict=True):
            np.testing.assert_allclose(v.get_value(), u.get_value(), rtol=1e-12, atol=1e-14)


def test_what_can_be_interrupted_comes_before_what_is_written():
    w, n = tg.shared(numbers(N), "w"), tg.scalar("n", "int64")
    step = tg.while_loop(lambda c: c[0] < n, lambda c: [c[0] + 1, tg.sin(c[1]) @ tg.ones((9, 9))], [0, tg.ones(9)])
    f = updating({w: w + 1.0}, [step[1]], [n])
    assert f.reused == [(1, 1)]


def test_arrays_that_cannot_be_overwritten_are_left_alone():
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], x * 2.0 + y, backend="c", donate=[x, y])
    whole = numbers(2 * N)
    read_only = numbers(N)
    read_only.flags.writeable = False
    strided, view, single = numbers(N, 2)[:, 0], whole[:N], numbers(N).astype(np.float32)
    for a, b in (
        (read_only, read_only),
        (strided, strided),
        (view, whole[N // 2 : N // 2 + N]),
        (single, single),
        (list(whole[:N]), list(whole[:N])),
    ):
        first, second = np.array(a), np.array(b)
        np.testing.assert_allclose(f(a, b), first * 2 + second, rtol=1e-6)
        np.testing.assert_array_equal(a, first)
        np.testing.assert_array_equal(b, second)


def test_one_array_donated_twice():
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], x + y[::-1], backend="c", donate=x)
    a = numbers(N)
    kept = a.copy()
    np.testing.assert_array_equal(f(a, a), kept + kept[::-1])
    np.testing.assert_array_equal(a, kept)
    b = numbers(2 * N)
    own, part = b, b[:N]
    g = tg.function([x, y], x + tg.sum(y), backend="c", donate=x)
    np.testing.assert_allclose(g(own, part), numbers(2 * N) + numbers(2 * N)[:N].sum(), rtol=1e-12)
    np.testing.assert_array_equal(b, numbers(2 * N))


def test_donation_with_shared_variables():
    w, x = tg.shared(numbers(N), "w"), tg.vector("x")
    read = tg.function([x], x * w, backend="c", donate=x)
    update = updating({w: w + x}, [x - w], [x], donate=x)
    a, wanted = numbers(N, seed=1), numbers(N, seed=1) * numbers(N)
    found = read(a)
    assert found is a
    np.testing.assert_array_equal(found, wanted)
    a, before = numbers(N, seed=1), address(w)
    (found,) = update(a)
    assert found is a
    assert address(w) == before
    np.testing.assert_array_equal(found, numbers(N, seed=1) - numbers(N))
    np.testing.assert_array_equal(w.get_value(), numbers(N) + numbers(N, seed=1))


def test_a_failing_call_leaves_donated_arrays():
    x, i = tg.vector("x"), tg.scalar("i", dtype="int64")
    f = tg.function([x, i], x + x[i], backend="c", donate=x)
    a = numbers(N)
    with pytest.raises(tg.errors.BoundsError):
        f(a, N)
    np.testing.assert_array_equal(a, numbers(N))
    found = f(a, 3)
    np.testing.assert_array_equal(found, numbers(N) + numbers(N)[3])


def test_what_builds_the_results_may_raise():
    x = tg.vector("x")
    f = tg.function([x], Picky(x + 1.0), backend="c", donate=x)
    a = np.zeros(N)
    with pytest.raises(ZeroDivisionError):
        f(a)
    np.testing.assert_array_equal(a, np.ones(N))  # what has been written is not computed again


class Armed(typing.NamedTuple("Armed", [("x", object)])):
    """A tuple of one thing that raises what it is told to."""

    __slots__ = ()
    errors: typing.ClassVar = []
    raised: typing.ClassVar = []

    def __new__(cls, x):
        if cls.errors:
            cls.raised.append(cls.errors[0]("built"))
            raise cls.raised[-1]
        return super().__new__(cls, x)


@pytest.mark.parametrize("donates", [True, False])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, ValueError])
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_what_a_builder_of_results_raises_is_raised_and_nothing_is_built_twice(backend, error, donates, monkeypatch):
    x = tg.vector("x")
    f = tg.function([x], Armed(x + 1.0), backend=backend, donate=[x] if donates else [])
    monkeypatch.setattr(Armed, "errors", [error])
    monkeypatch.setattr(Armed, "raised", [])
    with pytest.raises(error) as caught:
        f(np.zeros(N))
    assert Armed.raised == [caught.value]
    monkeypatch.setattr(Armed, "errors", [])
    np.testing.assert_array_equal(f(np.zeros(N)).x, np.ones(N))


@pytest.mark.parametrize("backend", ["c", "numba", "perform"])
def test_every_backend_takes_donations(backend):
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], x + y, backend=backend, donate=[x])
    np.testing.assert_array_equal(f(np.ones(3), np.ones(3)), [2.0, 2.0, 2.0])


def test_what_is_no_input_cannot_be_donated():
    x, y = tg.vector("x"), tg.vector("y")
    with pytest.raises(tg.errors.InputError, match="donate: found <y"):
        tg.function([x], x + 1.0, donate=[y])
