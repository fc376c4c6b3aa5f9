"""A plugin with a format of its own, registered by hand."""

import dataclasses
import itertools
import sys
from types import ModuleType, SimpleNamespace

import pytest

import tg
from tg.backend import Exporter, hookimpl, option

NUMBERS = itertools.count()


@dataclasses.dataclass(frozen=True)
class Settings:
    """Options of the format."""

    level: int = option(1, "how much is written")


@pytest.fixture
def register(monkeypatch):
    """Register a plugin whose writer is a function."""
    manager = tg.plugin.registry().manager
    names = []

    def registered(write, **fields):
        module = ModuleType(f"fake_writer_{next(NUMBERS)}")
        module.write = write
        monkeypatch.setitem(sys.modules, module.__name__, module)
        writer = f"{module.__name__}:write"
        record = Exporter("trace", distribution="tg-trace", writer=writer, options=Settings, **fields)
        hook = hookimpl(lambda format: record if format == "trace" else None)
        names.append(manager.register(SimpleNamespace(tg_exports=hook), name=module.__name__))

    yield registered
    for name in names:
        manager.unregister(name=name)


@pytest.fixture
def exported(register, tmp_path):
    """What a writer is given for a function."""
    programs = []

    def write(program, path, options):
        programs.append(program)
        path.write_text("written")

    def of(f, **options):
        if not programs:
            register(write)
        tg.export(f, tmp_path / "out", "trace", **options)
        return programs[-1]

    return of
