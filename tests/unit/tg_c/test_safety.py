"""Units that watch what they do, and units that go when their functions do."""

import gc
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tg
from tg.cache import spare
from tg_c import compiler
from tg_c.compiler import compile_unit

# Reads one element too many, and shifts by as many bits as there are elements.
MISTAKEN = """
typedef long long i64;
i64 tg_plan(const void *const *in, const i64 *dims, i64 *out_dims, i64 *status) { return 0; }
i64 tg_run(const void *const *in, const i64 *dims, void *const *out, i64 *status) {
  const double *x = in[0];
  double *y = out[0];
  for (i64 i = 0; i < dims[0]; i++) y[i] = x[i + EXTRA] + (1 << dims[0]);
  return 0;
}
"""
CALL = """
import sys
import numpy as np
from tg_c.unit import load
load(sys.argv[1]).run([np.ones(300)], [np.empty(300)])
"""
SHADOW = 1 << 44  # bytes of address space that AddressSanitizer reserves when a process begins
SANITIZE = "-g1 -fsanitize=address,undefined -fsanitize-recover=all"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TG_CACHE_DIR", str(tmp_path / "home"))
    monkeypatch.setattr(spare, "_made", {})


def library(name):
    """Where gcc has a library of its own."""
    chosen = compiler.compiler()
    asked = subprocess.run([*chosen.command, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    path = Path(asked.stdout.strip())
    if not chosen.version.startswith("gcc") or not path.is_absolute():
        pytest.skip(f"there is no gcc with {name}")
    return str(path)


def need_address_space():
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < SHADOW:
        pytest.skip(f"a process may have {limit} bytes of address space (ulimit -v), AddressSanitizer needs {SHADOW}")


def test_a_sanitizer_in_cc_makes_units_of_its_own(home, monkeypatch):
    plain, command = compile_unit(MISTAKEN.replace("EXTRA", "0")), compiler.compiler().path
    library("libasan.so")
    monkeypatch.setenv("CC", f"env -u LD_PRELOAD {command} {SANITIZE}")
    watched = compile_unit(MISTAKEN.replace("EXTRA", "0"))
    assert watched != plain
    assert b"__asan_" in watched.read_bytes()
    assert b"__asan_" not in plain.read_bytes()


@pytest.mark.parametrize(("extra", "seen"), [(1, ["heap-buffer-overflow", "shift exponent"]), (0, ["shift exponent"])])
def test_a_sanitized_unit_sees_its_mistakes(home, extra, seen):
    need_address_space()
    libraries = f"{library('libasan.so')} {library('libubsan.so')}"
    environment = {
        **os.environ,
        "CC": f"env -u LD_PRELOAD {compiler.compiler().path} {SANITIZE}",
        "LD_PRELOAD": libraries,
        "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=0",
    }
    command = [sys.executable, "-c", CALL, MISTAKEN.replace("EXTRA", str(extra))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    told = ("heap-buffer-overflow", "shift exponent")
    assert [words for words in told if words in done.stderr] == seen


def resident():
    """The bytes of the process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def mappings():
    return len(Path("/proc/self/maps").read_text().splitlines())


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="what is in memory is told on Linux only")
def test_functions_made_and_dropped_leave_no_memory_behind(home):
    def make(number):
        x, y = tg.vector("x"), tg.matrix("y")
        outputs = [tg.exp(x) * (number + 0.5) + tg.sum(tg.tanh(y), axis=0), tg.sum(x * number)]
        tg.function([x, y], outputs, backend="c")(np.ones(3), np.ones((2, 3)))

    def after(numbers):
        for number in numbers:
            make(number)
        gc.collect()
        return resident(), mappings()

    first = after(range(75))
    last = after(range(75, 150))
    assert last[0] - first[0] < 75 * 2**13  # two pages a function; a unit that stays open takes five and more
    assert last[1] <= first[1] + 8
