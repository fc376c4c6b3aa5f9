"""`Linker` and `Executable`: what a backend implements."""

from __future__ import annotations

import abc
import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tg.errors import NoRuleError, TgError, message
from tg.link.declines import Declines
from tg.types import substitution
from tg.types.atoms import ScalarValue

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.graph.loc import Loc
    from tg.graph.op import Op
    from tg.graph.timing import Span
    from tg.link.direct import Direct
    from tg.link.kept import Kept
    from tg.link.memory import Plan
    from tg.link.signature import Signature
    from tg.link.stages import Stages
    from tg.link.timed import Timed
    from tg.types.tensor_type import TensorType

Status = tuple[int, ...]
"""() when all checks held; else 1 + the number of the first failing check, and the int64 values that it reports."""


@dataclasses.dataclass(frozen=True)
class Request:
    """The arguments of a linker beside the graph.

    `rule_for(key)` gives the backend's rule for an op class or an elementwise function, None if it has none. For a
    backend that cannot raise, `has_status` says that the graph's last output is the status, and `guard` is a graph of
    the same inputs that has no outputs, only the checks that shapes alone decide: `interpret(guard, arrays)` raises.
    `who_else(key)`, for messages, gives the backends that have a rule and the plugins that failed, with reasons.
    `source_of(key)`, for messages, is the plugin that gave a rule and how to do without it; None if that is unknown.
    `reusable` are pairs of an output and an input, by their places, that may share memory where the backend can see to
    it.
    `declines` is what the backend's rules have declined so far; `hosted()` has the keys of ops that the host may
    compute where no rule does. `versions()` tells everything installed that decides what a program is compiled to.
    `kept` is where the backend may keep what it writes of the program; None where nothing of it is kept.
    """

    backend: str
    options: Any
    rule_for: Callable[[object], Callable[..., Any] | None]
    name: str = "graph"
    has_status: bool = False
    guard: FrozenGraph | None = None
    who_else: Callable[[object], tuple[Sequence[str], Sequence[str]]] = lambda key: ((), ())
    reusable: tuple[tuple[int, int], ...] = ()
    source_of: Callable[[object], tuple[str, str] | None] = lambda key: None
    declines: Declines = dataclasses.field(default_factory=Declines)
    hosted: Callable[[], frozenset[object]] = frozenset
    versions: Callable[[], tuple[str, ...]] = tuple
    kept: Kept | None = None

    def rule(self, op: Op, graph: FrozenGraph, node: int) -> Callable[..., Any]:
        """The rule for an op.

        Raises:
            NoRuleError: the backend has none; the text names the op, the user's line and who has a rule.
        """
        function = self.rule_for(op.rule_key)
        declined = function is not None and self.declines.has(op, operand_types(graph, node))
        if function is None or declined:
            if op.calls_python:
                raise no_callback(self.backend, graph, node)
            raise no_rule(self.backend, graph, node, *self.who_else(op.rule_key), declined=declined)
        return function

    def on_host(self, op: Op, graph: FrozenGraph, node: int) -> bool:
        """Whether the host is to compute a node, which no rule does: its plugin has said that it may."""
        if op.rule_key not in self.hosted():
            return False
        return self.rule_for(op.rule_key) is None or self.declines.has(op, operand_types(graph, node))

    def seen(self, function: Callable[..., Any], graph: FrozenGraph, node: int) -> Callable[..., Any]:
        """A function that a linker has made for a node, as the program is to call it."""
        return function


def operand_types(graph: FrozenGraph, node: int) -> list[TensorType]:
    """The types of a node's operands."""
    return [graph.types[k] for k in graph.nodes[node].inputs]


def refusal(text: str, graph: FrozenGraph, number: int, *, hint: str | None = None) -> NoRuleError:
    """The error of a node that a backend does not run: with its operands, the user's line, and both as attributes."""
    return _about(NoRuleError(message(text, *node_lines(graph, number), hint=hint)), graph, number)


def _about(error: NoRuleError, graph: FrozenGraph, number: int) -> NoRuleError:
    """The error, which tells what it is about to programs as well."""
    error.op, error.loc = graph.nodes[number].op.spelled, node_loc(graph, number)
    return error


def no_rule(
    backend: str,
    graph: FrozenGraph,
    number: int,
    others: Sequence[str],
    failed: Sequence[str],
    *,
    declined: bool = False,
) -> NoRuleError:
    """The error of an op for which a backend has no rule: who has one, and what is wrong with which plugins."""
    op, lines = graph.nodes[number].op, node_lines(graph, number)
    fn = None if op.pointwise else getattr(op, "fn", None)  # by which arrays are reduced, for instance
    inside = _deciding_a_length(op) if declined else None
    if inside is not None:
        text = f"backend {backend!r} does not run {op.spelled}: values decide how long a result inside is"
        (_, node), *place = node_lines(*inside)
        hint = 'made before, or with size=, it has one length; backend="perform" runs it as it is'
        return _about(NoRuleError(message(text, *lines, ("inside", node), *place, hint=hint)), graph, number)
    text = f"backend {backend!r} has no rule for {op.spelled if fn is None else f'{op.spelled} by {fn}'}"
    rows = [message(f"{text} that takes these operands: its rule declines them" if declined else text, *lines)]
    if others:
        rows.append(f"  backends with a rule: {', '.join(others)}")
    rows += [f"  plugin with a problem: {problem}" for problem in failed]
    if others:
        choice = "perform" if "perform" in others else others[0]
        rows.append(f'  hint: compile with backend="{choice}", or give a rule from tg_rules("{backend}") of a plugin')
    return _about(NoRuleError("\n".join(rows)), graph, number)


def _deciding_a_length(op: Op) -> tuple[FrozenGraph, int] | None:
    """The node of an inner graph of which values decide how long one of the graph's results is."""
    for graph in op.inner_graphs():
        makers = {number: k for k, node in enumerate(graph.nodes) for number in node.outputs}
        for number in graph.outputs:
            for atom in (a for n in graph.symbolic[number].shape for a in substitution.atoms(n)):
                owner = getattr(getattr(atom, "owner", None), "number", number)
                if type(atom) is ScalarValue or owner >= graph.arity:
                    return graph, makers[owner if owner in makers else number]
    return None


def no_callback(backend: str, graph: FrozenGraph, number: int) -> NoRuleError:
    """The error of a Python function on a backend that compiles."""
    name = graph.nodes[number].op.spelled
    text = f"backend {backend!r} does not run {name}: a compiled program cannot call a Python function"
    error = refusal(text, graph, number, hint='backend="perform" runs it')
    error.is_python = True
    return error


def add_node_note(error: Exception, graph: FrozenGraph, number: int) -> None:
    """Say in a note which node raised an error that is not tg's own, and the user's line."""
    if not isinstance(error, TgError) or graph.nodes[number].op.calls_python:
        error.add_note(message("  while computing", *node_lines(graph, number)).replace("\n", "\n  "))


def node_lines(graph: FrozenGraph, number: int) -> list[tuple[str, str]]:
    """The lines of a message about a node: its operands and results, and the user's line."""
    node = graph.nodes[number]
    operands = ", ".join(str(graph.types[k]) for k in node.inputs)
    results = ", ".join(str(graph.types[k]) for k in node.outputs)
    lines = [("node", f"%{node.outputs[0]} = {node.op.name}({operands}) : {results}")]
    loc = node_loc(graph, number)
    if loc is not None:
        lines.append(("created at", f"{loc}:  {loc.source}"))
    return lines


def node_loc(graph: FrozenGraph, number: int) -> Loc | None:
    """The user's line that made a node; None where nobody knows."""
    origin = graph.origins.get(number)
    return origin.locs[0] if origin is not None and origin.locs else None


class MachineCode(NamedTuple):
    """A program for callers that are not Python: see `tg.functions.pointers.Pointer`.

    `call` and `density` are addresses of functions, `data` that of what both are given last; `owner` holds all three.
    """

    call: int
    density: int
    data: int
    owner: object


@dataclasses.dataclass(frozen=True, slots=True)
class Traceable:
    """A function for programs of a backend's library: see `Function.traceable`.

    `run(*arrays)` gives the results of arrays of these types while the library traces. `gradient()` is such a function
    itself, the derivative in reverse mode: if `is_scalar`, it gives the result and its gradient by the inexact inputs;
    else it takes the cotangents of the inexact results behind the inputs and gives those of the inexact inputs, in tg's
    sense: by the conjugate transpose of the Jacobian. `tangent()` is the derivative in forward mode: it takes the
    tangents of the inexact inputs behind the inputs and gives those of the inexact results. `refusal()` is what to
    raise where the library, not tg, would differentiate the gradient; None where it may.
    """

    name: str
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]
    run: Callable[..., tuple[Any, ...]]
    is_scalar: bool
    gradient: Callable[[], Traceable]
    tangent: Callable[[], Traceable]
    refusal: Callable[[], Exception | None]


class Executable(abc.ABC):
    """A compiled program. It holds no state of a call: `run` may be called from any number of threads at once."""

    @property
    def compiles(self) -> int:
        """The number of runs of the backend's compiler for this program."""
        return 1

    @property
    def compiles_shapes(self) -> bool:
        """Whether a compiler runs at a call, when shapes are first seen."""
        return False

    @property
    def compilations(self) -> Sequence[Span]:
        """The calls in which a compiler has run, with the time that each took."""
        return ()

    @abc.abstractmethod
    def run(self, arrays: Sequence[np.ndarray[Any, Any]]) -> tuple[Sequence[Any], Status]:
        """The outputs for inputs whose dtype, rank and static lengths have been checked, and the status.

        Inputs may have any layout and must not be written. Outputs are the backend's own arrays; they alias neither
        inputs nor each other, and are ready. With a status other than () the outputs mean nothing.
        """

    def memory(self, arrays: Sequence[np.ndarray[Any, Any]]) -> Plan | None:
        """The memory that `run` takes for these arrays, where the backend knows more than the program tells."""
        return None

    def is_spread(self, value: object) -> bool:
        """Whether an argument is an array of the backend's that lies on several devices: `run` takes it as it is."""
        return False

    def run_to_numpy(self, arrays: Sequence[np.ndarray[Any, Any]]) -> tuple[Sequence[np.ndarray[Any, Any]], Status]:
        """As `run`, with each output as `to_numpy` gives it."""
        outputs, status = self.run(arrays)
        return [*map(self.to_numpy, outputs)], status

    @property
    def direct(self) -> Direct | None:
        """The parts of `run_to_numpy`, where a usual call has no others; None where it has."""
        return None

    def to_numpy(self, output: Any) -> np.ndarray[Any, Any]:
        """One output as a NumPy array that is writable and owns its memory."""
        return output  # type: ignore[no-any-return]

    def to_native(self, array: np.ndarray[Any, Any]) -> Any:
        """An array in the form that this backend's own outputs have, accepted by `run`: kept for shared variables."""
        return array

    def laid_out(self, value: Any, place: int) -> Any:
        """A native array that lies on the devices as an input is to lie, by its place; itself where it does."""
        return value

    @property
    def gives_numpy(self) -> bool:
        """Whether outputs of `run` are NumPy arrays that are writable and own their memory: `to_numpy` has no work."""
        return type(self).to_numpy is Executable.to_numpy

    @property
    def reuses(self) -> tuple[tuple[int, int], ...]:
        """The outputs and inputs, in pairs, that an entry can let share memory: a subset of what was asked for."""
        return ()

    @property
    def overwrites(self) -> tuple[tuple[int, int], ...]:
        """The outputs and inputs, in pairs, that share memory after `run_deferred`: a subset of what was asked for."""
        return ()

    def run_deferred(
        self, arrays: Sequence[np.ndarray[Any, Any]], writes: list[Callable[[], Any]]
    ) -> tuple[Sequence[Any], Status]:
        """As `run`; but outputs of `overwrites` are the arrays of their inputs once all of `writes` are called.

        These neither fail nor run Python, and nothing is written before. If it leaves none there, outputs are as ever.
        """
        return self.run(arrays)

    def may_overwrite(self, native: Any) -> bool:
        """Whether a native array, to which nothing else refers, has memory of its own, which is made writable."""
        if type(native) is not np.ndarray or not native.flags.owndata:
            return False
        if not native.flags.writeable:  # somebody has looked at it
            native.flags.writeable = True
        return True

    def entry(self, signature: Signature) -> Callable[..., Any] | None:
        """A function called as the compiled one is, that does all of a usual call itself; None where there is none.

        It takes and gives what the function does, in NumPy arrays, and hands every call that is unusual or fails to
        `signature.general`, as it was made.
        """
        return None

    def machine_code(
        self,
        shapes: Sequence[tuple[int, ...]],
        held: Sequence[np.ndarray[Any, Any]],
        results: Sequence[tuple[int, ...]],
    ) -> MachineCode | None:
        """The program for shapes that are known, to be called without Python; None where it needs Python, or a device.

        Args:
            shapes: of the inputs that each call gives; the inputs behind them are `held`, which live as long.
            results: of the outputs.
        """
        return None

    @property
    def host_reads(self) -> frozenset[int]:
        """The inputs, by their places, of which values decide lengths: `trace` needs to know them."""
        return frozenset()

    def trace(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """The outputs, as a part of a program that the backend's library is tracing: see `Linker.traceable`."""
        raise NotImplementedError

    def timed(self) -> Timed | None:
        """The same program made to take the time of its parts; None where it is one part to whoever runs it."""
        return None

    def inspect(self, arrays: Sequence[np.ndarray[Any, Any]]) -> None:  # noqa: B027 (nothing where there are no rules)
        """Run the program for `mode="debug"` with each rule watched, where it is run node by node.

        Raises:
            DebugError, PluginError: a rule has done or given what it must not.
        """

    @abc.abstractmethod
    def source(self) -> str:
        """The generated code, for people to read: what is this program's own, with the user's lines and names."""

    def full_source(self) -> str:
        """All of it: with declarations, and with what is the same in all programs."""
        return self.source()


class Linker(abc.ABC):
    """Turns frozen graphs into executables."""

    @abc.abstractmethod
    def compile(self, graph: FrozenGraph, request: Request) -> Executable:
        """Compile a graph, whose ops all have rules or are reported with NoRuleError.

        For a backend that cannot raise (`Backend.raises` is False) the graph has no checks: see `Request`.
        """

    def examine(self, graph: FrozenGraph, request: Request) -> Executable | None:
        """Refuse what `compile` refuses, without running a compiler; the executable, where linking has none to run.

        `tg.check` asks. A linker whose `compile` runs a compiler writes the code here, and leaves it at that: None.

        Raises:
            NoRuleError: as `compile` does.
        """
        return self.compile(graph, request)

    def traceable(self, function: Traceable) -> Callable[..., Sequence[Any]] | None:
        """A function of arrays that programs of the backend's library trace and differentiate; None: it has none."""
        return None

    def embedded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The form of such a function that is the user's: made known to a tracer of the library that reads Python."""
        return function

    def pipeline(self, stages: Stages) -> Callable[[Sequence[np.ndarray[Any, Any]]], tuple[Any, Sequence[Any]]] | None:
        """A function of all inputs that gives the mean of the parts' losses and its gradients; None: it has none.

        The gradients are in the order of the places that are in `stages.wrt`, a place once, what several stages give
        added up.

        Raises:
            OptionError: the mesh cannot be had, or has axes besides that the backend does not split within a stage.
        """
        return None

    def release_memory(self) -> int:
        """Give the system the memory that is kept between calls and that no array has; how many bytes it was."""
        return 0
