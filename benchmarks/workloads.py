"""The expressions that are measured, written once for any library with NumPy's names.

`xp` is tg or pytensor.tensor; both have vector, matrix, exp, log, tanh, sum and operators.
"""

from __future__ import annotations

from typing import Any

from models import MODELS


def wide(xp: Any, grad: Any, nodes: int) -> tuple[list[Any], list[Any]]:
    """nodes / 8 small normal log-density terms on one parameter vector, and the gradient."""
    x = xp.vector("x")
    total: Any = 0.0
    for k in range(max(1, nodes // 8)):
        mu = x[k % 7] * (0.5 + 0.001 * k)  # no two terms are the same
        z = (x[(k + 1) % 7] - mu) / (1.5 + k % 3)
        total = total - 0.5 * z * z
    return [x], [total, grad(total, x)]


def mix(xp: Any, grad: Any, nodes: int) -> tuple[list[Any], list[Any]]:
    """A chain of `tanh(h @ W) + h.mean(0) * 0.5`."""
    h, w = xp.matrix("h"), xp.matrix("W")
    out = h
    for _ in range(max(1, nodes // 6)):
        out = xp.tanh(xp.dot(out, w)) + out.mean(0) * 0.5
    return [h, w], [out]


def deep(xp: Any, grad: Any, nodes: int) -> tuple[list[Any], list[Any]]:
    """One chain of elementwise nodes with shared subexpressions, values bounded."""
    x = xp.vector("x")
    a, b = x, x * 0.5
    for k in range(max(1, nodes // 5)):
        a, b = xp.tanh(a * 0.9 + b * (0.1 + 0.01 * (k % 9))), a
    return [x], [a + b]


ENGINE = {"wide": wide, "mix": mix, "deep": deep}


def expression(xp: Any, grad: Any, tensor: Any, name: str, nodes: int) -> tuple[list[Any], list[Any]]:
    """A workload by its name: one that grows with `nodes`, or a model with its gradients.

    Args:
        tensor: makes an input of a name, a dtype and a rank.
    """
    if name in ENGINE:
        return ENGINE[name](xp, grad, nodes)
    model = MODELS[name]
    inputs = [tensor(f"v{k}", a.dtype.name, a.ndim) for k, a in enumerate(model.arrays())]
    value = model.loss(xp, *inputs)
    gradients = grad(value, [inputs[k] for k in model.wrt]) if model.wrt else []
    return inputs, [value, *gradients]
