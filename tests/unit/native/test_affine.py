"""Values as s * x + c: what is summed in their place gives their sums, and only what pays is."""

import math

import numpy as np

import tg
from tg.graph.frozen import FrozenGraph
from tg.graph.function_graph import freeze
from tg.graph.interpret import interpret
from tg_native.fusion.affine import shared_sums

SHARED = {"a": 1.7, "b": -0.4, "c": 3.2}


def found(expressions):
    """What is summed for some values of x and y, which differ, and a, b and c, which do not; and the whole program."""
    variables = [tg.scalar(name) for name in ("x", "y", *SHARED)]
    frozen = freeze(variables, expressions(*variables))
    single = {k + 2: value for k, value in enumerate(SHARED.values())}
    single.update((frozen.arity + k, float(c.data)) for k, c in enumerate(frozen.constants))
    return shared_sums(frozen.outputs, frozen.nodes, [t.dtype for t in frozen.types], single), frozen


def values_of(frozen, numbers, x, y):
    """What some values of the program are."""
    whole = FrozenGraph(frozen.arity, frozen.types, frozen.constants, frozen.nodes, numbers)
    return [float(v) for v in interpret(whole, [np.float64(v) for v in (x, y, *SHARED.values())])]


def test_the_forms_are_the_values():
    shared, frozen = found(
        lambda x, y, a, b, c: [
            x * a * (y / b), b - x * y, -(x / b), (x * x - c) * a, x * x + b, c - -(x * x), y * a, (x - a) * (x - a)
        ]
    )  # fmt: skip
    for x, y in ((0.3, -1.1), (2.5, 0.7)):
        for form, value in zip(shared.forms, values_of(frozen, frozen.outputs, x, y), strict=True):
            product = math.prod(values_of(frozen, form.factors, x, y))
            scale, shift = 1.0 if form.scale is None else form.scale, form.shift or 0.0
            assert math.isclose(scale * product + shift, value, rel_tol=1e-14)


def test_sums_that_differ_by_factors_and_terms_are_one():
    z = lambda x, a, c: (x - a) / c  # noqa: E731
    shared, _ = found(lambda x, y, a, b, c: [z(x, a, c) * z(x, a, c) * -0.5 - b, z(x, a, c) * (z(x, a, c) / c)])
    assert len(shared.summed) == 1
    assert len(shared.nodes) == 1  # x - a
    assert all(form.regroups for form in shared.forms)


def test_what_is_written_is_summed_unless_something_is_saved():
    assert found(lambda x, y, a, b, c: [x - a, tg.exp(x)])[0] is None
    assert found(lambda x, y, a, b, c: [x * y - a])[0] is None
    assert found(lambda x, y, a, b, c: [tg.cast(x, "float32") * tg.cast(y, "float32")])[0] is None
