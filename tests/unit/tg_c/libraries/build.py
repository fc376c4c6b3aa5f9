"""Build the library of a folder and its `main` by hand, with the flags that its CMakeLists.txt has."""

import re
import subprocess

STRICT = ("-Wall", "-Wextra", "-Werror")


def built(folder, name, output, *command, march="x86-64", link=()):
    """The program of a library, compiled with all warnings as errors; its path."""
    text = (folder / "CMakeLists.txt").read_text()
    flags = re.search(rf"^set\({name}_flags (.*)\)$", text, re.MULTILINE)[1].split()
    if "gcc" in command[0]:
        flags += re.search(rf"APPEND {name}_flags (.*)\)$", text, re.MULTILINE)[1].split()
    objects = []
    for file in sorted(folder.glob("*.c")):
        level = re.search(r"_(v[34])\.c$", file.name)
        own = [f"-march={march}-{level[1] if level else 'v2'}"] if march else []
        place = output / f"{file.stem}.o"
        run(*command, *own, "-std=gnu11", "-O2", *flags, *STRICT, "-c", file, "-o", place)
        objects.append(place)
    program = output / "main"
    run(*command, *objects, "-o", program, *link, "-lm")
    return program


def run(*words, folder=None, status=0):
    """What a command writes, which ends with this status."""
    done = subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == status, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout
