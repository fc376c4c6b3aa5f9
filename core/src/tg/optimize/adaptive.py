"""Optimizers that divide by the size that gradients have had: `adam`, `adamw`, `adamax`, `nadam`, `rmsprop`, …."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.functions.shared import shared
from tg.ops.elementwise.arithmetic import absolute, maximum, sqrt
from tg.ops.elementwise.comparison import where
from tg.ops.norm import norm
from tg.optimize.descent import Descent, bounded
from tg.optimize.momentum import decayed, plus_decay, with_momentum

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.optimize.descent import Parameter, Updates

# What all have in common, as `tg.optimize.sgd` says it: loss, params, learning_rate, mask, the updates returned.


def adam(
    loss: Any,
    params: Any,
    *,
    learning_rate: Any = 1e-3,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    eps_root: float = 0.0,
    weight_decay: float = 0.0,
    mask: Any = None,
    gradients: Any = None,
) -> Updates:
    """Adam: p = p - learning_rate m / (sqrt(v + eps_root) + eps), of averages m of g and v of g**2 free of bias.

    Args:
        loss, params, learning_rate, mask, gradients: as `tg.optimize.sgd` has them.
        weight_decay: that times p is part of g; `adamw` has it beside the direction.
    Returns:
        updates for `tg.function`.
    Raises:
        InputError: a parameter is not shared, a number is outside its bounds.
    Source:
        Kingma and Ba 2015; torch.optim.Adam; the keywords are those of optax.adam.
    Example:
        >>> import tg
        >>> w = tg.shared([4.0, -2.0], "w")
        >>> step = tg.function([], [], updates=tg.optimize.adam(tg.sum(w**2), w, learning_rate=0.5))
        >>> _ = step()
        >>> w.get_value().round(6).tolist()
        [3.5, -1.5]
    """
    bounded("adam", b1=b1, b2=b2, eps=eps, eps_root=eps_root, weight_decay=weight_decay)
    run = Descent("adam", loss, params, mask, gradients)
    rate = run.rate(learning_rate)
    for p in run:
        run.move(p, rate, adam_direction(run, p, decayed(p, weight_decay), b1, b2, eps, eps_root))
    return run.updates


def adamw(
    loss: Any,
    params: Any,
    *,
    learning_rate: Any = 1e-3,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    eps_root: float = 0.0,
    weight_decay: float = 0.01,
    mask: Any = None,
    gradients: Any = None,
) -> Updates:
    """Adam with weights that decay beside it: p = p - learning_rate (m / (sqrt(v + eps_root) + eps) + weight_decay p).

    Args:
        loss, params, learning_rate, mask, gradients: as `tg.optimize.sgd` has them.
    Returns:
        updates for `tg.function`.
    Raises:
        InputError: a parameter is not shared, a number is outside its bounds.
    Source:
        Loshchilov and Hutter 2019; torch.optim.AdamW; the keywords are those of optax.adamw.
    Example:
        >>> import tg
        >>> w, b = tg.shared([[4.0, -2.0]], "w"), tg.shared([0.5], "b")
        >>> loss = tg.sum((w @ [1.0, 3.0] + b) ** 2)
        >>> updates = tg.optimize.adamw(loss, [w, b], learning_rate=0.1, mask=lambda v: v.type.ndim > 1)
        >>> step = tg.function([], loss, updates=updates)
        >>> [round(float(step()), 2) for _ in range(3)]
        [2.25, 1.0, 0.26]
    """
    bounded("adamw", b1=b1, b2=b2, eps=eps, eps_root=eps_root, weight_decay=weight_decay)
    run = Descent("adamw", loss, params, mask, gradients)
    rate = run.rate(learning_rate)
    for p in run:
        direction = adam_direction(run, p, p.gradient, b1, b2, eps, eps_root)
        run.move(p, rate, plus_decay(p, direction, weight_decay))
    return run.updates


def lamb(
    loss: Any,
    params: Any,
    *,
    learning_rate: Any,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-6,
    eps_root: float = 0.0,
    weight_decay: float = 0.0,
    mask: Any = None,
    gradients: Any = None,
) -> Updates:
    """Adam's direction, with what decays, brought to the norm of its parameter; where either norm is 0 it stays.

    Args:
        loss, params, learning_rate, mask, gradients: as `tg.optimize.sgd` has them.
    Returns:
        updates for `tg.function`.
    Raises:
        InputError: a parameter is not shared, a number is outside its bounds.
    Source:
        You et al. 2020, "Large batch optimization for deep learning"; optax.lamb.
    Example:
        >>> import tg
        >>> w = tg.shared([4.0, -3.0], "w")
        >>> _ = tg.function([], [], updates=tg.optimize.lamb(tg.sum(w**2), w, learning_rate=0.1))()
        >>> w.get_value().round(4).tolist()
        [3.6464, -2.6464]
    """
    bounded("lamb", b1=b1, b2=b2, eps=eps, eps_root=eps_root, weight_decay=weight_decay)
    run = Descent("lamb", loss, params, mask, gradients)
    rate = run.rate(learning_rate)
    for p in run:
        direction = adam_direction(run, p, p.gradient, b1, b2, eps, eps_root)
        direction = plus_decay(p, direction, weight_decay)
        own, its = norm(p.value), norm(direction)
        is_zero = (own == 0) | (its == 0)
        trust = where(is_zero, 1.0, own / where(is_zero, 1.0, its))
        run.move(p, rate, p.in_its_dtype(trust) * direction)
    return run.updates


def nadam(
    loss: Any,
    params: Any,
    *,
    learning_rate: Any = 2e-3,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    momentum_decay: float | None = 4e-3,
    mask: Any = None,
    gradients: Any = None,
) -> Updates:
    """Adam with Nesterov's momentum: the average that the next step would have takes the place of m.

    Args:
        loss, params, learning_rate, mask, gradients: as `tg.optimize.sgd` has them.
        momentum_decay: in step t the factor of m is b1 (1 - 0.96**(t momentum_decay) / 2); None: it stays b1, as
            optax.nadam has it.
    Returns:
        updates for `tg.function`.
    Raises:
        InputError: a parameter is not shared, a number is outside its bounds.
    Source:
        Dozat 2016; torch.optim.NAdam; the keywords are those of optax.nadam.
    Example:
        >>> import tg
        >>> w = tg.shared([4.0, -2.0], "w")
        >>> _ = tg.function([], [], updates=tg.optimize.nadam(tg.sum(w**2), w, momentum_decay=None))()
        >>> w.get_value().round(6).tolist()
        [3.997053, -1.997053]
    """
    bounded("nadam", b1=b1, b2=b2, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay or 0.0)
    run = Descent("nadam", loss, params, mask, gradients)
    rate, t = run.rate(learning_rate), run.number
    if momentum_decay is None:
        weights = nesterov_weights(b1, t)
    else:
        now, after = (b1 * (1 - 0.5 * 0.96 ** (k * momentum_decay)) for k in (t, t + 1))
        state = shared(np.float64(1), "nadam: product of factors", shape=())
        product = run.updates[state] = state * now
        weights = (1 - now) / (1 - product), after / (1 - product * after)
    for p in run:
        run.move(p, rate, adam_direction(run, p, decayed(p, weight_decay), b1, b2, eps, 0.0, weights))
    return run.updates


def adamax(
    loss: Any,
    params: Any,
    *,
    learning_rate: Any = 2e-3,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    mask: Any = None,
    gradients: Any = None,
) -> Updates:
    """Adam in the norm of the largest: p = p - learning_rate m / u, of u = max(b2 u, |g| + eps) and m free of bias.

    Args:
        loss, params, learning_rate, mask, gradients: as `tg.optimize.sgd` has them.
    Returns:
        updates for `tg.function`.
    Raises:
        InputError: a parameter is not shared, a number is outside its bounds.
    Source:
        Kingma and Ba 2015, section 7; torch.optim.Adamax; the keywords are those of optax.adamax.
    Example:
        >>> import tg
        >>> w = tg.shared([4.0, -2.0], "w")
        >>> _ = tg.function([], [], updates=tg.optimize.adamax(tg.sum(w**2), w, learning_rate=0.5))()
        >>> w.get_value().round(6).tolist()
        [3.5, -1.5]
    """
    bounded("adamax", b1=b1, b2=b2, eps=eps, weight_decay=weight_decay)
    run = Descent("adamax", loss, params, mask, gradients)
    rate, t = run.rate(learning_rate), run.number
    for p in run:
        g = decayed(p, weight_decay)
        m = run.average(p, "mean", g, b1)
        before = run.state(p, "largest")
        largest = run.updates[before] = maximum(b2 * before, absolute(g) + eps)
        run.move(p, rate / (1 - b1**t), m / largest)
    return run.updates


def rmsprop(
    loss: Any,
    params: Any,
    *,
    learning_rate: Any = 1e-2,
    decay: float = 0.99,
    eps: float = 1e-8,
    initial_scale: float = 0.0,
    eps_in_sqrt: bool = False,
    centered: bool = False,
    momentum: float = 0.0,
    nesterov: bool = False,
    weight_decay: float = 0.0,
    mask: Any = None,
    gradients: Any = None,
) -> Updates:
    """The gradient by the root of an average of its square: v = decay v + (1 - decay) g**2, g / (sqrt(v) + eps).

    Args:
        loss, params, learning_rate, mask, gradients: as `tg.optimize.sgd` has them.
        initial_scale: what v is before the first step.
        eps_in_sqrt: g / sqrt(v + eps), as optax has it.
        centered: the square of an average of g is taken from v.
        momentum, nesterov: of `sgd`, of what was divided.
    Returns:
        updates for `tg.function`.
    Raises:
        InputError: a parameter is not shared, a number is outside its bounds.
    Source:
        Tieleman and Hinton 2012; torch.optim.RMSprop; the keywords are those of optax.rmsprop.
    Example:
        >>> import tg
        >>> w = tg.shared([4.0, -2.0], "w")
        >>> _ = tg.function([], [], updates=tg.optimize.rmsprop(tg.sum(w**2), w))()
        >>> w.get_value().round(6).tolist()
        [3.9, -1.9]
    """
    bounded("rmsprop", decay=decay, eps=eps, initial_scale=initial_scale, momentum=momentum, weight_decay=weight_decay)
    run = Descent("rmsprop", loss, params, mask, gradients)
    rate = run.rate(learning_rate)
    for p in run:
        g = decayed(p, weight_decay)
        v = run.average(p, "square", g * g, decay, initial_scale)
        if centered:
            v = maximum(v - run.average(p, "mean", g, decay) ** 2, 0)  # rounded, it may be below 0
        g = g / _root(v, eps, eps_in_sqrt=eps_in_sqrt)
        run.move(p, rate, with_momentum(run, p, g, momentum, nesterov=nesterov) if momentum else g)
    return run.updates


def adagrad(
    loss: Any,
    params: Any,
    *,
    learning_rate: Any = 1e-2,
    initial_accumulator_value: float = 0.0,
    eps: float = 1e-10,
    eps_in_sqrt: bool = False,
    weight_decay: float = 0.0,
    mask: Any = None,
    gradients: Any = None,
) -> Updates:
    """The gradient by the root of the sum s of its squares so far: p = p - learning_rate g / (sqrt(s) + eps).

    Args:
        loss, params, learning_rate, mask, gradients: as `tg.optimize.sgd` has them.
        initial_accumulator_value: what s is before the first step; optax has 0.1.
        eps_in_sqrt: g / sqrt(s + eps), as optax has it.
    Returns:
        updates for `tg.function`.
    Raises:
        InputError: a parameter is not shared, a number is outside its bounds.
    Source:
        Duchi, Hazan and Singer 2011; torch.optim.Adagrad; the keywords are those of optax.adagrad.
    Example:
        >>> import tg
        >>> w = tg.shared([4.0, -2.0], "w")
        >>> _ = tg.function([], [], updates=tg.optimize.adagrad(tg.sum(w**2), w))()
        >>> w.get_value().round(6).tolist()
        [3.99, -1.99]
    """
    bounded("adagrad", initial_accumulator_value=initial_accumulator_value, eps=eps, weight_decay=weight_decay)
    run = Descent("adagrad", loss, params, mask, gradients)
    rate = run.rate(learning_rate)
    for p in run:
        g = decayed(p, weight_decay)
        before = run.state(p, "sum of squares", initial_accumulator_value)
        run.updates[before] = before + g * g
        run.move(p, rate, g / _root(run.updates[before], eps, eps_in_sqrt=eps_in_sqrt))
    return run.updates


def adadelta(
    loss: Any,
    params: Any,
    *,
    learning_rate: Any = 1.0,
    rho: float = 0.9,
    eps: float = 1e-6,
    weight_decay: float = 0.0,
    mask: Any = None,
    gradients: Any = None,
) -> Updates:
    """The gradient, brought to the size of steps: p = p - learning_rate d, d = g sqrt((u + eps) / (v + eps)).

    v is an average of g**2, u one of d**2.

    Args:
        loss, params, learning_rate, mask, gradients: as `tg.optimize.sgd` has them.
    Returns:
        updates for `tg.function`.
    Raises:
        InputError: a parameter is not shared, a number is outside its bounds.
    Source:
        Zeiler 2012; torch.optim.Adadelta; the keywords are those of optax.adadelta.
    Example:
        >>> import tg
        >>> w = tg.shared([4.0, -2.0], "w")
        >>> _ = tg.function([], [], updates=tg.optimize.adadelta(tg.sum(w**2), w))()
        >>> w.get_value().round(6).tolist()
        [3.996838, -1.996838]
    """
    bounded("adadelta", rho=rho, eps=eps, weight_decay=weight_decay)
    run = Descent("adadelta", loss, params, mask, gradients)
    rate = run.rate(learning_rate)
    for p in run:
        g = decayed(p, weight_decay)
        v = run.average(p, "square", g * g, rho)
        moved = run.state(p, "square of steps")
        d = sqrt(moved + eps) / sqrt(v + eps) * g
        run.updates[moved] = rho * moved + (1 - rho) * d * d
        run.move(p, rate, d)
    return run.updates


def nesterov_weights(b1: float, t: Variable) -> tuple[Variable, Variable]:
    """Weights of step t's gradient and of the average of gradients in the average that the next step would have."""
    return (1 - b1) / (1 - b1**t), b1 / (1 - b1 ** (t + 1))


def adam_direction(
    run: Descent,
    p: Parameter,
    g: Variable,
    b1: float,
    b2: float,
    eps: float,
    eps_root: float,
    weights: tuple[Variable, Variable] | None = None,
) -> Variable:
    """The average of gradients by the root of the average of their squares, both without bias.

    Args:
        weights: what the gradient and the average count, where not the average alone does.
    """
    m, v = run.average(p, "mean", g, b1), run.average(p, "square", g * g, b2)
    t = run.number
    if weights is None:
        m = m / p.in_its_dtype(1 - b1**t)
    else:
        m = p.in_its_dtype(weights[0]) * g + p.in_its_dtype(weights[1]) * m
    v = v / p.in_its_dtype(1 - b2**t)
    return m / (sqrt(v + eps_root if eps_root else v) + eps)


def _root(v: Variable, eps: float, *, eps_in_sqrt: bool) -> Variable:
    return sqrt(v + eps) if eps_in_sqrt else sqrt(v) + eps
