"""Type checkers know the names of `tg`: the stubs are as the names are, and options of methods those of functions."""

from __future__ import annotations

import inspect

import pytest

import tg
from tests.stub.stub import stubs
from tg.graph import method_options


def test_the_stub_is_as_the_names_are() -> None:
    for path, text in stubs().items():
        assert path.read_text() == text, "if names were meant to change: make stub, and commit the files"


OPTIONS = {
    name: inspect.signature(method).parameters["options"].annotation.removeprefix("Unpack[").removesuffix("]")
    for name, method in inspect.getmembers(tg.Variable, inspect.isfunction)
    if "Unpack" in str(inspect.signature(method))
}


@pytest.mark.parametrize(("name", "options"), OPTIONS.items())
def test_the_options_of_a_method_are_those_of_the_function(name: str, options: str) -> None:
    known = [*inspect.signature(getattr(tg, name)).parameters][2:]
    assert sorted(getattr(method_options, options).__optional_keys__) == sorted(known)


def test_reductions_and_sorts_have_options() -> None:
    assert {"sum", "std", "argmax", "cumsum", "sort"} <= OPTIONS.keys()
