"""The compile cache between processes: many at once, killed ones, later ones, and file systems that do not serve."""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tg.cache import spare
from tg_c.cache import UNITS

# Adds each argument to exp(x).
PROGRAM = """
import sys, tg
x = tg.vector("x")
for k in map(float, sys.argv[1:]):
    found = tg.function([x], tg.exp(x) + k, backend="c")([0.0, 0.0]).tolist()
    assert found == [1 + k, 1 + k], found
"""

# As many processes as the first argument says compile one graph: all are ready before the first begins.
AT_ONCE = """
import os, sys, tg, tg_c.linker
x = tg.vector("x")
start, go = os.pipe()
children = []
for number in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        os.close(go)
        os.read(start, 1)
        found = tg.function([x], [tg.exp(x) + 0.25, tg.sum(x)], backend="c")([0.0, 0.0])
        os._exit(0 if list(found[0]) == [1.25, 1.25] and found[1] == 0 else 1)
    children.append(child)
os.close(go)
print([os.waitpid(child, 0)[1] for child in children])
"""

PICKLED = """
import multiprocessing, os, pickle, tg

def compilations():
    return len(open(os.environ["TG_TEST_LOG"]).readlines())

def called(f):
    return f([0.0, 1.0]).tolist()

if __name__ == "__main__":
    x, w = tg.vector("x"), tg.shared([2.0, 3.0], name="w")
    f = tg.function([x], tg.cos(x) * w, backend="c")
    assert called(pickle.loads(pickle.dumps(f))) == called(f)
    count = compilations()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(called, (f,)) == called(f)
    assert compilations() == count > 0
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The directory of the cache, and a compiler that notes what it compiles."""
    monkeypatch.setenv("TG_CACHE_DIR", str(tmp_path / "home"))
    monkeypatch.setattr(spare, "_made", {})
    noting = tmp_path / "cc"
    noting.write_text(f'#!/bin/sh\n[ "$1" = -v ] || echo "$@" >> {tmp_path}/log\nexec {shutil.which("cc")} "$@"\n')
    noting.chmod(0o755)
    monkeypatch.setenv("CC", str(noting))
    return tmp_path / "home" / "c"


def run(*arguments, script=PROGRAM, before=(), warnings="error"):
    command = [*before, sys.executable, "-W", warnings, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def compilations(place):
    log = place.parent.parent / "log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def unfinished(place):
    return [path.name for path in place.iterdir() if path.suffix not in {".so", ".txt"}]


def test_a_second_process_compiles_nothing(place):
    run(1, 2, 3)
    count = compilations(place)
    assert count >= 3
    run(1, 2, 3)
    assert compilations(place) == count
    run(3, 4)
    assert compilations(place) == count + 1


@pytest.mark.long
def test_thirty_two_processes_that_compile_one_graph_at_once_all_get_it(place):
    assert run(32, script=AT_ONCE).stdout == f"{[0] * 32}\n"
    assert all(UNITS.lookup(path.name) == path for path in UNITS.entries())
    assert unfinished(place) == []
    count = compilations(place)
    assert run(2, script=AT_ONCE).stdout == "[0, 0]\n"
    assert compilations(place) == count


def test_a_pickled_function_is_called_in_a_spawned_process_without_being_compiled(place, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PICKLED)
    subprocess.run(
        [sys.executable, "-W", "error", program], check=True, env={**os.environ, "TG_TEST_LOG": str(tmp_path / "log")}
    )


def of_session(leader):
    """The processes of a session: the compiler is in it, though in a group of its own."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(int(folder.name)) == leader:
                yield int(folder.name)


def killed(*arguments, after):
    """Run the program, and kill it with all it has started."""
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    with subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL) as process:
        after(process)
        os.kill(process.pid, signal.SIGKILL)
    while left := list(of_session(process.pid)):  # until the last one is gone
        for number in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        time.sleep(0.01)


@pytest.mark.long
def test_a_process_that_is_killed_while_it_compiles_leaves_a_cache_that_works(place, tmp_path, monkeypatch):
    run(1)
    slow = tmp_path / "slow"
    slow.write_text(
        f'#!/bin/sh\nif [ "$1" != -v ]; then touch {tmp_path}/compiling; sleep 60; fi\nexec {shutil.which("cc")} "$@"\n'
    )
    slow.chmod(0o755)

    def once_it_compiles(process):
        while not (tmp_path / "compiling").exists() and process.poll() is None:
            time.sleep(0.01)

    with monkeypatch.context() as patch:
        patch.setenv("CC", str(slow))
        killed(2, after=once_it_compiles)
    (left,) = unfinished(place)
    run(1, 2)
    assert unfinished(place) == [left]
    os.utime(place / left, (0, 0))
    run(3)
    assert unfinished(place) == []


@pytest.mark.long
def test_processes_that_are_killed_at_any_time_leave_nothing_that_is_loaded_or_stays(place):
    run(0)
    for number in range(12):
        arguments = range(10 * number, 10 * number + 10)
        killed(*arguments, after=lambda process: time.sleep(random.uniform(0.3, 1.2)))
    for path in place.iterdir():
        if not path.name.startswith(".") and path.suffix in {".so", ".txt"}:
            assert UNITS.lookup(path.name) == path
        os.utime(path, (0, 0))
    run(*range(0, 120, 10), "0.5")
    assert unfinished(place) == []


# --- file systems ----------------------------------------------------------------------------------------------------


def mounted(place, size, *then):
    """The start of a command that has a file system of its own where the cache is, seen by nobody else."""
    script = [f"mount -t tmpfs -o size={size} tmpfs {place.parent}", *then, 'exec "$@"']
    unshared = shutil.which("unshare")
    command = [unshared or "unshare", "--map-root-user", "--mount", "sh", "-c", " && ".join(script), "sh"]
    place.parent.mkdir(exist_ok=True)
    if unshared is None or subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user cannot mount a file system in a namespace")
    return command


def read_only(place, *arguments, then="true"):
    """The start of a command that finds the program's units on a read-only disk."""
    filled = f'{sys.executable} -W error -c "$PROGRAM" {" ".join(map(str, arguments))}'
    return mounted(place, "1m", f"PROGRAM='{PROGRAM}'", filled, then, f"mount -o remount,ro {place.parent}")


def warned(done):
    return [line for line in done.stderr.splitlines() if "cache: " in line]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("free", [0, 4, 8, 12, 16, 24, 32])
def test_on_a_full_disk_there_is_one_warning_and_everything_is_computed(place, free):
    before = mounted(place, "100k", f"dd if=/dev/zero of={place.parent}/fill bs=1k count={100 - free} status=none")
    done = run(1, 2, 3, before=before, warnings="always")
    (line,) = warned(done)
    assert f"{place} cannot be used" in line
    assert "No space left on device" in line


@pytest.mark.long
def test_a_read_only_disk_serves_what_it_has_and_there_is_one_warning_for_the_rest(place):
    before = read_only(place, 1, 2)
    before_all = compilations(place)
    run(1, 2, before=before)
    first = compilations(place) - before_all  # by the process that filled the disk
    done = run(1, 3, 4, before=before, warnings="always")
    (line,) = warned(done)
    assert "Read-only file system" in line
    assert compilations(place) == before_all + 2 * first + 2


@pytest.mark.long
def test_a_damaged_entry_on_a_read_only_disk_is_made_again_elsewhere(place):
    cut = f'for f in {place}/*.so; do truncate -s 4096 "$f"; done'
    done = run(1, before=read_only(place, 1, then=cut), warnings="always")
    (line,) = warned(done)
    assert "Read-only file system" in line


def test_a_disk_without_programs_is_not_used(place):
    before = mounted(place, "1m", f"mount -o remount,noexec {place.parent}")
    done = run(1, 2, before=before, warnings="always")
    (line,) = warned(done)
    assert "noexec" in line
