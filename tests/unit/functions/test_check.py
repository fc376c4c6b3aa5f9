"""`tg.check`: the verdict of every backend on a program, which is that of compiling, without a compiler."""

import html
import json
from typing import Any

import numpy as np
import pytest

import tg


def kinds(verdict: tg.Verdict) -> list[str]:
    return [one.kind for one in verdict.conditions]


@pytest.mark.long
def test_every_backend_that_is_available_is_asked_but_doubles_of_tests() -> None:
    x = tg.vector("x")
    verdicts = tg.check(tg.exp(x))
    assert set(verdicts.names) == {n.name for n in tg.backends() if n.is_available}
    assert verdicts.runs == verdicts.names


def test_no_comes_with_op_reason_line_and_the_error_of_compiling() -> None:
    x = tg.vector("x")
    y = x[x > 0]
    verdict = tg.check(y, backends="jax")[0]
    with pytest.raises(tg.NoRuleError) as raised:
        tg.function([x], y, backend="jax")
    assert not verdict.runs
    assert str(verdict.error) == str(raised.value)
    assert verdict.op == "Nonzero"
    assert verdict.loc is not None
    assert verdict.loc.source == "y = x[x > 0]"
    assert verdict.reason is not None
    assert verdict.reason.startswith("does not run Nonzero: XLA has no lengths")


def test_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    import tg_c.unit
    import tg_numba.engine

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a compiler runs")

    monkeypatch.setattr(tg_c.unit, "load", refuse)
    monkeypatch.setattr(tg_numba.engine, "compiled", refuse)
    x = tg.matrix("never compiled")
    assert tg.check(tg.tanh(x) @ x, backends=["c", "numba"]).runs == ("c", "numba")


def test_sizes_from_values_are_compiled_anew_where_lengths_are_constants() -> None:
    x, n = tg.vector("x"), tg.scalar("n", dtype="int64")
    verdicts = tg.check(x[:n] * 2, backends=["jax", "c"])
    assert kinds(verdicts["jax"]) == ["sizes", "shapes", "accuracy"]
    assert verdicts["jax"].conditions[0].text == "compiled anew for each length that n decides"
    assert kinds(verdicts["c"]) == []
    f = tg.function([x, n], x[:n] * 2, backend="jax")
    for length in (2, 3, 3):
        f(np.arange(5.0), length)
    assert f.compiles == 2  # as the verdict says


def test_lengths_that_are_known_are_compiled_once() -> None:
    x = tg.tensor("x", "int64", (3,))
    assert kinds(tg.check(x + 1, backends="jax")[0]) == []


def test_options_of_less_precision_are_told() -> None:
    x = tg.vector("x")
    choice = tg.backend("numba", dtype="float32")
    assert [str(c) for c in tg.check(x * 2, backends=choice)[0].conditions] == ["float32 in place of float64"]


def test_an_op_that_the_host_computes_is_told_with_its_line() -> None:
    pytest.importorskip("tg_ggml")
    x = tg.vector("x", dtype="int64")
    y = x // 3
    verdict = tg.check(y, backends="ggml")[0]
    assert [(c.kind, c.loc is not None and c.loc.source) for c in verdict.conditions if c.kind == "host"] == [
        ("host", "y = x // 3")
    ]


@pytest.mark.parametrize("backend", ["perform", "c", "torch"])
def test_memory_is_that_of_the_limit(backend: str) -> None:
    x = tg.matrix("x")
    y = tg.exp(x) @ x
    needed = tg.check(y, backends=backend, shapes={x: (100, 100)})[0].memory
    assert needed is not None
    assert needed.results == 80_000
    array = np.ones((100, 100))
    tg.function([x], y, backend=tg.backend(backend, memory=needed.total))(array)
    with pytest.raises(tg.LimitError, match=f"a call needs {needed.total} bytes"):
        tg.function([x], y, backend=tg.backend(backend, memory=needed.total - 1))(array)


def test_memory_needs_all_lengths_by_input_by_name_or_by_named_length() -> None:
    n = tg.dim("n")
    x, w = tg.tensor("x", "float64", (n, 3)), tg.tensor("w", "float64", (3,))
    y = tg.exp(x) * w
    assert tg.check(y, backends="perform")[0].memory is None
    for shapes in ({"n": 5}, {"x": (5, 3)}, {x: np.zeros((5, 3))}):
        needed = tg.check(y, backends="perform", shapes=shapes)[0].memory
        assert needed is not None
        assert needed.results == 5 * 3 * 8


def test_a_scalar_that_decides_a_length_has_a_value() -> None:
    x, n = tg.vector("x"), tg.scalar("n", dtype="int64")
    y = x[:n] * 2
    assert tg.check(y, backends="perform", shapes={"x": (10,)})[0].memory is None
    needed = tg.check(y, backends="perform", shapes={"x": (10,), "n": 4})[0].memory
    assert needed is not None
    assert needed.results == 32


def test_no_loop_runs_that_may_never_end() -> None:
    """Halving 0 does not come to 1: the steps of Collatz's sequence, from a number that is not given."""
    n, x = tg.scalar("n", dtype="int64"), tg.vector("x")

    def step(k: Any) -> Any:
        return tg.where(k % 2 == 0, k // 2, 3 * k + 1)

    last = tg.while_loop(lambda k: k != 1, step, n)
    needed = tg.check([n, x], [last, x * last], backends="perform", shapes={"x": (10,)})[0].memory
    assert needed is not None
    assert needed.results == 8 + 80


def test_shapes_of_no_input_are_refused() -> None:
    x = tg.vector("x")
    with pytest.raises(tg.InputError, match="found 'y', needed an input or a named length"):
        tg.check(x + 1, shapes={"y": (1,)})
    with pytest.raises(tg.InputError, match=r"x: found \[1, 2\], needed float64\[\?\]"):
        tg.check(x + 1, shapes={"x": (1, 2)})


def test_a_function_is_looked_at_with_its_updates() -> None:
    x, total = tg.vector("x"), tg.shared(0.0, "total")
    f = tg.function([x], [], updates={total: total + tg.sum(x[x > 0])}, backend="perform", name="count")
    verdicts = tg.check(f, backends=["c", "jax"])
    assert (verdicts.name, verdicts.runs) == ("count", ("c",))


def test_auto_is_the_backend_that_is_chosen() -> None:
    x = tg.vector("x")
    chosen = tg.function([x], x + 1, backend="auto").backend
    assert tg.check(x + 1, backends="auto").names == (chosen,)


def test_a_python_function_runs_on_the_reference_alone() -> None:
    x = tg.vector("x")

    @tg.wrap(infer=lambda t: t)
    def plus_one(a: np.ndarray) -> np.ndarray:
        return a + 1

    y = plus_one(x)
    verdicts = tg.check(y, backends=["perform", "c"])
    assert verdicts["perform"].conditions[0].kind == "python"
    assert not verdicts["c"]


def test_names_that_nobody_knows_are_refused() -> None:
    x = tg.vector("x")
    with pytest.raises(tg.BackendUnavailable, match="jaks"):
        tg.check(x, backends="jaks")


@pytest.mark.parametrize("look", [tg.check, tg.explain, tg.view])
def test_what_has_no_variable_is_refused(look: Any) -> None:
    for value in (3, [1.0, 2.0], "x", np.ones(2)):
        with pytest.raises(tg.InputError, match=r"found .*, needed a compiled function, a variable, or several"):
            look(value)
    look(tg.constant(3.0))


def test_the_table_has_eighty_columns_and_html_is_escaped() -> None:
    x = tg.vector("<x>")
    verdicts = tg.check(x[x > 0], backends=["c", "jax"])
    assert max(map(len, str(verdicts).splitlines())) <= 80
    text = verdicts._repr_html_()
    assert "<td>jax</td><td>no</td>" in text
    assert html.escape("verdicts = tg.check(x[x > 0]") in text
    assert "> 0]" not in text
    assert json.loads(json.dumps(verdicts.as_records()))[1]["op"] == "Nonzero"


def test_the_first_pattern_that_fits_is_looked_at() -> None:
    x = tg.matrix("x")
    y = tg.squeeze(x, 0)  # fits only if a length is 1
    assert tg.check(y, backends="c")[0].runs
