"""The network that closes brackets: its text, and its training beside torch's."""

from __future__ import annotations

import gru
import numpy as np
import pytest


def test_every_line_closes_what_was_opened_last():
    for column in gru.lines(50, 0).T:
        stack = []
        for character in (gru.CHARACTERS[k] for k in column):
            if character in gru.OPENING:
                stack.append(character)
            else:
                assert stack.pop() + character in ("()", "[]", "{}")
        assert len(stack) <= gru.DEEP


def test_what_closes_rightly_is_counted_among_what_closes():
    text = np.array([[gru.CHARACTERS.index(c)] for c in "([])"])
    scores = np.zeros((3, 1, 6))
    scores[1, 0, gru.CHARACTERS.index("]")] = 1.0
    scores[2, 0, gru.CHARACTERS.index("}")] = 1.0
    scores[2, 0, gru.CHARACTERS.index("(")] = 9.0  # opens: not asked
    assert gru.closes_rightly(scores, text) == 0.5


def test_the_first_losses_are_those_of_torch(monkeypatch):
    pytest.importorskip("torch")
    for name, value in (("HIDDEN", 8), ("BATCH", 4), ("LENGTH", 8)):
        monkeypatch.setattr(gru, name, value)
    found, needed = gru.train("perform", 5), gru.train_torch(5)
    np.testing.assert_allclose(found.losses, needed.losses, rtol=1e-12)
    assert found.right == needed.right


@pytest.mark.long(minutes=1)
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_a_training_is_that_of_torch_and_learns_to_close(backend):
    pytest.importorskip("torch")
    found, needed = gru.train(backend), gru.train_torch()
    np.testing.assert_allclose(found.losses[:20], needed.losses[:20], rtol=1e-12)
    np.testing.assert_allclose(found.losses, needed.losses, rtol=1e-6)
    assert found.right == needed.right > 0.95
    assert 0 < found.step_microseconds * (gru.STEPS - 1) < 1e6 * found.seconds
