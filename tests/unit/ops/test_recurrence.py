"""`tg.recurrence` against Python loops, on the backends that run loops natively."""

from __future__ import annotations

import numpy as np
import pytest

import tg

BACKENDS = ("perform", "c", "numba")
XS = np.arange(1.0, 8.0)


def run(outputs, inputs, values, backend):
    return tg.function(inputs, outputs, backend=backend)(*values)


@pytest.mark.parametrize("backend", BACKENDS)
def test_outputs_with_taps(backend):
    begin = {"initial": tg.constant([1, 1]), "taps": [-2, -1]}
    found = run(tg.recurrence(lambda a, b: a + b, outputs_info=begin, n_steps=6), [], (), backend)
    assert found.tolist() == [2, 3, 5, 8, 13, 21]


@pytest.mark.parametrize("backend", BACKENDS)
def test_sequences_with_taps_and_what_does_not_change(backend):
    x, a = tg.vector("x"), tg.scalar("a")
    y = tg.recurrence(
        lambda now, before, last, a: a * last + now * before,
        sequences={"input": x, "taps": [0, -1]},
        outputs_info=tg.constant(0.5),
        non_sequences=[a],
    )
    value, gradient = run([y, tg.grad(tg.sum(y), a)], [x, a], (XS, 0.5), backend)
    last, slope, values, slopes = 0.5, 0.0, [], []
    for t in range(1, 7):
        slope = last + 0.5 * slope
        last = 0.5 * last + XS[t] * XS[t - 1]
        values.append(last)
        slopes.append(slope)
    np.testing.assert_allclose(value, values, rtol=1e-15)
    np.testing.assert_allclose(gradient, sum(slopes), rtol=1e-14)


@pytest.mark.parametrize("backend", BACKENDS)
def test_taps_ahead_shorten_the_loop(backend):
    x = tg.vector("x")
    y = tg.recurrence(lambda now, ahead: now * ahead, sequences={"input": x, "taps": [0, 2]})
    np.testing.assert_array_equal(run(y, [x], (XS,), backend), XS[:-2] * XS[2:])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sequence_shorter_than_its_taps_has_no_step(backend):
    x = tg.vector("x")
    y = tg.recurrence(lambda behind, ahead: behind * ahead, sequences={"input": x, "taps": [-2, 1]})
    f = tg.function([x], y, backend=backend)
    for count in range(8):
        np.testing.assert_array_equal(f(XS[:count]), XS[: max(count - 3, 0)] * XS[3:][: max(count - 3, 0)])
    known = tg.tensor("known", shape=(2,))
    short = tg.recurrence(lambda behind, ahead: behind * ahead, sequences={"input": known, "taps": [-2, 1]})
    assert tg.function([known], short, backend=backend)(XS[:2]).shape == (0,)


@pytest.mark.parametrize("backend", BACKENDS)
def test_several_outputs_of_which_some_are_not_read(backend):
    x = tg.vector("x")
    total, squares = tg.recurrence(
        lambda v, s: (s + v, v * v), sequences=[x], outputs_info=[tg.constant(0.0), None], n_steps=4
    )
    found = run([total, squares], [x], (XS,), backend)
    np.testing.assert_array_equal(found[0], np.cumsum(XS)[:4])
    np.testing.assert_array_equal(found[1], XS[:4] ** 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_until_ends_the_loop_behind_its_step(backend):
    x = tg.vector("x")
    y = tg.recurrence(lambda v, s: (s + v, tg.until(s + v > 8)), sequences=x, outputs_info=tg.constant(0.0))
    assert run(y, [x], (XS,), backend).tolist() == [1.0, 3.0, 6.0, 10.0]
    assert run(y, [x], (XS[:2],), backend).tolist() == [1.0, 3.0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_steps_behind_the_end_cannot_fail(backend):
    x = tg.vector("x")

    def step(k, s):
        return s + x[k], tg.until(k >= 6)

    y = tg.recurrence(step, sequences=tg.arange(10), outputs_info=tg.constant(0.0))
    np.testing.assert_array_equal(run(y, [x], (XS,), backend), np.cumsum(XS))
    with pytest.raises(tg.BoundsError):
        run(y, [x], (XS[:3],), backend)


def test_a_truncated_gradient_goes_back_so_many_steps():
    x, a = tg.vector("x"), tg.scalar("a")
    for most, needed in ((-1, [0.5**k for k in range(6, -1, -1)]), (2, [0, 0, 0, 0, 0, 0.5, 1]), (0, [0] * 7)):
        y = tg.recurrence(lambda v, s: a * s + v, sequences=x, outputs_info=tg.constant(0.0), truncate_gradient=most)
        found = tg.grad(y[-1], x, disconnected="zero").eval({x: XS, a: 0.5})
        np.testing.assert_allclose(found, needed, rtol=1e-15)


def test_backwards():
    x = tg.vector("x")
    y = tg.recurrence(lambda v, s: s * 2 + v, sequences=x, outputs_info=tg.constant(0.0), go_backwards=True)
    last, needed = 0.0, []
    for v in XS[::-1]:
        last = last * 2 + v
        needed.append(last)
    assert y.eval({x: XS}).tolist() == needed


START, ROWS = tg.constant(0.0), tg.constant([0.0, 1.0])
MISTAKES = {
    "no count": (tg.InputError, "found neither sequences nor n_steps", {"outputs_info": START}),
    "no function": (tg.InputError, r"fn: found 3, needed a function", {"fn": 3, "n_steps": 2}),
    "outputs": (tg.InputError, "fn gave 2 outputs, needed 1", {"fn": lambda s: (s, s), "outputs_info": START}),
    "nothing": (tg.InputError, "fn gave None, needed outputs", {"fn": lambda s: None, "outputs_info": START}),
    "updates": (tg.InputError, "fn gave a dict, needed outputs", {"fn": lambda s: (s, {}), "outputs_info": START}),
    "until first": (
        tg.InputError,
        "tg.until before an output",
        {"fn": lambda s: (tg.until(s > 1), s), "outputs_info": START},
    ),
    "a carry": (
        tg.DtypeError,
        r"^recurrence: carry\[0\]: found float64 after a step, needed int64",
        {"fn": lambda s: s * 0.5, "outputs_info": tg.constant(1)},
    ),
    "taps now": (
        tg.InputError,
        r"outputs_info\[0\]: taps: found \[0\], needed ints below 0",
        {"outputs_info": {"initial": ROWS, "taps": [0]}},
    ),
    "no taps": (
        tg.InputError,
        r"outputs_info\[0\]: taps: found \[\], needed one int or a list",
        {"outputs_info": {"initial": ROWS, "taps": []}},
    ),
    "half taps": (
        tg.InputError,
        r"sequences\[0\]: taps: found 0.5, needed one int or a list",
        {"sequences": {"input": ROWS, "taps": 0.5}},
    ),
    "few rows": (
        tg.ShapeError,
        r"initial: found float64\[2\], needed 3 rows for the taps \[-3\]",
        {"outputs_info": [{"initial": ROWS, "taps": [-3]}]},
    ),
    "no rows": (
        tg.ShapeError,
        r"initial: found float64\[\], needed 2 rows",
        {"outputs_info": [{"initial": START, "taps": [-2]}]},
    ),
    "taps of nothing": (
        tg.InputError,
        r"outputs_info\[1\]: found taps without 'initial'",
        {"outputs_info": [START, {"taps": [-1]}]},
    ),
    "no input": (
        tg.InputError,
        r"sequences\[0\]: found a dict of 'taps', needed an array as its 'input'",
        {"sequences": {"taps": [0]}},
    ),
    "None": (tg.InputError, r"sequences\[1\]: found None, needed an array", {"sequences": [ROWS, None]}),
    "a key": (
        tg.InputError,
        r"sequences\[0\]: found the key 'inputs', needed 'input' and 'taps' alone",
        {"sequences": {"inputs": ROWS}},
    ),
    "an output's key": (
        tg.InputError,
        r"found the key 'return_steps', needed 'initial' and 'taps'",
        {"outputs_info": {"initial": START, "return_steps": 1}},
    ),
    "a scalar": (tg.ShapeError, r"sequences\[0\]: found float64\[\], needed an axis", {"sequences": START}),
    "half a step": (tg.InputError, r"n_steps: found 2.5, needed an integer", {"n_steps": 2.5}),
    "a float": (tg.InputError, r"n_steps: found float64\[\], needed an integer scalar", {"n_steps": tg.scalar("n")}),
    "fewer": (tg.InputError, r"n_steps: found -1, needed at least 0", {"n_steps": -1}),
    "truncated": (tg.InputError, r"truncate_gradient: found None, needed an int", {"truncate_gradient": None}),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told(mistake):
    kind, text, given = MISTAKES[mistake]
    has_count = mistake == "no count" or "sequences" in given
    given = {"fn": lambda *values: values[-1], **({} if has_count else {"n_steps": 2}), **given}
    with pytest.raises(kind, match=text) as caught:
        tg.recurrence(**given)
    assert str(caught.value).startswith("recurrence: ")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_checkpoints_change_nothing(backend, reverse, size):
    x, a = tg.vector("x"), tg.scalar("a")
    outputs = []
    for checkpoint in (None, size):
        c, ys = tg.scan(lambda c, v: (tg.sin(c * a) + v, c * c), 0.3, x, reverse=reverse, checkpoint=checkpoint)
        outputs += [c, ys, *tg.grad(c + tg.sum(ys), [x, a])]
    found = run(outputs, [x, a], (XS, 0.5), backend)
    c, ys = 0.3, []
    for v in XS[::-1] if reverse else XS:
        ys.append(c * c)
        c = np.sin(c * 0.5) + v
    np.testing.assert_allclose(found[0], c, rtol=1e-14)
    np.testing.assert_allclose(found[1], ys[::-1] if reverse else ys, rtol=1e-14)
    for one, other in zip(found[:4], found[4:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 8])
def test_running_results_of_an_associative_function(count, reverse):
    rng = np.random.default_rng(count)
    slopes, offsets = rng.normal(size=(2, count))

    def then(f, g):
        return {"slope": f["slope"] * g["slope"], "offset": g["slope"] * f["offset"] + g["offset"]}

    xs = {"slope": tg.constant(slopes), "offset": tg.constant(offsets)}
    found = tg.associative_scan(then, xs, reverse=reverse)
    value, needed = (1.0, 0.0), []
    for slope, offset in zip(*((slopes[::-1], offsets[::-1]) if reverse else (slopes, offsets)), strict=True):
        value = (value[0] * slope, slope * value[1] + offset)
        needed.append(value)
    needed = np.array(needed[::-1] if reverse else needed).reshape(-1, 2)
    np.testing.assert_allclose(found["slope"].eval(), needed[:, 0], rtol=1e-12)
    np.testing.assert_allclose(found["offset"].eval(), needed[:, 1], rtol=1e-12, atol=1e-14)


def test_a_truncated_gradient_that_reaches_the_beginning_goes_through_it():
    x, a, b = tg.vector("x"), tg.scalar("a"), tg.scalar("b")
    for most, needed in ((6, 0.0), (7, 0.5**7), (100, 0.5**7)):
        y = tg.recurrence(lambda v, s: a * s + v, sequences=x, outputs_info=b, truncate_gradient=most)
        assert tg.grad(y[-1], b, disconnected="zero").eval({x: XS, a: 0.5, b: 1.0}) == needed


def test_a_truncated_gradient_goes_back_from_the_last_step_that_is_made():
    x, a = tg.vector("x"), tg.scalar("a")

    def step(v, s):
        s = a * s + v
        return s, tg.until(v > XS[3])

    y = tg.recurrence(step, sequences=x, outputs_info=tg.constant(0.0), truncate_gradient=2)
    given = np.sort(XS)
    found = y.eval({x: given, a: 0.5})
    made = len(found)
    assert 2 < made < 7
    assert given[made - 1] > XS[3] >= given[made - 2]
    needed = [0.0] * (made - 2) + [0.5, 1.0] + [0.0] * (7 - made)
    np.testing.assert_array_equal(tg.grad(y[-1], x).eval({x: given, a: 0.5}), needed)
