"""Optimizers beside torch.optim and optax: 50 steps of one problem, float64, parameters in a nested structure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tg
from tg.errors import DtypeError, InputError, ShapeError
from tg.types.dtypes import numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 50
RNG = np.random.default_rng(34)
START: dict[str, Any] = {
    "layers": [(RNG.normal(size=(3, 5)), RNG.normal(size=5)), (RNG.normal(size=(5, 4)), RNG.normal(size=4))],
    "scale": RNG.normal(size=()),
}
GIVEN = RNG.normal(size=(7, 3))


def loss_of(library: Any, x: Any, p: Any) -> Any:
    (w, b), (v, c) = p["layers"]
    y = (library.tanh(x @ w + b) @ v + c) * p["scale"]
    return (y**2).sum() + 0.1 * (y**4).mean()


def moved(build: Callable[[Any, Any], Any], backend: str = "perform", dtype: str = "float64") -> list[Any]:
    """The parameters after each step."""
    leaves, structure = tg.variables.structure.flatten(START)
    params = structure(iter([tg.shared(leaf, dtype=dtype, shape=leaf.shape) for leaf in leaves]))
    x = tg.matrix("x", dtype)
    step = tg.function([x], [], updates=build(loss_of(tg, x, params), params), backend=backend)
    found = []
    for _ in range(STEPS):
        step(GIVEN.astype(dtype))
        found.append([p.get_value() for p in tg.variables.structure.flatten(params)[0]])
    return found


def of_torch(make: Any) -> list[Any]:
    torch = pytest.importorskip("torch")
    leaves, structure = tg.variables.structure.flatten(START)
    tensors = [torch.tensor(leaf, requires_grad=True) for leaf in leaves]
    optimizer = make(torch.optim, tensors)
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(torch, torch.tensor(GIVEN), structure(iter(tensors))).backward()
        optimizer.step()
        found.append([t.detach().numpy().copy() for t in tensors])
    return found


def of_optax(make: Any) -> list[Any]:
    jax, optax = pytest.importorskip("jax"), pytest.importorskip("optax")
    import jax.numpy as jnp

    with jax.enable_x64(True):
        params = jax.tree.map(jnp.asarray, START)
        optimizer = make(optax)
        state = optimizer.init(params)

        @jax.jit
        def step(params: Any, state: Any) -> Any:
            gradients = jax.grad(lambda p: loss_of(jnp, GIVEN, p))(params)
            updates, state = optimizer.update(gradients, state, params)
            return optax.apply_updates(params, updates), state

        found = []
        for _ in range(STEPS):
            params, state = step(params, state)
            found.append([np.asarray(leaf) for leaf in jax.tree.leaves(params)])
    return found


def same(found: list[Any], want: list[Any], bound: float = 1e-6) -> None:
    for now, then in zip(found, want, strict=True):
        for a, b in zip(now, then, strict=True):
            np.testing.assert_allclose(a, b, rtol=bound, atol=bound * 1e-3)
    first = tg.variables.structure.flatten(START)[0]
    assert all(np.max(np.abs(a - b)) > 1e-4 for a, b in zip(first, found[-1], strict=True))  # all have moved


OF_TORCH: dict[str, tuple[str, dict[str, Any], str, dict[str, Any]]] = {
    "sgd": ("sgd", {"learning_rate": 1e-3}, "SGD", {"lr": 1e-3}),
    "sgd by default": ("sgd", {}, "SGD", {}),
    "momentum": ("sgd", {"learning_rate": 1e-3, "momentum": 0.9}, "SGD", {"lr": 1e-3, "momentum": 0.9}),
    "nesterov": (
        "sgd",
        {"learning_rate": 1e-3, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        "SGD",
        {"lr": 1e-3, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    ),
    "adam": ("adam", {}, "Adam", {}),
    "adam with decay": ("adam", {"weight_decay": 0.1, "b1": 0.8}, "Adam", {"weight_decay": 0.1, "betas": (0.8, 0.999)}),
    "adamw": ("adamw", {}, "AdamW", {}),
    "adamw, other numbers": (
        "adamw",
        {"learning_rate": 0.02, "b2": 0.95, "eps": 1e-3, "weight_decay": 0.3},
        "AdamW",
        {"lr": 0.02, "betas": (0.9, 0.95), "eps": 1e-3, "weight_decay": 0.3},
    ),
    "adamax": ("adamax", {"weight_decay": 0.01}, "Adamax", {"weight_decay": 0.01}),
    "nadam": ("nadam", {}, "NAdam", {}),
    "nadam, other numbers": (
        "nadam",
        {"momentum_decay": 0.1, "weight_decay": 0.01},
        "NAdam",
        {"momentum_decay": 0.1, "weight_decay": 0.01},
    ),
    "rmsprop": ("rmsprop", {}, "RMSprop", {}),
    "rmsprop, centered with momentum": (
        "rmsprop",
        {"learning_rate": 1e-3, "centered": True, "momentum": 0.9, "decay": 0.9, "eps": 1e-4},
        "RMSprop",
        {"lr": 1e-3, "centered": True, "momentum": 0.9, "alpha": 0.9, "eps": 1e-4},
    ),
    "adagrad": ("adagrad", {}, "Adagrad", {}),
    "adagrad, begun": (
        "adagrad",
        {"initial_accumulator_value": 0.5, "weight_decay": 0.1},
        "Adagrad",
        {"initial_accumulator_value": 0.5, "weight_decay": 0.1},
    ),
    "adadelta": ("adadelta", {}, "Adadelta", {}),
}

OF_OPTAX: dict[str, tuple[str, dict[str, Any], Callable[[Any], Any]]] = {
    "sgd": (
        "sgd",
        {"learning_rate": 1e-3, "momentum": 0.9, "nesterov": True},
        lambda o: o.sgd(1e-3, momentum=0.9, nesterov=True),
    ),
    "adam": ("adam", {"learning_rate": 0.01, "eps_root": 1e-6}, lambda o: o.adam(0.01, eps_root=1e-6)),
    "adamw": (
        "adamw",
        {"learning_rate": 0.01, "weight_decay": 0.1, "mask": lambda v: v.type.ndim > 1},
        lambda o: o.adamw(0.01, weight_decay=0.1, mask=lambda p: __import__("jax").tree.map(lambda v: v.ndim > 1, p)),
    ),
    "adamax": ("adamax", {"learning_rate": 0.01}, lambda o: o.adamax(0.01)),
    "nadam": ("nadam", {"learning_rate": 0.01, "momentum_decay": None}, lambda o: o.nadam(0.01)),
    "rmsprop": (
        "rmsprop",
        {"learning_rate": 1e-3, "decay": 0.9, "eps_in_sqrt": True, "momentum": 0.5, "nesterov": True},
        lambda o: o.rmsprop(1e-3, momentum=0.5, nesterov=True),
    ),
    "rmsprop, centered": (
        "rmsprop",
        {"learning_rate": 1e-3, "decay": 0.9, "eps_in_sqrt": True, "centered": True, "initial_scale": 0.5, "eps": 1e-4},
        lambda o: o.rmsprop(1e-3, centered=True, initial_scale=0.5, eps=1e-4),
    ),
    "adagrad": (
        "adagrad",
        {"learning_rate": 0.1, "initial_accumulator_value": 0.1, "eps": 1e-7, "eps_in_sqrt": True},
        lambda o: o.adagrad(0.1),
    ),
    "adadelta": ("adadelta", {"learning_rate": 1.0}, lambda o: o.adadelta(1.0)),
    "lion": ("lion", {"learning_rate": 1e-3}, lambda o: o.lion(1e-3)),
    "lamb": ("lamb", {"learning_rate": 0.01, "weight_decay": 0.1}, lambda o: o.lamb(0.01, weight_decay=0.1)),
    "muon": ("muon", {"learning_rate": 0.01}, lambda o: o.contrib.muon(0.01)),
    "muon, other numbers": (
        "muon",
        {
            "learning_rate": 0.01,
            "beta": 0.8,
            "nesterov": False,
            "ns_steps": 3,
            "weight_decay": 0.1,
            "adam_learning_rate": 1e-3,
        },
        lambda o: o.contrib.muon(0.01, beta=0.8, nesterov=False, ns_steps=3, weight_decay=0.1, adam_learning_rate=1e-3),
    ),
}


@pytest.mark.parametrize("case", OF_TORCH)
def test_fifty_steps_are_those_of_torch(case: str) -> None:
    name, options, other, its = OF_TORCH[case]
    want = of_torch(lambda optim, tensors: getattr(optim, other)(tensors, **its))
    same(moved(lambda loss, params: getattr(tg.optimize, name)(loss, params, **options)), want)


@pytest.mark.parametrize("case", OF_OPTAX)
def test_fifty_steps_are_those_of_optax(case: str) -> None:
    pytest.importorskip("optax.contrib")
    name, options, make = OF_OPTAX[case]
    same(moved(lambda loss, params: getattr(tg.optimize, name)(loss, params, **options)), of_optax(make))


def test_a_schedule_is_asked_for_each_step() -> None:
    torch = pytest.importorskip("torch")
    schedule = tg.optimize.exponential_decay(0.01, 1, 0.9)
    leaves, structure = tg.variables.structure.flatten(START)
    tensors = [torch.tensor(leaf, requires_grad=True) for leaf in leaves]
    optimizer = torch.optim.AdamW(tensors, lr=0.01)
    falling = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    want = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(torch, torch.tensor(GIVEN), structure(iter(tensors))).backward()
        optimizer.step()
        falling.step()
        want.append([t.detach().numpy().copy() for t in tensors])
    same(moved(lambda loss, params: tg.optimize.adamw(loss, params, learning_rate=schedule)), want)


def test_a_learning_rate_may_be_a_variable() -> None:
    w, rate = tg.shared([4.0, -2.0], "w"), tg.scalar("rate")
    step = tg.function([rate], [], updates=tg.optimize.sgd(tg.sum(w**2), w, learning_rate=rate))
    step(0.25)
    step(0.5)
    np.testing.assert_array_equal(w.get_value(), [0.0, 0.0])


def test_float32_parameters_stay_float32_and_near_those_of_float64() -> None:
    pairs = [("adamw", {"learning_rate": tg.optimize.constant_schedule(1e-2)}), ("lamb", {"learning_rate": 1e-3})]
    for name, options in pairs:

        def build(loss: Any, params: Any, name: str = name, options: Any = options) -> Any:
            return getattr(tg.optimize, name)(loss, params, **options)

        narrow, wide = moved(build, dtype="float32"), moved(build)
        assert all(leaf.dtype == np.float32 for leaf in narrow[-1])
        for a, b in zip(narrow[-1], wide[-1], strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "name", ["sgd", "adam", "adamw", "nadam", "adamax", "adadelta", "rmsprop", "adagrad", "lamb", "lion"]
)
def test_a_step_of_halves_is_that_of_float32_rounded_once(name: str, dtype: str) -> None:
    """In float16 the square of 1e-4 is 0, and so is an eps of 1e-8: PyTorch's Adam gives -inf, of no gradient NaN."""
    start = np.array([1.0, -0.5, 2.0, 0.25], numpy_dtype(dtype))
    slopes = np.array([0.0, 1e-4, 2.0, -300.0], numpy_dtype(dtype))
    found = []
    for kind in (dtype, "float32"):
        w, g = tg.shared(start.astype(numpy_dtype(kind)), "w"), tg.constant(slopes.astype(numpy_dtype(kind)))
        updates = getattr(tg.optimize, name)(None, w, learning_rate=0.03, gradients=g)
        tg.function([], [], updates=updates, backend="perform")()
        found.append(w.get_value())
        assert {v.type.dtype for v in updates if v is not w} <= {"float32", "int64", "float64"}
    assert np.all(np.isfinite(found[0]))
    assert found[0][-1] != start[-1] or name == "adadelta"
    np.testing.assert_array_equal(found[0], found[1].astype(found[0].dtype))


def test_accumulated_gradients_are_multisteps_of_optax() -> None:
    def build(loss: Any, params: Any) -> Any:
        return tg.optimize.accumulated(
            loss, params, 3, lambda g: tg.optimize.adam(None, params, learning_rate=0.01, gradients=g)
        )

    want = of_optax(lambda o: o.MultiSteps(o.adam(0.01), 3))
    same(moved(build), want)


def test_clipping_and_the_average_are_those_of_optax() -> None:
    pytest.importorskip("optax")

    def build(loss: Any, params: Any) -> Any:
        gradients = tg.optimize.clip_by_global_norm(tg.grad(loss, params), 0.5)
        return tg.optimize.sgd(None, params, learning_rate=0.1, gradients=gradients)

    same(moved(build), of_optax(lambda o: o.chain(o.clip_by_global_norm(0.5), o.sgd(0.1))))
    by_value = lambda loss, params: tg.optimize.sgd(  # noqa: E731
        None, params, learning_rate=0.1, gradients=tg.optimize.clip_by_value(tg.grad(loss, params), 0.1)
    )
    same(moved(by_value), of_optax(lambda o: o.chain(o.clip(0.1), o.sgd(0.1))))


def test_a_moving_average_is_that_of_optax() -> None:
    jax, optax = pytest.importorskip("jax"), pytest.importorskip("optax")
    w = tg.shared(np.array([1.0, 2.0]), "w", shape=(2,))
    averages, updates = tg.optimize.moving_average({w: w * 0.9 + 1}, w, 0.95)
    step, mean = tg.function([], [], updates=updates), tg.function([], averages)
    np.testing.assert_array_equal(mean(), [1.0, 2.0])
    with jax.enable_x64(True):
        average = optax.ema(0.95)
        state = average.init(w.get_value())
        for _ in range(10):
            step()
            want, state = average.update(w.get_value(), state)
            np.testing.assert_allclose(mean(), want, rtol=1e-12)


def test_a_parameter_in_two_places_moves_once() -> None:
    w = tg.shared(3.0, "w")
    step = tg.function([], [], updates=tg.optimize.sgd(w * w, [w, {"tied": w}], learning_rate=0.1))
    step()
    np.testing.assert_allclose(w.get_value(), 3.0 - 0.6, rtol=1e-15)


def test_lamb_leaves_parameters_of_zero_the_length_of_their_direction() -> None:
    w = tg.shared([0.0, 0.0], "w")
    step = tg.function([], [], updates=tg.optimize.lamb(tg.sum((w - 1) ** 2), w, learning_rate=0.1))
    step()
    np.testing.assert_allclose(w.get_value(), [0.1, 0.1], rtol=1e-5)


def test_clipping_keeps_what_is_small_and_zero() -> None:
    kept = tg.optimize.clip_by_norm([tg.constant([0.0, 0.0]), tg.constant([0.3, 0.4])], 1.0)
    np.testing.assert_array_equal(kept[0].eval(), [0.0, 0.0])
    np.testing.assert_array_equal(kept[1].eval(), [0.3, 0.4])


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda w, loss: tg.optimize.sgd(loss, w, learning_rate="fast"), InputError, "learning_rate: found 'fast'"),
        (lambda w, loss: tg.optimize.sgd(loss, w, learning_rate=float("nan")), InputError, "needed a finite number"),
        (lambda w, loss: tg.optimize.adam(loss, w, b1=1.0), InputError, "adam: b1: found 1.0"),
        (lambda w, loss: tg.optimize.adam(loss, w, eps=-1e-8), InputError, "adam: eps: found -1e-08"),
        (lambda w, loss: tg.optimize.adam(loss, tg.vector("v")), InputError, "needed a shared variable"),
        (lambda w, loss: tg.optimize.adam(loss, []), InputError, "params: found none"),
        (lambda w, loss: tg.optimize.adam(None, w), InputError, "neither a loss nor gradients"),
        (lambda w, loss: tg.optimize.adam(loss, w, gradients=w), InputError, "a loss and gradients"),
        (lambda w, loss: tg.optimize.adam(None, [w], gradients=w), InputError, "gradients: found"),
        (lambda w, loss: tg.optimize.adam(None, w, gradients=loss), ShapeError, "gradient of w: found float64[]"),
        (lambda w, loss: tg.optimize.adam(loss, tg.shared(1, "k")), DtypeError, "needed real floating numbers"),
        (lambda w, loss: tg.optimize.adamw(loss, w, mask=[True, False]), InputError, "mask"),
        (lambda w, loss: tg.optimize.adamw(loss, w, mask=lambda v: 1), InputError, "needed True or False"),
        (lambda w, loss: tg.optimize.accumulated(loss, w, 0, lambda g: {}), InputError, "every: found 0"),
        (lambda w, loss: tg.optimize.moving_average({}, w, 0.9), InputError, "w is not among the updates"),
        (lambda w, loss: tg.optimize.moving_average([], w, 0.9), InputError, "updates: found [], needed a dict"),
        (lambda w, loss: tg.optimize.accumulated(loss, w, 2, None), InputError, "then: found None, needed a function"),
        (
            lambda w, loss: tg.optimize.accumulated(loss, w, 2, lambda g: g),
            InputError,
            "accumulated: then: updates: fou",
        ),
        (lambda w, loss: tg.optimize.state([w]), InputError, "state: updates: found"),
        (lambda w, loss: tg.optimize.muon(loss, w, learning_rate=0.1, ns_steps=2.5), InputError, "ns_steps: found 2.5"),
        (lambda w, loss: tg.optimize.muon(loss, w, learning_rate=0.1, ns_coeffs=3), InputError, "needed three numbers"),
        (lambda w, loss: tg.optimize.global_norm([]), InputError, "found no arrays"),
        (lambda w, loss: tg.optimize.clip_by_value([w], -1.0), InputError, "max_delta: found -1.0"),
    ],
)
def test_what_is_refused(make: Any, error: type[Exception], text: str) -> None:
    w = tg.shared([1.0, 2.0], "w", shape=(2,))
    with pytest.raises(error) as refused:
        make(w, tg.sum(w**2))
    assert text in str(refused.value)
