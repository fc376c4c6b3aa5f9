"""`compile="background"`: what a caller sees while native code is in the making, when it is there, and if it never is.

The native code here is the reference's, and held back by an event of the test.
"""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import tg
from tg import turns
from tg.functions import background, pool
from tg.functions.compile import link
from tg.link.linker import Executable
from tg.plugin.records import Gap
from tg.plugin.registry import Registry

LONG = 60.0  # seconds: a test that waits so long has failed


class Compiler:
    """What stands for the backend's compiler: it waits to be let through, and may fail."""

    def __init__(self, monkeypatch):
        self.gate, self.began, self.error, self.runs = threading.Event(), threading.Event(), None, 0
        monkeypatch.setattr(background, "link", self.link)
        monkeypatch.setattr(background, "_links_fast", lambda setting: False)

    def link(self, frozen, setting, again=None):
        self.began.set()
        assert self.gate.wait(LONG)
        self.runs += 1
        if self.error is not None:
            raise self.error
        return link(frozen, setting, again)._replace(backend="native")


@pytest.fixture
def compiler(monkeypatch):
    found = Compiler(monkeypatch)
    yield found
    found.gate.set()
    idle = [pool.submit(pool.Job(lambda: None, print)) for _ in range(pool.SIZE)]
    assert all(job.wait(LONG) for job in idle), "what is still compiled would count as a run of the next test"


def made(inputs, outputs, **options):
    return tg.function(inputs, outputs, backend="perform", compile="background", **options)


def test_calls_are_answered_before_native_code_is_there(compiler):
    x = tg.vector("x")
    f = made([x], tg.sum(x * x))
    assert compiler.began.wait(LONG)
    assert f([1.0, 2.0]) == 5.0
    assert not f.compiled
    assert not f.wait(0.0)
    compiler.gate.set()
    assert f.wait(LONG)
    assert f.compiled
    assert f.programs.main.backend == "native"
    assert f([1.0, 2.0]) == 5.0
    assert f.compiles == compiler.runs == 1


def test_without_it_nothing_is_waited_for():
    x = tg.vector("x")
    f = tg.function([x], x + 1, backend="perform")
    assert f.compiled
    assert f.wait()


def test_the_configuration_has_it():
    x = tg.vector("x")
    with tg.config(compile="background"):
        f = tg.function([x], x + 1, backend="perform")
    assert f.programs.background is not None
    with pytest.raises(tg.OptionError, match=r"compile: found 'later', needed one of now, background"):
        tg.function([x], x + 1, backend="perform", compile="later")
    with pytest.raises(tg.OptionError, match="needed one of now, background"), tg.config(compile="later"):
        pass


def test_what_the_backend_lacks_is_said_at_once(compiler, monkeypatch):
    gap = Gap(None, frozenset({"float64"}), None, "never", tg.NoRuleError, "it has whole numbers only")
    monkeypatch.setattr(Registry, "gaps", lambda self, name: (gap,))
    x = tg.vector("x")
    with pytest.raises(tg.NoRuleError, match="does not run add: it has whole numbers only"):
        made([x], x + 1)
    assert not compiler.began.is_set()


def test_errors_are_the_same_before_and_after(compiler):
    x, i = tg.vector("x"), tg.scalar("i", dtype="int64")
    f = made([x, i], x[i])

    def raised():
        with pytest.raises(tg.BoundsError) as info:
            f(np.ones(3), 7)
        return str(info.value), info.value.__notes__

    before = raised()
    compiler.gate.set()
    assert f.wait(LONG)
    assert raised() == before


def test_updates_go_on_over_the_switch(compiler):
    count = tg.shared(np.zeros(2), "count")
    f = made([], count, updates={count: count + 1})
    seen = [f()[0] for _ in range(3)]
    compiler.gate.set()
    assert f.wait(LONG)
    seen += [f()[0] for _ in range(3)]
    assert seen == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert count.get_value().tolist() == [6.0, 6.0]


def test_threads_that_call_over_the_switch_lose_no_update(compiler):
    count, x = tg.shared(0.0, "count"), tg.vector("x")
    f = made([x], tg.sum(x), updates={count: count + tg.sum(x)})
    failures = []

    def work():
        for k in range(200):
            if k == 100:
                compiler.gate.set()
            if f(np.ones(3)) != 3.0:
                failures.append(k)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert f.wait(LONG)
    assert not failures
    assert count.get_value() == 4 * 200 * 3.0


def test_every_pattern_of_ones_is_compiled_in_the_background(compiler):
    x, y = tg.vector("x"), tg.vector("y")
    f = made([x, y], x + y)
    assert f([1.0], [1.0, 2.0]).tolist() == [2.0, 3.0]
    compiler.gate.set()
    assert f.wait(LONG)
    assert compiler.runs == 2
    assert {p.backend for p in f.programs.by_pattern.values()} == {"native"}
    assert f([1.0], [1.0, 2.0]).tolist() == [2.0, 3.0]


def test_a_failure_warns_once_and_the_reference_goes_on(compiler):
    compiler.error = MemoryError("no room for the compiler")
    x = tg.vector("x")
    f = made([x], x + 1, name="step")
    compiler.gate.set()
    with pytest.raises(MemoryError, match="no room"):
        f.wait(LONG)
    with pytest.warns(RuntimeWarning, match="(?s)step: backend 'perform' has not compiled it.*no room") as seen:
        assert f([1.0]).tolist() == [2.0]
    assert [w.filename for w in seen] == [__file__]
    assert f([1.0]).tolist() == [2.0]  # warnings are errors here
    f._calls._failed(MemoryError("no room for the compiler"))  # of another pattern, which fails later
    assert f([1.0]).tolist() == [2.0]
    assert not f.compiled
    with pytest.raises(MemoryError, match="no room"):
        f.source()


def test_a_function_that_is_gone_is_not_compiled(compiler):
    x = tg.vector("x")
    held = [made([x], x + k) for k in range(pool.SIZE)]  # each thread has one
    assert compiler.began.wait(LONG)
    gone = weakref.ref(made([x], x * 2.0))
    gc.collect()
    assert gone() is None
    last = made([x], x * 3.0)
    compiler.gate.set()
    assert all(f.wait(LONG) for f in (*held, last))
    assert compiler.runs == pool.SIZE + 1


def test_a_pickled_one_is_compiled_in_the_background_where_it_is_loaded(compiler):
    x = tg.vector("x")
    f = pickle.loads(pickle.dumps(made([x], x + 1)))
    assert not f.compiled
    assert f([1.0]).tolist() == [2.0]
    assert not f.copy().compiled


def test_the_report_tells_apart_what_was_waited_for(compiler):
    x = tg.vector("x")
    compiler.gate.set()
    f = made([x], x + 1)
    assert f.wait(LONG)
    rows = f.compile_report().rows
    assert [row.name for row in rows if row.depth == 0] == ["function", "background"]
    (started,) = (k for k, row in enumerate(rows) if row.name == "background")
    assert "link" in {row.name for row in rows[started:]}
    assert "rewrite" in {row.name for row in rows[:started]}


BESIDE_JAX = pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning")  # if imported


@BESIDE_JAX
def test_a_forked_child_compiles_what_its_parent_had_not(compiler, monkeypatch):
    monkeypatch.setattr(turns, "FORK_PATIENCE", 0.0)
    x = tg.vector("x")
    f = made([x], x + 1)
    assert compiler.began.wait(LONG)
    child = os.fork()
    if child == 0:  # no test runs on here, whatever happens
        code = 1
        try:
            early = f([1.0]).tolist() == [2.0] and not f.compiled
            compiler.gate.set()
            code = 0 if early and f.wait(LONG) and f.compiled and f([1.0]).tolist() == [2.0] else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert not f.compiled
    compiler.gate.set()
    assert f.wait(LONG)


@BESIDE_JAX
def test_a_fork_waits_for_what_is_being_compiled(compiler):
    x = tg.vector("x")
    f = made([x], x + 1)
    assert compiler.began.wait(LONG)
    threading.Timer(0.05, compiler.gate.set).start()
    child = os.fork()
    if child == 0:
        os._exit(0 if compiler.runs == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert f.wait(LONG)


STUCK = """
import threading
import tg
from tg.functions import background, pool
pool.EXIT_PATIENCE = 0.01
began = threading.Event()
def link(frozen, setting, again=None):
    began.set()
    threading.Event().wait()
background.link, background._links_fast = link, lambda setting: False
x = tg.vector("x")
f = tg.function([x], x + 1, backend="perform", compile="background")
assert began.wait(60)
print(f([1.0]).tolist())
"""


def test_the_end_of_the_process_does_not_hang():
    done = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=LONG, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[2.0]\n", "")


# --- libraries that compile when they see shapes ---------------------------------------------------------------------


class Late(Executable):
    """An executable that compiles for each shape, when it is let through; its arrays are its own."""

    compiles_shapes, compilations = True, ()

    def __init__(self, executable):
        self._executable, self.gate, self.seen = executable, threading.Event(), []

    @property
    def compiles(self):
        return len(self.seen)

    def run(self, arrays):
        shapes = [np.shape(a) for a in arrays]
        if shapes not in self.seen:
            assert self.gate.wait(LONG)
            self.seen.append(shapes)
        return self._executable.run(arrays)

    def is_spread(self, value):
        return False

    def to_numpy(self, output):
        return np.asarray(output)

    def to_native(self, array):
        return array.view(Native)

    def source(self):
        return ""


class Native(np.ndarray):
    """An array of the library."""


@pytest.fixture
def late(monkeypatch):
    made = []

    def slow(frozen, setting, again=None):
        program = link(frozen, setting, again)
        made.append(Late(program.executable))
        return program._replace(executable=made[-1])

    monkeypatch.setattr(background, "link", slow)
    yield made
    for one in made:
        one.gate.set()


def test_a_library_is_shown_each_shape_in_the_background(late):
    x = tg.vector("x")
    f = made([x], x + 1)
    assert f.compiled  # nothing was asked for
    assert f([1.0, 2.0]).tolist() == [2.0, 3.0]
    assert not f.compiled
    (library,) = late
    assert library.compiles == 0
    library.gate.set()
    assert f.wait(LONG)
    assert library.compiles == 1
    assert f([3.0, 4.0]).tolist() == [4.0, 5.0]
    assert library.compiles == 1
    f([1.0, 2.0, 3.0])
    assert f.wait(LONG)
    assert library.compiles == 2


def test_what_the_caller_writes_meanwhile_does_not_reach_the_library(late):
    x = tg.vector("x")
    f = made([x], x + 1)
    given = np.ones(2)
    f(given)
    given[:] = np.nan
    late[0].gate.set()
    assert f.wait(LONG)
    assert f(np.ones(2)).tolist() == [2.0, 2.0]


def test_native_outputs_are_the_librarys_from_the_first_call(late):
    x = tg.vector("x")
    f = made([x], x + 1, output="native")
    assert isinstance(f([1.0, 2.0]), Native)
