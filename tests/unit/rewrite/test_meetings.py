"""Factors that meet across gates: what is hidden stays hidden, what is shown stays shown, wherever the two stand."""

import itertools

import numpy as np
import pytest

import tg
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.rewrite.rules.elementwise.exponential.factors import OTHER, Factor, Product, rebuilt
from tg.rewrite.rules.elementwise.exponential.meetings import simplify

FUNCTIONS = {
    "exp": np.exp, "expm1": np.expm1, "sinh": np.sinh, "cosh": np.cosh, "sigmoid": lambda u: 1 / (1 + np.exp(-u)),
}  # fmt: skip
KINDS = [(kind, sign, power) for kind in FUNCTIONS for sign in (1, -1) for power in (1, -1)]
Y, C, Z = (v.ravel() for v in np.meshgrid([0.0, 2.0], [0.0, 3.0, np.nan], [0.0, 0.5, 1.0, 7.0]))


def computed(factors):
    """The product of numbers at stages: odd ones are gates, which a 0 of what stands before closes."""
    made = np.ones(Y.shape)
    for stage, some in itertools.groupby(sorted(factors, key=lambda f: f[0]), lambda f: f[0]):
        part = np.prod([v for _, v in some], axis=0)
        made = np.where(made == 0, 0, made * part) if stage % 2 else made * part
    return made


@np.errstate(all="ignore")
@pytest.mark.parametrize("stages", [(s, t) for s in range(4) for t in range(s, 4)])
@pytest.mark.parametrize("other", range(4))
@pytest.mark.parametrize("infinity", [1, -1])
def test_what_meets_is_as_hidden_as_before(stages, other, infinity):
    y, c, z = inputs = [tg.vector(name) for name in "ycz"]
    u, at = infinity * tg.log(z), infinity * np.log(Z)
    expected, kept, outputs, names = [], [], [], []
    for a, b in itertools.product(KINDS, KINDS):
        factors = [Factor(OTHER, y), Factor(OTHER, c, stage=other)]
        numbers = [(0, Y), (other, C)]
        for (kind, sign, power), stage in zip((a, b), stages, strict=True):
            factors.append(Factor(kind, u, sign, power, stage, bounded=kind == "sigmoid"))
            numbers.append((stage, FUNCTIONS[kind](sign * at) ** float(power)))
        product = Product(*sorted(factors, key=lambda f: f.stage))
        if simplify(product):
            names.append((a, b))
            outputs.append(rebuilt(product))
            expected.append(computed(numbers))
            kept.append(
                np.isnan(expected[-1]) & ~np.isnan(computed([numbers[0], (other, np.full(C.shape, 3.0)), *numbers[2:]]))
            )
    new = interpret(FunctionGraph.of(inputs, outputs).freeze(), [Y, C, Z])
    for name, x, v, is_kept in zip(names, new, expected, kept, strict=True):
        number = ~np.isnan(v)
        np.testing.assert_allclose(x[number], v[number], rtol=1e-14, err_msg=str(name))
        assert np.isnan(x[is_kept]).all(), name
