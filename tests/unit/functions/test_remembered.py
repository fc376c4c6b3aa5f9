"""Programs that are kept on disk once they are rewritten: the same one in the next process, and never another."""

import gc
import json
import os
import pickle
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tg
from tests.replay.program import FAMILIES, expression, programs
from tg import plugin
from tg.errors import ShapeError
from tg.functions import pickled, remembered
from tg.functions.backends import choose
from tg.functions.compile import Setting, prepared
from tg.functions.remembered import Written
from tg.graph.text.printer import to_text
from tg.link.kept import PROGRAMS, Unnamed
from tg.ops.catalog import ELEMENTWISE


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The files of programs, none at first, of functions that are made on C while this is in force."""
    monkeypatch.setenv("TG_CACHE_DIR", str(tmp_path))
    with tg.config(remember=True, backend="c"):
        yield lambda: sorted(tmp_path.glob("programs/*.program"))


def steps(f):
    return {row.name for row in f.compile_report().rows}


def lines_of(graph):
    origins = [(k, [str(loc) for loc in o.locs], o.rules) for k, o in sorted(graph.origins.items())]
    return origins, [str(getattr(c.descriptor, "loc", None)) for c in graph.checks]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_a_program_is_read_as_it_was_written(family, backend):
    setting = Setting(choose(backend, "auto"))
    count = 0
    for one in programs(family):
        inputs, outputs = expression(one)
        made = prepared(inputs, outputs, (), setting)
        data = Written(inputs, outputs).written(made)
        again = Written(*expression(one))
        assert again.text == Written(inputs, outputs).text
        found = again.read(data)
        assert found == made
        assert to_text(found) == to_text(made)
        assert lines_of(found) == lines_of(made)
        assert list(map(str, found.symbolic)) == list(map(str, made.symbolic))
        count += 1
    assert count > 3


MODEL = """
import json, sys
import numpy as np
import tg

def model(x, i, y):
    return tg.sum(tg.exp(x) * y) + tg.sum(x[i])

x, i, y = tg.vector("x"), tg.vector("i", "int64"), tg.vector("y")
f = tg.function([x, i, y], [model(x, i, y), *tg.grad(model(x, i, y), [x, y])], backend="c")
found = f(np.arange(3.0), np.array([2]), np.ones(3))
errors = []
for arrays in ((np.arange(3.0), np.array([7]), np.ones(3)), (np.arange(3.0), np.array([2]), np.ones(2))):
    try:
        f(*arrays)
    except Exception as error:
        errors.append(str(error))
rules = [m for m in sys.modules if m == "tg.rules.catalog"]  # a gradient imports those of stable forms
steps = [row.name for row in f.compile_report().rows]
json.dump([[a.tolist() for a in found], errors, steps, rules], sys.stdout)
"""


def test_another_process_need_not_rewrite_and_tells_its_own_lines(tmp_path):
    environ = {**os.environ, "TG_REMEMBER": "true", "TG_CACHE_DIR": str(tmp_path / "cache")}
    model, found = tmp_path / "model.py", []
    for text in (MODEL, MODEL, "\n\n" + MODEL):
        model.write_text(text)
        done = subprocess.run(
            [sys.executable, model], env=environ, capture_output=True, text=True, check=True, cwd=tmp_path
        )
        found.append(json.loads(done.stdout))
    (first, errors, steps, rules), (second, same, others, none), (third, moved, _, no) = found
    assert first == second == third
    assert "rewrite" in steps
    assert "keep" in steps
    assert rules
    assert not {"rewrite", "keep", "import"} & set(others)
    assert not none
    assert not no
    assert errors == same
    assert "model.py:7 in model" in errors[0]
    assert moved == [text.replace("model.py:7", "model.py:9") for text in errors]


UNPICKLED = """
import json, pathlib, pickle, sys
import numpy as np
from tg.functions import pickled
from tg.graph.frozen import Deferred

texts, parse = [], pickled.parse
graphs, graph_of = [], Deferred.graph.fget
Deferred.graph = property(lambda self: [graphs.append(self), graph_of(self)][1])
pickled.parse = lambda *args: [texts.append(args), parse(*args)][1]
functions = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())
found = [f(np.arange(3.0), np.array([2, 1]), np.ones(3)) for f in functions]
steps = [row.name for f in functions for row in f.compile_report().rows]
unread = not texts and not graphs
rules = [name for name in ("tg.rules.catalog", "tg_c.program", "tg_c.rules") if name in sys.modules]
again = [pickle.loads(pickle.dumps(f)) is f for f in functions[:2]]
errors = []
try:
    functions[0](np.arange(3.0), np.array([2, 7]), np.ones(3))
except Exception as error:
    errors.append(str(error))
(error,) = errors
graph = [str(f.explain()) for f in functions]
values = [np.asarray(v).tolist() for v in found], functions[2](np.arange(3.0), np.array([0, 0]), np.ones(3)).tolist()
json.dump([values, steps, unread, rules, again, error, len(texts), functions[2].inputs[0].name], sys.stdout)
"""


def test_a_process_that_unpickles_a_function_neither_parses_nor_rewrites(tmp_path, kept, monkeypatch):
    monkeypatch.setenv("TG_REMEMBER", "true")  # of the name of a program, as all of tg's variables
    x, i, y = tg.vector("x"), tg.vector("i", "int64"), tg.vector("y")
    total = tg.shared(np.zeros(()), "total")
    values = tg.sum(tg.exp(x) * y) + tg.sum(x[i])
    plain = tg.function([x, i, y], values)
    large = tg.function([x, i, y], values + tg.sum(np.arange(10_000.0) * tg.sum(y)))
    counting = tg.function([x, i, y], total + values, updates={total: total + 1})
    path = tmp_path / "functions.pickle"
    path.write_bytes(pickle.dumps([plain, large, counting]))
    done = subprocess.run(
        [sys.executable, "-c", UNPICKLED, path], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    (first, second), taken, unread, rules, again, error, parsed, name = json.loads(done.stdout)
    expected = np.exp(np.arange(3.0)).sum()
    np.testing.assert_allclose(first, [expected + 3, expected + 3 + 3 * np.arange(1e4).sum(), expected + 3], rtol=1e-13)
    np.testing.assert_allclose(second, expected + 1, rtol=1e-13)
    assert not {"rewrite", "keep", "import"} & set(taken)
    assert unread
    assert not rules
    assert parsed == 3  # for `explain`, and once
    assert again == [True, True]
    assert "index 7" in error
    assert name == "x"


def test_a_text_that_another_process_pickled_names_the_program_of_the_expression(tmp_path, kept):
    """Where the short way is gone, the expression that is parsed has no lines, and is found all the same."""
    x = tg.vector("x")
    f = tg.function([x], tg.sum(tg.exp(x) * x))
    (program,) = kept()
    data = pickle.dumps(f)
    for path in {*kept()} - {program}:
        path.unlink()
    del f
    pickled._functions.clear()
    g = pickle.loads(data)
    assert not {"rewrite", "import"} & steps(g)
    np.testing.assert_allclose(g(np.arange(3.0)), np.sum(np.exp(np.arange(3.0)) * np.arange(3.0)), rtol=1e-14)
    assert len(kept()) == 2


def unpickled_elsewhere(data):
    """What a process has that does not have the functions."""
    pickled._functions.clear()
    pickled._recent.clear()
    return pickle.loads(data)


def test_a_program_that_cannot_be_unpickled_is_made_again_where_somebody_looks_at_it(kept):
    x = tg.vector("x")
    state = tg.shared(np.ones(3), "state")
    f = tg.function([x], tg.sum(tg.exp(x) * state), updates={state: state + x})
    (program,) = kept()
    graph, data = f.graph, pickle.dumps(f)
    (shortcut,) = {*kept()} - {program}
    damaged = pickle.dumps((program.name, [], b"no pickle"))
    PROGRAMS.store(shortcut.name, lambda path: path.write_bytes(damaged) and None)
    del f
    g = unpickled_elsewhere(data)
    assert "rewrite" not in steps(g)
    assert g(np.zeros(3)) == 3.0
    with pytest.raises(ShapeError):
        g(np.zeros(4))
    assert g.graph == graph


def test_a_program_holds_no_shared_variable_of_the_function_that_it_was_unpickled_for(kept):
    x, state = tg.vector("x"), tg.shared(np.ones(3), "state")
    f = tg.function([x], tg.sum(x * state), updates={state: state + x})
    data = pickle.dumps(f)
    del f, state
    first = unpickled_elsewhere(data)
    second = pickle.loads(data)
    assert second.programs.main is first.programs.main
    value = weakref.ref(first.request.sources[0])
    del first
    gc.collect()
    assert value() is None
    assert second(np.ones(3)) == 3.0
    assert second.graph.arity == 2


def test_threads_may_unpickle_one_function_at_a_time(kept):
    x, state = tg.vector("x"), tg.shared(np.ones(1000), "state")
    plain = tg.function([x], tg.sum(tg.exp(x)) + tg.sum(np.arange(1000.0)))
    counting = tg.function([x], tg.sum(x * state), updates={state: state + x})
    data, graphs = pickle.dumps((plain, counting)), [plain.graph, counting.graph]
    del plain, counting
    pickled._functions.clear()
    pickled._recent.clear()
    barrier = threading.Barrier(8)

    def found(_):
        barrier.wait()
        f, g = pickle.loads(data)
        values = [float(f(np.zeros(2))), float(g(np.ones(1000))), float(g(np.ones(1000)))]
        return values, [f.graph, g.graph] == graphs

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(found, range(8))] == [([499502.0, 1000.0, 2000.0], True)] * 8


def test_constants_that_rewriting_made_are_kept_beside_what_refers_to_them(kept):
    """Machine code is given the data of constants without a look at the program."""
    table = np.arange(12_000.0).reshape(120, 100)
    v = tg.vector("v")
    f = tg.function([v], [table @ v[:100], tg.constant(table).T @ v])
    expected = [y.tolist() for y in f(np.ones(120))]
    data = pickle.dumps(f)
    del f
    g = unpickled_elsewhere(data)
    assert [y.tolist() for y in g(np.ones(120))] == expected
    assert g.graph._deferred is not None
    assert {c.data.shape for c in g.graph.constants if c.data.size > 1} == {(120, 100), (100, 120)}


X, Y = tg.vector("x"), tg.vector("y")
DIFFERENT = {
    "another op": [X - Y],
    "another field": [tg.sum(X * Y, keepdims=True)],
    "the same op twice": [tg.sum(X * Y) + tg.sum(X * Y)],
    "0": [X * 0.0],
    "-0": [X * -0.0],
    "1": [X * 1.0],
    "an integer 1": [X + tg.cast(tg.constant(1), "float64")],
    "a shape": [X * np.ones(1)],
    "another shape": [X * np.ones((1, 1))],
    "outputs": [X * Y, X],
    "in another order": [X, X * Y],
    "a fact": [tg.assume(X, positive=True) * Y],
    "operands exchanged": [Y * X],
}


def test_what_differs_has_another_name():
    texts = {name: Written([X, Y], outputs).text for name, outputs in DIFFERENT.items()}
    texts["renamed"] = Written([tg.vector("a"), Y], [Y * 2.0]).text
    texts["not renamed"] = Written([X, Y], [Y * 2.0]).text
    texts["of float32"] = Written([tg.vector("x", "float32"), Y], [Y * 2.0]).text
    texts["of 3"] = Written([tg.tensor("x", "float64", (3,)), Y], [Y * 2.0]).text
    n = tg.dim("n")
    texts["of n"] = Written([tg.tensor("x", "float64", (n,)), Y], [Y * 2.0]).text
    assert len(set(texts.values())) == len(texts)


def test_one_expression_has_one_name():
    def written():
        x = tg.vector("x")
        return Written([x], [tg.sum(tg.exp(x) * np.arange(3.0)), x[1:]]).text

    assert written() == written()


@pytest.mark.parametrize(
    "options", [{"mode": "strict"}, {"exclude": "fold_constants"}, {"backend": tg.backend("c", accuracy="strict")}]
)
def test_another_way_to_compile_has_an_entry_of_its_own(kept, options):
    x = tg.vector("x")
    tg.function([x], tg.exp(x) * 2.0)
    assert len(kept()) == 1
    f = tg.function([x], tg.exp(x) * 2.0, **options)
    assert len(kept()) == 2
    assert "rewrite" in steps(f)
    assert "rewrite" not in steps(tg.function([x], tg.exp(x) * 2.0, **options))


def test_each_pattern_of_ones_has_an_entry_of_its_own(kept):
    x, y = tg.vector("x"), tg.vector("y")
    for count in (2, 0):
        f = tg.function([x, y], x + y)
        assert f(np.ones(3), np.ones(1)).shape == (3,)
        assert f(np.ones(3), np.ones(3)).shape == (3,)
        with pytest.raises(ShapeError, match="3 and 2"):
            f(np.ones(3), np.ones(2))
        assert sum(row.name == "rewrite" for row in f.compile_report().rows) == count
    assert len(kept()) == 2


def test_a_file_that_changed_makes_another_entry(kept, monkeypatch):
    x = tg.vector("x")
    tg.function([x], tg.exp(x))
    known = remembered._state
    monkeypatch.setattr(remembered, "_state", lambda package: known(package) + " changed" * (package == "tg_c"))
    assert "rewrite" in steps(tg.function([x], tg.exp(x)))
    assert len(kept()) == 2


def test_the_state_of_a_package_is_that_of_its_files(tmp_path, monkeypatch):
    folder = tmp_path / "some_package"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "rules.py").write_text("X = 1\n")
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("some_package.inner.rules")
    state = remembered._state.__wrapped__
    first = state("some_package")
    assert state("some_package") == first  # whatever Python has put into __pycache__
    (folder / "inner" / "rules.py").write_text("X = 22\n")
    second = state("some_package")
    (folder / "inner" / "more.py").write_text("")
    assert len({first, second, state("some_package")}) == 3


@pytest.mark.parametrize("damage", [b"", b"no pickle", None])
def test_a_damaged_entry_is_made_again(kept, damage):
    x = tg.vector("x")
    tg.function([x], tg.exp(x))
    (path,) = kept()
    data = path.read_bytes()
    if damage is None:
        path.write_bytes(data[:100] + b"?" + data[101:])
    else:
        PROGRAMS.store(path.name, lambda place: place.write_bytes(damage) and None)
    f = tg.function([x], tg.exp(x))
    assert "rewrite" in steps(f)
    assert f([0.0]).tolist() == [1.0]
    assert path.read_bytes() == data


def test_large_constants_are_the_expressions_own(kept):
    data = np.arange(10_000.0)
    x = tg.vector("x")
    before = tg.function([x], tg.sum(tg.exp(x) * data))
    (path,) = kept()
    assert path.stat().st_size < 8_000
    f = tg.function([x], tg.sum(tg.exp(x) * data))
    assert "rewrite" not in steps(f)
    assert f(np.zeros(10_000)) == before(np.zeros(10_000)) == data.sum()
    other = tg.function([x], tg.sum(tg.exp(x) * (data + 1)))
    assert other(np.zeros(10_000)) == data.sum() + 10_000
    assert len(kept()) == 2


def test_what_is_large_is_not_kept(kept, monkeypatch):
    monkeypatch.setattr(remembered, "MOST", 2_000)
    x = tg.vector("x")
    tg.function([x], tg.exp(x) + np.arange(100.0))
    assert len(kept()) == 1
    tg.function([x], tg.exp(x) + np.arange(500.0))
    assert len(kept()) == 1


@pytest.mark.parametrize("options", [{"mode": "debug"}, {"backend": "perform"}])
def test_what_is_not_kept(kept, options):
    x = tg.vector("x")
    f = tg.function([x], tg.exp(x), **options)
    assert "recall" not in steps(f)
    assert kept() == []


def test_nothing_is_kept_where_the_configuration_says_so(kept):
    x = tg.vector("x")
    with tg.config(remember=False):
        tg.function([x], tg.exp(x))
    assert kept() == []


def test_ops_of_others_are_not_named():
    class Mine(tg.Op):
        def infer(self, x):
            return (x,)

        def perform(self, x):
            return (x,)

    x = tg.vector("x")
    with pytest.raises(Unnamed):
        Written([x], [Mine()(x)])


def test_rewrites_from_elsewhere_are_not_relied_on(monkeypatch):
    rewrites = plugin.registry().rewrites("c")
    assert remembered._is_of_packages(rewrites, plugin.registry().packages("c"))
    assert not remembered._is_of_packages(rewrites, ["tg_c", "tg_native"])
    assert not remembered._is_of_packages(rewrites, ["tg", "tg_c"])


def test_results_differ_by_what_was_compiled_and_not_by_where_it_came_from(kept):
    """The gradient of a model, kept and taken again, against NumPy."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(5, 3)), rng.normal(size=3)
    m, v = tg.matrix("m"), tg.vector("v")
    loss = tg.sum(tg.logaddexp(m @ v, 0.0))
    for _ in range(2):
        f = tg.function([m, v], [loss, tg.grad(loss, v)])
        value, slope = f(a, b)
        np.testing.assert_allclose(value, np.logaddexp(a @ b, 0).sum(), rtol=1e-14)
        np.testing.assert_allclose(slope, a.T @ (1 / (1 + np.exp(-(a @ b)))), rtol=1e-13)
    assert "rewrite" not in steps(f)


def test_every_elementwise_function_is_read_as_itself():
    for function in ELEMENTWISE.values():  # tg.clip, for one, is another function than the record of this name
        assert pickle.loads(pickle.dumps(function)) is function


def test_code_that_is_made_in_the_background_is_taken_from_disk_too(kept):
    x = tg.vector("x")
    for _ in range(2):
        f = tg.function([x], tg.exp(x) * 2.0, compile="background")
        assert f.wait(60)
        np.testing.assert_allclose(f([0.0, 1.0]), [2.0, 2 * np.e], rtol=1e-15)
    assert len(kept()) == 1
    assert "rewrite" not in steps(f)


def test_nothing_is_kept_beside_a_plugin_that_was_registered_by_hand(kept):
    class Trial:
        """A plugin that is of no distribution: nobody knows when it changes."""

    manager, x = plugin.registry().manager, tg.vector("x")
    manager.register(Trial(), name="trial")
    try:
        f = tg.function([x], tg.exp(x) * 2.0)
        assert "rewrite" in steps(f)
        assert kept() == []
    finally:
        manager.unregister(name="trial")
    tg.function([x], tg.exp(x) * 2.0)
    assert len(kept()) == 1


PLUGIN = """
import tg
from tg.backend import Rewrites, hookimpl, rule

RULE = rule(
    name="sinh_is_another",
    match=lambda x: tg.sinh(x),
    replace=lambda x: tg.{other}(x),
    phase="canonicalize",
    kind="reassociates",
    why="A trial.",
)

@hookimpl
def tg_rewrites(backend):
    return Rewrites((RULE,)) if backend is None else None
"""
USER = """
import tg
x = tg.vector("x")
f = tg.function([x], tg.sinh(x), backend="c")
print(*f([0.5]), "rewrite" in {row.name for row in f.compile_report().rows})
"""


@pytest.mark.long
def test_the_rule_of_a_plugin_that_is_worked_on_is_never_passed_over(tmp_path):
    folder, described = tmp_path / "tg_trial", tmp_path / "tg_trial-0.1.0.dist-info"
    folder.mkdir()
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: tg-trial\nVersion: 0.1.0\n")
    (described / "entry_points.txt").write_text("[tg.extensions.1]\ntrial = tg_trial\n")
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    environ = {**os.environ, "TG_REMEMBER": "true", "TG_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": paths}
    environ["PYTHONDONTWRITEBYTECODE"] = "1"  # which Python takes for that of a file as long, of the same second
    found = []
    for other in ("cosh", "cosh", "tanh", "tanh"):
        if not found or other not in found[-1]:
            (folder / "__init__.py").write_text(PLUGIN.format(other=other))
        command = [sys.executable, "-c", USER]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, cwd=tmp_path)
        value, is_rewritten = done.stdout.split()
        found.append((other, is_rewritten))
        assert float(value) == pytest.approx(getattr(np, other)(0.5), rel=1e-14)
    assert found == [("cosh", "True"), ("cosh", "False"), ("tanh", "True"), ("tanh", "False")]
