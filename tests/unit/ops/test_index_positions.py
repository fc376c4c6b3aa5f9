"""Index arrays and values of computed lengths, known masks, and slices by run-time steps: as NumPy has them."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tg
from tg.graph.function_graph import freeze

BACKENDS = ("perform", tg.backend("auto").name)
STEPS = (-(2**63), -(2**63) + 1, -(2**62), -7, -5, -2, -1, 1, 2, 3, 6, 2**62, 2**63 - 1)
BOUNDS = (*STEPS, 0, -4, 4, 5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_slice_by_a_step_known_at_run_time_is_numpys(backend: str) -> None:
    v = tg.vector("v")
    w, a, b = (tg.scalar(name, dtype="int64") for name in "wab")
    f = tg.function([v, w, a, b], [v[::w], v[a::w], v[:b:w], v[a:b:w]], backend=backend)
    draw = random.Random(0)
    for n in (0, 1, 2, 5):
        x = np.arange(float(n))
        for _ in range(100):
            step, start, stop = draw.choice(STEPS), draw.choice(BOUNDS), draw.choice(BOUNDS)
            wanted = x[::step], x[start::step], x[:stop:step], x[start:stop:step]
            for found, one in zip(f(x, step, start, stop), wanted, strict=True):
                np.testing.assert_array_equal(found, one, err_msg=f"{n}: {start}:{stop}:{step}")
    with pytest.raises(tg.DomainError, match="step: found 0"):
        f(x, 0, 1, 2)


@pytest.mark.parametrize("backend", [one.name for one in tg.backends() if one.is_available])
def test_steps_of_any_size_are_numpys(backend: str) -> None:
    v, start = tg.vector("v"), tg.scalar("start", dtype="int64")
    x, first, steps = np.arange(5.0), 2, (-(2**63), -(2**31) - 1, -2, 2**31, 2**62)
    outputs, wanted = [], []
    for step in steps:
        outputs += [v[::step], v[start::step], v.at[::step].set(7.0), v.at[start::step].add(7.0)]
        written, added = x.copy(), x.copy()
        written[::step] = 7.0
        added[first::step] += 7.0
        wanted += [x[::step], x[first::step], written, added]
    found = tg.function([v, start], outputs, backend=backend, mode="off")(x, first)
    for k, (one, other) in enumerate(zip(found, wanted, strict=True)):
        np.testing.assert_array_equal(one, other, err_msg=f"output {k % 4}, step {steps[k // 4]}")


def test_slices_by_run_time_steps_stand_among_other_indices() -> None:
    t, w = tg.tensor("t", shape=(None, None, None)), tg.scalar("w", dtype="int64")
    x, places = np.arange(24.0).reshape(2, 3, 4), np.array([0, 1])
    outputs = [t[1, ..., ::w], t[..., ::w, None], t[None, ::w, places], t[::w, ::w]]
    f = tg.function([t, w], outputs, backend="perform")
    for step in (-2, -1, 1, 2):
        wanted = x[1, ..., ::step], x[..., ::step, None], x[None, ::step, places], x[::step, ::step]
        for found, one in zip(f(x, step), wanted, strict=True):
            np.testing.assert_array_equal(found, one)
    gradient = tg.grad(tg.sum(t[:, ::w] ** 2), t)
    wanted = np.zeros_like(x)
    wanted[:, ::-2] = 2 * x[:, ::-2]
    np.testing.assert_array_equal(gradient.eval({t: x, w: -2}), wanted)


def test_a_step_of_constants_is_a_number_and_one_of_0_is_refused_at_once() -> None:
    x = tg.vector("x", shape=(5,))
    assert x[:: tg.constant(2)].type.shape == (3,)
    assert x[:: tg.constant(2) - 3].eval({x: np.arange(5.0)}).tolist() == [4.0, 3.0, 2.0, 1.0, 0.0]
    with pytest.raises(tg.DomainError, match="step: found 0, needed an integer other than 0"):
        x[::0]
    with pytest.raises(tg.InputError, match=r"step: found 1\.5"):
        x[::1.5]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("counts", [(2, 2), (1, 2), (2, 1), (1, 1), (1, 0), (0, 1)])
def test_computed_masks_of_one_true_element_broadcast(backend: str, counts: tuple[int, int]) -> None:
    m = tg.matrix("m")
    f = tg.function([m], m[m[:, 0] > 2, m[0] > 2], backend=backend)
    x = np.zeros((4, 5))
    x[1 : 1 + counts[0], 0], x[0, 1 : 1 + counts[1]] = 5.0, 6.0
    x[1:, 1:] = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(f(x), x[x[:, 0] > 2, x[0] > 2])


@pytest.mark.parametrize("backend", BACKENDS)
def test_index_arrays_that_do_not_broadcast_are_refused(backend: str) -> None:
    m = tg.matrix("m")
    i, j = tg.vector("i", dtype="int64"), tg.vector("j", dtype="int64")
    f = tg.function([m, i, j], m[i, j], backend=backend)
    g = tg.function([m], m[m[:, 0] > 2, m[0] > 2], backend=backend)
    assert f(np.ones((3, 3)), [0], [0, 1, 2]).shape == (3,)
    with pytest.raises(tg.ShapeError, match="lengths differ: 3 and 2"):
        f(np.ones((3, 3)), [0, 1], [0, 1, 2])
    with pytest.raises(tg.ShapeError, match="lengths differ: 2 and 3"):
        g(np.array([[0.0, 3, 3], [3.0, 0, 0], [3.0, 0, 0], [3.0, 0, 0]]))
    with pytest.raises(tg.ShapeError, match="index: lengths do not broadcast: 2 and 3"):
        m[np.array([0, 1]), np.array([0, 1, 2])]


@pytest.mark.parametrize("backend", BACKENDS)
def test_known_masks_have_known_lengths_whatever_they_cover(backend: str) -> None:
    m = tg.matrix("m")
    rows, columns = np.array([True, False, True]), np.array([False, True, False])
    both = m[rows, columns]
    assert both.type.shape == (2,)
    f = tg.function([m], [both, m[rows], m.at[rows, columns].set(9.0)], backend=backend)
    x = np.arange(9.0).reshape(3, 3)
    changed = x.copy()
    changed[rows, columns] = 9.0
    for found, wanted in zip(f(x), (x[rows, columns], x[rows], changed), strict=True):
        np.testing.assert_array_equal(found, wanted)
    with pytest.raises(tg.BoundsError, match="a mask of another shape: axis 0: lengths differ: 3 and 4"):
        f(np.zeros((4, 3)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_update_repeats_a_value_whose_computed_length_is_1(backend: str) -> None:
    v, w, u = tg.vector("v"), tg.scalar("w", dtype="int64"), tg.scalar("u", dtype="int64")
    outputs = [v.at[:w].set(v[w : w + u]), v.at[:w].add(v[w : w + u]), v.at[[0, 2]].set(v[w : w + u])]
    f = tg.function([v, w, u], outputs, backend=backend)
    x = np.arange(5.0)
    found = f(x, 3, 1)
    assert [y.tolist() for y in found] == [[3.0, 3, 3, 3, 4], [3.0, 4, 5, 3, 4], [3.0, 1, 3, 3, 4]]
    assert f(x, 2, 2)[0].tolist() == [2.0, 3, 2, 3, 4]
    with pytest.raises(tg.ShapeError, match="lengths differ"):
        f(x, 3, 2)


def test_an_update_of_a_value_as_long_as_its_place_needs_no_positions() -> None:
    x, v = tg.vector("x"), tg.vector("v")
    graph = freeze([x, v], [x.at[1:].set(x[:-1]), x.at[2:4].add(v)])
    assert not any(node.op.name == "Gather" for node in graph.nodes)
