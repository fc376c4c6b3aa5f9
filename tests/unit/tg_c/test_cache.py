"""The compile cache: what it keeps, what it refuses to load, and what it does where it cannot write."""

import errno
import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from tg_c import cache


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TG_CACHE_DIR", str(tmp_path / "home"))
    monkeypatch.setattr(cache, "_spares", {})
    return tmp_path / "home" / "c"


def writes(text):
    def build(path):
        path.write_text(text)

    return build


def mode(path):
    return path.stat().st_mode & 0o777


def test_the_key_tells_apart_parts_that_concatenate_to_the_same_text():
    assert cache.key("ab", "c") != cache.key("a", "bc") != cache.key("abc")


def test_what_is_stored_is_found(home):
    key = cache.key("x")
    assert cache.lookup(key) is None
    path = cache.store(key, writes("unit"))
    assert path == cache.lookup(key) == home / key
    assert path.read_text() == "unit"
    assert cache.entries() == (path,)
    assert cache.size() == 4


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
    assert cache.directory() == tmp_path / "xdg" / "tg" / "c"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache.directory() == tmp_path / ".cache" / "tg" / "c"


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


def test_an_empty_entry_is_not_loaded():
    key = cache.key("x")
    cache.store(key, writes(""))
    with pytest.warns(UserWarning, match="it is empty"):
        assert cache.lookup(key) is None


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
    assert path.read_text() == "unit"


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
    assert path.read_text() == "new"
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
from tg_c import cache
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


def test_pruning_removes_what_is_unused_for_longest_and_spares_what_is_young():
    paths = [cache.store(cache.key(str(number)), writes("x" * 100)) for number in range(4)]
    now = time.time()
    for age, path in zip((4000, 3000, 2000, 0), paths, strict=True):
        os.utime(path, (now - age, now - age))
    assert cache.prune(limit=250) == 2
    assert [path.exists() for path in paths] == [False, False, True, True]
    assert cache.prune(limit=0) == 1
    assert [path.exists() for path in paths] == [False, False, False, True]


def test_a_lookup_marks_an_old_entry_as_used():
    path = cache.store(cache.key("x"), writes("unit"))
    os.utime(path, (0, 0))
    cache.lookup(cache.key("x"))
    assert path.stat().st_mtime > time.time() - 60


def test_storing_prunes_now_and_then(monkeypatch):
    calls = []
    monkeypatch.setattr(cache, "prune", lambda: calls.append(1))
    for number in range(cache.STORES_PER_PRUNE):
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
        found.append(cache.store(key, writes("unit")).read_text())

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
