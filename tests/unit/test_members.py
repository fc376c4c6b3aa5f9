"""Attributes that objects of other libraries have: what is said instead of each is code that works."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tg
from tests.hints import codes, run, setting
from tg import members

if TYPE_CHECKING:
    from pathlib import Path

OBJECTS = {
    "Variable": "x", "Shared": "state", "Function": "f", "Jitted": "j", "Place": "x.at[0]", "IndexedUpdates": "x.at",
    "Module": "model", "RandomStream": "stream", "Configure": "tg.config",
}  # fmt: skip


def test_every_class_of_the_table_has_an_object_here() -> None:
    assert {kind for kinds, _, _ in members.ELSEWHERE for kind in kinds.split()} == OBJECTS.keys()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("kinds", "names", "text"), members.ELSEWHERE, ids=lambda text: text[:20])
def test_what_is_said_instead_of_a_member_works(kinds: str, names: str, text: str, dtype: str, tmp_path: Path) -> None:
    assert codes(text)
    for kind in kinds.split():
        for name in names.split():
            hint = said(kind, name, tmp_path).partition("\n  hint: ")[2]
            assert hint == text.replace("{name}", name)
            for code in codes(hint):
                run(code, dtype, tmp_path)


def test_no_member_stands_twice() -> None:
    every = [(kind, name) for kinds, names, _ in members.ELSEWHERE for kind in kinds.split() for name in names.split()]
    assert len(set(every)) == len(every)


def said(kind: str, name: str, path: Path) -> str:
    names, _ = setting(OBJECTS[kind], "float64", path)
    with pytest.raises(AttributeError) as caught:
        getattr(eval(OBJECTS[kind], names), name)
    return str(caught.value)


@pytest.mark.parametrize("name", ["value", "data"])
def test_assigning_a_value_to_a_shared_variable_tells_the_call_that_does_it(name: str) -> None:
    s = tg.shared(np.zeros(2), "s")
    with pytest.raises(
        AttributeError, match=rf"found an assignment of {name}, needed a call\n  hint: s.set_value\(v\)"
    ):
        setattr(s, name, np.ones(2))
    assert s.get_value().tolist() == [0.0, 0.0]
    assert not hasattr(s, name)
    assert name not in dir(s)


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        ("Variable", "exp", "tg.exp is a function: tg.exp(x)"),
        ("Variable", "unsqueeze", "`tg.expand_dims(x, 0)`"),
        ("Variable", "summ", "sum exists"),
        ("Shared", "view", "`x.reshape(-1, 1)`"),
        ("Shared", "set_valu", "set_value exists"),
        ("Function", "profil", "profile exists"),
        ("Place", "sett", "set exists"),
        ("Configure", "bakend", "backend exists"),
    ],
)
def test_members_that_are_functions_words_and_near_names(kind: str, name: str, hint: str, tmp_path: Path) -> None:
    assert said(kind, name, tmp_path).endswith(f" object has no attribute {name!r}\n  hint: {hint}")


@pytest.mark.parametrize("kind", OBJECTS)
def test_what_no_library_has(kind: str, tmp_path: Path) -> None:
    assert said(kind, "colour", tmp_path).endswith("object has no attribute 'colour'")
    assert said(kind, "__array_interface__", tmp_path).endswith("object has no attribute '__array_interface__'")


def test_objects_are_copied_and_pickled_as_before() -> None:
    x = tg.vector("x")
    f = tg.function([x], x * 2, backend="perform")
    assert pickle.loads(pickle.dumps(f))(np.ones(2)).tolist() == [2.0, 2.0]
    assert copy.copy(x).name == copy.deepcopy(x).name == "x"
    assert not hasattr(x, "colour")


def test_the_configuration_is_read_and_not_assigned() -> None:
    with tg.config(backend="perform"):
        assert tg.config.backend == "perform"
    config: Any = tg.config
    with pytest.raises(tg.InputError, match=r"found an assignment of backend, needed a `with` block\n.*TG_BACKEND"):
        config.backend = "perform"
    with pytest.raises(tg.OptionError, match="unknown option 'bakend'"):
        config.bakend = "perform"
    with pytest.raises(tg.InputError, match="found a deletion of mode"):
        del config.mode
    assert tg.config.backend == tg.configuration.Config().backend
    assert "backend" in dir(tg.config)
    assert pickle.loads(pickle.dumps(tg.config)) is tg.config


def test_a_slot_that_is_not_set_is_told_without_advice() -> None:
    with pytest.raises(AttributeError) as told:
        tg.vector("x").assumed  # noqa: B018 (asked for, as rewriting does at each node)
    assert str(told.value) == "'Variable' object has no attribute 'assumed'"
