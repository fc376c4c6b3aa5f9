"""Loops in compiled code: memory of carries, views as operands, nothing at all, threads, callers side by side."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tg
from tg import plugin
from tg.graph.function_graph import FunctionGraph, freeze
from tg.link.linker import Request
from tg.ops.loops import While

pytestmark = pytest.mark.sampled(2)

VIEWS = {
    "contiguous": lambda a: a.copy(),
    "reversed": lambda a: a[::-1],
    "strided": lambda a: np.repeat(a, 3, 0)[::3],
    "transposed": lambda a: np.asfortranarray(a),
    "broadcast": lambda a: np.broadcast_to(a[:1] if len(a) else a, a.shape),
    "columns": lambda a: np.repeat(a, 2, -1)[..., ::2] if a.ndim > 1 else a,
}


def running(x, h):
    """An array as carry, two results for each step, by Python and NumPy."""
    c, rows, sums = h, [], []
    for v in x:
        rows.append(c * 2)
        c = np.tanh(c * 0.5 + v)
        sums.append(c.sum())
    return c, np.reshape(rows, (len(x), *h.shape)), np.array(sums)


def step(c, v):
    after = tg.tanh(c * 0.5 + v)
    return after, (c * 2, tg.sum(after))


@pytest.fixture
def loop(backend):
    x, h = tg.matrix("x"), tg.vector("h")
    c, (rows, sums) = tg.scan(step, h, x)
    return tg.function([x, h], [c, rows, sums], backend=backend)


def agree(found, right):
    for a, b in zip(found, right, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 6, 7])
def test_an_even_and_an_odd_number_of_steps(loop, count):
    """The carry goes to and fro between two places."""
    rng = np.random.default_rng(count)
    for width in (0, 1, 5, 64):
        x, h = rng.normal(size=(count, width)), rng.normal(size=width)
        kept = x.copy(), h.copy()
        agree(loop(x, h), running(x, h))
        assert np.array_equal(x, kept[0])
        assert np.array_equal(h, kept[1])


@pytest.mark.parametrize("view", VIEWS)
def test_views_as_sequences_and_as_what_is_captured(backend, view):
    x, w, y = tg.matrix("x"), tg.matrix("w"), tg.vector("y")
    total, ys = tg.scan(lambda c, v: (c + tg.sum(w * v[0] * v[1]), w[0] * v[1]), 0.0, (x[:, 0], y))
    f = tg.function([x, w, y], [total, ys], backend=backend)
    rng = np.random.default_rng(0)
    a, b, d = (VIEWS[view](rng.normal(size=shape)) for shape in ((5, 4), (3, 4), (5,)))
    agree(f(a, b, d), [np.sum(b.sum() * a[:, 0] * d), d[:, None] * b[0]])


def test_carries_that_change_places(backend):
    """Each is written where the other is read."""
    a, b, n = tg.vector("a"), tg.vector("b"), tg.scalar("n", "int64")
    (c, d, k, m), ys = tg.scan(lambda c, _: ((c[1], c[0], c[3], c[2]), (c[0], c[2])), (a, b, 1.0, 2.0), None, n)
    f = tg.function([a, b, n], [c, d, k, m, *ys], backend=backend)
    u, v = np.arange(3.0), np.arange(3.0) + 10
    for count in (0, 1, 2, 5):
        one, two = ((u, 1.0), (v, 2.0))[:: 1 if count % 2 == 0 else -1]
        rows = np.reshape([(u, v)[t % 2] for t in range(count)], (count, 3))
        right = [
            one[0],
            two[0],
            np.float64(one[1]),
            np.float64(two[1]),
            rows,
            np.array([1.0 + t % 2 for t in range(count)]),
        ]
        agree(f(u, v, count), right)


def test_results_that_are_given_twice_are_two_arrays(backend):
    x, h = tg.matrix("x"), tg.vector("h")
    (c, d), ys = tg.scan(lambda c, v: ((c[0] + v, c[0] + v), (c[0], c[0])), (h, h), x)
    f = tg.function([x, h], [c, d, *ys, c, h], backend=backend)
    a, b = np.ones((3, 2)), np.zeros(2)
    found = f(a, b)
    for k, one in enumerate(found):
        others = [v.copy() for v in found]
        one[...] = 77.0
        assert all(np.array_equal(v, w) for j, (v, w) in enumerate(zip(found, others, strict=True)) if j != k)
        one[...] = others[k]
    assert np.array_equal(a, np.ones((3, 2)))
    assert np.array_equal(b, np.zeros(2))


@pytest.mark.parametrize("count", [0, 1, 4, 5])
def test_donated_carries_and_sequences(backend, count):
    x, h = tg.matrix("x"), tg.vector("h")
    c, (rows, sums) = tg.scan(step, h, x)
    f = tg.function([x, h], [c, rows, sums], backend=backend, donate=[x, h])
    rng = np.random.default_rng(count)
    a, b = rng.normal(size=(count, 6)), rng.normal(size=6)
    right = running(a, b)
    for _ in range(2):
        agree(f(a.copy(), b.copy()), right)


def test_an_update_in_a_step(backend):
    """The carry is not written before it has been read."""
    j, h = tg.vector("j", "int64"), tg.vector("h")
    c, ys = tg.scan(lambda c, k: (c.at[k].add(c[-1] + 1), c), h, j)
    f = tg.function([j, h], [c, ys], backend=backend)
    places, start = np.array([0, 2, 2, 1, 2]), np.arange(3.0)
    now, rows = start.copy(), []
    for k in places:
        rows.append(now.copy())
        now[k] += now[-1] + 1
    agree(f(places, start), [now, np.array(rows)])
    assert np.array_equal(start, np.arange(3.0))


def test_a_branch_that_gives_an_operand(backend):
    x, p = tg.vector("x"), tg.scalar("p", "bool")
    y, z = tg.cond(p, lambda v: (v, v), lambda v: (v * 2, v), x)
    f = tg.function([x, p], [y, z, x], backend=backend)
    a = np.arange(3.0)
    for holds in (True, False):
        found = f(a, holds)
        agree(found, [a if holds else a * 2, a, a])
        found[0][...] = 9
        assert np.array_equal(a, np.arange(3.0))
        assert np.array_equal(found[1], a)


def test_a_status_is_cleared_between_calls(backend):
    x, j = tg.vector("x"), tg.vector("j", "int64")
    f = tg.function([x, j], tg.scan(lambda c, k: (c + x[k], c), 0.0, j), backend=backend)
    a = np.arange(4.0)
    for bad in ([0, 9], [-5, 1, 1]):
        with pytest.raises(tg.BoundsError, match=f"index {bad[1] if bad[1] == 9 else bad[0]} is out of bounds"):
            f(a, bad)
        agree(f(a, [3, 2]), [np.float64(5), np.array([0.0, 3.0])])


def test_memory_for_a_step_is_given_back(backend):
    """A step with large arrays, many times: what it takes does not grow."""
    import resource

    x, n = tg.vector("x"), tg.scalar("n", "int64")
    big = tg.scan(lambda c, _: (tg.sort(tg.sin(c) + x), tg.sum(tg.cumsum(c))), x, None, n)
    f = tg.function([x, n], [tg.sum(big[0]), tg.sum(big[1])], backend=backend)
    a = np.linspace(0, 1, 100_000)
    f(a, 2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    f(a, 100)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB; 100 steps of 0.8 MB each


def test_callers_side_by_side(backend):
    """One function, four threads, other numbers of steps."""
    x, h = tg.matrix("x"), tg.vector("h")
    c, (rows, sums) = tg.scan(step, h, x)
    limit = tg.while_loop(lambda s: s[0] < 40, lambda s: (s[0] * 1.5 + 1, s[1] + 1), (tg.sum(h * h), 0))
    f = tg.function([x, h], [c, rows, sums, *limit], backend=backend)
    faults = []

    def calls(seed):
        rng = np.random.default_rng(seed)
        for _ in range(60):
            count, width = rng.integers(0, 9), rng.integers(1, 40)
            a, b = rng.normal(size=(count, width)), rng.normal(size=width)
            size, number = np.sum(b * b), 0
            while size < 40:
                size, number = size * 1.5 + 1, number + 1
            try:
                *found, last, steps = f(a, b)
                agree(found, running(a, b))
                np.testing.assert_allclose(last, size, rtol=1e-12)
                assert steps == number
            except Exception as error:  # noqa: BLE001 (told below)
                faults.append(error)

    workers = [threading.Thread(target=calls, args=(seed,)) for seed in range(4)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert not faults


def test_threads_share_what_a_step_does():
    """Steps of C with large arrays: the same bits, but for the order of sums, however many threads there are."""
    x, h = tg.matrix("x"), tg.vector("h")
    c, (rows, sums) = tg.scan(step, h, x)
    one, two = (tg.function([x, h], [c, rows, sums], backend=tg.backend("c", threads=k)) for k in (1, 2))
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(5, 200_000)), rng.normal(size=200_000)
    (found, kept, totals), right = two(a, b), one(a, b)
    assert np.array_equal(found, right[0])
    assert np.array_equal(kept, right[1])
    np.testing.assert_allclose(totals, right[2], rtol=1e-11)
    np.testing.assert_allclose(one(a, b)[0], running(a, b)[0], rtol=1e-12, atol=1e-15)


def test_branches_of_other_lengths(backend):
    """The memory is as long as the first's: a longer one does not run, and the error names the lengths and the line."""
    x, y, p = tg.vector("x"), tg.vector("y"), tg.scalar("p", "bool")
    f = tg.function([x, y, p], tg.cond(p, lambda: x * 2, lambda: y), backend=backend)
    long, short = np.arange(1000.0), np.arange(3.0)
    assert np.array_equal(f(long, short, False), short)
    assert np.array_equal(f(short, short, True), short * 2)
    for a, b in ((long, short), (short, long)):
        with pytest.raises(
            tg.ShapeError, match=f"cond: a result of a branch: axis 0: lengths differ: {len(a)} and"
        ) as e:
            f(a, b, True)
        assert "test_loops.py" in str(e.value)
        assert "lambda: x * 2" in str(e.value)


def test_a_branch_that_computes_how_long_it_is_is_told(backend):
    x, k, p = tg.vector("x"), tg.scalar("k", "int64"), tg.scalar("p", "bool")
    y = tg.cond(p, lambda: x, lambda: x[:k])
    with pytest.raises(tg.NoRuleError, match=f"backend '{backend}' does not run tg.cond: values decide how long") as e:
        tg.function([x, k, p], y, backend=backend)
    assert str(e.value).count("lambda: x[:k]") == 2  # where it is made, and what is inside
    assert "hint: made before, or with size=, it has one length" in str(e.value)
    before = x[:k]
    f = tg.function([x, k, p], tg.cond(p, lambda: before * 2, lambda: before), backend=backend)
    assert f(np.arange(4.0), 2, True).tolist() == [0.0, 2.0]


def test_a_step_whose_result_is_as_long_as_a_number_says_is_told(backend):
    x, k = tg.vector("x"), tg.scalar("k", "int64")
    ys = tg.scan(lambda c, v: (c, tg.arange(k) * v), 0.0, x)[1]
    with pytest.raises(tg.NoRuleError, match=f"backend '{backend}' does not run tg.scan: values decide how") as e:
        tg.function([x, k], ys, backend=backend)
    assert "tg.arange(k) * v" in str(e.value)
    places = tg.arange(k)
    f = tg.function([x, k], tg.scan(lambda c, v: (c, places * v), 0.0, x)[1], backend=backend)
    assert f([1.0, 2.0], 3).tolist() == [[0.0, 1.0, 2.0], [0.0, 2.0, 4.0]]


ENDLESS = """
import os, signal, sys
import tg

signal.alarm(400)  # ends what is not interrupted
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has background jobs ignore it
x, n = tg.scalar("x"), tg.scalar("n", "int64")
endless = tg.while_loop(lambda c: c < 10.0, lambda c: tg.sin(c), x)
ends = lambda k, c: tg.while_loop(lambda d: (d < 10.0) & (k < n), lambda d: tg.sin(d), c)
in_a_step, _ = tg.scan(lambda c, k: (ends(k, c), None), x, tg.arange(3))
count = tg.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + 1e-300 * x), (0, 1.0))
a = tg.shared(1.0, "a")
f, g, h = (tg.function([x, n], y, backend=sys.argv[1], on_unused_input="ignore") for y in (endless, in_a_step, count))
u = tg.function([x, n], [], updates={a: a + endless}, backend=sys.argv[1], on_unused_input="ignore")
for each in (f, g, h, u):
    each(20.0, 0)


def interrupted(call):
    print("ready", flush=True)
    try:
        call(1.0, 2)
    except KeyboardInterrupt:
        return True
    return False


print(interrupted(f), interrupted(g), interrupted(u), float(a.get_value()) == 21.0, float(f(12.0, 0)) == 12.0)
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
print("ready", flush=True)
while not seen:  # a call of a second or more
    steps, total = h(1.0, 300_000_000)
    print(int(steps) == 300_000_000, float(total) == 1.0) if seen else None
"""


@pytest.mark.long
def test_an_endless_loop_is_interrupted(backend):
    """At once or in a second, and a handler that does not raise changes nothing but the time."""
    shown = []
    with subprocess.Popen([sys.executable, "-c", ENDLESS, backend], stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            if line == "ready\n":
                time.sleep(0.5)
                child.send_signal(signal.SIGINT)
            else:
                shown.append(line)
    assert child.returncode == 0
    assert shown == ["True True True True True\n", "True True\n"]


LONG = """
import signal, sys
import numpy as np
import tg

signal.alarm(400)  # ends what is not interrupted
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has background jobs ignore it
x, n, w = tg.vector("x"), tg.scalar("n", "int64"), tg.matrix("w")
counted, _ = tg.scan(lambda c, _: (tg.sin(c) + c, None), 0.5, None, n)


def deep(c, v):
    for _ in range(150):
        c = tg.sin(c) + v
    return c, None


read, _ = tg.scan(deep, 0.5, x)
rows, _ = tg.scan(lambda c, _: (tg.tanh(c + tg.sum(c)), None), x, None, n)
inside, _ = tg.scan(lambda c, _: (tg.scan(lambda d, v: (tg.sin(d) + v, None), c, x)[0], None), 0.5, None, n)
turned, _ = tg.scan(lambda c, _: (tg.tanh(w @ c), None), x, None, n)
a = tg.shared(1.0, "a")
functions = [
    tg.function([x, w, n], y, backend=sys.argv[1], on_unused_input="ignore")
    for y in (counted, rows, inside, turned, read)
]
functions.append(tg.function([x, w, n], [], updates={a: a + counted}, backend=sys.argv[1], on_unused_input="ignore"))


def interrupted(f):
    given = np.linspace(0.0, 1.0, 1000), np.eye(1000)
    f(*given, 3)
    if f is functions[4]:  # as many steps as numbers, which no memory holds: two minutes
        given = np.zeros(10**8), np.eye(2)
    before = a.get_value()
    print("ready", flush=True)
    try:
        f(*given, 10**12)
    except KeyboardInterrupt:
        return float(a.get_value()) == before
    return False


for f in functions:
    print(interrupted(f))
"""


@pytest.mark.long
def test_many_steps_are_interrupted(backend):
    """Of numbers, of arrays, of loops, of products and of numbers that are read; nothing has changed."""
    shown = []
    with subprocess.Popen([sys.executable, "-c", LONG, backend], stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            if line == "ready\n":
                time.sleep(0.5)
                child.send_signal(signal.SIGINT)
            else:
                shown.append(line)
    assert child.returncode == 0
    assert shown == ["True\n"] * 6


LANES = """
import signal, sys
import numpy as np
import tg

signal.alarm(400)  # ends what is not interrupted
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has background jobs ignore it
v, n = tg.vector("v"), tg.scalar("n", "int64")
chain = tg.vmap(lambda c: tg.scan(lambda c, _: (tg.sin(c) + c, None), c, None, n)[0])(v)
ends = tg.vmap(lambda c: tg.while_loop(lambda c: c < n, lambda c: tg.sin(c) + 1e-300, c))(v)
a = tg.shared(np.ones(40), "a")
kinds = {"threads": 2} if sys.argv[1] == "c" else {}
backends = [tg.backend(sys.argv[1]), tg.backend(sys.argv[1], **kinds)]
functions = [tg.function([v, n], y, backend=b) for b in backends for y in (chain, ends)]
functions.append(tg.function([v, n], [], updates={a: a + chain[:40]}, backend=sys.argv[1]))

def interrupted(f, few, many):
    f(np.linspace(0.1, 0.9, 40), few)
    before = a.get_value()
    print("ready", flush=True)
    try:
        f(np.linspace(0.1, 0.9, 10**6 if many < 10**6 else 40), many)
    except KeyboardInterrupt:
        return bool((a.get_value() == before).all())
    return False


for f in functions:
    print(interrupted(f, 0 if f in (functions[1], functions[3]) else 3, 10**12))
print(interrupted(functions[0], 3, 10**5))
"""


@pytest.mark.long
def test_lanes_are_interrupted(backend):
    """Within a second or two of one block of lanes, of many blocks, of what threads share; nothing has changed."""
    shown = []
    with subprocess.Popen([sys.executable, "-c", LANES, backend], stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            if line == "ready\n":
                time.sleep(0.5)
                child.send_signal(signal.SIGINT)
            else:
                shown.append(line)
    assert child.returncode == 0
    assert shown == ["True\n"] * 6


def shared_by(threads, inputs, outputs):
    """A function of C with so many threads."""
    return tg.function(inputs, outputs, backend=tg.backend("c", threads=threads))


def of_loops(row, rate):
    c, _ = tg.scan(lambda c, v: (tg.tanh(c * rate + v), None), 0.0, row)
    return c, tg.while_loop(lambda c: c < 50.0, lambda c: c * 1.1 + 1, tg.abs(c))


def of_matrices(m):
    a = m @ m.T + 3 * tg.eye(3)
    return tg.linalg.solve(a, m[0]), tg.linalg.cholesky(a), tg.linalg.eigvalsh(a)


def of_draws(key):
    a, b = tg.unstack(tg.random.split(key))
    walk = tg.fori_loop(0, 3, lambda i, c: c + tg.random.uniform(tg.random.fold_in(b, i)), 0.0)
    return tg.random.normal(a, shape=(4,)), tg.random.permutation(b, 5), walk


@pytest.mark.long
def test_threads_share_the_steps_of_a_map():
    """Steps with loops, matrices and draws in them give the same bits, and so do gradients: no step needs another."""
    x, w = tg.matrix("x"), tg.tensor("w", "float64", (None, 3, 3))
    keys, rate = tg.matrix("keys", "uint32"), tg.scalar("rate")
    made = [tg.map(lambda row: of_loops(row, rate), x), tg.map(of_matrices, w), tg.map(of_draws, keys)]
    outputs = [y for each in made for y in each]
    gradient = tg.grad(tg.sum(outputs[0]) + tg.sum(outputs[2]), [x, w, rate])
    one, three = (shared_by(k, [x, w, keys, rate], [*outputs, *gradient]) for k in (1, 3))
    assert three.source(full=True).count("static void divided_graph") >= 4
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 700):
        words = rng.integers(0, 2**32, (n, 2)).astype("uint32")
        given = rng.normal(size=(n, 50)), rng.normal(size=(n, 3, 3)), words, 0.7
        for a, b in zip(one(*given), three(*given), strict=True):
            np.testing.assert_array_equal(a, b, strict=True)


@pytest.mark.parametrize("failing", [(), (2999,), (2000, 700), (0, 1)], ids=str)
def test_of_shared_steps_the_first_is_told_that_fails(failing):
    j, x = tg.vector("j", "int64"), tg.matrix("x")

    def checked(t):
        return tg.sum(x[t % 7]) * tg.fori_loop(0, t, lambda i, c: c + x[i, 0], 0.0)

    f = shared_by(3, [j, x], tg.map(checked, j))
    times, rows = np.full(3000, 20), np.ones((40, 30))
    times[list(failing)] = [41, 55][: len(failing)]
    if not failing:
        np.testing.assert_array_equal(f(times, rows), np.full(3000, 600.0))
        return
    with pytest.raises(tg.BoundsError, match=f"step  40 of the loop in step {min(failing)}\n"):
        f(times, rows)


def test_two_chains_go_in_step(backend):
    """They are joined where loops are written, and give what each gives alone."""
    x, y = tg.vector("x"), tg.vector("y")
    a = tg.scan(lambda c, v: (c * 0.5 + v, None), 0.5, x)[0]
    b = tg.scan(lambda c, v: (tg.tanh(c * v), c), 0.25, x)[1]
    f = tg.function([x, y], [a, b, tg.grad(tg.sum(b * y), x)], backend=backend)
    assert "scan_chains" in tg.explain(f).counts
    given, weights = np.linspace(-1, 1, 9), np.linspace(0.5, 2, 9)

    def by_hand(xs):
        c, found = 0.25, []
        for v in xs:
            found.append(c)
            c = np.tanh(c * v)
        return np.array(found)

    total = 0.5
    for v in given:
        total = total * 0.5 + v
    moved = given + 1e-20j * np.eye(9)
    wanted = [np.sum(by_hand(row) * weights).imag / 1e-20 for row in moved]
    agree(f(given, weights), [np.float64(total), by_hand(given), np.array(wanted)])
    nothing = np.zeros(0)
    agree(f(nothing, nothing), [np.float64(0.5), nothing, nothing])


@pytest.mark.parametrize("known", [(None, 3), (3, None)], ids=["by_the_step", "by_the_condition"])
def test_what_is_asked_may_know_other_lengths_than_what_is_done(backend, known):
    """As where a value that leaves one of the two has a length outside that it has not inside."""
    x, w = tg.tensor("x", "float64", (3,)), tg.tensor("w", "float64", (3,))
    asked, stepped = ([tg.tensor("c", "float64", (n,)), tg.tensor("v", "float64", (n,))] for n in known)
    condition = freeze(asked, [tg.sum(asked[0]) < tg.sum(asked[1])])
    body = freeze(stepped, [stepped[0] + 1])
    given = FunctionGraph.of([x, w], [While(condition, body, 1)(x, w)[0]]).freeze()
    graph = given.with_nodes([node._replace(op=While(condition, body, 1)) for node in given.nodes])
    registry = plugin.registry()
    request = Request(backend, registry.backend(backend).options(), registry.rules(backend).get)
    (found,), status = registry.linker(backend).compile(graph, request).run([np.arange(3.0), np.full(3, 4.0)])
    assert not status
    np.testing.assert_array_equal(found, np.arange(3.0) + 3)


@pytest.mark.parametrize("mode", ["off", "default"])
def test_a_step_whose_result_has_its_length_by_a_requirement(backend, mode):
    """What states the length goes once its check is there, and is stated again where nothing else says it."""
    x = tg.vector("x")
    n = x.shape[0]

    def shifted(i):
        return tg.specify_shape(tg.concatenate([tg.zeros(i), x[: n - i]]), (n,))

    with tg.config(mode=mode):
        rows, last = tg.map(shifted, tg.arange(3)), tg.scan(lambda c, i: (c - shifted(i), None), x, tg.arange(3))[0]
        f = tg.function([x], [rows, -tg.map(lambda i: -shifted(i), tg.arange(3)), last], backend=backend)
    for values in (np.arange(1.0, 6.0), np.ones(3)):
        wanted = np.array([[*np.zeros(i), *values[: len(values) - i]] for i in range(3)])
        for result, right in zip(f(values), (wanted, wanted, values - wanted.sum(0)), strict=True):
            np.testing.assert_array_equal(result, right)
    with pytest.raises(tg.ShapeError, match="lengths differ"):
        f(np.ones(1))


NUMBERS = {
    "zeros": (lambda n, x: tg.zeros(n), np.zeros(3)),
    "arange": (lambda n, x: tg.arange(n), np.arange(3)),
    "eye": (lambda n, x: tg.eye(n), np.eye(3)),
    "steps": (lambda n, x: tg.scan(lambda c, _: (c * 2, c), 1.0, None, length=n)[1], [1, 2, 4]),
    "slice": (lambda n, x: x[n : n + 2], [3, 4]),
    "index": (lambda n, x: x[n], 3),
    "reshape": (lambda n, x: tg.reshape(x, (n, -1)), [[0, 1], [2, 3], [4, 5]]),
    "branch": (lambda n, x: tg.cond(n > 2, lambda: n * x, lambda: x), 3 * np.arange(6)),
    "while": (lambda n, x: tg.while_loop(lambda c: c < n, lambda c: c + 2, tg.constant(0)), 4),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_read_of_an_array_serves_as_one(backend, name):
    """As a size, a bound, a condition, however it was read: nothing is rewritten."""
    i, table, k, x = tg.vector("i", "int64"), tg.matrix("t", "int64"), tg.scalar("k", "int64"), tg.vector("x")
    expression, wanted = NUMBERS[name]
    read = [
        tg.take(i, k, axis=0),
        tg.take(tg.take(table, k, axis=0), 0, axis=0),
        tg.take(tg.where(i > 2, i, 2), 1, axis=0),
    ]
    with tg.config(mode="off"):
        results = [expression(n, x) for n in read]
        f = tg.function([i, table, k, x], results, backend=backend, on_unused_input="ignore")
    for result in f(np.array([2, 3, 4]), np.arange(6).reshape(2, 3), 1, np.arange(6.0)):
        np.testing.assert_array_equal(result, wanted)
