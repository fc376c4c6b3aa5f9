"""The page of NumPy's names: each name is one of tg's, or has a row that says what to use."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tg
from tg import words

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs" / "_ext"))
    from tg_pages import numpy_names

    yield numpy_names
    for name in [name for name in sys.modules if name.split(".")[0] == "tg_pages"]:
        del sys.modules[name]


def test_each_name_of_numpy_is_in_tg_or_has_a_row(names: Any) -> None:
    without = [name for name in names.numpy_names() if not hasattr(tg, name)]
    assert [name for name in without if words.instead(name) is None and name not in names.reasons()] == []
    assert len(without) < 160


def test_each_name_of_jax_is_in_tg_or_has_a_row(names: Any) -> None:
    theirs = {name for name in dir(pytest.importorskip("jax.numpy")) if not name.startswith("_")}
    assert theirs - set(dir(np)) == set(names.JAX)
    assert [name for name in names.JAX if not names.in_tg(name)] == []


def test_a_reason_is_of_names_that_tg_does_not_have(names: Any) -> None:
    assert [name for name in names.reasons() if hasattr(tg, name) or words.instead(name)] == []
    rows = [name for row, _ in names.OUTSIDE for name in row.split()]
    assert len(rows) == len(set(rows))
    assert [name for name in rows if not hasattr(np, name) and name not in names.JAX] == []


def test_the_page_has_each_name_once_or_says_it(names: Any) -> None:
    page = names.page()
    assert [name for name in names.numpy_names() if f"`{name}`" not in page] == []
    assert "| `kaiser` |" in page
