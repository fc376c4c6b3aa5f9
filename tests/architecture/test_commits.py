"""Messages of commits: a scope, an imperative, at most 72 characters, a reason."""

from __future__ import annotations

import pytest

from tests.commits import faults, since_the_check

BODY = "\n\nThe reason.\n"


@pytest.mark.parametrize(
    "subject",
    [
        "rules: keep the index map of a squeeze",
        "tg-c: order loads before stores",
        "tg-jax, tg-mlx: share the rules of shapes",
        'Revert "rules: keep the index map of a squeeze"',
        "ops/nn: use one kernel",
    ],
)
def test_a_scope_an_imperative_and_a_reason_are_enough(subject):
    assert not faults(subject + BODY)


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("A shorter line" + BODY, "has no scope"),
        ("Rules: keep the map" + BODY, "has no scope"),
        ("rules: added a map" + BODY, "tells a story"),
        ("rules: keep the map." + BODY, "full stop"),
        ("rules: keep the map", "body: is empty"),
        ("rules: keep the map\n\n# a comment of the editor\n", "body: is empty"),
        ("rules: keep the map\nThe reason.", "empty line between"),
        ("rules: " + "keep " * 14 + BODY, "needed 72 at most"),
        ("", "has no scope"),
    ],
)
def test_what_a_message_lacks_is_told(message, fault):
    assert any(fault in text for text in faults(message))


def test_the_messages_since_this_check_are_such():
    assert not [(commit, faults(message)) for commit, message in since_the_check() if faults(message)]
