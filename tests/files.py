"""Model files with other members: for tests of what hostile ones do."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

from tg.files.archive import write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


def members_of(path: Path) -> dict[str, bytes]:
    """The members of a file."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(path: Path, changes: Mapping[str, Callable[[bytes], bytes]]) -> None:
    """Change members of a file, with the sums and sizes that they then have."""
    members = {
        name: changes[name](content) if name in changes else content for name, content in members_of(path).items()
    }
    write(path, {name: [content] for name, content in members.items()}, {n: len(c) for n, c in members.items()})
