"""Cases of `ops/control`: inner graphs with several results, nested, called twice, with a check that fails inside."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import BoundsError, DomainError, ShapeError
from tg.ops.control import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.family import of_family


def two(x: Any) -> Any:
    """Two results."""
    return tg.sum(x * x, 0), tg.exp(x) + 1


def two_oracle(x: Any) -> Any:
    """The same with NumPy."""
    return np.sum(x * x, 0), np.exp(x) + 1


def called(x: Any) -> Any:
    """One call."""
    return tg.call(two, x)


def nested(x: Any) -> Any:
    """A call inside a call, and the same graph called again on other lengths."""

    def outer(v: Any) -> Any:
        a, b = tg.call(two, v)
        return a + 1, tg.call(two, b * 0.1)[1]

    first, second = tg.call(outer, x)
    return first, second, tg.call(outer, x[:1])[1]


def nested_oracle(x: Any) -> Any:
    """The same with NumPy."""
    a, b = two_oracle(x)
    once = two_oracle(x[:1])[1]
    return a + 1, np.exp(b * 0.1) + 1, np.exp(once * 0.1) + 1


def looked_up(x: Any, i: Any) -> Any:
    """A gather inside a call."""
    return tg.call(lambda v, k: (v[k], v[k] * 2), x, i)


WRITTEN: Final = (
    Case(
        called,
        [any_dtype("n", "m")],
        name="call",
        dtypes=("float32", "float64"),
        oracle=two_oracle,
        gradient=True,
        condition=lambda x: (2 * np.sum(x * x, 0) * len(x), np.exp(x) + 1),
        layouts=("C", "F", "strided", "reversed", "one"),
    ),
    Case(nested, [f64("n", "m")], name="call in a call", oracle=nested_oracle, gradient=True, accuracy=64),
    Case(
        lambda x: tg.grad(tg.sum(tg.call(two, x)[0]), x),
        [f64("n", "m")],
        name="grad of one of two results",
        traps=("T73",),
        oracle=lambda x: 2 * x,
    ),
    Case(
        lambda x: tg.call(lambda a, b: a * b, x, x),
        [f64("n")],
        name="call with one operand twice",
        traps=("T73",),
        oracle=lambda x: x * x,
        gradient=True,
    ),
    Case(
        lambda x: tg.call(lambda v: (v + 1, v + 1, v), x),
        [f64("n")],
        name="call with equal results",
        traps=("T43",),
        oracle=lambda x: (x + 1, x + 1, x),
    ),
    Case(
        lambda x, y: tg.call(lambda a, b: a + b, x, y),
        [f64("n", "m"), f64("m")],
        name="call that broadcasts",
        oracle=lambda x, y: x + y,
        gradient=True,
    ),
    Case(
        lambda x, y: tg.call(lambda a, b: a + b, x, y),
        [f64(1, "m"), f64("n", 1)],
        name="call with lengths of 1",
        oracle=lambda x, y: x + y,
        gradient=True,
        static=(False,),
        traps=("T37",),
    ),
    Case(
        lambda x, k: tg.call(lambda v, n: v[:n] * v[n:], x, k),
        [f64(6), fixed(3, "int64")],
        name="call with lengths that only its values make equal",
        oracle=lambda x, k: x[:3] * x[3:],
        gradient=True,
    ),
    Case(
        lambda x, k: tg.call(lambda v, n: v[:n] * v[n:], x, k),
        [f64(6), fixed(2, "int64")],
        name="call with lengths that its values make differ",
        raises=ShapeError,
        static=(False,),
    ),
    Case(
        looked_up,
        [f64(4, 3), fixed([0, -1, 2], "int64")],
        name="call with a check that holds",
        oracle=lambda x, i: (x[i], x[i] * 2),
        gradient=True,
    ),
    Case(
        looked_up,
        [f64(4, 3), fixed([0, 4, 2], "int64")],
        name="call with a check that fails",
        raises=BoundsError,
        static=(False,),
    ),
    Case(
        lambda x, i: tg.call(lambda v, k: tg.call(lambda u, j: u[j], v, k) + 1, x, i),
        [f64(4, 3), fixed([-5], "int64")],
        name="nested call with a check that fails",
        raises=BoundsError,
        static=(False,),
    ),
    Case(
        lambda x, k: tg.call(lambda v, n: tg.sum(v[::n]), x, k),
        [f64(1), fixed(0, "int64")],
        name="call with one element and a check of no op's",
        raises=DomainError,
        static=(False,),
    ),
    Case(
        lambda x, k: tg.grad(tg.call(lambda v, n: tg.sum(v[::n] ** 2), x, k), x),
        [f64(3), fixed(0, "int64")],
        name="gradient of a call with a check of no op's",
        raises=DomainError,
        static=(False,),
    ),
    Case(
        lambda x, k: tg.jvp(tg.call(lambda v, n: tg.sum(v[::n] ** 2), x, k), x, x),
        [f64(3), fixed(0, "int64")],
        name="tangents of a call with a check of no op's",
        raises=DomainError,
        static=(False,),
    ),
    Case(
        lambda x, k: tg.hessian(tg.call(lambda v, n: tg.sum(v[::n] ** 2), x, k), x),
        [f64(3), fixed(0, "int64")],
        name="hessian of a call with a check of no op's",
        raises=DomainError,
        static=(False,),
    ),
    Case(
        lambda x, m: tg.call(lambda v, n: tg.sum(v[n]), x, m),
        [f64(1), fixed([True, True], "bool")],
        name="call with one element and a mask of two",
        raises=ShapeError,
        static=(False,),
    ),
    Case(
        lambda x: tg.call(tg.max, x) + 1, [f64(0)], name="call of max of nothing", raises=DomainError, static=(False,)
    ),
    Case(
        lambda x, y: tg.call(lambda a, b: a + b, x, y),
        [f64("n"), f64("m")],
        name="call with lengths that differ",
        raises=ShapeError,
        static=(False,),
    ),
    Case(
        lambda x, i, j: (x[i], x[j]),
        [f64(4), fixed([9], "int64"), fixed([-9], "int64")],
        name="the first check that fails",
        raises=BoundsError,
        static=(False,),
    ),
    Case(
        lambda x, i, j: (x[i], i**j),
        [f64(4), fixed([3], "int64"), fixed([-9], "int64")],
        name="the second check that fails",
        raises=DomainError,
        static=(False,),
        traps=("T48",),
    ),
    Case(
        lambda x: tg.jacobian(tg.call(lambda v: v * tg.sum(v), x), x),
        [f64(3)],
        name="jacobian of a call",
        accuracy=16,
        oracle=lambda x: np.sum(x) * np.eye(3) + x[:, None],
        condition=lambda x: np.full((3, 3), np.abs(x).sum()),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.grad_clip(x, -1, 2) ** 2), x),
        [f64("n")],
        name="clipped gradient",
        oracle=lambda x: np.clip(2 * x, -1, 2),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.grad_scale(x, -3) ** 2), x),
        [f64("n")],
        name="scaled gradient",
        oracle=lambda x: -6 * x,
    ),
    Case(
        lambda x, t: tg.jvp(tg.call(two, x), x, t),
        [f64("n", "m"), f64("n", "m")],
        name="tangents of a call",
        accuracy=16,
        oracle=lambda x, t: (np.sum(2 * x * t, 0), np.exp(x) * t),
        condition=lambda x, t: (np.sum(np.abs(2 * x * t), 0), np.exp(x) * np.abs(t)),
    ),
    Case(
        lambda x, t: tg.hvp(tg.sum(x) * tg.sum(x**3), x, t),
        [f64("n"), f64("n")],
        name="product with a hessian",
        accuracy=64,
        oracle=lambda x, t: 3 * np.sum(x**2 * t) + 3 * x**2 * np.sum(t) + 6 * x * t * np.sum(x),
        condition=lambda x, t: 3 * np.sum(x**2 * np.abs(t)) + (3 * x**2 + 6 * np.abs(x)) * np.sum(np.abs(t)),
    ),
    Case(
        lambda x: tg.hessian(tg.sum(x) * tg.sum(x**3), x),
        [f64("n")],
        name="hessian",
        accuracy=64,
        oracle=lambda x: 3 * (x**2)[:, None] + 3 * x**2 + np.diag(6 * x * np.sum(x)),
        condition=lambda x: 3 * (x**2)[:, None] + 3 * x**2 + np.diag(6 * np.abs(x) * np.sum(np.abs(x))),
    ),
    Case(
        lambda x, n: tg.call(lambda v, k: tg.reshape(v, (k, -1)), x, n),
        [f64(12), fixed(3, "int64")],
        name="call with a run-time size",
        oracle=lambda x, n: x.reshape(3, 4),
        gradient=True,
    ),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
