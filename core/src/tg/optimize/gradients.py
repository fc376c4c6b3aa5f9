"""Gradients before an optimizer has them: clipped, by value or norm, and averaged over several calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import InputError, message
from tg.functions.arguments import own_updates
from tg.functions.shared import shared
from tg.ops.elementwise.arithmetic import clip
from tg.ops.elementwise.cast import cast, cast_variable
from tg.ops.elementwise.comparison import where
from tg.ops.norm import norm
from tg.ops.shape import stack
from tg.optimize.descent import bounded, gradients_of, parameters_of, updates_in
from tg.types.dtypes import is_float
from tg.variables.conversion import as_variable
from tg.variables.structure import flatten, short

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable
    from tg.optimize.descent import Updates
    from tg.variables.structure import Structure


def global_norm(gradients: Any) -> Variable:
    """The root of the sum of the squares of all elements of a structure.

    Raises:
        InputError: it has no arrays, or one not of floating numbers.
    Source:
        optax.global_norm; the total that torch.nn.utils.clip_grad_norm_ returns.
    Example:
        >>> import tg
        >>> float(tg.optimize.global_norm({"w": tg.constant([3.0, 0.0]), "b": tg.constant(4.0)}).eval())
        5.0
    """
    leaves, _ = _floats("global_norm", gradients)
    return _norm_of(leaves)


def clip_by_value(gradients: Any, max_delta: float) -> Any:
    """Each element held between -max_delta and max_delta.

    Source:
        optax.clip; torch.nn.utils.clip_grad_value_.
    Example:
        >>> import tg
        >>> [g] = tg.optimize.clip_by_value([tg.constant([0.5, -3.0])], 1.0)
        >>> g.eval().tolist()
        [0.5, -1.0]
    """
    bounded("clip_by_value", max_delta=max_delta)
    leaves, structure = _floats("clip_by_value", gradients)
    return structure(iter([clip(g, -max_delta, max_delta) for g in leaves]))


def clip_by_norm(gradients: Any, max_norm: float) -> Any:
    """Each array that has a norm above max_norm brought to it.

    Source:
        optax.clip_by_block_rms is the same of root mean squares; TensorFlow's clip_by_norm.
    Example:
        >>> import tg
        >>> clipped = tg.optimize.clip_by_norm({"w": tg.constant([3.0, 4.0]), "b": tg.constant(0.5)}, 1.0)
        >>> clipped["w"].eval().round(6).tolist(), float(clipped["b"].eval())
        ([0.6, 0.8], 0.5)
    """
    bounded("clip_by_norm", max_norm=max_norm)
    leaves, structure = _floats("clip_by_norm", gradients)
    return structure(iter([_within(g, norm(g), max_norm) for g in leaves]))


def clip_by_global_norm(gradients: Any, max_norm: float) -> Any:
    """All arrays times one factor, so that the norm of all their elements is not above max_norm.

    Source:
        Pascanu et al. 2012; optax.clip_by_global_norm; torch.nn.utils.clip_grad_norm_, which adds 1e-6 to the norm.
    Example:
        >>> import tg
        >>> w, b = tg.shared([3.0, 1.0], "w"), tg.shared(2.0, "b")
        >>> params = {"w": w, "b": b}
        >>> clipped = tg.optimize.clip_by_global_norm(tg.grad(tg.sum(w**2) + b**2, params), 1.0)
        >>> updates = tg.optimize.sgd(None, params, learning_rate=1.0, gradients=clipped)
        >>> step = tg.function([], [], updates=updates)
        >>> _ = step()
        >>> w.get_value().round(3).tolist(), round(float(b.get_value()), 3)
        ([2.198, 0.733], 1.465)
    """
    bounded("clip_by_global_norm", max_norm=max_norm)
    leaves, structure = _floats("clip_by_global_norm", gradients)
    size = _norm_of(leaves)
    return structure(iter([_within(g, size, max_norm) for g in leaves]))


def accumulated(
    loss: Any, params: Any, every: int, then: Callable[[Any], Updates], *, gradients: Any = None
) -> Updates:
    """Updates that move the parameters at every `every`-th call, by the mean of the gradients of these calls.

    Args:
        loss: a real scalar; None where `gradients` are given, nested like `params`.
        then: from the mean, nested like `params`, to the updates of an optimizer.
    Returns:
        updates for `tg.function`: those of the optimizer, the mean so far, and how many calls it is of.
    Raises:
        InputError: `every` is no positive integer; `then` is no function that gives updates.
    Source:
        optax.MultiSteps.
    Example:
        >>> import tg
        >>> x, w = tg.scalar("x"), tg.shared(1.0, "w")
        >>> updates = tg.optimize.accumulated(
        ...     w * x, w, 2, lambda g: tg.optimize.sgd(None, w, learning_rate=0.5, gradients=g)
        ... )
        >>> step = tg.function([x], w, updates=updates)
        >>> [float(step(value)) for value in (1.0, 3.0, 5.0)]
        [1.0, 1.0, 0.0]
    """
    if type(every) is not int or every < 1:
        raise InputError(message(f"accumulated: every: found {short(every)}, needed a positive integer"))
    mover: Any = then
    if not callable(mover):
        hint = "lambda g: tg.optimize.adam(None, params, gradients=g)"
        raise InputError(message(f"accumulated: then: found {short(mover)}, needed a function", hint=hint))
    leaves, names, structure = parameters_of("accumulated", params)
    calls = shared(np.int64(0), "accumulated: calls", shape=())
    is_last = calls == every - 1
    updates: Updates = {} if loss is None else own_updates([as_variable(loss)], [])
    updates[calls] = where(is_last, 0, calls + 1)
    means = []
    for v, g, name in zip(leaves, gradients_of("accumulated", loss, params, gradients), names, strict=True):
        start = np.zeros(v.snapshot.shape, v.type.dtype)
        before = shared(start, f"accumulated: mean of {name}", shape=v.type.shape)
        means.append(before + (g - before) / cast(calls + 1, v.type.dtype))
        updates[before] = where(is_last, 0, means[-1])
    for v, new in updates_in("accumulated: then", mover(structure(iter(means)))).items():
        updates[v] = where(is_last, new, v)
    return updates


def _norm_of(leaves: list[Variable]) -> Variable:
    """The norm of the norms."""
    norms = [norm(g) for g in leaves]
    return norms[0] if len(norms) == 1 else norm(stack(norms))


def _within(g: Variable, size: Variable, limit: float) -> Variable:
    factor = where(size > limit, limit / where(size > limit, size, 1.0), 1.0)
    return g * cast_variable(factor, g.type.dtype)


def _floats(what: str, gradients: Any) -> tuple[list[Variable], Structure]:
    leaves, structure = flatten(gradients)
    variables = [as_variable(g) for g in leaves]
    for g in variables:
        if not is_float(g.type.dtype):
            raise InputError(message(f"{what}: found {g.type}, needed real floating numbers"))
    if not variables:
        raise InputError(message(f"{what}: found no arrays"))
    return variables, structure
