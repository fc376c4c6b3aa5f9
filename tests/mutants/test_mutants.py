"""Mutants of a few rules are killed, and the rules themselves are not: what kills can kill, and only what is wrong.

`make mutants` tries those of all rules.
"""

import contextlib
import functools
import itertools
import random

import pytest

import tg
from tests.mutants import syntax, terms
from tests.mutants.reviewed import EQUIVALENT
from tests.mutants.run import Options, of_family
from tests.mutants.trial import families, flaw, pool, searched, tried
from tests.mutants.variations import alone, closed, variations
from tg.rewrite.rule import rule
from tg.rules import sorting
from tg.rules.catalog import PASSES, RULES
from tg.rules.elementwise.arithmetic import products

BY_NAME = {one.name: one for one in (*RULES, *PASSES)}


@functools.cache
def cases(name="negative_over_constant"):
    return pool(BY_NAME[name])


def mutant_of(function, label):
    (found,) = [m for m in syntax.mutants(syntax.unit_of(function.__code__)) if m.site.label == label]
    return found


def verdict(function, label):
    known = cases()  # as the rule is
    with mutant_of(function, label).ready()():
        return tried(known, lambda case: case.rule)


@pytest.mark.parametrize(
    ("function", "label", "how"),
    [
        (products._negated, "-c.data without its sign", "value"),
        (products._negative_over_constant.function, "divide(x.inputs[0], _negated(c)) with operands swapped", "value"),
        (
            products._negative_over_constant.function,
            "return divide(x.inputs[0], _negated(c)): None in its place",
            "fires",
        ),
        (products._negative_over_constant.function, "0 as 1 in x.inputs[0]", "raises"),
    ],
)
def test_a_broken_function_is_found_and_how(function, label, how):
    assert verdict(function, label).how == how


def test_a_function_runs_again_as_it_was_after_its_mutant():
    code = products._negated.__code__
    with mutant_of(products._negated, "-c.data without its sign").ready()():
        assert products._negated.__code__ is not code
    assert products._negated.__code__ is code


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["negative_over_constant", "product_of_negatives", "reduce_of_movement"])
def test_a_rule_as_it_is_is_not_killed(name):
    assert tried(cases(name), lambda case: case.rule).how == ""
    assert all(flaw(case.rule, case.program, case.after) is None for case in cases(name)[:40])


@pytest.mark.long
def test_a_search_finds_a_program_for_a_missing_guard():
    """A rule for real numbers, without its guard, is wrong for complex ones only."""
    one = BY_NAME["multiply_by_one"]
    wide = terms.with_parts(one, dtypes=one.dtypes | {"complex128"})
    # It ends with the first that it finds: the seconds are for slow machines.
    found, _ = searched(cases(one.name), contextlib.nullcontext, lambda case: wide, random.Random(0), seconds=120.0)
    assert found.how == "value"


def test_terms_of_both_sides_are_changed():
    one = rule(
        "double", match=lambda x, y: x * y + 2, replace=lambda x, y: 2 + y * x, phase="canonicalize", kind="exact",
        why="A test.", dtypes=frozenset({"float64"}),
    )  # fmt: skip
    labels = [changed.label for changed in terms.mutants(one)]
    assert {
        "match, add: 2 as 3",
        "match, add as subtract",
        "replace, add: multiply: x1 as x0",
        "replace, negative",
    } < set(labels)
    x, y = tg.vector("x"), tg.vector("y")
    (changed,) = [c for c in terms.mutants(one) if c.label == "match, add: 2 as 3"]
    assert alone(changed.rule, closed([x, y], [x * y + 3], ""))[1]
    assert not alone(changed.rule, closed([x, y], [x * y + 2], ""))[1]


@pytest.mark.long
def test_mutants_of_a_small_family_are_killed():
    found = of_family("sorting", sorting.RULES, Options(sample=1.0, forms=False, search=0.0))
    assert len(found.killed) >= 15
    assert len(found.killed) > 2 * len(found.survivors), "without the corpus and a search that is what is left"
    assert {verdict.how for _, verdict in found.killed} >= {"value", "fires", "raises"}


def test_programs_around_a_rule_come_again():
    one = BY_NAME["combine_factors"]
    first, again = ([next(p) for _ in range(80)] for p in (variations(one), variations(one)))
    assert [p.before for p in first] == [p.before for p in again]


def test_what_a_rule_is_for_is_held_in_all_its_shapes():
    """Where a rule no longer fires there, its mutant is killed; what was changed at random may differ."""
    origins = {p.origin: p.is_held for p in itertools.islice(variations(BY_NAME["combine_factors"]), 200)}
    assert {held for origin, held in origins.items() if origin.startswith("plain")} == {True}
    assert "plain float64[None, None]" in origins
    assert {held for origin, held in origins.items() if origin.startswith("varied")} == {False}


def test_every_rewrite_belongs_to_one_family():
    names = [one.name for rewrites in families().values() for one in rewrites]
    assert sorted(names) == sorted(BY_NAME)


def test_what_was_reviewed_says_why():
    assert all(reason.endswith(".") for reason in EQUIVALENT.values())
