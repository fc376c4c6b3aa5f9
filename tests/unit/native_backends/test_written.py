"""What a backend has written of a program is taken from disk by the next process: the same numbers, none generated."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import tg
from tg import plugin
from tg.functions.backends import choose
from tg.functions.compile import Setting, prepared, requested
from tg.functions.remembered import is_of
from tg.link.declines import Declined
from tg.link.kept import Kept

BACKENDS = ("c", "numba")
LARGE = np.random.default_rng(0).normal(size=(40, 30))


@pytest.fixture(params=BACKENDS)
def backend(request, tmp_path, monkeypatch):
    monkeypatch.setenv("TG_CACHE_DIR", str(tmp_path))
    with tg.config(remember=True, backend=request.param):
        yield request.param


def steps(f):
    return {row.name for row in f.compile_report().rows}


def model():
    """A program with products of BLAS, functions of libm, a large constant twice, and lengths that values decide."""
    v, n = tg.vector("v"), tg.scalar("n", dtype="int64")
    rows = tg.matmul(tg.constant(LARGE), v[:30])
    return [v, n], [tg.sum(tg.sin(rows)), v[:n], rows]


def check(f):
    v = np.linspace(-1.0, 1.0, 33)
    total, first, rows = f(v, 5)
    np.testing.assert_allclose(rows, LARGE @ v[:30], rtol=1e-12)
    np.testing.assert_allclose(total, np.sin(LARGE @ v[:30]).sum(), rtol=1e-12)
    assert first.tolist() == v[:5].tolist()


def test_the_second_function_is_not_written_again(backend):
    first = tg.function(*model())
    check(first)
    assert "code" in steps(first)
    text = first.source()
    del first
    again = tg.function(*model())
    check(again)
    assert not {"code", "rewrite"} & steps(again)
    assert again.source() == text


def test_errors_and_profiles_are_those_of_a_written_program(backend):
    x, k = tg.vector("x"), tg.scalar("k", dtype="int64")
    for _ in range(2):
        f = tg.function([x, k], [tg.exp(x)[k], tg.sin(x)])
        with pytest.raises(tg.errors.BoundsError, match="index 7"):
            f([1.0, 2.0], 7)
        found, sines = f([0.0, 1.0], 1)
        assert found == pytest.approx(np.e, rel=1e-15)
        np.testing.assert_allclose(sines, np.sin([0.0, 1.0]), rtol=1e-15)
    assert "code" not in steps(f)
    assert "sin" in str(f.profile([0.0, 1.0], 1))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("suffix", [".written", ".o", ".so"])
@pytest.mark.parametrize("damage", [None, b"", b"nothing of the kind\n"])
def test_what_is_lost_or_damaged_is_made_again(backend, tmp_path, suffix, damage):
    check(tg.function(*model()))
    for path in tmp_path.rglob(f"*{suffix}"):
        path.unlink()  # not written over: the process may have it open
        if damage is not None:
            path.write_bytes(damage)
    check(tg.function(*model()))
    again = tg.function(*model())
    check(again)
    assert "code" not in steps(again)


def test_sharing_memory_is_another_way_to_write(backend):
    """Of one program, one function may put its result where the shared variable is, the other may not."""
    for _ in range(2):
        state, x = tg.shared(np.arange(4.0), name="state"), tg.vector("x")
        update = tg.function([x], [], updates={state: state + x})
        before = state.get_value()
        update(np.ones(4))
        assert state.get_value().tolist() == (before + 1).tolist()
        y = tg.vector("y")
        plain = tg.function([x, y], y + x)
        given = np.arange(4.0)
        assert plain(np.ones(4), given).tolist() == [1.0, 2.0, 3.0, 4.0]
        assert given.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_what_rules_of_others_write_is_not_kept(backend, tmp_path):
    x = tg.vector("x")
    setting = Setting(choose(backend, "auto"))
    frozen = prepared([x], [tg.exp(x)], (), setting)
    _, request, _ = requested(frozen, setting)
    packages = plugin.registry().packages(backend)
    for rule, count in ((lambda site: None, 0), (request.rule_for(tg.exp), 1)):
        kept = Kept(frozen, str(count), lambda one: is_of(packages, one))
        assert kept.watched(lambda key, rule=rule: rule)(tg.exp) is rule
        kept.store("written", "here")
        assert len([*tmp_path.rglob("*.written")]) == count
    assert kept.read("here") == "written"
    assert kept.read("there") is None


def test_programs_are_kept_though_a_rule_has_declined_another(backend):
    """What declines is another program's, or had its program made without it."""
    v = tg.vector("v")
    with pytest.raises(tg.errors.NoRuleError, match="values decide how long"):
        tg.function([v], tg.cond(v.sum() > 0, lambda v: v[v > 1], lambda v: v[v < 1], v))
    check(tg.function(*model()))
    assert not {"code", "rewrite"} & steps(tg.function(*model()))


@pytest.mark.parametrize("kept", [False, True])
def test_what_is_kept_is_made_without_what_declines(backend, kept):
    x = tg.vector("x")
    made = tg.sort(x)
    if kept:
        tg.function([x], made)
    declines = plugin.registry().declines(backend)
    declined = Declined(made.apply.op, [x.type])
    try:
        declines.note(declined)
        for _ in range(2):
            f = tg.function([x], made)
            assert f([2.0, 1.0, 3.0]).tolist() == [1.0, 2.0, 3.0]
            assert all(node.op.name != "Sort" for node in f.graph.nodes)
    finally:
        declines._known.pop(declined.key)
    assert not {"code", "rewrite"} & steps(f)


USER = """
import json, sys
import numpy as np
import tg

m, v = tg.matrix("m"), tg.vector("v")
loss = tg.sum(tg.logaddexp(m @ v, 0.0)) + tg.sum(tg.sort(v))
f = tg.function([m, v], [loss, tg.grad(loss, v)], backend=sys.argv[1])
value, slope = f(np.arange(6.0).reshape(2, 3) / 7, [0.3, -0.2, 0.1])
generators = ("tg_c.program", "tg_numba.program", "tg_native.fusion.fused", "tg.rules.catalog", "numba")
made = [name for name in generators if name in sys.modules]
print(json.dumps([float(value), slope.tolist(), made]))
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "plugins"), [("c", ""), ("numba", ""), ("c", "c")])
def test_another_process_imports_no_generator(name, plugins, tmp_path):
    """Nor where it may use one plugin alone: what that requires is no less known for it.

    Of the rules it imports those by which gradients bring a cost to its stable forms, not the catalog.
    """
    environ = {**os.environ, "TG_REMEMBER": "true", "TG_CACHE_DIR": str(tmp_path), "TG_PLUGINS": plugins}
    found = []
    for _ in range(2):
        command = [sys.executable, "-c", USER, name]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    (value, slope, made), (same, equal, none) = found
    m, v = np.arange(6.0).reshape(2, 3) / 7, np.array([0.3, -0.2, 0.1])
    assert value == pytest.approx(np.logaddexp(m @ v, 0).sum() + v.sum(), rel=1e-13)
    np.testing.assert_allclose(slope, m.T @ (1 / (1 + np.exp(-(m @ v)))) + 1, rtol=1e-13)
    assert (same, equal) == (value, slope)
    assert {f"tg_{name}.program", "tg.rules.catalog"} <= {*made}
    assert none == []


@pytest.mark.long
def test_where_nothing_can_be_kept_everything_is_computed(tmp_path):
    """On Numba, which compiles in memory: the rewritten program and what was written of it are optional too."""
    (tmp_path / "file").write_text("in the way")
    place = str(tmp_path / "file")
    environ = {**os.environ, "TG_REMEMBER": "true", "TG_CACHE_DIR": place, "TMPDIR": place}
    script = "import tempfile; tempfile._candidate_tempdir_list = lambda: []\n" + USER
    command = [sys.executable, "-c", script, "numba"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    m, v = np.arange(6.0).reshape(2, 3) / 7, np.array([0.3, -0.2, 0.1])
    assert json.loads(done.stdout)[0] == pytest.approx(np.logaddexp(m @ v, 0).sum() + v.sum(), rel=1e-13)
