"""`tg.pipeline` where no devices are needed: the cut of a loss into stages, the order of their steps, refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tg
from tg.functions.stages import cut
from tg.link.stages import Stages


def network():
    """A loss of three stages, of which the last reads what the first hands on, and a weight of the first."""
    x, labels = tg.matrix("x"), tg.vector("labels", "int64")
    ws = [tg.matrix(f"w{k}") for k in range(3)]
    first = tg.tanh(x @ ws[0])
    second = tg.tanh(tg.stage(1, first) @ ws[1])
    third = tg.stage(2, second) @ ws[2] + first
    return [x, labels, *ws], tg.nn.cross_entropy(third @ ws[0].T, labels)


def test_stages_one_after_the_other_are_the_whole():
    inputs, loss = network()
    wrt = [2, 3, 4]
    pieces = cut(inputs, loss, wrt, [0, 1])
    assert [p.own for p in pieces] == [(0, 2), (3,), (0, 1, 2, 4)]  # the last asks how many rows x has
    assert [p.wrt for p in pieces] == [(2,), (3,), (2, 4)]
    assert [len(p.received) for p in pieces] == [0, 1, 2]
    draw = np.random.default_rng(0)
    arrays = [draw.normal(size=(6, 4)), draw.integers(0, 4, 6), *[draw.normal(size=(4, 4)) for _ in wrt]]
    oracle = tg.function(inputs, [loss, *tg.grad(loss, inputs[2:])], backend="perform")
    received = [[]]
    for p in pieces[:-1]:
        f = tg.function([*p.received, *p.inputs], list(p.results), backend="perform")
        received.append(f(*received[-1], *[arrays[k] for k in p.own]))
    slopes, cotangents = dict.fromkeys(wrt, 0.0), []
    for p, values in zip(reversed(pieces), reversed(received), strict=True):
        results = tg.function(*p.backward(), backend="perform")(*values, *[arrays[k] for k in p.own], *cotangents)
        total, results = (results[0], results[1:]) if p.is_last else (total, results)  # noqa: F821 (the last is first)
        cotangents = results[: len(p.received)]
        for place, slope in zip(p.wrt, results[len(p.received) :], strict=True):
            slopes[place] = slopes[place] + slope
    for a, b in zip([total, *slopes.values()], oracle(*arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def staged(count, microbatches, schedule):
    nothing = ((),) * count
    return Stages(
        "f", nothing, nothing, (0,) * count, frozenset(), microbatches, schedule, "stage", None, None, *[None] * 2
    )


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
@pytest.mark.parametrize(("count", "microbatches"), [(2, 1), (2, 5), (4, 3), (4, 9)])
def test_each_stage_does_every_part_in_an_order_that_ends(schedule, count, microbatches):
    stages = staged(count, microbatches, schedule)
    actions = [list(stages.actions(k)) for k in range(count)]
    every = sorted(itertools.product(("backward", "forward"), range(microbatches)))
    assert all(sorted(a) == every for a in actions)
    done, places = set(), [0] * count
    while any(place < len(a) for place, a in zip(places, actions, strict=True)):
        ready = [
            k
            for k, place in enumerate(places)
            if place < len(actions[k]) and needed(actions[k][place], k, count) <= done | {None}
        ]
        assert ready, "each waits for another"
        for k in ready:
            done.add((k, *actions[k][places[k]]))
            places[k] += 1


def needed(action, stage, count):
    """What other stages, or the stage itself, have to have done."""
    kind, m = action
    if kind == "forward":
        return {(stage - 1, "forward", m) if stage else None}
    return {(stage, "forward", m), (stage + 1, "backward", m) if stage + 1 < count else None}


@pytest.mark.parametrize(("count", "microbatches"), [(2, 5), (4, 9), (4, 2)])
def test_1f1b_has_no_more_parts_under_way_than_stages_behind(count, microbatches):
    for k in range(count):
        steps = [1 if kind == "forward" else -1 for kind, _ in staged(count, microbatches, "1f1b").actions(k)]
        assert max(itertools.accumulate(steps)) == min(microbatches, count - k)
        assert max(itertools.accumulate(steps)) <= microbatches


def test_a_mark_is_nothing_where_there_is_no_pipeline():
    x = tg.vector("x")
    assert "Stage" not in tg.to_text(tg.function([x], tg.stage(1, tg.exp(x)), backend="perform").graph)
    value, slope = tg.function([x], tg.value_and_grad(tg.sum(tg.stage(1, x) ** 2), x), backend="perform")([3.0])
    assert (value, slope.tolist()) == (9.0, [6.0])
    with pytest.raises(tg.InputError, match="stage: found -1, needed the number of a stage"):
        tg.stage(-1, x)


def refused(loss, **changes):
    options = {"batch": [X], "microbatches": 2, "backend": tg.backend("jax", mesh=tg.Mesh({"stage": 2}))}
    return lambda: tg.pipeline([X, V, W], loss, [V, W], **{**options, **changes})


X, V, W = (tg.matrix(name) for name in "xvw")
LOSS = tg.mean(tg.stage(1, tg.tanh(X @ V)) @ W)
REFUSED = {
    "no marks": (refused(tg.mean(X @ V @ W)), tg.InputError, "no stage but the first"),
    "a number left out": (refused(tg.mean(tg.stage(2, X @ V) @ W)), tg.InputError, "stages 0, 2, needed 1 among them"),
    "back": (
        refused(tg.mean(tg.stage(1, tg.stage(2, tg.stage(1, X @ V) @ W)))),
        tg.InputError,
        "stage 1 of a value of stage 2",
    ),
    "integers": (refused(tg.mean(tg.stage(1, tg.argmax(X @ V, axis=1)) * W)), tg.InputError, "stage 0 hands on"),
    "a matrix": (refused(tg.stage(1, X @ V) @ W), tg.InputError, "needed a real scalar expression"),
    "another input": (refused(LOSS, batch=[tg.matrix("y")]), tg.InputError, "batch: found <y"),
    "more stages than devices": (
        refused(LOSS, backend=tg.backend("jax", mesh=tg.Mesh({"stage": 1}))),
        tg.OptionError,
        "2 stages and 1 places along 'stage'",
    ),
    "no such axis": (
        refused(LOSS, backend=tg.backend("jax", mesh=tg.Mesh({"data": 2}))),
        tg.OptionError,
        "axis: found 'stage', needed an axis of",
    ),
    "a backend without": (refused(LOSS, backend="perform"), tg.OptionError, "'perform' has no mesh="),
    "no mesh": (refused(LOSS, backend="jax"), tg.OptionError, "'jax' with no mesh"),
    "another schedule": (refused(LOSS, schedule="zero"), tg.OptionError, "schedule: found 'zero'"),
    "no parts": (refused(LOSS, microbatches=0), tg.OptionError, "microbatches: found 0"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    make, kind, text = REFUSED[what]
    with pytest.raises(kind, match=text):
        make()
