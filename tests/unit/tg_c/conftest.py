"""Running one program on the C backend, fused and not, and on the reference."""

import numpy as np
import pytest

from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import evaluate_one, interpret
from tg.link.linker import Request
from tg.rewrite.driver import rewrite
from tg_c import Options
from tg_c.linker import LINKER
from tg_c.lower import fuse_elementwise
from tg_c.rules import RULES


def frozen_of(inputs, outputs):
    """The program with what C has no rule for expanded, and nothing else rewritten."""
    graph = FunctionGraph.of(inputs, outputs)
    return rewrite(graph, [], supported=lambda op, types: RULES.get(op.rule_key) is not None, mode="off")


def compiled(frozen, **options):
    return LINKER.compile(frozen, Request("c", Options(**options), RULES.get))


def same_array(found, wanted, tolerance):
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    if wanted.dtype.kind == "f":
        info = np.finfo(wanted.dtype)
        np.testing.assert_allclose(found, wanted, rtol=tolerance * info.eps, atol=tolerance * info.tiny)
    else:
        np.testing.assert_array_equal(found, wanted)


def first_error(frozen, arrays):
    """What the first check that fails, in the graph's order, has to say."""
    values = [*arrays, *(c.data for c in frozen.constants)]
    values.extend([None] * (len(frozen.types) - len(values)))
    for check in frozen.checks:
        if not evaluate_one(frozen, check.condition, values):
            return check.descriptor.build([int(evaluate_one(frozen, k, values)) for k in check.values])
    return None


def agrees(inputs, outputs, arrays, tolerance=16.0):
    """Compare every output with the reference, with and without fusion; inputs stay as they were."""
    frozen = frozen_of(inputs, outputs)
    before = [a.copy() for a in arrays]
    with np.errstate(all="ignore"):
        error = first_error(frozen, arrays)
        wanted = interpret(frozen, arrays) if error is None else ()
    for graph in (frozen, fuse_elementwise(frozen)):
        found, status = compiled(graph).run(arrays)
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
    for a, b in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(name="agrees")
def agrees_fixture():
    return agrees


@pytest.fixture(name="compiled")
def compiled_fixture():
    return compiled


@pytest.fixture(name="frozen_of")
def frozen_of_fixture():
    return frozen_of
