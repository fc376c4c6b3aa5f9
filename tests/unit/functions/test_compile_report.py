"""`f.compile_report()`: steps that lie within one another and account for what was measured around them."""

from __future__ import annotations

import gc
import pickle
from time import perf_counter

import numpy as np
import pytest

import tg
from tg.functions.report import CompileReport
from tg.graph.timing import Span, annotate, current_span, recorded
from tg.rewrite.phases import PHASES


def span(name, began, ended, *parts):
    return Span.of(name, began, ended, parts)


@pytest.fixture
def big():
    """A function of two hundred different nodes, and what making it took by a clock around it."""
    x = tg.vector("x")
    y = x
    for k in range(100):
        y = tg.sin(y) + tg.exp(-y) / (k + 2)
    began = perf_counter()
    f = tg.function([x], tg.sum(y), backend="perform")
    return f, perf_counter() - began


def test_spans_lie_within_one_another():
    with Span("outer", root=True) as outer:
        with Span("inner"):
            annotate("half way")
            with Span("innermost"):
                pass
        with Span("last"):
            pass
    assert [(depth, s.name) for depth, s in outer.walk()] == [(0, "outer"), (1, "inner"), (2, "innermost"), (1, "last")]
    assert [s.note for _, s in outer.walk()] == ["", "half way", "", ""]
    for _, one in outer.walk():
        for part in one.parts:
            assert one.began <= part.began <= part.ended <= one.ended
    assert current_span() is None


def test_a_span_ends_with_an_exception():
    with pytest.raises(ZeroDivisionError), Span("outer", root=True) as outer, Span("inner"):
        _ = 1 / 0
    assert outer.ended >= outer.parts[0].ended > 0
    assert current_span() is None


def test_the_garbage_collector_is_accounted_for():
    before = list(gc.callbacks)
    with Span("outer", root=True) as outer, Span("inner") as inner:
        gc.collect()
    assert inner.seconds >= inner.collected > 0
    assert outer.collected == 0
    assert outer.rest == pytest.approx(outer.seconds - inner.seconds)
    assert gc.callbacks == before


def test_a_root_inside_a_root_is_its_own():
    @recorded("within")
    def within():
        return current_span()

    with Span("outer", root=True) as outer:
        found = within()
    assert found is not None
    assert found.name == "within"
    assert not outer.parts


def test_rest_is_what_no_part_accounts_for():
    root = span("root", 0.0, 10.0, span("a", 0.0, 4.0, span("b", 1.0, 3.0)), span("c", 4.0, 9.0))
    assert root.rest == 1.0
    report = CompileReport("compiling", [root])
    assert report.total == 10.0
    assert [(r.depth, r.name, r.seconds, r.rest) for r in report.rows] == [
        (0, "root", 10.0, 1.0),
        (1, "a", 4.0, 2.0),
        (2, "b", 2.0, 0.0),
        (1, "c", 5.0, 0.0),
    ]
    assert report.attributed == pytest.approx(0.7)


def test_what_is_left_of_a_step_is_printed_behind_its_parts():
    root = span("root", 0.0, 10.0, span("a", 0.0, 4.0, span("b", 1.0, 3.0)), span("c", 4.0, 9.0))
    lines = str(CompileReport("compiling f", [root])).split("\n")
    assert lines[0] == "compiling f"
    cells = [[cell.strip() for cell in line.split("│")[1:4]] for line in lines if line.startswith("│")]
    assert cells == [
        ["root", "10000.00", "100.0"],
        ["a", "4000.00", "40.0"],
        ["b", "2000.00", "20.0"],
        ["rest", "2000.00", "20.0"],
        ["c", "5000.00", "50.0"],
        ["rest", "1000.00", "10.0"],
    ]


def test_every_phase_is_there(big):
    f, _ = big
    names = [row.name for row in f.compile_report().rows]
    assert names[0] == "function"
    steps = (
        "arguments",
        "choice",
        "specialization",
        "import",
        "rewrite",
        *PHASES,
        "freeze",
        "release",
        "gaps",
        "link",
        "caller",
    )
    assert [name for name in names if name in steps] == list(steps)


def test_the_whole_is_no_more_than_a_clock_around_it_measures(big):
    f, measured = big
    assert 0 < f.compile_report().total <= measured


def test_what_no_step_accounts_for_is_small():
    found = []
    for _ in range(5):  # another process may take a while of any one
        x = tg.vector("x")
        y = x
        for k in range(50):
            y = tg.sin(y) + tg.exp(-y) / (k + 2)
        found.append(tg.function([x], tg.sum(y), backend="perform").compile_report().attributed)
    assert max(found) > 0.95


def test_a_pattern_of_ones_that_a_call_needs_is_a_step_of_its_own():
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], x + y, backend="perform")
    assert [row.name for row in f.compile_report().rows if row.depth == 0] == ["function"]
    f([1.0], [1.0, 2.0])
    rows = f.compile_report().rows
    assert [row.name for row in rows if row.depth == 0] == ["function", "specialization"]
    assert sum(row.name == "import" for row in rows) == 2


def test_copies_and_loaded_functions_have_their_own():
    x = tg.vector("x")
    f = tg.function([x], x + 1, backend="perform")
    assert f.copy().compile_report().rows[0].name == "copy"
    data = pickle.dumps(f)
    del f
    gc.collect()  # a process that has the function would find it
    assert pickle.loads(data).compile_report().rows[0].name == "unpickle"


def test_a_function_made_while_another_is_folded_takes_no_steps_of_it():
    inside = []

    def twice(a):
        v = tg.vector("v")
        inside.append(tg.function([v], v * 2, backend="perform"))
        return inside[-1](a)

    x = tg.vector("x")
    y = tg.wrap(twice, outputs=x.type)(tg.constant(np.ones(2)))
    f = tg.function([x], x + y, backend="perform")
    f(np.ones(2))
    assert [row.name for row in f.compile_report().rows if row.depth == 0] == ["function"]
    assert inside[0].compile_report().rows[0].name == "function"
