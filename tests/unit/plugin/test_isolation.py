"""One plugin's fault is told, and takes nothing from what others say and do."""

import json
import os
import sys

import numpy as np
import pytest

import tg
from tg import plugin
from tg.backend import Op
from tg.cli import main
from tg.errors import NoRuleError
from tg.ops.family import Family
from tg.plugin import NoRules, RuleProtocol, Rules
from tg.plugin.coverage import coverage
from tg.plugin.discovery import Entry


class Doubled(Op):
    """Twice its operand: an op of a third party, without an expansion."""

    def infer(self, x):
        return (x,)

    def perform(self, x):
        return (2 * x,)


FAMILY = Family("doubling", (), (Doubled,))
OWN = {"tg_ops": lambda: (FAMILY,)}


def without(backend):
    """As `tg new-op` writes it: of every backend that it has no rules for, the reference too."""
    return NoRules((Doubled,), reason="its author has not written one")


def test_a_rule_that_is_declared_to_be_absent_is_a_gap_with_the_plugin_and_the_reason(install):
    install({}, extension={**OWN, "tg_rules": without})
    x = tg.vector("x")
    with pytest.raises(NoRuleError, match=r"tg-ext 1\.0: its author has not written one"):
        tg.function([x], Doubled()(x), backend="mine")
    assert tg.function([x], Doubled()(x), backend="perform")([1.0]).tolist() == [2.0]
    (gap,) = plugin.registry().gaps("mine")
    assert (gap.op, gap.category, gap.raises) == (Doubled, "todo", NoRuleError)
    row = next(row for row in coverage(plugin.registry(), ["mine"]) if row.op == "Doubled")
    assert row.cells[0].how == "none"
    assert row.cells[0].gaps == ("tg-ext 1.0: its author has not written one",)


def test_somebody_elses_rule_takes_the_place_of_the_declaration(install):
    world = install({}, extension={**OWN, "tg_rules": without})
    world.add("tg-other", tg_rules=world.rules_of({Doubled: lambda op, x: x + x}, "mine"))
    plugin.reset()
    x = tg.vector("x")
    assert plugin.registry().gaps("mine") == ()
    assert tg.function([x], Doubled()(x), backend="mine")([1.0]).tolist() == [2.0]


@pytest.mark.parametrize("wrong", ["Doubled", np.sin, Op])
def test_a_declaration_is_of_ops(install, wrong):
    install({}, extension={**OWN, "tg_rules": lambda backend: NoRules((wrong,), reason="none")})
    plugin.registry().rules("mine")
    (problem,) = plugin.registry().problems()
    assert problem.reason.startswith("tg_rules: NoRules: found ")
    assert problem.reason.endswith("needed an op class or an elementwise function")


def test_a_case_of_such_an_op_is_a_gap_and_no_failure(install):
    from tg.plugin.case import Case, f64
    from tg_conformance.case import Item
    from tg_conformance.run import Runner

    install({}, extension={**OWN, "tg_rules": without})
    runner = Runner("mine", lambda *_: None, rounds=0)
    item = Item(Case(Doubled(), [f64("n")], family="doubling"), "value", None, "C", static=False)
    (outcome,) = runner.run([item])
    assert (outcome.outcome, outcome.detail) == ("xfailed", "tg-ext 1.0: its author has not written one")
    assert runner.proof(0, [item]).outcome == "passed"
    assert runner.proof(0, []).outcome == "passed"


def test_a_table_of_another_protocol_is_told(install, capsys):
    older = Rules(RuleProtocol("array", 1), {tg.cos: np.cos, tg.tan: np.tan})
    install({}, extension={"tg_rules": lambda backend: older if backend == "mine" else None})
    (problem,) = plugin.registry().outdated()
    assert problem.reason == "rules for backend 'mine' are of protocol array 1, needed array 2: cos, tan"
    assert problem.remedy == "pip install --upgrade tg-ext"
    assert main(["backends"]) == 0
    assert "rules for backend 'mine' are of protocol array 1" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("required", "told"),
    [
        ("tg-core<0.1", "requires tg-core<0.1 (found 1.0)"),
        ("tg-core (>=2,<3)", "requires tg-core (>=2,<3) (found 1.0)"),
        ("tg-core>=0.1,<2", None),
        ("tg-absent>=1", "requires tg-absent>=1 (found nothing)"),
    ],
)
def test_what_a_distribution_requires_of_tg_is_held_to(world, required, told):
    module = world.module("fake_required", tg_rules=lambda backend: None)
    world.entries.append(Entry("tg-ext", "ext", "extensions", module.__name__, "1.0", requires=(required,)))
    registry = world.registry()
    assert [problem.reason for problem in registry.problems()] == ([told] if told else [])
    assert [entry.distribution for entry in registry.extensions()] == ([] if told else ["tg-ext"])


def test_a_backend_whose_gaps_cannot_be_imported_takes_no_coverage_from_others(install, capsys):
    world = install({}, extension=OWN)
    world.add_backend("torn", fields={"gaps": "no_such_module:GAPS", "linker": "fake_linker:LINKER"})
    plugin.reset()
    assert main(["coverage", "--json"]) == 0
    printed = capsys.readouterr()
    assert set(json.loads(printed.out)[0]["backends"]) == {"perform", "mine"}
    assert printed.err.startswith("not shown: torn: backend 'torn': tg-torn 1.0: importing no_such_module:GAPS raised")
    assert main(["coverage"]) == 0
    assert "mine" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["backends", "coverage", "doctor"])
def test_what_a_plugin_prints_is_no_part_of_the_json(install, capfd, command):
    world = install({}, extension=OWN)

    def noisy():
        sys.stdout.write("thank you for choosing tg-loud\n")
        os.write(1, b"its library in C is ready\n")
        return (world.backend("loud", linker="fake_linker:LINKER"),)

    world.add_backend("loud", tg_backends=noisy)
    plugin.reset()
    main([command, "--json"])
    printed = capfd.readouterr()
    assert json.loads(printed.out)
    assert "thank you for choosing tg-loud" in printed.err
    assert "its library in C is ready" in printed.err
