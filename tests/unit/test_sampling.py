"""Turns of a sampled test: the usual one and those of all days together have every parameter once."""

from types import SimpleNamespace

import pytest

from tests import conftest


def options(**chosen):
    return SimpleNamespace(getoption=lambda name: {"--turn": None, "--whole": False, "--of-sampled": 1, **chosen}[name])


@pytest.mark.parametrize("count", [1, 2, 5, 40])
@pytest.mark.parametrize("usual", [2, 3, 16])
def test_turns_share_out_all_parameters(count, usual):
    drawn = list(range(count))
    turns = [options(**{"--whole": True, "--of-sampled": 60, "--turn": k}) for k in range(1, usual)]
    parts = [conftest.sample(drawn, *conftest.share_and_turn(one, usual)) for one in (options(), *turns)]
    assert all(parts)
    assert {one for part in parts for one in part} == {*drawn}
    assert count < usual or sum(map(len, parts)) == count


def test_each_day_has_another_turn_and_none_the_usual(monkeypatch):
    turns = set()
    for day in range(20):
        monkeypatch.setattr(conftest, "TODAY", day)
        turns.add(conftest.share_and_turn(options(**{"--whole": True, "--of-sampled": 5}), 60))
    assert turns == {(5, 1), (5, 2), (5, 3), (5, 4)}
    assert conftest.share_and_turn(options(**{"--whole": True}), 60)[0] == 1
