"""`with_updates`: what is stored beside a value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tg
from tg.errors import DtypeError, InputError, ShapeError


def counted(x: Any, count: Any) -> Any:
    return tg.with_updates(2 * x, {count: count + 1})


@pytest.mark.parametrize("backend", ["perform", "c", "numba", "jax", "torch", "mlx"])
def test_a_function_stores_what_its_results_say(backend: str) -> None:
    x, count = tg.vector("x"), tg.shared(0, "count", shape=())
    f = tg.function([x], tg.sum(counted(x, count)), backend=backend)
    assert [float(f([1.0, 2.0])), float(f([1.0, 2.0]))] == [6.0, 6.0]
    assert int(count.get_value()) == 2


def test_updates_that_are_given_go_before() -> None:
    x, count = tg.scalar("x"), tg.shared(0, "count", shape=())
    tg.function([x], counted(x, count), updates={count: count + 10})(1.0)
    assert int(count.get_value()) == 10


def test_several_are_made_one_after_another_and_copies_count_once() -> None:
    x, level = tg.scalar("x"), tg.shared(1.0, "level", shape=())
    once = tg.with_updates(x, {level: 2 * level})
    y = tg.with_updates(once, {level: level + x})
    loss = tg.log(tg.exp(y) + 1)  # whose gradient has a copy of it, in another form
    value, slope = tg.function([x], [loss, tg.grad(loss, x)])(3.0)
    np.testing.assert_allclose([value, slope], [np.log1p(np.exp(3.0)), 1 / (1 + np.exp(-3.0))], rtol=1e-14)
    assert float(level.get_value()) == 5.0


def test_the_second_is_made_of_values_that_the_program_gives() -> None:
    """A layer whose result hangs on its own state, used twice: the second reads what the first read, too."""
    x, level = tg.scalar("x"), tg.shared(1.0, "level", shape=())
    y = tg.with_updates(x + level, {level: level + 1})
    z = tg.with_updates(y * 1.0, {level: level + y})
    assert [float(v) for v in tg.function([x], [y, z])(5.0)] == [6.0, 6.0]
    assert float(level.get_value()) == 2.0 + 6.0


def test_derivatives_pass_through() -> None:
    x, count = tg.vector("x"), tg.shared(0, "count", shape=())
    y = tg.sum(tg.sin(counted(x, count)))
    given = np.array([0.3, 1.2])
    found = tg.function([x], [tg.grad(y, x), tg.jvp(y, x, tg.ones(2)), tg.hessian(y, x)])(given)
    np.testing.assert_allclose(found[0], 2 * np.cos(2 * given), rtol=1e-14)
    np.testing.assert_allclose(found[1], np.sum(2 * np.cos(2 * given)), rtol=1e-14)
    np.testing.assert_allclose(found[2], np.diag(-4 * np.sin(2 * given)), rtol=1e-14)
    assert int(count.get_value()) == 1


def test_vmap_over_what_is_beside_keeps_one_update() -> None:
    x, rows, count = tg.vector("x"), tg.matrix("rows"), tg.shared(0.0, "count", shape=())
    y = counted(x, count)
    f = tg.function([x, rows], tg.vmap(lambda row: tg.dot(row, y))(rows))
    np.testing.assert_array_equal(f([1.0, 2.0], np.eye(2)), [2.0, 4.0])
    assert float(count.get_value()) == 1.0


@pytest.mark.parametrize("shape", [None, (3, 2)])
def test_each_element_of_a_batch_updates_its_own_of_a_mapped_variable(shape: tuple[int, ...] | None) -> None:
    x, level = tg.matrix("x"), tg.shared(np.ones((3, 2)), "level", shape=shape)

    def moved(x: Any, level: Any) -> Any:
        y = tg.with_updates(x + level, {level: level * x})
        return tg.with_updates(y, {level: level + 1})

    f = tg.function([x], [tg.vmap(moved)(x, level), tg.sum(tg.vmap(tg.vmap(moved))(x, level))])
    given = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(f(given)[0], given + 1)
    np.testing.assert_array_equal(level.get_value(), (given + 1) * given + 1)  # four updates, one after another


def test_an_element_is_updated_by_what_is_the_same_for_all_and_beside_a_checkpoint() -> None:
    x, level = tg.vector("x"), tg.shared(np.zeros(2), "level")
    same = tg.vmap(lambda one: tg.with_updates(x, {one: tg.sum(x)}), out_axes=None)(level)
    tg.function([x], same)([1.0, 2.0])
    np.testing.assert_array_equal(level.get_value(), [3.0, 3.0])
    again = tg.vmap(lambda x, one: tg.checkpoint(lambda x: tg.with_updates(x * one, {one: x}))(x))(x, level)
    np.testing.assert_array_equal(tg.function([x], again)([1.0, 2.0]), [3.0, 6.0])
    np.testing.assert_array_equal(level.get_value(), [1.0, 2.0])


def test_what_a_batch_refuses() -> None:
    rows, one = tg.shared(np.ones((3, 3)), "rows"), tg.shared(0.0, "one", shape=())

    def by_columns() -> Any:
        return tg.vmap(lambda v: tg.with_updates(v, {v: 2 * v}), in_axes=1)(rows)

    def inside(v: Any) -> Any:
        return tg.vmap(lambda w: tg.with_updates(w, {v: w + v}))(v)

    with pytest.raises(InputError, match="needed a shared variable"):
        by_columns()
    with pytest.raises(InputError, match=r"found an update of <shared one.* in the body of vmap"):
        tg.vmap(lambda v: tg.with_updates(v, {one: tg.sum(v)}))(rows)
    with pytest.raises(InputError, match="in each element of a batch, needed one"):
        tg.vmap(inside)(rows)
    with pytest.raises(InputError, match="in a loop, a branch or a function"):
        tg.vmap(lambda v: tg.scan(lambda c, _: (tg.with_updates(c, {v: c}), c), v, length=2)[0])(rows)


def test_what_is_refused() -> None:
    x, count = tg.scalar("x"), tg.shared(0, "count", shape=())
    with pytest.raises(InputError, match=r"with_updates: updates: found .*needed a shared variable"):
        tg.with_updates(x, {x: x})  # type: ignore[dict-item]
    with pytest.raises(DtypeError, match="with_updates: update of"):
        tg.with_updates(x, {count: x})
    with pytest.raises(ShapeError, match="with_updates: update of"):
        tg.with_updates(x, {count: tg.vector("v", "int64")})
    y = counted(x, count)
    with pytest.raises(InputError, match="needed a shared variable"):
        tg.function([x], y, givens={count: tg.constant(3)})
