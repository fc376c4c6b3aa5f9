"""Frozen graphs through the MLX linker, compared with the reference interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.link.linker import Request
from tg.ops.control import lower_checks
from tg.rewrite.driver import rewrite
from tg.types.dtypes import dtype_name, is_complex, is_inexact, numpy_dtype
from tg_mlx import Options
from tg_mlx.linker import LINKER
from tg_mlx.rules import RULES


def linked(inputs, outputs, **options):
    """The graph of an expression, only expanded, and its executable."""
    graph = FunctionGraph.of(inputs, outputs)
    frozen = rewrite(graph, [], supported=lambda op, types: op.rule_key in RULES, mode="off")
    lowered = lower_checks(frozen)
    request = Request("mlx", Options(**options), RULES.get, has_status=bool(frozen.checks))
    return frozen, LINKER.compile(lowered, request)


def agree(inputs, outputs, arrays, *, ulps=4.0, signs=False, **options):
    """Fail unless the executable gives what the reference gives: shape, dtype, NaNs, values within `ulps`."""
    frozen, executable = linked(inputs, outputs, **options)
    for given in arrays:
        before = [a.copy() for a in given]
        results, status = executable.run(given)
        assert status == ()
        for k, (found, wanted) in enumerate(zip(results, interpret(frozen, given), strict=True)):
            value = executable.to_numpy(found)
            with np.errstate(all="ignore"):
                check_alike(value, wanted, ulps, f"output {k}, {value.dtype} {value.shape}", signs=signs)
            assert value.flags.writeable
            assert value.flags.owndata
        for a, b in zip(given, before, strict=True):
            assert a.tobytes() == b.tobytes()
    return executable


def check_alike(value, wanted, ulps, text, *, signs=False):
    assert value.dtype == wanted.dtype, text
    assert value.shape == wanted.shape, text
    if is_complex(dtype_name(wanted.dtype)):
        size = np.abs(wanted)
        scale = np.spacing(np.maximum(size, np.finfo(size.dtype).tiny))
        finite = np.isfinite(size)
        wrong = finite & ~(np.abs(value - wanted) <= 2 * ulps * scale)
        assert not wrong.any(), f"{text}: {value[wrong][:5]} for {wanted[wrong][:5]}"
        return
    if not is_inexact(dtype_name(wanted.dtype)):
        np.testing.assert_array_equal(value, wanted, text)
        return
    wide, exact = value.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(wide), np.isnan(exact), text)
    np.testing.assert_array_equal(wide[np.isinf(exact)], exact[np.isinf(exact)], text)
    finite = np.isfinite(exact)
    limits = _limits(wanted.dtype)
    scale = np.maximum(np.abs(exact[finite]), limits[1]) * limits[0]
    flushed = (np.abs(exact[finite]) < limits[1]) & (wide[finite] == 0)  # tg promises no subnormal numbers
    wrong = ~flushed & ~(np.abs(wide[finite] - exact[finite]) <= ulps * scale)
    assert not wrong.any(), f"{text}: {wide[finite][wrong][:5]} for {exact[finite][wrong][:5]}"
    if signs:
        np.testing.assert_array_equal(np.signbit(value), np.signbit(wanted), text)


def _limits(dtype):
    if dtype == numpy_dtype("bfloat16"):
        return 2.0**-7, 2.0**-126
    info = np.finfo(dtype)
    return float(info.eps), float(info.tiny)


@pytest.fixture
def same():
    return agree


@pytest.fixture
def link():
    return linked
