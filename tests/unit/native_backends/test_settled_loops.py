"""Loops whose conditions settle: their later steps have a body of their own, and give what they gave before."""

import functools

import numpy as np
import pytest

import tg
from tests.unit.rules.test_indexing import Plugin, rewritten
from tg.ops.elementwise.comparison import logical_or, where
from tg.ops.loops import Cond, Scan
from tg.rules.catalog import PASSES, RULES
from tg.rules.loops.settled import SETTLED

NAME = "scan_settled_conditions"
LENGTHS = (0, 1, 2, 3, 20)
ALLOWED = np.array([True, True, False])


def branches(inputs, *outputs):
    """The branches of the loops that have some."""
    frozen = rewritten(inputs, list(outputs), Plugin(RULES, (*PASSES, SETTLED)))
    bodies = [node.op.body for node in frozen.nodes if isinstance(node.op, Scan)]
    return [one.op.branches for body in bodies for one in body.nodes if isinstance(one.op, Cond)]


def keys(graph):
    """What the nodes of a graph are."""
    return {node.op.rule_key for node in graph.nodes}


# --- derivatives of a filter: its last state is not asked for, and reaches the value from the third step back on ------

THETA, SEEN = tg.tensor("theta", shape=(2,)), tg.tensor("seen", shape=(None, 2))


def filtered(theta, seen):
    """The log-density of what is seen of four numbers."""
    forward = np.eye(4) + 0.3 * np.eye(4, k=2)
    noise = tg.exp(theta[0]) * np.eye(2)

    def step(c, y):
        mean, covariance, value = c
        factor = tg.linalg.cholesky(covariance[:2, :2] + noise)
        z = tg.linalg.solve_triangular(factor, y - mean[:2], lower=True)
        across = tg.linalg.solve_triangular(factor, covariance[:2], lower=True)
        value = value - 0.5 * tg.sum(z * z) - tg.sum(tg.log(tg.diagonal(factor)))
        left = forward @ (covariance - across.T @ across) @ forward.T + tg.exp(theta[1]) * np.eye(4)
        return (forward @ (mean + across.T @ z), left, value), None

    return tg.scan(step, (np.zeros(4), np.eye(4), 0.0), seen)[0][-1]


def differences(theta, seen):
    f, step = tg.function([THETA, SEEN], filtered(THETA, SEEN), backend="perform"), 1e-5
    return [(f(theta + e, seen) - f(theta - e, seen)) / (2 * step) for e in step * np.eye(2)]


def test_the_gradient_of_a_filter_of_any_length_is_that_by_differences(backend):
    f = tg.function([THETA, SEEN], tg.grad(filtered(THETA, SEEN), THETA), backend=backend)
    assert NAME in tg.explain(f).counts
    for n in LENGTHS:
        theta, seen = np.array([-0.5, -1.0]), np.random.default_rng(n).normal(size=(n, 2))
        np.testing.assert_allclose(f(theta, seen), differences(theta, seen), rtol=1e-7, atol=1e-8)


@pytest.mark.long
def test_the_hessian_of_a_filter_is_symmetric_and_that_of_the_reference(backend):
    hessian = tg.hessian(filtered(THETA, SEEN), THETA)
    theta, seen = np.array([-0.5, -1.0]), np.random.default_rng(0).normal(size=(9, 2))
    found = tg.function([THETA, SEEN], hessian, backend=backend)(theta, seen)
    np.testing.assert_allclose(found, found.T, rtol=1e-12)
    np.testing.assert_allclose(found, tg.function([THETA, SEEN], hessian, backend="perform")(theta, seen), rtol=1e-11)


def test_settled_steps_compute_no_conditions():
    ((before, settled),) = branches([THETA, SEEN], tg.grad(filtered(THETA, SEEN), THETA))
    assert logical_or in keys(before)
    assert logical_or not in keys(settled)
    assert len(settled.nodes) < 0.8 * len(before.nodes)


def test_what_a_step_cannot_do_is_told_as_without_branches(backend):
    gradient = tg.grad(filtered(THETA, SEEN), THETA)
    told = []
    for exclude in ((), (NAME,)):
        f = tg.function([THETA, SEEN], gradient, backend=backend, exclude=exclude)
        with pytest.raises(tg.LinAlgError) as error:
            f(np.array([-800.0, -np.inf]), np.ones((9, 2)))  # no variance is left
        told.append(str(error.value))
    assert told[0] == told[1]


# --- conditions that a program hands on -------------------------------------------------------------------------------


def masked(flows, allowed, is_on, held, xp):
    """Where something flows after a step, and what has then been added up."""
    reaches = xp.any(flows & allowed)
    after = (flows | (reaches & allowed)) & (is_on | flows)
    total = xp.sum(xp.where(after, held, 0.0)) * xp.where(reaches & is_on, 2.0, 1.0)
    return after, total * xp.where(xp.any(after & ~flows), -1.0, 1.0)


def by_numpy(flows, allowed, ons, xs):
    held, traced = np.ones(3), []
    for is_on, x in zip(ons, xs, strict=True):
        flows, total = masked(flows, allowed, is_on, held, np)
        held = held * x + total
        traced.append(held)
    return flows, np.array(traced).reshape(-1, 3)


FLOWS, SPREADS = tg.tensor("flows", "bool", (3,)), tg.tensor("spreads", "bool", (3,))
ONS, XS = tg.vector("ons", "bool"), tg.tensor("xs", shape=(None, 3))


def by_loop(flows):
    def step(c, s):
        held, flows = c
        after, total = masked(flows, SPREADS, s[0], held, tg)
        held = held * s[1] + total
        return (held, after), held

    (_, last), traced = tg.scan(step, (np.ones(3), flows), (ONS, XS))
    return last, traced


@functools.cache
def function_of_loop(backend):
    f = tg.function([FLOWS, SPREADS, ONS, XS], by_loop(FLOWS), backend=backend)
    assert NAME in tg.explain(f).counts
    return f


@pytest.mark.parametrize("ons", ["all", "none", "every other", "the first"])
@pytest.mark.parametrize("allowed", [ALLOWED, ~ALLOWED, np.ones(3, bool), np.zeros(3, bool)], ids=str)
@pytest.mark.parametrize("start", [ALLOWED, np.ones(3, bool), np.array([True, False, False])], ids=str)
def test_conditions_may_settle_otherwise_than_expected_or_not_at_all(backend, start, allowed, ons):
    f = function_of_loop(backend)
    for n in LENGTHS:
        places = np.arange(n)
        mask = {"all": places >= 0, "none": places < 0, "every other": places % 2 == 0, "the first": places < 1}[ons]
        xs = np.random.default_rng(n).uniform(0.1, 0.4, (n, 3))
        for found, wanted in zip(f(start, allowed, mask, xs), by_numpy(start, allowed, mask, xs), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_conditions_that_go_on_to_change_have_no_branches():
    def step(c, x):
        held, flows = c
        return (held + where(flows, x @ x, 0.0) + tg.sum(where(~flows, x, 0.0)), ~flows), None

    assert not branches([XS], *tg.scan(step, (np.ones(3), np.zeros(3, bool)), XS)[0])


def test_steps_on_elements_alone_have_no_branches():
    def step(c, x):
        held, flows = c
        for _ in range(5):
            flows = (flows | (held > 0)) & ~(flows & (x == 0))
            held = where(flows, held * x, held)
        return (held, flows), None

    assert not branches([XS], *tg.scan(step, (np.ones(3), np.zeros(3, bool)), XS)[0])


def test_what_may_fail_depending_on_conditions_has_no_branches(backend):
    def step(c, x):
        held, flows = c
        after, total = masked(flows, SPREADS, True, held, tg)
        chosen = where(after, x, 0.0)
        return (held * total + tg.linalg.solve(tg.diag(chosen), x), after), None

    outputs = tg.scan(step, (np.ones(3), FLOWS), XS)[0]
    assert not branches([FLOWS, SPREADS, XS], *outputs)
    f = tg.function([FLOWS, SPREADS, XS], outputs, backend=backend)
    with pytest.raises(tg.LinAlgError, match="singular"):
        f(ALLOWED, ALLOWED, np.ones((2, 3)))
