"""`f.traceable()`: a compiled function as a part of other programs of its backend's library, which trace it."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg import plugin
from tg.errors import InputError, NotDifferentiable, OptionError, message
from tg.functions.compile import REFERENCE, requested, supported_by
from tg.functions.convert import to_traced
from tg.functions.programs import Programs
from tg.functions.request import Request
from tg.functions.shared import snapshots
from tg.functions.structure import flatten
from tg.gradient.api import grad, jvp, vjp
from tg.graph.dims import named_type
from tg.graph.freezing import holds
from tg.graph.function_graph import FunctionGraph
from tg.graph.nodes import Variable
from tg.graph.traversal import sorted_applies, substitute
from tg.link.colour import colours
from tg.link.linker import Traceable, node_lines
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, where
from tg.ops.elementwise.complex import complex as complex_of
from tg.ops.elementwise.complex import imag, real
from tg.rewrite.driver import rewrite
from tg.types.dtypes import is_complex, is_inexact
from tg.variables.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.functions.compile import Program
    from tg.functions.compiled import Function
    from tg.graph.checks import Descriptor
    from tg.graph.frozen import FrozenGraph
    from tg.graph.nodes import Apply
    from tg.link.linker import Executable

ON_ERROR: Final = (None, "nan")
PLACE: Final = re.compile(r"\{\d\}")  # of a value in the text of a check


def traceable(f: Function, on_error: str | None) -> Callable[..., Any]:
    """The traceable form of a function; see `Function.traceable`."""
    request, options = f.request, f.request.options
    if on_error not in ON_ERROR:
        raise OptionError(message(f"traceable: on_error: found {on_error!r}, needed None or 'nan'"))
    if request.targets:
        text = f"traceable: {f!r} updates {request.targets[0].name}, needed a function without updates"
        raise InputError(message(text, hint="the new values can be results, which the caller's program hands on"))
    if options.is_watched:
        text = f"traceable: {f!r} is looked at in each call, by nan_guard or mode='debug': a trace has no calls"
        raise InputError(message(text))
    programs = _Traced(_held(f), on_error)
    linker = plugin.registry().linker(f.backend)
    body = linker.traceable(programs.described())
    if body is None:
        hint = 'backend="jax" and "torch" have them'
        raise InputError(message(f"traceable: backend {f.backend!r} has no programs that trace functions", hint=hint))
    programs.look_at_main()
    binding, types = request.binding, [v.type for v in request.inputs]

    def traced(*args: Any, **kwargs: Any) -> Any:
        leaves = zip(binding.bound(request.leaves(args), kwargs), types, binding.labels, strict=True)
        return request.structure(iter(body(*[to_traced(v, t, label) for v, t, label in leaves])))

    traced.__name__ = traced.__qualname__ = f.name
    traced.__code__ = traced.__code__.replace(co_name=f.name)  # its own: torch.compile counts by it
    traced.__doc__ = f"The traceable form of {f!r}."
    traced.__signature__ = inspect.signature(f)  # type: ignore[attr-defined]
    embedded: Callable[..., Any] = linker.embedded(traced)
    return embedded


def _held(f: Function) -> Programs:
    """Its programs with the values that shared variables have now as constants; its own if there are none."""
    request, programs = f.request, f.programs
    if request.live or (request.fixed and programs.main.descriptors):
        return _alike(programs, f.name, request.inputs, request.results)
    f.wait()
    return programs


def _alike(programs: Programs, name: str, inputs: Sequence[Variable], results: Sequence[Variable]) -> Programs:
    """Programs of other results, compiled as these are, of the values that shared variables have now."""
    request = programs.request
    variables, arrays = request.variables[len(request.inputs) :], request.arrays(snapshots(request.sources))
    values = {id(v): constant(array, name=v.name) for v, array in zip(variables, arrays, strict=True)}
    results = substitute(results, values)
    options = dataclasses.replace(
        programs.request.options, choice=programs.choice, name=name, nan_guard=False, native=True, compile="now"
    )
    return Programs(Request(tuple(inputs), (), tuple(results), (), flatten(results)[1], options))


@final
class _Traced:
    """The programs of a function as they are traced: one for each pattern of lengths that are 1."""

    def __init__(self, programs: Programs, on_error: str | None) -> None:
        self._programs, self._request, self._on_error = programs, programs.request, on_error
        self._executables: dict[int, tuple[Program, Executable]] = {}  # by the id of the program, which is kept

    def described(self) -> Traceable:
        """All that the backend needs to know."""
        inputs, outputs = [v.type for v in self._request.inputs], self._programs.main.graph.output_types
        is_scalar = len(outputs) == 1 and outputs[0].shape == () and not is_complex(outputs[0].dtype)
        name = self._request.options.name
        types = tuple(inputs), tuple(outputs)
        return Traceable(name, *types, self, is_scalar, self.gradient, self.tangent, self.refusal)

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """The results for arrays of a library that is tracing."""
        return self._programs.run(arrays, (), lambda program, *_: tuple(self._executable(program).trace(arrays)))

    def look_at_main(self) -> None:
        """Look at the program that there is.

        Raises:
            InputError: values decide a length, or whether the program raises.
        """
        self._executable(self._programs.main)

    def _executable(self, program: Program) -> Executable:
        """The executable of a program, without a status."""
        entry = self._executables.get(id(program))
        if entry is None:
            entry = self._executables[id(program)] = program, self._checked(program)
        return entry[1]

    def _checked(self, program: Program) -> Executable:
        executable, backend = program.executable, self._programs.choice.name
        if program.backend != backend:
            text = f"traceable: backend {program.backend!r} runs lengths like these, needed {backend!r}"
            hint = "tg.config(specializations=…) allows more" if program.backend == REFERENCE else None
            raise InputError(message(text, hint=hint))
        read = [v for k, v in enumerate(self._request.inputs) if k in executable.host_reads]
        if read:
            text = f"traceable: the value of {read[0]!r} decides a length, which a trace does not know"
            hint = "givens={variable: number} of tg.function compiles a number in"
            raise InputError(message(text, *_deciding_lines(program.graph), hint=hint))
        if not program.descriptors:
            return executable
        if self._on_error is None:
            raise _has_checks(program.descriptors[0])
        for k, t in enumerate(program.graph.output_types):
            if not is_inexact(t.dtype):
                text = f"traceable: on_error='nan': found result {k} of dtype {t.dtype}, which has no NaN"
                raise InputError(message(text))
        graph, request, _ = requested(program.graph, self._programs.setting)
        request = dataclasses.replace(request, has_status=False, kept=None)
        thawed = _nan_where_failing(graph)
        silent = rewrite(thawed, [], supported=supported_by(program.backend), mode="off")
        compiled: Executable = plugin.registry().linker(program.backend).compile(silent, request)
        return compiled

    @functools.cached_property
    def _gradient(self) -> _Traced:
        """The programs of the derivative in reverse mode, which tg makes of the expression."""
        request, is_scalar = self._request, self.described().is_scalar
        xs = [v for v in request.inputs if is_inexact(v.type.dtype)]
        inputs = list(request.inputs)
        if is_scalar:
            results = [*request.results, *grad(request.results[0], xs, disconnected="zero")]
        else:
            ys = [v for v in request.results if is_inexact(v.type.dtype)]
            cotangents = [Variable(named_type(y)) for y in ys]
            inputs += cotangents
            results = list(vjp(ys, xs, cotangents, disconnected="zero"))
        return self._derived("gradient", inputs, results)

    @functools.cached_property
    def _tangent(self) -> _Traced:
        """The programs of the derivative in forward mode."""
        request = self._request
        xs, ys = ([v for v in variables if is_inexact(v.type.dtype)] for variables in (request.inputs, request.results))
        tangents = [Variable(named_type(x)) for x in xs]
        results = jvp(ys, xs, tangents, disconnected="zero")
        return self._derived("tangent", [*request.inputs, *tangents], results)

    def _derived(self, kind: str, inputs: Sequence[Variable], results: Sequence[Variable]) -> _Traced:
        return _Traced(
            _alike(self._programs, f"{kind}_of_{self._request.options.name}", inputs, results), self._on_error
        )

    def gradient(self) -> Traceable:
        """See `Traceable.gradient`."""
        return self._gradient.described()

    def tangent(self) -> Traceable:
        """See `Traceable.tangent`."""
        return self._tangent.described()

    def refusal(self) -> Exception | None:
        """Why the derivative is not to be differentiated by others; None where it may be."""
        marker = next((node for node, _ in sorted_applies(self._request.results) if _says_more(node)), None)
        if marker is None:
            return None
        where_made = [("created at", f"{marker.loc}:  {marker.loc.source}")] if marker.loc is not None else []
        text = (
            f"traceable: found a second derivative asked for, of which {marker.op.spelled} says something to tg alone"
        )
        hint = "tg.grad of tg.grad knows it, and so does the traceable form of a function that computes it"
        return NotDifferentiable(message(text, *where_made, hint=hint))


def _says_more(node: Apply) -> bool:
    """Whether a node says something of derivatives that its program does not have."""
    is_read = any(is_inexact(t.dtype) for t in node.types)
    inner = node.op.inner_graphs()
    return (node.op.only_derives and is_read) or any(holds(graph, lambda op: op.only_derives) for graph in inner)


def _has_checks(check: Descriptor) -> InputError:
    """The error of a program that may raise; it names the first check that stands in the user's program."""
    while check.inner:
        check = check.inner[0]
    loc = getattr(check, "loc", None)
    lines = [("check", f"{check.error}: {PLACE.sub('…', check.text)}")]
    lines += [("created at", f"{loc}:  {loc.source}")] if loc is not None else []
    hint = 'f.traceable(on_error="nan") gives NaN where a check fails'
    text = "traceable: found a check that values decide, which cannot raise in a program that is traced"
    return InputError(message(text, *lines, hint=hint))


def _deciding_lines(graph: FrozenGraph) -> list[tuple[str, str]]:
    """The lines of a message about the first node of which values decide a length."""
    colouring = colours(graph)
    for number, node in enumerate(graph.nodes):
        sizes = node.op.size_operands(len(node.inputs))
        if number in colouring.calls or any(node.inputs[k] in colouring.sizes for k in sizes):
            return node_lines(graph, number)
    return []


def _nan_where_failing(lowered: FrozenGraph) -> FunctionGraph:
    """A program whose last output is a status, without it: NaN are all results where it says that a check has failed.

    It is a factor, so that derivatives are NaN, too.
    """
    graph = FunctionGraph.thaw(lowered)
    *results, status = graph.outputs
    factor = where(equal(status[0], 0), 1.0, np.nan)
    with graph.needs:
        graph.outputs = tuple(graph.absorb(_scaled(v, factor)) for v in results)
    return graph


def _scaled(v: Variable, factor: Variable) -> Variable:
    """v times a real number, each part by itself: infinity times 1 + 0i has a NaN."""
    if is_complex(v.type.dtype):
        parts = [_scaled(part(v), factor) for part in (real, imag)]
        return complex_of(*parts)
    return v * cast_variable(factor, v.type.dtype)
