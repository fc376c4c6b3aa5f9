"""funcify: a frozen graph and a table of rules made one Python function, and the linker of backends that have rules.

The function is straight-line code: one call of a rule for each node. Sizes are Python ints: those known from shapes are
computed where shapes are known (while tracing, on backends that trace), those that depend on values come in a tuple
that a second, NumPy-only function computes on the host before each call. `docs/protocol.md` is the contract.
"""

from __future__ import annotations

import functools
import inspect
import keyword
import re
import threading
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.graph.timing import Span
from tg.link.colour import colours
from tg.link.host import HostFunction, host_checks, host_sizes
from tg.link.linker import Executable, Linker, Request, Status, add_node_note
from tg.ops.control import Call
from tg.ops.elementwise.record import Elementwise
from tg.ops.shape import AxisLength

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from tg.graph.frozen import FrozenGraph, Node
    from tg.link.timed import Timed

    Array = np.ndarray[Any, Any]

LARGE: Final = 4096  # bytes: a larger constant is an argument of what is traced, not a literal in it
RESERVED: Final = re.compile(r"sizes|constants|int|graph|inner\d+|[vh]\d+")  # names in the generated code
KEPT: Final = 256  # programs for sizes that depend on values: beyond, the oldest is forgotten


class Funcified(NamedTuple):
    """The functions of a graph.

    `device(sizes, constants, *inputs)` gives the outputs with a backend's arrays, and `constants` are its second
    argument. `host` gives the sizes that depend on values; it is None where there are none, and `sizes` is ().
    """

    device: Callable[..., tuple[Any, ...]]
    host: HostFunction | None
    constants: tuple[Array, ...]
    lines: tuple[tuple[str, Any], ...]  # of the generated code, each with the user's line

    @property
    def source(self) -> str:
        """The generated code, with the user's lines as comments."""
        rows: list[str] = []
        last = ""
        for text, loc in self.lines:
            comment = f"    # {loc}" if loc is not None else ""
            if comment and comment != last:
                rows.append(comment)
            rows.append(text)
            last = comment or last
        return "\n".join(rows) + "\n" + (f"\n{self.host.source}" if self.host is not None else "")


def funcify(graph: FrozenGraph, request: Request, linker: FuncifyLinker) -> Funcified:
    """Make the functions of a graph.

    Raises:
        NoRuleError: the request has no rule for an op.
    """
    unit = _Unit(request, linker)
    _GraphWriter(unit, graph).write("graph")
    lines = tuple(line for function in unit.functions for line in function)
    text = "\n".join(text for text, _ in lines) + "\n"
    exec(compile(text, f"<tg {request.backend} {request.name}>", "exec"), unit.scope)
    host = host_sizes(graph, "graph_sizes", lambda a: a if isinstance(a, np.ndarray) else linker.to_numpy(a))
    return Funcified(unit.scope["graph"], host, tuple(unit.constants), lines)


@final
class _Unit:
    """What the functions of one program share: the objects they name, the constants, the functions of inner graphs."""

    def __init__(self, request: Request, linker: FuncifyLinker) -> None:
        self.request, self.linker, self.traced = request, linker, linker.jit is not None
        self.scope: dict[str, Any] = {"__name__": __name__, "np": np, "constant": linker.constant, "copy": linker.copy}
        self.functions: list[list[tuple[str, Any]]] = []
        self.constants: list[Array] = []
        self._places: dict[object, int] = {}  # of constants, by key
        self._inner: dict[FrozenGraph, str] = {}
        self._names: dict[tuple[str, object], str] = {}
        self._dying: dict[object, bool] = {}  # whether a rule wants to know

    def bind(self, name: str, value: Any, key: object) -> str:
        """The name of an object in the generated code: one for each key."""
        found = self._names.get((name, key))
        if found is None:
            plain = "".join(c if c.isalnum() else "_" for c in name)
            taken = plain in self.scope or RESERVED.fullmatch(plain) or keyword.iskeyword(plain)
            found = f"{plain}_{len(self.scope)}" if taken else plain
            self._names[name, key] = found
            self.scope[found] = value
        return found

    def argument(self, data: Array, key: object) -> int:
        """The place of a constant among the arguments."""
        place = self._places.setdefault(key, len(self.constants))
        if place == len(self.constants):
            self.constants.append(data)
        return place

    def inner(self, graph: FrozenGraph) -> str:
        """The function of an inner graph, one for equal graphs."""
        if graph not in self._inner:
            name = self._inner[graph] = f"inner{len(self._inner)}"
            _GraphWriter(self, graph).write(name)
        return self._inner[graph]

    def takes_dying(self, rule: Callable[..., Any]) -> bool:
        """Whether a rule has an argument `dying`."""
        found = self._dying.get(rule)
        if found is None:
            try:
                found = "dying" in inspect.signature(rule).parameters
            except (TypeError, ValueError):
                found = False
            self._dying[rule] = found
        return found


@final
class _GraphWriter:
    """Writes the function of one graph: `v3` is a value as the backend's array, `h3` as NumPy's, `c3` a constant."""

    def __init__(self, unit: _Unit, graph: FrozenGraph) -> None:
        self.unit, self.graph = unit, graph
        self.colours = colours(graph)
        self.sizes = {k: f"sizes[{place}]" for place, k in enumerate(self.colours.sizes)}
        self.calls = {number: len(self.sizes) + place for place, number in enumerate(self.colours.calls)}
        self.made: set[int] = set(range(graph.arity))  # values that exist as the backend's arrays
        self.uses = graph.last_uses()
        self.roots = _roots(graph, unit.linker.views)
        self.viewed = frozenset(k for value, roots in enumerate(self.roots) for k in roots if k != value)
        self.live = self._live()
        self.lines: list[tuple[str, Any]] = []
        self.loc: Any = None

    def write(self, name: str) -> None:
        """Write the function and add it to the unit."""
        graph = self.graph
        parameters = ["sizes", "constants", *(f"v{k}" for k in range(graph.arity))]
        self.lines.append((f"def {name}({', '.join(parameters)}):", None))
        for number, node in enumerate(graph.nodes):
            if not any(k in self.live for k in node.outputs):
                continue
            origin = graph.origins.get(number)
            self.loc = origin.locs[0] if origin is not None and origin.locs else None
            if all(k in self.colours.shape for k in node.outputs):
                self._on_host(number, node)
            else:
                self._call(number, node)
            self._free(number)
        self.loc = None
        results = self._results()
        self._line(f"return ({''.join(f'{r}, ' for r in results)})")
        self.unit.functions.append(self.lines)

    def _live(self) -> frozenset[int]:
        """The values that outputs depend on, other than through sizes that the host computes."""
        live = set(self.graph.outputs)
        for node in reversed(self.graph.nodes):
            if any(k in live for k in node.outputs):
                sizes = node.op.size_operands(len(node.inputs))
                live.update(k for place, k in enumerate(node.inputs) if place not in sizes or k in self.colours.shape)
        return frozenset(live)

    def _line(self, text: str) -> None:
        self.lines.append((f"    {text}", self.loc))

    def _free(self, number: int) -> None:
        """Drop what nothing reads any more; while tracing there is nothing to gain."""
        dead = [k for k in self.uses[number] if k in self.made]
        if dead and not self.unit.traced:
            self._line(f"del {', '.join(f'v{k}' for k in dead)}")
        self.made.difference_update(dead)

    def _results(self) -> list[str]:
        """The outputs; those that may share memory with an input, a constant or one another are copied."""
        names = [self._native(k) for k in self.graph.outputs]
        if self.unit.traced and not self.unit.linker.views:
            return names
        graph, found = self.graph, []
        taken = set(range(graph.arity + len(graph.constants)))
        for name, k in zip(names, graph.outputs, strict=True):
            found.append(f"copy({name})" if taken & self.roots[k] else name)
            taken |= self.roots[k]
        return found

    def _native(self, k: int) -> str:
        """The name of a value as the backend's array, made from its host value or constant where needed."""
        if k in self.made:
            return f"v{k}"
        known = self.graph.constant(k)
        if known is None:
            self._line(f"v{k} = constant(h{k})")
        elif self.unit.traced and known.data.nbytes <= LARGE:
            self._line(f"v{k} = constant({self.unit.bind('c', known.data, known.key)})")
        else:
            self._line(f"v{k} = constants[{self.unit.argument(known.data, known.key)}]")
        self.made.add(k)
        return f"v{k}"

    def _call(self, number: int, node: Node) -> None:
        sizes = node.op.size_operands(len(node.inputs))
        operands = [self._size(k) if place in sizes else self._native(k) for place, k in enumerate(node.inputs)]
        self.made.update(node.outputs)
        if isinstance(node.op, Call):
            inside = f"sizes[{self.calls[number]}]" if number in self.calls else "()"
            name = self.unit.inner(node.op.lowered)
            text, several = f"{name}({', '.join([inside, 'constants', *operands])})", True
        else:
            text, several = self._rule(number, node, operands), len(node.outputs) > 1
        targets = "".join(f"v{k}, " for k in node.outputs) if several else f"v{node.outputs[0]} "
        self._line(f"{targets}= {text}")

    def _size(self, k: int) -> str:
        known = self.graph.constant(k)
        return str(int(known.data)) if known is not None else self.sizes.get(k) or f"int(h{k})"

    def _rule(self, number: int, node: Node, operands: list[str]) -> str:
        unit, op = self.unit, node.op
        if op.calls_python and not unit.traced and unit.request.rule_for(op.rule_key) is None:
            rule = _called_back(unit.linker, self.graph, number)
            return f"{unit.bind(op.name, rule, rule)}({', '.join(operands)})"
        rule = unit.request.rule(op, self.graph, number)
        name = unit.bind(op.name, rule, id(rule))
        arguments = operands if isinstance(op, Elementwise) else [unit.bind("op", op, op), *operands]
        if unit.takes_dying(rule):
            arguments.append(f"dying={unit.bind('dying', *[self._dying(number, node)] * 2)}")
        return f"{name}({', '.join(arguments)})"

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
        )

    def _on_host(self, number: int, node: Node) -> None:
        """Compute a node with NumPy, from shapes and constants."""
        k = node.outputs[0]
        if isinstance(node.op, AxisLength):
            source, axis = node.inputs[0], node.op.axis
            static = self.graph.types[source].shape[axis]
            length = str(static) if static is not None else f"v{source}.shape[{axis}]"
            self._line(f"h{k} = np.array({length}, np.int64)")
            return
        name = self.unit.bind(f"host_{node.op.name}", _quiet(node.op.perform), node.op)
        targets = "".join(f"h{k}, " for k in node.outputs)
        self._line(f"{targets}= {name}({', '.join(map(self._on_host_name, node.inputs))})")

    def _on_host_name(self, k: int) -> str:
        known = self.graph.constant(k)
        return f"h{k}" if known is None else self.unit.bind("c", known.data, known.key)


def _called_back(linker: FuncifyLinker, graph: FrozenGraph, number: int) -> Callable[..., Any]:
    """The rule of an op that calls Python, where nothing is traced: to NumPy, the reference, and back."""
    op = graph.nodes[number].op

    def rule(*arrays: Any) -> Any:
        try:
            found = op.perform(*map(linker.to_numpy, arrays))
        except Exception as error:
            add_node_note(error, graph, number)
            raise
        made = tuple(map(linker.to_native, found))
        return made[0] if len(made) == 1 else made

    return rule


def _quiet(perform: Callable[..., tuple[Array, ...]]) -> Callable[..., tuple[Array, ...]]:
    def run(*arrays: Array) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            return perform(*arrays)

    return run


def _roots(graph: FrozenGraph, views: frozenset[object]) -> list[frozenset[int]]:
    """For each value the values whose memory it may share: itself, unless an op that gives views made it."""
    roots = [frozenset({k}) for k in range(len(graph.types))]
    for node in graph.nodes if views else ():
        if node.op.rule_key in views:
            shared = frozenset().union(*(roots[k] for k in node.inputs))
            for k in node.outputs:
                roots[k] = shared or roots[k]
    return roots


@final
class FuncifyExecutable(Executable):
    """A funcified graph, jitted once for each tuple of sizes that depend on values."""

    def __init__(self, graph: FrozenGraph, function: Funcified, linker: FuncifyLinker, request: Request) -> None:
        self._graph, self._function, self._linker, self._options = graph, function, linker, request.options
        self._request = request
        self._has_status = request.has_status
        self._guard = host_checks(request.guard, "graph_checks") if request.guard is not None else None
        self._constants = tuple(linker.to_native(data) for data in function.constants)
        self._programs: dict[tuple[Any, ...], Callable[..., tuple[Any, ...]]] = {}
        self._lock = threading.Lock()
        self._traces = 0
        self._tracing: dict[int, Span] = {}  # by thread
        self._compilations: list[Span] = []
        self._main = self._program(()) if function.host is None else None

    @property
    def compiles(self) -> int:
        """How many times the program was traced: once for each combination of sizes, shapes and, for some, layouts."""
        return self._traces

    @property
    def compiles_shapes(self) -> bool:
        """Whether the library compiles."""
        return self._linker.jit is not None

    @property
    def compilations(self) -> Sequence[Span]:
        """The calls that were traced: tracing, compiling and the first run, which no library tells apart."""
        return tuple(self._compilations)

    def _program(self, sizes: tuple[Any, ...]) -> Callable[..., tuple[Any, ...]]:
        with self._lock:
            found = self._programs.get(sizes)
            if found is None:
                if len(self._programs) >= KEPT:
                    self._programs.pop(next(iter(self._programs)))
                found = self._programs[sizes] = self._linked(sizes)
            return found

    def _linked(self, sizes: tuple[Any, ...]) -> Callable[..., tuple[Any, ...]]:
        """The program of these sizes as a function of the inputs, compiled if the backend compiles."""
        linker, constants = self._linker, self._constants
        if linker.jit is None:
            return functools.partial(self._steps(sizes), constants)
        steps = self._steps(sizes)

        def traced(constants: tuple[Any, ...], *arrays: Any) -> tuple[Any, ...]:
            with self._lock:
                self._traces += 1
            with Span("trace") as self._tracing[threading.get_ident()]:
                return _separate(steps(constants, *arrays), (*constants, *arrays), linker.copy)

        if constants:
            return functools.partial(linker.jit(traced, self._options), constants)
        return linker.jit(lambda *arrays: traced((), *arrays), self._options)

    def _steps(self, sizes: tuple[Any, ...]) -> Callable[..., tuple[Any, ...]]:
        """The checks that shapes decide, then the graph."""
        device = functools.partial(self._function.device, sizes)
        if self._guard is None:
            return device
        check = self._guard.function

        def checked(constants: tuple[Any, ...], *arrays: Any) -> tuple[Any, ...]:
            with np.errstate(all="ignore"):
                check(*arrays)
            return device(constants, *arrays)

        return checked

    def run(self, arrays: Sequence[Any]) -> tuple[Sequence[Any], Status]:
        """The outputs, ready, and the status if the graph has one."""
        linker = self._linker
        began, traces = perf_counter(), self._traces
        try:
            program = self._main or self._sized(arrays)
            if linker.scope is None:
                outputs = self._outputs(program, arrays)
            else:
                with linker.scope(self._options):
                    outputs = self._outputs(program, arrays)
            if self._traces != traces:
                self._note_compilation(began)
        except Exception:
            status = self._status_of(arrays)
            if not status:
                raise
            return (), status
        if not self._has_status:
            return outputs, ()
        code = linker.to_numpy(outputs[-1])
        return outputs[:-1], tuple(code.tolist()) if code[0] else ()

    def _note_compilation(self, began: float) -> None:
        """Remember where the time of a call went that was traced, if it was in this thread."""
        trace = self._tracing.pop(threading.get_ident(), None)
        if trace is not None:
            ended = perf_counter()
            parts = (trace, Span.of("library", trace.ended, ended))
            self._compilations.append(Span.of("call", began, ended, parts))

    def _outputs(self, program: Callable[..., tuple[Any, ...]], arrays: Sequence[Any]) -> Sequence[Any]:
        linker = self._linker
        if linker.argument is not None:
            arrays = [*map(linker.argument, arrays)]
        return linker.ready(program(*arrays))

    def _sized(self, arrays: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
        """The program for the sizes that these values ask for."""
        host = self._function.host
        assert host is not None
        with np.errstate(all="ignore"):
            sizes = host.function(*arrays)
        return self._programs.get(sizes) or self._program(sizes)

    def _status_of(self, arrays: Sequence[Any]) -> Status:
        """The status by itself, on the reference: sizes that a check refuses may make a backend raise before it."""
        if not self._has_status:
            return ()
        graph = FunctionGraph.thaw(self._graph)
        graph.outputs = graph.outputs[-1:]
        try:
            (code,) = interpret(graph.freeze(), [self._linker.to_numpy(a) for a in arrays])
        except Exception:  # noqa: BLE001 (the error that led here is the one to raise)
            return ()
        return tuple(code.tolist()) if code[0] else ()

    def to_numpy(self, output: Any) -> Array:
        """A writable copy."""
        return np.array(self._linker.to_numpy(output))

    def to_native(self, array: Array) -> Any:
        """A copy as the backend's array."""
        if self._linker.scope is None:
            return self._linker.to_native(array)
        with self._linker.scope(self._options):
            return self._linker.to_native(array)

    def timed(self) -> Timed | None:
        """The same program with its rules timed one by one; None where a library makes one of them all."""
        if self._linker.jit is not None:
            return None
        from tg.link.timed import Clock, TimedByNode, TimedRequest

        def ready(found: Any) -> Any:
            self._linker.ready(found if isinstance(found, tuple | list) else (found,))
            return found

        clock = Clock(self._graph)
        request = TimedRequest(**vars(self._request)).timing(clock, self._graph, ready)
        return TimedByNode(self._graph, clock, self._linker.compile(self._graph, request))

    def source(self) -> str:
        """The generated Python function."""
        return self._function.source


def _separate(outputs: tuple[Any, ...], inputs: Sequence[Any], copy: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Traced outputs of which none is an input or another output."""
    seen, found = {id(a) for a in inputs}, []
    for out in outputs:
        found.append(copy(out) if id(out) in seen else out)
        seen.add(id(out))
    return tuple(found)


@final
class FuncifyLinker(Linker):
    """The linker of backends with rules of kind `array`; a backend passes its functions to the constructor.

    Args:
        to_native: a copy of a NumPy array as the backend's, outside tracing.
        to_numpy: the backend's array (or a NumPy one) as a NumPy array, possibly sharing memory.
        constant: a small NumPy array as the backend's, while tracing; `to_native` unless given.
        copy: a copy of the backend's array, while tracing too; by way of NumPy unless given.
        argument: an input (NumPy or the backend's own) as the compiled function takes it; as it is unless given.
        jit: `jit(function, options)` compiles the function of arrays; None: it runs as it is.
        scope: `scope(options)` makes the context that is entered at every compilation and call.
        ready: waits for outputs and returns them; a call must not return before its inputs have been read.
        views: ops and elementwise functions whose rules may return an operand or a view of one; of a library that
            compiles, those that stay views. Outputs made by them are copied when they share memory with an input or
            another output.
    """

    def __init__(
        self,
        *,
        to_native: Callable[[Array], Any],
        to_numpy: Callable[[Any], Array],
        constant: Callable[[Array], Any] | None = None,
        copy: Callable[[Any], Any] | None = None,
        argument: Callable[[Any], Any] | None = None,
        jit: Callable[[Callable[..., Any], Any], Callable[..., Any]] | None = None,
        scope: Callable[[Any], AbstractContextManager[Any]] | None = None,
        ready: Callable[[Any], Sequence[Any]] | None = None,
        views: frozenset[object] = frozenset(),
    ) -> None:
        self.to_native, self.to_numpy, self.views = to_native, to_numpy, views
        self.constant = constant or to_native
        self.copy = copy or (lambda array: to_native(to_numpy(array)))
        self.argument, self.jit, self.scope = argument, jit, scope
        self.ready = ready or (lambda outputs: outputs)

    def compile(self, graph: FrozenGraph, request: Request) -> Executable:
        """Funcify the graph; the backend's compiler runs at the first call, when shapes are known."""
        with Span("code"):
            function = funcify(graph, request, self)
        with Span("entry"):
            if self.scope is None:
                return FuncifyExecutable(graph, function, self, request)
            with self.scope(request.options):
                return FuncifyExecutable(graph, function, self, request)
