"""`tg.export`: what a writer is given, what is checked before, and files that are there whole or not at all."""

import numpy as np
import pytest

import tg
from tests.unit.exports.conftest import Settings
from tg.errors import BackendUnavailable, InputError, NoRuleError, OptionError, PluginError


@pytest.fixture
def f():
    x = tg.vector("x")
    return tg.function([x], tg.sum(x * x), backend="perform", name="squares")


def test_a_writer_is_given_the_program_a_path_and_its_options(register, f, tmp_path):
    calls = []

    def write(program, path, options):
        calls.append((program.name, path.exists(), options))
        path.write_text("trace of squares")

    register(write)
    assert tg.export(f, tmp_path / "squares.txt", "trace", level=3) == tmp_path / "squares.txt"
    assert (tmp_path / "squares.txt").read_text() == "trace of squares"
    assert calls == [("squares", False, Settings(3))]
    assert [p.name for p in tmp_path.iterdir()] == ["squares.txt"]


def test_a_folder_keeps_what_else_is_in_it(register, f, tmp_path):
    def write(program, path, options):
        (path / "src").mkdir(parents=True)
        (path / "src/unit.c").write_text("new")
        (path / "README").write_text("new")

    register(write)
    (tmp_path / "out/src").mkdir(parents=True)
    (tmp_path / "out/README").write_text("old")
    (tmp_path / "out/notes").write_text("the user's own")
    tg.export(f, tmp_path / "out", "trace")
    texts = {str(p.relative_to(tmp_path / "out")): p.read_text() for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert texts == {"README": "new", "notes": "the user's own", "src/unit.c": "new"}


def test_an_error_of_the_writer_leaves_nothing_changed(register, f, tmp_path):
    def write(program, path, options):
        path.write_text("half")
        raise KeyError("a table")

    register(write)
    (tmp_path / "out").write_text("before")
    with pytest.raises(PluginError, match="writer of format 'trace' raised KeyError"):
        tg.export(f, tmp_path / "out", "trace")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("out", "before")]


def test_an_error_of_tg_in_a_writer_stays_what_it_is(register, f, tmp_path):
    def write(program, path, options):
        raise NoRuleError("format 'trace' has no way to say sum")

    register(write)
    with pytest.raises(NoRuleError, match="no way to say sum"):
        tg.export(f, tmp_path / "out", "trace")


def test_a_writer_that_writes_nothing_is_at_fault(register, f, tmp_path):
    register(lambda program, path, options: None)
    with pytest.raises(PluginError, match="found nothing written, needed a file or a folder"):
        tg.export(f, tmp_path / "out", "trace")


def test_a_file_in_the_way_of_a_folder_is_refused(register, f, tmp_path):
    register(lambda program, path, options: path.mkdir())
    (tmp_path / "out").write_text("before")
    with pytest.raises(InputError, match=r"found a file at .*, needed a folder or nothing"):
        tg.export(f, tmp_path / "out", "trace")
    assert (tmp_path / "out").read_text() == "before"


def test_arguments_are_checked_before_anything_is_written(register, f, tmp_path):
    register(lambda program, path, options: pytest.fail("not called"))
    with pytest.raises(OptionError, match="format 'trace': unknown option 'levl'"):
        tg.export(f, tmp_path / "out", "trace", levl=3)
    with pytest.raises(OptionError, match="format 'trace': option level: found 'high', needed int"):
        tg.export(f, tmp_path / "out", "trace", level="high")
    with pytest.raises(InputError, match="name: found 'two words', needed an identifier"):
        tg.export(f, tmp_path / "out", "trace", name="two words")
    with pytest.raises(InputError, match="needed a folder"):
        tg.export(f, tmp_path / "none/out", "trace")
    with pytest.raises(InputError, match="needed a compiled function"):
        tg.export(np.sum, tmp_path / "out", "trace")
    assert not list(tmp_path.iterdir())


def test_a_format_that_nobody_has_is_an_error_that_lists_those_here(f, tmp_path):
    with pytest.raises(OptionError) as caught:
        tg.export(f, tmp_path / "out", "onxx")
    assert str(caught.value).startswith("export: found format 'onxx', needed one that a plugin writes\n  formats here ")
    assert str(caught.value).endswith("hint: format='onnx' exists")


def test_a_format_of_a_distribution_that_is_not_here_names_it(f, tmp_path, monkeypatch):
    monkeypatch.setitem(tg.plugin.exporters.FORMATS, "paper", "tg-paper")
    with pytest.raises(BackendUnavailable, match=r'needed tg-paper\n(.*\n)*  hint: pip install "tg-paper"'):
        tg.export(f, tmp_path / "out", "paper")


def test_what_an_exporter_requires_is_looked_at_first(register, f, tmp_path):
    register(lambda program, path, options: pytest.fail("not called"), requires=("no-such-library>=2",))
    with pytest.raises(BackendUnavailable, match="needs no-such-library>=2 \\(found nothing\\)"):
        tg.export(f, tmp_path / "out", "trace")


def test_a_name_is_an_identifier(exported):
    f = tg.function([], tg.constant(1.0), backend="perform", name="a step (2)")
    assert exported(f).name == "a_step__2_"
    assert exported(tg.function([], tg.constant(1.0), backend="perform", name="2 steps")).name == "f_2_steps"
