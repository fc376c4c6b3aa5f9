"""All mutants of a family, tried one after another."""

from __future__ import annotations

import contextlib
import random
import sys
from typing import NamedTuple

from tests.mutants import syntax, terms
from tests.mutants.reviewed import EQUIVALENT
from tests.mutants.trial import SEARCH, Verdict, family_of, interleaved, pool, searched, tried
from tests.unit.rules.examine import Examination, Flaw, too_weak
from tests.unit.rules.test_rules import REVIEWED
from tg.rewrite.rule import Equation


class Options(NamedTuple):
    """How much is done."""

    sample: float = 1.0  # the part of all mutants that is tried
    seed: int = 0  # which part
    only: str = ""  # mutants whose key has this text
    forms: bool = True  # whether programs begin with those of the replay corpus too
    tests: bool = False  # whether tests of the suite try what survives
    search: float = SEARCH  # seconds for programs that kill what still survives
    show: bool = False

    def chooses(self, key):
        """Whether a mutant is tried: the same one whatever others there are."""
        return self.only in key and random.Random(f"{self.seed}/{key}").random() < self.sample


class Found(NamedTuple):
    """The mutants of a family by how they ended, and reviewed ones that were killed.

    Those of form are right, as far as all programs show: they look at more or less than the rule does (a cost), or say
    that its equation holds for more dtypes, as it does.
    """

    killed: list
    form: list
    equivalent: list
    survivors: list
    stale: list


def of_family(name, rules, options):
    """What becomes of the mutants of a family.

    Mutants of equations and classes are tried on their rule alone, those of functions on all rules that run them.
    """
    pools = {one.name: pool(one, forms_of(one) if options.forms else ()) for one in rules}
    found = Found([], [], [], [], [])
    for one in rules:
        for changed in terms.mutants(one):
            key = f"{one.name}: {changed.label}"
            if options.chooses(key):
                settle(found, key, verdict_on_term(changed, pools[one.name], one, options), options, changed.is_wider)
    runs = cases_by_code(pools)
    read = {getattr(one.match, "__code__", None) for one in rules if isinstance(one, Equation)}  # once, as terms
    for code in sorted(runs, key=lambda c: (c.co_filename, c.co_firstlineno, c.co_qualname)):
        if family_of(code.co_filename) != name or code in read:
            continue
        unit = syntax.unit_of(code)
        for mutant in syntax.mutants(unit) if unit is not None else ():
            if options.chooses(mutant.key):
                verdict = verdict_on(mutant, runs[code], code, options)
                settle(found, mutant.key, verdict, options, mutant.site.is_of_cost)
    return found


def forms_of(one):
    from tests.mutants.seeds import seeds

    return seeds().get(one.name, ())


def cases_by_code(pools):
    """By each code the cases that run it, those of different rules in turn."""
    by_rule = {}
    for name, cases in pools.items():
        for case in cases:
            for code in case.codes:
                by_rule.setdefault(code, {}).setdefault(name, []).append(case)
    return {code: interleaved(groups.values()) for code, groups in by_rule.items()}


def settle(found, key, verdict, options, is_form):
    if verdict.how:
        found.killed.append((key, verdict))
        if key in EQUIVALENT:
            found.stale.append(key)
    elif is_form:
        found.form.append((key, verdict))
    elif key in EQUIVALENT:
        found.equivalent.append((key, verdict))
    else:
        found.survivors.append((key, verdict))
    if options.show:
        sys.stdout.write(f"  {verdict.how or 'survived'}: {key}\n      {verdict.what[:300]}\n")
        sys.stdout.flush()


def verdict_on(mutant, cases, code, options):
    """By programs as they are, by the tests that run it, by programs that are looked for."""
    in_place = mutant.ready()
    with in_place():
        found = tried(cases, lambda case: case.rule)
    if found.how:
        return found
    if options.tests:
        from tests.mutants.suite import tested

        by_test = tested(code, in_place)
        if by_test.how:
            return by_test
    sought, case = searched(cases, in_place, lambda case: case.rule, random.Random(mutant.key), seconds=options.search)
    if case is not None:
        cases.insert(0, case)  # its neighbours die of it too
        return sought
    return found


def verdict_on_term(changed, cases, one, options):
    found = tried(cases, lambda case: changed.rule, skips=changed.rule.kind == one.kind)
    if found.how == "value":
        return found
    by_itself = examined(changed.rule, one)
    if by_itself is not None:
        return by_itself
    rng = random.Random(changed.label)
    sought, _ = searched(cases, contextlib.nullcontext, lambda case: changed.rule, rng, seconds=options.search)
    return sought if sought.how else found


def examined(changed, one):
    """What the examination of the rule as it is says of it: on its own left side."""
    seen = Examination(changed)
    try:
        changes = seen.conduct()
    except Flaw as error:
        return Verdict("value", str(error))
    except Exception as error:  # noqa: BLE001 (it is no rule)
        return Verdict("raises", repr(error))
    dtypes = getattr(changed, "dtypes", None)
    if not seen.fired or (dtypes is not None and changed.when is None and seen.fired != set(dtypes)):
        return Verdict("fires", "for other dtypes than it says")
    if changed.kind == one.kind and too_weak(changed.kind, changes) != (one.name in REVIEWED):
        return Verdict("class", f"was seen to change {sorted(changes)}")
    return None
