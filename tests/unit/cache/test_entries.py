"""A cache: what it keeps, what it refuses to load, and what it does where it cannot write."""

import errno
import itertools
import os
import shutil
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from tg.cache import entries, spare, trust
from tg.cache.entries import Cache
from tg.errors import OptionError

SEAL = "\ntg " + 32 * "0"

is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other users")


cache = Cache("test", compiled=".so", sealed=(".txt",), unsealed=(".c",), unfinished=r"cc\w{6}(\.\w+)+")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TG_CACHE_DIR", str(tmp_path / "home"))
    monkeypatch.setattr(spare, "_made", {})
    return tmp_path / "home" / "test"


def writes(text):
    def build(path):
        path.write_text(text)

    return build


def content(path):
    """An entry's text, without its seal."""
    return path.read_text()[: -len(SEAL)]


def mode(path):
    return path.stat().st_mode & 0o777


def test_the_key_tells_apart_parts_that_concatenate_to_the_same_text():
    assert cache.key("ab", "c") != cache.key("a", "bc") != cache.key("abc")


def test_what_is_stored_is_found(home):
    key = cache.key("x")
    assert cache.lookup(key) is None
    path = cache.store(key, writes("unit"))
    assert path == cache.lookup(key) == home / key
    assert content(path) == "unit"
    assert cache.entries() == (path,)
    assert cache.size() == 4 + len(SEAL)


def test_what_an_entry_holds_is_read_without_its_seal():
    assert cache.read(cache.key("x")) is None
    path = cache.store(cache.key("x"), writes("unit"))
    assert cache.read(cache.key("x")) == b"unit"
    path.write_text("other")
    assert cache.read(cache.key("x")) is None


def test_only_what_the_system_opens_needs_a_file_system_with_programs(home, monkeypatch):
    flags = SimpleNamespace(f_flag=os.ST_NOEXEC)
    monkeypatch.setattr(os, "statvfs", lambda path: flags)
    with pytest.warns(UserWarning, match="mounted noexec"):
        assert cache.directory() != home
    assert Cache("data", compiled=".o", is_opened=False).directory() == home.parent / "data"


def test_directory_and_entries_belong_to_the_user_alone_whatever_the_umask(home):
    before = os.umask(0)
    try:
        path = cache.store(cache.key("x"), writes("unit"))
    finally:
        os.umask(before)
    assert mode(home) == 0o700
    assert mode(path) == 0o700


def test_the_directory_is_xdg_cache_home_or_dot_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("TG_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.directory() == tmp_path / "xdg" / "tg" / "test"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache.directory() == tmp_path / ".cache" / "tg" / "test"


def test_an_entry_that_its_group_can_write_is_not_loaded_and_made_again():
    key = cache.key("x")
    path = cache.store(key, writes("unit"))
    path.chmod(0o720)
    with pytest.warns(UserWarning, match="others can write it: its mode is 0720"):
        assert cache.lookup(key) is None
    assert mode(cache.store(key, writes("unit"))) == 0o700
    assert cache.lookup(key) == path


def test_an_entry_of_another_user_is_not_loaded(monkeypatch):
    key = cache.key("x")
    cache.store(key, writes("unit"))
    directory = cache.directory()
    monkeypatch.setattr(cache, "directory", lambda: directory)
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.warns(UserWarning, match="this process runs as user 54321"):
        assert cache.lookup(key) is None


def test_an_entry_that_is_a_link_is_not_loaded(home, tmp_path):
    key = cache.key("x")
    cache.directory()
    (tmp_path / "elsewhere").write_text("unit")
    (home / key).symlink_to(tmp_path / "elsewhere")
    with pytest.warns(UserWarning, match="not a regular file"):
        assert cache.lookup(key) is None


def test_an_entry_of_which_anything_is_missing_or_changed_is_not_loaded_and_made_again():
    key = cache.key("x")
    path = cache.store(key, writes("unit"))
    whole = path.read_bytes()
    damaged = [whole[:end] for end in range(len(whole))]
    damaged += [bytes((*whole[:at], whole[at] ^ 1, *whole[at + 1 :])) for at in range(len(whole))]
    for found in [*damaged, whole + b"0", bytes(len(whole)), whole[4:]]:
        path.write_bytes(found)
        assert cache.lookup(key) is None
    assert cache.lookup(key) is None
    cache.store(key, writes("unit"))
    assert cache.lookup(key).read_bytes() == whole


def test_an_entry_that_was_stored_empty_is_not_loaded():
    cache.store(cache.key("x"), writes(""))
    assert cache.lookup(cache.key("x")) is None


@is_root
def test_what_belongs_to_another_user_is_not_loaded_whoever_wrote_it(home):
    key = cache.key("x")
    path = cache.store(key, writes("planted"))
    os.chown(path, 54321, -1)
    with pytest.warns(UserWarning, match="its owner is user 54321"):
        assert cache.lookup(key) is None
    os.chown(path, 0, -1)
    os.chown(home, 54321, -1)
    with pytest.warns(UserWarning, match="its owner is user 54321"):
        assert cache.lookup(key) is None
    assert cache.store(key, writes("unit")).parent != home


@is_root
def test_a_directory_below_one_of_another_user_is_replaced_by_a_private_one(home):
    cache.directory()
    os.chown(home.parent, 54321, -1)
    with pytest.warns(UserWarning, match="home belongs to user 54321"):
        assert cache.directory() != home


@pytest.mark.parametrize("bits", [0o777, 0o707, 0o770])
def test_a_directory_that_others_can_replace_is_replaced_by_a_private_one(home, bits, monkeypatch):
    monkeypatch.setattr(trust, "_has_one_member", lambda group, user: False)
    cache.directory()
    home.parent.chmod(bits)
    with pytest.warns(UserWarning, match="others can write"):
        assert cache.directory() != home


def test_a_sticky_directory_and_one_of_the_private_group_may_hold_the_cache(home, monkeypatch):
    cache.directory()
    home.parent.chmod(0o1777)
    assert cache.directory() == home
    home.parent.chmod(0o770)
    monkeypatch.setattr(trust, "_has_one_member", lambda group, user: True)
    assert cache.directory() == home


def test_links_on_the_way_are_followed_once_and_what_they_lead_to_is_looked_at(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("TG_CACHE_DIR", str(tmp_path / "link"))
    assert cache.directory() == tmp_path / "real" / "test"
    (tmp_path / "real").chmod(0o777)
    with pytest.warns(UserWarning, match="others can write"):
        assert cache.directory() != tmp_path / "real" / "test"


@pytest.mark.parametrize("bits", [0o770, 0o777, 0o702])
def test_a_directory_that_others_can_write_is_replaced_by_a_private_one_with_one_warning(home, bits):
    key = cache.key("x")
    cache.store(key, writes("planted"))
    home.chmod(bits)
    with pytest.warns(UserWarning, match="others can write it"):
        assert cache.lookup(key) is None
    path = cache.store(key, writes("unit"))
    assert cache.lookup(key) == path
    assert path.parent != home
    assert mode(path.parent) == 0o700


def test_a_directory_of_another_user_is_replaced_by_a_private_one(home, monkeypatch):
    home.mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.warns(UserWarning, match="hint: set TG_CACHE_DIR"):
        assert cache.directory() != home


def test_a_directory_that_cannot_be_made_is_replaced_by_a_private_one(home):
    home.parent.write_text("a file in the way")
    with pytest.warns(UserWarning, match="Not a directory"):
        path = cache.store(cache.key("x"), writes("unit"))
    assert content(path) == "unit"


def test_a_home_directory_that_does_not_exist_is_not_made(tmp_path, monkeypatch):
    monkeypatch.delenv("TG_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    with pytest.warns(UserWarning, match="there is no home directory"):
        path = cache.store(cache.key("x"), writes("unit"))
    assert cache.lookup(cache.key("x")) == path  # without another warning
    assert not (tmp_path / "nobody").exists()


def test_no_home_directory_is_replaced_by_a_private_one(monkeypatch):
    monkeypatch.setenv("TG_CACHE_DIR", "~nobody_has_this_name/tg")
    with pytest.warns(UserWarning, match="no home directory"):
        assert cache.directory().is_absolute()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_directory_that_cannot_be_written_still_serves_what_it_has(home, code):
    kept = cache.store(cache.key("kept"), writes("old"))

    def build(path):
        if path.parent == home:
            raise OSError(code, os.strerror(code))
        path.write_text("new")

    with pytest.warns(UserWarning, match=os.strerror(code)):
        path = cache.store(cache.key("x"), build)
    assert cache.store(cache.key("y"), writes("more")).parent == path.parent
    assert path.parent != home
    assert content(path) == "new"
    assert cache.lookup(cache.key("x")) == path
    assert cache.lookup(cache.key("kept")) == kept


def test_a_read_only_directory_is_known_before_anything_is_built(home, monkeypatch):
    cache.directory()
    built = []
    touch = type(home).touch

    def refuse(path, **options):
        if path.parent == home:
            raise PermissionError(errno.EROFS, "Read-only file system")
        touch(path, **options)

    monkeypatch.setattr(type(home), "touch", refuse)

    def build(path):
        built.append(path)
        path.write_text("unit")

    with pytest.warns(UserWarning, match="Read-only"):
        cache.store(cache.key("x"), build)
    assert len(built) == 1


def test_a_build_that_fails_leaves_nothing(home):
    def build(path):
        path.write_text("half")
        raise KeyError("x")

    with pytest.raises(KeyError):
        cache.store(cache.key("x"), build)
    assert list(home.iterdir()) == []


def test_the_private_directory_goes_when_its_process_ends_and_stays_when_a_child_does(tmp_path):
    (tmp_path / "file").write_text("")
    script = """
import os, sys, warnings
warnings.simplefilter("ignore")
from tg.cache.entries import Cache
cache = Cache("test", compiled=".so")
path = cache.store(cache.key("x"), lambda path: path.write_text("unit") and None)
child = os.fork()
if child == 0:
    sys.exit(0 if cache.directory() != path.parent else 1)
print(path, os.waitpid(child, 0)[1], path.exists())
"""
    environment = {**os.environ, "TG_CACHE_DIR": str(tmp_path / "file")}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    path, status, existed = done.stdout.split()
    assert (status, existed) == ("0", "True")
    assert not Path(path).parent.exists()


def test_the_private_directory_of_a_process_that_was_killed_is_removed_by_the_next_that_needs_one(tmp_path):
    (tmp_path / "file").write_text("")
    script = """
import os, signal, sys, warnings
warnings.simplefilter("ignore")
from tg.cache.entries import Cache
cache = Cache("test", compiled=".so")
print(cache.directory(), flush=True)
if sys.argv[1:]:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    environment = {**os.environ, "TG_CACHE_DIR": str(tmp_path / "file"), "TMPDIR": str(tmp_path)}
    command, streams = [sys.executable, "-c", script], {"stdout": subprocess.PIPE, "text": True, "env": environment}

    def next_one():
        subprocess.run(command, check=True, **streams)
        return sorted(path.name for path in tmp_path.glob("tg-test-*"))

    with subprocess.Popen([*command, "kill"], stdin=subprocess.PIPE, **streams) as killed:
        folder = Path(killed.stdout.readline().strip())
        os.utime(folder, (0, 0))
        assert next_one() == [folder.name]  # in use
        killed.stdin.close()
    os.utime(folder, (0, 0))
    assert next_one() == []


def test_a_private_directory_that_somebody_removed_is_made_again(home):
    home.parent.write_text("a file in the way")
    with pytest.warns(UserWarning, match="Not a directory"):
        first = cache.directory()
    shutil.rmtree(first)
    with pytest.warns(UserWarning, match="Not a directory"):
        path = cache.store(cache.key("x"), writes("unit"))
    assert path.parent != first
    assert cache.lookup(cache.key("x")) == path


def test_an_entry_whose_directory_is_removed_meanwhile_is_made_again(home):
    builds = []

    def build(path):
        builds.append(path)
        if len(builds) == 1:
            shutil.rmtree(home)
        path.write_text("unit")

    path = cache.store(cache.key("x"), build)
    assert path == cache.lookup(cache.key("x"))
    assert path.parent == home


def test_pruning_removes_what_is_unused_for_longest_and_spares_what_is_young():
    paths = [cache.store(cache.key(str(number)), writes("x" * 100)) for number in range(4)]
    now = time.time()
    for age, path in zip((4000, 3000, 2000, 0), paths, strict=True):
        os.utime(path, (now - age, now - age))
    assert cache.prune(most=2 * (100 + len(SEAL))) == 2
    assert [path.exists() for path in paths] == [False, False, True, True]
    assert cache.prune(most=0) == 1
    assert [path.exists() for path in paths] == [False, False, False, True]


def test_the_limit_is_what_the_environment_says_in_megabytes(monkeypatch):
    assert entries.limit() == 512 * 10**6
    monkeypatch.setenv("TG_CACHE_LIMIT", "3")
    assert entries.limit() == 3 * 10**6
    old = cache.store(cache.key("old"), writes("x" * 2 * 10**6))
    os.utime(old, (0, 0))
    new = cache.store(cache.key("new"), writes("x" * 2 * 10**6))
    cache.prune()
    assert [path.exists() for path in (old, new)] == [False, True]


@pytest.mark.parametrize("text", ["much", "-1", "1e3"])
def test_a_limit_that_is_no_number_is_an_error(monkeypatch, text):
    monkeypatch.setenv("TG_CACHE_LIMIT", text)
    with pytest.raises(OptionError, match=f"TG_CACHE_LIMIT: found '{text}', needed a whole number of megabytes"):
        entries.limit()


def test_what_a_killed_process_left_is_removed_after_an_hour_and_not_before(home):
    kept = cache.store(cache.key("x"), writes("unit"))
    left = [home / name for name in (f".{cache.key('y')}.0123456789abcdef", "ccAb3x_9.o", "ccAb3x_9.res")]
    for path in left:
        path.write_text("half")
    assert cache.prune() == 0
    for path in (kept, *left):
        os.utime(path, (0, 0))
    assert cache.prune() == len(left)
    assert list(home.iterdir()) == [kept]


def test_a_lookup_marks_an_old_entry_as_used():
    path = cache.store(cache.key("x"), writes("unit"))
    os.utime(path, (0, 0))
    cache.lookup(cache.key("x"))
    assert path.stat().st_mtime > time.time() - 60


def test_storing_prunes_now_and_then(monkeypatch):
    calls = []
    monkeypatch.setattr(cache, "prune", lambda: calls.append(1))
    monkeypatch.setattr(cache, "_stores", itertools.count())
    for number in range(entries.STORES_PER_PRUNE):
        cache.store(cache.key(str(number)), writes("unit"))
    assert len(calls) == 1


def test_clearing_removes_entries_and_unfinished_files_and_nothing_else(home):
    cache.store(cache.key("x"), writes("unit"))
    (home / f".{cache.key('y')}.0123456789abcdef").write_text("unfinished")
    (home / "thesis.c").write_text("mine")
    (home / "folder").mkdir()
    assert cache.clear() == 2
    assert sorted(path.name for path in home.iterdir()) == ["folder", "thesis.c"]


def test_threads_that_store_one_key_at_once_all_get_it():
    key = cache.key("x")
    found = []
    barrier = threading.Barrier(8)

    def store():
        barrier.wait()
        found.append(content(cache.store(key, writes("unit"))))

    threads = [threading.Thread(target=store) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["unit"] * 8
    assert len(cache.entries()) == 1


def test_threads_that_need_the_private_directory_at_once_share_one(home):
    home.parent.write_text("a file in the way")
    found = []
    barrier = threading.Barrier(8)

    def ask():
        barrier.wait()
        found.append(cache.directory())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(set(found)) == 1


def test_a_warning_names_the_users_line(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import tg\nx = tg.vector('x')\ntg.function([x], x * 2, backend='c')\n")
    (tmp_path / "file").touch()
    environment = {**os.environ, "TG_CACHE_DIR": str(tmp_path / "file" / "cache")}  # nobody can make it
    command = [sys.executable, "-W", "always", str(program)]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    warned = [line for line in found.stderr.splitlines() if "cannot be used" in line]
    assert warned
    assert all(line.startswith(f"{program}:3: CacheWarning: cache: ") for line in warned)
