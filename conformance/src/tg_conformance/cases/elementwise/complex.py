"""Cases of `ops/elementwise/complex`: the parts of complex numbers, and gradients with respect to both."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.ops.elementwise.complex import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.elementwise.record import Facts, Oracle, floats_only, generated
from tg_conformance.cases.family import of_family

FACTS: Final = {
    tg.complex: Facts(Oracle(lambda x, y: x + 1j * y), hostile_oracle=False),
    tg.real: floats_only(np.real),
    tg.imag: floats_only(np.imag),
    tg.conjugate: floats_only(np.conjugate),
}

COMPLEX: Final = ("complex64", "complex128")
POINTS: Final = [1 + 2j, -3 + 0.5j, 0j, 2 - 1j, -1j]


def _complex(*shape: Any, **facts: Any) -> Any:
    return any_dtype(*shape, **facts)


def _gradient(f: Any) -> Any:
    """The gradient of the weighted sum of |f(z)|**2."""
    return lambda z: tg.grad(tg.sum(tg.square(tg.abs(f(z)))), z)


def _slope_through(x: Any) -> Any:
    y = np.exp(1j * x) * x + 2
    return (np.conj(y) * (np.exp(1j * x) * (1 + 1j * x))).real / np.abs(y)


WRITTEN: Final = (
    Case(
        lambda x: (tg.real(x), tg.imag(x), tg.conj(x)),
        [any_dtype("n", "m")],
        name="parts of real numbers",
        dtypes=("bool", "int8", "uint64", "float16", "float32", "float64"),
        oracle=lambda x: (x, np.zeros_like(x), np.conjugate(x)),
    ),
    Case(
        tg.complex,
        [fixed([np.inf, np.nan, -0.0, 1.0]), fixed([-np.inf, 1.0, -0.0, np.nan])],
        name="infinite parts",
        note="x + 1j * y would make NaN of them",
        oracle=lambda x, y: np.array([complex(a, b) for a, b in zip(x, y, strict=True)]),
    ),
    Case(
        tg.complex,
        [f64("n", "m"), any_dtype("m")],
        name="parts of two dtypes",
        dtypes=("int32", "float32"),
        oracle=lambda x, y: x + 1j * y,
    ),
    Case(
        lambda z: (tg.angle(z), tg.abs(z), tg.sign(z)),
        [fixed([1 + 2j, -1 + 0j, complex(-1, -0.0), 1j, -2.5 - 1.5j, 3 + 0j, 0j], "complex128")],
        name="angle, size and direction",
        oracle=lambda z: (np.angle(z), np.abs(z), np.sign(z)),
    ),
    Case(
        lambda x: (tg.angle(x), tg.angle(x, deg=True)),
        [fixed([2.0, -2.0, 0.0, -0.0])],
        name="angle of real numbers",
        oracle=lambda x: (np.angle(x), np.angle(x, deg=True)),
    ),
    Case(
        _gradient(lambda z: z),
        [_complex("n")],
        dtypes=COMPLEX,
        name="grad of |z|**2",
        note="d/d real + i d/d imag: the direction of steepest ascent",
        accuracy=8,
        oracle=lambda z: 2 * z,
        condition=lambda z: 4 * np.abs(z),
    ),
    Case(
        lambda z: tuple(tg.grad(tg.sum(f(z)), z) for f in (tg.abs, tg.angle, tg.real, tg.imag)),
        [fixed(POINTS, "complex128")],
        name="grad of size and angle",
        note="0 at 0",
        traps=("T68",),
        oracle=lambda z: (
            z / np.where(z == 0, 1, np.abs(z)),
            1j * z / np.where(z == 0, 1, np.abs(z) ** 2),
            np.ones_like(z),
            np.full_like(z, 1j),
        ),
        condition=lambda z: (np.ones(5),) * 4,
    ),
    Case(
        lambda z, w: tuple(tg.grad(tg.real(tg.sum(tg.matmul(z, w) * (1 + 2j))), [z, w])),
        [_complex("n", "m"), _complex("m", "k")],
        dtypes=COMPLEX,
        name="grad of a product of matrices",
        accuracy=32,
        oracle=lambda z, w: (
            (1 - 2j) * np.ones((len(z), w.shape[1])) @ w.conj().T,
            (1 - 2j) * z.conj().T @ np.ones((len(z), w.shape[1])),
        ),
        condition=lambda z, w: (np.full(z.shape, 60.0), np.full(w.shape, 60.0)),
    ),
    Case(
        lambda z: tg.grad(tg.sum(tg.abs(tg.prod(z))), z),
        [_complex("n", low=0.5, high=1.5)],
        dtypes=COMPLEX,
        name="grad of a product",
        accuracy=64,
        oracle=lambda z: np.abs(np.prod(z)) / z.conj(),
        condition=lambda z: np.full(z.shape, np.abs(np.prod(z))),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.abs(tg.exp(1j * x) * x + 2)), x),
        [f64("n")],
        name="grad of a real variable through complex ones",
        accuracy=32,
        oracle=_slope_through,
        condition=lambda x: 2 + np.abs(x),
    ),
    Case(
        lambda z: (tg.conj(tg.conj(z)), tg.real(tg.conj(z)), tg.imag(tg.conj(z)), tg.real(tg.complex(tg.real(z), 1.0))),
        [_complex("n", "m")],
        dtypes=COMPLEX,
        name="parts of parts",
        accuracy=0,
        oracle=lambda z: (z, z.real, -z.imag, z.real),
    ),
)


CASES: Final = of_family(FAMILY.path, generated(FAMILY, FACTS), WRITTEN)
