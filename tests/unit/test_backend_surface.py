"""`tg.backend`: what plugins import, lazily, and what users call."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tg
import tg.backend
from tg.cli.new_backend import with_rules
from tg.functions.backends import BackendChoice

PLUGINS = Path(__file__).parents[2] / "plugins"


def test_every_name_is_what_its_home_has():
    for name, home in tg.backend._HOMES.items():
        module = __import__(home, fromlist=[name])
        assert getattr(tg.backend, name) is getattr(module, name)
    assert dir(tg.backend) == sorted(tg.backend.__all__)


def test_another_name_is_an_error():
    with pytest.raises(AttributeError, match=r"module 'tg\.backend' has no attribute 'FuncifyLinkr'"):
        tg.backend.FuncifyLinkr  # noqa: B018


def test_the_module_is_what_users_call():
    assert isinstance(tg.backend("perform"), BackendChoice)
    with pytest.raises(tg.OptionError, match="speed"):
        tg.backend("perform", speed=3)


def test_an_entry_module_imports_no_linker_and_no_op():
    program = "from tg.backend import Backend, RuleProtocol, Rules, hookimpl; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not {"tg.link.funcify", "tg.rewrite.driver", "tg.ops.reduction"} & loaded


def test_every_family_that_needs_rules_can_be_imported_from_it():
    for family in with_rules():
        *folders, name = family.path.removeprefix("elementwise/").split("/")
        found = tg.backend
        for folder in folders:
            found = getattr(found, folder, found)  # those of linear algebra are at the top
        assert getattr(found, name).FAMILY is family


@pytest.mark.parametrize("plugin", ["tg-c", "tg-jax", "tg-mlx", "tg-numba", "tg-torch"])
def test_a_plugin_imports_nothing_else_of_core(plugin):
    found = set()
    for path in (PLUGINS / plugin / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else ()
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else names
            found |= {name for name in names if name.partition(".")[0] == "tg"}
    assert found <= {"tg", "tg.backend"}
