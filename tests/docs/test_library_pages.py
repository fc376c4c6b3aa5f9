"""The pages on C libraries: what a reader copies from them is built, and prints what the pages say."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.long(minutes=2)
DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, kind: str) -> list[str]:
    """The blocks of a page in a language."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)


def exported(page: str, folder: Path) -> None:
    """Run the Python of a page, and put the library that it writes below a folder."""
    scope: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page, "python"):
        exec(block, scope)
    library = scope["folder"]
    assert isinstance(library, Path)
    shutil.move(library, folder / library.name)


def run(*words: object, folder: Path) -> str:
    """What a command writes."""
    done = subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


def needs(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def test_the_service_is_built_in_the_steps_of_the_page(tmp_path: Path) -> None:
    needs("cmake", "c++", "sh")
    exported("service.md", tmp_path)
    (tmp_path / "service.cpp").write_text(blocks("service.md", "cpp")[0])
    (tmp_path / "CMakeLists.txt").write_text(blocks("service.md", "cmake")[0])
    see, build = blocks("service.md", "sh")
    apart = see.replace("-B build", "-B apart").replace("build build", "build apart").replace("dir build", "dir apart")
    assert "100% tests passed" in run("sh", "-c", apart, folder=tmp_path)
    shown = run("sh", "-c", build, folder=tmp_path).splitlines()[-1]
    assert shown in (DOCS / "service.md").read_text().splitlines()
    (tmp_path / "main.c").write_text(blocks("service.md", "c")[0])
    flags = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I", tmp_path / "poisson")
    run("cc", *flags, "main.c", tmp_path / "apart/libpoisson.a", "-lm", "-o", "by_c", folder=tmp_path)
    assert run(tmp_path / "by_c", folder=tmp_path).strip() == shown


def test_the_board_s_program_has_an_arena_that_is_large_enough(tmp_path: Path) -> None:
    needs("gcc", "sh", "nm")
    exported("board.md", tmp_path)
    main = "\nint main(void) {\n  float samples[256] = {0}, level;\n  int64_t loudest;\n"
    main += "  return listen_arena_bytes() > (int64_t)sizeof arena || heard(samples, &loudest, &level);\n}\n"
    (tmp_path / "heard.c").write_text(blocks("board.md", "c")[0] + main)
    text = (tmp_path / "listen/CMakeLists.txt").read_text()
    flags = re.search(r"^set\(listen_flags (.*)\)$", text, re.MULTILINE)[1].split()  # type: ignore[index]
    units = ("listen/listen.c", "listen/listen_weights.c")
    run("gcc", "-std=gnu11", "-O2", *flags, "-I", "listen", "heard.c", *units, "-lm", "-o", "heard", folder=tmp_path)
    run(tmp_path / "heard", folder=tmp_path)
    run("gcc", "-std=gnu11", "-O2", *flags, "-c", units[0], "-o", "listen.o", folder=tmp_path)
    names = {line.split()[-1] for line in run("nm", "-u", "listen.o", folder=tmp_path).splitlines()}
    assert names <= {"memcpy", "memset", "tanhf", "_GLOBAL_OFFSET_TABLE_", "listen_weights_words"}


@pytest.mark.parametrize("compiler", ["aarch64-linux-gnu-gcc", "emcc"])
def test_the_commands_of_the_board_s_page_run(compiler: str, tmp_path: Path) -> None:
    needs(compiler, "qemu-aarch64" if "aarch64" in compiler else "node")
    if compiler == "emcc":
        (tmp_path / "empty.c").write_text("int main(void) { return 0; }")
        empty = ["emcc", "-O2", tmp_path / "empty.c", "-o", tmp_path / "empty.js"]
        if subprocess.run(empty, capture_output=True, check=False).returncode:
            pytest.skip("emcc lacks parts of its own")
    exported("board.md", tmp_path)
    arm, web = blocks("board.md", "sh")
    flags = arm.splitlines()[0] + "\n"
    words = arm if "aarch64" in compiler else flags + web
    assert "listen: gives the golden values" in run("sh", "-c", words, folder=tmp_path)
