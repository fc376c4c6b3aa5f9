"""The examples of all rewrites, varied one thing at a time, mean what they mean after rewriting."""

import dataclasses

import numpy as np
import pytest

import tg
from tests.enumerate import varied
from tests.enumerate.run import Run
from tests.enumerate.search import about
from tests.enumerate.varied import DEFAULT, Varied, changes, compare, example, programs, variations, with_examples
from tests.mutants.variations import builder, closed
from tg.ops.elementwise.arithmetic import add
from tg.ops.reduction import Reduce
from tg.ops.shape import ExpandDims
from tg.plugin.registry import Registry
from tg.rewrite.phases import CANONICALIZE, REASSOCIATES
from tg.rewrite.rule import NodeRule, node_rule
from tg.rules.catalog import RULES
from tg.rules.stable import STABLE

EXAMPLES = with_examples()
PARTS = 100  # in each of which a program of each rewrite is
WHOLE = 12  # tests that have all of them
OFTEN = 3  # of which one is long, the others nightly


def test_rewriting_keeps_the_meaning_of_a_part_of_the_variations_of_every_example():
    run = Run(modes=DEFAULT)
    for one in EXAMPLES:
        compare(run, one, part=0, parts=PARTS)
    assert not [find.text for find in run.finds]
    assert run.programs > len(EXAMPLES)


@pytest.mark.parametrize(
    "shard", [pytest.param(k, marks=pytest.mark.nightly if k % OFTEN else pytest.mark.long) for k in range(WHOLE)]
)
def test_rewriting_keeps_the_meaning_of_every_variation_of_every_example(shard):
    run = Run(modes=DEFAULT)
    for one in EXAMPLES[shard::WHOLE]:
        compare(run, one)
    assert not [find.text for find in run.finds]
    assert run.programs > 50 * len(EXAMPLES[shard::WHOLE])


def test_every_rule_of_nodes_has_an_example_that_is_varied():
    assert {one.name for one in (*RULES, *STABLE) if isinstance(one, NodeRule)} <= {one.name for one in EXAMPLES}
    for one in EXAMPLES:
        names = [what for what, _, _ in variations(builder(one))]
        assert len(names) == len(set(names)) > 50, one.name


# --- what is varied, and what is found --------------------------------------------------------------------------------


def kept_sum(x, y):
    return ExpandDims((-1,))(Reduce(add, (-1,))(x)) * y


def test_each_axis_is_moved_each_operand_expanded_and_swapped():
    inputs, outputs = example((kept_sum, 2), ("float64", "float64"), (3, 3))
    changed = {}
    for what, maker in changes(inputs, outputs):
        made = maker()
        changed[what] = None if made is None else closed(*made, what)
    assert {what.split(": ")[1] for what in changed} >= {
        "axes[0] at -2", "axis 0 of operand 0 at 1", "operand 0 expanded at 0", "operands expanded at (0, None)",
        "operands expanded at (1, 2)", "operands 0 and 1 swapped",
    }  # fmt: skip
    assert len({p.before for p in changed.values() if p is not None}) > len(changed) // 2
    shapes = {v.type.shape for what, maker in changes(inputs, outputs) if (made := maker()) for v in made[1]}
    assert shapes >= {(3, 3), (1, 3, 3), (3, 1, 3), (3, 3, 1)}


def test_what_is_promised_of_a_value_is_not_changed_below():
    def promised(x):
        return tg.log(tg.assume(tg.exp(x), positive=True))

    inputs, outputs = example((promised, 1), ("float64",), (3, 3))
    assert {what.split()[0] for what, _ in changes(inputs, outputs)} == {"log"}


def kept_distance(x, y):
    return tg.hypot(ExpandDims((-1,))(Reduce(add, (-1,))(x)), y)


def lost_axis(node, outputs):
    """sqrt(expand_dims(sum(x))**2 + y**2), whichever axis was added."""
    v, y = node.inputs
    total = v.inputs[0] if v.apply is not None and isinstance(v.apply.op, ExpandDims) else None
    if total is None or total.apply is None or total.apply.op != Reduce(add, (-1,)) or y.type.ndim != 2:
        return None
    return tg.sqrt(ExpandDims((-1,))(total) ** 2 + y**2)


LOSES_AN_AXIS = node_rule(
    "loses_an_axis",
    keys=(tg.hypot,),
    apply=lost_axis,
    phase=CANONICALIZE,
    kind=REASSOCIATES,
    why="A test.",
    example=kept_distance,
)


def test_a_rule_that_loses_an_axis_on_the_way_is_found(monkeypatch):
    own = Registry.rewrites

    def with_another(registry, name):
        known = own(registry, name)
        return dataclasses.replace(known, rules=(LOSES_AN_AXIS, *known.rules))

    monkeypatch.setattr(Registry, "rewrites", with_another)
    about.cache_clear()
    runs = {"as it stands": Run(modes=DEFAULT, shrinks=False), "changed": Run(modes=DEFAULT, shrinks=False)}
    for name, program in programs(LOSES_AN_AXIS):
        runs["changed" if ": " in name.split(": ", 1)[1] else "as it stands"].one(program, name, datas=("tame",))
    about.cache_clear()
    assert not runs["as it stands"].finds
    assert [find.fault.rule for find in runs["changed"].finds] == ["loses_an_axis"]


def test_forms_of_which_derivatives_are_taken_are_compared_as_well(monkeypatch):
    one = next(one for one in EXAMPLES if one.name == "norm_from_root")
    run = Run(modes=DEFAULT)
    compare(run, one, part=0, parts=3)
    assert not run.finds
    assert run.outputs > 10
    monkeypatch.setattr(varied, "stable", lambda outputs, inputs: ([tg.sqrt(v * v) + 1e-3 for v in outputs], None))
    compare(run, one, part=0, parts=10)
    assert {find.fault.rule for find in run.finds} == {"stable form"}


def test_programs_come_once_each_and_again_by_their_names():
    one = next(one for one in EXAMPLES if one.name == "logsumexp_shifted_back")
    first, again = (dict(programs(one, part=1, parts=4)) for _ in range(2))
    assert first.keys() == again.keys()
    assert len(first) > 10
    assert all(isinstance(p, Varied) for p in first.values())
    rng = np.random.default_rng(0)
    for p in first.values():
        for v, x in zip(p.inputs, p.arrays("tame", rng), strict=True):
            assert all(n in (None, m) for n, m in zip(v.type.shape, x.shape, strict=True))
