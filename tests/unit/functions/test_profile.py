"""`f.profile()`: the phases of a call and the nodes of its program, with the user's names and lines."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tg.functions import profile as profiles
from tg.link.timed import names_at, text_of


def made():
    x = tg.vector("x")
    decay = tg.exp(-x)
    total = tg.sum(decay)
    return tg.function([x], [decay, total], backend="perform", name="decays")


def test_each_node_has_the_users_name_and_line():
    found = made().profile(np.ones(100), calls=4)
    rows = {row.part: row for row in found.rows}
    assert rows["exp"].name == rows["negative"].name == "decay"
    assert rows["Reduce add"].name == "total"
    (line,) = rows["exp"].lines
    assert line.startswith("test_profile.py:")
    assert line.endswith(":  decay = tg.exp(-x)")
    assert all(row.runs == 1 for row in found.rows)


def test_the_parts_and_what_is_between_are_the_whole():
    found = made().profile(np.ones(100))
    assert found.calls == 10
    assert found.total == sum(found.phases.values())
    assert sum(row.seconds for row in found.rows) == pytest.approx(found.phases["program"])
    assert found.rows[-1].part == "between the parts"
    assert list(found.phases) == ["checks and conversion", "program", "outputs"]
    assert min(found.call, *found.phases.values()) > 0


def test_the_peak_is_of_what_is_alive_at_once():
    x = tg.vector("x")
    y = x
    for _ in range(20):
        y = tg.exp(y)  # one dies as the next is made
    f = tg.function([x], y, backend="perform")
    assert f.profile(np.zeros(1000)).peak == 2 * 8000


def test_arguments_go_as_in_a_call():
    x, k = tg.vector("x"), tg.scalar("k")
    f = tg.function([x, k], x * k, defaults={k: 2.0}, backend="perform")
    assert f.profile([1, 2], calls=1).calls == 1
    assert f.profile(x=[1.0], k=3, calls=1).calls == 1
    with pytest.raises(tg.InputError, match="input 'x' is missing"):
        f.profile()
    with pytest.raises(tg.InputError, match=r"profile: calls: found 0, needed a positive int"):
        f.profile([1.0], calls=0)


def test_nothing_is_updated():
    count = tg.shared(0, "count")
    f = tg.function([], count, updates={count: count + 1}, backend="perform")
    found = f.profile()
    assert count.get_value() == 0
    assert {"add"} <= {row.part for row in found.rows}


def test_a_call_that_fails_fails_here_too():
    x = tg.vector("x")
    f = tg.function([x], x[3], backend="perform")
    with pytest.raises(tg.BoundsError, match="index 3 is out of bounds"):
        f.profile(np.ones(2))


def test_the_specialisation_that_the_arguments_need_is_profiled():
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], x + y, backend="perform")
    found = f.profile([1.0], [1.0, 2.0])
    assert f.compiles == 2
    assert "add" in {row.part for row in found.rows}


def test_a_program_that_nobody_can_take_apart_is_one_part(monkeypatch):
    f = made()
    monkeypatch.setattr(type(f.programs.main.executable), "timed", lambda self: None)
    found = f.profile(np.ones(3))
    assert (found.rows, found.is_split, found.peak) == ((), False, None)
    assert found.total == sum(found.phases.values())
    assert str(found).endswith(profiles.WHOLE)


def test_the_text_is_sorted_by_time():
    text = str(made().profile(np.ones(10000)))
    assert text.startswith("a call of decays on perform: ")
    rows = [line for line in text.split("\n") if line.startswith("│")]
    shares = [float(line.split("│")[2]) for line in rows if line.split("│")[2].strip()]
    *parts, whole = shares
    assert parts == sorted(parts, reverse=True)
    assert whole == 100
    assert sum(parts) == pytest.approx(100, abs=0.05 * (len(parts) + 1))
    assert "decay = tg.exp(-x)" in " ".join(row.split("│")[-2].strip() for row in rows)


def test_values_with_names_of_their_own_have_those():
    x = tg.vector("x")
    wanted = tg.named(tg.exp(x), "mu") + 1
    graph = tg.function([x], wanted, backend="perform").graph
    names = {text_of(node.op): names_at(graph, k) for k, node in enumerate(graph.nodes)}
    assert names == {"exp": ["mu"], "add": ["wanted"]}
