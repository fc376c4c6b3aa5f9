import dataclasses

import pytest

from tg.errors import PluginError
from tg.plugin import Backend, BackendStatus, Gap, Problem, RuleProtocol, Rules
from tg.plugin.records import key_name

ARRAY = RuleProtocol("array", 2)


def backend(name="mine", **fields):
    return Backend(name, **{"distribution": "tg-mine", "rules": ARRAY, "linker": "tg_mine:LINKER", **fields})


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"name": "My Backend"}, "name and aliases: found ('My Backend', ()), needed lower-case words without spaces"),
        ({"name": "auto"}, "name and aliases: found ('auto', ())"),
        ({"aliases": ("Mine",)}, "name and aliases: found ('mine', ('Mine',))"),
        ({"linker": "tg_mine.linker"}, "linker: found 'tg_mine.linker', needed 'module:ATTRIBUTE'"),
        ({"gaps": "tg-mine:GAPS"}, "gaps: found 'tg-mine:GAPS', needed 'module:ATTRIBUTE' or None"),
        ({"shapes": "fixed"}, "shapes: found 'fixed', needed 'static' or 'dynamic'"),
        ({"options": dict}, "options: found <class 'dict'>, needed a frozen dataclass"),
        ({"conformance_level": 0}, "conformance_level: found 0, needed an int of at least 1"),
        ({"conformance_level": True}, "conformance_level: found True, needed an int of at least 1"),
    ],
)
def test_a_backend_refuses_a_field_that_core_could_not_use_later(fields, told):
    with pytest.raises(PluginError) as caught:
        backend(**fields)
    assert told in str(caught.value)


def test_options_of_a_backend_are_frozen():
    @dataclasses.dataclass
    class Loose:
        threads: int = 1

    with pytest.raises(PluginError, match="needed a frozen dataclass"):
        backend(options=Loose)


def test_records_cannot_be_changed():
    for record in (backend(), Rules(ARRAY, {}), Problem("tg-mine", "1.0", "broken", "reason")):
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
            record.name = "other"


def test_rules_replace_only_what_they_have():
    with pytest.raises(PluginError, match="replaces names exp, for which the table has no rule"):
        Rules(ARRAY, {"add": min}, frozenset({"exp"}))


def test_the_table_of_rules_is_a_read_only_copy():
    table = {"add": min}
    rules = Rules(ARRAY, table)
    table["exp"] = max
    assert dict(rules.table) == {"add": min}
    with pytest.raises(TypeError):
        rules.table["exp"] = max


def test_a_gap_has_one_of_three_categories():
    with pytest.raises(
        PluginError, match="gap of Running: category: found 'later', needed one of never, upstream, todo"
    ):
        Gap(op="Running", dtypes=None, when=None, category="later", raises=None, reason="no reason")


def test_a_problem_reads_as_source_reason_and_hint():
    problem = Problem("tg-jax", "0.3.1", "broken", "needs jax>=0.5", 'pip install "jax>=0.5"')
    assert str(problem) == 'tg-jax 0.3.1: needs jax>=0.5\n  hint: pip install "jax>=0.5"'


def test_only_the_state_available_is_available():
    states = ("available", "not installed", "broken", "wrong API", "forbidden")
    statuses = [BackendStatus("mine", (), "tg-mine", "1.0", state, "", None) for state in states]
    assert [status.is_available for status in statuses] == [True, False, False, False, False]


def test_a_key_is_called_by_its_name_then_by_its_class_name():
    class Named:
        name = "sin"

    class Running:
        @property
        def name(self):
            return "instance"

    assert [key_name(key) for key in (Named(), Running, "add")] == ["sin", "Running", "add"]
