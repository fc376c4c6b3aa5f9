"""Drawn programs of loops give what Python's loops over NumPy give; `python -m tests.enumerate.loops` draws more."""

import pytest

import tg
from tests.enumerate.loops import compared, run
from tg import plugin


def native():
    """The backends that generate code of their own."""
    found = (plugin.registry().backend(s.name) for s in plugin.registry().backends() if s.is_available)
    return [b.name for b in found if b.raises and b.requires]


@pytest.mark.parametrize("first", [1000, 1008])
def test_drawn_programs_on_the_reference(first):
    faults, count = run(range(first, first + 8), "perform")
    assert not faults
    assert count >= 8


@pytest.mark.parametrize("backend", native())
def test_drawn_programs_in_compiled_code(backend):
    faults, count = run(range(2000, 2003), backend)
    assert not faults
    assert count >= 3


@pytest.mark.parametrize("backend", native())
def test_what_was_found_once(backend):
    """Two loops backwards over one length: what the first had computed of it in its steps was read by the second."""
    assert not run([5049], backend)[0]


@pytest.mark.long
@pytest.mark.parametrize("backend", ["perform", *native()])
def test_more_drawn_programs(backend):
    faults, _ = run(range(3000, 3100), backend)
    assert not faults


def test_a_wrong_loop_is_noticed(monkeypatch):
    """The comparison sees a loop that goes the other way."""

    def turned(f, init, xs, length, reverse, types, empty):
        return tg.scan(f, init, xs or None, length, reverse=not reverse)

    monkeypatch.setattr("tests.enumerate.loops.Tg.scan", turned)
    assert any("DifferenceError" in text for seed in range(4000, 4040, 2) for text in run([seed], "perform")[0])


def test_a_seed_always_draws_the_same_program():
    assert compared(8, "perform") == compared(8, "perform")
