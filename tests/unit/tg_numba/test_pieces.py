"""Long runs of steps on single elements become functions of their own."""

import re

import numpy as np
import pytest

import tg
from tg_numba import pieces
from tg_numba.pieces import in_pieces


@pytest.fixture
def short(monkeypatch):
    """Runs are long from 24 instructions on, and pieces have 8."""
    monkeypatch.setattr(pieces, "LONG", 24)
    monkeypatch.setattr(pieces, "LENGTH", 8)


def count(text):
    return len(re.findall(r"define internal void @graph0\.piece\d+\(", text))


def test_what_is_short_stays_as_it_is():
    lines = [f"  %v{k + 1} = fadd double %v{k}, %v{k}" for k in range(pieces.LONG - 1)]
    assert in_pieces("graph0", lines) == ([], lines)


@pytest.mark.usefixtures("short")
def test_pieces_hand_on_what_others_read():
    lines = ["  %v0 = load double, ptr %x", *(f"  %v{k + 1} = fadd double %v{k}, %v0" for k in range(26))]
    lines.append("  store double %v24, ptr %y")
    made, left = in_pieces("graph0", lines)
    assert len(made) == 3
    assert made[1].startswith("define internal void @graph0.piece1(ptr %held, double %v0) nounwind {\nentry:\n")
    assert "  %v8 = load double, ptr %v8.held\n  %v9 = fadd double %v8, %v0\n" in made[1]
    assert "  %v16 = fadd double %v15, %v0\n" in made[1]
    assert "  store double %v16, ptr %v16.held\n" in made[1]
    assert left[0] == "  %held = alloca [3 x i64]"
    assert "\n".join(left).count("call void @graph0.piece") == 3
    assert left[-1] == "  store double %v24, ptr %y"
    assert "  %v24 = load double, ptr %v24.held" in "\n".join(left)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8"])
def test_the_same_comes_out(dtype):
    """Whole numbers, tests and choices between values go from piece to piece as numbers do."""
    kind = np.dtype(dtype).type
    x, n = tg.scalar("x", dtype), tg.scalar("n", "int32")
    y, m, seen = x, n, x > kind(0)
    a, b = kind(3), np.int32(5)
    for k in range(40):
        y = tg.where(y > kind(k % 5), y - kind(2), y + kind(k % 7))
        m = tg.where(seen, m * np.int32(3) + np.int32(k), m ^ np.int32(k))
        seen = (y < kind(4)) ^ (m > np.int32(0))
    f = tg.function([x, n], [y, m, seen], backend="numba")
    assert count(f.source()) > 4
    with np.errstate(over="ignore"):
        test = a > 0
        for k in range(40):
            a = kind(a - kind(2)) if a > k % 5 else kind(a + kind(k % 7))
            b = np.int32(b * np.int32(3) + np.int32(k)) if test else np.int32(b ^ np.int32(k))
            test = bool(a < 4) != bool(b > 0)
    found = f(kind(3), np.int32(5))
    assert [np.asarray(v).dtype for v in found] == [np.dtype(dtype), np.dtype("int32"), np.dtype(bool)]
    assert [v.item() for v in map(np.asarray, found)] == [a.item(), b.item(), test]


@pytest.mark.usefixtures("short")
def test_steps_and_their_gradient():
    x = tg.scalar("x")
    y = x
    for k in range(60):
        y = tg.sin(y) * 0.5 + x * float(k % 4)
    f = tg.function([x], [y, tg.grad(y, x)], backend="numba")
    assert count(f.source()) > 20
    a, slope = 0.3, 1.0
    for k in range(60):
        slope = np.cos(a) * slope * 0.5 + k % 4
        a = np.sin(a) * 0.5 + 0.3 * (k % 4)
    np.testing.assert_allclose(f(0.3), [a, slope], rtol=1e-13)


@pytest.mark.usefixtures("short")
def test_a_check_between_pieces_is_told():
    x, v = tg.scalar("x", "int64"), tg.vector("v")
    y = x
    for k in range(60):
        y = (y * np.int64(k % 3 + 1) + np.int64(k)) % np.int64(97)
    f = tg.function([x, v], v[y] + 1.0, backend="numba")
    assert count(f.source()) > 4
    place = 5
    for k in range(60):
        place = (place * (k % 3 + 1) + k) % 97
    assert f(np.int64(5), np.arange(97.0)) == place + 1
    with pytest.raises(IndexError, match=str(place)):
        f(np.int64(5), np.arange(float(place)))
