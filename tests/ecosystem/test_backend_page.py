"""The page for authors of backends is true: its commands print what it shows, where nothing but wheels is installed."""

import re
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "backend.md"
BLOCK = re.compile(r"^```(console|diff)\n(.*?)^```", re.MULTILINE | re.DOTALL)
STATUS = re.compile(r"\[exit status (\d+)\]\n\Z")


@pytest.mark.long
def test_the_commands_and_changes_of_the_page_do_what_it_shows(strangers, tmp_path):
    blocks = BLOCK.findall(PAGE.read_text())
    assert len(blocks) > 12
    for kind, text in blocks:
        if kind == "diff":
            change(tmp_path, text)
        else:
            for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
                check(command, shown, strangers(command, tmp_path))


def check(command: str, shown: str, done: subprocess.CompletedProcess[str]) -> None:
    """Fail unless a command printed what the page shows, `...` and spaces being any, and ended as it says."""
    status = STATUS.search(shown)
    printed = f"$ {command}\n{done.stdout}{done.stderr}"
    assert done.returncode == (int(status[1]) if status else 0), printed
    pieces = re.split(r"\.\.\.|…", " ".join(STATUS.sub("", shown).split()))
    rest = " ".join(done.stdout.split())
    for piece in filter(None, map(str.strip, pieces)):
        _, found, rest = rest.partition(piece)
        assert found, f"{printed}\nfound no {piece}\nof\n{shown}"


def change(folder: Path, text: str) -> None:
    """Apply a diff: lines that are replaced in a file, where they are once, or a new file."""
    head, *lines = text.splitlines(keepends=True)
    path = folder / head[4:].strip()
    old, new = ("".join(line[1:] for line in lines if line[0] != other) for other in "+-")
    if head.startswith("+++"):
        path.write_text(new)
        return
    before = path.read_text()
    assert before.count(old) == 1, f"{path} has {before.count(old)} times\n{old}"
    path.write_text(before.replace(old, new))
