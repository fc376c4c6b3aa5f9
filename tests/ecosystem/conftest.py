"""Distributions as strangers get them: wheels built once, installed in folders of their own, used in a subprocess."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement

collect_ignore = ["plugins"]  # some of them are written to fail

HERE = Path(__file__).parent
WORKSPACE = HERE.parents[1]
FAKES = sorted(path.parent for path in HERE.glob("plugins/*/pyproject.toml"))
DISTRIBUTIONS = sorted(path.parent for path in WORKSPACE.glob("*/pyproject.toml")) + sorted(
    path.parent for path in WORKSPACE.glob("plugins/*/pyproject.toml")
)
RELEASED = ("tg-core", "tg-native", "tg-c")
KIT = ("tg-core", "tg-conformance")
TOOLS = ("pip", "hatchling", "editables")
QUIET = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INDEX": "1", "PIP_QUIET": "2", "PIP_ROOT_USER_ACTION": "ignore"}


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """A folder of folders: `wheels`; each fake alone; `released`, C on core; `numba`; `needed`, what those need.

    The workers of pytest-xdist share it.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "ecosystem"
    with (shared / "ecosystem.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            install(folder)
    return folder


def install(folder):
    """Build all wheels and install them under `folder`, which appears when all is there."""
    making = folder.with_suffix(".making")
    pip("wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", making / "wheels", *DISTRIBUTIONS)
    for source in FAKES:  # a wheel without scripts is installed where it is unpacked: pip takes three seconds for each
        (wheel,) = WheelBuilder(str(source)).build(directory=str(making / "wheels"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(making / source.name)
    pip("install", "--no-deps", "--target", making / "released", *(wheel_of(name, making) for name in RELEASED))
    link_needed(making / "needed", making / "released")
    pip("install", "--no-deps", "--target", making / "numba", wheel_of("tg-numba", making))
    link_needed(making / "needed-numba", making / "numba")
    pip("install", "--no-deps", "--target", making / "kit", *(wheel_of(name, making) for name in KIT))
    link_needed(making / "kit", making / "kit", *TOOLS)
    making.rename(folder)


def pip(*arguments):
    subprocess.run([sys.executable, "-m", "pip", *map(str, arguments)], check=True, env={**os.environ, **QUIET})


def wheel_of(name, folder):
    (wheel,) = (folder / "wheels").glob(f"{name.replace('-', '_')}-*.whl")
    return wheel


def link_needed(folder, released, *others):
    """Fill a folder with links to what the distributions in `released` declare to need, to others, to nothing else."""
    folder.mkdir(exist_ok=True)
    waiting = [*others, *(name for one in metadata.distributions(path=[str(released)]) for name in required(one))]
    seen = {*RELEASED, *KIT}
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            found = metadata.distribution(name)
            waiting += required(found)
            for top in {path.parts[0] for path in found.files} - {"..", "__pycache__"}:
                if not (folder / top).exists():
                    (folder / top).symlink_to(found.locate_file(top))


def required(distribution):
    needs = map(Requirement, distribution.requires or ())
    return [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]


@pytest.fixture
def ask(site, tmp_path):
    """Run a program where the named plugins are installed, and give back what it left in `answer`."""

    def run(program, *plugins, **environ):
        model = tmp_path / "model.py"
        model.write_text(f"{program}\nimport json\nprint(json.dumps(answer))")
        return json.loads(finished([model], paths(site, plugins), **environ))

    return run


@pytest.fixture
def command(site):
    """Run the command `tg` where the named plugins are installed, and give back what it prints."""

    def run(*arguments, plugins, **environ):
        return finished(["-m", "tg.cli", *arguments], paths(site, plugins), COLUMNS="400", **environ)

    return run


@pytest.fixture
def released(site, tmp_path):
    """Run a script with core and C from their wheels and what they need: no site-packages, nothing editable."""

    def run(*arguments):
        return finished(["-S", *arguments], [site / "released", site / "needed"], TG_CACHE_DIR=str(tmp_path / "cache"))

    return run


@pytest.fixture
def natively(site, tmp_path):
    """Run a script with a plugin and both native backends from their wheels, and what they need, alone."""

    def run(plugin, *arguments):
        folders = [site / name for name in (plugin, "released", "numba", "needed", "needed-numba")]
        return finished(["-S", *arguments], folders, TG_CACHE_DIR=str(tmp_path / "cache"))

    return run


@pytest.fixture
def strangers(site, tmp_path_factory):
    """Run a line of a shell in an environment of core and the kit, from their wheels, and what these need: no more.

    Wheels can be built and installed there; nothing is downloaded. Each test has its own: a package of ops that another
    had installed would bring cases along.
    """
    environment = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    shutil.copytree(site / "kit", packages, symlinks=True, dirs_exist_ok=True)
    for name, module in {"tg": "tg.cli", "pytest": "pytest", "pip": "pip"}.items():
        script = environment / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{environment}/bin/python" -m {module} "$@"\n')
        script.chmod(0o755)
    inherited = {key: value for key, value in os.environ.items() if is_for_all(key) and not key.startswith("PYTEST")}
    alone = {"PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_DEPS": "1", "PYTHONNOUSERSITE": "1", "COLUMNS": "400"}
    path = f"{environment}/bin{os.pathsep}{os.environ['PATH']}"

    def run(line, folder):
        given = {**inherited, **QUIET, **alone, "PATH": path}
        return subprocess.run(line, shell=True, cwd=folder, env=given, capture_output=True, text=True, check=False)

    return run


def is_for_all(variable):
    """Whether a process gets a variable of the environment: of tg's the cache of this run of the tests alone."""
    return variable == "TG_CACHE_DIR" or not variable.startswith(("TG_", "PYTHON"))


def paths(site, plugins):
    """The folders of plugins, then the sources of this checkout, whichever one is installed in the environment."""
    assert all((site / name).is_dir() for name in plugins), "a plugin of the tests is misspelled"
    return [*(site / name for name in plugins), *(folder / "src" for folder in DISTRIBUTIONS)]


def finished(arguments, paths, **environ):
    """What a Python process prints; it ends well, and warnings are errors in it."""
    inherited = {key: value for key, value in os.environ.items() if is_for_all(key)}
    given = {**inherited, "PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONNOUSERSITE": "1", **environ}
    line = [sys.executable, "-W", "error", *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, check=False, text=True, env=given)
    assert done.returncode == 0, done.stderr
    return done.stdout
