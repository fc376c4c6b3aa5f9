"""The names of other libraries: what an error says instead of them is code that works, and no name is tg's own."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import pytest

import tg
from tests.hints import codes, run
from tg import words
from tg.libraries import pytensor, tensorflow

if TYPE_CHECKING:
    from pathlib import Path

OF_LIBRARIES = [row for library in (tensorflow, pytensor) for row in (*library.ROWS, *library.WITHOUT)]
ROWS = [names.split() for names, _ in (*words.ELSEWHERE, *words.LATER, *OF_LIBRARIES)]
NAMES = [name for row in ROWS for name in row]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_is_said_instead_of_a_name_works(row: list[str], dtype: str, tmp_path: Path) -> None:
    said_codes = [code for name in row for code in codes(said(name))]
    assert said_codes
    for code in dict.fromkeys(said_codes):
        run(code, dtype, tmp_path)


def said(name: str) -> str:
    with pytest.raises(AttributeError) as caught:
        getattr(tg, name)
    return str(caught.value)


def test_a_name_that_tg_has_is_no_word() -> None:
    assert not set(NAMES) & {*dir(tg), *tg.nn.__all__}
    assert not [name for name in NAMES if importlib.util.find_spec(f"tg.{name}")]


def test_no_word_stands_twice() -> None:
    assert len(set(NAMES)) == len(NAMES)


def test_a_name_that_is_elsewhere() -> None:
    assert said("dvector") == "module 'tg' has no attribute 'dvector'\n  hint: `tg.vector(\"x\")`"


def test_a_name_of_networks() -> None:
    for name, meant in {"gelu": "gelu", "hard_swish": "hardswish"}.items():
        assert said(name) == f"module 'tg' has no attribute {name!r}\n  hint: tg.nn.{meant} exists"


def test_a_name_that_is_to_come() -> None:
    assert said("make_mesh").startswith("module 'tg' has no attribute 'make_mesh' yet\n  hint: `tg.shard(tg.matrix(")


NEAR = {"vectr": "vector", "reshpae": "reshape", "Vector": "vector", "soft_max": "softmax", "Scalar": "scalar"}


@pytest.mark.parametrize(("name", "meant"), NEAR.items())
def test_a_name_with_a_letter_wrong(name: str, meant: str) -> None:
    assert said(name) == f"module 'tg' has no attribute {name!r}\n  hint: tg.{meant} exists"


@pytest.mark.parametrize("name", ["frobnicate", "zzz", "jet", "obelisk"])
def test_a_name_that_resembles_none(name: str) -> None:
    assert said(name) == f"module 'tg' has no attribute {name!r}"


@pytest.mark.parametrize(
    ("module", "name", "hint"),
    [
        (tg.special, "gamaln", "tg.special.gammaln exists"),
        (tg.special, "sin", "tg.sin exists"),
        (tg.linalg, "solv_triangular", "tg.linalg.solve_triangular exists"),
        (tg.linalg, "cholesky_inverse", None),
    ],
)
def test_modules_of_functions_give_the_hints_that_tg_gives(module: Any, name: str, hint: str | None) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)
    more = f"\n  hint: {hint}" if hint else ""
    assert str(caught.value) == f"module {module.__name__!r} has no attribute {name!r}{more}"
    assert not hasattr(module, "__path__")
