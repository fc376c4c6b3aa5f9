"""Formats of `tg.export` by plugin: one provider each, failures told, requirements looked at."""

import dataclasses

import pytest

from tg.errors import BackendUnavailable, OptionError, PluginError
from tg.plugin import Exporter


def exports(**fields):
    record = Exporter("onnx", **{"distribution": "tg-mine", "writer": "fake_mine:write", **fields})
    return lambda format: record if format == "onnx" else None


def test_extensions_and_the_plugins_of_backends_are_asked(world):
    world.add_backend("mine", tg_exports=exports())
    assert world.registry().exporter("onnx").exporter.distribution == "tg-mine"
    assert world.registry().formats() == ("onnx",)
    world.entries.clear()
    world.add("tg-mine", tg_exports=exports())
    assert world.registry().exporter("onnx").plugin.entry.distribution == "tg-mine"


def test_two_providers_are_an_error_that_names_both(world):
    world.add("tg-a", tg_exports=exports())
    world.add("tg-b", tg_exports=exports())
    with pytest.raises(PluginError, match=r"2 providers: tg-a 1\.0 and tg-b 1\.0\n  hint: uninstall one"):
        world.registry().exporter("onnx")


def test_another_plugins_failure_is_not_in_the_way(world):
    world.add("tg-a", tg_exports=lambda format: 1 // 0)
    world.add_missing("tg-c", "gone")
    world.add("tg-mine", tg_exports=exports())
    assert world.registry().exporter("onnx").exporter.format == "onnx"


def test_a_failure_of_the_plugin_that_has_it_is_told(world):
    world.add("tg-onnx", tg_exports=lambda format: 1 // 0)
    with pytest.raises(PluginError, match=r"tg-onnx 1\.0: tg_exports\('onnx'\) raised ZeroDivisionError"):
        world.registry().exporter("onnx")


def test_failures_of_others_are_listed_where_nobody_has_it(world):
    world.add("tg-a", tg_exports=lambda format: 1 // 0)
    with pytest.raises(OptionError, match="plugins that failed  tg-a"):
        world.registry().exporter("paper")


def test_a_distribution_that_is_not_installed_is_named(world):
    with pytest.raises(BackendUnavailable, match="needed tg-onnx"):
        world.registry().exporter("onnx")


def test_what_is_no_exporter_is_an_error(world):
    world.add("tg-onnx", tg_exports=lambda format: "write")
    with pytest.raises(PluginError, match="tg_exports: found str 'write', needed Exporter or None"):
        world.registry().exporter("onnx")


def test_an_exporter_of_another_format_is_an_error(world):
    world.add("tg-mine", tg_exports=lambda format: exports()("onnx"))
    with pytest.raises(PluginError, match="found an exporter of 'onnx', needed one of 'paper'"):
        world.registry().exporter("paper")


def test_requirements_that_are_not_met_are_told(world):
    world.add("tg-mine", tg_exports=exports(requires=("no-such-thing>=1",)))
    with pytest.raises(BackendUnavailable, match="needs no-such-thing>=1"):
        world.registry().exporter("onnx")


def test_a_writer_is_imported_when_it_is_needed(world):
    world.add("tg-mine", tg_exports=exports())
    registry = world.registry()
    offer = registry.exporter("onnx")
    world.module("fake_mine", write=print)
    assert registry.writer(offer) is print


@pytest.mark.parametrize(("write", "text"), [(3, "found int 3, needed a function"), (None, "found NoneType")])
def test_a_writer_that_is_no_function_is_an_error(world, write, text):
    world.add("tg-mine", tg_exports=exports())
    world.module("fake_mine", write=write)
    registry = world.registry()
    with pytest.raises(PluginError, match=text):
        registry.writer(registry.exporter("onnx"))


def test_a_writer_that_cannot_be_imported_is_an_error(world):
    world.add("tg-mine", tg_exports=exports(writer="no_such_module_anywhere:write"))
    registry = world.registry()
    with pytest.raises(PluginError, match="importing no_such_module_anywhere:write raised ModuleNotFoundError"):
        registry.writer(registry.exporter("onnx"))


@dataclasses.dataclass(frozen=True)
class Taken:
    """Options that are keywords of tg.export."""

    example: int = 1


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"format": "ON NX"}, "format: found 'ON NX', needed a lower-case word"),
        ({"writer": "tg_mine"}, "writer: found 'tg_mine', needed 'module:FUNCTION'"),
        ({"options": dict}, "options: found <class 'dict'>, needed a frozen dataclass"),
        ({"options": Taken}, "needed none of the keywords of tg.export"),
    ],
)
def test_fields_are_checked(fields, text):
    given = {"format": "onnx", "distribution": "tg-mine", "writer": "tg_mine:write", **fields}
    with pytest.raises(PluginError, match=text):
        Exporter(given.pop("format"), **given)
