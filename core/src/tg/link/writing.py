"""funcify: a frozen graph and a table of rules made one Python function.

The function is straight-line code: one call of a rule for each node. Sizes are Python ints: those known from shapes are
computed where shapes are known (while tracing, on backends that trace), those that depend on values come in a tuple
that a second, NumPy-only function computes on the host before each call. Where nothing is traced, what follows from the
lengths of inputs alone is computed by a function of its own, which remembers its results.
"""

from __future__ import annotations

import functools
import inspect
import keyword
import re
import threading
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.link.blame import LINES, Line
from tg.link.colour import colours, static_colours, takes_graphs
from tg.link.funcified import Funcified
from tg.link.host import SizesInside, called_back, host_sizes, quiet, sizes_inside
from tg.link.inner import CompiledInner, bound, changing_size, refused_size, sized
from tg.link.overwriting import writes_of
from tg.link.sharing import early_scalars, is_decided, roots_of
from tg.link.steps import Site, steps_of
from tg.link.symbolic import as_size, chosen, native, traced_function
from tg.ops.control import Call, lower_checks
from tg.ops.elementwise.record import Elementwise
from tg.ops.shape import AxisLength

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.graph.frozen import FrozenGraph, Node
    from tg.graph.op import Op
    from tg.link.funcify import FuncifyLinker
    from tg.link.linker import Request
    from tg.link.overwriting import Write
    from tg.link.symbolic import Symbols

    Array = np.ndarray[Any, Any]

LARGE: Final = 4096  # bytes: a larger constant is an argument of what is traced, not a literal in it
RESERVED: Final = re.compile(r"sizes|constants|writes|int|graph|inner\d+|\w+_lengths|[vhs]\d+|n\d+_\d+")
KEPT: Final = 256  # combinations of lengths whose scalars are remembered
SIGNATURES: Final = threading.Lock()  # a builtin's is text that `ast` parses, which CPython 3.11 cannot in two threads


def funcify(graph: FrozenGraph, request: Request, linker: FuncifyLinker, symbols: Symbols | None = None) -> Funcified:
    """Make the functions of a graph.

    Args:
        symbols: the arithmetic of lengths, in a trace in which some are symbols; None where all are numbers.
    Raises:
        NoRuleError: the request has no rule for an op.
    """
    unit = _Unit(request, linker, symbols)
    traced = linker.jit is not None
    writer = _GraphWriter(unit, graph, traced=traced, has_status=request.has_status and not traced)
    writer.write("graph", () if traced or linker.overwrite is None else request.reusable)
    lines = tuple(line for function in unit.functions for line in function)
    text = "\n".join(line.text for line in lines) + "\n"
    code = compile(text, f"<tg {request.backend} {request.name}>", "exec")
    unit.scope[LINES] = lines
    exec(code, unit.scope)
    host = host_sizes(graph, "graph_sizes", unit.as_numpy) if linker.length is None else None
    rules, compiled = frozenset(unit.rules), frozenset(unit.compiled)
    overwrites = tuple((write.output, write.into) for write in writer.writes.values())
    return Funcified(unit.scope["graph"], host, tuple(unit.constants), lines, code, rules, compiled, overwrites)


def parameters(function: object) -> frozenset[str]:
    """The names of a function's parameters; none of a builtin that does not tell, or of what is no function."""
    try:
        with SIGNATURES:
            return frozenset(inspect.signature(function).parameters)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return frozenset()


@final
class _Unit:
    """The state that functions of one program share: objects they name, constants, functions of inner graphs."""

    def __init__(self, request: Request, linker: FuncifyLinker, symbols: Symbols | None = None) -> None:
        self.request, self.linker, self.symbols = request, linker, symbols
        self.scope: dict[str, Any] = {"__name__": __name__, "np": np, "constant": linker.constant, "copy": linker.copy}
        self.scope.update(length=linker.length, barrier=linker.barrier, bound=bound, sized=sized)
        self.scope["partial"] = functools.partial
        self.scope["remembered"] = functools.lru_cache(KEPT)
        if symbols is not None:
            as_native = functools.partial(native, symbols=symbols, constant=linker.constant)
            self.scope.update(native=as_native, as_size=as_size, chosen=chosen)
        self.functions: list[list[Line]] = []
        self.rules: set[str] = set()  # their names in the scope
        self.compiled: set[str] = set()  # the names of what compiles inner graphs
        self.constants: list[Array] = []
        self._places: dict[object, int] = {}  # of constants, by key
        self._inner: dict[tuple[object, ...], str] = {}
        self._names: dict[tuple[str, object], str] = {}
        self._parameters: dict[object, frozenset[str]] = {}  # the names of each rule's
        self.context = linker.context(request.options)

    def bind(self, name: str, value: Any, key: object) -> str:
        """The name of an object in the generated code: one for each key."""
        label = self._names.get((name, key))
        if label is None:
            plain = "".join(c if c.isalnum() else "_" for c in name)
            taken = plain in self.scope or RESERVED.fullmatch(plain) or keyword.iskeyword(plain)
            label = f"{plain}_{len(self.scope)}" if taken else plain
            self._names[name, key] = label
            self.scope[label] = value
        return label

    def argument(self, data: Array, key: object) -> int:
        """The place of a constant among the arguments."""
        place = self._places.setdefault(key, len(self.constants))
        if place == len(self.constants):
            self.constants.append(data)
        return place

    def as_numpy(self, array: Any) -> Any:
        """An array of the backend, or a NumPy one, as NumPy's."""
        return array if isinstance(array, np.ndarray) else self.linker.to_numpy(array)

    def inner(self, graph: FrozenGraph, *, traced: bool, copies: bool, has_status: bool = False) -> str:
        """The function of an inner graph, one for equal graphs."""
        key = (graph, traced, copies, has_status)
        if key not in self._inner:
            name = self._inner[key] = f"inner{len(self._inner)}"
            _GraphWriter(self, graph, traced=traced, copies=copies, has_status=has_status).write(name)
        return self._inner[key]

    def compiles(self, graph: FrozenGraph) -> bool:
        """Whether the linker compiles the function of an inner graph that a rule is given: straight-line code."""
        return self.linker.inner is not None and not takes_graphs(graph) and not self._leaves(graph)

    def _leaves(self, graph: FrozenGraph) -> bool:
        """Whether the host has a part in a graph."""
        nodes = enumerate(graph.nodes)
        return any(
            node.op.calls_python or self.request.on_host(node.op, graph, k) or any(map(self._leaves, inner))
            for k, node in nodes
            for inner in [node.op.inner_graphs()]
        )

    def takes(self, rule: Callable[..., Any], argument: str) -> bool:
        """Whether a rule has an argument of this name."""
        names = self._parameters.get(rule)
        if names is None:
            names = self._parameters[rule] = parameters(rule)
        return argument in names


@final
class _GraphWriter:
    """Writes the function of one graph: `v3` is a value as the backend's array, `h3` as NumPy's, `s3` as an int."""

    def __init__(
        self, unit: _Unit, graph: FrozenGraph, *, traced: bool, copies: bool = True, has_status: bool = False
    ) -> None:
        self.unit, self.graph, self.traced, self.copies = unit, graph, traced, copies
        self.has_status = has_status  # as the last output, None where it is known that no check fails
        self.colours = colours(graph) if unit.linker.length is None else static_colours(graph)
        self.sizes = {k: f"sizes[{place}]" for place, k in enumerate(self.colours.sizes)}
        self.inside: dict[int, list[SizesInside | None]] = {}  # by node: sizes that depend on values
        self.calls = {number: len(self.sizes) + place for place, number in enumerate(self.colours.calls)}
        self.made: set[int] = set(range(graph.arity))  # values that exist as the backend's arrays
        self.roots = roots_of(graph, unit.linker.views, self.colours.shape)
        self.viewed = frozenset(k for value, roots in enumerate(self.roots) for k in roots if k != value)
        self.live = self._live()
        self.early = early_scalars(graph, self.colours.shape) if not traced else frozenset[int]()
        self.early_lines: list[Line] = []
        self.lengths: dict[str, str] = {}  # that the early lines need: where they are found
        self.early_names: dict[str, None] = {}  # that other lines need
        self.lines: list[Line] = []
        self.writes: dict[int, Write] = {}
        self.loc: Any = None

    def write(self, name: str, reusable: Iterable[tuple[int, int]] = ()) -> None:
        """Write the function and add it to the unit.

        Args:
            reusable: pairs of an output and an input that may share memory: if it is given a list for `writes`, the
                function leaves there what is to be called to make such outputs.
        """
        graph = self.graph
        steps = steps_of(graph, self.live, has_status=self.has_status)
        is_known = self.unit.symbols is None and self.colours.shape.issuperset(steps.conditions)
        if self.traced and not is_known:  # where the function is traced
            steps = steps_of(graph, self.live, has_status=False)
        if steps.conditions or not self.has_status:
            self.writes = writes_of(graph, steps, reusable, self.roots, self._overwriting)
        parameters = [
            "sizes",
            "constants",
            *(f"v{k}" for k in range(graph.arity)),
            *["writes=None"][: len(self.writes)],
        ]
        self.lines.append(Line(f"def {name}({', '.join(parameters)}):"))
        first = [k for k in steps.first if k not in self.writes]
        self.uses = steps._replace(first=(*first, *self.writes)).last_uses(graph)
        for number in first:
            self._node(number)
        if self.writes:
            self._write_last(steps.conditions)
        for number in self.writes:
            self._node(number)
        if steps.conditions:
            conditions, results = [*map(self._condition, steps.conditions)], self._results(graph.outputs[:-1])
            self._line(f"if {' and '.join(conditions)}:")
            self._line(f"    return ({''.join(f'{r}, ' for r in results)}None{'' if results else ','})")
        for number in steps.rest:
            self._node(number)
        self._line(f"return ({''.join(f'{r}, ' for r in self._results(graph.outputs))})")
        self._add_lengths(f"{name}_lengths")
        self.unit.functions.append(self.lines)

    def _write_last(self, conditions: Sequence[int]) -> None:
        """Leave the calls that write for the caller, if it has a list for them and no check fails."""
        graph = self.graph
        outputs = graph.outputs[:-1] if conditions else graph.outputs
        new = {n for number in self.writes for n in graph.nodes[number].outputs}
        for k in (*outputs, *(n for number in self.writes for n in graph.nodes[number].inputs)):
            if k not in new:
                self._native(k)
        before, tests = set(self.made), [*map(self._condition, conditions)]
        self._line(f"if {' and '.join(['writes is not None', *tests])}:")
        for number, write in self.writes.items():
            node = graph.nodes[number]
            function = self.unit.bind(f"{node.op.name}_into", write.function, id(write.function))
            operands = ", ".join(map(self._native, node.inputs))
            self._line(f"    writes.append(partial({function}, {operands}, out=v{write.into}))")
            self._line(f"    v{node.outputs[0]} = v{write.into}")
            self.made.update(node.outputs)
        results = [*self._results(outputs), *["None"][: len(conditions)]]
        self._line(f"    return ({''.join(f'{r}, ' for r in results)})")
        self.made = before

    def _condition(self, k: int) -> str:
        return self._on_host_name(k, early=False) if k in self.colours.shape else self._native(k)

    def _add_lengths(self, name: str) -> None:
        """Add the function of what follows from the lengths of inputs, and its call."""
        if self.early_names:
            names = "".join(f"{k}, " for k in self.early_names)
            self.lines.insert(1, Line(f"    {names}= {name}({', '.join(self.lengths.values())})"))
            head = [Line("@remembered"), Line(f"def {name}({', '.join(self.lengths)}):")]
            self.unit.functions.append([*head, *self.early_lines, Line(f"    return ({names})")])

    def _early_name(self, name: str, text: str = "") -> str:
        """A name that early lines give to something, once, and other lines may use."""
        if text and name not in self.early_names:
            self.early_lines.append(Line(f"    {name} = {text}", self.loc))
        self.early_names[name] = None
        return name

    def _node(self, number: int) -> None:
        """Write what computes a node, and drop what it is the last to read."""
        node, origin = self.graph.nodes[number], self.graph.origins.get(number)
        self.loc = origin.locs[0] if origin is not None and origin.locs else None
        if all(k in self.colours.shape for k in node.outputs):
            self._on_host(number, node)
        else:
            self._call(number, node)
        self._free(number)
        self.loc = None

    def _live(self) -> frozenset[int]:
        """The values that outputs depend on, other than through sizes that the host computes."""
        live = set(self.graph.outputs)
        for node in reversed(self.graph.nodes):
            if any(k in live for k in node.outputs):
                sizes = node.op.size_operands(len(node.inputs))
                on_host = () if self.unit.linker.length is not None else sizes
                live.update(k for place, k in enumerate(node.inputs) if place not in on_host or k in self.colours.shape)
        return frozenset(live)

    def _line(self, text: str, calls: int | None = None, dying: frozenset[int] = frozenset()) -> None:
        """A line; `calls` is the node whose rule it calls, `dying` the operands that this may overwrite."""
        self.lines.append(Line(f"    {text}", self.loc, None if calls is None else (self.graph, calls), dying))

    def _free(self, number: int) -> None:
        """Drop what nothing reads any more; while tracing there is nothing to gain."""
        dead = [k for k in self.uses[number] if k in self.made]
        if dead and not self.traced:
            self._line(f"del {', '.join(f'v{k}' for k in dead)}")
        self.made.difference_update(dead)

    def _results(self, outputs: Sequence[int]) -> list[str]:
        """Outputs; those that may share memory with an input, a constant or one another are copied."""
        names = [self._native(k) for k in outputs]
        if not self.copies or (self.traced and not self.unit.linker.views):
            return names
        graph, texts = self.graph, []
        taken = {*range(graph.arity + len(graph.constants)), *self.early}
        for name, k in zip(names, outputs, strict=True):
            texts.append(f"copy({name})" if taken & self.roots[k] else name)
            taken |= self.roots[k]
        return texts

    def _native(self, k: int) -> str:
        """The name of a value as the backend's array, made from its host value or constant where needed."""
        if k in self.made:
            return f"v{k}"
        constant = self.graph.constant(k)
        if k in self.early:
            self._early_name(f"v{k}", f"constant(h{k})")
        elif constant is None and self.unit.symbols is not None:
            self._line(f"v{k} = native(h{k}, {self.graph.types[k].dtype!r})")
        elif constant is None:
            self._line(f"v{k} = constant(h{k})")
        elif self.traced and constant.data.nbytes <= LARGE:
            self._line(f"v{k} = constant({self.unit.bind('c', constant.data, constant.key)})")
        else:
            self._line(f"v{k} = constants[{self.unit.argument(constant.data, constant.key)}]")
        self.made.add(k)
        return f"v{k}"

    def _call(self, number: int, node: Node) -> None:
        sizes = node.op.size_operands(len(node.inputs))
        operands = [self._size(k) if place in sizes else self._native(k) for place, k in enumerate(node.inputs)]
        self.made.update(node.outputs)
        calls, dying = None, frozenset[int]()
        if is_decided(self.graph, node, self.colours.shape):
            text, several = self._choice(number, node, operands), False
            calls = None if self.unit.symbols is None else number
        elif isinstance(node.op, Call):
            name = self.unit.inner(node.op.lowered, traced=self.traced, copies=True)
            fenced = [f"*barrier({', '.join(operands)})"] if self.unit.linker.barrier and operands else operands
            text, several = f"{name}({', '.join([self._sizes_inside(number), 'constants', *fenced])})", True
        elif isinstance(node.op, AxisLength):
            text, several = f"length({operands[0]}, {node.op.axis})", False
        else:
            text, dying = self._rule(number, node, operands)
            several = len(node.outputs) > 1
            calls = None if node.op.calls_python else number
        targets = "".join(f"v{k}, " for k in node.outputs) if several else f"v{node.outputs[0]} "
        self._line(f"{targets}= {text}", calls, dying)

    def _choice(self, number: int, node: Node, operands: list[str]) -> str:
        """One of two arrays, by what shapes decide."""
        condition = self._on_host_name(node.inputs[0], early=False)
        if self.unit.symbols is None:
            return f"{operands[1]} if {condition} else {operands[2]}"
        rule, _ = self._rule(number, node, ["c", *operands[1:]])
        return f"chosen({condition}, {operands[1]}, {operands[2]}, lambda c: {rule})"

    def _size(self, k: int) -> str:
        constant = self.graph.constant(k)
        if constant is None and self.unit.symbols is not None:
            return self.sizes.get(k) or f"as_size(h{k})"
        if k in self.early:
            return self._early_name(f"s{k}", f"int(h{k})")
        if constant is not None or k in self.colours.shape or self.unit.linker.length is None:
            return str(int(constant.data)) if constant is not None else self.sizes.get(k) or f"int(h{k})"
        return self._native(k)

    def _rule(self, number: int, node: Node, operands: list[str]) -> tuple[str, frozenset[int]]:
        """The call of a node's rule, and the operands that this may overwrite."""
        unit, op, dying = self.unit, node.op, frozenset[int]()
        python = op.calls_python and unit.request.rule_for(op.rule_key) is None
        if not self.traced and (python or unit.request.on_host(op, self.graph, number)):
            rule = called_back(unit.linker, self.graph, number)
            return f"{unit.bind(op.name if python else f'host_{op.name}', rule, rule)}({', '.join(operands)})", dying
        special = self._special(number, node)
        if special is not None:
            return f"{self._bound(op, special)}({', '.join(operands)})", self._dying(number, node)
        rule = unit.request.rule(op, self.graph, number)
        name = self._bound(op, rule)
        arguments = operands if isinstance(op, Elementwise) else [unit.bind("op", op, op), *operands]
        if unit.takes(rule, "dying"):
            dying = self._dying(number, node)
            arguments.append(f"dying={unit.bind('dying', dying, dying)}")
        if unit.takes(rule, "context"):
            arguments.append(f"context={unit.bind('context', unit.context, None)}")
        if unit.takes(rule, "graphs"):
            functions = [self._function(number, k, g) for k, g in enumerate(map(lower_checks, op.inner_graphs()))]
            arguments.append(f"graphs=({', '.join(functions)},)")
        return f"{name}({', '.join(arguments)})", dying

    def _function(self, number: int, k: int, graph: FrozenGraph) -> str:
        """The function of an inner graph of a node, of arrays alone, as a rule is given it."""
        unit, sizes = self.unit, self._sizes_inside(number, k)
        has_status = bool(self.graph.nodes[number].op.inner_graphs()[k].checks)
        inner = self.inside[number][k] if number in self.calls else None
        changing = inner is not None and not inner.is_fixed
        if changing and self.traced:
            raise refused_size(unit.request, self.graph, number, changing_size(self.graph.nodes[number], k))
        if inner is not None and changing:
            name = unit.inner(graph, traced=False, copies=False, has_status=has_status)
            return f"sized({name}, {unit.bind('sizes_inside', inner.function.function, (number, k, graph))}, constants)"
        if self.traced or not unit.compiles(graph):
            name = unit.inner(graph, traced=self.traced, copies=False, has_status=has_status)
            return f"bound({name}, {sizes}, constants)"
        name = unit.inner(graph, traced=True, copies=False)
        compiled = unit.bind("compiled", CompiledInner(graph, unit.linker, unit.request), graph)
        unit.compiled.add(compiled)
        return f"{compiled}({name}, {sizes}, constants)"

    def _sizes_inside(self, number: int, k: int = 0) -> str:
        """The sizes in an inner graph of a node that the host computes."""
        if number not in self.calls:
            return "()"
        if number not in self.inside:
            self.inside[number] = sizes_inside(self.graph.nodes[number], f"inner{number}_sizes", self.unit.as_numpy)
        return f"sizes[{self.calls[number]}][{k}]"

    def _bound(self, op: Op, rule: Callable[..., Any]) -> str:
        """The name of a rule."""
        name = self.unit.bind(op.name, rule, id(rule))
        self.unit.rules.add(name)
        return name

    def _special(self, number: int, node: Node) -> Callable[..., Any] | None:
        """The linker's function for this node in place of the rule."""
        unit = self.unit
        rule = unit.request.rule_for(node.op.rule_key)
        if unit.linker.special is None or self.traced or rule is None:
            return None
        function = unit.linker.special(rule, self._site(node, self._dying(number, node)))
        return None if function is None else unit.request.seen(function, self.graph, number)

    def _overwriting(self, number: int) -> Callable[..., Any] | None:
        """The linker's function for a node that writes into memory which it is given."""
        node, linker = self.graph.nodes[number], self.unit.linker
        rule = self.unit.request.rule_for(node.op.rule_key)
        if linker.overwrite is None or rule is None or node.op.size_operands(len(node.inputs)):
            return None
        return linker.overwrite(rule, self._site(node, frozenset()))

    def _site(self, node: Node, dying: frozenset[int]) -> Site:
        types = self.graph.types
        operands, results = (tuple(types[k].static for k in places) for places in (node.inputs, node.outputs))
        return Site(node.op, operands, results, dying)

    def _dying(self, number: int, node: Node) -> frozenset[int]:
        """The operands that nothing else reads, by position: computed here, and sharing memory with no other value."""
        return frozenset(
            place
            for place, k in enumerate(node.inputs)
            if k in self.uses[number]
            and k in self.made
            and node.inputs.count(k) == 1
            and self.roots[k] == {k}
            and k not in self.viewed
            and k not in self.early
        )

    def _on_host(self, number: int, node: Node) -> None:
        """Compute a node with NumPy, from shapes and constants."""
        is_early = node.outputs[0] in self.early
        if isinstance(node.op, AxisLength):
            length = self._length(node.inputs[0], node.op.axis)
            text = (
                f"h{node.outputs[0]} = {length if self.unit.symbols is not None else f'np.array({length}, np.int64)'}"
            )
        elif self.unit.symbols is not None:
            self._on_symbols(number, node, self.unit.symbols)
            return
        else:
            name = self.unit.bind(f"host_{node.op.name}", quiet(node.op.perform), node.op)
            targets = "".join(f"h{k}, " for k in node.outputs)
            text = f"{targets}= {name}({', '.join(self._on_host_name(k, early=is_early) for k in node.inputs)})"
        if is_early:
            self.early_lines.append(Line(f"    {text}", self.loc))
        else:
            self._line(text)

    def _on_symbols(self, number: int, node: Node, symbols: Symbols) -> None:
        """Compute a node with symbols; by its rule where that cannot be."""
        dtypes = [self.graph.types[k].dtype for k in (*node.inputs, *node.outputs)]
        function = traced_function(node.op, dtypes, symbols, self.unit.linker.constant)
        name = self.unit.bind(f"symbolic_{node.op.name}", function, (node.op, *dtypes))
        parameters = [f"a{k}" for k in range(len(node.inputs))]
        rule, _ = self._rule(number, node, parameters)
        operands = [
            f"lambda {', '.join(parameters)}: {rule}",
            *(self._on_host_name(k, early=False) for k in node.inputs),
        ]
        self._line(f"{''.join(f'h{k}, ' for k in node.outputs)}= {name}({', '.join(operands)})", number)

    def _length(self, source: int, axis: int) -> str:
        static = self.graph.types[source].shape[axis]
        if static is not None:
            return str(static)
        text = f"v{source}.shape[{axis}]"
        if source >= self.graph.arity or self.traced:
            return text
        name = f"n{source}_{-axis}"
        self.lengths[name] = text
        return name

    def _on_host_name(self, k: int, *, early: bool) -> str:
        constant = self.graph.constant(k)
        if constant is not None:
            return self.unit.bind("c", constant.data, constant.key)
        return f"h{k}" if early or k not in self.early else self._early_name(f"h{k}")
