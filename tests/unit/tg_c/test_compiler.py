"""Finding the C compiler, what is compiled how, and what is said where that fails."""

import math
import os
import pickle
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tg
from tg.cache import spare
from tg.errors import BackendUnavailable, TgError
from tg_c import compiler, unit
from tg_c.cache import UNITS
from tg_c.compiler import CompileError, Flags, compile_unit
from tg_c.linker import LINKER
from tg_c.text import comment

UNIT = "long long tg_run(void) { return 0; }\n"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TG_CACHE_DIR", str(tmp_path / "home"))
    monkeypatch.setattr(spare, "_made", {})
    compiler._find.cache_clear()
    yield tmp_path / "home" / "c"
    compiler._find.cache_clear()


@pytest.fixture
def runs(monkeypatch):
    """The command lines that were run."""
    lines = []
    run = compiler._run

    def record(line, text, temporary=None):
        lines.append(line)
        return run(line, text, temporary)

    monkeypatch.setattr(compiler, "_run", record)
    return lines


def program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_source_is_compiled_once(runs):
    compiler.compiler()
    runs.clear()
    assert compile_unit(UNIT) == compile_unit(UNIT)
    assert len(runs) == 1


def test_source_flags_compiler_and_processor_each_make_another_unit(monkeypatch):
    units = {compile_unit(UNIT), compile_unit(UNIT + "\n"), compile_unit(UNIT, Flags(level=1))}
    monkeypatch.setattr(compiler, "cpu", lambda: "another processor")
    units.add(compile_unit(UNIT))
    identity = compiler.Compiler.identity.fget
    monkeypatch.setattr(compiler.Compiler, "identity", property(lambda self: identity(self) + "2"))
    units.add(compile_unit(UNIT))
    assert len(units) == 5


def test_the_compiler_says_path_version_and_target():
    found = compiler.compiler()
    assert Path(found.path).is_absolute()
    assert "version" in found.version
    assert "-" in found.target
    assert found.identity == f"{found.path} | {found.version} | {found.target}"


def test_the_version_is_asked_once_for_all_processes(runs):
    first = compiler.compiler()
    count = len(runs)
    compiler._find.cache_clear()
    assert compiler.compiler() == first
    assert len(runs) == count == 2  # for its version, and whether it compiles


def test_a_compiler_that_was_updated_is_asked_again(tmp_path, monkeypatch):
    fake = program(tmp_path / "fakecc", "echo 'fake version 1.0'; echo 'Target: moon'")
    monkeypatch.setenv("CC", str(fake))
    assert compiler.compiler().version == "fake version 1.0"
    program(fake, "echo 'fake version 2.0.1'; echo 'Target: moon'")
    compiler._find.cache_clear()
    assert compiler.compiler().version == "fake version 2.0.1"


def test_cc_may_hold_options(monkeypatch):
    plain = compiler.compiler()
    monkeypatch.setenv("CC", f"{plain.path} -DTG_TWO=2")
    assert compiler.compiler().command == (plain.path, "-DTG_TWO=2")
    assert compile_unit("int two = TG_TWO;").exists()


def test_what_is_written_depends_on_the_options_of_cc(monkeypatch):
    """They may say how long vectors are."""
    plain = compiler.compiler()
    monkeypatch.setenv("CC", plain.path)
    before = LINKER.circumstances()
    monkeypatch.setenv("CC", f"{plain.path} -mno-avx512f")
    assert LINKER.circumstances() != before


def test_without_a_compiler_the_backend_is_unavailable_and_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackendUnavailable) as caught:
        compile_unit(UNIT)
    assert str(caught.value).startswith("backend 'c' needs a C compiler: none of cc, gcc, clang is on the PATH\n")
    assert "  hint: " in str(caught.value)
    assert "install" in str(caught.value)
    assert isinstance(caught.value, ImportError)


def test_a_compiler_installed_later_is_found(tmp_path, monkeypatch):
    found, parts = compiler.compiler(), {name: shutil.which(name) for name in ("as", "ld")}
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackendUnavailable):
        compiler.compiler()
    for part, path in parts.items():
        (tmp_path / part).symlink_to(path)
    program(tmp_path / "gcc", f'exec {found.path} "$@"')
    assert compiler.compiler().version == found.version


def test_a_compiler_that_says_its_version_and_compiles_nothing_is_unavailable(tmp_path, monkeypatch):
    real = compiler.compiler().path
    text = f'[ "$#" = 1 ] && exec {real} -v; echo "cc1: fatal error: no assembler" >&2; exit 1'
    monkeypatch.setenv("CC", str(program(tmp_path / "fakecc", text)))
    with pytest.raises(BackendUnavailable, match=r"fakecc does not compile a unit(.|\n)*answer *no assembler"):
        compiler.compiler()


def test_auto_goes_past_a_compiler_that_compiles_nothing(tmp_path):
    program(tmp_path / "fakecc", f'[ "$#" = 1 ] && exec {compiler.compiler().path} -v; exit 1')
    code = "import tg; x = tg.vector('x'); f = tg.function([x], x + 1); print(f.backend, f([1.0]).tolist())"
    environment = {**os.environ, "CC": str(tmp_path / "fakecc"), "TG_CACHE_DIR": str(tmp_path / "cache")}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    name, _, value = found.stdout.strip().partition(" ")
    assert name != "c"
    assert value == "[2.0]"


def test_a_cc_that_is_no_program_is_named(monkeypatch):
    monkeypatch.setenv("CC", "no-such-cc -O3")
    with pytest.raises(BackendUnavailable, match="CC is 'no-such-cc -O3', and no such program is on the PATH"):
        compiler.compiler()


def test_a_cc_that_no_shell_would_take_is_quoted(monkeypatch):
    monkeypatch.setenv("CC", 'gcc "')
    with pytest.raises(BackendUnavailable, match="CC is 'gcc \"': no closing quotation"):
        compiler.compiler()


@pytest.mark.parametrize("name", ["LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX"])
def test_what_a_compiler_reads_of_the_environment_makes_another_unit(name, tmp_path, monkeypatch):
    before = compile_unit(UNIT)
    monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr(compiler, "_build", lambda source, line, path: path.write_bytes(b"by other parts"))
    assert compile_unit(UNIT) != before


def test_no_line_of_the_users_ends_a_comment():
    for line in ("x = y *\\", "*/ int z; /*", "a **/ b", "/*/", "??/"):
        inside = comment(line)
        assert "*/" not in inside
        assert "/*" not in inside
        assert "\\" not in inside


def test_a_compiler_that_does_not_work_is_quoted(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", str(program(tmp_path / "stub", "echo 'xcode-select: no developer tools' >&2; exit 1")))
    with pytest.raises(BackendUnavailable, match="xcode-select: no developer tools"):
        compiler.compiler()


def test_a_compile_error_shows_the_diagnostic_the_lines_around_it_and_where_the_source_is(home):
    source = "long a;\nlong b;\nlong f(void) {\n  long c = a +;\n  return c;\n}\nlong d;\n"
    with pytest.raises(CompileError) as caught:
        compile_unit(source)
    error = caught.value
    summary, *lines = str(error).splitlines()
    assert summary.endswith("a generated unit does not compile: expected expression before ';' token")
    assert lines[1:6] == [
        "    2     long b;",
        "    3     long f(void) {",
        "  > 4       long c = a +;",
        "    5       return c;",
        "    6     }",
    ]
    assert lines[6] == f"  source  {error.source}"
    assert error.source.parent == home
    assert error.source.read_text() == source
    assert "error:" in error.log


def test_the_command_that_a_compile_error_hints_at_repeats_it():
    with pytest.raises(CompileError) as caught:
        compile_unit("long f(void) { return g; }")
    hint = str(caught.value).partition("hint: repeat it with: ")[2]
    again = subprocess.run(hint, shell=True, capture_output=True, text=True, check=False)
    assert again.returncode != 0
    assert "undeclared" in again.stderr


def test_a_compile_error_shows_three_diagnostics_at_most():
    source = "".join(f"long f{number}(void) {{ return g{number}; }}\n" for number in range(9))
    with pytest.raises(CompileError) as caught:
        compile_unit(source)
    assert str(caught.value).count("undeclared") == 4  # in the summary, and three below


def test_a_compile_error_is_a_tg_error_and_pickles():
    with pytest.raises(CompileError) as caught:
        compile_unit("?")
    assert isinstance(caught.value, TgError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.source) == (str(caught.value), caught.value.source)


def test_a_function_that_is_not_declared_is_an_error():
    with pytest.raises(CompileError, match=r"implicit declaration|undeclared function"):
        compile_unit("double f(double x) { return digamma(x); }")


def test_an_option_that_the_compiler_lacks_is_quoted():
    with pytest.raises(CompileError, match="-fno-such-option"):
        compile_unit(UNIT, Flags(extra=("-fno-such-option",)))


def test_a_compiler_that_dies_without_a_word_is_reported(tmp_path, monkeypatch):
    text = "case $2 in -v|'') echo 'fake version 1.0'; echo 'Target: moon'; exit 0;; esac; grep -q tg_unit || exit 3"
    monkeypatch.setenv("CC", str(program(tmp_path / "fakecc", text)))
    with pytest.raises(CompileError, match="exit status 3"):
        compile_unit(UNIT)


@pytest.mark.parametrize(
    "told",
    [
        "ld: final link failed: No space left on device",
        "{standard input}: Fatal error: can't fill 256 bytes in section .data of ccZyB3Cj.o: 'No space left on device'",
    ],
)
def test_a_full_disk_is_no_compile_error(home, monkeypatch, told):
    run = compiler._run

    def full(line, text, temporary):
        return (1, f"{told}\nld returned 1\n") if str(home) in line[-1] else run(line, text, temporary)

    compiler.compiler()
    monkeypatch.setattr(compiler, "_run", full)
    with pytest.warns(UserWarning, match="No space left on device"):
        path = compile_unit(UNIT)
    assert path.parent != home
    assert path.stat().st_size > 0


def test_nothing_is_compiled_with_fast_math():
    flags = set(compiler.compiler().line(Flags()))
    assert "-ffp-contract=off" in flags
    assert flags.isdisjoint({"-ffast-math", "-Ofast", "-ffinite-math-only", "-fno-signed-zeros"})


def test_large_units_are_optimised_less():
    assert [compiler.level_for(statements) for statements in (1, 900, 901)] == [2, 2, 1]
    assert [compiler.level_for(statements, repeats=True) for statements in (1500, 1501)] == [2, 1]


@pytest.mark.parametrize("level", [1, 2, 3])
def test_functions_of_others_are_called_with_the_upper_halves_of_vectors_cleared(level):
    if "__AVX__" not in compiler.macros():
        pytest.skip("no vectors have upper halves here")
    text = """
typedef double f64x4 __attribute__((vector_size(32)));
double exp(double);
double f(const f64x4 *x) { f64x4 y = *x * *x; return exp(y[0] + y[3]); }
"""
    line = [
        word for word in compiler.compiler().line(Flags(level=level)) if word not in ("-shared", "-nostdlib", "-lm")
    ]
    found = subprocess.run([*line, "-S", "-o", "-"], input=text, capture_output=True, text=True, check=True)
    assert "vzeroupper" in found.stdout


def test_memory_that_loops_come_back_to_is_looked_for_where_there_is_some(monkeypatch):
    given, load = [], unit.load

    def loading(text, flags, loops):
        given.append(flags)
        return load(text, flags, loops)

    monkeypatch.setattr(unit, "load", loading)
    x, i = tg.vector("x"), tg.vector("i", dtype="int64")
    total = tg.function([x], tg.sum(tg.exp(x)), backend="c")
    np.testing.assert_allclose(total(np.arange(5.0)), math.fsum(map(math.exp, range(5))), rtol=1e-15)
    counted = tg.function([x, i], x.at[i].add(1.0), backend="c")
    np.testing.assert_array_equal(counted(np.zeros(3), np.array([2, 0, 2, 2, -1])), [1, 0, 4])
    assert [flags.streams for flags in given] == [True, False]
    if compiler.compiler().version.startswith("gcc"):
        assert ["-fno-tree-pre" in compiler.compiler().line(flags) for flags in given] == [True, False]


def test_eight_processes_that_compile_one_source_at_once_all_get_it(tmp_path, home):
    script = """
import os, sys, time
from tg_c.compiler import compile_unit, compiler
import ctypes
compiler()
open(sys.argv[1] + str(os.getpid()), "w").close()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.001)
print(ctypes.CDLL(str(compile_unit("int seven(void) { return 7; }"))).seven())
"""
    start = tmp_path / "start"
    command = [sys.executable, "-W", "error", "-c", script, str(start)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("start?*"))) < 8 and time.monotonic() < deadline:
        time.sleep(0.01)
    start.touch()
    assert [worker.communicate(timeout=60)[0] for worker in workers] == ["7\n"] * 8
    assert len(UNITS.entries()) == 1
    assert not [path for path in home.iterdir() if path.name.startswith(".")]


def test_a_warm_start_runs_no_process_and_parses_no_c():
    script = """
import sys
before = set(sys.modules)
from tg_c import unit
unit.load("long long tg_run(void) { return 0; } long long tg_plan(void) { return 0; }")
print(sorted({"subprocess", "tempfile", "pycparser", "cffi"} & (set(sys.modules) - before)))
"""
    command = [sys.executable, "-c", "import numpy\n" + script]
    cold, warm = (subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert "subprocess" in cold
    assert warm == "[]\n"


def test_an_interrupt_ends_the_compiler_and_what_it_has_started(tmp_path, home):
    """The compiler is a script that starts another process and waits for it, as GCC's driver does."""
    driver = tmp_path / "driver"
    pids = tmp_path / "pids"
    driver.write_text(
        "#!/bin/sh\n"
        'for word; do case "$word" in -v) echo "gcc version 13.1" >&2; echo "Target: here" >&2; exit 0;; esac; done\n'
        f"sleep 300 &\necho $$ $! > {pids}\nwait\n"
    )
    driver.chmod(0o755)
    script = """
import pathlib, signal, sys, threading, time
from tg_c.compiler import compile_unit
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has background jobs ignore it
pids = pathlib.Path(sys.argv[1])
def interrupt():
    while not pids.exists() or not pids.read_text().endswith("\\n"):
        time.sleep(0.01)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    compile_unit("int seven(void) { return 7; }")
except KeyboardInterrupt:
    print("interrupted")
"""
    command = [sys.executable, "-W", "error", "-c", script, str(pids)]
    environ = {**os.environ, "CC": str(driver)}
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=60, check=True)
    assert done.stdout == "interrupted\n", done.stderr
    for pid in map(int, pids.read_text().split()):
        assert is_over(pid)
    assert not [path for path in home.iterdir() if path.name.startswith(".")]


def is_over(pid):
    """Whether a process has ended, or is about to: a second is enough for what was killed."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.01)
    return False
