import dataclasses
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tg.errors import PluginError
from tg.plugin import discovery, distributions, hookimpl
from tg.plugin.discovery import Entry, Plugin, Policy, load, near
from tg.plugin.distributions import Point

ENTRY = Entry("tg-mine", "mine", "backends", "tg_mine", "0.3.1")


def plugin(**attributes):
    return Plugin(ENTRY, SimpleNamespace(**attributes))


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
        "  hooks  tg_backends, tg_rules, tg_rewrites, tg_ops, tg_cases\n"
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


def test_loading_imports_the_module_of_the_entry(world):
    entry = world.entry("tg-mine", "mine", tg_ops=lambda: (1, 2))
    assert load(entry).call("tg_ops") == (1, 2)


def test_what_a_module_raises_while_it_is_imported_goes_through():
    with pytest.raises(ModuleNotFoundError):
        load(Entry("tg-mine", "mine", "backends", "no_such_module_anywhere"))


@pytest.fixture
def scans(monkeypatch):
    """The groups that were looked for, one for each scan; what is found is a distribution with three entries."""
    asked = []

    def scan(groups):
        asked.append(groups)
        return (
            Point("tg.backends.1", "mine", "tg_mine", "tg-mine", "0.3.1"),
            Point("tg.backends.2", "later", "tg_later", "tg-mine", "0.3.1"),
            Point("tg.extensions.1", "ops", "tg_mine.ops:plugin", "tg-mine", "0.3.1"),
        )

    monkeypatch.setattr(distributions, "entry_points", scan)
    discovery.entries.cache_clear()
    yield asked
    discovery.entries.cache_clear()


@pytest.mark.usefixtures("scans")
def test_the_entries_are_those_of_both_groups_in_every_version():
    assert discovery.entries() == (
        Entry("tg-mine", "later", "backends", "tg_later", "0.3.1", "2"),
        Entry("tg-mine", "mine", "backends", "tg_mine", "0.3.1"),
        Entry("tg-mine", "ops", "extensions", "tg_mine.ops:plugin", "0.3.1"),
    )


def test_installed_distributions_are_scanned_once_for_the_groups_of_tg_alone(scans):
    assert discovery.entries() is discovery.entries()
    (groups,) = scans
    names = ("tg.backends.1", "tg.extensions.2", "tg.themes.1", "console_scripts", "a.tg.backends.1")
    assert [bool(groups.fullmatch(name)) for name in names] == [True, True, False, False, False]


def test_an_entry_may_name_an_attribute_of_its_module_and_extras(world):
    entry = world.entry("tg-mine", "mine", plugin=SimpleNamespace(tg_ops=marked(lambda: (3,))))
    for target in (f"{entry.target}:plugin", f"{entry.target} : plugin [more]"):
        assert load(dataclasses.replace(entry, target=target)).call("tg_ops") == (3,)


@pytest.mark.parametrize(
    ("environ", "refusal"),
    [
        ({}, None),
        ({"TG_PLUGINS": "", "TG_PLUGINS_OFF": " "}, None),
        ({"TG_PLUGINS": "tg-mine"}, None),
        ({"TG_PLUGINS": "other, TG_Mine"}, None),
        ({"TG_PLUGINS": "mine"}, None),
        ({"TG_PLUGINS": "other"}, ("not in TG_PLUGINS=other", "start with TG_PLUGINS=other,tg-mine")),
        (
            {"TG_PLUGINS_OFF": "tg.mine"},
            ("forbidden by TG_PLUGINS_OFF=tg-mine", "start without it in TG_PLUGINS_OFF"),
        ),
        (
            {"TG_PLUGINS": "mine", "TG_PLUGINS_OFF": "mine"},
            ("forbidden by TG_PLUGINS_OFF=mine", "start without it in TG_PLUGINS_OFF"),
        ),
    ],
)
def test_plugins_are_allowed_and_forbidden_by_name_of_distribution_or_entry(environ, refusal):
    assert Policy.from_environment(environ).refusal(ENTRY) == refusal


def test_names_in_the_environment_that_nothing_has_are_known():
    policy = Policy.from_environment({"TG_PLUGINS": "mine,jaxx,tg-core", "TG_PLUGINS_OFF": "tg-nothing"})
    assert policy.unmatched([ENTRY]) == ("jaxx", "tg-nothing")


def test_near_is_none_where_nothing_is_like_the_name():
    assert (near("jaxx", ["numba", "jax"]), near("zzz", ["numba", "jax"])) == ("jax", None)


def test_what_reads_metadata_slowly_is_not_imported():
    code = "import sys, tg; x = tg.scalar('x'); tg.function([x], x); print('importlib.metadata' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
