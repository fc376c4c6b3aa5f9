"""`FunctionGraph`: a private, value-numbered copy of the user's expression, in which equal nodes are one.

Importing re-infers every type for one specialisation (which unknown lengths of inputs are 1), makes checks explicit and
moves names into a side table. Rewriting sweeps rebuild it; `freeze` turns it into a `FrozenGraph`.
"""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Any, final

from tg.graph import loc as locs
from tg.graph.checks import (
    ARRAYS,
    REPORTED,
    STATUS_VALUES,
    Check,
    Descriptor,
    checks_of,
    protecting_first,
    shapes_first,
    source_of,
)
from tg.graph.collector import paused
from tg.graph.dims import Dims, bind
from tg.graph.facts import NONE, forget
from tg.graph.freezing import frozen_of
from tg.graph.frozen import FrozenGraph, Origin
from tg.graph.importing import import_apply, import_checks, imported, input_types
from tg.graph.nodes import Apply, Constant, Variable, as_size_variable, operand_types
from tg.graph.op import Op
from tg.graph.operators import NAMESPACE
from tg.graph.sweep import Sweep
from tg.graph.traversal import sorted_applies
from tg.graph.view import View
from tg.types.atoms import AxisLength
from tg.types.lengths import Length, of_atom, same
from tg.types.requirements import BROADCAST_HINT, Requirements
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tg.graph.importing import Copies
    from tg.graph.sweep import Recorder, Transform
    from tg.types.mesh import Mesh

COMPUTED_HINT = "a length of 1 that is computed at run time does not broadcast; tg.broadcast_to states the shape"


@final
class FunctionGraph:
    """A value-numbered table of applies between fresh inputs and outputs."""

    def __init__(self, types: Sequence[TensorType], names: Sequence[str | None] = ()) -> None:
        """Start an empty graph with inputs of these (symbolic) types."""
        names = tuple(names) or (None,) * len(types)
        with locs.at(None):
            self.inputs = [Variable(t, name=name) for t, name in zip(types, names, strict=True)]
        for v in self.inputs:
            _own_lengths(v)
        self._leaves = {id(v): v for v in self.inputs}
        self.outputs: tuple[Variable, ...] = ()
        self.checks: list[Check] = []
        self.needs = Requirements()
        self.names: dict[int, str] = {}  # of applies, by id
        self.origins: dict[int, Origin] = {}  # of applies, by id
        self._table: dict[tuple[Op, tuple[int, ...]], tuple[Variable, ...]] = {}
        self._made: dict[int, tuple[Variable, ...]] = {}  # the same results by their apply's id
        self._constants: dict[object, Constant] = {}
        self._conditions: dict[int, int] = {}  # of checks, by id: where in `checks`
        self._handled = 0  # requirements already made explicit
        self._needing: dict[int, tuple[Variable, ...]] = {}  # by the number of a requirement: an op's operands
        self._lengths: dict[int, tuple[Length, int | Length]] = {}  # by id: what lengths resolve to
        self._types: dict[tuple[object, ...], tuple[tuple[TensorType, ...], list[TensorType]]] = {}  # of results
        self._equalities = 0  # how many were known when these two were filled
        self.fixed: frozenset[int] = frozenset()  # the inputs, by their places, that have one value in all calls
        self.dims = Dims()  # the lengths of inputs that have names
        self.keeps_derivatives = False  # whether what is said of derivatives alone stays: of graphs that ops hold
        self.mesh: Mesh | None = None  # the devices over which values are spread
        self.assumes = False  # whether facts were assumed of any value
        self._view: View | None = None
        self.fired: dict[str, int] = {}
        self.recorder: Recorder | None = None  # told of replacements, where somebody wants to know

    @classmethod
    @paused
    def of(
        cls,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        ones: Iterable[tuple[int, int]] = (),
        places: dict[int, Variable] | None = None,
        checks: Sequence[Check] = (),
        *,
        keeps_derivatives: bool = False,
        mesh: Mesh | None = None,
    ) -> FunctionGraph:
        """Import an expression, with the unknown lengths listed in `ones` (input, axis from the front) being 1.

        Args:
            keeps_derivatives: for a graph that an op holds, of which derivatives may still be taken: `Op.only_derives`.
            checks: those that it has besides its ops' own.
            mesh: the devices that the program is for; values lie where it says only with one.
            places: where to leave what each variable of the expression, by its id, is in the graph.
        """
        graph = cls(input_types(inputs, frozenset(ones)), [v.name for v in inputs])
        graph.keeps_derivatives, graph.mesh = keeps_derivatives, mesh
        memo: Copies = {id(v): w for v, w in zip(inputs, graph.inputs, strict=True)}
        with graph.needs, locs.at(None):
            if any(type(n) is Length for v in inputs for n in v.lengths):
                graph.dims = bind(graph, inputs)
            check_values = [v for check in checks for v in (check.condition, *check.values)]
            for node, results in sorted_applies([*outputs, *check_values], boundary=inputs):
                locs.fix(node.loc)
                import_apply(graph, node, results, memo)
            graph.outputs = tuple(imported(graph, v, memo) for v in outputs)
            import_checks(graph, checks, memo)
        graph._order_checks({})
        if places is not None:
            places.update({key: v for key, v in memo.items() if isinstance(key, int)})
        return graph

    @classmethod
    @paused
    def thaw(cls, frozen: FrozenGraph) -> FunctionGraph:
        """A function graph holding a frozen graph, with its checks, names and origins."""
        graph = cls(frozen.input_types, [frozen.names.get(k) for k in range(frozen.arity)])
        values: list[Variable] = [*graph.inputs, *(graph.canonical_constant(c) for c in frozen.constants)]
        with graph.needs, locs.at(None):
            for k, node in enumerate(frozen.nodes):
                origin = frozen.origins.get(k, Origin())
                locs.fix(origin.locs[0] if origin.locs else None)
                outputs = graph.intern(node.op, tuple([values[i] for i in node.inputs]))
                values.extend(outputs)
                maker = outputs[0].apply
                graph.origins[id(maker)] = origin
                if node.outputs[0] in frozen.names:
                    graph.names[id(maker)] = frozen.names[node.outputs[0]]
        graph.outputs = tuple(values[k] for k in frozen.outputs)
        for k, facts in frozen.assumed.items():
            graph.assume(values[k], facts)
        graph._handled = len(graph.needs.found)  # their checks are among the frozen ones
        for c in frozen.checks:
            graph._keep_check(Check(values[c.condition], tuple(values[k] for k in c.values), c.descriptor))
        return graph

    def assume(self, v: Variable, names: frozenset[str]) -> None:
        """Keep facts that are promised of a value of this graph; what a constant is can be seen."""
        facts = getattr(v, "assumed", NONE)
        if not names <= facts and not isinstance(v, Constant):
            v.assumed = names | facts
            forget(v)
            self.assumes = True

    def inherit(self, new: Variable, old: Variable) -> None:
        """Let what takes the place of a value have what was assumed of it."""
        if new is not old:
            self.assume(new, getattr(old, "assumed", NONE))

    @property
    def ops(self) -> set[Op]:
        """The ops of all applies, and of those that were replaced."""
        return {op for op, _ in self._table}

    @property
    def roots(self) -> tuple[Variable, ...]:
        """The values that the graph is for: those that checks need, before what these protect, then the outputs."""
        return (*(v for c in self.checks for v in (c.condition, *c.values)), *self.outputs)

    def has(self, v: Variable) -> bool:
        """Whether a variable is a value of this graph already, and no new one made over its values."""
        return v.apply is None or id(v.apply) in self._made

    def canonical_constant(self, c: Constant) -> Constant:
        """The one constant of this graph with the value of c."""
        return self._constants.setdefault(c.key, c)

    def _make_checks(self, node: Apply) -> None:
        """Make explicit what an apply's op declares can fail and the equalities of lengths that its types needed."""
        before = len(self.checks)
        self._require_lengths(None)
        for check in checks_of(node):
            self._add_check(check, None)
        if len(self.checks) > before:
            self._require_lengths(None)

    def _require_lengths(self, sweep: Sweep | None) -> None:
        while self._handled < len(self.needs.found):
            a, b, what, broadcasts = self.needs.found[self._handled]
            operands = self._needing.pop(self._handled, ())
            self._handled += 1
            fits = NAMESPACE.fit_check((a, b), f"{what}: a length")
            if fits is not None:
                self._add_check(fits, sweep)
            first, other = as_size_variable(a), as_size_variable(b)
            hint = None
            if broadcasts:
                hint = BROADCAST_HINT if self._is_given(a) and self._is_given(b) else COMPUTED_HINT
            condition = NAMESPACE.equal(first, other)
            if source_of(condition) != ARRAYS:
                what = " and ".join(dict.fromkeys((*self._standing_for(a, b, operands), what)))
            text = f"{what}: lengths differ: {{0}} and {{1}}"
            self._add_check(Check(condition, (first, other), Descriptor("ShapeError", text, hint)), sweep)

    def _standing_for(self, a: int | Length, b: int | Length, operands: Sequence[Variable]) -> Iterator[str]:
        """Operations that needed one of two lengths to stand for that of an operand which arrays' values decide.

        That is not asked yet where shapes alone decide whether the two are equal: either may be at fault.
        """
        for length in (n for v in operands for n in v.lengths if type(n) is Length):
            if any(same(self.needs.resolve(length), n) for n in (a, b)):
                for atom, what in self.needs.behind(length):
                    if source_of(as_size_variable(of_atom(atom))) == ARRAYS:
                        yield what

    def require_equal(self, a: int | Length, b: int | Length, check: Check) -> None:
        """Add the check that two lengths agree, which count as one from then on."""
        self._add_check(check, None)
        self.needs.require(a, b, None)
        self._handled = len(self.needs.found)

    def _is_given(self, length: int | Length) -> bool:
        """Whether a length is known, or that of an input, for which there are specialisations where it is 1."""
        if type(length) is not Length:
            return True
        atom = length.atom
        return type(atom) is AxisLength and id(atom.owner) in self._leaves

    def _add_check(self, check: Check, sweep: Sweep | None) -> Variable | None:
        """Take over a check on values of this graph, its new nodes interned or, in a sweep, rewritten.

        Returns:
            its condition; None where that holds whatever the inputs are.
        """
        take = self.absorb if sweep is None else sweep.result
        condition = take(check.condition)
        if isinstance(condition, Constant) and bool(condition.data):
            return None
        most = REPORTED if check.descriptor.inner else STATUS_VALUES
        values = tuple(take(v) for v in check.values[:most])
        self._keep_check(Check(condition, values, check.descriptor.at(locs.here())))
        return condition

    def _order_checks(self, protected: Mapping[int, Apply | None]) -> None:
        """Move checks of shapes to the front, and others before the first check that reads what they protect.

        Args:
            protected: what is protected, by the ids of conditions.
        """
        if protected:
            self.checks = protecting_first(self.checks, protected)
        self.checks = shapes_first(self.checks)
        self._conditions = {id(check.condition): k for k, check in enumerate(self.checks)}

    def _keep_check(self, check: Check) -> None:
        """Add a check, one for each condition; the status of an inner graph is told as it was given last."""
        place = self._conditions.setdefault(id(check.condition), len(self.checks))
        if place == len(self.checks):
            self.checks.append(check)
        elif check.descriptor.inner:
            self.checks[place] = check
        elif check.descriptor.stated:
            first = self.checks[place]
            self.checks[place] = first._replace(descriptor=first.descriptor.as_stated())

    def absorb(self, root: Variable) -> Variable:
        """Intern an expression built over values of this graph."""
        return self.rebuild([root], None)[0]

    def intern(self, op: Op, operands: tuple[Variable, ...], like: Apply | None = None) -> tuple[Variable, ...]:
        """The results of an op on values of this graph: equal applications are one.

        Where operands may change places it is one node, with a constant last.
        """
        commutes = op.commutes
        if commutes and type(operands[0]) is Constant and type(operands[-1]) is not Constant:
            operands = operands[::-1]
        key = (op, tuple(map(id, operands)))
        outputs = self._table.get(key)
        if outputs is None and commutes:
            outputs = self._table.get((op, key[1][::-1]))
        if outputs is None:
            if like is not None and like.op is op:
                outputs = self._typed_like(like, operands)
            outputs = outputs or self._typed(op, operands, like)
            if not outputs:  # a loop that had a status alone, whose last check is gone
                return ()
            self._table[key] = self._made[id(outputs[0].apply)] = outputs
        return outputs

    def _with_ones(self, v: Variable) -> Variable:
        """The value; where lengths are known to be 1 by requirements only, with these stated."""
        if None not in v.type.shape:
            return v
        ones = [
            n is None and same(self._resolved_length(m), 1) and not self._is_given(m)
            for n, m in zip(v.type.shape, v.shape, strict=True)
        ]
        return self.absorb(NAMESPACE.specify_shape(v, [1 if one else None for one in ones])) if any(ones) else v

    def _stated(self, v: Variable) -> Variable:
        """The value with its lengths stated, as requirements have them."""
        return self.absorb(NAMESPACE.state_shape(v, [self._resolved_length(n) for n in v.shape]))

    def _typed(self, op: Op, operands: tuple[Variable, ...], like: Apply | None) -> tuple[Variable, ...]:
        count = len(self.needs.found)
        types = self._inferred(op, operands)
        self._needing.update(dict.fromkeys(range(count, len(self.needs.found)), operands))
        node = Apply(op, operands, tuple([t.static for t in types]), locs.here() if like is None else like.loc)
        outputs = tuple([Variable(t, node, k) for k, t in enumerate(types)])
        for v in outputs:
            _own_lengths(v)
        return outputs

    def _inferred(self, op: Op, operands: tuple[Variable, ...]) -> tuple[TensorType, ...]:
        """The types of the results, resolved; asked of an op once for operands of the same types."""
        self._forget_resolved()
        if type(op).size_operands is not Op.size_operands:
            return tuple([self._resolved(t) for t in op.infer(*self._operands(op, operands))])
        types = [v.symbolic_type for v in operands]
        key = (op, *map(id, types))
        entry = self._types.get(key)
        if entry is None:
            result = tuple([self._resolved(t) for t in op.infer(*map(self._resolved, types))])
            entry = self._types[key] = (result, types)
            self._forget_resolved()
        return entry[0]

    def _forget_resolved(self) -> None:
        """Drop what was found before more lengths became known to be equal."""
        if self._equalities != len(self.needs.equal):
            self._lengths.clear()
            self._types.clear()
            self._equalities = len(self.needs.equal)

    def _typed_like(self, like: Apply, operands: tuple[Variable, ...]) -> tuple[Variable, ...] | None:
        """The results of an apply of this graph on operands of the same types; None where its types do not follow."""
        originals = self._made.get(id(like))
        if originals is None:
            return None
        for old, new in zip(like.inputs, operands, strict=True):
            if old is not new and not _are_alike(old, new):
                return None
        if any(operands[k] is not like.inputs[k] for k in like.op.size_operands(len(operands))):
            return None
        node = Apply(like.op, operands, like.types, like.loc)
        outputs = []
        for old in originals:
            if any(type(n) is Length and _is_own(n, old) for n in old.lengths):
                return None
            outputs.append(Variable(old.type, node, old.index).with_lengths(old.lengths))
            outputs[-1]._symbolic = old._symbolic
        return tuple(outputs)

    def _operands(self, op: Op, operands: tuple[Variable, ...]) -> list[Any]:
        types: list[Any] = operand_types(op, operands)
        if self.needs.equal:
            return [self._resolved(t) if type(t) is TensorType else self._resolved_length(t) for t in types]
        return types

    def refines(self, new: Variable, old: Variable) -> bool:
        """Whether the type of one value, with all that is known of lengths, refines that of another."""
        return new.type.refines(old.type) or self._resolved(new.symbolic_type).refines(old.type)

    def _resolved(self, t: TensorType) -> TensorType:
        if not self.needs.equal:
            return t
        shape = tuple([self._resolved_length(n) if type(n) is Length else n for n in t.shape])
        return t if all(map(is_, shape, t.shape)) else t.with_shape(shape)

    def _resolved_length(self, length: int | Length) -> int | Length:
        if type(length) is not Length:
            return length
        self._forget_resolved()
        entry = self._lengths.get(id(length))
        if entry is None:
            entry = self._lengths[id(length)] = (length, self.needs.resolve(length))
        return entry[1]

    def rewrite(
        self,
        transform: Transform,
        new_checks: list[tuple[Check, Apply]] | None = None,
        replacements: Mapping[int, Variable] | None = None,
        given_by: str = "",
    ) -> None:
        """One sweep: rebuild everything from the inputs up, replacing what `transform` replaces.

        Args:
            new_checks: where `transform` leaves the checks that its replacements need, and what each protects.
            replacements: replacements of values by their ids, made first, as the rewrite named `given_by`.
        """
        with self.needs:
            sweep = Sweep(self, transform, len(self._made), replacements, given_by)
            sweep.pass_through(self.roots)
            self.outputs = tuple(sweep.run(self.outputs))
            before, self.checks, self._conditions = self.checks, [], {}
            for check in before:
                self._add_check(check, sweep)
            protected: dict[int, Apply | None] = {}
            while new_checks or self._handled < len(self.needs.found):
                self._require_lengths(sweep)
                if new_checks:
                    check, node = new_checks.pop(0)
                    condition = self._add_check(check, sweep)
                    if condition is not None:
                        protected[id(condition)] = sweep.result(Variable(node.types[0], node)).apply
            self._order_checks(protected)
            if sweep.keep:
                self._view = None
        if self.recorder is not None:
            self.recorder.swept(self, sweep.done, sweep.keep)

    def view(self) -> View:
        """The graph as passes see it, until it changes."""
        if self._view is None:
            self._view = View(self)
        return self._view

    def rebuild(self, roots: Sequence[Variable], transform: Transform | None) -> list[Variable]:
        """The roots with every node interned and, bottom up, replaced as `transform` says until nothing changes.

        A node's inputs are final when it is visited; the nodes of a replacement are visited at once.
        """
        return Sweep(self, transform, len(self._made)).run(roots)

    def freeze(self) -> FrozenGraph:
        """The graph as a closed, immutable program."""
        return frozen_of(self)

    def freeze_inside(self, before: FrozenGraph) -> FrozenGraph:
        """The graph as one that an op holds, which was another before it was rewritten.

        What is known of an output's lengths by a requirement alone is stated there: the op that required it may have
        been a `SpecifyShape` that is gone, and whoever types the op asks no checks.
        """
        frozen = self.freeze()
        if not self.needs.found:
            return frozen
        pairs = zip(before.outputs, frozen.outputs, strict=True)
        lost = [bool(frozen.deciding_lengths(new) - before.deciding_lengths(old)) for old, new in pairs]
        if not any(lost):
            return frozen
        with self.needs, locs.at(None):
            outputs = zip(self.outputs, lost, strict=True)
            self.outputs = tuple(self._stated(v) if one else v for v, one in outputs)
        return self.freeze()


def _own_lengths(v: Variable) -> None:
    """Give unknown lengths atoms that count as different from 1, as they are in a specialised graph."""
    if None in v.lengths:
        n = len(v.lengths)
        v.with_lengths(
            tuple(of_atom(AxisLength(v, k - n, not_one=True)) if d is None else d for k, d in enumerate(v.lengths))
        )


def _are_alike(a: Variable, b: Variable) -> bool:
    """Whether two values of one graph are known to have one symbolic type."""
    return a.type.dtype == b.type.dtype and len(a.lengths) == len(b.lengths) and all(map(same, a.lengths, b.lengths))


def _is_own(length: Length, v: Variable) -> bool:
    """Whether a length is known by the value that has it only."""
    atom = length.atom
    return type(atom) is AxisLength and atom.owner is v


def freeze(inputs: Sequence[Variable], outputs: Sequence[Variable], checks: Sequence[Check] = ()) -> FrozenGraph:
    """The expression as a graph that an op may hold, checks explicit, nothing rewritten: it can be differentiated.

    Args:
        checks: those that it has besides its ops' own.
    """
    return FunctionGraph.of(inputs, outputs, checks=checks, keeps_derivatives=True).freeze()
