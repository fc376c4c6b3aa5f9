"""Loops on MLX: evaluated as they go, their steps recorded or compiled."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

import tg
from tg_mlx.rules import loops
from tg_mlx.rules.loops import _parts


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 99, 100, 101, 250])
def test_every_step_is_in_one_part(length, reverse) -> None:
    places = [k for part in _parts(length, reverse=reverse) for k in part]
    assert places == (list(range(length))[::-1] if reverse else list(range(length)))
    assert all(0 < len(part) <= loops.STEPS for part in _parts(length, reverse=reverse))


def test_no_more_than_a_hundred_steps_wait_to_be_evaluated(monkeypatch) -> None:
    evaluated = []
    before = mx.eval
    monkeypatch.setattr(loops.mx, "eval", lambda *a: evaluated.append(a) or before(*a))
    x, a = tg.vector("x"), tg.scalar("a")
    f = tg.function([x, a], tg.scan(lambda c, v: (c * a + v, None), 0.0, x)[0], backend="mlx")
    found = f(np.ones(350), 0.5)
    assert found == pytest.approx(2, rel=1e-15)
    assert len(evaluated) >= 4


@pytest.mark.parametrize("compile", [False, True])
def test_a_step_is_traced_once(compile, monkeypatch) -> None:
    made = []
    name = "compile" if compile else "export_function"
    before = getattr(mx, name)
    monkeypatch.setattr(mx, name, lambda *a: made.append(a) or before(*a))
    x = tg.vector("x")
    total, kept = tg.scan(lambda c, v: (tg.sin(c) + v, c), 0.0, tg.exp(x))
    f = tg.function([x], [total, kept], backend=tg.backend("mlx", compile=compile))
    for n in (2, 2, 150):
        given, c, rows = np.linspace(-1, 1, n), 0.0, []
        for v in np.exp(given):
            rows.append(c)
            c = np.sin(c) + v
        found = f(given)
        np.testing.assert_allclose(found[0], c, rtol=1e-6)
        np.testing.assert_allclose(found[1], rows, rtol=1e-6)
    assert len([a for a in made if a]) <= 2  # the other is a program that asks whether recordings run in every thread
