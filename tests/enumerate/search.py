"""The comparison of one program with what rewriting makes of it, as a whole and replacement by replacement."""

from __future__ import annotations

import functools
from collections import Counter
from typing import NamedTuple

import numpy as np

from tests.enumerate.judge import Data, examined
from tests.fuzz.perturbation import one_way
from tg import plugin
from tg.errors import TgError
from tg.functions.debug.rounding import is_inexact, wide
from tg.functions.formula import formulas
from tg.graph.frozen import FrozenGraph
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.graph.op import Op
from tg.graph.traversal import sorted_applies
from tg.rewrite.driver import FOLD, INNER, rewrite
from tg.rewrite.journal import Journal
from tg.rewrite.phases import DROPS_ERROR, EXACT, KINDS, REASSOCIATES, allowed_kinds

FIRED: Counter[str] = Counter()  # programs in which a rewrite fired


class Fault(NamedTuple):
    """What is wrong with a program: which rewrite did it, of which class, what it does, and for which arrays."""

    rule: str
    kind: str
    doubt: object
    step: str
    data: object
    output: int | None

    def __str__(self):
        where = self.step if self.output is None else f"output {self.output}, {self.step}"
        return f"{self.rule} ({self.kind}): {self.doubt}\n  {where}\n  data {self.data.name if self.data else ''}"


@functools.cache
def about():
    known = plugin.registry().rewrites("perform")
    return {one.name: one for one in (*known.rules, *known.passes)}


def performs(op, types):
    """Whether the reference has the op itself."""
    return type(op).perform is not Op.perform


class Rewritten:
    """A program before and after rewriting, with the journal of it."""

    def __init__(self, inputs, outputs, ones=(), *, mode="default", exclude=frozenset(), frozen=None):
        graph = FunctionGraph.of(inputs, outputs, ones) if frozen is None else FunctionGraph.thaw(frozen)
        self.mode, self.exclude = mode, exclude
        self.before = graph.freeze()
        self.inputs, self.outputs = tuple(graph.inputs), tuple(graph.outputs)
        self.journal = Journal()
        with one_way():  # constants are folded as the rest is computed
            self.after = rewrite(
                graph,
                [plugin.registry().rewrites("perform")],
                supported=performs,
                mode=mode,
                exclude=exclude,
                journal=self.journal,
            )
        self.entries = list(self.journal.entries)
        for name in {e.name for e in self.entries}:
            FIRED[name] += 1

    def kind_of(self, entry):
        """The class whose promise a replacement must keep; None where it is looked at elsewhere."""
        if entry.name == FOLD:
            return EXACT
        if entry.name == INNER:
            return max(allowed_kinds(self.mode) - {DROPS_ERROR}, key=KINDS.index)
        found = about().get(entry.name)
        return found.kind if found is not None else REASSOCIATES

    @property
    def kind(self):
        """The weakest class of all replacements."""
        kinds = {EXACT, *(self.kind_of(e) for e in self.entries)} - {DROPS_ERROR}
        return max(kinds, key=KINDS.index)


def faults(program: Rewritten, data: Data, *, steps=True, raw=False):
    """What is wrong with a rewritten program for some arrays; `raw` where an op may stand on what it is not for.

    With mode "finite" each replacement is looked at as ever, and the whole where no value of the program hides a NaN.
    """
    with np.errstate(all="ignore"), one_way():
        raised = errors(program, data)
        if raised is not None:
            return [raised] if isinstance(raised, Fault) and not (raw and raised.kind == "error") else []
        found = of_steps(program, data) if steps else []
        if not found and (program.mode != "finite" or is_finite(program, data)):
            found = of_outputs(program, data)
        if raw:  # by a size that the public function would have refused
            found = [fault for fault in found if getattr(fault.doubt, "what", "") != "another type"]
        return [] if found and (reads_signs_of_nans(program, data) or reads_nothing(program, data)) else found


def is_finite(program, data):
    """Whether no value of a program as it is written is NaN or infinite."""
    for node, results in sorted_applies(program.outputs):
        for v in (*node.inputs, *(w for w in results if w is not None)):
            try:
                x = np.asarray(data.values.of(v))
            except Exception:  # noqa: BLE001 (protected by a check)
                return False
            if is_inexact(x) and not np.isfinite(wide(x)).all():
                return False
    return True


SIGNS = frozenset({"copysign", "signbit"})


def reads_signs_of_nans(program, data):
    """Whether a program asks for the sign of a NaN, which nothing promises."""
    if not any(getattr(getattr(node.op, "fn", None), "name", "") in SIGNS for node in program.before.nodes):
        return False
    for node, _ in sorted_applies(program.outputs):
        if getattr(getattr(node.op, "fn", None), "name", "") in SIGNS:
            x = np.asarray(data.values.of(node.inputs[-1]))
            if is_inexact(x) and np.isnan(wide(x)).any():
                return True
    return False


def reads_nothing(program, data):
    """Whether a program gathers elements of axes that have none: the public functions refuse it."""
    for node, _ in sorted_applies(program.outputs):
        if type(node.op).__name__ == "Gather":
            x, first = (np.asarray(data.values.of(u)) for u in node.inputs[:2])
            if first.size and any(x.shape[k] == 0 for k in node.op.axes):
                return True
    return False


def suspects(rewritten, fault, again):
    """The rewrites without which a program does not show a fault; `again` rewrites it without some."""
    found = []
    for name in sorted({e.name for e in rewritten.entries}):
        try:
            other = again(rewritten.exclude | {name})
            data = Data(
                fault.data.name, other.inputs, fault.data.arrays, tame=fault.data.tame, infinite=fault.data.infinite
            )
            if not any(f.kind == fault.kind for f in faults(other, data, steps=False)):
                found.append(name)
        except Exception:  # noqa: BLE001 (whatever it is, it is not what is looked for)
            continue
    return found


def errors(program, data):
    """A fault, or True where both raise and nothing is compared."""
    if not program.before.checks and not program.after.checks:
        return None
    try:
        interpret(program.before, data.arrays)
    except Exception as error:  # noqa: BLE001 (whatever an op raises)
        try:
            interpret(program.after, data.arrays)
        except Exception as other:  # noqa: BLE001
            alike = type(other) is type(error) or is_raised_by_one(program.before, data.arrays, other)
            if isinstance(error, TgError) and not alike:
                return Fault("?", "error", f"raises {other!r}, needed {error!r}", "", data, 0)
        return True
    try:
        interpret(program.after, data.arrays)
    except Exception as other:  # noqa: BLE001
        return Fault("?", "error", f"raises {other!r}", "", data, 0)
    return None


def is_raised_by_one(frozen, arrays, error):
    """Whether a check of a program, by itself, raises such an error: of several that fail any may be the first."""
    for check in frozen.checks:
        parts = (frozen.arity, frozen.types, frozen.constants, frozen.nodes, frozen.outputs)
        try:
            interpret(FrozenGraph(*parts, [check], assumed=frozen.assumed), arrays)
        except TgError as found:
            if type(found) is type(error):
                return True
        except Exception:  # noqa: BLE001 (of an op that another check protects)
            continue
    return False


def of_steps(program, data):
    """The first fault of each rewrite."""
    found = {}
    for entry in program.entries:
        kind = program.kind_of(entry)
        if entry.name in found:
            continue
        for v, w in zip(entry.old, entry.new, strict=True):
            try:
                data.values.of_all((v, w))
            except Exception:  # noqa: BLE001 (protected by a check, or not needed: the outputs decide)
                continue
            doubt = examined(kind, v, w, data)
            if doubt is not None:
                text = f"{formulas(entry.old, {})}  ->  {formulas(entry.new, {})}"
                found[entry.name] = Fault(entry.name, kind, doubt, text, data, None)
                break
    return list(found.values())


def of_outputs(program, data):
    kind = program.kind
    for k, (v, w) in enumerate(zip(program.outputs, program.journal.outputs, strict=True)):
        try:
            data.values.of_all((v, w))
        except Exception as error:  # noqa: BLE001
            if not runs(program.before, data):
                return []
            doubt = f"raises {error!r}"
        else:
            doubt = examined(kind, v, w, data, whole=True)
        if doubt is not None:
            names = sorted({e.name for e in program.entries})
            return [Fault("?", kind, doubt, ", ".join(names), data, k)]
    return []


def runs(frozen, data):
    """Whether a program can be interpreted at all."""
    try:
        interpret(frozen, data.arrays)
    except Exception:  # noqa: BLE001 (whatever an op raises)
        return False
    return True
