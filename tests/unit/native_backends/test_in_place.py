"""Updates in the memory of old values, and donated inputs: the same results, and nothing that others see is written."""

import numpy as np
import pytest

import tg
from tg.functions import lending

pytestmark = pytest.mark.sampled(2)
N = 37  # no multiple of the lanes of a vector


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.fixture(autouse=True)
def lend_small_values(monkeypatch):
    monkeypatch.setattr(lending, "WORTH", 0)


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
