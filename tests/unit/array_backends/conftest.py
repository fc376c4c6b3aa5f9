"""Every backend that wraps an array library, rule by rule: frozen graphs compared with the reference interpreter."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tg import plugin
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.link.linker import Request
from tg.ops.control import lower_checks
from tg.rewrite.driver import rewrite
from tg.types.dtypes import DTYPES, dtype_name, is_complex, is_inexact, numpy_dtype

ARRAY = plugin.RuleProtocol("array", 2)


def array_backends():
    """The backends with rules for arrays that import a library, by name."""
    found = (plugin.registry().backend(s.name) for s in plugin.registry().backends() if s.is_available)
    return [b.name for b in found if b.rules == ARRAY and b.requires]


@pytest.fixture(params=array_backends())
def backend(request):
    """One backend; a test in a dtype that the backend does not have is none of its tests."""
    found = plugin.registry().backend(request.param)
    named = [v for k, v in request.node.callspec.params.items() if k in ("dtype", "source")]
    if not found.dtypes.issuperset(named):
        pytest.skip(f"{request.param} has no {named[0]}")
    return request.param


def compiled(backend, inputs, outputs, **options):
    """The graph of an expression, only expanded, and its executable."""
    registry = plugin.registry()
    rules = registry.rules(backend)
    graph = FunctionGraph.of(inputs, outputs)
    frozen = rewrite(graph, [], supported=lambda op, types: op.rule_key in rules, mode="off")
    chosen = registry.backend(backend).options(**options)
    request = Request(backend, chosen, rules.get, has_status=bool(frozen.checks))
    return frozen, registry.linker(backend).compile(lower_checks(frozen), request)


def agree(backend, inputs, outputs, arrays, *, ulps=4.0, signs=False):
    """Fail unless the executable gives what the reference gives: shape, dtype, NaNs, values within `ulps`."""
    frozen, executable = compiled(backend, inputs, outputs)
    flushes = any(gap.op == "subnormals" for gap in plugin.registry().gaps(backend))
    for given in arrays:
        before = [a.copy() for a in given]
        results, status = executable.run(given)
        assert status == ()
        for k, (found, wanted) in enumerate(zip(results, interpret(frozen, given), strict=True)):
            value = executable.to_numpy(found)
            text = f"output {k}, {value.dtype} {value.shape}"
            with np.errstate(all="ignore"):
                check_alike(value, wanted, ulps, text, signs=signs, flushes=flushes)
            assert value.flags.writeable
            assert value.flags.owndata or not isinstance(value.base, np.ndarray | None)
        for a, b in zip(given, before, strict=True):
            assert a.tobytes() == b.tobytes()
    return executable


def check_alike(value, wanted, ulps, text, *, signs=False, flushes=False):
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
    flushed = flushes & (np.abs(exact[finite]) < limits[1]) & (wide[finite] == 0)
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
def dtypes(backend):
    """The dtypes that the backend has."""
    return [d for d in DTYPES if d in plugin.registry().backend(backend).dtypes]


@pytest.fixture
def same(backend):
    return functools.partial(agree, backend)


@pytest.fixture
def link(backend):
    return functools.partial(compiled, backend)
