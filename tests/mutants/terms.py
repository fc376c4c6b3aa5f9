"""Mutants of equations: a term of one side changed, a condition or a dtype dropped, a class claimed that it has not."""

from __future__ import annotations

import copy
import functools
from typing import NamedTuple

import tg
from tests.unit.rules.examine import subjects
from tg.ops.elementwise.arithmetic import gate
from tg.rewrite.pattern import Pattern, PatternNode, PatternVariable, term_of
from tg.rewrite.phases import EXACT
from tg.rewrite.rule import COMPLEX, FLOATING, INTEGER, Equation

SIBLINGS = {
    tg.add: tg.subtract, tg.subtract: tg.add, tg.multiply: tg.divide, tg.divide: tg.multiply, tg.maximum: tg.minimum,
    tg.minimum: tg.maximum, tg.exp: tg.expm1, tg.expm1: tg.exp, tg.log: tg.log1p, tg.log1p: tg.log,
    tg.less: tg.less_equal,
    tg.less_equal: tg.less, tg.greater: tg.greater_equal, tg.greater_equal: tg.greater, tg.equal: tg.not_equal,
    tg.not_equal: tg.equal, tg.logical_and: tg.logical_or, tg.logical_or: tg.logical_and, tg.bitwise_and: tg.bitwise_or,
    tg.bitwise_or: tg.bitwise_and, tg.left_shift: tg.right_shift, tg.right_shift: tg.left_shift, gate: tg.multiply,
    tg.sin: tg.cos, tg.cos: tg.sin, tg.sinh: tg.cosh, tg.cosh: tg.sinh, tg.floor: tg.ceil, tg.ceil: tg.floor,
    tg.floor_divide: tg.remainder, tg.sqrt: tg.absolute, tg.square: tg.absolute, tg.power: tg.multiply,
    tg.logaddexp: tg.maximum, tg.sigmoid: tg.softplus, tg.softplus: tg.sigmoid, tg.real: tg.imag, tg.imag: tg.real,
}  # fmt: skip
DROPPED = (tg.negative, tg.absolute, tg.square, tg.sqrt, tg.conj, tg.logical_not, tg.invert)


class Changed(NamedTuple):
    """A mutant of an equation: what was changed, and the equation that says so."""

    label: str
    rule: Equation
    is_wider: bool = False  # whether it says the same of more dtypes


def variables(count):
    return [PatternVariable(f"x{k}", k) for k in range(count)]


def side(function, count):
    """The term that a side of an equation builds; None where it builds no term of a pattern."""
    try:
        made = function(*variables(count))
    except Exception:  # noqa: BLE001 (what asks its operands for their types, or is not made of elementwise functions)
        return None
    return made if isinstance(made, Pattern | int | float | complex | bool) else None


def build(term, operands):
    """The value of a term for what its variables stand for."""
    if isinstance(term, PatternVariable):
        return operands[term.number]
    if isinstance(term, PatternNode):
        return term.fn(*(build(t, operands) for t in term.operands))
    return term


def altered(term, count, *, negated):
    """All terms that differ from one in one place."""
    if isinstance(term, PatternVariable):
        for other in variables(count):
            if other.number != term.number:
                yield f"{term} as {other}", other
    elif isinstance(term, PatternNode):
        yield from of_node(term)
        for k, operand in enumerate(term.operands):
            for label, new in altered(operand, count, negated=False):
                yield (
                    f"{term.fn.name}: {label}",
                    PatternNode(term.fn, (*term.operands[:k], new, *term.operands[k + 1 :])),
                )
    elif isinstance(term, bool):
        yield f"{term} as {not term}", not term
    elif isinstance(term, int | float):
        yield f"{term} as {term + 1}", term + 1
        yield f"{term} as {-term - 1 if term == 0 else -term}", -term if term else -1
    if negated and not isinstance(term, bool):
        yield "negative", PatternNode(tg.negative, (term,))


def of_node(term):
    if term.fn in SIBLINGS:
        yield f"{term.fn.name} as {SIBLINGS[term.fn].name}", PatternNode(SIBLINGS[term.fn], term.operands)
    if term.fn in DROPPED:
        yield f"without {term.fn.name}", term.operands[0]
    if len(term.operands) == 2 and not term.fn.commutative and term.operands[0] is not term.operands[1]:
        yield f"{term.fn.name}: operands swapped", PatternNode(term.fn, term.operands[::-1])


def claimed_exact(one):
    same = copy.copy(one)
    same.kind = EXACT
    return same


def mutants(one):
    """All mutants of an equation; of other rewrites only the one that claims to be exact."""
    if one.kind != EXACT:
        yield Changed(f"{one.kind} as exact", claimed_exact(one))
    if not isinstance(one, Equation):
        return
    term, count = term_of(one.match)
    for label, new in altered(term, count, negated=False):
        if isinstance(new, PatternNode):
            yield Changed(f"match, {label}", with_parts(one, match=of_variables(new, count)))
    replaced = side(one.replace, count)
    if replaced is not None:
        for label, new in altered(replaced, count, negated=True):
            yield Changed(f"replace, {label}", with_parts(one, replace=functools.partial(call, new)))
    else:
        yield Changed("replace, negative", with_parts(one, replace=functools.partial(negative_of, one.replace)))
    if one.when is not None:
        yield Changed("without its condition", with_parts(one, when=None))
    for name, more in (
        ("integers", INTEGER),
        ("floats", FLOATING),
        ("complex numbers", frozenset(COMPLEX)),
        ("bool", frozenset({"bool"})),
    ):
        if not more & one.dtypes and fires_for(one, more):
            yield Changed(f"for {name} too", with_parts(one, dtypes=one.dtypes | more), is_wider=True)


def fires_for(one, dtypes):
    """Whether there are programs of dtypes that a rule could be for: functions of floats have none of integers."""
    try:
        return next(subjects(with_parts(one, dtypes=dtypes)), None) is not None
    except Exception:  # noqa: BLE001 (there are, and it must not)
        return True


def call(term, *operands):
    return build(term, operands)


def negative_of(function, *operands):
    return tg.negative(function(*operands))


def of_variables(term, count):
    """A function of so many parameters that builds a term: equations read how many there are."""
    names = ", ".join(f"x{k}" for k in range(count))
    return eval(f"lambda {names}: call(term, {names})", {"call": call, "term": term})


def with_parts(one, **parts):
    given = {
        name: getattr(one, name) for name in ("name", "phase", "kind", "why", "match", "replace", "dtypes", "when")
    }
    return Equation(**{**given, **parts})
