"""Units that several compilers make side by side are those that one makes: the same bits, errors, and nothing left."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import tg
from tests.unit.tg_c.test_compiler import is_over, program
from tg_c import compiler, objects
from tg_c.cache import UNITS
from tg_c.compiler import CompileError, Flags, compile_unit
from tg_c.objects import Loop, divided

TEXT = """\
static long long before = 3;
TG_LOOP void loop0(double *x, int n) {
  for (int i = 0; i < n; i++) x[i] += 1;
}
TG_LOOP void loop1(double *x, int n) {
  x[0] = 2;
}
TG_LOOP void loop2(void) {
}
long long tg_run(void) { return before; }
"""


def loops_of(text):
    """The places of the loops of a text, each of which ends at the first line that begins with a bracket."""
    starts = [k for k in range(len(text)) if text.startswith("TG_LOOP void", k)]
    return tuple(Loop(k, text.index(" {", k), text.index("\n}", k) + 2) for k in starts)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TG_CACHE_DIR", str(tmp_path / "home"))
    return tmp_path / "home" / "c"


@pytest.fixture
def made(monkeypatch):
    """How many objects each unit was made of."""
    found = []
    run = compiler._run_abreast

    def counted(lines, texts, temporary):
        if "-c" in lines[0]:
            found.append(len(lines))
        return run(lines, texts, temporary)

    monkeypatch.setattr(compiler, "_run_abreast", counted)
    return found


def on(monkeypatch, processors, least=1):
    monkeypatch.setattr(objects, "_processors", lambda: processors)
    monkeypatch.setattr(objects, "LEAST", least)


def test_each_loop_is_in_one_object_and_known_to_all():
    texts = divided(TEXT, loops_of(TEXT), 2)
    for loop in range(3):
        heads = [next(line for line in text.split("\n") if f"loop{loop}(" in line) for text in texts]
        assert sorted(head[-1] for head in heads) == [";", "{"]
    assert ["tg_run" in text for text in texts] == [True, False]
    assert all(text.count("before = 3") == 1 and text.startswith("#define TG_LOOP ") for text in texts)


def test_objects_have_about_as_many_lines():
    heights = (400, 90, 300, 10, 150, 220)
    blocks = [";\n" * height for height in heights]
    text = "".join(f"TG_LOOP void f{k}(void) {{\n{block}}}\n" for k, block in enumerate(blocks)) + "rest;\n" * 100
    lines = [part.count("\n") - text.count("TG_LOOP") for part in divided(text, loops_of(text), 3)]
    assert max(lines) - min(lines) < 50


@pytest.mark.parametrize(
    ("processors", "lines", "expected"), [(1, 9000, 1), (2, 9000, 2), (64, 900, 3), (64, 599, 1), (64, 10**5, 4)]
)
def test_there_are_as_many_objects_as_pay(monkeypatch, processors, lines, expected):
    on(monkeypatch, processors, objects.LEAST)
    text = TEXT + "\n" * (lines - TEXT.count("\n", TEXT.index("TG_LOOP")))
    assert objects.count(text, loops_of(text)) == expected
    assert objects.count(text, ()) == 1


def gaussian_process(x):
    squares = (x[:, None] - x) ** 2
    factor = tg.linalg.cholesky(tg.exp(-squares) + tg.eye(x.shape[0]))
    return tg.sum(tg.log(tg.diagonal(factor))) + tg.sum(tg.linalg.solve_triangular(factor, x, lower=True) ** 2)


def rows(x):
    table = tg.expand_dims(x, 1) * tg.sin(x)
    return tg.logsumexp(table, axis=1) @ tg.softmax(table @ table, axis=0)


def draws(x):
    key = tg.random.key(3)
    return tg.cumsum(tg.random.normal(key, shape=(100,))) + tg.sum(tg.exp2(x)) + tg.sort(x)[0]


def convolved(x):
    image, kernel = tg.expand_dims(tg.expand_dims(x, 1) * x, (0, 1)), tg.reshape(x[:36], (4, 1, 3, 3))
    return tg.maximum(tg.nn.conv2d(image, kernel, padding=1), 0)


def repeated(x):
    return tg.scan(lambda y, u: (tg.tanh(y + u), y * u), tg.zeros(()), x)[1]


@pytest.mark.parametrize("formula", [gaussian_process, rows, draws, convolved, repeated])
@pytest.mark.parametrize("objects", [2, 5])
def test_objects_compute_what_one_does(monkeypatch, made, formula, objects):
    x = tg.vector("x")
    y = tg.sum(formula(x))
    given = np.linspace(-1, 2, 37)
    found = []
    for processors in (1, objects):
        on(monkeypatch, processors)
        UNITS.clear()
        found.append(tg.function([x], [y, tg.grad(y, x)], backend=tg.backend("c", threads=2))(given))
    np.testing.assert_array_equal(found[1][0], found[0][0])
    np.testing.assert_array_equal(found[1][1], found[0][1])
    assert made
    assert max(made) <= objects


def test_functions_that_loops_call_are_in_one_object(monkeypatch):
    texts = []
    monkeypatch.setattr(compiler, "divided", lambda *given: texts.append(divided(*given)) or texts[0])
    on(monkeypatch, 2)
    x = tg.vector("x")
    tg.function([x], convolved(x), backend="c")
    (found,) = texts
    parts = re.findall(r"^TG_PART void (\w+)\(", found[0], re.MULTILINE)
    assert {part.rstrip("_0123456789x") for part in parts} > {"tg_held_images", "tg_added_terms", "tg_stored_sums"}
    for part in parts:
        assert sorted(re.findall(rf"^TG_PART void {part}\(.*(.)$", "\n".join(found), re.MULTILINE)) == [";", "{"]


def test_what_stands_between_loops_is_in_all_objects():
    text = TEXT.replace("TG_LOOP void loop1", "static int between = 4;\nTG_LOOP void loop1")
    assert [part.count("int between = 4;") for part in divided(text, loops_of(text), 3)] == [1, 1, 1]


def test_large_memory_and_threads_are_had_in_common(monkeypatch, made):
    on(monkeypatch, 3)
    x = tg.matrix("x")
    f = tg.function([x], tg.cumsum(tg.exp(x) @ tg.exp(x), axis=0) + tg.exp(x).T, backend=tg.backend("c", threads=2))
    given = np.linspace(-1, 1, 700 * 700).reshape(700, 700)
    e = np.exp(given)
    for _ in range(3):
        np.testing.assert_allclose(f(given), np.cumsum(e @ e, axis=0) + e.T, rtol=1e-11)
    assert made in ([2], [3])


def test_a_unit_is_the_same_entry_however_it_was_made(monkeypatch, made):
    on(monkeypatch, 1)
    one = compile_unit(WITH_WORDS := objects.WHOLE + TEXT, Flags(), loops_of(WITH_WORDS))
    on(monkeypatch, 3)
    assert compile_unit(WITH_WORDS, Flags(), loops_of(WITH_WORDS)) == one
    assert not made


def test_no_object_is_left(monkeypatch, made, home):
    on(monkeypatch, 3)
    text = objects.WHOLE + TEXT
    compile_unit(text, Flags(), loops_of(text))
    assert made == [3]
    assert [path.suffix for path in home.iterdir() if path.suffix not in (".so", ".txt")] == []


def test_a_line_that_does_not_compile_is_shown_from_its_object(monkeypatch, home):
    on(monkeypatch, 3)
    text = objects.WHOLE + TEXT.replace("x[0] = 2;", "x[0] = two;")
    with pytest.raises(CompileError, match="'two' undeclared") as caught:
        compile_unit(text, Flags(), loops_of(text))
    assert "x[0] = two;" in str(caught.value)
    assert "x[0] = two;" in caught.value.source.read_text()
    assert not [path for path in home.iterdir() if path.suffix == ".o"]


def test_an_object_whose_maker_was_killed_is_removed_later(home):
    home.mkdir(parents=True)
    left = home / f".{'0a' * 20}.so.6120201dc7b4679e.1.o"
    left.touch()
    os.utime(left, (0, 0))
    UNITS.prune()
    assert not left.exists()


def test_functions_of_others_are_in_one_object(monkeypatch, made):
    from tg_c import CFunction
    from tg_c.prelude import Prelude

    prelude = Prelude()
    assert not prelude.is_one
    CFunction("twice", "f64 twice(f64 x) { static int n; return x + n++; }", ["float64"], "float64")._symbol(prelude)
    assert prelude.is_one


def test_an_interrupt_ends_all_compilers(tmp_path, home):
    pids = tmp_path / "pids"
    driver = program(
        tmp_path / "driver",
        'for word; do case "$word" in -v) echo "gcc version 13.1" >&2; echo "Target: here" >&2; exit 0;; esac; done\n'
        'case " $* " in *" -c "*) ;; *) exit 0;; esac\n'  # the unit that says whether the compiler makes any
        f"echo $$ >> {pids}\nexec sleep 300",
    )
    script = f"""
import pathlib, signal, sys, threading, time
from tests.unit.tg_c.test_objects import TEXT, loops_of
from tg_c import objects
from tg_c.compiler import CompileError, Flags, compile_unit
objects._processors, objects.LEAST = lambda: 3, 1
signal.signal(signal.SIGINT, signal.default_int_handler)
pids = pathlib.Path({str(pids)!r})
def interrupt():
    while not pids.exists() or pids.read_text().count("\\n") < 3:
        time.sleep(0.01)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    compile_unit(TEXT, Flags(), loops_of(TEXT))
except KeyboardInterrupt:
    print("interrupted")
"""
    environ = {**os.environ, "CC": str(driver)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=100, check=True)
    assert done.stdout == "interrupted\n", done.stderr
    assert len(pids.read_text().split()) == 3
    for pid in map(int, pids.read_text().split()):
        assert is_over(pid)
    assert not [path for path in home.iterdir() if path.name.startswith(".")]
