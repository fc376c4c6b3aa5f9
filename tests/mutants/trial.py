"""What is done to a mutant: the programs of its family that run it are rewritten, and what differs is held to the rule.

Programs are rewritten by one rule alone, so that nothing hides what it did. Where the program that comes out is the one
that the rule makes unmutated there is nothing to see; else it is computed for hostile arrays, and the mutant is killed
if it breaks the promise of the rule's class (`tests.unit.rules.examine`) where the rule itself keeps it. It is killed
as well if it raises, does not end, or leaves a rule that does not fire in a program whose text the suite holds (its
example, a form of it, what it met in the replay corpus) or in fewer than before, that fires there and changes nothing,
or that leaves more to compute there; and by tests of the suite that run it and fail.
"""

from __future__ import annotations

import collections
import itertools
import math
import sys
import time
import types
from pathlib import Path
from typing import NamedTuple

import tg.rules
from tests.enumerate.run import EndlessError, limited
from tests.mutants import syntax
from tests.mutants.changes import LAST
from tests.mutants.reviewed import OVERFLOWING
from tests.mutants.variations import FEW, alone, builders, kept, reworked, trials, variations
from tests.unit.rules.examine import Examination, Flaw
from tg.ops.contraction import MatMul
from tg.rules.catalog import PASSES, RULES

HOME = Path(tg.rules.__file__).parent
POOL = 150  # programs around one rule, as the table of firings counts them
OF_FORMS = 60  # programs that begin with what it met in company
SECONDS = 3.0  # for one mutant, of the processor: other work beside it changes no verdict
ENDLESS = 2.0  # for one program, which takes a millisecond
SEARCH = 3.0  # for programs that kill one that survives
MOST_CHANGED = 400  # cases that a search begins with
NEAR = 0.7  # how often with one that fires
MOST_JUDGED = 80  # programs that come out another way, and right


class Case:
    """A program and what a rewrite alone makes of it."""

    __slots__ = ("after", "codes", "fired", "folds", "program", "rule", "sound")

    def __init__(self, rule, program, folds, after, fired, codes):
        self.rule, self.program, self.folds = rule, program, folds
        self.after, self.fired, self.codes = after, fired, codes
        self.sound = None  # whether the rewrite keeps its promise here, once somebody has asked


class Verdict(NamedTuple):
    """How a mutant ended: "value", "raises", "endless", "fires", "work", "test", or "" for one that survives."""

    how: str
    what: str


def codes_run(function, *args, **kwargs):
    """What a function returns, and the codes of rules that it runs."""
    found = set()
    home = str(HOME)
    known = {}

    def note(frame, event, arg):
        if event == "call":
            code = frame.f_code
            if known.setdefault(code, code.co_filename.startswith(home)):
                found.add(code)

    syntax.forget()  # what is remembered runs no code
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        made = function(*args, **kwargs)
    finally:
        sys.setprofile(before)
    return made, found


def case_of(rule, program):
    """The case of a program; None where it cannot be rewritten at all."""
    found = None
    for folds in (False, True):  # some look for what folding makes
        try:
            (after, fired), codes = codes_run(alone, rule, program, folds=folds)
        except Exception:  # noqa: BLE001 (an op with fields that no function gives it)
            return None
        if fired or found is None:
            found = Case(rule, program, folds, after, fired, codes)
        if fired:
            break
    return found


def pool(rule, forms=()):
    """The cases of a rule: different programs in which it fires or might, then changed forms of those in company."""
    found, seen = [], set()
    around = itertools.islice(variations(rule), 4 * POOL)
    beyond = itertools.islice(variations(rule, forms), OF_FORMS + 4 * POOL) if forms else ()
    count = POOL + FEW * (len(builders(rule)) - 1)
    for programs, size in ((around, count), (beyond, count + OF_FORMS)):
        for program in programs:
            if len(seen) >= size:
                break
            if program.before not in seen:
                seen.add(program.before)
                case = case_of(rule, program)
                if case is not None and (case.fired or case.codes):
                    found.append(case)
    return found


def flaw(rule, program, after, *, tame=False):
    """How a rewritten program breaks the promise of a rule's class; None where it keeps it.

    Args:
        tame: whether only arrays are taken that are finite, or NaN, and far from overflow.
    """
    subject = program.subject(after)
    seen = Examination(rule)
    try:
        for old, new in zip(subject.before.output_types, after.output_types, strict=True):
            if not new.refines(old):
                return f"gives {new}, needed {old}"
        for data in trials(program):
            known = kept(program, data) if data.tame or not tame else None
            if known is not None:
                seen.examine(subject, known)
    except Flaw as error:
        return str(error)
    except Exception:  # noqa: BLE001 (a program that cannot be computed as it is written)
        return None
    return None


def is_sound(case):
    """Whether the rewrite keeps its promise for a program; those where it does not are shown to somebody."""
    if case.sound is None:
        found = flaw(case.rule, case.program, case.after)
        case.sound = found is None
        if found is not None and case.rule.name in OVERFLOWING:
            found = flaw(case.rule, case.program, case.after, tame=True)
        if found is not None:
            UNSOUND.append((case, found))
    return case.sound


UNSOUND = []


def tried(cases, rule_of, *, skips=True, seconds=SECONDS):
    """The verdict on what is in place now, by cases in order."""
    started, judged = time.process_time(), 0
    fires, lost, gained, more = {}, {}, collections.Counter(), None
    for case in cases:
        if time.process_time() - started > seconds or judged > MOST_JUDGED:
            break
        rule = rule_of(case)
        try:
            with limited(ENDLESS):
                after, fired = alone(rule, case.program, folds=case.folds)
        except EndlessError:
            return Verdict("endless", case.program.origin)
        except Exception as error:  # noqa: BLE001 (of whatever kind, it is new)
            return Verdict("raises", f"{case.rule.name}, {case.program.origin}: {error!r}")
        if case.fired:
            (fires if fired else lost).setdefault(case.rule.name, []).append(case)
        elif fired and after == case.after and case.program.is_held:
            return Verdict("fires", f"{case.rule.name}: for nothing in {case.program.origin}")
        elif fired:
            gained[case.rule.name] += 1
        if skips and after == case.after:
            continue
        judged += 1
        found = flaw(rule, case.program, after)
        if found is not None and is_sound(case):
            return Verdict("value", f"{case.rule.name}, {case.program.origin}: {found}")
        if case.program.is_held and work(after) > work(case.after):
            more = more or Verdict("work", f"{case.rule.name}, {case.program.origin}: more is computed")
    for name, missing in lost.items():
        first = next((c for c in missing if c.program.is_held), missing[0])
        if name not in fires or first.program.is_held or len(missing) > gained[name]:
            return Verdict("fires", f"{name}: not in {first.program.origin}")
    if more is not None:
        return more
    if lost:
        name = min(lost)
        return Verdict("", f"{name}: fires no more in {lost[name][0].program.origin}")
    return Verdict("", "")


def work(program):
    """How much a program computes: elements, and what a product of matrices adds up; lengths as in most trials."""
    total = 0
    for node in program.nodes:
        sizes = [prod_of(program.types[v].shape) for v in (*node.inputs, *node.outputs)]
        inner = program.types[node.inputs[0]].shape[-1:] if isinstance(node.op, MatMul) else ()
        total += 1 + sizes[-1] * prod_of(inner)
    return total


def prod_of(shape):
    return math.prod(LAST if n is None else n for n in shape)


def searched(cases, in_place, rule_of, rng, *, seconds=SEARCH):
    """The verdict by programs like those of the cases, which are changed at random for a while.

    Returns:
        It, and the case that shows it.
    """
    deadline = time.process_time() + seconds
    cases = cases[:MOST_CHANGED]
    firing = [c for c in cases if c.fired]  # near which the guards stand
    while cases and time.process_time() < deadline:
        case = rng.choice(firing if firing and rng.random() < NEAR else cases)
        program = reworked(case.program.inputs, case.program.outputs, rng, f"{case.program.origin}, searched")
        if program is None:
            continue
        try:
            right, fired = alone(case.rule, program, folds=case.folds)
        except Exception:  # noqa: BLE001 (no program)
            continue
        new = Case(case.rule, program, case.folds, right, fired, case.codes)
        try:
            with in_place(), limited(ENDLESS):
                found, _ = alone(rule_of(case), program, folds=case.folds)
        except EndlessError:
            return Verdict("endless", program.origin), new
        except Exception as error:  # noqa: BLE001 (it is new)
            return Verdict("raises", f"{case.rule.name}, {program.origin}: {error!r}"), new
        if found == right:
            continue
        wrong = flaw(rule_of(case), program, found)
        if wrong is not None and is_sound(new):
            return Verdict("value", f"{case.rule.name}, {program.origin}: {wrong}"), new
    return Verdict("", ""), None


def interleaved(groups):
    """One of each group, then another of each."""
    return [x for row in itertools.zip_longest(*groups) for x in row if x is not None]


# --- families --------------------------------------------------------------------------------------------------------


def home_of(one):
    """The file of rules that has a rewrite, by the first function that says so."""
    for attribute in ("when", "function", "run", "example", "match", "replace"):
        f = getattr(one, attribute, None)
        f = getattr(f, "func", f)
        code = getattr(f, "__code__", None)
        if isinstance(code, types.CodeType) and code.co_filename.startswith(str(HOME)):
            return family_of(code.co_filename)
    return None


def family_of(filename):
    """The family of a file: `elementwise/arithmetic`, `indexing`, `softmax`."""
    parts = Path(filename).relative_to(HOME).with_suffix("").parts
    return "/".join(parts[:2]) if parts[0] == "elementwise" else parts[0]


def families():
    """The rewrites of core by family."""
    known, found = {}, {}
    import importlib

    for name in sorted(
        {
            family_of(p)
            for p in map(str, HOME.rglob("*.py"))
            if not p.endswith(("rules/__init__.py", "catalog.py", "elementwise/__init__.py"))
        }
    ):
        module = importlib.import_module("tg.rules." + name.replace("/", "."))
        found[name] = [*getattr(module, "RULES", ()), *getattr(module, "PASSES", ())]
        known.update((id(one), name) for one in found[name])
    assert set(known) == set(map(id, (*RULES, *PASSES)))
    return found
