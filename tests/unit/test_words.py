"""The names of other libraries: what an error says instead of them is code that works, and no name is tg's own."""

from __future__ import annotations

import ast
import importlib.util
import pickle
import re
from typing import Any

import numpy as np
import pytest
import scipy

import tg
from tg import words
from tg.functions.shared import Shared

ROWS = [names.split() for names, _ in (*words.ELSEWHERE, *words.LATER)]
NAMES = [name for row in ROWS for name in row]


def setting() -> tuple[dict[str, Any], dict[Any, Any]]:
    """The names that the code of the table may use, and the values of those that are inputs."""
    x, y, s, m = tg.vector("x"), tg.vector("y"), tg.scalar("s"), tg.matrix("m")
    w, u = tg.vector("w", shape=(3,)), tg.vector("u", shape=(3,))
    i, k, mask = tg.vector("i", "int64"), tg.scalar("k", "int64"), tg.vector("mask", "bool")
    values = {x: [1.0, 2.0], y: [0.5, 3.0], s: 0.5, m: [[2.0, 1.0], [1.0, 3.0]], w: [1.0, 2.0, 3.0], u: [3.0, 1.0, 2.0]}
    values |= {i: [1, 0], k: 0, mask: [True, False]}
    state = tg.shared(0.5, "state")
    names = {v.name: v for v in values} | {"state": state, "cost": tg.sum((x - 1) ** 2)}
    names |= {"loss": tg.sum(x * state), "f": lambda v: v, "rng": np.random.default_rng(0)}
    return names | {"tg": tg, "np": np, "scipy": scipy, "pickle": pickle}, values


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_is_said_instead_of_a_name_works(row: list[str]) -> None:
    codes = [code for name in row for code in re.findall(r"`([^`]+)`", said(name))]
    assert codes
    for code in dict.fromkeys(codes):
        names, values = setting()
        try:
            ast.parse(code, mode="eval")
        except SyntaxError:
            exec(code, names)
            continue
        found = eval(code, names)
        for v in found if isinstance(found, tuple) else (found,):
            needed = inputs_of(v) if isinstance(v, tg.Variable) else set()
            if needed and needed <= values.keys():
                tg.evaluate(v, {x: values[x] for x in needed})


def inputs_of(v: Any) -> set[Any]:
    """The inputs of an expression."""
    if not v.inputs:
        return set() if isinstance(v, tg.Constant | Shared) else {v}
    return set().union(*map(inputs_of, v.inputs))


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
    assert said("gcd").startswith("module 'tg' has no attribute 'gcd' yet\n  hint: `tg.wrap(np.gcd, infer=")


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
