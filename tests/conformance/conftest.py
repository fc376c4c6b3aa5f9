"""Backends with bugs, installed where the workers look."""

import os
import shutil
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "plugin"
sys.path.append(str(FOLDER))  # the tests read the table of bugs; no backend comes of it without the metadata below


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """A folder with the plugin and its metadata, as `pip install --target` would leave it."""
    from tg_bugs.catalog import PLACES

    folder = tmp_path_factory.mktemp("bugs")
    shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
    info = folder / "tg_bugs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tg-bugs\nVersion: 1.0\n")
    points = "\n".join(f"{backend} = tg_bugs" for backend in PLACES)
    (info / "entry_points.txt").write_text(f"[tg.backends.1]\n{points}\n")
    return folder


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """Install a module that has entry points; gives the environment of a process that sees it."""

    def install(module, text, points):
        folder = tmp_path_factory.mktemp(module)
        (folder / f"{module}.py").write_text(text)
        info = folder / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module.replace('_', '-')}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(points)
        return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])}

    return install
