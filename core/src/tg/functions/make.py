"""`tg.function`: from an expression to something that is called with arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, overload

from tg.configuration import CHECKPOINTINGS, COMPILES, MODES, current
from tg.errors import OptionError, message
from tg.functions.arguments import (
    check_inputs,
    defaults_of,
    donated_places,
    givens_of,
    input_named,
    own_updates,
    pairs_of,
    sources_of,
    updates_of,
)
from tg.functions.backends import BackendChoice, choose, mode_hint
from tg.functions.compiled import Function
from tg.functions.excluded import excluded
from tg.functions.inference import for_inference
from tg.functions.nesting import nested
from tg.functions.request import Options, Request
from tg.functions.structure import flatten
from tg.graph.nodes import Variable
from tg.graph.timing import Span, recorded
from tg.graph.traversal import substitute

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Literal, Unpack

    from tg.configuration import Checkpointing, Compile, Mode
    from tg.functions.shared import Shared
    from tg.functions.wishes import Array, Inputs, K, V, Wishes
    from tg.types.choices import Output, UnusedInput


UNUSED: Final = ("raise", "warn", "ignore")


@overload
def function(
    inputs: Inputs, outputs: Variable, *, output: Literal["numpy"] = "numpy", **options: Unpack[Wishes]
) -> Function[Array]: ...
@overload
def function(
    inputs: Inputs, outputs: list[V], *, output: Literal["numpy"] = "numpy", **options: Unpack[Wishes]
) -> Function[list[Array]]: ...
@overload
def function(
    inputs: Inputs, outputs: tuple[V, V], *, output: Literal["numpy"] = "numpy", **options: Unpack[Wishes]
) -> Function[tuple[Array, Array]]: ...
@overload
def function(
    inputs: Inputs, outputs: tuple[V, V, V], *, output: Literal["numpy"] = "numpy", **options: Unpack[Wishes]
) -> Function[tuple[Array, Array, Array]]: ...
@overload
def function(
    inputs: Inputs, outputs: tuple[V, ...], *, output: Literal["numpy"] = "numpy", **options: Unpack[Wishes]
) -> Function[tuple[Array, ...]]: ...
@overload
def function(
    inputs: Inputs, outputs: dict[K, V], *, output: Literal["numpy"] = "numpy", **options: Unpack[Wishes]
) -> Function[dict[K, Array]]: ...
@overload
def function(inputs: Inputs, outputs: Any, *, output: Output = "numpy", **options: Unpack[Wishes]) -> Function[Any]: ...
@recorded("function")
def function(
    inputs: Inputs,
    outputs: Any,
    *,
    backend: str | BackendChoice | None = None,
    updates: Mapping[Shared, Any] | None = None,
    givens: Mapping[Variable, Any] | None = None,
    defaults: Mapping[Variable, Any] | None = None,
    mode: Mode | None = None,
    exclude: str | Collection[str] | None = None,
    nan_guard: bool | None = None,
    name: str | None = None,
    on_unused_input: UnusedInput = "raise",
    output: Output = "numpy",
    compile: Compile | None = None,
    donate: Sequence[Variable] | Variable = (),
    inference: bool = False,
    checkpointing: Checkpointing | int | None = None,
) -> Function:
    """Compile an expression.

    Args:
        inputs: the variables the function is called with, by position or by name. One may be a nested list, tuple,
            dict or dataclass of variables; a call then gives values in the same structure.
        outputs: a variable, or a nested list, tuple or dict of variables; results come in the same structure.
        backend: a backend's name, `tg.backend(name, …)`, or None for the configured one ("auto": the fastest that can
            run the program, which `f.backend` names).
        updates: new values of shared variables, computed from the old ones and stored together when a call succeeds.
            The key of a `tg.random.RandomStream` has one of its own.
        givens: variables replaced by expressions before compiling.
        defaults: values of inputs that a call may leave out.
        mode: "default", "strict" (exact rewrites only), "finite" (also those that may hide a NaN or an infinity, for
            programs that make none on the way), "off" (none) or "debug" (each call checks what was rewritten).
        exclude: names of rules, passes and classes of rewriting that are not applied.
        nan_guard: whether a call whose results have a NaN or an infinity raises, naming the node that made it.
        name: shown in texts, generated code and errors.
        on_unused_input: "raise", "warn" or "ignore".
        output: "numpy", or "native" for the backend's own arrays.
        compile: "now", or "background": calls are answered by the reference until native code is ready.
        donate: inputs whose arrays a call may overwrite and give back as results: what is in them after the call is
            not defined. Backend c does so where an output of the same dtype and shape can be computed in place, and the
            array is contiguous, writable, owns its memory and shares it with no other argument; other backends leave
            donated arrays as they are.
        inference: whether shared variables that the function does not update keep the values that they have now: see
            `Function.inference`.
        checkpointing: what the backward pass of a gradient reads of the forward pass is kept ("none"), or computed
            again: "layers" keeps what layers hand on, "sqrt" what segments do, as many as the root of the arrays that
            would be kept; an int is the number of bytes that may be needed at a time, besides inputs and constants:
            what is cheapest to compute again is. Values stay the same.
    Raises:
        InputError: an input that is no variable, is repeated or unused; a leaf that is not among the inputs; what is
            donated is not an input; for inference, statistics of the batch or a mask of dropout.
        NoRuleError: the backend lacks an op or a dtype; each does, for "auto".
        BackendUnavailable: the backend is not installed or cannot work here.
        OptionError: a mode, a name to exclude, or a way of checkpointing that does not exist; no choice of what is
            computed again needs as few bytes as it may.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> f = tg.function([x], tg.sum(x * x))
        >>> float(f([1.0, 2.0]))
        5.0
        >>> w, b = tg.matrix("w"), tg.vector("b")
        >>> layer = tg.function([x, {"w": w, "b": b}], w @ x + b)
        >>> layer([1.0, 2.0], {"w": [[1.0, 0.0], [3.0, 1.0]], "b": [0.5, 0.5]})
        array([1.5, 5.5])
    """
    config = current()
    given_inputs, places, nesting = nested([inputs] if isinstance(inputs, Variable) else inputs)
    check_inputs(given_inputs, places)
    if output not in ("numpy", "native"):
        raise OptionError(message(f"function: output: found {output!r}, needed numpy or native"))
    modes, compiles = ("mode", mode or config.mode, MODES), ("compile", compile or config.compile, COMPILES)
    for option, value, choices in (("on_unused_input", on_unused_input, UNUSED), modes, compiles):
        if value not in choices:
            text = f"function: {option}: found {value!r}, needed one of {', '.join(choices)}"
            raise OptionError(message(text, hint=mode_hint(value) if option == "mode" else None))
    with Span("arguments"):
        leaves, structure = flatten(outputs)
        targets, values = updates_of({} if updates is None else updates)
        results = [*leaves, *values]
        if givens is not None:
            results = substitute(results, givens_of(givens))
        own = updates_of(own_updates(results, targets))
        targets, results = [*targets, *own[0]], [*results, *own[1]]
        sources = sources_of(given_inputs, results, on_unused_input, places)
    with Span("choice"):
        choice = choose(backend, config.backend)
    options = Options(
        choice,
        mode=mode or config.mode,
        exclude=excluded(config.exclude if exclude is None else exclude, choice.name),
        nan_guard=config.nan_guard if nan_guard is None else nan_guard,
        name=name or "function",
        native=output == "native",
        compile=compile or config.compile,
        limit=config.specializations,
        checkpointing=_checked(config.checkpointing if checkpointing is None else checkpointing),
    )
    default_values = defaults_of({} if defaults is None else defaults, given_inputs)
    donated = donated_places(donate, given_inputs)
    parts = tuple(given_inputs), tuple(sources), tuple(results), tuple(targets), structure
    request = Request(*parts, options, default_values, donated, nesting)
    return Function((for_inference(request) if inference else request).retyped)


def _checked(checkpointing: str | int) -> str | int:
    is_number = type(checkpointing) is int and checkpointing >= 0
    if not is_number and checkpointing not in CHECKPOINTINGS:
        needed = f"one of {', '.join(CHECKPOINTINGS)}, or a number of bytes"
        raise OptionError(message(f"function: checkpointing: found {checkpointing!r}, needed {needed}"))
    return checkpointing


def evaluate(expression: Any, values: Mapping[Variable | str, Any] | None = None, **options: Any) -> Any:
    """The value of an expression for given values of its inputs; what `variable.eval` calls.

    Args:
        values: by variable, or by the name of an input.
        options: as `tg.function` takes them; the backend is the reference unless given.
    Raises:
        InputError: no input has such a name, or several have.
    Example:
        >>> import tg
        >>> x = tg.scalar("x")
        >>> float((x * 2).eval({x: 3.0}))
        6.0
    """
    pairs = pairs_of({} if values is None else values, "eval")
    outputs, _ = flatten(expression)
    by_variable = {input_named(key, outputs) if isinstance(key, str) else key: value for key, value in pairs}
    options.setdefault("backend", "perform")
    return function(list(by_variable), expression, on_unused_input="ignore", **options)(*by_variable.values())
