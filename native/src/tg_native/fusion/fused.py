"""The graph with loops in the place of groups of nodes, everything numbered anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.errors import RewriteError, message
from tg.graph.frozen import FrozenGraph, Node, Origin
from tg.graph.nodes import Constant
from tg.ops.indexing import Scatter
from tg.ops.reduction import Reduce
from tg.ops.shape import ExpandDims, Squeeze
from tg_native.fusion.alike import parted
from tg_native.fusion.fusion import ELEMENTWISE, Grouping, dropped_axes, is_view, is_whole, kept_values
from tg_native.fusion.guards import joined
from tg_native.fusion.loop import Loop, Result, Stage
from tg_native.fusion.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tg.graph.op import Op
    from tg.types.tensor_type import TensorType
    from tg_native.fusion.fusion import Choices, Group
    from tg_native.fusion.guards import Loops

MAX_LOCS: Final = 3  # of a loop, as of any node
NAME: Final = "fuse_loops"


class StagePlan(NamedTuple):
    """The nodes of a stage; one that is not `inner` runs once for each outer index."""

    nodes: tuple[int, ...]
    inner: bool = True


class LoopPlan(NamedTuple):
    """Plan of one loop: its stages, the rank of its space, how many axes the stages share."""

    stages: tuple[StagePlan, ...]
    rank: int
    outer: int

    @property
    def nodes(self) -> Iterator[int]:
        """The nodes of all stages."""
        return (k for stage in self.stages for k in stage.nodes)


class Operand(NamedTuple):
    """An operand of a loop: a value of the graph without some axes of length 1, and with `added` ones at the end."""

    number: int
    dropped: tuple[int, ...] = ()
    added: int = 0


class _Made(NamedTuple):
    """A loop in place of a plan: its op, what it reads, and the values, in the old graph, that it stores."""

    op: Loop
    operands: tuple[Operand, ...]
    stored: tuple[tuple[int, ...], ...]  # of each result: one value under several views, or a single one


@final
class Rebuild:
    """Puts loops in the place of plans."""

    def __init__(self, frozen: FrozenGraph, plans: Sequence[LoopPlan]) -> None:
        self.frozen, self.plans = frozen, plans
        self.plan_of = {k: p for p, plan in enumerate(plans) for k in plan.nodes}
        self.maker = {number: k for k, node in enumerate(frozen.nodes) for number in node.outputs}
        self.demanded = set(kept_values(frozen))
        self.drafts = [_Draft(self, plan) for plan in plans]
        self.order = self._order()
        self.made = {p: self.drafts[p].finish(self.demanded) for p in {-1 - place for place in self.order if place < 0}}
        self._share()

    def _order(self) -> list[int]:
        """Order of what is needed: nodes, and loops as -1 - plan, each after what it reads, which is then demanded.

        Raises:
            RewriteError: loops need one another, which is a mistake in choosing them.
        """
        done, begun, order = set[int](), set[int](), list[int]()
        stack = [self._place(self.maker[n]) for n in kept_values(self.frozen) if n in self.maker][::-1]
        while stack:
            top = stack[-1]
            if top in done:
                stack.pop()
                continue
            reads = self._reads(top)
            missing = [p for n in reads if n in self.maker and (p := self._place(self.maker[n])) not in done]
            if missing:
                if top in begun:
                    raise RewriteError(message("fuse_loops: loops need one another's results"))
                begun.add(top)
                stack.extend(reversed(missing))
                continue
            self.demanded.update(reads)
            done.add(stack.pop())
            order.append(top)
        return order

    def _place(self, k: int) -> int:
        return -1 - self.plan_of[k] if k in self.plan_of else k

    def _reads(self, place: int) -> Sequence[int]:
        return self.frozen.nodes[place].inputs if place >= 0 else self.drafts[-1 - place].reads

    def _share(self) -> None:
        """Make loops equal that are but for numbers, which become operands: they are single constants of the graph."""
        number = {c.key: self.frozen.arity + k for k, c in enumerate(self.frozen.constants)}
        places = [*self.made]
        parts = parted([(entry.op, len(entry.operands)) for entry in self.made.values()])
        for k, (op, numbers) in parts.items():
            entry = self.made[places[k]]
            if all(c.key in number for c in numbers):
                operands = (*entry.operands, *(Operand(number[c.key]) for c in numbers))
                self.made[places[k]] = entry._replace(op=op, operands=operands)

    def run(self) -> FrozenGraph:
        """The new graph."""
        frozen, writer = self.frozen, Writer(self.frozen)
        for place in self.order:
            if place >= 0:
                node = frozen.nodes[place]
                operands = tuple(writer.number[n] for n in node.inputs)
                types = [frozen.types[n] for n in node.outputs]
                origin = frozen.origins.get(place, Origin())
                for n, new in zip(node.outputs, writer.add(node.op, operands, types, origin), strict=True):
                    writer.call(n, new)
            else:
                self._add_loop(writer, -1 - place)
        return writer.graph()

    def _add_loop(self, writer: Writer, p: int) -> None:
        entry = self.made[p]
        origin = self._origin(self.plans[p])
        operands = tuple(writer.viewed(operand, origin) for operand in entry.operands)
        loop = entry.op
        results = [r for stage in loop.stages for r in stage.results if r.stored]
        types = [self._stored_type(loop, r, n) for r, (n, *_) in zip(results, entry.stored, strict=True)]
        for r, numbers, new in zip(results, entry.stored, writer.add(loop, operands, types, origin), strict=True):
            for n in numbers:
                writer.call(n, writer.restored(new, r, self.frozen.types[n], origin))

    def _stored_type(self, loop: Loop, result: Result, number: int) -> TensorType:
        """The type of a loop's own result: of the space's rank, where the value in the graph may have another one."""
        t = self.frozen.types[number]
        if result.into is not None:
            return t
        left = iter([n for n in t.shape if n != 1])
        rank = len(loop.extents)
        gone = {k + rank for k in result.axes}
        return t.with_shape([1 if k in gone else next(left, 1) for k in range(rank)])

    def _origin(self, plan: LoopPlan) -> Origin:
        every = [self.frozen.origins.get(k, Origin()) for k in plan.nodes]
        locs = tuple(dict.fromkeys(loc for o in every for loc in o.locs))[:MAX_LOCS]
        rules = tuple(dict.fromkeys(rule for o in every for rule in o.rules))
        return Origin(locs, (*rules, NAME))


@final
class Writer:
    """The new graph in the making: `number` is what a value of the old graph is called in it."""

    def __init__(self, frozen: FrozenGraph) -> None:
        self.frozen = frozen
        first = frozen.arity + len(frozen.constants)
        self.number = {k: k for k in range(first)}
        self.types = list(frozen.types[:first])
        self.nodes: list[Node] = []
        self.names = {k: v for k, v in frozen.names.items() if k < first}
        self.origins: dict[int, Origin] = {}
        self._views: dict[tuple[Op, int], int] = {}

    def add(self, op: Op, operands: tuple[int, ...], types: Sequence[TensorType], origin: Origin) -> list[int]:
        """The numbers of the results of a new node."""
        numbers = list(range(len(self.types), len(self.types) + len(types)))
        self.origins[len(self.nodes)] = origin
        self.nodes.append(Node(op, operands, tuple(numbers)))
        self.types.extend(types)
        return numbers

    def call(self, old: int, new: int) -> None:
        """Say what a value of the old graph is now."""
        self.number[old] = new
        if old in self.frozen.names:
            self.names[new] = self.frozen.names[old]

    def viewed(self, operand: Operand, origin: Origin) -> int:
        """An operand of a loop, by nodes that drop and add axes of length 1 where it needs them."""
        number = self.number[operand.number]
        if operand.dropped:
            number = self._view(Squeeze(operand.dropped), number, origin)
        if operand.added:
            number = self._view(ExpandDims(tuple(range(-operand.added, 0))), number, origin)
        return number

    def restored(self, number: int, result: Result, wanted: TensorType, origin: Origin) -> int:
        """A loop's result in the shape that the value has in the graph: ones dropped, others put back."""
        if result.into is not None:
            return number
        shape = self.types[number].shape
        ones = tuple(k for k in range(-len(shape), 0) if shape[k] == 1)
        if ones:
            number = self._view(Squeeze(ones), number, origin)
        put = tuple(k for k in range(-wanted.ndim, 0) if wanted.shape[k] == 1)
        return self._view(ExpandDims(put), number, origin) if put else number

    def _view(self, op: Op, number: int, origin: Origin) -> int:
        view = self._views.get((op, number))
        if view is None:
            (view,) = self.add(op, (number,), op.infer(self.types[number]), origin)
            self._views[op, number] = view
        return view

    def graph(self) -> FrozenGraph:
        """The graph that has been written."""
        frozen, number = self.frozen, self.number
        checks = [
            c._replace(condition=number[c.condition], values=tuple(number[v] for v in c.values)) for c in frozen.checks
        ]
        outputs = [number[n] for n in frozen.outputs]
        return FrozenGraph(
            frozen.arity, self.types, frozen.constants, self.nodes, outputs, checks, self.names, self.origins
        )


@final
class _Draft:
    """A loop in the making: first what it reads, then, when it is known what others demand, its results."""

    def __init__(self, rebuild: Rebuild, plan: LoopPlan) -> None:
        self.frozen, self.maker, self.plan = rebuild.frozen, rebuild.maker, plan
        self.inner = plan.rank - plan.outer
        self.operands: dict[Operand, int] = {}
        self.stage_of = {n: s for s, stage in enumerate(plan.stages) for k in stage.nodes for n in self._outputs(k)}
        self.across: set[int] = set()  # values that later stages read
        self.stages = [_Program(self, s, stage) for s, stage in enumerate(plan.stages)]
        for stage in self.stages:
            stage.read_all()
        self.places = tuple(self.operands)
        self.reads = [operand.number for operand in self.places]

    def _outputs(self, k: int) -> tuple[int, ...]:
        return self.frozen.nodes[k].outputs

    def operand(self, operand: Operand) -> int:
        """The place of an operand of the loop."""
        return self.operands.setdefault(operand, len(self.operands))

    def earlier(self, number: int, stage: int) -> int | None:
        """The value of an earlier stage that a value is, seen through axes of length 1."""
        while True:
            own = self.stage_of.get(number)
            if own is not None:
                return number if own < stage else None
            k = self.maker.get(number)
            if k is None or not is_view(self.frozen.nodes[k]):
                return None
            (number,) = self.frozen.nodes[k].inputs

    def finish(self, demanded: set[int]) -> _Made:
        """The loop, which stores what is demanded."""
        place: dict[int, int] = {}  # value -> its place among the results of all stages
        stages, stored, count = [], list[tuple[int, ...]](), 0
        for stage in self.stages:
            new_stage, values = stage.finish(place, demanded)
            place.update((n, count + at) for at, numbers in enumerate(values) for n in numbers)
            count += len(values)
            stored += [tuple(numbers) for numbers, r in zip(values, new_stage.results, strict=True) if r.stored]
            stages.append(new_stage)
        return _Made(Loop(self._extents(), self.plan.outer, tuple(stages)), tuple(self.operands), tuple(stored))

    def _extents(self) -> tuple[int | None, ...]:
        """The lengths of the space where the graph knows them."""
        for stage in self.stages:
            if stage.plan.inner:
                return stage.extents()
        raise AssertionError


@final
class _Program:
    """One stage in the making: inputs, constants and steps of its program on elements."""

    def __init__(self, draft: _Draft, place: int, plan: StagePlan) -> None:
        self.draft, self.place, self.plan, self.frozen = draft, place, plan, draft.frozen
        self.reading: dict[tuple[int, int], _Read] = {}  # by node and place of the operand

    # --- what it reads ---------------------------------------------------------------------------------------------

    def read_all(self) -> None:
        """Find what the nodes read."""
        own = {n for k in self.plan.nodes for n in self.frozen.nodes[k].outputs}
        reads = [(k, i, n) for k in self.plan.nodes for i, n in enumerate(self.frozen.nodes[k].inputs)]
        spans = any(self._has_axes(k, i, n) for k, i, n in reads if n not in own)
        for k, i, number in reads:
            node = self.frozen.nodes[k]
            if number in own:
                self.reading[k, i] = _Read("step", number)
            elif not is_whole(node, i) and one_number(self.frozen, number) is not None:
                has_axes = self.frozen.types[number].ndim > 0
                self.reading[k, i] = (
                    self._element(node, i, number) if has_axes and not spans else _Read("constant", number)
                )
            else:
                self.reading[k, i] = self._read(node, i, number)

    def _has_axes(self, k: int, i: int, number: int) -> bool:
        """Whether an operand has the rank of the space, and is no constant of one element, which may stand inside."""
        if is_whole(self.frozen.nodes[k], i):
            return False
        return self.frozen.types[number].ndim > 0 and one_number(self.frozen, number) is None

    def _read(self, node: Node, i: int, number: int) -> _Read:
        draft = self.draft
        if is_whole(node, i):
            return _Read("base" if type(node.op) is Scatter else "table", draft.operand(Operand(number)))
        if self.frozen.types[number].ndim == 0:
            return _Read("element", draft.operand(Operand(number)))
        before = draft.earlier(number, self.place)
        if before is not None:
            draft.across.add(before)
            return _Read("earlier", before)
        return self._element(node, i, number)

    def _element(self, node: Node, i: int, number: int) -> _Read:
        added = 0 if self.plan.inner else self.draft.inner
        return _Read("element", self.draft.operand(Operand(number, self._dropped(node, i), added)))

    def _dropped(self, node: Node, i: int) -> tuple[int, ...]:
        """The axes of length 1 that operand i does not need."""
        own = is_view(node) or type(node.op) in (Reduce, Scatter)
        shape = self.frozen.types[node.inputs[i] if own else node.outputs[0]].shape
        return tuple(k for k in range(-len(shape), 0) if shape[k] == 1)

    def extents(self) -> tuple[int | None, ...]:
        """The lengths of the space where the graph knows them."""
        node = self.frozen.nodes[self.plan.nodes[0]]
        number = node.inputs[type(node.op) is Scatter] if type(node.op) in (Reduce, Scatter) else node.outputs[0]
        shape: Any = self.frozen.types[number].shape
        return tuple(n for n in shape if n != 1)

    # --- the program -----------------------------------------------------------------------------------------------

    def finish(self, results: Mapping[int, int], demanded: set[int]) -> tuple[Stage, list[list[int]]]:
        """The stage, and the values of the graph that its results are; `results` are those of the stages before."""
        frozen = self.frozen
        inputs = [r for r in dict.fromkeys(self.reading.values()) if r.kind in ("element", "table", "earlier")]
        constants = [r for r in dict.fromkeys(self.reading.values()) if r.kind == "constant"]
        types = [self._type(r) for r in (*inputs, *constants)]
        place: dict[_Read, int] = {r: k for k, r in enumerate((*inputs, *constants))}
        steps, names, origins = list[Node](), dict[int, str](), dict[int, Origin]()
        for k in self.plan.nodes:
            node = frozen.nodes[k]
            if type(node.op) in (Reduce, Scatter):
                continue
            operands = tuple(place[self.reading[k, i]] for i in range(len(node.inputs)))
            (out,) = node.outputs
            if is_view(node):
                place[_Read("step", out)] = operands[0]
                continue
            place[_Read("step", out)] = len(types)
            if out in frozen.names:
                names[len(types)] = frozen.names[out]
            origins[len(steps)] = frozen.origins.get(k, Origin())
            steps.append(Node(node.op, operands, (len(types),)))
            types.append(frozen.types[out].with_shape(()))
        names.update((k, name) for k, r in enumerate(inputs) if (name := self._name(r)) is not None)
        stage_results, values, outputs = self._results(place, demanded)
        data = [c for r in constants if (c := one_number(frozen, r.number)) is not None]
        program = FrozenGraph(len(inputs), types, data, steps, outputs, (), names, origins)
        reads = tuple(~results[r.number] if r.kind == "earlier" else r.number for r in inputs)
        return Stage(program, reads, tuple(stage_results)), values

    def _type(self, read: _Read) -> TensorType:
        types = self.frozen.types
        if read.kind in ("earlier", "constant"):
            return types[read.number].with_shape(())
        number = self.draft.places[read.number].number
        return types[number] if read.kind == "table" else types[number].with_shape(())

    def _name(self, read: _Read) -> str | None:
        number = read.number if read.kind == "earlier" else self.draft.places[read.number].number
        return self.frozen.names.get(number)

    def _results(
        self, place: Mapping[_Read, int], demanded: set[int]
    ) -> tuple[list[Result], list[list[int]], list[int]]:
        """The results, the values of the graph that they are, and the outputs of the program."""
        outputs: dict[int, int] = {}

        def output(number: int) -> int:
            return outputs.setdefault(number, len(outputs))

        results, values, by_value = list[Result](), list[list[int]](), dict[int, int]()
        for k in self.plan.nodes:
            node = self.frozen.nodes[k]
            (out,) = node.outputs
            places = [place.get(self.reading[k, i], 0) for i in range(len(node.inputs))]
            if type(node.op) is Reduce:
                axes = dropped_axes(self.frozen, node)
                results.append(Result(output(places[0]), node.op.fn, axes, None, (), out in demanded))
            elif type(node.op) is Scatter:
                _, value, *at = (output(n) if i else 0 for i, n in enumerate(places))
                base = self.reading[k, 0].number
                results.append(Result(value, node.op.fn, (), base, tuple(at), out in demanded))
            elif out in demanded or out in self.draft.across:
                value = output(place[_Read("step", out)])
                result = Result(value, None, (), None, (), out in demanded)
                if value in by_value:  # it is kept already: this one is a view of it
                    place_of = by_value[value]
                    results[place_of] = result if result.stored else results[place_of]
                    values[place_of].append(out)
                    continue
                by_value[value] = len(results)
                results.append(result)
            else:
                continue
            values.append([out])
        return results, values, list(outputs)


class _Read(NamedTuple):
    """Kind and number of an operand of a node in a stage.

    A "step" of this stage, an "earlier" value of a stage before, a "constant", by its number in the graph; an "element"
    of an operand of the loop, a "table" gathered from or a "base" scattered into, by the operand's place.
    """

    kind: str
    number: int


def one_number(frozen: FrozenGraph, number: int) -> Constant | None:
    """The 0-d constant that an operand of a loop is, if it is one number."""
    constant = frozen.constant(number)
    if constant is None or constant.data.size != 1:
        return None
    return constant if constant.data.ndim == 0 else Constant(constant.data.reshape(()))


def fuse(frozen: FrozenGraph, choices: Choices = ELEMENTWISE) -> FrozenGraph:
    """The graph with nodes gathered into loops, in time linear in the size of the graph.

    Args:
        choices: what loops may have; by default elementwise ops alone.
    """
    grouping = Grouping(frozen, choices)
    groups = grouping.groups()
    loops = Rows(grouping, groups).joined() if choices.rows else [(g.outer, [k]) for k, g in enumerate(groups)]
    loops, frozen = joined(grouping, groups, loops, choices.guards)
    plans = _plans(grouping, choices, groups, loops)
    return Rebuild(frozen, plans).run() if plans else frozen


def _plans(grouping: Grouping, choices: Choices, groups: Sequence[Group], loops: Loops) -> list[LoopPlan]:
    """Plans of what is worth a loop."""
    plans = []
    for outer, members in loops:
        rank = max(len(groups[g].space) for g in members)
        stages = tuple(StagePlan(tuple(groups[g].nodes), len(groups[g].space) == rank) for g in members)
        plan = LoopPlan(stages, rank, outer)
        if len(stages) > 1 or choices.worthwhile([grouping.frozen.nodes[k] for k in plan.nodes]):
            plans.append(plan)
    return plans
