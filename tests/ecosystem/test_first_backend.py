"""A first backend is about a hundred lines, and does what the others do."""

from pathlib import Path

import pytest

TOY = Path(__file__).parent / "plugins" / "tg-toy" / "src" / "tg_toy"

REGRESSION = """
import numpy as np, tg
X, y, w, b = tg.matrix("X"), tg.vector("y"), tg.vector("w"), tg.scalar("b")
z = X @ w + b
loss = tg.mean(tg.softplus(z) - y * z) + tg.sum(w * w) / 2
rng = np.random.default_rng(1)
values = rng.normal(size=(5, 3)), rng.normal(size=5), rng.normal(size=3), np.array(0.5)
made = {name: tg.function([X, y, w, b], [loss, *tg.grad(loss, [w, b])], backend=name) for name in ("perform", "toy")}
found = {name: f(*values) for name, f in made.items()}
answer = [bool(np.allclose(p, q, rtol=1e-12)) for p, q in zip(*found.values(), strict=True)]
answer += [[*map(list, map(np.shape, found["toy"]))], "softplus" in made["toy"].source()]
"""

VIEWS = """
import numpy as np, tg
x = tg.matrix("x")
f = tg.function([x], [x, x.T, x[1:], x.T], backend="plaything")
value = np.arange(6.0).reshape(2, 3)
outs = f(value)
for out in outs:
    out[...] = -1
answer = [value.tolist(), any(np.shares_memory(a, b) for k, a in enumerate(outs) for b in outs[k + 1 :])]
"""

CHECKED = """
import numpy as np, tg
x, k = tg.vector("x"), tg.scalar("k", dtype="int64")
f = tg.function([x, k], x[k], backend="toy")
answer = [float(f(np.arange(3.0), -1))]
try:
    f(np.arange(3.0), 3)
except IndexError as error:
    answer.append(str(error))
"""

LACKING = """
import tg
x = tg.vector("x", dtype={dtype!r})
try:
    tg.function([x], {expression}, backend="toy")
except tg.NoRuleError as error:
    answer = str(error)
"""


def test_a_first_backend_is_about_a_hundred_lines():
    lines = [line for file in TOY.glob("*.py") for line in file.read_text().splitlines() if line.strip()]
    assert len(lines) <= 130


def test_a_regression_and_its_gradient_agree_with_the_reference(ask):
    assert ask(REGRESSION, "tg-toy") == [True, True, True, [[], [3], []], True]


def test_results_of_rules_that_return_views_are_the_callers_own(ask):
    assert ask(VIEWS, "tg-toy") == [[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], False]


def test_a_check_that_fails_is_the_same_error_with_the_users_line(ask):
    value, text = ask(CHECKED, "tg-toy")
    assert value == 2.0
    assert "index 3 is out of bounds for an axis of length 3" in text
    assert "model.py:4" in text


def test_a_missing_rule_is_told_with_the_users_line_and_who_has_one(ask):
    text = ask(LACKING.format(dtype="float64", expression="x // 2.0"), "tg-toy", TG_PLUGINS="tg-toy")
    assert text.splitlines() == [
        "backend 'toy' has no rule for floor_divide",
        "  node        %2 = floor_divide(float64[?], float64[]) : float64[?]",
        '  created at  model.py:5:  tg.function([x], x // 2.0, backend="toy")',
        "  backends with a rule: perform",
        '  hint: compile with backend="perform", or give a rule from tg_rules("toy") of a plugin',
    ]


def test_a_missing_dtype_is_told_with_the_users_line(ask):
    text = ask(LACKING.format(dtype="float32", expression="x + 1"), "tg-toy")
    assert "no dtype float32" in text
    assert "model.py:5" in text


@pytest.mark.long
def test_the_conformance_suite_tells_exactly_which_rules_are_missing(ask):
    program = """
import re, subprocess, sys, tempfile
from xml.etree import ElementTree
with tempfile.TemporaryDirectory() as folder:
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tg_conformance", "--tier", "quick",
            "--pyargs", "tg_conformance.suite", "--backend", "toy", "-k", "trigonometric or contraction",
            f"--junitxml={folder}/result.xml"]
    done = subprocess.run(line, capture_output=True, text=True)
    cases = list(ElementTree.parse(f"{folder}/result.xml").iter("testcase"))
told = ["".join(failure.itertext()) for case in cases for failure in case.findall("failure")]
missing = [re.search("has no rule for (.*)", text) for text in told]
passed = any(case.find("failure") is None and case.find("skipped") is None for case in cases)
answer = [done.returncode, missing.count(None), sorted({found[1] for found in missing if found}), passed]
"""
    code, unexplained, missing, some_passed = ask(program, "tg-toy")
    assert (code, unexplained, some_passed) == (1, 0, True)
    assert "sinc" in missing
    assert not {"sin", "cos", "tanh", "MatMul"} & set(missing)
