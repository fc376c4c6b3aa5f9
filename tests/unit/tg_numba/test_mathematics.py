"""Kernels that stand in loops whatever library there is, printed for LLVM, on hostile numbers."""

import numpy as np
import pytest

import tg
from tg_native.kernels.body import Machine
from tg_native.kernels.dtypes import FORMATS
from tg_native.kernels.libm import WRITTEN_OUT
from tg_native.kernels.mathematics import KERNELS
from tg_numba import body, processor

MACHINE = Machine(processor.vector_bytes(), "fma" in processor.features())
CASES = [(name, dtype) for name, kernel in KERNELS.items() for dtype in FORMATS if kernel.is_preferred(dtype, MACHINE)]


def numbers(dtype):
    """Numbers of every size and sign, beside the ends of the functions, and every special one."""
    rng, info, n = np.random.default_rng(0), np.finfo(dtype), 20_000
    known = [0, 1, 2, 0.5, 22, 709.7, 709.79, 745.2, 746, 88.7, 88.73, 104, info.max, info.tiny, info.tiny * 0.3]
    known = np.array([*known, info.smallest_subnormal, np.inf], dtype)
    bits = rng.integers(0, 2**info.bits, n, dtype=f"uint{info.bits}").view(dtype)
    steps = np.arange(-400, 400) * (np.log(2) / 32)  # the ends of the intervals of polynomials
    found = [*(rng.normal(size=n) * size for size in (1e-8, 1e-2, 1, 10, 300)), steps, np.nextafter(steps, 0)]
    edges = [known, -known, np.nextafter(known, np.array(0, dtype)), np.array([np.nan], dtype)]
    return np.concatenate([bits, *(a.astype(dtype) for a in found), *edges])


def off(found, exact):
    """By how many units in the last place results are off: infinite where NaN, an infinity or a zero is wrong."""
    right = exact.astype(found.dtype)
    error = np.abs(found.astype(np.longdouble) - exact) / np.spacing(np.abs(right)).astype(np.longdouble)
    same = (found == right) & (np.signbit(found) == np.signbit(right)) | np.isnan(found) & np.isnan(right)
    special = ~np.isfinite(found) | ~np.isfinite(right) | (found == 0) & (right == 0)
    return np.where(special, np.where(same, 0, np.inf), error)


def compiled(name, dtype, shape=(None,)):
    x = tg.tensor("x", dtype, shape)
    return tg.function([x], getattr(tg, name)(x), backend="numba")


@pytest.fixture(params=["tables", "polynomials", "no fused products"])
def machine(request, monkeypatch):
    """What the processor has."""
    if request.param == "tables" and not processor.has_tables():
        pytest.skip("this machine has no tables in registers")
    monkeypatch.setattr(body, "has_tables", lambda: request.param == "tables")
    if request.param == "no fused products":
        monkeypatch.setattr(body, "features", lambda: frozenset[str]())


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_a_function_is_right_everywhere(name, dtype):
    x = numbers(dtype)
    with np.errstate(all="ignore"):
        error = off(compiled(name, dtype)(x), getattr(np, name)(x.astype(np.longdouble)))
    worst = int(np.argmax(error))
    assert error[worst] <= KERNELS[name].error, f"{name}({x[worst]!r}) is {error[worst]:.2f} units off"


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_equal_numbers_have_equal_results_wherever_they_stand(name, dtype):
    x = numbers(dtype)[::37]
    whole, one, f = compiled(name, dtype)(x), compiled(name, dtype, ()), compiled(name, dtype)
    for k in range(0, x.size, 61):
        np.testing.assert_array_equal(one(x[k]), whole[k])
        np.testing.assert_array_equal(f(x[k : k + 3]), whole[k : k + 3])
    few = tg.tensor("x", dtype, (2,))
    np.testing.assert_array_equal(tg.function([few], getattr(tg, name)(few), backend="numba")(x[5:7]), whole[5:7])


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_what_is_called_has_the_results_of_what_stands_in_place(name, dtype):
    x, zero = tg.tensor("x", dtype, (None,)), tg.tensor("s", dtype, (WRITTEN_OUT + 2,))
    f = tg.function([x, zero], [getattr(tg, name)(x + zero[k]) for k in range(WRITTEN_OUT + 2)], backend="numba")
    assert f"@tg.{name}" in f.source()
    a = np.abs(numbers(dtype)[::11])
    found = f(a, np.zeros(WRITTEN_OUT + 2, dtype))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
