"""The protocol of turns in every order of its steps: no deadlock, no lost update, no fork amid work."""

from __future__ import annotations

import pytest

from tests.interrupts.model import ViolationError, check, compiling, forking, sets_of_variables, updating
from tg import turns
from tg.turns import Turn

USUAL = (("ab", "bc", "ca"), ("a", "ab", "abc"), ("abc", "abc", "abc"))
BESIDE_FORKS = {
    "two that compile one program": (compiling("p"), compiling("p")),
    "another fork": (forking, compiling("p")),
    "one that compiles while it compiles": (compiling("p", inside=compiling("q")), compiling("q")),
    "calls that lend": (updating("a", lends=True), updating("a", "b", lends=True)),
    "an update that compiles": (updating("a", inside=compiling("p")), updating("a", inside=compiling("p"))),
    "an update that compiles what another compiles": (updating("a", inside=compiling("p")), compiling("p")),
}


@pytest.mark.parametrize("sets", USUAL, ids="-".join)
def test_updates_in_every_order(sets):
    assert check(*(updating(*names) for names in sets)) > 500


@pytest.mark.long
@pytest.mark.parametrize("sets", sets_of_variables(), ids=lambda sets: "-".join(map("".join, sets)))
def test_updates_of_all_sets_with_an_interrupt_anywhere(sets):
    assert check(*(updating(*names) for names in sets), interrupts=1) > 500


@pytest.mark.long
def test_two_updates_each_in_every_order():
    assert check(*(updating(*names, count=2) for names in ("ab", "bc", "ca"))) > 5000


@pytest.mark.parametrize("name", ["another fork", "calls that lend"])
def test_forks_in_every_order(name):
    assert check(forking, *BESIDE_FORKS[name]) > 500


@pytest.mark.long
@pytest.mark.parametrize("name", BESIDE_FORKS)
def test_forks_in_every_order_with_an_interrupt_anywhere(name):
    assert check(forking, *BESIDE_FORKS[name], interrupts=1) > 500


def moving(self):
    """A protocol in which whoever lets others go ahead leaves the list for that, and enters it anew."""
    turns._turns[self] = None
    yield None
    other = self._other_ahead()
    yield None
    if other is not None:
        turns._turns.pop(self)
        yield other
        turns._turns[self] = None
        yield None
    yield from self.others_ahead()


def impatient(self):
    """A protocol that does not wait."""
    turns._turns[self] = None
    yield None


def undelayed(self):
    """A protocol in which no turn delays forks."""
    turns._turns[self] = None
    yield None
    yield from self.others_ahead()


@pytest.mark.parametrize(
    ("steps", "scripts", "text"),
    [
        (moving, [updating("a")] * 3, "wait for one another"),
        (impatient, [updating("a")] * 2, "goes ahead of"),
        (undelayed, [forking, compiling("p", inside=updating("a")), forking], "at work"),
    ],
)
def test_a_protocol_that_is_wrong_is_seen(monkeypatch, steps, scripts, text):
    monkeypatch.setattr(Turn, "steps", steps)
    with pytest.raises(ViolationError, match=text):
        check(*scripts)
