"""An op of a third party: on the reference without a rule, on other backends with the third party's own."""

import re

import pytest

import tg

BACKENDS = {one.name for one in tg.backends() if one.is_available}
WITH_RULES = ["perform", "toy", pytest.param("jax", marks=pytest.mark.skipif("jax" not in BACKENDS, reason="no jax"))]

GRADIENT = """
import numpy as np, tg
from tg_thirdparty.cubes import cube_sum
x = tg.matrix("x")
y = cube_sum(x * 2)
value = np.arange(6.0).reshape(2, 3)
f = tg.function([x], [y, tg.grad(y, x)], backend={backend!r})
total, slope = f(value)
g = tg.function([x], tg.grad(tg.sum(tg.grad(y, x)), x), backend={backend!r})
answer = [float(total), slope.tolist(), g(value).tolist(), "CubeSum" in f.source()]
"""

LACKING = """
import tg
from tg_thirdparty.cubes import cube_sum
x = tg.vector("x")
y = cube_sum(x)
try:
    tg.function([x], y, backend="c")
except NotImplementedError as error:
    answer = type(error).__name__, str(error)
"""

TEXT = """
import tg
from tg_thirdparty.cubes import cube_sum
x = tg.vector("x")
text = tg.to_text(cube_sum(x) + 1.0, provenance=False)
answer = [text, tg.to_text(tg.parse(text), provenance=False) == text]
"""

UNKNOWN = """
import tg
try:
    tg.parse({text!r})
except tg.TextError as error:
    answer = str(error)
"""


CONFORMANCE = """
import subprocess, sys
line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tg_conformance", "--tier", {tier!r},
        "--pyargs", "tg_conformance.suite", *(f"--backend={{name}}" for name in {names!r}), "-k", "cubes"]
done = subprocess.run(line, capture_output=True, text=True)
answer = [done.returncode, done.stdout[-3000:]]
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", WITH_RULES)
def test_its_value_and_derivatives_are_right(ask, backend):
    total, slope, curvature, in_source = ask(GRADIENT.format(backend=backend), "tg-thirdparty", "tg-toy")
    assert total == 1800.0
    assert slope == [[0.0, 24.0, 96.0], [216.0, 384.0, 600.0]]
    assert curvature == [[0.0, 48.0, 96.0], [144.0, 192.0, 240.0]]
    assert in_source


def test_without_a_third_partys_rule_the_reference_runs_it(ask):
    assert ask(GRADIENT.format(backend="perform"), "tg-thirdparty", TG_PLUGINS="thirdparty-is-off")[0] == 1800.0


@pytest.mark.skipif(not {"c", "jax"} <= BACKENDS, reason="needs c and jax")
def test_a_backend_without_a_rule_names_those_that_have_one(ask):
    kind, text = ask(LACKING, "tg-thirdparty", "tg-toy", TG_PLUGINS="c,jax,toy,cubes")
    assert kind == "NoRuleError"
    assert text.splitlines() == [
        "backend 'c' has no rule for CubeSum",
        "  node        %1 = CubeSum(float64[?]) : float64[]",
        "  created at  model.py:5:  y = cube_sum(x)",
        "  backends with a rule: jax, perform, toy",
        '  hint: compile with backend="perform", or give a rule from tg_rules("c") of a plugin',
    ]


@pytest.mark.long
@pytest.mark.skipif("c" not in BACKENDS, reason="needs c")
def test_a_missing_rule_names_plugins_that_could_not_give_theirs(ask):
    _, text = ask(LACKING, "tg-thirdparty", "tg-misspelled", "tg-broken")
    told = [line.partition("problem: ")[2] for line in text.splitlines() if "plugin with a problem" in line]
    assert [line.partition(":")[0] for line in told] == ["tg-broken 0.1.0", "tg-misspelled 0.3.0"]
    assert "importing tg_broken raised" in told[0]


def test_it_is_printed_and_parsed_by_name(ask):
    text, is_same = ask(TEXT, "tg-thirdparty")
    assert "CubeSum(%0) : float64[]" in text
    assert is_same
    assert "CubeSum" in ask(UNKNOWN.format(text=text))


@pytest.mark.long
@pytest.mark.parametrize("tier", ["sparse", "quick"])
def test_its_conformance_cases_pass(ask, tier):
    names = [name for name in ("perform", "toy", "jax") if name in {"toy", *BACKENDS}]
    code, printed = ask(CONFORMANCE.format(names=names, tier=tier), "tg-thirdparty", "tg-toy")
    assert code == 0, printed
    assert all(re.search(rf"^{name} +[1-9]", printed, re.MULTILINE) for name in names), printed
