import inspect

import pytest

from tg.plugin import hookspecs
from tg.plugin.manager import HOOKS

SECTIONS = ["When:", "Returns:", "Combine:", "Promise:", "Since:"]


def test_there_are_six_hooks():
    assert HOOKS == ("tg_backends", "tg_rules", "tg_rewrites", "tg_ops", "tg_cases", "tg_exports")


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_documents_its_contract_in_five_sections(name):
    lines = inspect.getdoc(getattr(hookspecs, name)).splitlines()
    assert [line for line in lines if line.endswith(":") and not line.startswith(" ")] == SECTIONS


def test_the_arguments_of_a_hook_never_change():
    arguments = {name: tuple(inspect.signature(getattr(hookspecs, name)).parameters) for name in HOOKS}
    assert arguments == {
        "tg_backends": (),
        "tg_rules": ("backend",),
        "tg_rewrites": ("backend",),
        "tg_ops": (),
        "tg_cases": (),
        "tg_exports": ("format",),
    }
