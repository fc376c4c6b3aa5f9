"""`RandomStream`: other draws at every call, the same after a seed, nothing compiled again; NumPy's names."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from scipy import stats

import tg
from tg import plugin

BACKENDS = [s.name for s in plugin.registry().backends() if s.is_available]
LEAST = 1e-5
NOT_HERE = {  # what NumPy's generator has besides
    "bytes", "logseries", "multivariate_hypergeometric", "noncentral_chisquare", "noncentral_f", "permuted", "spawn",
    "zipf", "bit_generator",
}  # fmt: skip


def test_every_call_draws_others():
    rng = tg.random.RandomStream(42)
    f = tg.function([], [rng.normal(size=3), rng.normal(size=3), rng.uniform()])
    first, second = f(), f()
    everything = np.concatenate([np.ravel(v) for each in (first, second) for v in each])
    assert len(set(everything.tolist())) == 14


def test_draws_are_those_of_keys_that_are_folded_in():
    rng, r = tg.random.RandomStream(42), tg.random
    f = tg.function([], [rng.normal(size=3), rng.poisson(4.0, size=5)])
    key = r.key(42)
    for _ in range(2):
        z, k = f()
        np.testing.assert_allclose(z, r.normal(r.fold_in(key, 0), shape=(3,)).eval(), rtol=1e-14)
        np.testing.assert_array_equal(k, r.poisson(r.fold_in(key, 1), 4.0, shape=(5,)).eval())
        key = r.fold_in(key, (1 << 32) - 1)


def test_a_seed_begins_anew_and_compiles_nothing(monkeypatch):
    from tg.functions.programs import Programs

    rng = tg.random.RandomStream(1)
    f = tg.function([], rng.uniform(size=4))
    first, second = f(), f()
    monkeypatch.setattr(Programs, "compile_for", None)  # whoever compiled now would call it
    rng.seed(1)
    np.testing.assert_array_equal(f(), first)
    np.testing.assert_array_equal(f(), second)
    rng.seed(2)
    assert not np.array_equal(f(), first)
    rng.seed()
    state = rng.state.get_value()
    rng.seed()
    assert not np.array_equal(rng.state.get_value(), state)


@pytest.mark.long
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_stream_goes_on_on_every_backend(backend):
    rng = tg.random.RandomStream(7)
    f = tg.function([], rng.integers(0, 1 << 40, size=5), backend=backend)
    found = [f() for _ in range(3)]
    rng.seed(7)
    wanted = [rng.integers(0, 1 << 40, size=5) for _ in range(2)]
    assert not np.array_equal(wanted[0].eval(), wanted[1].eval())
    rng = tg.random.RandomStream(7)
    g = tg.function([], rng.integers(0, 1 << 40, size=5), backend="perform", mode="off")
    for each in found:
        np.testing.assert_array_equal(each, g())


def test_functions_that_share_a_stream_go_on_where_the_other_stopped():
    rng = tg.random.RandomStream(3)
    x = rng.uniform(size=2)
    f, g = tg.function([], x), tg.function([], x + 0)
    found = [f(), g(), f()]
    rng.seed(3)
    for each in found:
        np.testing.assert_array_equal(each, f())


def test_a_function_without_draws_leaves_the_stream_alone():
    rng = tg.random.RandomStream(3)
    rng.uniform()
    before = rng.state.get_value()
    x = tg.vector("x")
    tg.function([x], x + 1)([1.0])
    np.testing.assert_array_equal(rng.state.get_value(), before)
    rng.uniform().eval()
    assert not np.array_equal(rng.state.get_value(), before)


def test_an_update_of_ones_own_is_taken_and_a_failed_call_changes_nothing():
    rng, n = tg.random.RandomStream(3), tg.scalar("n")
    still = tg.function([], rng.uniform(), updates={rng.state: rng.state})
    assert still() == still()
    before = rng.state.get_value()
    fails = tg.function([n], tg.assert_(rng.uniform(), n > 0))  # noqa: PT009
    with pytest.raises(tg.errors.AssertionFailed):
        fails(-1.0)
    np.testing.assert_array_equal(rng.state.get_value(), before)


def test_other_variables_have_own_updates_too():
    count, steps = tg.shared(0, name="count"), tg.shared(1, name="steps")
    count.default_update = count + steps
    steps.default_update = steps * 2
    f = tg.function([], count)
    assert [int(f()) for _ in range(4)] == [0, 1, 3, 7]
    wrong = tg.shared(0)
    wrong.default_update = wrong + 0.5
    with pytest.raises(tg.DtypeError, match="update of"):
        tg.function([], wrong)


def test_jitted_functions_draw_others():
    rng = tg.random.RandomStream(5)
    noisy = tg.jit(lambda x: x + rng.normal(size=3))
    x = np.zeros(3)
    assert not np.array_equal(noisy(x), noisy(x))


BODIES = {
    "scan": lambda rng: tg.scan(lambda c, _: (c + rng.normal(), c), 0.0, length=3),
    "fori_loop": lambda rng: tg.fori_loop(0, 3, lambda k, c: c + rng.normal(), 0.0),
    "while_loop": lambda rng: tg.while_loop(lambda c: c < 3, lambda c: c + rng.uniform(), 0.0),
    "vmap": lambda rng: tg.vmap(lambda x: x + rng.normal())(np.zeros(3)),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_draw_in_a_body_is_refused(name):
    rng = tg.random.RandomStream(5)
    text = (
        f"RandomStream: found a draw in the body of {name}, .*\n  hint: key = rng.key\\(\\) before, and tg.random.split"
    )
    with pytest.raises(tg.InputError, match=text):
        BODIES[name](rng)
    keys = tg.random.split(rng.key(), 3)
    _, found = tg.scan(lambda c, key: (c, tg.random.normal(key)), 0.0, keys)
    assert len(set(found.eval().tolist())) == 3


def test_methods_have_the_names_and_parameters_of_numpy():
    ours = {name for name in dir(tg.random.RandomStream) if not name.startswith("_")}
    theirs = {name for name in dir(np.random.Generator) if not name.startswith("_")}
    assert theirs - NOT_HERE <= ours
    rng, generator = tg.random.RandomStream(0), np.random.default_rng(0)
    for name in sorted(theirs & ours):
        given = [p for p in inspect.signature(getattr(rng, name)).parameters if p != "dtype"]
        try:
            wanted = inspect.signature(getattr(generator, name))
        except ValueError:
            continue
        more = {"dtype", "out", "method", "check_valid", "tol", "shuffle"}
        assert given == [p for p in wanted.parameters if p not in more] + (["method"] if "method" in given else [])


SAME = {
    "gamma": (2.5, 2.0), "standard_gamma": (0.5,), "pareto": (3.0,), "weibull": (1.5,), "standard_t": (4.0,),
    "negative_binomial": (5, 0.4), "standard_cauchy": (), "standard_exponential": (), "wald": (1.0, 2.0),
    "triangular": (0.0, 1.0, 3.0), "hypergeometric": (30, 20, 15), "lognormal": (0.5, 0.7), "random": (),
}  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", SAME)
def test_distributions_are_those_of_numpy(name):
    found = getattr(tg.random.RandomStream(11), name)(*SAME[name], size=4000).eval()
    assert found.shape == (4000,)
    wanted = getattr(np.random.default_rng(11), name)(*SAME[name], size=4000)
    assert stats.ks_2samp(found, wanted).pvalue > LEAST


def test_sizes_orders_and_ends():
    rng = tg.random.RandomStream(1)
    assert rng.normal(0, 1, (2, 3)).type.shape == (2, 3)
    assert rng.normal(np.zeros(4)).type.shape == (4,)
    assert rng.standard_normal().type.shape == ()
    assert rng.choice(5).type.shape == ()
    assert rng.dirichlet([1.0, 2.0], 5).type.shape == (5, 2)
    rolls = rng.integers(1, 6, size=300, endpoint=True).eval()
    assert (rolls.min(), rolls.max()) == (1, 6)
    assert sorted(rng.permutation(5).eval().tolist()) == list(range(5))


def test_what_is_no_seed():
    with pytest.raises(tg.DtypeError, match=r"RandomStream: seed: found 1\.5, needed an integer"):
        tg.random.RandomStream(1.5)
    with pytest.raises(tg.RangeError, match="needed one of 64 bits"):
        tg.random.RandomStream(1 << 64)


def test_a_function_that_draws_can_be_pickled():
    rng = tg.random.RandomStream(4)
    f = tg.function([], rng.uniform(size=2))
    g = pickle.loads(pickle.dumps(f))
    for _ in range(2):
        np.testing.assert_array_equal(f(), g())
