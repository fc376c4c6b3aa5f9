"""Rules, passes and classes of rewriting left out by name."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tg
from tg.graph.text.printer import to_text


def fired(f: tg.functions.compiled.Function) -> set[str]:
    return {rule for origin in f.graph.origins.values() for rule in origin.rules}


def program(**options: object) -> tg.functions.compiled.Function:
    x = tg.vector("x")
    return tg.function([x], tg.log(1 + x) * 1, backend="perform", **options)  # type: ignore[arg-type]


def test_a_rule_left_out_by_name_does_not_fire() -> None:
    assert "log1p" in to_text(program().graph)
    text = to_text(program(exclude=["log_of_one_plus"]).graph)
    assert "log1p" not in text
    assert "multiply" not in text


def test_one_name_is_given_as_it_is() -> None:
    assert "log1p" not in to_text(program(exclude="log_of_one_plus").graph)


def test_a_class_left_out_takes_its_rules_with_it() -> None:
    text = to_text(program(exclude=("reassociates",)).graph)
    assert "log1p" not in text
    assert "multiply" not in text
    assert "multiply" in to_text(program(exclude=("exact", "reassociates")).graph)


def test_folding_is_left_out_by_name() -> None:
    x = tg.scalar("x")
    y = x + tg.exp(tg.constant(2.0))
    assert "exp" not in to_text(tg.function([x], y, backend="perform").graph)
    assert "exp" in to_text(tg.function([x], y, backend="perform", exclude="fold_constants").graph)


def test_an_unknown_name_is_an_error_that_names_those_that_resemble_it() -> None:
    with pytest.raises(tg.OptionError, match="no rule, pass or class is named 'log_of_one_pluss'") as caught:
        program(exclude=["log_of_one_pluss"])
    assert "log_of_one_plus" in str(caught.value).partition("hint: ")[2]
    with pytest.raises(tg.OptionError, match="exclude: found 3, needed names"):
        program(exclude=3)


def test_configuration_leaves_out_unless_the_function_says_otherwise() -> None:
    with tg.config(exclude=["reassociates"]) as config:
        assert config.exclude == ("reassociates",)
        assert "log1p" not in to_text(program().graph)
        assert "log1p" in to_text(program(exclude=()).graph)


def test_configuration_checks_what_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(tg.OptionError, match="config: exclude: found 3, needed names"), tg.config(exclude=3):
        pass
    monkeypatch.setenv("TG_EXCLUDE", "reassociates, log_of_one_plus")
    assert tg.configuration.current().exclude == ("log_of_one_plus", "reassociates")
    monkeypatch.setenv("TG_NAN_GUARD", "true")
    assert tg.configuration.current().nan_guard is True


def test_copies_and_pickles_leave_out_the_same() -> None:
    f = program(exclude="log_of_one_plus")
    for g in (f.copy(), pickle.loads(pickle.dumps(f)), f.copy().copy(name="again")):
        assert "log1p" not in to_text(g.graph)


def test_jit_leaves_out_too() -> None:
    @tg.jit(backend="perform", exclude="log_of_one_plus")
    def fn(x: tg.Variable) -> tg.Variable:
        return tg.log(1 + x)

    fn(np.ones(3))
    assert "log1p" not in to_text(fn.functions[0].graph)


def test_a_pass_of_another_backend_is_a_known_name() -> None:
    names = {
        p.name for one in tg.backends() if one.is_available for p in tg.plugin.registry().rewrites(one.name).passes
    }
    for name in sorted(names):
        program(exclude=name)
