"""Each fragment in `changes/` gets into the notes of the next release."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
KINDS = {one["directory"] for one in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]}
FRAGMENTS = sorted((ROOT / "changes").iterdir())


def test_a_fragment_is_named_by_its_kind():
    assert FRAGMENTS
    assert not [path.name for path in FRAGMENTS if path.suffix != ".md" or path.stem.rpartition(".")[2] not in KINDS]


def test_every_fragment_is_in_the_notes():
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "next", "--date", "today"]
    notes = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert not [path.name for path in FRAGMENTS if path.read_text().strip() not in notes]
