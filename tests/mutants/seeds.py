"""Programs in which a rewrite fires in company: what it met in the replay corpus, cut out of there.

Rules often meet what other rules have made, in forms that no example shows. So the corpus is rewritten with a journal,
and around each replacement the few operations below it become a program of their own: what lies deeper becomes inputs,
of which is assumed what was known.
"""

from __future__ import annotations

import functools

import tg
from tests.replay.program import FAMILIES, expression, performs, programs
from tg import plugin
from tg.graph.facts import FACTS, facts_of
from tg.graph.function_graph import FunctionGraph
from tg.graph.nodes import Constant, apply
from tg.ops.elementwise.record import Elementwise
from tg.rewrite.driver import rewrite
from tg.rewrite.journal import Journal

DEPTH = 5  # how far below a replaced value its program reaches
MOST = 12  # programs of one rewrite


@functools.cache
def seeds():
    """By the name of a rewrite, the programs that were cut out for it: inputs and outputs."""
    found, seen = {}, set()
    for family in FAMILIES:
        for one in programs(family):
            for name, old in replacements(one):
                kept = found.setdefault(name, [])
                if len(kept) < MOST:
                    inputs, outputs = cut(old)
                    key = (name, FunctionGraph.of(inputs, outputs).freeze())
                    if key not in seen:
                        seen.add(key)
                        kept.append((inputs, outputs))
    return found


def replacements(program):
    """The names of rewrites that fire in a program, and what they replaced."""
    inputs, outputs = expression(program)
    journal = Journal()
    graph = FunctionGraph.of(inputs, outputs)
    rewrite(graph, [plugin.registry().rewrites("perform")], supported=performs, journal=journal)
    return [(e.name, e.old) for e in journal.entries if e.old and e.old[0].apply is not None]


def cut(values):
    """The operations above a depth as a program, over inputs for what is deeper."""
    made, inputs = {}, []

    def leaf(v):
        x = tg.tensor(f"x{len(inputs)}", v.type.dtype, v.type.shape)
        inputs.append(x)
        known = [n for n in facts_of(v) if not FACTS[n].matrix]
        return tg.assume(x, **dict.fromkeys(sorted(known), True)) if known else x

    def copy(v, depth):
        if isinstance(v, Constant):
            return v
        if id(v) not in made:
            if v.apply is None or depth == 0:
                made[id(v)] = leaf(v)
            else:
                operands = [copy(u, depth - 1) for u in v.inputs]
                op = v.apply.op
                results = (op.fn(*operands),) if isinstance(op, Elementwise) else apply(op, operands)
                made[id(v)] = results[v.index]
        return made[id(v)]

    return inputs, [copy(v, DEPTH) for v in values[:1]]
