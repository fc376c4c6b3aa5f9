"""Optimizers that go along the gradient or its sign: `sgd`, `lion`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.ops.elementwise.arithmetic import sign
from tg.optimize.descent import Descent, bounded

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.optimize.descent import Parameter, Updates


def sgd(
    loss: Any,
    params: Any,
    *,
    learning_rate: Any = 1e-3,
    momentum: float = 0.0,
    nesterov: bool = False,
    weight_decay: float = 0.0,
    mask: Any = None,
    gradients: Any = None,
) -> Updates:
    """Stochastic gradient descent: g' = g + weight_decay p, s = momentum s + g', p = p - learning_rate s.

    Args:
        loss: a real scalar; None where `gradients` are given.
        params: shared variables in lists, tuples, dicts and dataclasses.
        learning_rate: a number, a scalar variable, or a schedule: a function of the number of steps before.
        nesterov: p goes along g' + momentum s.
        mask: which parameters decay: a function of the variable, or bools nested like `params` or less deep; all.
        gradients: nested like `params`: what `tg.grad` gave, clipped or averaged.
    Returns:
        updates for `tg.function`: the parameters and what the optimizer keeps.
    Raises:
        InputError: a parameter is not shared, a number is outside its bounds.
    Source:
        torch.optim.SGD; the keywords are those of optax.sgd.
    Example:
        >>> import tg
        >>> w = tg.shared([4.0, -2.0], "w")
        >>> loss = tg.sum(w**2)
        >>> step = tg.function([], loss, updates=tg.optimize.sgd(loss, w, learning_rate=0.25))
        >>> float(step()), float(step()), w.get_value().tolist()
        (20.0, 5.0, [1.0, -0.5])
    """
    bounded("sgd", momentum=momentum, weight_decay=weight_decay)
    run = Descent("sgd", loss, params, mask, gradients)
    rate = run.rate(learning_rate)
    for p in run:
        g = decayed(p, weight_decay)
        if momentum:
            run.move(p, rate, with_momentum(run, p, g, momentum, nesterov=nesterov))
        else:
            run.move(p, rate, g)
    return run.updates


def lion(
    loss: Any,
    params: Any,
    *,
    learning_rate: Any,
    b1: float = 0.9,
    b2: float = 0.99,
    weight_decay: float = 1e-3,
    mask: Any = None,
    gradients: Any = None,
) -> Updates:
    """Steps of one length: p = p - learning_rate (sign(b1 m + (1 - b1) g) + weight_decay p), m = b2 m + (1 - b2) g.

    Args:
        loss, params, learning_rate, mask, gradients: as `sgd` has them.
    Returns:
        updates for `tg.function`.
    Raises:
        InputError: a parameter is not shared, a number is outside its bounds.
    Source:
        Chen et al. 2023, "Symbolic discovery of optimization algorithms"; optax.lion.
    Example:
        >>> import tg
        >>> w = tg.shared([4.0, -2.0], "w")
        >>> updates = tg.optimize.lion(tg.sum(w**2), w, learning_rate=0.5, weight_decay=0.0)
        >>> _ = tg.function([], [], updates=updates)()
        >>> w.get_value().tolist()
        [3.5, -1.5]
    """
    bounded("lion", b1=b1, b2=b2, weight_decay=weight_decay)
    run = Descent("lion", loss, params, mask, gradients)
    rate = run.rate(learning_rate)
    for p in run:
        mean = run.state(p, "mean")
        run.updates[mean] = b2 * mean + (1 - b2) * p.gradient
        run.move(p, rate, plus_decay(p, sign(b1 * mean + (1 - b1) * p.gradient), weight_decay))
    return run.updates


def with_momentum(run: Descent, p: Parameter, g: Variable, momentum: float, *, nesterov: bool) -> Variable:
    """The direction that a gradient and what is left of earlier ones give."""
    before = run.state(p, "speed")
    speed = run.updates[before] = momentum * before + g
    return g + momentum * speed if nesterov else speed


def decayed(p: Parameter, weight_decay: float) -> Variable:
    """The gradient of the loss and of weight_decay / 2 times the sum of the parameter's squares."""
    return plus_decay(p, p.gradient, weight_decay)


def plus_decay(p: Parameter, direction: Variable, weight_decay: float) -> Variable:
    """A direction, and of the parameter what decays."""
    return direction + weight_decay * p.value if weight_decay and p.decays else direction
