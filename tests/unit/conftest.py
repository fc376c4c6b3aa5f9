"""Running one program on a backend that generates code, fused and not, and on the reference.

Which backend, the fixture `backend` says, in the folders of tests.
"""

from __future__ import annotations

import functools

import ml_dtypes
import numpy as np
import pytest

from tg import plugin
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import evaluate_one, interpret
from tg.link.linker import Request
from tg.rewrite.driver import rewrite
from tg.types.dtypes import is_complex, is_float
from tg_native.fusion.fused import fuse


def frozen_of(backend, inputs, outputs):
    """The program with what the backend has no rule for expanded, and nothing else rewritten."""
    rules = plugin.registry().rules(backend)
    graph = FunctionGraph.of(inputs, outputs)
    return rewrite(graph, [], supported=lambda op, types: op.rule_key in rules, mode="off")


def compiled(backend, frozen, **options):
    registry = plugin.registry()
    chosen = registry.backend(backend).options(**options)
    return registry.linker(backend).compile(frozen, Request(backend, chosen, registry.rules(backend).get))


def same_array(found, wanted, tolerance):
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    name = wanted.dtype.name
    if is_complex(name):
        same_complex(found, wanted, tolerance)
    elif is_float(name):
        info = ml_dtypes.finfo(wanted.dtype)
        wide = np.float64 if wanted.dtype.itemsize == 2 else wanted.dtype
        limits = {"rtol": tolerance * float(info.eps), "atol": tolerance * float(info.tiny)}
        np.testing.assert_allclose(found.astype(wide), wanted.astype(wide), **limits)
    else:
        np.testing.assert_array_equal(found, wanted)


def same_complex(found, wanted, tolerance):
    """Equal but for rounding, which is relative to the absolute value; infinities and NaN part by part."""
    special = ~(np.isfinite(found) & np.isfinite(wanted))
    for part in (np.real, np.imag):
        np.testing.assert_array_equal(np.where(special, part(found), 0), np.where(special, part(wanted), 0))
    error = np.abs(np.where(special, 0, found) - np.where(special, 0, wanted))
    info = np.finfo(wanted.dtype)
    assert (error <= tolerance * (info.eps * np.abs(np.where(special, 0, wanted)) + info.tiny)).all()


def first_error(frozen, arrays):
    """What the first check that fails, in the graph's order, has to say."""
    values = [*arrays, *(c.data for c in frozen.constants)]
    values.extend([None] * (len(frozen.types) - len(values)))
    for check in frozen.checks:
        if not evaluate_one(frozen, check.condition, values):
            return check.descriptor.build([int(evaluate_one(frozen, k, values)) for k in check.values])
    return None


def agrees(backend, inputs, outputs, arrays, tolerance=16.0):
    """Compare every output with the reference, with and without fusion; inputs stay as they were."""
    frozen = frozen_of(backend, inputs, outputs)
    before = [a.copy() for a in arrays]
    with np.errstate(all="ignore"):
        error = first_error(frozen, arrays)
        wanted = interpret(frozen, arrays) if error is None else ()
    for graph in (frozen, fuse(frozen)):
        found, status = compiled(backend, graph).run(arrays)
        if error is not None:
            assert status
            failed = graph.checks[status[0] - 1].descriptor.build(status[1:])
            assert (type(failed), str(failed)) == (type(error), str(error))
            continue
        assert status == ()
        for y, expected in zip(found, wanted, strict=True):
            same_array(y, np.asarray(expected), tolerance)
            assert y.flags.owndata
            assert y.flags.writeable
        for a in (*arrays, *found):
            assert not any(a is not y and np.may_share_memory(a, y) for y in found)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(arrays, before, strict=True))


@pytest.fixture(name="agrees")
def agrees_fixture(backend):
    return functools.partial(agrees, backend)


@pytest.fixture(name="compiled")
def compiled_fixture(backend):
    return functools.partial(compiled, backend)


@pytest.fixture(name="frozen_of")
def frozen_of_fixture(backend):
    return functools.partial(frozen_of, backend)
