"""`tg.export(f, path, "c")`: libraries are built, run on their golden values, and say what goes wrong."""

import shutil

import numpy as np
import pytest

import tg
from tests.unit.tg_c.libraries import functions
from tests.unit.tg_c.libraries.build import built, run
from tg.errors import InputError, NoRuleError, OptionError
from tg_c.export import weights

gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


def exported(make, folder, **options):
    f, example = make()
    return tg.export(f, folder / f.name, "c", example=example, **options)


@gcc
def test_a_library_gives_its_golden_values_and_its_main_sees_others(tmp_path):
    folder = exported(functions.small, tmp_path)
    program = built(folder, "small", tmp_path, "gcc", march="")
    assert run(program) == "small: gives the golden values\n"
    golden = folder / "small_golden.h"
    golden.write_text(golden.read_text().replace("golden_in_scale[1] = {\n  2.0", "golden_in_scale[1] = {\n  2.5"))
    assert "total" in run(built(folder, "small", tmp_path, "gcc", march=""), status=1)


def test_writing_needs_no_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", str(tmp_path / "no_compiler"))
    assert (exported(functions.small, tmp_path, levels=("x86-64-v4",)) / "small_v4.c").exists()


def test_a_folder_has_what_a_project_needs(tmp_path):
    folder = exported(functions.small, tmp_path, levels=("x86-64-v2", "x86-64-v4"))
    names = {"CMakeLists.txt", "main.c", "small_golden.h", "small_v4.c"}
    assert {p.name for p in folder.iterdir()} == names | {f"small.{end}" for end in ("c", "h", "hpp", "rs", "pc.in")}


def test_a_header_documents_each_array(tmp_path):
    text = (exported(functions.small, tmp_path) / "small.h").read_text()
    assert "int64_t n;" in text
    assert "const double *x; /* float64[n, 3], in C order */" in text
    assert "double scale; /* float64[] */" in text
    assert "double *waves; /* float64[n, 3], in C order */" in text


def test_weights_are_a_file_of_safetensors_or_in_the_library(tmp_path):
    folder = exported(functions.training, tmp_path, weights="file")
    loaded = pytest.importorskip("safetensors.numpy").load_file(folder / "training.safetensors")
    assert {"state.w1", "state.bias", "state.w2", "rate"} <= loaded.keys()
    assert loaded["rate"] == np.float32(0.1)
    shutil.rmtree(folder)
    assert not (exported(functions.training, tmp_path) / "training.safetensors").exists()


@gcc
@pytest.mark.parametrize("memory", ["arena", "malloc"])
def test_a_file_that_only_the_state_begins_from_builds_without_warnings(memory, tmp_path):
    """A run reads no weights then, and has them among its parameters as every run with a file."""
    x, held = tg.vector("x"), tg.shared(np.arange(3.0), "held")
    f = tg.function([x], {"total": tg.sum(x) + tg.sum(held)}, updates={held: held * 2}, name="doubling")
    folder = tg.export(f, tmp_path / "doubling", "c", example=[np.ones(2)], memory=memory, weights="file")
    assert (
        run(built(folder, "doubling", tmp_path, "gcc", march=""), folder=folder)
        == "doubling: gives the golden values\n"
    )


def test_arrays_of_a_file_begin_at_multiples_of_64():
    arrays = {"a": np.arange(3, dtype="float32"), "b": np.array(True), "c": np.ones((2, 5))}
    blob = weights.blob(arrays)
    assert [place % 64 for place in blob.places.values()] == [0, 0, 0]
    for name, array in arrays.items():
        first = blob.places[name]
        assert blob.data[first : first + array.nbytes] == array.tobytes()


def test_words_that_c_or_cpp_or_rust_keep_get_an_underscore(tmp_path):
    x, y = tg.vector("class"), tg.vector("fn")
    f = tg.function([x, y], {"int": tg.sum(x), "a b": y * 2}, backend="perform", name="words")
    text = (tg.export(f, tmp_path / "out", "c") / "words.h").read_text()
    assert "*class_; /* class: float64[class_0] */" in text
    assert "*fn_;" in text
    assert "*int_;" in text
    assert "*a_b; /* a b: " in text


def test_a_result_whose_length_values_decide_is_refused(tmp_path):
    x = tg.vector("x")
    f = tg.function([x], tg.nonzero(x)[0], backend="perform")
    with pytest.raises(InputError, match="values decide its length"):
        tg.export(f, tmp_path / "out", "c")
    assert not any(tmp_path.iterdir())


def test_memory_whose_size_values_decide_is_refused_unless_it_is_the_system_s(tmp_path):
    x = tg.vector("x")
    f = tg.function([x], tg.sum(tg.sin(tg.nonzero(x)[0] * 1.0)), backend="perform")
    with pytest.raises(NoRuleError, match='memory="malloc"'):
        tg.export(f, tmp_path / "out", "c")
    assert tg.export(f, tmp_path / "out", "c", memory="malloc").is_dir()


def test_an_unknown_level_is_refused(tmp_path):
    f, example = functions.small()
    with pytest.raises(OptionError, match="levels: found 'avx'"):
        tg.export(f, tmp_path / "out", "c", example=example, levels=("avx",))
