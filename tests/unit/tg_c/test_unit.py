"""Opening units and calling them."""

import gc
import importlib.util
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

from tg.cache import spare
from tg.graph.checks import STATUS_LENGTH
from tg_c import compiler, unit
from tg_c.compiler import compile_unit
from tg_c.unit import load

# outputs[0] = 2 * inputs[0] for a vector, after a check that it has at most 1,000,000 elements
DOUBLE = """
typedef long long i64;
i64 tg_plan(const void *const *in, const i64 *dims, i64 *out_dims, i64 *status) {
  if (dims[0] > 1000000) { status[0] = dims[0]; status[1] = 1000000; status[4] = -1; return 1 + 3; }
  out_dims[0] = dims[0];
  return 0;
}
i64 tg_run(const void *const *in, const i64 *dims, void *const *out, i64 *status) {
  if (dims[0] > 1000000) { status[0] = dims[0]; status[1] = 1000000; status[4] = -1; return 1 + 3; }
  const double *x = in[0];
  double *y = out[0];
  for (i64 i = 0; i < dims[0]; i++) y[i] = 2 * x[i];
  return 0;
}
"""

# outputs[0] = all the lengths
LENGTHS = """
typedef long long i64;
i64 tg_plan(const void *const *in, const i64 *dims, i64 *out_dims, i64 *status) { return 0; }
i64 tg_run(const void *const *in, const i64 *dims, void *const *out, i64 *status) {
  i64 *y = out[0];
  for (int i = 0; i < COUNT; i++) y[i] = dims[i];
  return 0;
}
"""

# outputs[0][i] = EXPRESSION of x and y, doubles
SCALAR = """
typedef long long i64;
double sqrt(double), log(double), sin(double);
void *memcpy(void *, const void *, unsigned long);
i64 tg_plan(const void *const *in, const i64 *dims, i64 *out_dims, i64 *status) { return 0; }
i64 tg_run(const void *const *in, const i64 *dims, void *const *out, i64 *status) {
  const double *xs = in[0], *ys = in[1];
  for (i64 i = 0; i < dims[0]; i++) { double x = xs[i], y = ys[i]; ((double *)out[0])[i] = EXPRESSION; }
  return 0;
}
"""
HOSTILE = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 5e-324, 1.7e308, 0.1])


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TG_CACHE_DIR", str(tmp_path / "home"))
    monkeypatch.setattr(spare, "_made", {})


def is_mapped(path):
    return str(path) in Path("/proc/self/maps").read_text()


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/maps").exists(), reason="the loaded files are listed on Linux only"
)


def test_a_unit_plans_and_runs():
    double = load(DOUBLE)
    x = np.arange(5.0)
    assert double.plan([x], 1) == (0, (5,), ())
    y = np.empty(5)
    assert double.run([x], [y]) == (0, ())
    assert y.tolist() == [0, 2, 4, 6, 8]


def test_a_failing_check_gives_its_id_and_values():
    x = np.zeros(1_000_001)
    double = load(DOUBLE)
    assert double.run([x], [np.empty(1_000_001)]) == (4, (1_000_001, 1_000_000, 0, 0, -1, 0, 0, 0, 0))
    assert double.plan([x], 1) == (4, (), (1_000_001, 1_000_000, 0, 0, -1, 0, 0, 0, 0))


def test_a_unit_has_room_for_all_that_a_check_reports():
    """It is loaded without core's graphs, so that the length of a status is written there once more."""
    assert unit.STATUS_VALUES == STATUS_LENGTH


def test_a_unit_gets_the_lengths_of_all_inputs_one_after_another():
    lengths = load(LENGTHS.replace("COUNT", "6"))
    found = np.empty(6, np.int64)
    lengths.run([np.empty((2, 3)), np.empty(()), np.empty((0, 4, 5)), np.empty(7)], [found])
    assert found.tolist() == [2, 3, 0, 4, 5, 7]


def test_a_unit_may_have_no_inputs_and_empty_outputs():
    nothing = load(LENGTHS.replace("COUNT", "0"))
    assert nothing.run([], [np.empty((0, 3))]) == (0, ())
    assert nothing.plan([], 0) == (0, (), ())


def test_arrays_of_every_dtype_are_passed():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    nothing = load(LENGTHS.replace("COUNT", "0"))
    for dtype in ("?", "i1", "u8", "f2", "f4", "c8", "c16", ml_dtypes.bfloat16):
        assert nothing.run([np.zeros(3, dtype)], [np.zeros(3, dtype)]) == (0, ())


def test_an_input_may_be_read_only_and_an_output_may_not():
    double = load(DOUBLE)
    x = np.arange(3.0)
    x.flags.writeable = False
    assert double.run([x], [np.empty(3)]) == (0, ())
    with pytest.raises((BufferError, ValueError), match=r"read-only|not writ"):
        double.run([x], [x])


@pytest.mark.parametrize("array", [np.arange(6.0)[::2], np.zeros((3, 2)).T])
def test_an_array_that_is_not_contiguous_is_refused(array):
    with pytest.raises(ValueError, match="contiguous"):
        load(DOUBLE).run([array], [np.empty(3)])


@pytest.mark.parametrize(
    ("expression", "reference"),
    [
        ("x * y + x", lambda x, y: x * y + x),
        ("x / y", lambda x, y: x / y),
        ("x - x", lambda x, y: x - x),
        ("0.0 - x", lambda x, y: 0.0 - x),
        ("x + 0.0", lambda x, y: x + 0.0),
        ("0.0 * x", lambda x, y: 0.0 * x),
        ("x == x ? x : y", lambda x, y: np.where(x == x, x, y)),
        ("x < y ? 1 : x >= y ? 2 : 3", lambda x, y: np.where(x < y, 1.0, np.where(x >= y, 2.0, 3.0))),
        ("x < y ? x / y : y", lambda x, y: np.where(x < y, x / y, y)),
        ("sqrt(x)", lambda x, y: np.sqrt(x)),
        ("(x + y) - x", lambda x, y: (x + y) - x),
    ],
)
def test_the_flags_keep_nan_infinity_and_the_sign_of_zero(expression, reference):
    x, y = (grid.ravel() for grid in np.meshgrid(HOSTILE, HOSTILE))
    found = np.empty_like(x)
    load(SCALAR.replace("EXPRESSION", expression)).run([x, y], [found])
    with np.errstate(all="ignore"):
        wanted = reference(x, y)
    assert np.array_equal(found, wanted, equal_nan=True)
    numbers = ~np.isnan(wanted)
    assert np.array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


def test_integers_wrap():
    x = np.array([2.0**31 - 1])
    found = np.empty(1)
    load(SCALAR.replace("EXPRESSION", "(int)x + 1 > (int)x ? 1 : 0")).run([x, x], [found])
    assert found.tolist() == [0.0]


def test_a_unit_reaches_libm_and_what_the_process_has():
    x = np.array([2.0, 3.0])
    found = np.empty(2)
    load(SCALAR.replace("EXPRESSION", "log(x) + sin(y) + *(double *)memcpy(&x, xs + i, 8)")).run([x, x], [found])
    np.testing.assert_allclose(found, np.log(x) + np.sin(x) + x, rtol=1e-15)


def test_a_unit_calls_its_own_function_where_another_has_the_same_name():
    first = load("double helper(void) { return 1; }" + SCALAR.replace("EXPRESSION", "helper()"))
    second = load("double helper(void) { return 2; }" + SCALAR.replace("EXPRESSION", "helper()"))
    x, found = np.zeros(1), np.empty((2, 1))
    first.run([x, x], [found[0]])
    second.run([x, x], [found[1]])
    assert found.ravel().tolist() == [1, 2]


def test_many_threads_call_one_unit_with_inputs_of_their_own():
    double = load(DOUBLE)
    wrong = []
    barrier = threading.Barrier(8)

    def call(number):
        barrier.wait()
        for repeat in range(150):
            x = np.full(number * 997 + repeat + 1, float(number))
            y = np.empty_like(x)
            status = double.run([x], [y])
            if status != (0, ()) or double.plan([x], 1)[1] != x.shape or (y != 2 * number).any():
                wrong.append((number, repeat))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@needs_proc
def test_a_unit_is_closed_with_its_last_reference():
    double = load(DOUBLE)
    run, path = double.run, double.path
    del double
    assert is_mapped(path)
    y = np.empty(1)
    run([np.ones(1)], [y])
    assert y[0] == 2
    del run
    gc.collect()
    assert not is_mapped(path)


@needs_proc
def test_a_unit_whose_last_reference_goes_during_a_call_is_closed_after_it():
    source = "int usleep(unsigned);" + DOUBLE.replace("const double *x", "usleep(200000); const double *x")
    holder = [load(source)]
    path, alive = holder[0].path, weakref.ref(holder[0])
    y = np.empty(1)
    thread = threading.Thread(target=lambda: holder[0].run([np.ones(1)], [y]))
    thread.start()
    threading.Event().wait(0.05)
    holder[0] = None
    assert alive() is not None
    thread.join()
    assert y[0] == 2
    assert alive() is None
    assert not is_mapped(path)


@needs_proc
def test_units_made_and_dropped_leave_no_mapping():
    def mapped():
        return len(Path("/proc/self/maps").read_text().splitlines())

    def make(number):
        load(f"/* {number} */" + DOUBLE).plan([np.ones(1)], 1)

    make(-1)
    before = mapped()
    for number in range(30):
        make(number)
    assert mapped() <= before + 6


def test_an_entry_that_was_damaged_is_compiled_again():
    path = compile_unit(DOUBLE)
    path.write_bytes(b"not a shared object")
    assert load(DOUBLE).plan([np.ones(2)], 1) == (0, (2,), ())


def test_an_entry_that_another_process_removed_is_compiled_again(monkeypatch):
    paths = []

    def lose_the_first(source, options, loops):
        path = compile_unit(source, options, loops)
        if not paths:
            path.unlink()
        paths.append(path)
        return path

    monkeypatch.setattr(compiler, "compile_unit", lose_the_first)
    assert load(DOUBLE).plan([np.ones(2)], 1) == (0, (2,), ())
    assert len(paths) == 2


def test_a_symbol_that_nothing_has_is_named():
    with pytest.raises(OSError, match="tg_no_such_function"):
        load("double tg_no_such_function(double);" + SCALAR.replace("EXPRESSION", "tg_no_such_function(x)"))


def test_the_address_is_that_of_the_entry():
    double = load(DOUBLE)
    assert double.address("tg_run") != double.address("tg_plan") != 0


def test_a_fork_compiles_and_runs_in_parent_and_child():
    script = f"""
import os, numpy as np
from tg_c.unit import load
SOURCE = {DOUBLE!r}
def both(x):
    for version in range(3):
        y = np.empty_like(x)
        assert load("/* %d */" % version + SOURCE).run([x], [y]) == (0, ())
        assert (y == 2 * x).all()
kept = load(SOURCE)
child = os.fork()
both(np.arange(3.0))
kept.run([np.ones(1)], [np.ones(1)])
if child:
    print(os.waitpid(child, 0)[1])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_the_entry_module_describes_the_declarations(tmp_path):
    unit.write_entry_module(tmp_path / "_entry.py")
    shipped = Path(importlib.util.find_spec("tg_c._entry").origin)
    assert shipped.read_text() == (tmp_path / "_entry.py").read_text()
