"""One manager of pluggy for each registry: what it has under which name, and that no plugin reaches another."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import SimpleNamespace

import numpy as np
import pluggy
import pytest

import tg
from tg.errors import BackendUnavailable, PluginError
from tg.link.funcify import FuncifyLinker
from tg.plugin import hookimpl
from tg.plugin.discovery import Entry
from tg.plugin.manager import Manager

ENTRY = Entry("tg-mine", "mine", "backends", "tg_mine", "0.3.1")


def plugin(**attributes):
    return Manager(lambda: None).take(ENTRY, SimpleNamespace(**attributes))


def marked(function, **options):
    return hookimpl(**options)(function)


def test_a_plugin_answers_its_own_hooks():
    mine = plugin(tg_ops=marked(lambda: ("family",)), tg_rules=marked(lambda backend: backend))
    assert (mine.call("tg_ops"), mine.call("tg_rules", backend="jax")) == (("family",), "jax")


def test_a_hook_that_a_plugin_lacks_answers_none():
    assert plugin().call("tg_cases") is None


def test_a_hook_may_leave_out_arguments():
    assert plugin(tg_rules=marked(lambda: "for all")).call("tg_rules", backend="jax") == "for all"


def test_a_misspelled_hook_is_an_error_that_names_the_near_match():
    with pytest.raises(PluginError) as caught:
        plugin(tg_rulez=marked(lambda backend: None))
    assert str(caught.value) == (
        "tg-mine 0.3.1: tg_rulez is not a hook\n"
        "  hooks  tg_backends, tg_rules, tg_rewrites, tg_ops, tg_cases, tg_exports\n"
        "  hint: rename it to tg_rules"
    )


def test_a_hook_under_another_name_is_known_by_its_specname():
    assert plugin(my_ops=marked(lambda: (1,), specname="tg_ops")).call("tg_ops") == (1,)
    with pytest.raises(PluginError, match="tg_opps is not a hook"):
        plugin(my_ops=marked(lambda: (1,), specname="tg_opps"))


def test_a_name_that_no_hook_resembles_is_an_error_that_says_how_to_mark_newer_hooks():
    with pytest.raises(PluginError, match=r"hint: .*@hookimpl\(optionalhook=True\)"):
        plugin(quite_different=marked(lambda: None))


def test_a_hook_of_a_newer_tg_is_passed_over_when_marked_optional():
    assert plugin(tg_hooks_of_the_future=marked(lambda: None, optionalhook=True)).call("tg_ops") is None


def test_a_hook_without_its_mark_is_an_error():
    with pytest.raises(PluginError) as caught:
        plugin(tg_backends=lambda: ())
    assert str(caught.value) == (
        "tg-mine 0.3.1: tg_backends is not marked as a hook\n  hint: write @tg.plugin.hookimpl above def tg_backends"
    )


def test_an_argument_that_the_hook_does_not_have_is_an_error():
    with pytest.raises(PluginError, match=r"tg-mine 0\.3\.1: .*'device'.*"):
        plugin(tg_rules=marked(lambda backend, device: None))


def test_a_hook_that_wraps_those_of_others_is_an_error():
    def tg_rules(backend):
        return (yield)

    with pytest.raises(PluginError, match=r"tg-mine 0\.3\.1: tg_rules wraps what other plugins give"):
        plugin(tg_rules=marked(tg_rules, wrapper=True))


def test_a_hook_that_is_there_twice_is_an_error():
    with pytest.raises(PluginError, match=r"tg-mine 0\.3\.1: tg_ops is there 2 times: first and second"):
        plugin(first=marked(first, specname="tg_ops"), tg_ops=marked(second))


def first():
    return ()


def second():
    return ()


def test_a_plugin_whose_hooks_are_wrong_is_not_registered():
    manager = Manager(lambda: None)
    for wrong in ({"tg_opps": marked(first)}, {"tg_ops": marked(lambda device: ())}, {"tg_ops": lambda: ()}):
        with pytest.raises(PluginError):
            manager.take(ENTRY, SimpleNamespace(tg_cases=marked(second), **wrong))
        assert manager.list_name_plugin() == []
    manager.check_pending()


# --- names


def names(registry):
    return sorted(name for name, plugin in registry.manager.list_name_plugin() if plugin is not None)


def test_plugins_are_registered_under_distribution_and_entry_when_they_are_needed(world):
    world.add_backend("mine")
    world.add_backend("yours")
    world.add("tg-ops", "waves")
    registry = world.registry()
    assert isinstance(registry.manager, pluggy.PluginManager)
    assert names(registry) == ["tg-core/extensions/core"]
    registry.backend("mine")
    assert names(registry) == ["tg-core/extensions/core", "tg-mine/backends/mine"]
    registry.extensions()
    assert names(registry) == ["tg-core/extensions/core", "tg-mine/backends/mine", "tg-ops/extensions/waves"]
    assert registry.manager.get_plugin("tg-mine/backends/mine") is sys.modules[world.entries[0].target]


def test_entries_of_one_module_are_one_plugin_under_the_name_of_the_first(world):
    both = (world.backend("first"), world.backend("second"))
    world.module("fake_pair", tg_backends=lambda: both)
    world.entries += [Entry("tg-pair", name, "backends", "fake_pair", "1.0") for name in ("second", "first")]
    registry = world.registry()
    assert (registry.backend("second"), registry.backend("first")) == (both[1], both[0])
    assert names(registry) == ["tg-core/extensions/core", "tg-pair/backends/first"]


def test_one_object_under_two_entries_is_one_plugin(world):
    world.module("fake_here", plugin=SimpleNamespace(tg_cases=marked(lambda: (1,))))
    world.module("fake_there", plugin=sys.modules["fake_here"].plugin)
    world.entries += [Entry("tg-pair", name, "extensions", f"fake_{name}:plugin", "1.0") for name in ("here", "there")]
    assert world.registry().cases() == (1,)


def test_hooks_tell_whose_they_are(world):
    world.add_backend("mine")
    registry = world.registry()
    registry.backend("mine")
    impls = registry.manager.hook.tg_backends.get_hookimpls()
    assert {impl.plugin_name: impl.function().__len__() for impl in impls} == {
        "tg-core/extensions/core": 1,
        "tg-mine/backends/mine": 1,
    }


def test_an_exception_of_one_plugin_reaches_no_other(world):
    world.add("tg-a", tg_cases=lambda: (1,))
    world.add("tg-b", tg_cases=lambda: 1 // 0)
    world.add("tg-c", tg_cases=lambda: (3,))
    registry = world.registry()
    assert registry.cases() == (1, 3)
    assert [problem.distribution for problem in registry.problems()] == ["tg-b"]


def test_what_is_installed_with_a_misspelled_hook_leaves_nothing_pending(world):
    world.add("tg-bad", tg_rulez=lambda backend: None)
    world.add("tg-good", tg_cases=lambda: (1,))
    registry = world.registry()
    assert registry.cases() == (1,)
    registry.manager.check_pending()
    assert names(registry) == ["tg-core/extensions/core", "tg-good/extensions/good"]


def test_threads_that_need_a_plugin_at_once_all_get_the_whole_of_it(world, monkeypatch):
    entry = world.entry("tg-mine", "mine", tg_ops=lambda: (1,), tg_cases=lambda: (2,))
    manager, barrier, add = Manager(lambda: None), Barrier(8), pluggy.HookCaller._add_hookimpl

    def slowly(caller, impl):
        add(caller, impl)
        time.sleep(0.01)  # the others go on

    monkeypatch.setattr(pluggy.HookCaller, "_add_hookimpl", slowly)

    def ask(_):
        barrier.wait()
        found = manager.load(entry)
        return found, found.call("tg_ops"), found.call("tg_cases")

    with ThreadPoolExecutor(8) as pool:
        (answer,) = set(pool.map(ask, range(8)))
    assert answer[1:] == ((1,), (2,))


def test_what_an_interrupt_has_left_half_registered_is_registered_again(world, monkeypatch):
    entry = world.entry("tg-mine", "mine", tg_ops=lambda: (1,), tg_cases=lambda: (2,))
    manager = Manager(lambda: None)
    with monkeypatch.context() as patched:
        patched.setattr(pluggy.HookCaller, "_add_hookimpl", interrupted)
        with pytest.raises(KeyboardInterrupt):
            manager.load(entry)
    found = manager.load(entry)
    assert (found.call("tg_ops"), found.call("tg_cases")) == ((1,), (2,))


def interrupted(caller, impl):
    raise KeyboardInterrupt


# --- what is registered by hand


def trial(**hooks):
    return SimpleNamespace(**{name: marked(function) for name, function in hooks.items()})


def test_what_is_registered_by_hand_takes_part_from_then_on(world):
    world.add_backend("mine", tg_rules=world.rules_of({tg.exp: abs}, "mine"))
    registry = world.registry()
    assert dict(registry.rules("mine")) == {tg.exp: abs}
    one = trial(tg_rules=world.rules_of({tg.cos: max}, "mine"))
    assert registry.manager.register(one, name="trial") == "trial"
    assert dict(registry.rules("mine")) == {tg.exp: abs, tg.cos: max}
    assert [str(entry.source) for entry in registry.extensions()] == ["trial (registered by hand)"]
    assert registry.rule_source("mine", tg.cos).without == "call registry().manager.unregister(name='trial')"
    registry.manager.unregister(name="trial")
    assert dict(registry.rules("mine")) == {tg.exp: abs}
    assert registry.extensions() == ()


def test_a_backend_that_is_registered_by_hand_compiles(world, monkeypatch):
    world.module("fake_linker", LINKER=FuncifyLinker(to_native=np.array, to_numpy=np.asarray))
    made = world.backend("trial", linker="fake_linker:LINKER")
    one = trial(tg_backends=lambda: (made,), tg_rules=world.rules_of({tg.sin: np.sin}, "trial"))
    monkeypatch.setattr(sys.modules["tg.plugin.registry"], "_from_environment", world.registry)
    tg.plugin.reset()
    try:
        tg.plugin.registry().manager.register(one, name="trial")
        x = tg.vector("x")
        f = tg.function([x], tg.sin(x), backend="trial")
        assert f(np.ones(2)).tolist() == np.sin(np.ones(2)).tolist()
        tg.plugin.registry().manager.unregister(one)
        with pytest.raises(BackendUnavailable, match="backend 'trial': not installed"):
            tg.function([x], tg.sin(x), backend="trial")
    finally:
        monkeypatch.undo()
        tg.plugin.reset()


def test_a_clash_with_what_is_registered_by_hand_says_how_to_take_it_away(world):
    registry = world.registry()
    registry.manager.register(trial(tg_rules=world.rules_of({tg.add: max})), name="trial")
    with pytest.raises(PluginError) as caught:
        registry.rules("perform")
    assert str(caught.value) == (
        "add has two rules for backend 'perform': from tg-core 1.0 and trial (registered by hand)\n"
        "  hint: uninstall one, or call registry().manager.unregister(name='trial')"
    )


def test_what_is_registered_by_hand_with_a_misspelled_hook_is_pending_and_a_problem(world):
    registry = world.registry()
    registry.manager.register(trial(tg_rulez=lambda backend: None), name="trial")
    with pytest.raises(pluggy.PluginValidationError, match="unknown hook 'tg_rulez'"):
        registry.manager.check_pending()
    (problem,) = registry.problems()
    assert (problem.distribution, problem.remedy) == ("trial", "rename it to tg_rules")
    assert registry.extensions() == ()


def test_an_installed_plugin_that_is_registered_by_hand_as_well_is_one_plugin(world):
    world.add("tg-signal", tg_cases=lambda: (1,))
    registry = world.registry()
    registry.manager.register(sys.modules[world.entries[0].target], name="trial")
    assert registry.cases() == (1,)


def test_linkers_stay_known_when_something_is_registered(world):
    linker = SimpleNamespace(compile=lambda graph, request: None)
    world.module("fake_linker", LINKER=linker)
    world.add_backend("mine", fields={"linker": "fake_linker:LINKER"})
    registry = world.registry()
    registry.linker("mine")
    registry.manager.register(trial(), name="trial")
    assert registry.linkers() == (linker,)


# --- what is blocked


def test_what_the_environment_forbids_is_blocked(world):
    world.add_backend("mine")
    world.add("tg-signal", "waves")
    registry = world.registry(TG_PLUGINS_OFF="tg-mine")
    blocked = [registry.manager.is_blocked(n) for n in ("tg-mine/backends/mine", "tg-signal/extensions/waves")]
    assert blocked == [True, False]


def test_what_is_blocked_by_hand_is_forbidden_until_it_is_unblocked(world):
    world.add_backend("mine")
    registry = world.registry()
    assert registry.backend("mine").name == "mine"
    registry.manager.set_blocked("tg-mine/backends/mine")
    with pytest.raises(BackendUnavailable) as caught:
        registry.backend("mine")
    assert str(caught.value) == (
        "backend 'mine': tg-mine 1.0: blocked in the plugin manager\n"
        "  hint: call registry().manager.unblock('tg-mine/backends/mine')"
    )
    registry.manager.unblock("tg-mine/backends/mine")
    assert registry.backend("mine").name == "mine"


def test_what_is_installed_and_taken_away_is_registered_again_when_it_is_needed(world):
    world.add("tg-signal", tg_cases=lambda: (1,))
    registry = world.registry()
    assert registry.cases() == (1,)
    registry.manager.unregister(name="tg-signal/extensions/signal")
    assert registry.cases() == (1,)
