"""The passes that push slices and gathers towards the inputs, so that only what is read is computed.

A value that is read by slices of one window, or of few small ones, or by one gather, is computed there
alone. One walk from the outputs finds what is read of each value, one from the inputs builds it: linear in the graph.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.record import Elementwise
from tg.ops.indexing import Gather, Nonzero, Slice
from tg.ops.reduction import reduce_sum
from tg.ops.shape import Concatenate, Squeeze
from tg.rewrite.phases import EXACT, REASSOCIATES
from tg.rewrite.rule import pass_of
from tg.rules.indexing.bounds import steps_of
from tg.rules.indexing.gathers import gathered
from tg.rules.indexing.through import UNUSED, Through, needs_sums, through
from tg.rules.indexing.windows import Windows, all_keys, are_apart, read, windows_of
from tg.types.requirements import equal_here

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Apply, Variable
    from tg.graph.view import View

FEW: Final = 4  # windows of one value that are computed apart
SMALL: Final = 8  # positions that they may have together where the length is not known


class Read(NamedTuple):
    """Read of a value: a window of each axis, and the axes of one position that are dropped then."""

    windows: Windows
    axes: tuple[int, ...] = ()

    @property
    def key(self) -> object:
        """Key that equal reads share."""
        return (all_keys(self.windows), self.axes)

    @property
    def is_all(self) -> bool:
        """Whether the value is read as it is."""
        return not self.axes and all(w is None for w in self.windows)

    def of(self, v: Variable) -> Variable:
        """Result of the read of a value."""
        y = read(v, self.windows)
        return Squeeze(self.axes)(y) if self.axes else y


class Chosen(NamedTuple):
    """Read of a value by a gather: the axes and the indices."""

    axes: tuple[int, ...]
    indices: tuple[Variable, ...]

    @property
    def key(self) -> object:
        """Key that equal reads share."""
        return (self.axes, tuple(map(id, self.indices)))

    @property
    def is_all(self) -> bool:
        """Never: a gather reads in an order of its own."""
        return False

    def of(self, v: Variable) -> Variable:
        """Result of the read of a value; it broadcasts along axes of which the value has one element."""
        return gathered(v, self.axes, self.indices)


class Pushed(NamedTuple):
    """A read of a result and, of the operands, the reads that it is made of."""

    read: Read | Chosen
    operands: tuple[Read | Chosen | None, ...]  # None: as it is
    through: Through
    squeezed: tuple[int, ...]  # axes that are dropped of what is made


@final
class _Reads:
    """Reads of each value of a graph."""

    def __init__(self, view: View, *, sums: bool) -> None:
        self.view, self.sums = view, sums
        self.whole: dict[int, int] = {}  # how often a value is used otherwise than by a slice
        self.reads: dict[int, dict[object, Read | Chosen]] = {}
        self.pushed: dict[int, list[Pushed]] = {}
        self.joined: set[int] = set()  # elementwise functions of pieces that are joined, and the joined pieces
        self.targets: list[
            tuple[Variable, Variable, Read | Chosen]
        ] = []  # a slice or gather, of what, and what it reads

    def run(self) -> dict[int, Variable]:
        """The replacements of slices, by their ids."""
        for node in self.view.applies:
            for y in self.view.results(node):
                self.whole[id(y)] = self.view.uses(y)
                if is_joined(node, self.joined):
                    self.joined.add(id(y))
        for node in reversed(self.view.applies):
            results = self.view.results(node)
            if len(results) == 1:
                self.visit(node, results[0])
        built = self.build()
        pairs = ((t, built.get((id(v), r.key))) for t, v, r in self.targets)
        return {id(t): y for t, y in pairs if y is not None}

    def visit(self, node: Apply, y: Variable) -> None:
        """Decide about a value all of whose readers have been visited."""
        uses, reads = self.whole[id(y)], self.reads.get(id(y))
        kind = type(node.op)
        if uses and kind is Slice:
            self.demand_of_slice(y, node, Read(windows_of(node)))
        elif uses and kind is Squeeze and self.is_single_slice(node.inputs[0]):
            inner = node.inputs[0].apply
            assert inner is not None
            self.whole[id(node.inputs[0])] -= 1
            self.demand_of_slice(y, inner, Read(windows_of(inner), node.op.axes))  # type: ignore[attr-defined]
            self.add_use(inner.inputs[0], 1)  # taken back when the slice itself is found to be dead
        elif uses and kind is Gather and is_selective(node):
            self.demand_of_slice(y, node, Chosen(node.op.axes, node.inputs[1:]))  # type: ignore[attr-defined]
        elif not uses and reads:
            self.push(node, y, list(reads.values()))
        elif not uses:
            for v in node.inputs:
                self.add_use(v, -1)

    def is_single_slice(self, v: Variable) -> bool:
        """Whether a value is a slice that nothing else uses."""
        if v.apply is None or type(v.apply.op) is not Slice:
            return False
        return self.whole[id(v)] == 1 and not self.reads.get(id(v))

    def demand_of_slice(self, target: Variable, node: Apply, selection: Read | Chosen) -> None:
        x = node.inputs[0]
        self.targets.append((target, x, selection))
        self.add_use(x, -1)
        self.demand(x, selection)

    def demand(self, v: Variable, selection: Read | Chosen) -> None:
        if selection.is_all:
            self.add_use(v, 1)
        else:
            self.reads.setdefault(id(v), {}).setdefault(selection.key, selection)

    def add_use(self, v: Variable, count: int) -> None:
        if id(v) in self.whole:
            self.whole[id(v)] += count

    def push(self, node: Apply, y: Variable, reads: Sequence[Read | Chosen]) -> None:
        """Compute a value only where it is read, if that is less and its op allows it."""
        if not pays(y, reads) and not (id(y) in self.joined and are_disjoint(y, reads)):
            return
        if not self.sums and needs_sums(node.op, y):
            return
        candidates = [pushed_through(node, y, r) for r in reads]
        if any(p is None for p in candidates):
            return
        for v in node.inputs:
            self.add_use(v, -1)
        self.pushed[id(y)] = pushes = [p for p in candidates if p is not None]
        for p in pushes:
            for v, r, used in zip(node.inputs, p.operands, p.through.reads, strict=True):
                if r is not None:
                    self.demand(v, r)
                elif used is not UNUSED:
                    self.add_use(v, 1)

    def build(self) -> dict[tuple[int, object], Variable]:
        """Reads of each value that is computed only there."""
        built: dict[tuple[int, object], Variable] = {}
        for node in self.view.applies:
            for y in self.view.results(node):
                for p in self.pushed.get(id(y), ()):
                    operands = [_operand(v, r, built) for v, r in zip(node.inputs, p.operands, strict=True)]
                    value = p.through.make(operands)
                    built[id(y), p.read.key] = Squeeze(p.squeezed)(value) if p.squeezed else value
        return built


def _operand(v: Variable, r: Read | Chosen | None, built: dict[tuple[int, object], Variable]) -> Variable:
    if r is None:
        return v
    value = built.get((id(v), r.key))
    return r.of(v) if value is None else value


def pushed_through(node: Apply, y: Variable, r: Read | Chosen) -> Pushed | None:
    """A read of a result as reads of the operands; scalars that are read stay scalars below elementwise functions."""
    is_pointwise = type(node.op) in (Elementwise, Cast)
    if isinstance(r, Chosen):
        return _chosen_through(node, r, is_pointwise=is_pointwise)
    route = through(node, y, r.windows)
    if route is None:
        return None
    axes = r.axes if is_pointwise else ()
    operands = tuple([None if w is None or w is UNUSED else Read(w, axes) for w in route.reads])
    return Pushed(r, operands, route, () if is_pointwise else r.axes)


def _chosen_through(node: Apply, r: Chosen, *, is_pointwise: bool) -> Pushed | None:
    """A gather of an elementwise function is one of each operand, of another gather one of its indices."""
    same_op = Through((None,) * len(node.inputs), lambda operands: node.op(*operands))
    if is_pointwise:
        arrays = [v for v in node.inputs if v.type.ndim]
        if len(arrays) > 1 and len(r.axes) == 1 and is_of_mask(r.indices):
            return None
        return Pushed(r, tuple([r if v.type.ndim else None for v in node.inputs]), same_op, ())
    if type(node.op) is not Gather or len(node.inputs) != 2 or r.axes != (-node.inputs[0].type.ndim,):
        return None
    return Pushed(r, (None, Chosen((-1,), r.indices)), same_op, ())  # of the last axis of the index


def is_selective(node: Apply) -> bool:
    """Whether a gather is known to read fewer elements than there are: a diagonal, a mask, few of a known number."""
    x, *indices = node.inputs
    if all(x.type.shape[k] == 1 for k in node.op.axes):  # type: ignore[attr-defined]
        return False  # one element says nothing of how often it is taken
    if len(indices) > 1 and any(steps_of(i) is not None for i in indices):
        return True
    if is_of_mask(indices):
        return True
    (y,) = (math.prod(n for n in t.shape if n is not None) for t in node.types)
    is_static = None not in x.type.shape and None not in node.types[0].shape
    return is_static and 2 * y <= math.prod(x.type.shape)  # type: ignore[arg-type]


def is_of_mask(indices: Sequence[Variable]) -> bool:
    """Whether positions are those where a mask holds."""
    return all(i.apply is not None and type(i.apply.op) is Nonzero for i in indices)


def pays(y: Variable, selections: Sequence[Read | Chosen]) -> bool:
    """Whether computing a value only where it is read is less than computing it once."""
    reads = [r for r in selections if isinstance(r, Read)]
    if len(reads) < len(selections):
        return len(selections) == 1
    if len(reads) == 1:
        return _is_smaller(y, reads[0])
    if len(reads) > FEW:
        return False
    total = 0
    for r in reads:
        size = 1
        for w, n in zip(r.windows, y.type.shape, strict=True):
            if w is not None and type(w.size) is int:
                size *= w.size
            elif w is not None or type(n) is not int:
                return False
            else:
                size *= n
        total += size
    count: Any = 1
    for n in y.type.shape:
        count = None if n is None or count is None else count * n
    return total <= SMALL if count is None else 2 * total <= count


def is_joined(node: Apply, joined: set[int]) -> bool:
    """Whether a value is made of pieces that need not be joined where they are read apart."""
    if type(node.op) in (Elementwise, Cast):
        return any(id(v) in joined for v in node.inputs)
    return type(node.op) is Concatenate


def are_disjoint(y: Variable, reads: Sequence[Read | Chosen]) -> bool:
    """Whether a few reads of a value are known to have no position in common: apart they are no more work."""
    if not 1 < len(reads) <= 2 * FEW:
        return False
    places = [r.windows for r in reads if isinstance(r, Read)]
    pairs = itertools.combinations(places, 2)
    return len(places) == len(reads) and all(any(map(are_apart, a, b, y.shape)) for a, b in pairs)


def _is_smaller(y: Variable, r: Read) -> bool:
    return any(w is not None and not equal_here(w.size, n) for w, n in zip(r.windows, y.shape, strict=True))


@pass_of(Slice, Gather, kind=EXACT, example=lambda x: (x * x + 1)[1:, 0])
def _slice_before_computing(view: View) -> dict[int, Variable]:
    """Only what is read is computed."""
    return _pushed(view, sums=False)


@pass_of(Slice, Gather, kind=REASSOCIATES, example=lambda x: reduce_sum(x, (-1,))[1:])
def _slice_before_summing(view: View) -> dict[int, Variable]:
    """Only the sums that are read are computed; a backend may add in another order for another shape."""
    return _pushed(view, sums=True)


def _pushed(view: View, *, sums: bool) -> dict[int, Variable]:
    return _Reads(view, sums=sums).run()


PASSES = (_slice_before_computing, _slice_before_summing)
