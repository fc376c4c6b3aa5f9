"""From an expression to an executable: import, rewrite, look at what the backend lacks, link."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from tg import plugin
from tg.errors import NoRuleError, PluginError, TgError, blamed, message
from tg.functions.gaps import REFERENCE_HINT, refuse_gaps, support
from tg.functions.precision import change_precision
from tg.functions.remembered import is_of, remembered
from tg.functions.shared import Form, Shared
from tg.graph.collector import paused
from tg.graph.function_graph import FunctionGraph
from tg.graph.timing import Span
from tg.link.ahead import divided
from tg.link.checkpointing import lowering
from tg.link.declines import Declined
from tg.link.kept import Kept
from tg.link.linker import Executable, Linker, Request
from tg.link.perform import PerformExecutable
from tg.ops.control import lower_checks
from tg.ops.shape import AxisLength
from tg.ops.sharding import lay_alike
from tg.rewrite.driver import rewrite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.functions.backends import BackendChoice
    from tg.functions.fixed import Fixed
    from tg.graph.checks import Descriptor
    from tg.graph.frozen import FrozenGraph
    from tg.graph.nodes import Variable
    from tg.graph.op import Op
    from tg.rewrite.journal import Journal
    from tg.types.mesh import Mesh
    from tg.types.tensor_type import TensorType

T = TypeVar("T")

REFERENCE: Final = "perform"


class Program(NamedTuple):
    """One specialisation, compiled: the rewritten graph, what runs it, and the graph whose checks its status counts."""

    graph: FrozenGraph
    executable: Executable
    checked: FrozenGraph
    backend: str  # whose arrays it gives
    form: Form  # of the values of shared variables

    @property
    def descriptors(self) -> tuple[Descriptor, ...]:
        """The meaning of its status."""
        return tuple(c.descriptor for c in self.checked.checks)


class Examined(NamedTuple):
    """One specialisation as far as a compiler: the rewritten graph, and what the linker is given.

    `executable` runs it, for a backend whose linker has no compiler to run.
    """

    graph: FrozenGraph
    linked: FrozenGraph
    request: Request
    executable: Executable | None


class Setting(NamedTuple):
    """The options of one compilation: for which backend, with which rewrites, under which name.

    `reusable` are pairs of an output and an input, by their places, that may share memory; `updates` those of a new
    value and an old one. `fixed` says what the last inputs stand for that have one value in all calls.
    """

    choice: BackendChoice
    mode: str = "default"
    exclude: frozenset[str] = frozenset()  # names of rules, passes and classes that are not applied
    name: str = "function"
    reusable: tuple[tuple[int, int], ...] = ()
    updates: tuple[tuple[int, int], ...] = ()
    fixed: Fixed | None = None
    checkpointing: str | int = "none"

    @property
    def mesh(self) -> Mesh | None:
        """The devices that the program is spread over, of a backend that has the option."""
        return getattr(self.choice.options, "mesh", None)

    @property
    def rewrite_mode(self) -> str:
        """The mode of rewriting: that of debugging is the default one."""
        return "default" if self.mode == "debug" else self.mode

    def form(self, backend: str, executable: Executable) -> Form:
        """The form of the values that a program of a backend takes and gives."""
        return Form.of(backend, executable, self.choice.dtypes)


def compile_expression(
    inputs: Sequence[Variable], outputs: Sequence[Variable], ones: Iterable[tuple[int, int]], setting: Setting
) -> Program:
    """Compile an expression for one pattern of lengths that are 1.

    Raises:
        NoRuleError: the backend lacks an op or a dtype.
        BackendUnavailable: the linker cannot work on this machine.
    """
    again = functools.partial(prepared, inputs, outputs, ones, setting)
    return link(again(), setting, again)


@paused
def prepared(
    inputs: Sequence[Variable], outputs: Sequence[Variable], ones: Iterable[tuple[int, int]], setting: Setting
) -> FrozenGraph:
    """The rewritten program of an expression for one pattern of lengths that are 1: all that comes before linking.

    It may be one that was kept on disk (`tg.functions.remembered`).

    Raises:
        NoRuleError: the backend says that it lacks an op or a dtype.
    """
    pattern = tuple(ones)
    return remembered(inputs, outputs, pattern, setting, functools.partial(_prepared_anew, pattern, setting))


def _prepared_anew(
    ones: Iterable[tuple[int, int]], setting: Setting, inputs: Sequence[Variable], outputs: Sequence[Variable]
) -> FrozenGraph:
    with Span("import"):
        graph = imported(inputs, outputs, ones, setting)
    with Span("rewrite"):
        frozen = rewritten(graph, setting, shapes=input_shapes(inputs))
    with Span("release"):
        del graph  # which takes time of its own where it is large
    with Span("gaps"):
        registry = plugin.registry()
        refuse_gaps(frozen, registry.backend(setting.choice.name), registry.gaps(setting.choice.name))
    return frozen


def imported(
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    ones: Iterable[tuple[int, int]],
    setting: Setting,
    places: dict[int, Variable] | None = None,
) -> FunctionGraph:
    """An expression as a graph to be rewritten, spread over the devices and in the precision that the options say.

    Args:
        places: where to leave what each variable of the expression, by its id, is in the graph.
    Raises:
        DtypeError: they say a precision, and all contractions are of float64.
    """
    graph = FunctionGraph.of(inputs, outputs, ones, places, mesh=setting.mesh)
    if setting.mesh is not None:
        lay_alike(graph, setting.updates)
    change_precision(graph, setting.choice.general, places)
    return graph


def input_shapes(inputs: Iterable[Variable]) -> list[Sequence[int | None]]:
    """The lengths of inputs, those of shared variables as they are now."""
    return [
        v.snapshot.shape if isinstance(v, Shared) else [n if type(n) is int else None for n in v.type.shape]
        for v in inputs
    ]


def rewritten(
    graph: FunctionGraph,
    setting: Setting,
    journal: Journal | None = None,
    shapes: Sequence[Sequence[int | None]] = (),
) -> FrozenGraph:
    """The program that rewriting makes of a graph, which is used up.

    Args:
        shapes: those of its inputs, for a limit of bytes; None for lengths that are not known.
    """
    count = len(graph.inputs)
    first = count if setting.fixed is None else setting.fixed.first(count)
    graph.fixed = frozenset(range(first, count))
    is_divided = first < count and journal is None  # which tells of nodes as they are before
    with Span("tables"):
        rewrites = plugin.registry().rewrites(setting.choice.name)
        supported = supported_by(setting.choice.name)
    return rewrite(
        graph,
        [rewrites],
        supported=supported,
        mode=setting.rewrite_mode,
        exclude=setting.exclude,
        journal=journal,
        source_of=functools.partial(_rewrite_source, setting.choice.name),
        arrange=(lambda frozen: divided(frozen, first).whole) if is_divided else (lambda frozen: frozen),
        before_lowering=lowering(setting.checkpointing, shapes),
    )


def supported_by(name: str) -> Callable[[Op, tuple[TensorType, ...]], bool]:
    """Whether a backend runs an op on operands of given types itself."""
    registry = plugin.registry()
    rule_for = functools.partial(registry.rule_for, name)
    hosted = functools.partial(registry.hosted, name)
    return support(registry.backend(name), registry.gaps(name), rule_for, registry.declines(name), hosted)


def link(frozen: FrozenGraph, setting: Setting, again: Callable[[], FrozenGraph] | None = None) -> Program:
    """Compile a program that is rewritten and does without what the backend says it lacks.

    Args:
        again: makes the program anew, without what has turned out to be declined; unless given, by rewriting it again.
    Raises:
        NoRuleError: the backend has no rule for an op.
        BackendUnavailable: the linker cannot work on this machine.
    """
    return _undeclined(_linked, frozen, setting, again)


def examine(frozen: FrozenGraph, setting: Setting, again: Callable[[], FrozenGraph]) -> Examined:
    """As `link`, up to what a compiler would be given."""
    return _undeclined(_examined, frozen, setting, again)


def _undeclined(
    link: Callable[[FrozenGraph, Setting], T],
    frozen: FrozenGraph,
    setting: Setting,
    again: Callable[[], FrozenGraph] | None,
) -> T:
    """The outcome of linking a program, without what the backend's rules turn out to decline."""
    keys: set[object] = set()
    while True:
        try:
            return link(frozen, setting)
        except Declined as declined:
            note_declined(setting.choice.name, declined, keys)
        rest = setting._replace(checkpointing="none")  # that has been done
        frozen = rewritten(FunctionGraph.thaw(frozen), rest) if again is None else again()


def note_declined(backend: str, declined: Declined, keys: set[object]) -> None:
    """From now on programs are compiled without this; `keys` has what one program has shown so far.

    Raises:
        NoRuleError: it was known, and is there all the same.
    """
    if (backend, declined.key) in keys:
        raise NoRuleError(message(f"backend {backend!r}: {declined}")) from None
    keys.add((backend, declined.key))
    plugin.registry().declines(backend).note(declined)


def _examined(frozen: FrozenGraph, setting: Setting) -> Examined:
    linker = plugin.registry().linker(setting.choice.name)
    late = frozen if setting.fixed is None else divided(frozen, setting.fixed.first(frozen.arity)).late
    linked, request, _ = requested(late, setting)
    executable: Executable | None = _by_linker(linker.examine, linked, request)
    return Examined(frozen, linked, request, executable)


def _linked(frozen: FrozenGraph, setting: Setting) -> Program:
    with Span("link"):
        with Span("linker"):
            linker = plugin.registry().linker(setting.choice.name)
        division = None if setting.fixed is None else divided(frozen, setting.fixed.first(frozen.arity))
        with Span("checks"):
            linked, request, checked = requested(frozen if division is None else division.late, setting)
        executable = _executable(linker, linked, request)
        form = setting.form(setting.choice.name, executable)
        if division is not None and setting.fixed is not None:
            with Span("evaluation"):
                executable = setting.fixed.bound(executable, division, form)
    return Program(frozen, executable, checked, setting.choice.name, form)


def _executable(linker: Linker, graph: FrozenGraph, request: Request) -> Executable:
    """The executable that a linker makes of a graph.

    Raises:
        PluginError: the linker has raised, which is the cause, or has made something else.
    """
    executable: object = _by_linker(linker.compile, graph, request)
    if not isinstance(executable, Executable):
        text = (
            f"linker of backend {request.backend!r}: compile: found {type(executable).__name__}, needed an Executable"
        )
        raise PluginError(message(text, *provided(request.backend)))
    return executable


def _by_linker(link: Callable[[FrozenGraph, Request], T], graph: FrozenGraph, request: Request) -> T:
    """The outcome of a method of a linker for a graph.

    Raises:
        PluginError: it has raised, which is the cause.
    """
    try:
        return link(graph, request)
    except TgError:
        raise
    except Exception as error:  # noqa: BLE001 (raised again, named)
        raise blamed(error, f"linker of backend {request.backend!r}", *provided(request.backend))  # noqa: B904


def provided(backend: str) -> list[tuple[str, str]]:
    """The line about the plugin that provides a backend."""
    return [("plugin", plugin.registry().provided_by(backend).described)]


def interpreted(frozen: FrozenGraph, setting: Setting) -> Program:
    """The same program interpreted by the reference, with nothing to compile."""
    late = frozen
    executable: Executable = PerformExecutable(frozen)
    form = setting.form(REFERENCE, executable)
    if setting.fixed is not None:
        division = divided(frozen, setting.fixed.first(frozen.arity))
        late = division.late
        executable = setting.fixed.bound(PerformExecutable(late), division, form)
    return Program(frozen, executable, late, REFERENCE, form)


def requested(frozen: FrozenGraph, setting: Setting) -> tuple[FrozenGraph, Request, FrozenGraph]:
    """The arguments of `Linker.compile` for a program: the graph, its checks lowered for a backend that cannot raise.

    The last graph has the checks that the status counts.
    """
    choice, registry = setting.choice, plugin.registry()
    backend = registry.backend(choice.name)
    if backend.raises:
        linked, checked, guard = frozen, frozen, None
    else:
        guard, checked = split_checks(frozen)
        thawed = FunctionGraph.thaw(lower_checks(checked))
        linked = rewrite(thawed, [], supported=supported_by(choice.name), mode="off")
    has_status = not backend.raises and bool(checked.checks)
    reuse = _kept(linked, setting)
    rule_for = functools.partial(registry.rule_for, choice.name)
    request = Request(
        choice.name,
        choice.options,
        rule_for if reuse is None else reuse.watched(rule_for),
        setting.name,
        has_status=has_status,
        guard=guard,
        who_else=_who_else if choice.auto is None else _nobody,
        reusable=setting.reusable,
        source_of=functools.partial(rule_source, choice.name),
        declines=registry.declines(choice.name),
        hosted=functools.partial(registry.hosted, choice.name),
        versions=functools.partial(registry.versions, choice.name),
        kept=reuse,
    )
    return linked, request, checked


def _kept(linked: FrozenGraph, setting: Setting) -> Kept | None:
    """The entry on disk for the generated code of a program, None if the program is not on disk itself."""
    packages = plugin.registry().packages(setting.choice.name)
    if linked.kept_as is None or packages is None:
        return None
    return Kept(linked, repr(setting.reusable), functools.partial(is_of, packages))


def _nobody(key: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Who else has a rule, where the next in line is asked: to know that, every library would be imported."""
    return (), ()


def _who_else(key: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    registry = plugin.registry()
    others = tuple(registry.backends_with(key))
    failed = dict.fromkeys(str(p).partition("\n")[0] for p in registry.problems() if p.version is not None)
    return others, tuple(failed)


def rule_source(backend: str, key: object) -> tuple[str, str] | None:
    """The plugin that a backend's rule is from, and how to do without it."""
    entry = plugin.registry().rule_source(backend, key)
    if entry is None:
        return None
    off = f"{entry.without}, which leaves it out"
    return entry.described, off if entry.kind == "extensions" else REFERENCE_HINT


def _rewrite_source(backend: str, rewrite: str) -> tuple[str, str] | None:
    """The plugin that a rewrite is from, and how to do without it; None for core's own."""
    entry = plugin.registry().rewrite_source(backend, rewrite)
    if entry is None:
        return None
    return entry.described, f'exclude="{rewrite}" leaves it out, TG_PLUGINS_OFF={entry.distribution} the plugin'


def split_checks(frozen: FrozenGraph) -> tuple[FrozenGraph | None, FrozenGraph]:
    """The checks that shapes of inputs decide as a graph of their own (None if there are none), and the rest."""
    scalars = _known_from_shapes(frozen)
    early = [k for k, c in enumerate(frozen.checks) if c.condition in scalars and scalars.issuperset(c.values)]
    if not early:
        return None, frozen
    guard, rest = FunctionGraph.thaw(frozen), FunctionGraph.thaw(frozen)
    guard.outputs = ()
    guard.checks = [guard.checks[k] for k in early]
    rest.checks = [c for k, c in enumerate(rest.checks) if k not in early]
    return guard.freeze(), rest.freeze()


def _known_from_shapes(frozen: FrozenGraph) -> set[int]:
    """The scalars that follow from constants and the shapes of inputs."""
    scalars = set(range(frozen.arity, frozen.arity + len(frozen.constants)))
    for node in frozen.nodes:
        if isinstance(node.op, AxisLength):
            if node.inputs[0] < frozen.arity:
                scalars.update(node.outputs)
        elif scalars.issuperset(node.inputs) and all(frozen.types[k].shape == () for k in node.outputs):
            scalars.update(node.outputs)
    return scalars
