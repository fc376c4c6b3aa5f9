"""Cases of `ops/nn/activation`: values, slopes at kinks and far out, branches not taken, halves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import special

import tg
from tg.errors import ShapeError
from tg.ops.nn.activation import FAMILY, SELU_ALPHA, SELU_SCALE
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.family import HALVES, of_family, rounded_once
from tg_conformance.cases.reduction import FLOATING

if TYPE_CHECKING:
    from collections.abc import Callable


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _elu(x: Any, alpha: float = 1.0) -> Any:
    return np.where(x > 0, x, alpha * np.expm1(x))


def _leaky_relu(x: Any) -> Any:
    return np.where(x > 0, x, x * 0.01)


def _gelu(x: Any) -> Any:
    return x * special.ndtr(x.astype(float)) if x.dtype.kind == "f" else x * special.ndtr(x)


def _gelu_by_tanh(x: Any) -> Any:
    return x * _sigmoid(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))


def _hardsigmoid(x: Any) -> Any:
    return np.clip((x + 3) / 6, 0, 1)


NAMES: Final[dict[str, tuple[Callable[..., Any], Callable[..., Any]]]] = {
    "relu6": (lambda x: tg.nn.relu6(4 * x), lambda x: np.clip(4 * x, 0, 6)),
    "hardtanh": (lambda x: tg.nn.hardtanh(x, -0.5, 2), lambda x: np.clip(x, -0.5, 2)),
    "hardsigmoid": (lambda x: tg.nn.hardsigmoid(2 * x), lambda x: _hardsigmoid(2 * x)),
    "hardswish": (lambda x: tg.nn.hardswish(2 * x), lambda x: 2 * x * _hardsigmoid(2 * x)),
    "threshold": (lambda x: tg.nn.threshold(x, 1.0, -2.0), lambda x: np.where(x > 1, x, -2)),
    "leaky_relu": (tg.nn.leaky_relu, _leaky_relu),
    "elu": (lambda x: tg.nn.elu(x, 0.5), lambda x: _elu(x, 0.5)),
    "selu": (tg.nn.selu, lambda x: SELU_SCALE * _elu(x, SELU_ALPHA)),
    "celu": (lambda x: tg.nn.celu(x, 0.5), lambda x: np.where(x > 0, x, np.expm1(2 * x) / 2)),
    "gelu": (tg.nn.gelu, _gelu),
    "gelu by tanh": (lambda x: tg.nn.gelu(x, "tanh"), _gelu_by_tanh),
    "silu": (tg.nn.silu, lambda x: x * _sigmoid(x)),
    "mish": (tg.nn.mish, lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    "softsign": (tg.nn.softsign, lambda x: x / (1 + abs(x))),
    "glu": (lambda x: tg.nn.glu(x, 0), lambda x: x[: len(x) // 2] * _sigmoid(x[len(x) // 2 :])),
    "swiglu": (tg.nn.swiglu, lambda x: x[:, :3] * _sigmoid(x[:, :3]) * x[:, 3:]),
    "prelu": (lambda x: tg.nn.prelu(x, np.arange(6) / 4), lambda x: np.where(x > 0, x, x * np.arange(6) / 4)),
}
"""Each function, and the same in NumPy; the matrix has an even number of rows, and six columns."""

FAR: Final = [-1e200, -800.0, -40.0, -8.0, 0.0, 8.0, 40.0, 800.0, 1e200]
KINKS: Final = [-3.0, 0.0, 1.0, 3.0, 6.0, -1e4, 1e4]


def beside_kinks(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
    """Numbers from -3 to 3 that differences do not carry over a kink: those of `NAMES` are at multiples of 1/2."""
    x = rng.uniform(-3, 3, shape)
    nearest = np.round(2 * x) / 2
    return np.where(np.abs(x - nearest) < 0.01, nearest + 0.02, x)


def shares(f: Callable[[float], float]) -> Any:
    """x times a share of it, which is 0 far below 0."""
    return np.array([0.0 if v < -100 else v * f(v) for v in FAR])


def slopes(x: Any, *functions: Any) -> tuple[Any, ...]:
    """The slopes of functions of elements."""
    return tuple(tg.grad(tg.sum(f(x)), x) for f in functions)


WRITTEN: Final = (
    Case(
        lambda x: (tg.nn.silu(x), tg.nn.gelu(x), tg.nn.mish(x), tg.nn.softsign(x)),
        [fixed(FAR)],
        name="far out",
        layouts=("C",),
        accuracy=16,
        oracle=lambda x: (
            shares(_sigmoid),
            shares(special.ndtr),
            shares(lambda v: np.tanh(np.log1p(np.exp(min(v, 50))))),
            x / (1 + abs(x)),
        ),
        condition=lambda x: (
            *(np.abs(x) * np.where(x < 0, np.exp(np.clip(x, -700, 0)), 1) for _ in range(3)),
            np.ones(len(FAR)),
        ),
    ),
    Case(
        lambda x: slopes(x, tg.nn.silu, tg.nn.gelu, tg.nn.mish, tg.nn.elu, tg.nn.softsign),
        [fixed([-1e200, -800.0, 800.0, 1e200])],
        name="slopes far out",
        layouts=("C",),
        oracle=lambda x: (*(np.array([0.0, 0.0, 1.0, 1.0]) for _ in range(4)), 1 / (1 + abs(x)) ** 2),
        accuracy=8,
    ),
    Case(
        lambda x: slopes(
            x, tg.nn.relu6, tg.nn.hardtanh, tg.nn.hardsigmoid, tg.nn.hardswish, tg.nn.leaky_relu, tg.nn.elu
        ),
        [fixed(KINKS)],
        name="slopes at kinks",
        layouts=("C",),
        oracle=lambda x: (
            np.array([0.0, 0, 1, 1, 0, 0, 0]),
            np.array([0.0, 1, 0, 0, 0, 0, 0]),
            np.array([0.0, 1, 1, 0, 0, 0, 0]) / 6,
            np.array([0, 0.5, 5 / 6, 1, 1, 0, 1]),
            np.array([0.01, 0.01, 1, 1, 1, 0.01, 1]),
            np.array([np.exp(-3.0), 1, 1, 1, 1, 0, 1]),
        ),
    ),
    Case(
        lambda x: tuple(f(x) for f in (tg.nn.silu, tg.nn.gelu, tg.nn.mish, tg.nn.elu, tg.nn.hardswish)),
        [any_dtype(200)],
        name="halves",
        dtypes=HALVES,
        layouts=("C",),
        static=(False,),
        accuracy=1,
        oracle=rounded_once(
            lambda x: (x * _sigmoid(x), _gelu(x), x * np.tanh(np.log1p(np.exp(x))), _elu(x), x * _hardsigmoid(x))
        ),
    ),
    Case(
        tg.nn.prelu,
        [f64("n", "m", "k"), f64("m")],
        name="prelu by channel",
        layouts=("C",),
        gradient=True,
        oracle=lambda x, w: np.where(x > 0, x, w[:, None] * x),
    ),
    Case(tg.nn.prelu, [f64("n", 3, "k"), fixed([0.1, 0.2])], name="prelu of other channels", raises=ShapeError),
    Case(tg.nn.glu, [f64("n", 5)], name="glu of an odd length", raises=ShapeError),
)

CASES: Final = of_family(
    FAMILY.path,
    (
        Case(
            subject,
            [any_dtype(4, 6, values=beside_kinks)],
            name=name,
            dtypes=FLOATING,
            gradient=True,
            accuracy=16,
            oracle=oracle,
            condition=lambda x, oracle=oracle: 1 + abs(oracle(x)),
            layouts=("C", "transposed", "strided"),
        )
        for name, (subject, oracle) in NAMES.items()
    ),
    WRITTEN,
)
