"""A world of plugins made in memory: modules with hooks, entries that name them, and the registry that they make."""

import itertools
import sys
from types import ModuleType

import numpy as np
import pytest

import tg
from tg.link.funcify import FuncifyLinker
from tg.ops.elementwise.arithmetic import add, multiply
from tg.ops.reduction import Reduce
from tg.plugin import Backend, Rules, hookimpl
from tg.plugin.discovery import Entry, Policy
from tg.plugin.installed import Installed
from tg.plugin.records import ARRAY
from tg.plugin.registry import Registry

NUMBERS = itertools.count()


class World:
    """What is installed: core, which provides `perform`, and the plugins that a test adds."""

    def __init__(self, monkeypatch):
        self.monkeypatch = monkeypatch
        self.entries = []
        perform = self.backend("perform", distribution="tg-core", aliases=("py",), linker="tg.link.perform:LINKER")
        self.core = self.entry("tg-core", "core", tg_backends=lambda: (perform,), tg_rules=self.rules_of({add: min}))

    def backend(self, name, **fields):
        given = {"distribution": f"tg-{name}", "rules": ARRAY, "linker": f"tg_{name}.linker:LINKER", **fields}
        return Backend(name, **given)

    def rules_of(self, table, backend="perform", protocol=ARRAY, **given):
        """A `tg_rules` hook with one table for one backend."""
        return lambda backend, wanted=backend: Rules(protocol, table, **given) if backend == wanted else None

    def entry(self, distribution, name, kind="extensions", version="1.0", api="1", **attributes):
        module = self.module(f"fake_{next(NUMBERS)}", **attributes)
        return Entry(distribution, name, kind, module.__name__, version, api)

    def module(self, name, **attributes):
        """An importable module; its functions named `tg_...` are marked as hooks."""
        module = ModuleType(name)
        for key, value in attributes.items():
            setattr(module, key, hookimpl(value) if key.startswith("tg_") else value)
        self.monkeypatch.setitem(sys.modules, name, module)
        return module

    def add(self, distribution, name=None, **given):
        """Install an extension."""
        self.entries.append(self.entry(distribution, name or distribution.removeprefix("tg-"), **given))

    def add_backend(self, name, *, fields=None, **given):
        """Install the distribution `tg-name` with the backend `name`."""
        backend = self.backend(name, **(fields or {}))
        hooks = {"tg_backends": lambda: (backend,), **given}
        self.entries.append(self.entry(hooks.pop("distribution", f"tg-{name}"), name, "backends", **hooks))

    def add_missing(self, distribution, name=None, kind="extensions", **given):
        """Install an entry whose module raises ModuleNotFoundError."""
        self.entries.append(Entry(distribution, name or distribution, kind, "no_such_module_anywhere", "1.0", **given))

    def installed(self, **environ):
        return Installed(self.core, self.entries, Policy.from_environment(environ))

    def registry(self, **environ):
        return Registry(self.installed(**environ))


@pytest.fixture
def world(monkeypatch):
    return World(monkeypatch)


def reduce(op, x):
    return np.add.reduce(x, axis=op.axes)


RULES = {tg.sin: np.sin, add: np.add, multiply: np.multiply, Reduce: reduce}


@pytest.fixture
def install(world, monkeypatch):
    """Install backend `mine` with some rules, and an extension with rewrites or rules, for the process."""

    def made(rules, *, jit=None, extension=None, offered=None, **linker):
        found = FuncifyLinker(to_native=np.array, to_numpy=np.asarray, jit=jit, **linker)
        world.module("fake_linker", LINKER=found)
        table = world.rules_of({**RULES, **rules}, "mine", **(offered or {}))
        world.add_backend("mine", fields={"linker": "fake_linker:LINKER"}, tg_rules=table)
        if extension is not None:
            world.add("tg-ext", **extension)
        monkeypatch.setattr(sys.modules["tg.plugin.registry"], "_from_environment", world.registry)
        tg.plugin.reset()
        return world

    yield made
    monkeypatch.undo()
    tg.plugin.reset()
