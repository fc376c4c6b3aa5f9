"""Scalar ops, over hostile values of every dtype that they take."""

from __future__ import annotations

import itertools

import numpy as np
import pytensor.scalar as ps
import pytensor.scalar.math
import pytensor.tensor as pt
import pytest
from differential import DTYPES, Case, check, hostile
from pytensor.tensor.elemwise import Elemwise

SCALARS = {
    type(op).__name__: op
    for module in (ps, pytensor.scalar.math)
    for op in vars(module).values()
    if isinstance(op, ps.ScalarOp)
}
SPECIAL = frozenset(name for name, op in SCALARS.items() if type(op).__module__ == "pytensor.scalar.math")
# `perform` sums Python numbers where operands are more than two: those of integers stay in range here.
MANY = {"Add": 2, "Mul": 2, "BetaIncInv": 3}
# Which PyTensor makes nodes of for complex operands, and NumPy refuses them.
REAL_ALONE = frozenset(("ArcTan2", "Deg2Rad", "IntDiv", "Mod", "Rad2Deg"))
# Where `perform` raises, or computes in half precision.
TAKEN = {
    "Pow": lambda x, y: x.dtype.kind not in "iu" or y >= 0,
    "ComplexFromPolar": lambda r, _: r >= 0,
}
# Where SciPy and tg both say that they are right; at infinite arguments of Bessel functions SciPy has NaN, tg limits.
ORDERS, POSITIVE, PARTS = (
    [0.0, 0.5, 1.0, 2.0, 3.5, np.nan],
    [1e-3, 0.3, 1.0, 2.5, 7.0, 30.0, np.nan],
    [0.0, 0.1, 0.5, 0.9, 1.0],
)
REAL = [-30.0, -2.5, -1.0, -0.3, 0.0, 1e-8, 0.3, 1.0, 2.5, 30.0, np.nan]
DOMAINS = {
    "BetaInc": (POSITIVE[1:], POSITIVE[1:], PARTS), "BetaIncInv": (POSITIVE[1:5], POSITIVE[1:5], PARTS),
    "Erfcinv": ([0.0, 1e-5, 0.5, 1.0, 1.5, 2.0, 3.0, np.nan],), "Erfinv": ([-1.0, -0.9, 0.0, 1e-9, 0.5, 1.0, 2.0],),
    "GammaInc": (POSITIVE, [0.0, *POSITIVE]), "GammaIncC": (POSITIVE, [0.0, *POSITIVE]),
    "GammaIncInv": (POSITIVE[1:5], PARTS), "GammaIncCInv": (POSITIVE[1:5], PARTS),
    "GammaL": (POSITIVE, POSITIVE), "GammaU": (POSITIVE, POSITIVE),
    "Hyp2F1": ([-0.5, 0.3, 2.0], [0.5, 1.5], [0.7, 3.0], [-2.0, -0.5, 0.0, 0.3, 0.9]),
    "Iv": (ORDERS, POSITIVE), "Ive": (ORDERS, POSITIVE), "Jv": (ORDERS, POSITIVE), "Kve": (ORDERS, POSITIVE),
    "NdtriExp": ([-1e4, *(x for x in REAL if not x > 0)],),
    "Log1mexp": ([-30.0, -1.0, -0.6, -1e-8, 0.0, np.nan],), "Owens_t": (REAL, REAL),
    "PolyGamma": ([0.0, 1.0, 2.0, 5.0], POSITIVE),
}  # fmt: skip
PASSED = ("Composite", "ScalarLoop", "Grad2F1Loop", "TensorFromScalar", "ScalarFromTensor")


def arity(op: ps.ScalarOp) -> int:
    return MANY.get(type(op).__name__, op.nin)


def operands(op: ps.ScalarOp, dtype: str) -> list[np.ndarray]:
    """All combinations of hostile values; fewer of them where they are many."""
    count = arity(op)
    values = hostile(dtype)
    if count > 2:
        values = values[:: 2 if count == 3 else 4]
    taken = TAKEN.get(type(op).__name__, lambda *_: True)
    rows = [row for row in itertools.product(values, repeat=count) if taken(*row)]
    return [np.array(column, dtype) for column in zip(*rows, strict=True)]


# Of 0.0 and -0.0 either may be the one that is taken, in NumPy, too; PyTensor rounds 0.0 to -0.0, and tg to itself.
EITHER = {"Maximum", "Minimum", "RoundHalfAwayFromZero"}


def case_of(name: str, dtype: str, values: list[np.ndarray] | None = None) -> Case | None:
    op = SCALARS[name]
    if name == "ComplexFromPolar" and dtype not in ("float32", "float64"):
        return None
    if name in REAL_ALONE and dtype.startswith("complex"):
        return None
    types = [dtype] * arity(op) if values is None else [x.dtype.name for x in values]
    inputs = [pt.vector(f"{name}_{k}", dtype=own) for k, own in enumerate(types)]
    try:
        outputs = [Elemwise(op)(*inputs)]
    except (TypeError, NotImplementedError):
        return None
    signs = values is None and name not in EITHER
    return Case(f"{name} {dtype}", inputs, outputs, operands(op, dtype) if values is None else values, signs=signs)


def elementary(dtype: str) -> list[Case]:
    """Whole tables of arithmetic, comparison and elementary functions."""
    names = sorted(set(SCALARS) - SPECIAL - set(PASSED))
    return [case for name in names if (case := case_of(name, dtype)) is not None]


def special(dtype: str) -> list[Case]:
    cases = []
    for name in sorted(SPECIAL & set(SCALARS)):
        rows = itertools.product(*DOMAINS.get(name, (REAL,)))
        values = [np.array(column, dtype) for column in zip(*rows, strict=True)]
        if name == "PolyGamma":
            values[0] = values[0].astype("int8")  # its order is an integer
        case = case_of(name, dtype, values)
        assert case is not None
        cases.append(case._replace(scale=30.0))
    return cases


def every() -> list[Case]:
    """All cases of two dtypes."""
    return [*elementary("float64"), *special("float64"), *elementary("int64")]


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "complex128"])
def test_functions_of_elements(dtype: str) -> None:
    check(elementary(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_functions(dtype: str) -> None:
    check(special(dtype))
