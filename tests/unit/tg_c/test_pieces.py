"""Long runs of scalar statements are written as functions of their own."""

import re

import numpy as np
import pytest

import tg
from tg_c import pieces
from tg_c.pieces import Local, in_pieces


def chain(steps):
    """Scalars of four dtypes, each made of earlier ones, near and far: what pieces leave for one another."""
    x, n = tg.scalar("x"), tg.scalar("n", dtype="int64")
    known = [x]
    for k in range(steps):
        y = known[-1] * 0.5 + known[k // 3]
        y = tg.where(y > n, tg.cast(tg.cast(y, "float32"), "float64") - n, y + tg.sqrt(tg.abs(known[k // 2])))
        known.append(y)
    return [x, n], [known[-1], known[steps // 2]]


def followed(steps, x, n):
    known = [np.float64(x)]
    for k in range(steps):
        y = known[-1] * 0.5 + known[k // 3]
        known.append(np.float64(np.float32(y)) - n if y > n else y + np.sqrt(np.abs(known[k // 2])))
    return known[-1], known[steps // 2]


@pytest.mark.parametrize("length", [3, 128])
@pytest.mark.parametrize("x", [0.3, -7.25, 1e30])
def test_a_long_chain_is_the_loop_that_it_stands_for(x, length, monkeypatch, tmp_path):
    monkeypatch.setattr(pieces, "LENGTH", length)
    monkeypatch.setattr(pieces, "LONG", 2 * length)
    monkeypatch.setenv("TG_CACHE_DIR", str(tmp_path))
    steps = 120 if length > 3 else 12
    f = tg.function(*chain(steps), backend="c", mode="off")
    assert len(re.findall(r"static .* void graph0_piece\d+\(", f.source())) > 2
    assert tuple(f(x, 4)) == followed(steps, x, 4)


def test_short_functions_are_in_one_piece():
    assert "graph0_piece" not in tg.function(*chain(20), backend="c", mode="off").source()


def test_what_reads_memory_stays_where_it_is(monkeypatch):
    monkeypatch.setattr(pieces, "LENGTH", 2)
    monkeypatch.setattr(pieces, "LONG", 4)
    lines = ["const f64 a = x;", "const f64 b = a + 1.0;", "const f64 c = p[0];", "const f64 d = b + c;"]
    lines += [
        "const f64 e = d * 1e5;",
        None,
        "const i64 g = (i64)e;",
        "const f64 h = sin(a) + (f64)g;",
        "*out0 = h + e;",
    ]
    names = {0: "a", 1: "b", 2: "c", 3: "d", 4: "e", 6: "g", 7: "h"}
    scalars = {at: Local("int64" if name == "g" else "float64", name) for at, name in names.items()}
    shared, made, found = in_pieces("f", lines, scalars, {"x": "float64"})
    assert shared == "struct f_held { f64 e; f64 h; };"
    assert [piece.places for piece in made] == [{0: 3, 1: 4}, {1: 6, 2: 7}]
    assert [piece.text for piece in made] == [
        (
            "static __attribute__((noinline)) void f_piece0(struct f_held *const held, const f64 b, const f64 c) {\n"
            "  const f64 d = b + c;\n  const f64 e = d * 1e5;\n  held->e = e;\n}"
        ),
        (
            "static __attribute__((noinline)) void f_piece1(struct f_held *const held, const f64 a) {\n"
            "  const f64 e = held->e;\n  const i64 g = (i64)e;\n  const f64 h = sin(a) + (f64)g;\n  held->h = h;\n}"
        ),
    ]
    assert found == [
        *lines[:3],
        "struct f_held held;",
        "f_piece0(&held, b, c);\n  const f64 e = held.e;",
        None,
        None,
        "f_piece1(&held, a);\n  const f64 h = held.h;",
        "*out0 = h + e;",
    ]


def test_the_users_lines_stand_before_what_they_became():
    x = tg.scalar("x")
    y = x
    for k in range(200):
        y = tg.sin(y)
        y = y + x * float(k)
    source = tg.function([x], y, backend="c").source()
    assert re.search(r"y = tg.sin\(y\) \*/\n  const f64 v\d+ = sin\(", source)
    starts = re.findall(r"/\* test_pieces.py:\d+ in \w+:  y = (.*) \*/\n  const f64 v\d+ = (.*);", source)
    assert len(starts) > 390
    assert all(("sin(" in statement) == ("sin(" in line) for line, statement in starts)
