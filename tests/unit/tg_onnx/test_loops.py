"""Loops and branches as `Scan`, `Loop` and `If`."""

import numpy as np
import pytest

import tg
from tests.unit.tg_onnx.models import agree, kinds

RANDOM = np.random.default_rng(2)


@pytest.fixture
def operands():
    return tg.matrix("m"), tg.vector("v")


def test_a_scan_goes_over_slices_from_either_end(operands):
    m, v = operands
    a = tg.tensor("a", shape=(4, 4))
    for reverse in (False, True):
        results = tg.scan(lambda c, x: (a @ c * 0.5 + x, c * x), v, m, reverse=reverse)
        shapes = (3, 4), (4,), (4, 4)
        made = agree([m, v, a], results, *map(RANDOM.standard_normal, shapes))
        assert kinds(made) == ["Scan"]


def test_a_scan_without_sequences_counts_its_steps():
    v, n = tg.vector("v"), tg.scalar("n", dtype="int64")
    result, _ = tg.scan(lambda c, _: (c * c, None), v, None, length=n)
    assert kinds(agree([v, n], result, [0.5, 1.5], 4)) == ["Range", "Scan"]


def test_a_loop_asks_its_condition_before_the_first_step():
    v = tg.vector("v")
    result = tg.while_loop(lambda c: tg.sum(c) < 100, lambda c: c * 2, v)
    for start in ([1.0, 2.0], [200.0, 1.0]):
        assert "Loop" in kinds(agree([v], result, start))


def test_traces_of_a_loop_that_ends_early_are_filled():
    v = tg.vector("v")
    cost = tg.sum(tg.while_loop(lambda c: tg.sum(c) < 100, lambda c: c * c, v, max_steps=20))
    agree([v], [cost, tg.grad(cost, v)], [1.5, 2.0])


def test_a_branch_may_give_what_it_was_given():
    b, v = tg.scalar("b", dtype="bool"), tg.vector("v")
    result = tg.cond(b, lambda v: v * 2, lambda v: v, v)
    for chosen in (True, False):
        assert kinds(agree([b, v], result, chosen, [1.0, 2.0])) == ["If"]


def test_a_number_chooses_among_several_branches():
    k, v = tg.scalar("k", dtype="int64"), tg.vector("v")
    result = tg.switch(k, [lambda v: v, lambda v: v * v, lambda v: tg.exp(v)], v)
    for number in (-1, 0, 1, 2, 5):
        agree([k, v], result, number, [1.0, 2.0])


def test_the_gradient_of_a_scan_is_a_second_one(operands):
    m, v = operands
    cost = tg.sum(tg.scan(lambda c, x: (tg.tanh(c * 0.5 + x), tg.sum(c * x)), v, m)[1])
    made = agree([m, v], tg.grad(cost, [m, v]), RANDOM.standard_normal((3, 4)), RANDOM.standard_normal(4))
    assert kinds(made).count("Scan") == 2
