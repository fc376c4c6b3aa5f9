"""Drawn programs of loops give what Python's loops over NumPy give; `python -m tests.enumerate.loops` draws more."""

import numpy as np
import pytest

import tg
from tests.enumerate.loop_kinds import TgWide
from tests.enumerate.loops import FORMS, DifferenceError, compared, run
from tg import plugin


def native():
    """The backends that generate code of their own."""
    found = (plugin.registry().backend(s.name) for s in plugin.registry().backends() if s.is_available)
    return [b.name for b in found if b.raises and b.requires]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("first", [1000, 1003, 1008, 1011])
def test_drawn_programs_on_the_reference(first):
    faults, count = run(range(first, first + 3), "perform")
    assert not faults
    assert count >= 3


@pytest.mark.sampled(2)
@pytest.mark.parametrize("backend", native())
def test_drawn_programs_in_compiled_code(backend):
    faults, count = run(range(2000, 2003), backend)
    assert not faults
    assert count >= 3


FOUND = {  # seeds, and the forms of their programs
    "two loops backwards over one length, which the first had computed in its steps for the second": (5049, ()),
    "a length of a slice that was taken from a trace": (1000127, ()),
    "lengths that are compared in a branch, and behind it": (3044, ()),
    "lengths of which what a backend's rules make shows that they must be equal": (20200114, ("guarded", "taps")),
    "a loop that had a status alone, and then no check": (3004, ("wide", "taps")),
}

FAILING = 4360  # a program whose check fails in the third step


@pytest.mark.parametrize(("seed", "forms"), FOUND.values(), ids=FOUND)
@pytest.mark.parametrize("backend", ["perform", *native()])
def test_what_was_found_once(seed, forms, backend):
    assert compared(seed, backend, forms)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", FORMS)
def test_programs_of_every_form(form):
    count = sum(compared(seed, "perform", (form,)) for seed in range(7000, 7003))
    assert count >= 3


@pytest.mark.parametrize(
    "first", [pytest.param(k, marks=pytest.mark.nightly if k > 3000 else pytest.mark.long) for k in (3000, 3020, 3040)]
)
@pytest.mark.parametrize("backend", ["perform", *native()])
def test_more_drawn_programs(backend, first):
    faults, _ = run(range(first, first + 20), backend)
    assert not faults


@pytest.mark.long
def test_a_wrong_loop_is_noticed(monkeypatch):
    """The comparison sees a loop that goes the other way."""

    def turned(f, init, xs, length, reverse, types, empty, checkpoint=None):
        return tg.scan(f, init, xs or None, length, reverse=not reverse)

    monkeypatch.setattr("tests.enumerate.loop_programs.Tg.scan", turned)
    assert any("DifferenceError" in text for seed in range(4000, 4040, 2) for text in run([seed], "perform")[0])


@pytest.mark.parametrize("late", [1, 100])
def test_a_check_of_another_step_is_noticed(monkeypatch, late):
    """The comparison sees a check that tells of the wrong step."""

    def wrong(value, condition, text, step):
        return tg.assert_(value, condition, text, step + late)  # noqa: PT009

    monkeypatch.setattr("tests.enumerate.loop_programs.Tg.checked", wrong)
    with pytest.raises(AssertionError):
        compared(FAILING, "perform", ("guarded",))


def test_a_check_that_never_fails_is_noticed(monkeypatch):
    monkeypatch.setattr("tests.enumerate.loop_programs.Tg.checked", lambda value, *_: value)
    with pytest.raises(AssertionError):
        compared(FAILING, "perform", ("guarded",))


def test_a_seed_always_draws_the_same_program():
    assert compared(8, "perform") == compared(8, "perform")


@pytest.mark.parametrize("backend", [pytest.param("perform", marks=pytest.mark.long), *native()])
def test_a_hundred_thousand_steps(backend):
    """A recurrence and its gradient, with a check in each step that would fail in the last."""
    count = 10**5
    x, a, last = tg.vector("x"), tg.scalar("a"), tg.scalar("last", "int64")

    def step(carry, v):
        t, c = carry
        c = tg.assert_(a * c + v, t < last, "found step {0}", t)  # noqa: PT009
        return (t + 1, c), None

    (_, c), _ = tg.scan(step, (0, 0.0), x)
    f = tg.function([x, a, last], [c, *tg.grad(c, [x, a])], backend=backend)
    given, rate = np.cos(np.arange(count)), 0.9999
    powers = rate ** np.arange(count)[::-1]
    slopes = np.arange(count)[::-1] * rate ** (np.arange(count)[::-1] - 1.0)
    value, by_x, by_a = f(given, rate, count)
    np.testing.assert_allclose(value, np.sum(given * powers), rtol=1e-9)
    np.testing.assert_allclose(by_x, powers, rtol=1e-9)
    np.testing.assert_allclose(by_a, np.sum(given * slopes), rtol=1e-9)
    with pytest.raises(tg.AssertionFailed, match=f"found step {count - 1}"):
        f(given, rate, count - 1)


WRONG = {  # functions of tg that go wrong, and the seed of a program in which that shows
    "updated": (300004, lambda v, index, value, how: v.at[index].set(value + 1)),
    "split": (300022, lambda key, n: tg.random.split(key, n)[::-1]),
    "fold_in": (300048, lambda key, data: tg.random.fold_in(key, data + 1)),
    "uniform": (
        300034,
        lambda key, like=None: 1 - tg.random.uniform(key, shape=() if like is None else like.shape),
    ),
    "linear": (300004, lambda name, a, b: tg.linalg.solve(a.T + tg.eye(2), b)),
    "reduce": (300063, lambda f, xs, init: tg.reduce(f, xs[::-1], init)),
    "associated": (300011, lambda f, xs, reverse: tg.associative_scan(f, list(xs), reverse=not reverse)),
    "stopped": (300025, lambda x: x),
    "slope": (300011, lambda a, v: a * tg.cos(a * v)),
    "customized": (300005, lambda which, a, b: tg.tanh(a) * b),
    "loop": (300004, lambda f, init, xs, length, reverse, empty: tg.scan(f, init, xs, length, reverse=not reverse)),
    "batched": (300004, lambda f, arrays, dtype: tg.vmap(f)(*(a[::-1] for a in arrays))),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", WRONG)
def test_what_goes_wrong_in_wide_programs_is_noticed(name, monkeypatch):
    seed, wrong = WRONG[name]
    assert compared(seed, "perform", ("wide",))
    monkeypatch.setattr(TgWide, name, staticmethod(wrong))
    with pytest.raises(DifferenceError):
        compared(seed, "perform", ("wide",))


def test_taps_in_another_order_are_noticed(monkeypatch):
    right = TgWide.recurrences

    def turned(f, sequences, *rest):
        return right(f, [(x, taps[::-1]) for x, taps in sequences], *rest)

    assert compared(400031, "perform", ("taps",))
    monkeypatch.setattr(TgWide, "recurrences", staticmethod(turned))
    with pytest.raises(DifferenceError):
        compared(400031, "perform", ("taps",))
