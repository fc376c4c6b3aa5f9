"""Merging what plugins offer: rules, rewrites, families and cases, linkers and gaps, and the choice of "auto"."""

import sys
from types import SimpleNamespace

import pytest

import tg.plugin
from tg.callers import is_inside
from tg.errors import BackendUnavailable, PluginError
from tg.graph.op import Op
from tg.ops.family import Family
from tg.plugin import Gap, Rewrites, RuleProtocol
from tg.rewrite.rule import Pass, rule


def named(name):
    return rule(name, match=tg.exp, replace=tg.sin, phase="canonicalize", kind="exact", why="a test")


def whole(name):
    return Pass(name, phase="canonicalize", kind="exact", why="a test", run=lambda view: {})


def told(error):
    return str(error.value)


def linked(world, name, **fields):
    """Install a backend whose linker can be imported."""
    linker = SimpleNamespace(name=name, compile=lambda graph, request: None)
    world.module(f"fake_linker_{name}", LINKER=linker)
    world.add_backend(name, fields={"linker": f"fake_linker_{name}:LINKER", **fields})


# --- what a backend requires


@pytest.mark.parametrize("environ", [{}, {"TG_PLUGINS": "mine"}, {"TG_PLUGINS_OFF": "tg-deep"}], ids=str)
def test_the_files_of_a_plugin_that_a_backend_requires_are_looked_at_even_where_it_is_forbidden(world, environ):
    world.add("tg-deep")
    world.add_backend("mine", fields={"requires": ("tg_deep>=1", "numpy")})
    world.add_backend("other")
    registry = world.registry(**environ)
    assert [entry.distribution for entry in registry.required("mine")] == ["tg-deep"]
    assert world.entries[0].target in registry.packages("mine")
    if not environ:
        assert world.entries[0].target in registry.packages("other")  # it is an extension


def test_no_line_of_what_a_backend_requires_is_the_users(world):
    world.add("numpy", "deep")  # something that is installed
    linked(world, "mine", requires=("numpy",))
    target = world.entries[0].target
    assert not is_inside(target)
    world.registry(TG_PLUGINS="mine").linker("mine")
    assert is_inside(target)


# --- rules


def test_rules_come_from_core_the_backend_and_every_extension(world):
    world.add_backend("mine", tg_rules=world.rules_of({tg.exp: abs}, "mine"))
    world.add("tg-signal", tg_rules=world.rules_of({tg.cos: sum}, "mine"))
    world.add("tg-other", tg_rules=world.rules_of({tg.cos: max}, "other"))
    registry = world.registry()
    assert dict(registry.rules("mine")) == {tg.exp: abs, tg.cos: sum}
    assert dict(registry.rules("py")) == {tg.add: min}


def test_hooks_are_asked_by_the_name_of_a_backend_never_by_its_alias(world):
    asked = []
    world.add("tg-signal", tg_rules=lambda backend: asked.append(backend) or None)
    world.registry().rules("py")
    assert asked == ["perform"]


def test_merged_rules_cannot_be_changed(world):
    with pytest.raises(TypeError):
        world.registry().rules("perform")["add"] = max


def test_two_rules_for_one_op_are_an_error_that_names_both_plugins(world):
    world.add_backend("jax", tg_rules=world.rules_of({tg.cos: sum}, "jax"))
    world.add("tg-alpha", tg_rules=world.rules_of({tg.cos: max}, "jax"))
    with pytest.raises(PluginError) as caught:
        world.registry().rules("jax")
    assert told(caught) == (
        "cos has two rules for backend 'jax': from tg-jax 1.0 and tg-alpha 1.0\n"
        "  hint: uninstall one, or start with TG_PLUGINS_OFF=tg-alpha"
    )
    assert dict(world.registry(TG_PLUGINS_OFF="tg-alpha").rules("jax")) == {tg.cos: sum}


def test_a_clash_of_several_ops_names_the_others_too(world):
    world.add("tg-a", tg_rules=world.rules_of({tg.sin: max, tg.exp: max, tg.cos: max}))
    world.add("tg-b", tg_rules=world.rules_of({tg.exp: min, tg.sin: min, tg.cos: min}))
    with pytest.raises(PluginError, match=r"cos has two rules .*\n  also  exp, sin\n"):
        world.registry().rules("perform")


def test_a_clash_for_one_backend_leaves_the_others_in_use(world):
    world.add_backend("mine")
    world.add("tg-clash", tg_rules=world.rules_of({tg.add: max}))
    registry = world.registry()
    assert dict(registry.rules("mine")) == {}
    with pytest.raises(PluginError, match="add has two rules for backend 'perform'"):
        registry.rules("perform")


def test_a_rule_that_says_so_replaces_another(world):
    world.add("tg-fast", tg_rules=world.rules_of({tg.add: max}, replaces=frozenset({tg.add})))
    assert dict(world.registry().rules("perform")) == {tg.add: max}


def test_two_rules_that_both_replace_clash(world):
    for name in ("tg-a", "tg-b"):
        world.add(name, tg_rules=world.rules_of({tg.add: max}, replaces=frozenset({tg.add})))
    with pytest.raises(PluginError, match=r"add has two rules for backend 'perform': from tg-a 1\.0 and tg-b 1\.0"):
        world.registry().rules("perform")


def test_the_order_of_installation_means_nothing(world):
    for name in ("tg-b", "tg-a", "tg-c"):
        world.add(name, tg_ops=lambda name=name: (Family(name),))
    forward = world.registry().families()
    world.entries.reverse()
    assert world.registry().families() == forward
    assert [family.path for family in forward] == ["tg-a", "tg-b", "tg-c"]


def test_a_table_for_another_protocol_is_an_error_only_when_its_op_is_asked_for(world):
    later = world.rules_of({tg.add: max, tg.cos: max}, protocol=RuleProtocol("array", 3))
    world.add("tg-signal", tg_rules=later)
    registry = world.registry()
    assert registry.rule_for("perform", tg.add) is min
    assert registry.rule_for("perform", tg.exp) is None
    with pytest.raises(PluginError) as caught:
        registry.rule_for("perform", tg.cos)
    assert told(caught) == (
        "cos: rule for backend 'perform' from tg-signal 1.0 is of another protocol\n"
        "  protocol  found array 3, needed array 2\n"
        "  hint: pip install --upgrade tg-core"
    )


def test_of_two_protocols_the_older_package_is_to_be_upgraded(world):
    world.add_backend("mine", fields={"rules": RuleProtocol("source", 2)})
    older = world.rules_of({tg.cos: max}, "mine", protocol=RuleProtocol("source", 1))
    world.add("tg-signal", tg_rules=older)
    with pytest.raises(PluginError, match="hint: pip install --upgrade tg-signal"):
        world.registry().rule_for("mine", tg.cos)


def test_the_backends_with_a_rule_are_all_that_are_available_and_have_one(world):
    one, other, none = (type(name, (Op,), {}) for name in ("One", "Other", "Unknown"))
    world.add_backend("mine", tg_rules=world.rules_of({one: max}, "mine"))
    world.add_backend("another", tg_rules=world.rules_of({one: max, other: max}, "another"))
    world.add_backend("lacking", fields={"requires": ("no-such-thing",)}, tg_rules=lambda backend: 1 // 0)
    world.add_backend("bad", tg_rules=lambda backend: 1 // 0)
    registry = world.registry()
    found = [registry.backends_with(key) for key in (one, other, none)]
    assert found == [("another", "mine"), ("another",), ()]


def test_the_reference_runs_every_op_that_performs_or_expands(world):
    class Idle(Op):
        pass

    class Active(Op):
        def perform(self, x):
            return (x,)

    class Expanding(Op):
        has_expansion = True

    registry = world.registry()
    found = [registry.backends_with(key) for key in (Idle, Active, Expanding, tg.exp)]
    assert found == [(), ("perform",), ("perform",), ("perform",)]


def test_a_hook_that_raises_is_remembered_and_costs_only_its_own_plugin(world):
    calls = []
    world.add("tg-bad", tg_rules=lambda backend: calls.append(backend) or 1 // 0)
    registry = world.registry()
    assert dict(registry.rules("perform")) == dict(registry.rules("perform")) == {tg.add: min}
    (problem,) = registry.problems()
    assert str(problem) == (
        "tg-bad 1.0: tg_rules('perform') raised ZeroDivisionError: integer division or modulo by zero\n"
        "  hint: pip install --upgrade --force-reinstall tg-bad"
    )
    assert calls == ["perform"]


def test_a_backends_own_hook_that_raises_makes_the_backend_unavailable(world):
    world.add_backend("mine", tg_rules=lambda backend: 1 // 0)
    with pytest.raises(BackendUnavailable, match=r"backend 'mine': tg-mine 1\.0: tg_rules\('mine'\) raised ZeroDiv"):
        world.registry().rules("mine")


def test_a_hook_that_returns_something_else_is_remembered_with_what_was_needed(world):
    world.add("tg-bad", tg_rules=lambda backend: {"add": max})
    registry = world.registry()
    registry.rules("perform")
    (problem,) = registry.problems()
    assert problem.reason == ("tg_rules: found dict {'add': <built-in function max>}, needed Rules or NoRules or None")


def test_a_misspelled_hook_of_an_extension_is_a_problem_that_names_the_near_match(world):
    world.add("tg-bad", tg_rulez=lambda backend: None)
    (problem,) = world.registry().problems()
    assert (problem.state, problem.reason, problem.remedy) == (
        "broken",
        "tg_rulez is not a hook",
        "rename it to tg_rules",
    )


def test_a_failure_of_core_itself_is_not_hidden(world):
    world.core = world.entry("tg-core", "core", tg_backends=lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        world.registry().backend("perform")


# --- rewrites, families, cases


def test_rewrites_for_a_backend_are_the_general_ones_then_its_own(world):
    own = {None: Rewrites((named("general"),)), "mine": Rewrites((named("own"),), (whole("fusion"),))}
    extra = {None: Rewrites((named("more"),)), "mine": Rewrites((named("extra"),))}
    world.core = world.entry("tg-core", "core", tg_backends=lambda: (), tg_rewrites=answering(own))
    world.add_backend("mine", tg_rewrites=lambda backend: Rewrites((named("mine"),)) if backend else None)
    world.add("tg-extra", tg_rewrites=answering(extra))
    registry = world.registry()
    assert names(registry.rewrites(None).rules) == ["general", "more"]
    assert names(registry.rewrites("mine").rules) == ["general", "more", "own", "mine", "extra"]
    assert names(registry.rewrites("mine").passes) == ["fusion"]


def answering(table):
    return lambda backend: table.get(backend)


def names(items):
    return [item.name for item in items]


def test_the_plugin_of_a_backend_gives_no_general_rewrites(world):
    world.add_backend("mine", tg_rewrites=lambda backend: Rewrites((named(f"for {backend}"),)))
    assert names(world.registry().rewrites("mine").rules) == ["for mine"]


def test_two_rewrites_of_one_name_are_an_error_that_names_both_plugins(world):
    for name in ("tg-a", "tg-b"):
        world.add(name, tg_rewrites=lambda backend: None if backend else Rewrites((named("double_neg"),)))
    with pytest.raises(PluginError) as caught:
        world.registry().rewrites(None)
    assert told(caught) == (
        "two rewrites are named double_neg: from tg-a 1.0 and tg-b 1.0\n"
        "  hint: uninstall one, or start with TG_PLUGINS_OFF=tg-b"
    )


def test_two_rewrites_of_one_name_in_one_plugin_are_an_error(world):
    world.add("tg-a", tg_rewrites=lambda: Rewrites((named("x"),), (whole("x"),)))
    with pytest.raises(PluginError, match=r"(?m)^tg-a 1\.0: two rewrites are named x$"):
        world.registry().rewrites(None)


def test_two_ops_of_one_name_are_an_error_that_names_both_plugins(world):
    boxcar = type("boxcar", (Op,), {})
    world.add("tg-a", tg_ops=lambda: (Family("first", (), (boxcar,)),))
    world.add("tg-b", tg_ops=lambda: (Family("second", (), (type("boxcar", (Op,), {}),)),))
    with pytest.raises(PluginError, match=r"two ops are named boxcar: from tg-a 1\.0 and tg-b 1\.0"):
        world.registry().families()


def test_two_families_of_one_path_are_an_error_that_names_both_plugins(world):
    for name in ("tg-a", "tg-b"):
        world.add(name, tg_ops=lambda: (Family("signal"),))
    with pytest.raises(PluginError, match=r"two op families are named signal: from tg-a 1\.0 and tg-b 1\.0"):
        world.registry().families()


def test_cases_are_those_of_core_and_of_every_extension(world):
    world.core = world.entry("tg-core", "core", tg_backends=lambda: (), tg_cases=lambda: (1, 2))
    world.add("tg-a", tg_cases=lambda: (3,))
    world.add_backend("mine", tg_cases=lambda: pytest.fail("only extensions are asked"))
    assert world.registry().cases() == (1, 2, 3)


def test_an_extension_under_two_names_is_asked_once(world):
    world.add("tg-a", "first", tg_cases=lambda: (1,))
    first = world.entries[0]
    world.entries.append(type(first)("tg-a", "second", "extensions", first.target, "1.0"))
    assert world.registry().cases() == (1,)


# --- linkers and gaps


def test_a_linker_is_what_stands_at_its_address(world):
    linked(world, "mine")
    assert world.registry().linker("mine").name == "mine"


def test_a_linker_that_cannot_be_imported_is_an_error_with_the_remembered_cause(world):
    world.add_backend("mine", fields={"linker": "no_such_linker:LINKER"})
    registry = world.registry()
    for _ in range(2):
        with pytest.raises(BackendUnavailable) as caught:
            registry.linker("mine")
    assert told(caught) == (
        "backend 'mine': tg-mine 1.0: importing no_such_linker:LINKER raised ModuleNotFoundError: "
        "No module named 'no_such_linker'\n  hint: pip install --upgrade --force-reinstall tg-mine"
    )
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_a_linker_that_says_why_it_is_unavailable_is_quoted(world, monkeypatch):
    def refuse(address):
        raise BackendUnavailable("backend 'mine': no compiler\n  hint: apt install gcc")

    world.add_backend("mine")
    monkeypatch.setattr("tg.plugin.installed._imported", refuse)
    registry = world.registry()
    with pytest.raises(BackendUnavailable, match=r"(?m)^backend 'mine': no compiler\n  hint: apt install gcc$"):
        registry.linker("mine")
    (status,) = [one for one in registry.backends() if one.name == "mine"]
    assert (status.state, status.reason, status.remedy) == (
        "broken",
        "backend 'mine': no compiler",
        "apt install gcc",
    )


@pytest.mark.parametrize("ask", ["linker", "rules"])
def test_a_backend_that_lacks_what_it_requires_is_unavailable_before_anything_is_imported(world, ask):
    world.add_backend("mine", fields={"requires": ("minelib>=2", "other-lib")})
    with pytest.raises(BackendUnavailable) as caught:
        getattr(world.registry(), ask)("mine")
    assert told(caught) == (
        "backend 'mine': tg-mine 1.0: needs minelib>=2 (found nothing), other-lib (found nothing)\n"
        '  hint: pip install "minelib>=2" "other-lib"'
    )


def test_gaps_are_what_stands_at_their_address_and_none_without_one(world):
    gap = Gap("cumsum", None, None, "todo", NotImplementedError, "not written yet")
    world.module("fake_gaps", GAPS=(gap,))
    world.add_backend("mine", fields={"gaps": "fake_gaps:GAPS"})
    registry = world.registry()
    assert (registry.gaps("mine"), registry.gaps("perform")) == ((gap,), ())


def test_gaps_that_are_no_tuple_of_gaps_are_an_error(world):
    world.module("fake_gaps", GAPS=[])
    world.add_backend("mine", fields={"gaps": "fake_gaps:GAPS"})
    with pytest.raises(PluginError, match=r"(?m)^tg-mine 1\.0: fake_gaps:GAPS: found list, needed a tuple of Gap$"):
        world.registry().gaps("mine")


# --- auto


def test_auto_is_the_backend_of_core_where_no_other_is_available(world):
    assert world.registry().default_backend() == ("perform", "no native backend is available")


def test_auto_is_the_native_backend_of_highest_priority(world):
    for name, priority in (("low", 10), ("high", 20), ("mine", 0)):
        linked(world, name, priority=priority)
    assert world.registry().default_backend() == ("high", "priority 20, the highest available")


def test_auto_passes_over_what_is_broken_and_says_so(world):
    linked(world, "low", priority=10)
    world.add_backend("high", fields={"priority": 20, "requires": ("minelib",)})
    assert world.registry().default_backend() == (
        "low",
        "priority 10, the highest available; high passed over: needs minelib (found nothing)",
    )


def test_auto_never_takes_a_backend_of_negative_priority(world):
    linked(world, "loopback", priority=-1)
    assert world.registry().default_backend()[0] == "perform"


def test_auto_prefers_the_first_name_of_equal_priorities(world):
    for name in ("b", "a"):
        linked(world, name)
    assert world.registry().default_backend()[0] == "a"


# --- the registry of the process


def test_the_registry_of_the_process_is_made_once(world, monkeypatch):
    monkeypatch.setattr(sys.modules["tg.plugin.registry"], "_from_environment", world.registry)
    tg.plugin.reset()
    try:
        first = tg.plugin.registry()
        assert tg.plugin.registry() is first
        tg.plugin.reset()
        assert tg.plugin.registry() is not first
    finally:
        tg.plugin.reset()


def test_a_registry_has_nothing_to_set(world):
    with pytest.raises(AttributeError):
        world.registry().backends = ()
