"""Ensembles beside a Python loop over their members: values, gradients, draws, keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tg
from tg.errors import InputError

KEY, X = tg.random.key(5), np.random.default_rng(1).normal(size=(3, 7, 2))


class Net(tg.nn.Module):
    """Draws of several kinds, dropout, a weight in two places."""

    def __init__(self) -> None:
        self.first = tg.nn.Dense(2, 8)
        self.norm = tg.nn.LayerNorm(8)
        self.dropout = tg.nn.Dropout(0.4)
        self.twice = [self.norm]
        self.last = tg.nn.Dense(8, 1)

    def __call__(self, x: Any, *, training: bool, key: Any = None) -> Any:
        y = self.twice[0](self.norm(tg.tanh(self.first(x))))
        return self.last(self.dropout(y, training=training, key=key))


@pytest.mark.parametrize("axis", [None, 0])
def test_an_ensemble_is_a_loop_over_its_members(axis: int | None) -> None:
    ensemble = tg.nn.randomized(tg.nn.Ensemble(Net(), 3), KEY, "float64")
    x, keys = tg.tensor("x", shape=(None,) * 3), tg.random.split(tg.random.key(9), 3)
    own = [x[k] if axis == 0 else x[0] for k in range(3)]
    together = ensemble(x if axis == 0 else x[0], axis=axis, training=True, key=tg.random.key(9))
    one_by_one = tg.stack([m(own[k], training=True, key=keys[k]) for k, m in enumerate(ensemble)])
    weights = tg.nn.params(ensemble)
    slopes = [tg.grad(tg.sum(tg.sin(y)), weights) for y in (together, one_by_one)]
    y, z, of_y, of_z = tg.function([x], [together, one_by_one, *slopes], backend="perform")(X)
    np.testing.assert_allclose(y, z, rtol=1e-13)
    for path in weights:
        np.testing.assert_allclose(of_y[path], of_z[path], rtol=1e-11, atol=1e-13, err_msg=path)
    dropped = tg.function([x], [ensemble[k](x[0], training=True, key=keys[k]) for k in range(3)])(X)
    assert not np.array_equal(dropped[0], dropped[1])


def test_members_are_drawn_apart_and_as_their_layers_say() -> None:
    ensemble = tg.nn.Ensemble(tg.nn.Dense(4, 300), 6)
    w = tg.nn.params(tg.nn.randomized(ensemble, KEY))["members.weight"].get_value()
    assert w.shape == (6, 300, 4)
    assert len({float(one.sum()) for one in w}) == 6
    assert np.abs(w).max() <= 0.5  # 1 / sqrt(4): no fan counts members
    assert w.std() == pytest.approx(1 / 12**0.5, rel=0.05)
    assert len(ensemble) == 6
    assert tg.nn.count(ensemble) == 6 * 1500


def test_one_loss_trains_all_members() -> None:
    ensemble = tg.nn.randomized(tg.nn.Ensemble(tg.nn.Dense(2, 1), 4), KEY, "float64")
    alone = [tg.nn.load(tg.nn.Dense(2, 1), slices(ensemble, k)) for k in range(4)]
    x, y = X[0], X[0] @ np.array([[1.0], [-2.0]]) + 0.5
    for model in (ensemble, *alone):
        loss = tg.mean((model(x) - y) ** 2, (-2, -1))
        updates = tg.optimize.adam(tg.sum(loss), tg.nn.params(model), learning_rate=0.1)
        step = tg.function([], loss, updates=updates)
        for _ in range(5):
            step()
    for k, model in enumerate(alone):
        for path, w in tg.nn.params(model).items():
            np.testing.assert_allclose(slices(ensemble, k)[path], w.get_value(), rtol=1e-12)


@pytest.mark.parametrize("backend", ["perform", "c", "numba", "jax", "torch", "mlx"])
def test_each_member_moves_running_statistics_of_its_own(backend: str) -> None:
    net = tg.nn.Sequential(tg.nn.Dense(2, 3), tg.nn.BatchNorm(3), tg.tanh, tg.nn.Dense(3, 1))
    ensemble = tg.nn.randomized(tg.nn.Ensemble(net, 3), KEY, "float64")
    alone = [tg.nn.load(net, slices(ensemble, k)) for k in range(3)]
    x = tg.tensor("x", shape=(3, None, 2))
    both = [(ensemble, [ensemble(x, axis=0, training=True)])]
    both += [(model, [model(x[k], training=True)]) for k, model in enumerate(alone)]
    for model, results in both:
        updates = tg.optimize.sgd(tg.sum(results[0] ** 2), tg.nn.params(model), learning_rate=0.1)
        step = tg.function([x], results, updates=updates, backend=backend)
        step(X)
        step(2 * X)
    for k, model in enumerate(alone):
        for path, w in {**tg.nn.params(model), **tg.nn.state(model)}.items():
            np.testing.assert_allclose(slices(ensemble, k)[path], w.get_value(), rtol=1e-11, atol=1e-13, err_msg=path)
    means = tg.nn.state(ensemble)["members.1.running_mean"].get_value()
    assert not np.array_equal(means[0], means[1])


def slices(ensemble: Any, k: int) -> dict[str, Any]:
    held = {**tg.nn.params(ensemble), **tg.nn.state(ensemble)}
    return {path.removeprefix("members."): w.get_value()[k] for path, w in held.items()}


def test_a_summary_has_the_paths_of_members() -> None:
    net = tg.nn.Sequential(tg.nn.Ensemble(tg.nn.Sequential(tg.nn.Dense(2, 3), tg.nn.Dense(3, 1)), 4), tg.relu)
    rows = tg.nn.summary(net, tg.tensor("x", "float32", (5, 2))).rows
    assert [row.path for row in rows] == ["", "0", "0.members", "0.members.0", "0.members.1"]
    assert [row.weights for row in rows] == [52, 52, 13, 9, 4]
    assert [row.operations for row in rows] == [360, 360, 90, 60, 30]


def test_what_is_refused() -> None:
    norm = tg.nn.randomized(tg.nn.Ensemble(tg.nn.BatchNorm(2), 3), KEY, "float64")
    assert norm(X[0], training=False).type.shape == (3, 7, 2)
    for make, text in (
        (lambda: tg.nn.Ensemble(tg.nn.Dense(2, 1), 0), "Ensemble: number: found 0"),
        (lambda: tg.nn.Ensemble(tg.relu, 2), "needed a module"),
        (lambda: tg.nn.Ensemble(tg.nn.randomized(tg.nn.Dense(2, 1), KEY), 2), "net: found a value of weight"),
        (lambda: tg.nn.Ensemble(tg.nn.Dense(2, 1), 2)[0], "Dense.weight has no value yet"),
        (lambda: norm[0](X[0], training=True), "needed a shared variable"),
    ):
        with pytest.raises(InputError) as found:
            make()
        assert text in str(found.value)
    with pytest.raises(IndexError, match="found 3, needed one of 3"):
        norm[3]
