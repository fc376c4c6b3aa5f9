"""What is installed is found, what is broken is told, and neither costs what was not asked for."""

import json

import pytest

pytestmark = pytest.mark.sampled(2)
ALL = ("tg-broken", "tg-clash", "tg-misspelled", "tg-thirdparty", "tg-toy", "tg-wrong-api")

STATES = """
import tg.plugin
answer = {one.name: [one.state, one.distribution, one.version] for one in tg.plugin.registry().backends()}
"""

PROBLEMS = """
import tg.plugin
answer = [str(problem) for problem in tg.plugin.registry().problems()]
"""

RULES = """
import tg.plugin
try:
    answer = sorted(tg.plugin.records.key_name(key) for key in tg.plugin.registry().rules("toy"))
except tg.errors.PluginError as error:
    answer = str(error)
"""

FAMILIES = """
import tg.plugin
found = tg.plugin.registry()
answer = [family.path for family in found.families()], [case.name for case in found.cases()]
"""

REFUSED = """
import tg.plugin
try:
    tg.plugin.registry().backend({name!r})
except tg.errors.BackendUnavailable as error:
    answer = [str(error), type(error.__cause__).__name__]
"""


def test_backends_that_work_and_that_do_not_are_listed_together(ask):
    listed = ask(STATES, *ALL)
    assert listed["toy"] == ["available", "tg-toy", "0.1.0"]
    assert listed["broken"] == ["broken", "tg-broken", "0.1.0"]
    assert listed["later"] == ["wrong API", "tg-wrong-api", "0.2.0"]
    assert listed["perform"][:2] == ["available", "tg-core"]


@pytest.mark.long
def test_a_plugin_that_raises_when_imported_is_told_to_whoever_asks_for_it(ask):
    text, cause = ask(REFUSED.format(name="broken"), *ALL)
    assert text == (
        "backend 'broken': tg-broken 0.1.0: importing tg_broken raised RuntimeError: tg-broken was written to fail\n"
        "  hint: pip install --upgrade --force-reinstall tg-broken"
    )
    assert cause == "RuntimeError"


def test_a_plugin_for_another_hook_api_is_told_with_the_package_to_upgrade(ask):
    text, cause = ask(REFUSED.format(name="later"), *ALL)
    assert text == (
        "backend 'later': tg-wrong-api 0.2.0: written for hook API 2, this tg has 1\n"
        "  hint: pip install --upgrade tg-core"
    )
    assert cause == "NoneType"


def test_every_problem_is_told_at_once(ask):
    problems = ask(PROBLEMS, "tg-broken", "tg-misspelled", "tg-toy", "tg-wrong-api")
    assert [problem.partition(": ")[0] for problem in problems] == [
        "tg-broken 0.1.0",
        "tg-misspelled 0.3.0",
        "tg-wrong-api 0.2.0",
    ]
    assert "tg_rulez is not a hook\n" in problems[1]
    assert problems[1].endswith("hint: rename it to tg_rules")


def test_sound_plugins_have_no_problems(ask):
    assert ask(PROBLEMS, "tg-thirdparty", "tg-toy") == []


def test_two_rules_for_one_op_are_an_error_that_names_both_plugins(ask):
    assert ask(RULES, "tg-clash", "tg-toy") == (
        "add has two rules for backend 'toy': from tg-toy 0.1.0 and tg-clash 0.4.0\n"
        "  hint: uninstall one, or start with TG_PLUGINS_OFF=tg-clash"
    )


def test_a_forbidden_plugin_clashes_with_nothing(ask):
    expected = sorted([*ask(RULES, "tg-toy"), "CubeSum"])
    assert ask(RULES, *ALL, TG_PLUGINS_OFF="tg-clash") == expected
    assert ask(RULES, *ALL, TG_PLUGINS="tg-toy,cubes") == expected


def test_a_misspelled_hook_adds_nothing_and_breaks_nothing(ask):
    found = ask(RULES, "tg-broken", "tg-misspelled", "tg-toy", "tg-wrong-api")
    assert found == ask(RULES, "tg-toy")
    assert "add" in found


@pytest.mark.parametrize("program", [STATES, PROBLEMS, RULES, FAMILIES])
def test_the_order_of_installation_means_nothing(ask, program):
    assert ask(program, *ALL) == ask(program, *reversed(ALL))


def test_a_plugin_that_is_not_to_be_imported_is_not(ask):
    program = f"{PROBLEMS}\nimport sys\nanswer = [name for name in sys.modules if name.startswith('tg_')]"
    imported = ask(program, *ALL, TG_PLUGINS_OFF="tg-clash")
    assert {"tg_toy", "tg_thirdparty", "tg_misspelled"} <= set(imported)
    assert not {"tg_wrong_api", "tg_clash"} & set(imported)


def test_a_forbidden_backend_says_how_to_allow_it(ask):
    text, _ = ask(REFUSED.format(name="toy"), "tg-toy", TG_PLUGINS_OFF="tg-toy")
    assert text == (
        "backend 'toy': tg-toy 0.1.0: forbidden by TG_PLUGINS_OFF=tg-toy\n  hint: start without it in TG_PLUGINS_OFF"
    )


def test_the_command_lists_what_works_and_what_does_not_with_a_remedy(command):
    rows = {row["name"]: row for row in json.loads(command("backends", "--json", plugins=ALL))}
    told = {name: (rows[name]["state"], rows[name]["remedy"]) for name in ("broken", "later", "perform", "toy")}
    assert told == {
        "broken": ("broken", "pip install --upgrade --force-reinstall tg-broken"),
        "later": ("wrong API", "pip install --upgrade tg-core"),
        "perform": ("available", None),
        "toy": ("available", None),
    }


def test_the_command_tells_problems_of_plugins_without_a_backend_too(command):
    printed = command("backends", plugins=ALL)
    assert "importing tg_broken raised RuntimeError: tg-broken was written to fail" in printed
    assert "pip install --upgrade --force-reinstall tg-broken" in printed
    assert printed.count("was written to fail") == 1
    assert "tg-misspelled 0.3.0: tg_rulez is not a hook" in printed
    assert "hint: rename it to tg_rules" in printed


def test_other_backends_work_beside_broken_plugins(ask):
    program = """
import tg
x = tg.vector("x")
answer = [tg.function([x], x + 1.0, backend=name)([1.0, 2.0]).tolist() for name in ("perform", "toy")]
"""
    plugins = ("tg-broken", "tg-misspelled", "tg-thirdparty", "tg-toy", "tg-wrong-api")
    assert ask(program, *plugins) == [[2.0, 3.0]] * 2


def test_importing_tg_imports_no_plugin_and_scans_nothing(ask):
    program = """
import sys, tg
answer = sorted(name for name in sys.modules if name.startswith("tg_") or name in ("tg.plugin", "importlib.metadata"))
"""
    assert ask(program, *ALL) == []


def test_asking_for_a_backend_imports_its_entry_module_alone(ask):
    program = """
import sys, tg.plugin
tg.plugin.registry().backend("toy")
answer = sorted(name for name in sys.modules if name.startswith("tg_"))
"""
    assert ask(program, *ALL) == ["tg_toy"]


def test_an_alias_finds_its_backend(ask):
    assert ask("import tg.plugin\nanswer = tg.plugin.registry().backend('plaything').name", *ALL) == "toy"


def test_the_options_of_a_backend_are_typed(ask):
    program = """
import tg.plugin
toy = tg.plugin.registry().backend("toy")
answer = [tg.plugin.validate_options(toy, {"level": 2}).level]
try:
    tg.plugin.validate_options(toy, {"levle": 2})
except tg.errors.OptionError as error:
    answer.append(str(error))
"""
    assert ask(program, "tg-toy") == [
        2,
        "backend 'toy': unknown option 'levle'\n  options  level, dtype, amp, precision, memory\n  hint: level exists",
    ]


def test_a_plugin_teaches_another_backend_its_op_without_importing_a_framework(ask):
    program = """
import sys, tg.plugin
rule = tg.plugin.registry().rule_for("toy", tg.plugin.registry().families()[-1].ops[0])
answer = [rule.__module__, "jax" in sys.modules]
"""
    assert ask(program, "tg-thirdparty", "tg-toy") == ["tg_thirdparty.rules.toy", False]


def test_one_manager_of_pluggy_has_every_plugin_that_was_needed_and_blocks_what_is_forbidden(ask):
    program = """
import tg.plugin
found = tg.plugin.registry()
found.problems()
found.manager.check_pending()
names = {name: getattr(plugin, "__name__", None) for name, plugin in found.manager.list_name_plugin()}
whose = {impl.plugin_name for impl in found.manager.hook.tg_backends.get_hookimpls()}
mine = ("tg-broken", "tg-clash", "tg-core", "tg-misspelled", "tg-thirdparty", "tg-toy", "tg-wrong-api")
names = {name: names[name] for name in names if name.startswith(mine)}
answer = [names, sorted(name for name in whose if name.startswith(mine))]
"""
    assert ask(program, *ALL, TG_PLUGINS_OFF="tg-clash") == [
        {
            "tg-clash/extensions/clash": None,
            "tg-core/extensions/core": "tg.plugin.builtin",
            "tg-thirdparty/extensions/cubes": "tg_thirdparty",
            "tg-toy/backends/toy": "tg_toy",
        },
        ["tg-core/extensions/core", "tg-toy/backends/toy"],
    ]
