"""What authors of plugins get wrong in their tables: each mistake is an error that names it, and costs nobody else."""

import numpy as np
import pytest

import tg
from tg.errors import BackendUnavailable, PluginError
from tg.graph.op import Op
from tg.link.funcify import FuncifyLinker
from tg.ops.control import StopGradient
from tg.ops.cumulative import Accumulate
from tg.ops.elementwise.arithmetic import add
from tg.ops.elementwise.record import Elementwise
from tg.ops.family import Family
from tg.ops.reduction import Reduce
from tg.plugin import Rewrites, RuleProtocol, Rules
from tg.plugin.discovery import Entry
from tg.rewrite.rule import node_rule, rule

GIVEN = {"phase": "canonicalize", "kind": "exact", "why": "a test"}

BY_FUNCTION = "nodes of elementwise functions are filed under the function"
WRONG_KEYS = [
    ("exp", "key exp: found str 'exp'", "did you mean tg.ops.elementwise.exponential.exp, the object"),
    ("Reduce", "key Reduce: found str 'Reduce'", "did you mean tg.ops.reduction.Reduce, the object"),
    (np.exp, "key exp: found ufunc <ufunc 'exp'>", "did you mean tg.ops.elementwise.exponential.exp, the object"),
    (StopGradient(), "StopGradient", "did you mean tg.ops.control.StopGradient"),
    (
        Elementwise,
        "key Elementwise: found class Elementwise",
        "nodes of elementwise functions are filed under the function",
    ),
    (Op, "key Op: found class Op", "nodes of elementwise functions are filed under the function"),
    (3, "key 3: found int 3", None),
]
NO_PATTERNS = [
    (lambda x: Accumulate(axis=-1, fn=add)(x), "pattern: "),
    (lambda x: tg.sum(x), "pattern: "),
    (lambda x: x, "pattern: found x, needed a call of an elementwise function"),
    (lambda x: 1 // 0, "pattern: ZeroDivisionError: "),
]


def told(error):
    return str(error.value)


@pytest.mark.parametrize(("key", "fact", "hint"), WRONG_KEYS, ids=str)
def test_a_key_that_no_op_has_is_an_error_of_the_backend_that_names_the_key_meant(world, key, fact, hint):
    world.add_backend("mine", tg_rules=world.rules_of({tg.sin: np.sin, key: np.exp}, "mine"))
    with pytest.raises(PluginError) as caught:
        world.registry().rules("mine")
    assert told(caught).startswith("tg-mine 1.0: tg_rules: key ")
    assert fact in told(caught)
    assert "needed an op class or an elementwise function" in told(caught)
    assert f"\n  plugin  tg-mine 1.0, entry point mine = {world.entries[0].target}\n" in told(caught) + "\n"
    assert hint is None or f"\n  hint: {hint}" in told(caught)


def test_an_extension_with_a_wrong_key_is_set_aside_and_told_to_who_asks_for_its_ops(world):
    world.add_backend("mine", tg_rules=world.rules_of({tg.sin: np.sin}, "mine"))
    world.add("tg-bad", tg_rules=world.rules_of({"exp": np.exp, tg.cos: np.cos}, "mine"))
    registry = world.registry()
    assert dict(registry.rules("mine")) == {tg.sin: np.sin}
    (problem,) = registry.problems()
    assert str(problem).startswith("tg-bad 1.0: tg_rules: key exp: found str 'exp'")


def test_a_rule_of_kind_array_that_cannot_be_called_is_an_error(world):
    world.add_backend("mine", tg_rules=world.rules_of({tg.sin: "sin"}, "mine"))
    with pytest.raises(PluginError, match=r"^tg-mine 1\.0: tg_rules: rule for sin: found str 'sin', needed a function"):
        world.registry().rules("mine")


def test_rules_of_another_kind_are_what_their_backend_says(world):
    own = RuleProtocol("source", 7)
    world.add_backend("mine", fields={"rules": own}, tg_rules=lambda: Rules(own, {tg.sin: "@sin(x)"}))
    assert world.registry().rules("mine")[tg.sin] == "@sin(x)"


@pytest.mark.parametrize(("version", "upgrade"), [(3, "tg-core"), (1, "tg-mine")])
def test_a_backend_with_another_version_of_cores_protocol_is_refused(world, version, upgrade):
    world.add_backend("mine", fields={"rules": RuleProtocol("array", version)})
    with pytest.raises(PluginError) as caught:
        world.registry().backend("mine")
    assert told(caught) == (
        f"tg-mine 1.0: backend 'mine': rules: found protocol array {version}, "
        "needed array 2: kind array is core's own\n"
        f"  hint: pip install --upgrade {upgrade}"
    )


@pytest.mark.parametrize(
    ("linker", "found", "hint"),
    [
        (FuncifyLinker, "found class FuncifyLinker", "\n  hint: LINKER = FuncifyLinker(…)"),
        (object(), "found object <object object", ""),
        (None, "found NoneType None", ""),
    ],
)
def test_a_linker_that_compiles_nothing_is_an_error(world, linker, found, hint):
    world.module("fake_linker", LINKER=linker)
    world.add_backend("mine", fields={"linker": "fake_linker:LINKER"})
    registry = world.registry()
    for _ in range(2):
        with pytest.raises(PluginError) as caught:
            registry.linker("mine")
    assert told(caught).startswith(f"tg-mine 1.0: linker fake_linker:LINKER: {found}")
    assert "needed an object with compile(graph, request)" in told(caught)
    assert hint in told(caught)
    assert [problem.distribution for problem in registry.problems()] == ["tg-mine"]


@pytest.mark.parametrize(("match", "fact"), NO_PATTERNS)
def test_a_pattern_that_holds_what_no_pattern_can_is_refused_with_the_rules_name(world, match, fact):
    wrong = rule("fold_sums", match=match, replace=lambda x: x, **GIVEN)
    world.add_backend("mine", tg_rewrites=lambda backend: Rewrites((wrong,)) if backend else None)
    with pytest.raises(PluginError) as caught:
        world.registry().rewrites("mine")
    assert told(caught).startswith(f"tg-mine 1.0: tg_rewrites: rule fold_sums: {fact}")
    assert "\n  hint: a pattern is of elementwise functions, variables and numbers; node_rule(keys=…)" in told(caught)


def test_the_sides_of_an_equation_have_the_same_variables(world):
    wrong = rule("swap", match=lambda x, y: x + y, replace=lambda x: x, **GIVEN)
    world.add_backend("mine", tg_rewrites=lambda: Rewrites((wrong,)))
    with pytest.raises(PluginError, match="rule swap: replace: found 1 variables, needed the 2 of match"):
        world.registry().rewrites("mine")


def test_a_key_of_a_node_rule_is_an_op_or_a_function(world):
    wrong = node_rule("sums", keys=(Reduce, "exp"), apply=lambda node, outputs: None, **GIVEN)
    world.add_backend("mine", tg_rewrites=lambda: Rewrites((wrong,)))
    with pytest.raises(PluginError, match="rule sums: key exp: found str 'exp', needed an op class") as caught:
        world.registry().rewrites("mine")
    assert "did you mean tg.ops.elementwise.exponential.exp" in told(caught)


@pytest.mark.parametrize("given", [{"rules": ("log",)}, {"passes": (len,)}])
def test_rewrites_that_are_none_are_an_error(world, given):
    world.add_backend("mine", tg_rewrites=lambda: Rewrites(**given))
    with pytest.raises(PluginError, match=r"^tg-mine 1\.0: tg_rewrites: (rules|passes): found "):
        world.registry().rewrites("mine")


def test_rewrites_of_an_extension_that_are_wrong_break_no_program(world):
    wrong = rule("fold_sums", match=lambda x: tg.sum(x), replace=lambda x: x, **GIVEN)
    right = rule("double", match=lambda x: x + x, replace=lambda x: 2 * x, **GIVEN)
    world.add_backend("mine", tg_rewrites=lambda backend: Rewrites((right,)) if backend else None)
    world.add("tg-bad", tg_rewrites=lambda backend: None if backend else Rewrites((wrong,)))
    registry = world.registry()
    assert registry.rewrites("mine").rules == (right,)
    (problem,) = registry.problems()
    assert problem.reason.startswith("tg_rewrites: rule fold_sums: pattern: ")


@pytest.mark.parametrize("family", [Family("signal", ("boxcar",)), Family("signal", (), (tg.exp,)), "signal"])
def test_families_of_an_extension_that_hold_no_ops_break_no_program(world, family):
    world.add("tg-bad", tg_ops=lambda: (family,))
    registry = world.registry()
    assert registry.families() == ()
    assert [problem.distribution for problem in registry.problems()] == ["tg-bad"]


class Checkout:
    """Metadata of a distribution whose files are somewhere else."""

    def locate_file(self, name):
        return "/nowhere/site-packages"


@pytest.mark.parametrize(("text", "line"), [("def f(:\n    pass\n", 1), ("x = 1\ny = 1 // 0\n", 2)])
def test_a_plugin_in_a_checkout_that_cannot_be_imported_says_where(world, monkeypatch, tmp_path, text, line):
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Checkout())
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "fake_in_checkout.py").write_text(text)
    world.entries.append(Entry("tg-mine", "mine", "backends", "fake_in_checkout", "1.0"))
    with pytest.raises(BackendUnavailable) as caught:
        world.registry().backend("mine")
    assert f"\n  hint: mend {tmp_path / 'fake_in_checkout.py'}:{line}" in told(caught)
