"""`muon`: directions of matrices without their singular values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.errors import InputError, message
from tg.ops.elementwise.arithmetic import maximum, sqrt
from tg.ops.elementwise.cast import cast
from tg.ops.norm import norm
from tg.optimize.adaptive import adam_direction, nesterov_weights
from tg.optimize.descent import Descent, bounded, is_number
from tg.optimize.momentum import plus_decay
from tg.variables.structure import short

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.optimize.descent import Parameter, Updates

COEFFICIENTS: Final = (3.4445, -4.7750, 2.0315)  # Jordan 2024: of x, x**3 and x**5


def muon(
    loss: Any,
    params: Any,
    *,
    learning_rate: Any,
    ns_coeffs: tuple[float, float, float] = COEFFICIENTS,
    ns_steps: int = 5,
    beta: float = 0.95,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    mask: Any = None,
    nesterov: bool = True,
    adam_b1: float = 0.9,
    adam_b2: float = 0.999,
    adam_eps_root: float = 0.0,
    adam_weight_decay: float = 0.0,
    adam_learning_rate: Any = None,
    gradients: Any = None,
) -> Updates:
    """Momentum of matrices with all singular values brought near 1, times sqrt(max(1, columns / rows)); else `adamw`.

    Singular values s become a s + b s**3 + c s**5, `ns_steps` times (Newton and Schulz). Parameters of another rank
    than two move as `tg.optimize.adamw` has them, with Nesterov's momentum as well, by `adam_learning_rate` where it
    is given.

    Args:
        loss, params, learning_rate, mask, gradients: as `tg.optimize.sgd` has them; matrices are (in, out).
        ns_coeffs: a, b, c.
        nesterov: the average that the next step would have takes the place of that of now.
    Returns:
        updates for `tg.function`.
    Raises:
        InputError: a parameter is not shared, a number is outside its bounds.
    Source:
        Jordan 2024, "Muon: an optimizer for hidden layers"; optax.contrib.muon.
    Example:
        >>> import tg
        >>> w = tg.shared([[1.0, 2.0], [3.0, 4.0]], "w")
        >>> updates = tg.optimize.muon(tg.sum(w**2), w, learning_rate=0.1)
        >>> _ = tg.function([], [], updates=updates)()
        >>> w.get_value().round(3).tolist()
        [[1.068, 1.917], [2.926, 3.974]]
    """
    bounded("muon", beta=beta, eps=eps, weight_decay=weight_decay)
    if type(ns_steps) is not int or ns_steps < 0:
        raise InputError(message(f"muon: ns_steps: found {short(ns_steps)}, needed an integer of at least 0"))
    if not (isinstance(ns_coeffs, tuple | list) and len(ns_coeffs) == 3 and all(map(is_number, ns_coeffs))):
        raise InputError(message(f"muon: ns_coeffs: found {short(ns_coeffs)}, needed three numbers"))
    bounded("muon", adam_b1=adam_b1, adam_b2=adam_b2, adam_eps_root=adam_eps_root, adam_weight_decay=adam_weight_decay)
    run = Descent("muon", loss, params, mask, gradients)
    rate = run.rate(learning_rate)
    adam_rate = rate if adam_learning_rate is None else run.rate(adam_learning_rate)
    for p in run:
        if p.variable.type.ndim == 2:
            mean = _mean_direction(run, p, beta, nesterov=nesterov)
            direction = _widened(p, _orthogonal(mean, ns_coeffs, ns_steps, eps))
            run.move(p, rate, plus_decay(p, direction, weight_decay))
        else:
            weights = nesterov_weights(adam_b1, run.number) if nesterov else None
            direction = adam_direction(run, p, p.gradient, adam_b1, adam_b2, eps, adam_eps_root, weights)
            run.move(p, adam_rate, plus_decay(p, direction, adam_weight_decay))
    return run.updates


def _mean_direction(run: Descent, p: Parameter, beta: float, *, nesterov: bool) -> Variable:
    mean, t = run.average(p, "mean", p.gradient, beta), run.number
    if not nesterov:
        return mean / p.in_its_dtype(1 - beta**t)
    of_gradient, of_mean = (p.in_its_dtype(weight) for weight in nesterov_weights(beta, t))
    return of_gradient * p.gradient + of_mean * mean


def _orthogonal(x: Variable, coefficients: tuple[float, float, float], steps: int, eps: float) -> Variable:
    a, b, c = map(float, coefficients)
    rows, columns = x.type.shape
    is_tall = None not in (rows, columns) and rows > columns  # type: ignore[operator]
    x = x.T if is_tall else x  # the square below is the smaller one
    x = x / (norm(x) + eps)
    for _ in range(steps):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if is_tall else x


def _widened(p: Parameter, direction: Variable) -> Variable:
    rows, columns = (cast(n, "float64") for n in p.variable.shape)
    return p.in_its_dtype(sqrt(maximum(1.0, columns / rows))) * direction
