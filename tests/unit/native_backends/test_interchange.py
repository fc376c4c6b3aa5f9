"""Steps that work on elements alone, run for some elements at a time: any number of them, whatever they carry."""

import functools

import numpy as np
import pytest

import tg
from tg_native.fusion.interchange import NAME
from tg_native.fusion.lane_loops import LaneLoop

pytestmark = pytest.mark.sampled(6)

LANES = [0, 1, 2, 7, 8, 9, 16, 33, 100]
STEPS = [0, 1, 2, 7]


def loops(f):
    """The loops over lanes of a compiled program."""
    return [node.op for node in f.graph.nodes if isinstance(node.op, LaneLoop)]


def compiled(inputs, outputs, backend, wanted=1):
    """A program with so many loops over lanes, and the same without."""
    f = tg.function(inputs, outputs, backend=backend)
    assert len(loops(f)) == wanted
    plain = tg.function(inputs, outputs, backend=backend, exclude=(NAME,))
    assert not loops(plain)
    return f, plain


def agree(both, arrays, wanted, rtol=1e-12):
    """The results are what NumPy's loop gives, and bit for bit those of steps on whole arrays."""
    for found, plain, right in zip(both[0](*arrays), both[1](*arrays), wanted, strict=True):
        assert found.dtype == right.dtype
        assert found.shape == right.shape
        assert found.tobytes() == plain.tobytes()
        np.testing.assert_allclose(found, right, rtol=rtol, atol=rtol)


def numbers(shape, seed=0, dtype="float64"):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@functools.cache
def batch_on(backend):
    """Carries and traces of a batch; the slices and one captured number are the same for all."""
    rate, start, x, shift = tg.vector("rate"), tg.vector("start"), tg.vector("x"), tg.scalar("shift")

    def one(rate, start):
        def step(carry, v):
            a, b = carry
            return (tg.tanh(rate * a + v), b + a * shift), (b, a - shift)

        (a, b), (ys, zs) = tg.scan(step, (start, 0.5), x)
        return a, b, ys, zs

    return compiled([rate, start, x, shift], list(tg.vmap(one)(rate, start)), backend)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("lanes", LANES)
def test_any_number_of_elements_and_steps(backend, lanes, steps):
    rate, start, x, shift = numbers(lanes, 1), numbers(lanes, 2), numbers(steps, 3), np.float64(0.7)
    a, b, ys, zs = start, np.full(lanes, 0.5), [], []
    for v in x:
        ys.append(b)
        zs.append(a - shift)
        a, b = np.tanh(rate * a + v), b + a * shift
    rows = [np.reshape(v, (steps, lanes)).T for v in (ys, zs)]
    agree(batch_on(backend), [rate, start, x, shift], [a, b, *rows])


@pytest.mark.parametrize("lanes", [1, 9, 33])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex128", "complex64", "int64", "int8"])
def test_dtypes_of_carries(backend, dtype, lanes):
    c, w, x = tg.vector("c", dtype), tg.vector("w", dtype), tg.matrix("x", dtype)
    last, ys = tg.scan(lambda c, v: (c * w + v, c), c, x)
    f = compiled([c, w, x], [last, ys], backend)
    given = [
        (numbers(shape, k) * 3).astype(dtype) if dtype.startswith("int") else numbers(shape, k).astype(dtype)
        for k, shape in enumerate((lanes, lanes, (5, lanes)))
    ]
    a, rows = given[0], []
    for v in given[2]:
        rows.append(a)
        a = a * given[1] + v
    agree(f, given, [a, np.array(rows)], {"float16": 1e-2, "float32": 1e-5, "complex64": 1e-5}.get(dtype, 1e-12))


@pytest.mark.parametrize("lanes", [1, 9, 33])
def test_conditions_and_counts_are_carried(backend, lanes):
    """A lane stops where it exceeds a bound, and counts its steps."""
    x, bound = tg.matrix("x"), tg.vector("bound")

    def step(carry, v):
        total, goes_on, count = carry
        after = tg.where(goes_on, total + v, total)
        return (after, goes_on & (after < bound), count + tg.cast(goes_on, "int32")), goes_on

    start = (tg.zeros_like(bound), bound > 0, tg.zeros_like(bound, dtype="int32"))
    (total, goes_on, count), trace = tg.scan(step, start, x)
    f = compiled([x, bound], [total, goes_on, count, trace], backend)
    values, bounds = np.abs(numbers((6, lanes))), np.abs(numbers(lanes, 1)) * 2
    a, on, n, rows = np.zeros(lanes), bounds > 0, np.zeros(lanes, "int32"), []
    for v in values:
        rows.append(on)
        a, n = np.where(on, a + v, a), n + on.astype("int32")
        on = on & (a < bounds)
    agree(f, [values, bounds], [a, on, n, np.array(rows)])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("lanes", [3, 8, 21])
def test_a_sequence_of_each_element_and_another_direction(backend, lanes, reverse):
    """The slices of a batch lie a row apart."""
    x, start = tg.matrix("x"), tg.vector("start")

    def one(x, start):
        return tg.scan(lambda c, v: (0.5 * c + v, c * v), start, x, reverse=reverse)

    f = compiled([x, start], list(tg.vmap(one)(x, start)), backend)
    values, c = numbers((lanes, 6)), numbers(lanes, 1)
    wanted, rows = c, np.empty((lanes, 6))
    for t in range(6)[:: -1 if reverse else 1]:
        rows[:, t] = wanted * values[:, t]
        wanted = 0.5 * wanted + values[:, t]
    agree(f, [values, c], [wanted, rows])
    views = [np.asfortranarray(values), np.repeat(c, 3)[::3]]
    agree(f, views, [wanted, rows])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("lanes", [1, 8, 21])
def test_one_vector_is_a_sequence_and_read_whole(backend, lanes, reverse):
    """As the first carry, as what each step reads whole, and in a second loop beside the traces of the first."""
    x = tg.vector("x")
    first, rows = tg.scan(lambda c, v: (0.5 * c + v * x, c - x), x, x, reverse=reverse)
    last, others = tg.scan(lambda c, v: (0.3 * c + v[0] * v[1], c + x), x, (rows, x))
    again, _ = tg.scan(lambda c, v: (0.5 * c + v * first, None), first, first)
    f = tg.function([x], [first, rows, last, others, again], backend=backend)
    plain = tg.function([x], [first, rows, last, others, again], backend=backend, exclude=(NAME,))
    assert loops(f)
    values = numbers(lanes)
    a, traces = values, np.empty((lanes, lanes))
    for t in range(lanes)[:: -1 if reverse else 1]:
        a, traces[t] = 0.5 * a + values[t] * values, a - values
    b, c, sums = values, a, np.empty((lanes, lanes))
    for t in range(lanes):
        b, sums[t] = 0.3 * b + traces[t] * values[t], b + values
        c = 0.5 * c + a[t] * a
    agree((f, plain), [values], [a, traces, b, sums, c])


def test_carries_that_change_places(backend):
    a, b, x = tg.vector("a"), tg.vector("b"), tg.vector("x")
    (c, d), ys = tg.scan(lambda c, v: ((c[1], c[0] + v), c[0]), (a, b), x)
    f = compiled([a, b, x], [c, d, ys], backend)
    for count in (0, 1, 4, 5):
        u, v, x_, rows = np.arange(9.0), np.arange(9.0) + 10, numbers(count), []
        given = [u, v, x_]
        for e in x_:
            rows.append(u)
            u, v = v, u + e
        agree(f, given, [u, v, np.reshape(rows, (count, 9))])


@pytest.mark.parametrize("shape", [(3, 5), (1, 9), (4, 1), (0, 3), (7, 32)])
def test_elements_of_matrices(backend, shape):
    """With a captured row and a captured column beside whole ones, strides of all kinds."""
    c, w, x = tg.matrix("c"), tg.matrix("w"), tg.tensor("x", shape=(None, None, None))
    last, ys = tg.scan(lambda c, v: (tg.sin(c) * w + v, c), c, x)
    f = tg.function([c, w, x], [last, ys], backend=backend)
    plain = tg.function([c, w, x], [last, ys], backend=backend, exclude=(NAME,))
    given = [numbers(shape), numbers(shape, 1), numbers((4, *shape), 2)]
    a, rows = given[0], []
    for v in given[2]:
        rows.append(a)
        a = np.sin(a) * given[1] + v
    for arrays in (given, [np.asfortranarray(v) for v in given]):
        agree((f, plain), arrays, [a, np.array(rows)])


@pytest.mark.parametrize("lanes", [1, 8, 13])
@pytest.mark.parametrize("steps", [0, 1, 6])
def test_a_gradient_is_one_loop_over_lanes(backend, lanes, steps):
    """The traces of the way forward are read on the way back, for some lanes at a time."""
    rate, start, x = tg.vector("rate"), tg.vector("start"), tg.vector("x")

    def both(rate, start):
        (c, total), _ = tg.scan(lambda c, v: ((tg.tanh(rate * c[0] + v), c[1] + c[0] ** 2), None), (start, 0.0), x)
        value = total + c
        return value, *tg.grad(value, [rate, start])

    f = compiled([rate, start, x], list(tg.vmap(both)(rate, start)), backend)
    (op,) = loops(f[0])
    assert len(op.stages) == 2
    assert not any(op.stages[0].stored[op.stages[0].carries :])
    r, s, v = numbers(lanes), numbers(lanes, 1), numbers(steps, 2)
    c, total, by_rate, by_start = s, np.zeros(lanes), np.zeros(lanes), np.ones(lanes)
    slopes = [np.zeros(lanes), np.zeros(lanes)]
    for each in v:
        total = total + c**2
        slopes = [slopes[0] + 2 * c * by_rate, slopes[1] + 2 * c * by_start]
        after = np.tanh(r * c + each)
        by_rate, by_start = (1 - after**2) * (c + r * by_rate), (1 - after**2) * r * by_start
        c = after
    agree(f, [r, s, v], [total + c, slopes[0] + by_rate, slopes[1] + by_start], 1e-10)


def test_many_steps_and_the_way_back(backend):
    start, x = tg.vector("start"), tg.tensor("x", shape=(10_000,))

    def both(start):
        value = tg.scan(lambda c, v: (0.9 * tg.sin(c) + v, None), start, x)[0]
        return value, tg.grad(value, start)

    f = compiled([start, x], list(tg.vmap(both)(start)), backend)
    given = [numbers(5), numbers(10_000, 1)]
    c, slope = given[0], np.ones(5)
    for v in given[1]:
        c, slope = 0.9 * np.sin(c) + v, slope * 0.9 * np.cos(c)
    agree(f, given, [c, slope], 1e-9)


def test_what_both_the_caller_and_a_later_loop_read(backend):
    """A trace that is a result as well, and a final carry that another loop begins with."""
    start, x, y = tg.vector("start"), tg.vector("x"), tg.vector("y")
    c, ys = tg.scan(lambda c, v: (c * v + 1, c), start, x)
    d, zs = tg.scan(lambda d, v: (d + v[0] * v[1], d), c, (ys, x), reverse=True)
    e, _ = tg.scan(lambda e, v: (e * v + d, None), d, y)
    f = compiled([start, x, y], [ys, zs, e], backend)
    given = [numbers(11), numbers(5, 1), numbers(3, 2)]
    a, rows, others = given[0], [], []
    for v in given[1]:
        rows.append(a)
        a = a * v + 1
    for row, v in zip(rows[::-1], given[1][::-1], strict=True):
        others.append(a)
        a = a + row * v
    b = a
    for v in given[2]:
        b = b * v + a
    agree(f, given, [np.array(rows), np.array(others[::-1]), b])


def test_what_lies_between_two_loops_runs_between_them(backend):
    """A sum over all elements, which the second loop captures, is of all that the first has computed."""
    start, x = tg.vector("start"), tg.vector("x")
    c, _ = tg.scan(lambda c, v: (c * 0.5 + v, None), start, x)
    total = tg.sum(c)
    d, _ = tg.scan(lambda d, v: (d * v + total, None), c, x)
    f = compiled([start, x], [d], backend, wanted=2)
    given = [numbers(21), numbers(5, 1)]
    a = given[0]
    for v in given[1]:
        a = a * 0.5 + v
    b = a
    for v in given[1]:
        b = b * v + a.sum()
    agree(f, given, [b])


def test_a_number_that_all_elements_share_may_be_carried_and_be_a_result(backend):
    start, x = tg.vector("start"), tg.vector("x")

    def program(last):
        (c, n, _k), _ = tg.scan(lambda c, v: ((c[0] * v + c[1], c[1] + 0.5, c[2] * 2), None), (start, 0.0, 1.0), x)
        return [c, n] if last else [c]

    both = compiled([start, x], program(last=False), backend)
    with_number = compiled([start, x], program(last=True), backend)
    given = [numbers(9), numbers(5, 1)]
    a = given[0]
    for t, v in enumerate(given[1]):
        a = a * v + 0.5 * t
    agree(both, given, [a])
    agree(with_number, given, [a, np.array(2.5)])


def test_a_length_that_is_a_number(backend):
    start, n = tg.vector("start"), tg.scalar("n", "int64")
    c, ys = tg.scan(lambda c, _: (c * 1.5 + 1, c), start, None, n)
    d = tg.scan(lambda d, _: (d * 1.5 + 1, None), start, None, n)[0]
    f = compiled([start, n], [c, ys], backend)
    g = compiled([start, n], [d], backend)
    for count in (0, 1, 5):
        a, rows = numbers(9), []
        for _ in range(count):
            rows.append(a)
            a = a * 1.5 + 1
        agree(f, [numbers(9), count], [a, np.reshape(rows, (count, 9))])
        agree(g, [numbers(9), count], [a])
    for h in (*f, *g):
        with pytest.raises(tg.ShapeError, match="-1"):
            h(numbers(9), -1)


@pytest.mark.parametrize("lanes", LANES)
def test_each_element_goes_on_for_as_long_as_it_does(backend, lanes):
    """What is outside of the last block would never end: 0 is not 1, however often it is halved."""
    f = hailstones(backend)
    given = np.arange(1, lanes + 1)
    wanted, most = np.zeros(lanes, int), np.copy(given)
    for k, n in enumerate(given.tolist()):
        while n != 1:
            n = 3 * n + 1 if n % 2 else n // 2  # noqa: PLW2901
            wanted[k], most[k] = wanted[k] + 1, max(most[k], n)
    agree(f, [given], [wanted, most])


@functools.cache
def hailstones(backend):
    """How many steps there are from a number to 1, and the greatest on the way, in a loop without a limit."""
    start = tg.vector("start", "int64")

    def one(start):
        def step(c):
            n, count, most = c
            after = tg.where(n % 2 == 1, 3 * n + 1, n // 2)
            return after, count + 1, tg.maximum(most, after)

        return tg.while_loop(lambda c: c[0] != 1, step, (start, 0, start))[1:]

    return compiled([start], list(tg.vmap(one)(start)), backend)


@pytest.mark.parametrize("lanes", [0, 1, 7, 8, 21])
@pytest.mark.parametrize("most", [1, 4, 50])
def test_a_limit_of_steps_and_the_gradient(backend, lanes, most):
    """Elements that the limit stops, those that have nothing to do, and NaN, beside one another."""
    a = tg.vector("a")

    def root(a):
        def goes_on(c):
            return tg.abs(c[0] - c[1]) > 1e-12 * tg.abs(c[0])

        return tg.while_loop(goes_on, lambda c: (0.5 * (c[0] + a / c[0]), c[0]), (a, 0.0 * a), max_steps=most)[0]

    def both(a):
        value = root(a)
        return value, tg.grad(value, a)

    f = compiled([a], list(tg.vmap(both)(a)), backend)
    given = np.abs(numbers(lanes)) + 0.01
    given[1:2], given[3:4] = np.nan, 0.0
    x, before, slope, old = given, 0.0 * given, np.ones(lanes), np.zeros(lanes)
    with np.errstate(all="ignore"):
        for _ in range(most):
            on = np.abs(x - before) > 1e-12 * np.abs(x)
            after, by = 0.5 * (x + given / x), 0.5 * (slope + (1 - given / x * slope) / x)
            x, before = np.where(on, after, x), np.where(on, x, before)
            slope, old = np.where(on, by, slope), np.where(on, slope, old)
    agree(f, [given], [x, slope], 1e-9)


def test_a_check_that_one_element_fails(backend):
    """The error is the reference's: of the first step in which some element fails."""
    start, x, table = tg.vector("start", "int64"), tg.vector("x", "int64"), tg.vector("table")

    def one(start):
        return tg.scan(lambda c, v: (c + v, table[c]), start, x)[1]

    outputs = tg.vmap(one)(start)
    f = tg.function([start, x, table], outputs, backend=backend)
    g = tg.function([start, x, table], outputs, backend="perform")
    good = [np.arange(9), np.ones(3, int), numbers(20)]
    wanted = good[2][np.arange(9)[:, None] + np.arange(3)]
    np.testing.assert_array_equal(f(*good), wanted)
    messages = []
    for h in (f, g):
        with pytest.raises(tg.IndexError if hasattr(tg, "IndexError") else IndexError) as caught:
            h(np.arange(9), np.ones(3, int), numbers(9))
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
