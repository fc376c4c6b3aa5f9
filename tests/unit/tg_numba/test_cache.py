"""Machine code that is kept between processes: what is kept, when it is used, and that it holds no address."""

import contextlib
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tg
from tg.cache import spare
from tg.types.tensor_type import TensorType
from tg_numba import cache, engine, identity

# Computes with constant arrays, BLAS, functions of rows, inner graphs, lengths that must be planned, checks, complex
# numbers and halves, compares with NumPy, and says what it took: whether Numba was imported, and how often LLVM ran.
PROGRAM = """
import sys
import numpy as np
import tg
from tg_numba import engine

made = []
assembled = engine.assembled
engine.assembled = lambda *given, **options: made.append(1) or assembled(*given, **options)

def inner(a):
    return tg.sum(a) * a, tg.sort(a)

def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-12)

x, m, k = tg.vector("x"), tg.matrix("m"), tg.scalar("k", dtype="int64")
table = np.arange(40.0).reshape(8, 5) ** 1.5
a, b, s = np.linspace(0.1, 2, 8), np.arange(64.0).reshape(8, 8), 3
f = tg.function([x, m], [tg.matmul(m, m), tg.matmul(x, tg.constant(table)), tg.tanh(x) + tg.argmax(x)], backend="numba")
for found, wanted in zip(f(a, b), (b @ b, a @ table, np.tanh(a) + 7), strict=True):
    close(found, wanted)
f = tg.function([x, k], [*tg.call(inner, x), x[:k], x[k], tg.nonzero(x > 1)[0]], backend="numba")
for found, wanted in zip(f(a[::-1], s), (a.sum() * a[::-1], a, a[::-1][:3], a[::-1][3], np.arange(4)), strict=True):
    close(found, wanted)
try:
    f(a, 8)
except IndexError as error:
    assert "8" in str(error)
else:
    raise AssertionError("8 is outside")
z = tg.cast(x, "complex128") * 1j
f = tg.function([x], [tg.exp(z), tg.cast(tg.cast(x, "float16") * 2, "float64")], backend="numba")
close(f(a)[0], np.exp(1j * a))
close(f(a)[1], (a.astype("float16") * 2).astype("float64"))
print("numba" in sys.modules, len(made))
"""

# Compiles loops, products, extremes, running sums, orders, inner graphs, positions, lengths that a plan finds, checks,
# a profile; says whether Numba was imported.
WITHOUT = """
import sys
import numpy as np
import tg

x, m, k = tg.vector("x"), tg.matrix("m"), tg.scalar("k", dtype="int64")
inner = lambda a: (tg.sum(a) * a, tg.max(a))
outputs = [*tg.call(inner, x), m @ m, tg.argmax(m, axis=0), tg.cumsum(x), tg.nonzero(x > 1)[0], x[:k], tg.sort(x)]
f = tg.function([x, m, k], [*outputs, tg.exp(1j * x)], backend="numba")
found = f(np.arange(4.0), np.eye(3), 2)
assert [a.tolist() for a in found[4:7]] == [[0, 1, 3, 6], [2, 3], [0, 1]]
f.profile(np.arange(4.0), np.eye(3), 2)
assert "define" in f.source()
print("numba" in sys.modules)
"""

# As many processes as the first argument says compile one graph: all are ready before the first begins.
AT_ONCE = """
import os, sys, tg, tg_numba.linker
x = tg.vector("x")
start, go = os.pipe()
children = []
for number in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        os.close(go)
        os.read(start, 1)
        found = tg.function([x], [tg.exp(x) + 0.25, tg.sum(x)], backend="numba")([0.0, 0.0])
        os._exit(0 if list(found[0]) == [1.25, 1.25] and found[1] == 0 else 1)
    children.append(child)
os.close(go)
print([os.waitpid(child, 0)[1] for child in children])
"""

PICKLED = """
import multiprocessing, pickle, sys, tg

def called(f):
    return f([0.0, 1.0]).tolist(), "numba" in sys.modules

if __name__ == "__main__":
    x, w = tg.vector("x"), tg.shared([2.0, 3.0], name="w")
    f = tg.function([x], tg.cos(x) * w, backend="numba")
    assert called(pickle.loads(pickle.dumps(f))) == called(f)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(called, (f,)) == (called(f)[0], False)
"""

# Makes functions that differ and drops them; says how much memory a function leaves behind, in bytes.
DROPPED = """
import ctypes, gc, os
from pathlib import Path
import numpy as np
import tg

def after(numbers):
    for number in numbers:
        x, y = tg.vector("x"), tg.matrix("y")
        outputs = [tg.exp(x) * (number + 0.5) + tg.sum(tg.tanh(y), axis=0), tg.sum(x * number), tg.cumsum(x) * number]
        tg.function([x, y], outputs, backend="numba")(np.ones(3), np.ones((2, 3)))
    gc.collect()
    getattr(ctypes.CDLL(None), "malloc_trim", int)(0)  # what is free is no function's
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

first = after(range(20))
second = after(range(20, 50))
third = after(range(50, 80))
print(min(second - first, third - second) // 30)  # a table that grows once, as that of names, does so in one of them
"""


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(spare, "_made", {})


def vector(name):
    return tg.Variable(TensorType("float64", (None,)), name=name)


def run(*arguments, script=PROGRAM, warnings="error", **environment):
    done = subprocess.run(
        [sys.executable, "-W", warnings, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done


def made(monkeypatch):
    """The texts that become machine code from now on."""
    texts = []
    assembled = engine.assembled

    def noting(text, level=engine.LEVEL, **given):
        texts.append(text)
        return assembled(text, level, **given)

    monkeypatch.setattr(engine, "assembled", noting)
    return texts


# --- between processes -----------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_second_process_compiles_nothing(home):
    is_imported, count = run().stdout.split()
    assert is_imported == "False"
    assert int(count) > 3
    entries = sorted(path.name for path in home.iterdir())
    for _ in range(3):  # each with addresses of its own
        assert run().stdout == "False 0\n"
    moved = "\n\n" + PROGRAM.replace("import tg\n", "import tg  # and the user's lines are others\n", 1)
    assert run(script=moved).stdout == "False 0\n"
    assert sorted(path.name for path in home.iterdir()) == entries


def test_numba_is_not_imported():
    assert run(script=WITHOUT).stdout == "False\n"


@pytest.mark.long
def test_processes_that_compile_one_graph_at_once_all_get_it(home):
    assert run(4, script=AT_ONCE).stdout == f"{[0] * 4}\n"
    assert all(cache.PROGRAMS.lookup(path.name) == path for path in home.iterdir())


def test_a_pickled_function_is_called_in_a_spawned_process_without_being_compiled(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PICKLED)
    subprocess.run([sys.executable, "-W", "error", program], check=True)


@pytest.mark.long
def test_processes_that_are_killed_at_any_time_leave_nothing_that_is_loaded(home):
    for after in (0.6, 0.9, 1.2):
        with subprocess.Popen([sys.executable, "-c", AT_ONCE, "1"], start_new_session=True) as process:
            time.sleep(after)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    for path in home.glob("[0-9a-f]*.o"):
        assert cache.PROGRAMS.lookup(path.name) == path
    assert run(1, script=AT_ONCE).stdout == "[0]\n"


def test_where_nothing_can_be_kept_there_is_one_warning_and_everything_is_computed(tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = run(1, script=AT_ONCE, warnings="always", TG_CACHE_DIR=str(tmp_path / "file"))
    assert done.stdout == "[0]\n"
    (line,) = [line for line in done.stderr.splitlines() if "cache: " in line]
    assert "cannot be used" in line
    nowhere = {"TG_CACHE_DIR": str(tmp_path / "file"), "TMPDIR": str(tmp_path / "file")}
    script = "import tempfile; tempfile._candidate_tempdir_list = lambda: [];" + AT_ONCE
    done = run(1, script=script, warnings="always", **nowhere)
    assert done.stdout == "[0]\n"
    assert "cache: nothing is kept: " in done.stderr


@pytest.mark.long
def test_functions_made_and_dropped_leave_no_memory_behind():
    if not Path("/proc/self/statm").exists():
        pytest.skip("what is in memory is told on Linux only")
    assert int(run(script=DROPPED).stdout) < 2**14  # a function whose code stays takes more than ten times as much


# --- entries ---------------------------------------------------------------------------------------------------------


def test_an_entry_that_is_damaged_is_made_again(home, compiled, frozen_of, monkeypatch):
    x = vector("x")
    graph = frozen_of([x], [tg.exp(x) * 1.75])
    compiled(graph)
    texts = made(monkeypatch)
    compiled(graph)
    assert texts == []
    (path,) = cache.PROGRAMS.entries()
    whole = path.read_bytes()
    for end in (0, 1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        compiled(graph).run([np.ones(3)])
        assert len(path.read_bytes()) > len(whole) // 2
    assert texts


def test_an_entry_that_needs_what_this_process_lacks_is_made_again(compiled, frozen_of, monkeypatch):
    code = engine.assembled("declare void @tg_nowhere()\ndefine void @f() {\n call void @tg_nowhere()\n ret void\n}")
    bundle = engine.bundle([code], {"f": "f"})
    assert bundle.needs == ("tg_nowhere",)
    with pytest.raises(engine.MissingError, match="tg_nowhere"):
        engine.loaded(bundle, {})
    whole = engine.bundle([engine.assembled("define void @f() {\n ret void\n}")], {"f": "f"})
    cache.opened(cache.named("x"), {}, lambda: whole)
    monkeypatch.setattr(cache, "_read", lambda key: bundle)
    assert cache.opened(cache.named("x"), {}, lambda: whole).address("f")


def test_another_numba_option_or_processor_is_another_entry(compiled, frozen_of, monkeypatch):
    x = vector("x")
    graph = frozen_of([x], [tg.exp(x) * 2.75])
    compiled(graph)
    monkeypatch.setenv("NUMBA_LOOP_VECTORIZE", "0")
    compiled(graph)
    monkeypatch.setattr(cache, "_machine", lambda: ("another processor",))
    compiled(graph)
    assert len(cache.PROGRAMS.entries()) == 3


def test_no_entry_holds_an_address_of_its_process(home, compiled, frozen_of, monkeypatch):
    addresses = set()
    opened = cache.opened

    def noting(parts, given, make):
        addresses.update(given.values())
        return opened(parts, given, make)

    monkeypatch.setattr(cache, "opened", noting)
    x, m = vector("x"), tg.Variable(TensorType("float64", (None, None)), name="m")
    table = tg.constant(np.arange(100.0))
    program = compiled(frozen_of([x, m], [tg.matmul(m, m), tg.sort(x + table), tg.sum(tg.exp(x))]))
    found = program.run([np.ones(100), np.eye(3)])[0]
    np.testing.assert_array_equal(found[1], np.arange(1.0, 101))
    f = tg.function([x], tg.sum(x * x) + 1, backend="numba")
    assert f(np.ones(2)) == 3
    texts = [path.read_bytes() for path in home.iterdir()]
    assert len(texts) >= 3
    assert len(addresses) > 10
    assert not [a for a in addresses if a > 2**20 for text in texts if struct.pack("<q", a) in text]


# --- what makes two functions one ------------------------------------------------------------------------------------


def function_of(text, **names):
    exec(text, names)
    return names["f"]


def test_equal_functions_have_one_identity_and_others_have_others():
    one = identity.digest_of({"f": function_of("def f(x):\n    return x + c", c=1)})
    assert one == identity.digest_of({"f": function_of("\n\ndef f(x):  # elsewhere\n    return x + c", c=1)})
    others = [
        {"g": function_of("def f(x):\n    return x + c", c=1)},
        {"f": function_of("def f(x):\n    return x + c", c=2)},
        {"f": function_of("def f(x):\n    return x + c", c=1.0)},
        {"f": function_of("def f(x):\n    return x - c", c=1)},
        {"f": function_of("def f(x):\n    return x + g", g=1)},
        {"f": function_of("def f(x, y=1):\n    return x + c", c=1)},
    ]
    assert len({one, *map(identity.digest_of, others)}) == 7


def test_what_a_function_calls_is_part_of_its_identity():
    def f(text):
        return function_of("def f(x):\n    return g(x) if x else f(x)", g=function_of(text))

    one, other = "def f(x):\n    return x", "def f(x):\n    return -x"
    assert identity.digest_of({"f": f(one)}) == identity.digest_of({"f": f(one)}) != identity.digest_of({"f": f(other)})


def test_what_has_no_text_has_no_identity():
    with pytest.raises(identity.UnknownError, match="object"):
        identity.digest_of({"f": function_of("def f(x):\n    return c", c=object())})
