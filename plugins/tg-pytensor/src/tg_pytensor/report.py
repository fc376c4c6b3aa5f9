"""Report on a program of PyTensor: what converts, what does not and why, and where the user made it."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, NamedTuple, final

from pytensor.configdefaults import config
from pytensor.graph.basic import Variable
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import Elemwise

import tg
from tg.backend import Table, message, shown_html
from tg_pytensor.conversion import Conversion, placeholder, rule_of
from tg_pytensor.places import place_of
from tg_pytensor.registry import Rule, convert
from tg_pytensor.updates import is_generator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytensor.graph.basic import Apply


class Entry(NamedTuple):
    """A node of a program, and what becomes of it."""

    op: str
    """The class of its op; of an elementwise function, and of an op applied to a batch, that of the op inside."""
    node: Any
    place: str
    """The user's line where it was made, or else where what it is for was; empty where neither is known."""
    part: str = ""
    """What of a model it is for, such as "density of y"."""
    reason: str = ""
    """Why it does not convert; empty of a node that does."""


@final
class Report:
    """Report on the nodes of a program; `print` it, or read its `entries`, `left` and `counts`.

    Args:
        title: the program's name.
        entries: its nodes.
        backends: of a compiled function, the backend of every region: more than one where a region needs what PyTensor
            has to compute in between.
    """

    def __init__(self, title: str, entries: Iterable[Entry], backends: Sequence[str] | None = None) -> None:
        self.title, self.entries = title, tuple(entries)
        self.backends = None if backends is None else tuple(backends)

    @property
    def left(self) -> tuple[Entry, ...]:
        """The nodes that do not convert."""
        return tuple(entry for entry in self.entries if entry.reason)

    @property
    def converted(self) -> int:
        """Number of nodes that convert."""
        return len(self.entries) - len(self.left)

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """By op, the most frequent first, how many nodes there are and how many of them convert."""
        totals = collections.Counter(entry.op for entry in self.entries)
        left = collections.Counter(entry.op for entry in self.left)
        return {op: (count, count - left[op]) for op, count in totals.most_common()}

    def __str__(self) -> str:
        return "\n".join([self._summary(), *(table.text() for table in self._tables())])

    def __repr__(self) -> str:
        return f"<report: {self._summary()}>"

    def _repr_html_(self) -> str:
        return shown_html(self._summary(), *(table.html() for table in self._tables()))

    def _summary(self) -> str:
        if self.backends is not None:
            count, names = len(self.backends), ", ".join(sorted(set(self.backends)))
            where = f"{count} region{'s' * (count != 1)} on {names}" if count else "no region"
            return f"{self.title}: {self.converted} nodes in {where}; {len(self.left)} left with PyTensor"
        counted = f"{self.title}: {self.converted} of {len(self.entries)} nodes convert"
        kinds = collections.Counter(kind(entry) for entry in self.entries)
        left = collections.Counter(kind(entry) for entry in self.left)
        if len(kinds) < 2:
            return counted
        return f"{counted} ({', '.join(f'{name} {n - left[name]} of {n}' for name, n in kinds.items())})"

    def _tables(self) -> list[Table]:
        """Tables of what does not convert, where anything does not, and of counts."""
        tables: list[Table] = []
        if self.left:
            rows = [(e.op, e.reason.splitlines()[0], e.place, e.part) for e in self.left]
            names = ("does not convert", "why", "where", "of")
            count = len(names) if any(e.part for e in self.left) else len(names) - 1
            tables.append(Table.of(names[:count], [row[:count] for row in rows]))
        counts: list[tuple[str, ...]] = []
        for op, (n, good) in self.counts.items():
            counts.append((op, str(n), str(n - good) if n > good else ""))
        return [*tables, Table.of(("op", *NUMBERS), counts, NUMBERS)]


NUMBERS = ("nodes", "left")


def kind(entry: Entry) -> str:
    """Kind of a model's parts that a node is for."""
    return entry.part.partition(" ")[0]


def name_of(node: Apply) -> str:
    """The class of a node's op, or of the one that it applies to elements or to a batch."""
    op: Any = node.op
    inside = op.scalar_op if isinstance(op, Elemwise) else op.core_op if isinstance(op, Blockwise) else op
    return type(inside).__name__


class Tried(Conversion):
    """A conversion that goes on where a node does not convert, and remembers it."""

    def __init__(self, values: Mapping[Variable, Any], outer: Conversion | None = None) -> None:
        super().__init__(values, outer)
        self.failed: dict[Apply, Exception] = {}

    def _results(self, node: Any, rule: Rule) -> list[Any]:
        try:
            return super()._results(node, rule)
        except Exception as error:  # noqa: BLE001  whatever it is, PyTensor may still run the node
            self.failed[node] = error
            return [substitute(v) for v in node.outputs]


class Survey(Tried):
    """A conversion of all that there is, of graphs inside of ops, too: what it has seen, and what has no result."""

    def __init__(self, values: Mapping[Variable, Any], outer: Conversion | None = None) -> None:
        super().__init__(values, outer)
        self.seen: dict[Apply, None] = {}
        self.lost: set[Variable] = set()
        """What no variable of tg can stand for."""

    def _another(self, values: Mapping[Variable, Any], outer: Conversion | None = None) -> Conversion:
        inner = Survey(values, outer)
        inner.failed, inner.seen, inner.lost = self.failed, self.seen, self.lost
        return inner

    def _rule(self, node: Any) -> Rule:
        return convert.rule(node.op) or Rule(lambda conversion, node: rule_of(node), whole=True)

    def _results(self, node: Any, rule: Rule) -> list[Any]:
        self.seen[node] = None
        if any(v in self.lost for v in node.inputs):
            self.failed[node] = tg.NoRuleError("an operand does not convert")
            results = [substitute(v) for v in node.outputs]
        else:
            results = super()._results(node, rule)
        self.lost.update(v for v, y in zip(node.outputs, results, strict=True) if node in self.failed and y is None)
        return results

    def _root(self, v: Variable) -> Any:
        try:
            return super()._root(v)
        except Exception:  # noqa: BLE001  an input of which nobody has said that it is one, or of no array
            value = substitute(v)
            if value is None:
                self.lost.add(v)
            return value


def substitute(v: Variable) -> tg.Variable | None:
    """A variable of tg in the place of one of PyTensor's; None where no array can stand for it."""
    is_array = isinstance(getattr(v.type, "dtype", None), str)
    return placeholder(v) if is_array or is_generator(v) else None


def surveyed(title: str, parts: Iterable[tuple[str, str, Variable]]) -> Report:
    """The report of some variables: each for a part of the program, and with the place where that was made."""
    survey = Survey({})
    entries: list[Entry] = []
    for part, place, wanted in parts:
        survey[wanted]
        for node in list(survey.seen)[len(entries) :]:
            reason = str(survey.failed.get(node, ""))
            entries.append(Entry(name_of(node), node, place_of(node) or place, part, reason))
    return Report(title, entries)


def parts_of(model: Any) -> Iterable[tuple[str, str, Variable]]:
    """Wanted parts of a model of PyMC: the density of each variable, values of parameters, and draws."""
    variables = [*model.free_RVs, *model.observed_RVs, *model.potentials]
    with config.change_flags(traceback__limit=0):  # no line of what PyMC makes now is the user's
        densities = model.logp(vars=variables, sum=False)
    for v, density in zip(variables, densities, strict=True):
        yield f"density of {v.name}", place_of(v.owner) if v.owner else "", density
    for v in model.unobserved_value_vars:
        if v.owner is not None:
            yield f"value of {v.name}", "", v
    for v in [*model.basic_RVs, *model.deterministics]:
        yield f"draw of {v.name}", "", v


def report(program: Any, outputs: Any = None) -> Report:
    """Report what of a program of PyTensor converts, what does not and why, and where the user made it.

    Nothing is raised for what does not convert. Graphs inside of ops are looked into.

    Args:
        program: a model of PyMC; a variable or several, or the inputs of a graph; or a function that PyTensor compiled
            in one of tg's modes, of which the report says what PyTensor runs.
        outputs: what is computed of inputs.
    Raises:
        InputError: it is none of these, or the function was compiled in another mode.
    Example:
        >>> print(tg_pytensor.report(model))
    """
    if hasattr(program, "maker"):
        if not hasattr(program.maker.linker, "report"):
            raise tg.InputError(f"report: found {program!r}, needed a function compiled in one of tg's modes")
        return program.maker.linker.report()  # type: ignore[no-any-return]
    if hasattr(program, "basic_RVs"):
        return surveyed("model", parts_of(program))
    subject = program if outputs is None else outputs
    variables = list(subject) if isinstance(subject, list | tuple) else [subject]
    if not all(isinstance(v, Variable) for v in variables):
        raise tg.InputError(message(f"report: found {subject!r}, needed a model, variables of PyTensor or a function"))
    return surveyed("graph", [("", "", v) for v in variables])
