"""Rules of a third party for the native backends, by public names only: a kernel, C functions, functions of Numba."""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest

import tg
import tg_c
import tg_native
import tg_numba

SOURCES = Path(__file__).parent / "plugins/tg-waves/src"
PUBLIC = {"tg": set(dir(tg)), "tg.backend": set(dir(tg.backend))}
PUBLIC |= {module.__name__: {*module.__all__} for module in (tg_native, tg_c, tg_numba)}
BACKENDS = ["c", "numba"]

PROGRAM = """
import json, sys
import numpy as np
import tg
from tg_waves.waves import bump, powers, smoothed, softsign

backend = sys.argv[1]
x, m, decay = tg.vector("x"), tg.matrix("m"), tg.scalar("decay")
value, rows = np.array([0.25, 0.5, -0.75, 2.0]), np.arange(6.0).reshape(2, 3)
y = smoothed(bump(x) + softsign(x), decay)
squares, cubes = powers(y)
f = tg.function([x, decay], [y, squares, cubes, *tg.grad(cubes + squares, [x, decay])], backend=backend)
both = tg.function([m], powers(m.T), backend=backend)
loops = tg.function([x], tg.sum(bump(x) * 2 + softsign(x)), backend=backend)
text = loops.source()
found = [*f(value, 0.5), *both(rows), loops(value)]
print(json.dumps([*(np.asarray(v).tolist() for v in found), text.count("loop0"), "loop1" in text, tg.__file__]))
"""


def modules(path):
    """The modules and the names that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((one.name, None) for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module, one.name) for one in node.names)


def test_its_source_imports_public_names_only():
    found = [pair for path in SOURCES.rglob("*.py") for pair in modules(path)]
    assert {"tg", "tg.backend", "tg_native", "tg_c", "tg_numba"} <= {module for module, _ in found}
    for module, name in found:
        if module.partition(".")[0] in ("tg", "tg_native", "tg_c", "tg_numba"):
            assert name is None or name in PUBLIC[module], (module, name)


def expected(value, decay):
    """The values and gradients of the program, by NumPy and by differences."""

    def inner(v, d):
        inside = np.abs(v) < 1
        terms = np.where(inside, np.exp(-1 / np.where(inside, 1 - v * v, 1)), 0) + v / (1 + np.abs(v))
        y = terms.copy()
        for i in range(1, len(y)):
            y[i] += d * y[i - 1]
        return y

    y, step = inner(value, decay), 1e-6
    total = lambda v, d: np.sum(inner(v, d) ** 3) + np.sum(inner(v, d) ** 2)  # noqa: E731
    unit = np.eye(len(value)) * step
    slope = [(total(value + u, decay) - total(value - u, decay)) / (2 * step) for u in unit]
    slope_of_decay = (total(value, decay + step) - total(value, decay - step)) / (2 * step)
    return y, np.sum(y**2), np.sum(y**3), slope, slope_of_decay


@pytest.mark.sampled(2)
@pytest.mark.parametrize("backend", BACKENDS)
def test_values_and_gradients_are_right_where_nothing_but_wheels_is_installed(natively, site, tmp_path, backend):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    *found, calls, has_more, place = json.loads(natively("tg-waves", script, backend))
    value = np.array([0.25, 0.5, -0.75, 2.0])
    for got, wanted in zip(found[:5], expected(value, 0.5), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-7, atol=1e-9)
    assert found[5:7] == [55.0, 225.0]
    assert found[7] == pytest.approx(2 * np.exp(-1 / (1 - value[:3] ** 2)).sum() + (value / (1 + np.abs(value))).sum())
    assert (calls, has_more) == (2, False)  # all in one loop: where it is defined, and where it is called
    assert place == str(site / "released" / "tg" / "__init__.py")


CONFORMANCE = """
import subprocess, sys
line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tg_conformance", "--tier", {tier!r},
        "--pyargs", "tg_conformance.suite", "--backend=perform", "--backend=c", "--backend=numba", "-k", "waves"]
done = subprocess.run(line, capture_output=True, text=True)
answer = [done.returncode, done.stdout[-3000:]]
"""


@pytest.mark.long
@pytest.mark.parametrize("tier", ["sparse", "quick"])
def test_its_conformance_cases_pass(ask, tier):
    code, printed = ask(CONFORMANCE.format(tier=tier), "tg-waves")
    assert code == 0, printed
    assert all(re.search(rf"^{name} +[1-9]", printed, re.MULTILINE) for name in ("perform", *BACKENDS)), printed
