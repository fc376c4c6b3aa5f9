import dataclasses
import subprocess
import sys

import pytest

from tg.errors import nearest
from tg.plugin import discovery, distributions
from tg.plugin.discovery import Entry, Policy, imported
from tg.plugin.distributions import Point

ENTRY = Entry("tg-mine", "mine", "backends", "tg_mine", "0.3.1")


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
    entry = world.entry("tg-mine", "mine", plugin="a plugin")
    for target in (f"{entry.target}:plugin", f"{entry.target} : plugin [more]"):
        assert imported(dataclasses.replace(entry, target=target)) == "a plugin"


def test_what_a_module_raises_while_it_is_imported_goes_through():
    with pytest.raises(ModuleNotFoundError):
        imported(Entry("tg-mine", "mine", "backends", "no_such_module_anywhere"))


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


def test_the_nearest_names_are_those_like_a_name():
    assert (nearest("jaxx", ["numba", "jax"]), nearest("zzz", ["numba", "jax"])) == (["jax"], [])


def test_what_reads_metadata_slowly_is_not_imported():
    code = "import sys, tg; x = tg.scalar('x'); tg.function([x], x); print('importlib.metadata' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
