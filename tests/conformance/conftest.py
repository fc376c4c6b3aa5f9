"""Backends with bugs, installed where the workers look."""

import shutil
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parent / "plugin" / "tg_bugs.py"
NAMES = (
    "clamp",
    "remainder",
    "division",
    "nan",
    "tie",
    "dtype",
    "scatter",
    "alias",
    "write",
    "layout",
    "stale",
    "zero",
    "accumulator",
    "unchecked",
    "partial",
    "crash",
    "hang",
    "missing",
    "gaps",
)


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """A folder with the plugin and its metadata, as `pip install --target` would leave it."""
    folder = tmp_path_factory.mktemp("bugs")
    shutil.copy(PLUGIN, folder)
    info = folder / "tg_bugs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tg-bugs\nVersion: 1.0\n")
    points = "\n".join(f"bug-{name} = tg_bugs" for name in NAMES)
    (info / "entry_points.txt").write_text(f"[tg.backends.1]\n{points}\n")
    return folder
