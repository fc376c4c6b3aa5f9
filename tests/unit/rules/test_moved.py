"""Index maps: what `Moved` says of a value below movements is true of arrays, beside NumPy."""

import itertools
import random

import numpy as np
import pytest

import tg
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.ops.reduction import Reduce
from tg.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose
from tg.rules.shape.moved import MOVED, MOVEMENTS, Moved, untransposed

SHAPES = ((), (1,), (3,), (2, 3), (3, 3), (1, 3), (3, 1), (2, 1, 3), (2, 2, 2), (1, 1))


def movement(x, rng):
    """One movement of a value, drawn."""
    rank, shape = x.ndim, x.type.shape
    form = rng.randrange(5)
    if form == 0:
        return tg.expand_dims(x, rng.randrange(rank + 1))
    if form == 1 and 1 in shape:
        return tg.squeeze(x, rng.choice([k for k, n in enumerate(shape) if n == 1]))
    if form == 2:
        return tg.transpose(x, rng.sample(range(rank), rank))
    if form == 3:
        longer = tuple(rng.choice((2, 3)) if n == 1 and rng.randrange(2) else n for n in shape)
        return tg.broadcast_to(x, (*([rng.choice((1, 2))] * rng.randrange(2)), *longer))
    if form == 4 and rank > 1:
        return tg.reshape(x, (int(np.prod(shape[:2])), *shape[2:]))
    return x


def chains(number, kinds=MOVEMENTS):
    """Values, what movements make of them, and arrays for both."""
    for seed in range(number):
        rng = random.Random(seed)
        x = tg.tensor("x", shape=rng.choice(SHAPES))
        y = x
        for _ in range(rng.randrange(5)):
            z = movement(y, rng)
            if z.apply is None or type(z.apply.op) in kinds:
                y = z
        at = np.arange(float(np.prod(x.type.shape))).reshape(x.type.shape)
        yield rng, x, y, at, of(x, y, at)


def of(x, y, at):
    return interpret(FunctionGraph.of([x], [y]).freeze(), [at])[0]


def test_a_value_with_added_axes_is_given_where_they_are_these():
    count = 0
    for _, x, y, at, value in chains(900):
        moved = Moved.of(y, *MOVEMENTS)
        for axes in every_axes(y.ndim):
            value_below = moved.with_axes(axes)
            assert value_below is None or value_below is x
            if value_below is not None:
                count += 1
                np.testing.assert_array_equal(value, np.expand_dims(at, axes))
    assert count > 150


def test_a_value_stands_beside_what_its_reduction_would_stand_beside():
    count = 0
    for _, x, y, at, value in chains(900):
        moved = Moved.of(y, *MOVEMENTS)
        for axes in every_axes(min(x.ndim + 2, 3)):
            value_below = moved.beside(axes)
            assert value_below is None or value_below is x
            if value_below is not None:
                count += 1
                kept = np.expand_dims(at, axes) if y.ndim else at
                np.testing.assert_array_equal(value, np.broadcast_to(kept, value.shape))
    assert count > 150


def every_axes(rank):
    return [c for n in range(rank + 1) for c in itertools.combinations(range(-rank, 0), n)]


def test_transposes_orders_and_single_elements_are_what_they_are_said_to_be():
    counts = dict.fromkeys(("transposed", "in_order", "single"), 0)
    for _, x, y, at, value in chains(2000):
        moved = Moved.of(y, *MOVEMENTS)
        if moved.transposed() is x:
            counts["transposed"] += 1
            np.testing.assert_array_equal(value, np.swapaxes(at, -1, -2))
        if moved.in_order() is x:
            counts["in_order"] += 1
            np.testing.assert_array_equal(value.ravel(), at.ravel())
        if moved.single() is x:
            counts["single"] += 1
            assert (value == at.flat[0]).all()
    assert min(counts.values()) > 20


def test_other_values_are_moved_alike():
    for _, x, y, at, value in chains(500):
        np.testing.assert_array_equal(of(x, Moved.of(y, *MOVED).again(lambda u: u * 2 + 1), at), value * 2 + 1)
        np.testing.assert_array_equal(of(x, Moved.of(y, *MOVED).here(), at), value)
        number, pair = Moved.of(y, *MOVED).again(lambda u: (3, (u, -u)))
        assert number == 3
        np.testing.assert_array_equal(of(x, tg.stack(pair), at), np.stack([value, -value]))


def test_equal_maps_move_alike_and_maps_that_differ_are_not_equal():
    same = other = 0
    for shape in SHAPES:
        results = {}
        x, at = tg.tensor("x", shape=shape), np.arange(float(np.prod(shape))).reshape(shape)
        for seed in range(80):
            rng, y = random.Random(seed), x
            for _ in range(rng.randrange(4)):
                y = movement(y, rng)
            results[seed] = (Moved.of(y, *MOVEMENTS), of(x, y, at), y)
        for (a, u, _), (b, v, z) in itertools.combinations(results.values(), 2):
            if a.together(b) is not None and z.ndim:  # a scalar has every map
                same += 1
                np.testing.assert_array_equal(u, v)
            elif u.shape != v.shape or (u != v).any():
                other += 1
    assert same > 300
    assert other > 300


def test_alike_along_unrepeated_and_repeated_are_true_of_broadcasts():
    axes = (BroadcastTo, ExpandDims, Squeeze, Transpose)
    for _, x, y, at, value in chains(700, axes):
        moved = Moved.of(y, *axes)
        once = of(x, moved.unrepeated(), at)
        np.testing.assert_array_equal(np.broadcast_to(once, value.shape), value)
        for k in range(-y.ndim, 0):
            first = np.take(value, [0], k)
            assert moved.is_alike_along(k) <= bool((value == first).all())
            if moved.is_alike_along(k):
                np.testing.assert_array_equal(of(x, moved.unrepeated(without=(k,)), at), np.squeeze(once, k))


def test_a_sum_along_axes_of_the_result_is_taken_of_the_value():
    taken = 0
    for rng, x, y, at, value in chains(700, (ExpandDims, Squeeze, Transpose)):
        axes = tuple(rng.sample(range(-y.ndim, 0), rng.randrange(y.ndim + 1)))
        value_below = Moved.of(y, *MOVEMENTS).along(
            axes, lambda inner, u: Reduce(tg.add, tuple(sorted(inner)))(u) if inner else u
        )
        if value_below is not None and axes:
            taken += 1
            np.testing.assert_array_equal(of(x, value_below, at), value.sum(axes))
    assert taken > 80


def test_what_is_looked_for_is_found_below_and_what_is_no_movement_is_not_looked_through():
    x = tg.tensor("x", shape=(3, 4))
    total = Moved.of(tg.expand_dims(tg.sum(x, 1), 0), ExpandDims)
    assert total.made_by(Reduce).axes == (-1,)
    assert total.made_by(Transpose) is None
    assert total.added == (-2,)
    assert total.source(-1) == -1
    assert total.source(-2) is None
    assert not Moved.of(-x, *MOVED).is_moved
    assert untransposed(x.T) is x
    assert untransposed(x) is None
    assert Moved.of(tg.reshape(x, (2, 6)), Squeeze).then(lambda v: v if v.ndim == 3 else None) is None
    assert Moved.of(tg.reshape(x.T, (2, 6)), Reshape, Transpose).in_order() is None


@pytest.mark.parametrize("fact", [lambda v: v, lambda v: -v])
def test_a_fact_of_every_element_is_no_value(fact):
    with pytest.raises(AssertionError):
        Moved.of(tg.matrix("x").T, Transpose).every(fact)
