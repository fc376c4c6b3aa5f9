"""Sorting, searching, diagonals, repeating and convolution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from differential import DTYPES, PERFORM, Case, check, hostile
from pytensor.compile.ops import wrap_py
from pytensor.printing import Print
from pytensor.tensor.basic import Choose, ExtractDiag, Nonzero, PermuteRowElements
from pytensor.tensor.extra_ops import (
    Bartlett,
    CumOp,
    FillDiagonal,
    FillDiagonalOffset,
    RavelMultiIndex,
    Repeat,
    SearchsortedOp,
    Unique,
    UnravelIndex,
)
from pytensor.tensor.signal.conv import Convolve1d, Convolve2d
from pytensor.tensor.sort import ArgSortOp, SortOp
from pytensor.tensor.special import LogSoftmax, Softmax
from pytensor.typed_list.basic import append, extend, length, make_list, reverse

import tg
import tg_pytensor

DRAWS = np.random.default_rng(17)


def case(op: Any, *values: Any, fixed: tuple[Any, ...] = (), scale: float = 10.0) -> Case:
    """An op of inputs, and of constants behind them."""
    arrays = [np.asarray(x) for x in values]
    inputs = [pt.tensor(dtype=x.dtype, shape=tuple(1 if n == 1 else None for n in x.shape)) for x in arrays]
    outputs = op(*inputs, *fixed)
    outputs = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    return Case(f"{op} of {[f'{x.dtype}{x.shape}' for x in arrays]}", inputs, outputs, arrays, scale)


def matrix(dtype: str, *shape: int) -> Any:
    """A matrix of hostile values, in some order."""
    return DRAWS.choice(hostile(dtype), size=shape)


def arrays(dtype: str) -> list[Any]:
    """No elements, one, many in C order, in Fortran's, and with negative strides."""
    x = matrix(dtype, 4, 5)
    return [matrix(dtype, 0, 3), matrix(dtype, 1, 1), x, np.asfortranarray(x), x[::-1, ::-2]]


def sorting(dtype: str) -> list[Case]:
    # the axis is an operand of older releases, and is a field in newer ones, which count it from the front
    old = "axis" not in SortOp.__props__
    found = [
        case(op("stable"), x, fixed=(axis,)) if old else case(op("stable", axis % 2), x)
        for op in (SortOp, ArgSortOp)
        for x in arrays(dtype)
        for axis in (0, 1, -1)
    ]
    found += [case(Nonzero(), x) for x in arrays(dtype)]
    found += [case(Unique(True, True, True), x) for x in arrays(dtype)]
    line = np.sort(hostile(dtype))
    for side in ("left", "right"):
        found += [case(SearchsortedOp(side), line, x) for x in arrays(dtype)]
        found.append(case(SearchsortedOp(side), line[::-1], line, np.arange(len(line))[::-1]))
    return found


def diagonals(dtype: str) -> list[Case]:
    found = [case(ExtractDiag(k), x) for k in (-2, 0, 1) for x in arrays(dtype)]
    found += [case(ExtractDiag(1, 0, 2), matrix(dtype, 3, 2, 4)), case(ExtractDiag(0, 1, 2), matrix(dtype, 3, 2, 4))]
    value = hostile(dtype)[-1]
    for shape in ((3, 3), (2, 5), (7, 2)):
        found.append(case(FillDiagonal(), matrix(dtype, *shape), value))
        found += [case(FillDiagonalOffset(), matrix(dtype, *shape), value, np.int64(k)) for k in (-1, 0, 1)]
    return [*found, case(FillDiagonal(), matrix(dtype, 3, 3, 3), value)]


def choosing(dtype: str) -> list[Case]:
    x = matrix(dtype, 4, 5)
    found = [case(Repeat(axis), x, DRAWS.integers(0, 4, x.shape[axis])) for axis in (0, 1)]
    found += [case(Repeat(1), matrix(dtype, 2, 0), np.zeros(0, "int64"))]
    found += [
        case(CumOp(axis, mode), np.where(np.isfinite(x), x, 0).astype(dtype) if mode == "add" else x[:, :0], scale=1e3)
        for axis in (0, 1)
        for mode in ("add", "mul")
    ]
    places = np.argsort(DRAWS.normal(size=(4, 5)))
    found += [case(PermuteRowElements(inverse), x, places) for inverse in (False, True)]
    found += [case(PermuteRowElements(inverse), x, places[0]) for inverse in (False, True)]
    found += [case(PermuteRowElements(inverse), x[0], places) for inverse in (False, True)]
    chosen = DRAWS.integers(0, 3, (4, 5))
    for mode, more in (("raise", 0), ("wrap", 5), ("clip", -2)):
        inputs = [pt.matrix(dtype=dtype) for _ in range(3)]
        a = pt.lmatrix()
        found.append(
            Case(f"Choose {mode}", [a, *inputs], [Choose(mode)(a, inputs)], [chosen + more, x, x[::-1], x[:, ::-1]])
        )
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", [sorting, diagonals, choosing])
def test_selection(family: Any, dtype: str) -> None:
    check(family(dtype))


def places() -> list[Case]:
    """Indices of several axes and of one, for lengths that are constants and that are not."""
    x = DRAWS.integers(0, 24, (3, 2))
    found = []
    for order in ("C", "F"):
        found += [case(UnravelIndex(order), x, fixed=((2, 3, 4),))]
        for mode, values in (("raise", (1, 2)), ("wrap", (-7, 9)), ("clip", (-7, 9))):
            rows = [np.full((2,), k) for k in values]
            found.append(case(RavelMultiIndex(mode, order), *rows, fixed=((3, 5),)))
    n = pt.lscalar("n")
    lengths = pt.stack([n, n + 1])
    k = pt.lvector("k")
    found.append(Case("UnravelIndex n", [n, k], list(UnravelIndex()(k, lengths)), [np.int64(3), np.arange(12)]))
    return [*found, *(case(Bartlett(), np.int64(n)) for n in (-1, 0, 1, 2, 3, 8))]


def softmax(dtype: str) -> list[Case]:
    x = matrix(dtype, 4, 5)
    finite = np.where(np.isfinite(x), x, 3).astype(dtype)
    found = [
        case(op(axis=axis), value)
        for op in (Softmax, LogSoftmax)
        for axis in (None, 0, 1, -1)
        for value in (finite, x)
        if value is finite or op is Softmax or not hasattr(op, "build_inner_graph")  # NaN beside an infinity since 3.3
    ]
    try:
        from pytensor.tensor.special import SoftmaxGrad
    except ImportError:
        return found
    y = np.exp(DRAWS.normal(size=(4, 5))).astype(dtype)
    return [*found, *(case(SoftmaxGrad(axis=axis), finite, y / y.sum()) for axis in (None, 0, 1))]


def convolution(dtype: str) -> list[Case]:
    def draw(*shape: int) -> Any:
        return (10 * DRAWS.normal(size=shape)).astype(dtype)

    found = [
        case(Convolve1d(), draw(n), draw(m), fixed=(full,), scale=1e3)
        for n, m in ((5, 3), (3, 5), (1, 4), (4, 4))
        for full in (np.True_, np.False_)
    ]
    shapes = (((5, 4), (2, 3)), ((2, 3), (5, 4)), ((1, 1), (3, 2)))
    found += [
        case(Convolve2d("direct"), draw(*a), draw(*b), fixed=(full,), scale=1e3)
        for a, b in shapes
        for full in (np.True_, np.False_)
    ]
    return found


def lists() -> list[Case]:
    """Lists that are made, changed and read inside of one graph."""
    x, y = matrix("float64", 3), matrix("float64", 3)

    def read(v: Any, w: Any) -> list[Any]:
        made = make_list([v, w])
        longer = append(extend(made, make_list([w, v])), v)
        return [made[1], length(longer), longer[-2], reverse(longer)[1], longer[1:4][-1], length(longer[1:4])]

    return [case(read, x, y)]


@wrap_py(itypes=[pt.dvector, pt.dvector], otypes=[pt.dvector, pt.dscalar])
def by_numpy(x: Any, y: Any) -> Any:
    return np.sort(x) + y, np.asarray(x.max())


def of_python() -> list[Case]:
    """Functions of Python, which run on backends of Python alone."""
    x, y = matrix("float64", 3), matrix("float64", 3)
    quiet = Print("x", global_fn=lambda op, array: None)
    return [case(by_numpy, x, y), case(quiet, x)]


def every() -> list[Case]:
    """All cases of one dtype."""
    families = (sorting, diagonals, choosing, softmax, convolution)
    return [*places(), *lists(), *of_python(), *(c for family in families for c in family("float64"))]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softmax(dtype: str) -> None:
    check(softmax(dtype))


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "complex128"])
def test_convolution(dtype: str) -> None:
    check(convolution(dtype))


def test_places_and_lists() -> None:
    check([*places(), *lists()])


def test_functions_of_python() -> None:
    check(of_python(), native=False)


def test_what_is_printed_is_what_pytensor_prints(capsys: Any) -> None:
    x = pt.vector("x")
    y = Print("x is {here}", attrs=("__str__", "shape"))(x) * 2
    given, printed = np.array([1.0, 2.0]), []
    graph = tg_pytensor.from_pytensor([x], [y])
    f = tg.function(list(graph.inputs), list(graph.outputs), backend="py")
    for function in (pytensor.function([x], [y], mode=PERFORM), f):
        capsys.readouterr()
        np.testing.assert_array_equal(function(given)[0], [2.0, 4.0])
        printed.append(capsys.readouterr().out)
    assert "x is {here} __str__ = [1. 2.]" in printed[0]
    assert printed[0] == printed[1]
