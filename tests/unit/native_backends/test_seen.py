"""What a user sees of native code: in the background, in profiles, in reports and as source."""

import re

import numpy as np
import pytest

import tg
from tg.functions import background


@pytest.fixture
def held(monkeypatch):
    """Native code that is in the making until `begin` is called."""
    waiting = []
    submit = background.submit
    monkeypatch.setattr(background, "submit", lambda job: waiting.append(job) or job)

    def begin():
        for job in waiting:
            submit(job)

    return begin


def test_nothing_but_speed_changes_when_native_code_is_there(backend, held):
    x, k = tg.vector("x"), tg.scalar("k", dtype="int64")
    total = tg.shared(0.0, "total")
    y = tg.exp(x) * x[k]
    f = tg.function([x, k], {"y": y, "n": tg.sum(x > 0)}, updates={total: total + tg.sum(y)}, backend=backend,
                    compile="background")  # fmt: skip
    given = np.linspace(-1, 1, 11)

    def seen():
        total.set_value(0.0)
        found = f(given, 3)
        with pytest.raises(tg.BoundsError) as info:
            f(given, 11)
        return found, total.get_value(), (str(info.value), info.value.__notes__)

    before = seen()
    assert not f.compiled
    held()
    assert f.wait(120)
    after = seen()
    assert before[2] == after[2]
    assert {k: (v.dtype, v.shape) for k, v in before[0].items()} == {k: (v.dtype, v.shape) for k, v in after[0].items()}
    np.testing.assert_allclose(before[0]["y"], after[0]["y"], rtol=1e-14)
    np.testing.assert_allclose(before[1], after[1], rtol=1e-14)
    assert before[0]["n"] == after[0]["n"] == 5


def program(backend):
    """A function of three lines with names, which share no loop."""
    x, w = tg.vector("x"), tg.matrix("w")
    hidden = w @ x
    decay = tg.exp(hidden) * 2 + 1
    order = tg.sort(decay)
    return tg.function([x, w], [order, tg.max(decay)], backend=backend)


def test_a_profile_has_the_loops_with_the_users_lines(backend):
    f = program(backend)
    w = np.random.default_rng(1).normal(size=(300, 200))
    found = f.profile(np.ones(200), w, calls=3)
    rows = {name: row for row in found.rows for name in row.name.split(", ")}
    assert {"hidden", "decay", "order"} <= rows.keys()
    assert any("decay = tg.exp(hidden) * 2 + 1" in line for line in rows["decay"].lines)
    assert "exp" in rows["decay"].part
    assert all(row.runs == 1 and row.seconds >= 0 for row in found.rows)
    assert found.phases["program"] == pytest.approx(sum(row.seconds for row in found.rows))
    assert sum(found.phases.values()) > 0
    assert found.peak is None or found.peak >= 300 * 8 * 2
    assert "decay" in str(found)


def test_a_profile_of_nodes_in_an_inner_graph_takes_their_time_from_the_call(backend):
    x = tg.vector("x")

    def inner(v):
        order = tg.sort(v)
        return order - tg.max(order)

    f = tg.function([x], tg.call(inner, x * 2.0), backend=backend)
    found = f.profile(np.arange(1000.0), calls=2)
    assert any("order = tg.sort(v)" in line for row in found.rows for line in row.lines)
    assert found.phases["program"] == pytest.approx(sum(row.seconds for row in found.rows))


def test_the_source_calls_loops_after_the_users_variables(backend):
    text = program(backend).source()
    (name,) = set(re.findall(r"\bloop\d+_decay\w*", text))
    lines = text.split("\n")
    (defined,) = (k for k, line in enumerate(lines) if re.search(rf"^\w.* @?{name}\(", line))
    assert "decay = tg.exp(hidden) * 2 + 1" in lines[defined - 1]
    assert len(re.findall(rf"\b{name}\(", text)) >= 2  # and where it is called


def test_the_source_begins_with_the_loops_in_the_order_of_their_calls(backend):
    text = program(backend).source()
    lines = text.split("\n")
    assert re.match(r"(/\*|;) test_seen.py:\d+ in program:  hidden = w @ x", lines[0])
    (start,) = (k for k, line in enumerate(lines) if re.search(r"\bgraph0\(", line))
    loops = r"\b(?:loop|nest)\d+\w*(?=\()"
    defined = [re.search(loops, line)[0] for line in lines[:start] if re.match(r"static|define|; def", line)]
    called = [found[0] for line in lines[start:] if (found := re.search(loops, line))]
    assert defined == list(dict.fromkeys(called))
    assert len(defined) > 2


def test_values_have_the_users_names_where_they_are_made_and_where_they_are_read(backend):
    text = program(backend).source()
    for name in ("x", "w", "hidden", "decay", "order"):
        assert len(re.findall(rf"(?m)^(?!\s*(?:/\*|;)).*?[%\s]{name}\b", text)) > 1, name
    assert "x_0" not in text


def test_names_that_mean_something_else_in_the_code_are_left_out(backend):
    """Of C, of LLVM, of the text itself, or of two values."""
    x = tg.vector("double")
    i = tg.exp(x) @ tg.exp(x[::-1]) + x
    graph0 = tg.sort(i)
    i = tg.cumsum(graph0)
    f = tg.function([x], [i, tg.sort(tg.sin(i))], backend=backend)
    text = f.source()
    assert re.search(r"(?m)^(static|define) i64 @?graph0\(", text)
    assert re.search(r"\bdouble [*%]", text) is None or backend == "numba"
    value = np.linspace(-1, 1, 5)
    np.testing.assert_allclose(f(value)[0], np.cumsum(np.sort(np.exp(value) @ np.exp(value[::-1]) + value)))


def test_no_value_is_called_after_the_function_that_is_compiled(backend):
    x = tg.vector("x")
    compiled_here = tg.function([x], [tg.exp(x) + 1, tg.sort(x)], backend=backend)
    text = "\n".join(line for line in compiled_here.source().split("\n") if not re.match(r"\s*(/\*|;)", line))
    assert re.findall(r"\b(?<!_)compiled_here\b", text) == []


def test_what_is_the_same_in_all_programs_is_shown_in_full_only(backend):
    x = tg.vector("x")
    one, other = (tg.function([x], tg.sum(fn(x)), backend=backend) for fn in (tg.exp, tg.tanh))
    same = set(one.source(full=True).split("\n")) & set(other.source(full=True).split("\n"))
    declared = [line for line in same if re.match(r"typedef|declare|static inline|void \*malloc", line)]
    assert declared
    for f in (one, other):
        assert not {*declared} & {*f.source().split("\n")}
        assert len(f.source()) < len(f.source(full=True))
        assert "source(full=True)" in f.source()


def test_parameters_of_a_loop_that_is_called_for_several_values_keep_their_numbers(backend):
    x, y = tg.vector("x"), tg.vector("y")
    first = tg.sort(tg.exp(x))
    second = tg.sort(tg.exp(y))
    text = tg.function([x, y], [first, second], backend=backend).source()
    assert len(re.findall(r"(?m)^(?:static void |define void @|; def )(?:loop|nest)", text)) == 2
    for loop in re.findall(r"(?m)^(?:static void |define void @|; def )(?:loop|nest).*", text):
        assert re.search(r"[%\s*(](x|y|first|second)\b", loop) is None


def test_the_names_are_no_part_of_what_is_compiled(backend):
    x = tg.vector("x")
    first = tg.exp(x) + 1
    one = tg.function([x], first, backend=backend)
    x = tg.vector("x")
    second = tg.exp(x) + 1
    other = tg.function([x], second, backend=backend)
    plain = [
        re.sub(r"_(first|second)\b|^.*test_seen.*$", "", f.source(full=True), flags=re.MULTILINE) for f in (one, other)
    ]
    assert plain[0] == plain[1]
    assert "loop0_first" in one.source()
    assert "loop0_second" in other.source()


def test_the_report_has_the_backends_compiler(backend):
    report = program(backend).compile_report()
    names = {row.name for row in report.rows}
    assert {"function", "import", "rewrite", "canonicalize", "link", "code"} <= names
    assert names & {"compiler", "cache"}
