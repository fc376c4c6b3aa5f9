"""Writing a new distribution from the files of a template, in which `sample` stands for its name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tg.errors import InputError, message

if TYPE_CHECKING:
    from collections.abc import Mapping

TEMPLATES: Final = Path(__file__).parent / "templates"
NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def check_name(name: str, taken: Mapping[str, str]) -> None:
    """Refuse a name that is no lower-case word, or has an owner already.

    Raises:
        InputError: with the name and what is needed.
    """
    if NAME.fullmatch(name) is None:
        near = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-0123456789")
        hint = f"such as {near or 'my-library'}"
        raise InputError(message(f"name: found {name!r}, needed lower-case words joined by -", hint=hint))
    if name.startswith("tg-"):
        plain = name.removeprefix("tg-")
        raise InputError(message(f"name: found {name!r}, which would make the distribution tg-{name}", hint=plain))
    if name in taken:
        raise InputError(message(f"name: {name!r} is taken: {taken[name]}"))


def package(name: str) -> str:
    """The package that the distribution of a name holds."""
    return f"tg_{name.replace('-', '_')}"


def read(template: str, name: str) -> dict[str, str]:
    """The files of a template, by path, with a name in place of `sample`."""
    root = TEMPLATES / template
    files = sorted(path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {module(str(path.relative_to(root)), name): renamed(path.read_text("utf-8"), name) for path in files}


def module(text: str, name: str) -> str:
    """A path, or the name of a module, with that of a distribution's in place of `sample`."""
    word = name.replace("-", "_")
    return re.sub(r"(?<![a-z])sample(?![a-z])", word, text)


def renamed(text: str, name: str) -> str:
    """A text with a name in place of `sample`; where that is part of a module's name, with `_` for `-`."""
    text = re.sub(r"tg_sample(\.sample)?|test_sample|\bsample\.py", lambda match: module(match[0], name), text)
    return re.sub(r"\bsample\b", name, text)


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write all files under a folder that is new, or empty.

    Raises:
        InputError: there is something in the folder already; nothing is written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        hint = "another place can be given with --folder"
        raise InputError(message(f"folder: {folder} is there already, and is not overwritten", hint=hint))
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def written(folder: Path) -> str:
    """The user's next steps."""
    place = folder if folder.is_absolute() else f"./{folder}"
    return f"written to {folder}; next:\n  pip install -e {place}\n  pytest {place}"
