"""Donated inputs: results in the memory of arguments, and nothing that others see is written."""

import typing

import numpy as np
import pytest

import tg
from tests.unit.native_backends.test_in_place import N, address, numbers, updating
from tg.functions import lending

pytestmark = pytest.mark.sampled(2)


class Picky(typing.NamedTuple("Picky", [("x", object)])):
    """A tuple of one thing that cannot be an array of ones."""

    __slots__ = ()

    def __new__(cls, x):
        1 / (not isinstance(x, np.ndarray))
        return super().__new__(cls, x)


@pytest.fixture(autouse=True)
def lend_small_values(monkeypatch):
    monkeypatch.setattr(lending, "WORTH", 0)


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
