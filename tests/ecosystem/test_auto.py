"""A plugin with three rules and a priority above all others' breaks nobody's program, and costs no other import."""

import pytest

import tg

pytestmark = pytest.mark.long
FIRST = tg.backend("auto").name
NATIVE = [one.name for one in tg.backends() if one.is_available and one.name != "perform"]

THREE = """
import tg
x = tg.vector("x")
f = tg.function([x], tg.sin(x) * x + x)
answer = [f.backend, f([1.0, 2.0]).tolist(), tg.backend("auto").name, len(f.explain().passed_over)]
"""

OTHERS = """
import pickle
import numpy as np, tg

x, k, w = tg.matrix("x"), tg.scalar("k", dtype="int64"), tg.shared(np.linspace(-1, 1, 6).reshape(3, 2), name="w")
value, found = np.arange(12.0).reshape(4, 3) / 12, []
cost = tg.sum(tg.logsumexp(x @ w, axis=-1)) + tg.mean(tg.exp(-x))
step = tg.function([x], cost, updates={w: w - 0.1 * tg.grad(cost, w)})
sort = tg.function([x], tg.sort(x, axis=0), compile="background")
sums = tg.function([x], tg.cumsum(x)[::2])
pick = tg.function([x, k], x[k], nan_guard=True)
functions = [step, sort, sums, pickle.loads(pickle.dumps(sums)), sums.copy()]
for f in functions:
    for given in (value, value[:1], value):
        found.append(f(given).tolist())
    f.wait()
found += [w.get_value().tolist(), pick(value, 1).tolist()]
try:
    pick(value, 9)
except IndexError as error:
    found.append(str(error))
answer = [[f.backend for f in (*functions, pick)], found]
"""

IMPORTED = """
import sys, tg
x = tg.vector("x")
backends = [tg.function([x], y).backend for y in (tg.sin(x), tg.cos(x))]
heavy = [n for n in {names!r} if n + ".linker" in sys.modules]
answer = [backends, heavy, [n for n in ("jax", "torch", "mlx", "numba") if n in sys.modules]]
"""


def test_a_program_of_its_three_rules_runs_on_it(ask):
    backend, value, auto, passed_over = ask(THREE, "tg-three")
    assert (backend, auto, passed_over) == ("three", "three", 0)
    assert value == pytest.approx([1.8414709848, 3.8185948536])


def test_all_other_programs_are_as_they_are_without_it(ask):
    backends, values = ask(OTHERS, "tg-three")
    assert set(backends) == {FIRST}
    assert [backends, values] == ask(OTHERS, "tg-three", TG_PLUGINS_OFF="tg-three")


@pytest.mark.skipif(FIRST != "c", reason="the other backends are the next in line")
def test_no_backend_behind_the_one_that_runs_a_program_is_imported(ask):
    names = [f"tg_{name}" for name in NATIVE]
    backends, heavy, frameworks = ask(IMPORTED.format(names=names), "tg-three")
    assert backends == ["three", FIRST]
    assert (heavy, frameworks) == ([f"tg_{FIRST}"], [])


def test_what_is_forbidden_or_lacks_what_it_needs_is_not_imported(ask):
    program = IMPORTED.format(names=["tg_three"])
    backends, heavy, _ = ask(program, "tg-three", TG_PLUGINS_OFF="three")
    assert (backends, heavy) == ([FIRST, FIRST], [])


def test_what_was_passed_over_is_told_with_the_reason(ask):
    program = """
import tg, tg.plugin
x = tg.vector("x")
answer = [tg.function([x], tg.cos(x)).explain().passed_over, tg.plugin.registry().default_backend()]
"""
    first = ["three", "priority 100, the highest available"]
    assert ask(program, "tg-three") == [[["three", "has no rule for cos"]], first]
