"""The page of errors has a section for every class, which shows it raised, and says what it is besides."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tg
import tg.errors

PAGE = Path(__file__).parents[2] / "docs/errors.md"
CLASSES = [
    v
    for v in vars(tg.errors).values()
    if isinstance(v, type) and issubclass(v, tg.TgError) and v.__module__ == tg.errors.__name__
]


def sections() -> dict[str, str]:
    found = re.split(r"^## `(\w+)`\n", PAGE.read_text(), flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def test_the_page_has_a_section_for_every_class_and_no_other() -> None:
    assert set(sections()) == {c.__name__ for c in CLASSES}


@pytest.mark.parametrize("kind", [c for c in CLASSES if c is not tg.TgError], ids=lambda c: c.__name__)
def test_a_section_shows_the_error_and_names_its_built_in_class(kind: type[tg.TgError]) -> None:
    text = sections()[kind.__name__]
    (_, builtin) = kind.__bases__
    assert f"\ntg.errors.{kind.__name__}: " in text
    assert f"`{builtin.__name__}`" in text


def test_every_class_is_in_the_namespace() -> None:
    assert all(getattr(tg, c.__name__) is c for c in CLASSES)
