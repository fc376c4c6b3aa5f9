"""Exported libraries under other compilers, sanitizers, machines and languages; what is not installed is skipped."""

import os
import re
import shutil
import subprocess

import pytest

import tg
from tests.unit.tg_c.libraries import functions
from tests.unit.tg_c.libraries.build import STRICT, built, run

pytestmark = [
    pytest.mark.long(minutes=6),
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="the processors are of x86-64"),
]
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
COMMANDS = {
    "gcc": ("gcc",),
    "gcc_sanitized": ("gcc", *SANITIZERS),
    "gcc_static": ("gcc", "-static"),
    "clang": ("clang",),
    "clang_sanitized": ("clang", *SANITIZERS),
    "musl": ("musl-gcc", "-static"),
    "aarch64": ("aarch64-linux-gnu-gcc", "-static"),
}
every = pytest.mark.parametrize("make", functions.ALL, ids=[make.__name__ for make in functions.ALL])


def needs(*programs):
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def exported(make, folder, **options):
    f, example = make()
    return tg.export(f, folder / f.name, "c", example=example, **options)


@every
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_libraries_build_without_warnings_and_give_their_golden_values(make, command, tmp_path):
    needs(command[0])
    is_arm = "aarch64" in command[0]
    folder = exported(make, tmp_path, levels=() if is_arm else ("x86-64-v3", "x86-64-v4"))
    program = built(folder, folder.name, tmp_path, *command, march="" if is_arm else "x86-64")
    if is_arm:
        needs("qemu-aarch64")
    assert "gives the golden values" in run(*(["qemu-aarch64"] if is_arm else []), program, folder=folder)


@every
def test_libraries_run_as_webassembly(make, tmp_path):
    needs("emcc", "node")
    (tmp_path / "empty.c").write_text("int main(void) { return 0; }")
    empty = ["emcc", "-O2", tmp_path / "empty.c", "-o", tmp_path / "empty.js"]
    if subprocess.run(empty, capture_output=True, check=False).returncode:
        pytest.skip("emcc lacks parts of its own")
    folder = exported(make, tmp_path, weights="inside")
    name, script = folder.name, tmp_path / "main.js"
    text = (folder / "CMakeLists.txt").read_text()
    flags = re.search(rf"^set\({name}_flags (.*)\)$", text, re.MULTILINE)[1].split()
    files = sorted(folder.glob("*.c"))
    run("emcc", "-std=gnu11", "-O2", "-msimd128", "-sSINGLE_FILE=1", *flags, *STRICT, *files, "-o", script, "-lm")
    assert "gives the golden values" in run("node", script)


@pytest.mark.parametrize("memory", ["arena", "malloc"])
@every
def test_a_call_stays_inside_an_arena_of_the_size_that_is_said(make, memory, tmp_path):
    """The arena of `main` ends where the address sanitizer sees that it is passed."""
    needs("gcc")
    folder = exported(make, tmp_path, memory=memory, weights="file")
    assert "gives" in run(built(folder, folder.name, tmp_path, "gcc", *SANITIZERS), folder=folder)


@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
def test_levels_use_their_instructions_and_the_base_does_not(level, tmp_path):
    needs("gcc", "objdump")
    folder = exported(functions.posterior, tmp_path, levels=(level,))
    built(folder, "radon", tmp_path, "gcc")
    registers = "ymm" if level.endswith("3") else "zmm"
    assert registers in run("objdump", "-d", tmp_path / f"radon_{level[-2:]}.o")
    base = run("objdump", "-d", tmp_path / "radon.o")
    assert "ymm" not in base
    assert "zmm" not in base


@pytest.mark.parametrize("blas", ["openblas"])
def test_products_and_factors_by_a_library(blas, tmp_path):
    needs("gcc")
    if "lib" not in run("gcc", "-print-file-name=libopenblas.so").partition("/")[2]:
        pytest.skip("libopenblas is not installed")
    folder = exported(functions.systems, tmp_path, blas=blas)
    program = built(folder, "systems", tmp_path, "gcc", link=["-lopenblas"])
    assert "gives the golden values" in run(program)
    used = run("nm", "-u", tmp_path / "systems_blas_openblas.o")
    assert "dpotrf_" in used
    assert "dgemm_" in used


def test_a_library_needs_few_names_of_libc_and_writes_to_no_global(tmp_path):
    needs("gcc", "nm")
    folder = exported(functions.posterior, tmp_path)
    built(folder, "radon", tmp_path, "gcc")
    rows = [line.split() for line in run("nm", tmp_path / "radon.o").splitlines()]
    undefined = {row[-1] for row in rows if row[-2] == "U"}
    assert undefined <= {"exp", "memcpy", "memset", "_GLOBAL_OFFSET_TABLE_"}
    assert not [row for row in rows if row[-2] in "bBdDC"]


def test_fast_math_and_missing_flags_are_refused(tmp_path):
    needs("gcc")
    folder = exported(functions.small, tmp_path)
    for flags, word in (([], "compile with the flags"), (["-DSMALL_FLAGS", "-ffast-math"], "-ffast-math")):
        with pytest.raises(AssertionError, match=word):
            run("gcc", "-std=gnu11", *flags, "-c", folder / "small.c", "-o", tmp_path / "small.o")
