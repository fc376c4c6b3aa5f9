"""CONTRIBUTING says what additions cost, as counted."""

from __future__ import annotations

import pytest

from tests.costs.__main__ import ADDITIONS, PAGE, PLACE, ROOT, table


@pytest.mark.parametrize("name", ADDITIONS)
def test_every_edit_has_its_place(name):
    for edit in ADDITIONS[name]["edits"]:
        lines = (ROOT / edit["path"]).read_text().splitlines()
        assert any(line.startswith(edit["before"]) for line in lines), edit["path"]


@pytest.mark.nightly
def test_the_costs_are_as_told():
    told = PLACE.search(PAGE.read_text())
    assert told is not None
    assert told[0] == table(list(ADDITIONS))
