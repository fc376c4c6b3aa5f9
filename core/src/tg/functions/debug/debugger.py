"""`mode="debug"`: what rewriting and the backend did is checked on the inputs of every call, against the reference.

What was promised with `tg.assume` is looked at; both sides of every replacement are evaluated by the reference over the
inputs of the call, each value once, and compared as the class of the rule promises; then the outputs of the backend are
compared with the reference's. The first disagreement is a `DebugError`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np

from tg import plugin
from tg.errors import DebugError, message
from tg.functions.compile import Setting, imported, input_shapes, rewritten
from tg.functions.debug import backend, report
from tg.functions.debug.promises import Difference, bits, broken, close, difference
from tg.functions.debug.rounding import RUNS
from tg.functions.debug.values import Region, Values, spread
from tg.functions.formula import formulas
from tg.functions.stories import numbered
from tg.graph.facts import fact_holds
from tg.graph.interpret import interpret
from tg.graph.traversal import sorted_applies
from tg.link.checkpointing import lowering
from tg.rewrite.driver import FOLD, INNER
from tg.rewrite.journal import Journal
from tg.rewrite.phases import DROPS_ERROR, EXACT, KINDS, REASSOCIATES
from tg.rewrite.rule import Pass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.graph.loc import Loc
    from tg.graph.nodes import Variable
    from tg.rewrite.journal import Entry, Lowered

    Array = np.ndarray[Any, Any]


@final
class Debugger:
    """Checks the calls of one specialisation."""

    def __init__(
        self, inputs: Sequence[Variable], results: Sequence[Variable], ones: Iterable[tuple[int, int]], setting: Setting
    ) -> None:
        self._setting, self._results = setting, tuple(results)
        places: dict[int, Variable] = {}
        graph = imported(inputs, results, ones, setting, places)
        self._start = graph.freeze()
        self._inputs = tuple(graph.inputs)
        self._outputs = tuple(graph.outputs)  # before rewriting
        self._assumed = _assumed(results, places)
        self._journal = Journal()
        end = rewritten(graph, setting, self._journal, input_shapes(inputs))
        lowered = self._journal.lowered
        self._final = lowered[0].before if lowered else end
        self._end = end
        self._values_of = dict(numbered(self._final, self._journal.roots))
        rewrites = plugin.registry().rewrites(setting.choice.name)
        own = filter(None, [lowering(setting.checkpointing)])
        self._about: dict[str, Any] = {one.name: one for one in (*rewrites.rules, *rewrites.passes, *own)}  # type: ignore[attr-defined]

    def check(self, arrays: Sequence[Array], outputs: Sequence[Array] | None) -> None:
        """Check one call.

        Args:
            outputs: what the backend gave; None where it raised.
        Raises:
            DebugError: a promise does not hold, or the backend gave other values than the reference.
        """
        failure = self._failure(arrays)
        if failure is not None:
            if outputs is not None and not self._may_drop():
                raise DebugError(
                    message(
                        f"debug: the reference raises {type(failure).__name__}, backend {self._backend!r} does not",
                        ("reference", str(failure).splitlines()[0]),
                    )
                )
            return
        values = Values(self._inputs, arrays)
        self._check_promised(values)
        self._check_journal(self._journal, values)
        self._check_outputs(values)
        owed = self._owed(values)
        for one in self._journal.lowered:
            self._check_lowered(one, arrays, owed)
        if outputs is None:
            raise DebugError(message(f"backend {self._backend!r} raises where the reference does not"))
        wanted = values.of_all(self._journal.outputs)
        backend.check(self._final, self._values_of, values, wanted, outputs, owed, self._setting)

    @property
    def _backend(self) -> str:
        return self._setting.choice.name

    def _failure(self, arrays: Sequence[Array]) -> Exception | None:
        """The exception that the reference raises for the expression as it was written."""
        try:
            interpret(self._start, arrays)
        except Exception as error:  # noqa: BLE001 (whatever an op raises)
            return error
        return None

    def _may_drop(self) -> bool:
        return any(self._kind(e) == DROPS_ERROR for e in self._journal.entries)

    def _check_promised(self, values: Values) -> None:
        for v, names, loc in self._assumed:
            array = values.of(v)
            for name in sorted(names):
                if not fact_holds(name, array):
                    lines = [("value", report.shown(array)), *report.place(loc)]
                    raise DebugError(message(f"assume: {name}: the value does not have the promised fact", *lines))

    def _check_journal(self, journal: Journal, values: Values) -> None:
        for entry in journal.entries:
            if entry.name == INNER:
                self._check_inner(entry, values)
            self._check_entry(entry, values)

    def _check_inner(self, entry: Entry, values: Values) -> None:
        """Check the replacements inside inner graphs, for all that the node applies them to."""
        node = entry.old[0].apply
        inner = [] if node is None else [self._journal.inner.get((entry.phase, g)) for g in node.op.inner_graphs()]
        if node is None or not any(inner):
            return
        for graph, arrays in node.op.applications(*values.of_all(node.inputs)):
            journal = self._journal.inner.get((entry.phase, graph))
            if journal is not None:
                self._check_journal(journal, Values(journal.inputs, arrays))

    def _check_entry(self, entry: Entry, values: Values) -> None:
        kind = self._kind(entry)
        try:
            mismatch = broken(kind, entry.old, entry.new, values)
        except Exception as error:  # noqa: BLE001 (whatever an op raises)
            self._raises(entry, kind, values, error)
        if mismatch is not None:
            self._differs(entry, kind, values, mismatch)

    def _kind(self, entry: Entry) -> str:
        """The class that a replacement must keep the promise of."""
        if entry.name == FOLD:
            return EXACT
        if entry.name == INNER:
            return self._inner_kind(entry)
        rule = self._about.get(entry.name)
        return rule.kind if rule is not None else REASSOCIATES  # an expansion rounds in its own way

    def _inner_kind(self, entry: Entry) -> str:
        """The weakest class of what was replaced inside."""
        kinds = {EXACT}
        node = entry.old[0].apply
        for graph in node.op.inner_graphs() if node is not None else ():
            journal = self._journal.inner.get((entry.phase, graph))
            kinds.update(self._kind(e) for e in (journal.entries if journal is not None else ()))
        return max(kinds - {DROPS_ERROR} or {EXACT}, key=KINDS.index)

    def _differs(self, entry: Entry, kind: str, values: Values, mismatch: Difference) -> NoReturn:
        rows = [
            *self._rows(entry),
            *report.difference_rows(mismatch),
            *report.operand_rows(entry, values, mismatch.place),
        ]
        text = f"{self._title(entry, kind)}: {mismatch.what}"
        raise DebugError(message(text, *rows, hint=self._hint(entry)))

    def _raises(self, entry: Entry, kind: str, values: Values, error: Exception) -> NoReturn:
        raised = ("raised", f"{type(error).__name__}: {''.join(str(error).splitlines()[:1])}")
        rows = [*self._rows(entry), raised, *report.operand_rows(entry, values, None)]
        text = f"{self._title(entry, kind)}: what replaces the node raises"
        raise DebugError(message(text, *rows, hint=self._hint(entry))) from error

    def _title(self, entry: Entry, kind: str) -> str:
        about = self._about.get(entry.name)
        what = "rewrite" if about is None else "pass" if isinstance(about, Pass) else "rule"
        return f"{what} {entry.name} ({kind}, {entry.phase})"

    def _rows(self, entry: Entry) -> list[tuple[str, str]]:
        about = self._about.get(entry.name)
        rows = [("node", formulas(entry.old, {})), ("replaced by", formulas(entry.new, {})), *report.place(entry.loc)]
        return rows if about is None else [*rows, ("why", about.why)]

    def _hint(self, entry: Entry) -> str | None:
        return report.leave_out(entry.name) if entry.name in self._about else None

    def _check_outputs(self, values: Values) -> None:
        """Require outputs to be those of the expression as it was written where every rewrite was exact."""
        if all(self._kind(e) == EXACT for e in self._journal.entries):
            for k, (v, w) in enumerate(zip(self._outputs, self._journal.outputs, strict=True)):
                mismatch = broken(EXACT, (v,), (w,), values)
                if mismatch is not None:
                    rows = [("before", str(mismatch.before)), ("after", str(mismatch.after))]
                    text = f"rewriting: output {k} differs at {list(mismatch.place)} though no rewrite changed a value"
                    raise DebugError(message(text, *rows))

    def _check_lowered(self, one: Lowered, arrays: Sequence[Array], owed: Callable[[], list[Array]]) -> None:
        about = self._about[one.name]
        before, after = interpret(one.before, arrays), interpret(one.after, arrays)
        for k, (x, y) in enumerate(zip(before, after, strict=True)):
            old, new = np.asarray(x), np.asarray(y)
            wrong = bits(old, new)
            if wrong.any():
                wrong &= ~close(old, new, owed()[k])
            if wrong.any():
                mismatch = difference(k, old, new, wrong)
                text = f"lowering {one.name} ({about.kind}): {mismatch.what}"
                rows = [*report.output_rows(one.before, k), *report.difference_rows(mismatch), ("why", about.why)]
                raise DebugError(message(text, *rows, hint=report.leave_out(one.name)))

    def _owed(self, values: Values) -> Callable[[], list[Array]]:
        """The rounding that the outputs owe, worked out when somebody asks."""

        @functools.cache
        def owed() -> list[Array]:
            outputs = self._journal.outputs
            applies = tuple(node for node, _ in sorted_applies(outputs, boundary=self._inputs))
            return spread(values, Region(applies, ()), outputs, RUNS)

        return owed


def _assumed(
    results: Sequence[Variable], imported: dict[int, Variable]
) -> list[tuple[Variable, frozenset[str], Loc | None]]:
    """The values of a graph of which facts were promised, with the names and the user's lines."""
    promises = []
    for node, _ in sorted_applies(results):
        names: frozenset[str] = getattr(node.op, "assumed_facts", frozenset())
        value = imported.get(id(node.inputs[0])) if names else None
        if value is not None:
            promises.append((value, names, node.loc))
    return promises
