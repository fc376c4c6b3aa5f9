"""`tg.check`: which backends run a program, and on which conditions, without running a compiler.

A verdict is what compiling comes to: the program is prepared and linked by the same functions as for `tg.function`, up
to where a compiler would be started. So there is no second list of what a backend can do.
"""

from __future__ import annotations

import dataclasses
import functools
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tg import plugin
from tg.configuration import current
from tg.errors import BackendUnavailable, InputError, message
from tg.functions.backends import BackendChoice, choose, in_line, is_double
from tg.functions.compile import examine, prepared
from tg.functions.compiled import Function
from tg.functions.conditions import Shaped, conditions, memory
from tg.functions.excluded import excluded
from tg.functions.jit import Jitted
from tg.functions.request import Options, Request
from tg.functions.shared import Shared
from tg.functions.structure import flatten, need_variables
from tg.functions.verdict import REFUSALS, Verdict, Verdicts
from tg.graph.nodes import Variable
from tg.graph.traversal import inputs_of
from tg.link.memory import is_count
from tg.types.atoms import NamedLength
from tg.types.lengths import Length

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tg.configuration import Mode
    from tg.functions.compile import Examined, Setting


def check(
    value: Any,
    outputs: Any = None,
    *,
    backends: str | BackendChoice | Sequence[str | BackendChoice] | None = None,
    mode: Mode | None = None,
    exclude: str | Collection[str] | None = None,
    shapes: Mapping[Any, Any] | None = None,
) -> Verdicts:
    """The backends that run a program, on which conditions, and why the others do not; nothing is compiled.

    A verdict is that of compiling: yes; yes, with what there is to know beforehand (a compilation at the first call
    with each shape, or for each length that values decide; ops that the host computes; answers that are less accurate;
    options of less precision); or no, with the op, the reason and the user's line.

    Args:
        value: a function of `tg.function`; or the inputs, with `outputs` the expression; or the expression alone.
        outputs: a variable, or a nesting of them.
        backends: names, choices of `tg.backend` with options, or one of these; all that are available unless given.
            "auto" is the backend that it would choose.
        mode, exclude: as in `tg.function`; those of a function are its own.
        shapes: by variable or name the shape of an input, of an integer scalar its value, and by the name of a `tg.dim`
            that length: for an estimate of the memory of a call, which inputs of known lengths do not need.
    Raises:
        InputError: neither a function nor variables; options given with a function; a shape of no input.
        BackendUnavailable: a backend of no name that is known.
        ShapeError, and others that compiling raises: where the program itself is at fault, on every backend.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> print(tg.check(tg.sum(x[x > 0]), backends=["perform", "c", "jax"]))
        expression: 2 of 3 backends run it
        backend  runs
        perform  yes
        c        yes
        jax      no   does not run Nonzero: XLA has no lengths that depend on values;
                      with size= there is room for a stated number
                      at ...
    """
    request = _requested(value, outputs, mode, exclude)
    verdicts = [_verdict(request, one, shapes or {}) for one in _wanted(backends)]
    return Verdicts(request.options.name, verdicts)


def _requested(value: Any, outputs: Any, mode: str | None, exclude: str | Collection[str] | None) -> Request:
    """The program to be looked at, for the reference."""
    if isinstance(value, Function):
        if (outputs, mode, exclude) != (None,) * 3:
            raise InputError(message("check: found options with a function, needed the function alone"))
        return value.request.written or value.request
    if isinstance(value, Jitted):
        hint = "tg.check(f.lower(…)) takes one call"
        raise InputError(message(f"check: found {value!r}, needed one compiled function", hint=hint))
    config = current()
    expression = value if outputs is None else outputs
    need_variables("check", expression)
    leaves, structure = flatten(expression)
    every = inputs_of(leaves)
    inputs = [v for v in every if not isinstance(v, Shared)]
    if outputs is not None:
        inputs = [value] if isinstance(value, Variable) else flatten(value)[0]
    sources = tuple(v for v in every if isinstance(v, Shared))
    names = excluded(config.exclude if exclude is None else exclude, "perform")
    options = Options(choose("perform", "perform"), mode=mode or config.mode, exclude=names, name="expression")
    return Request(tuple(inputs), sources, tuple(leaves), (), structure, options)


def _wanted(backends: Any) -> list[str | BackendChoice]:
    """The backends to ask, one by one."""
    if backends is None:
        return [one.name for one in plugin.registry().backends() if one.is_available and not is_double(one)]
    if isinstance(backends, str | BackendChoice):
        return [backends]
    return list(backends)


def _verdict(request: Request, backend: str | BackendChoice, shapes: Mapping[Any, Any]) -> Verdict:
    began = perf_counter()
    try:
        choice = choose(backend, "perform")
    except BackendUnavailable as error:
        if backend not in {name for one in plugin.registry().backends() for name in (one.name, *one.aliases)}:
            raise
        return Verdict(str(backend), error, seconds=perf_counter() - began)
    options = dataclasses.replace(request.options, choice=choice)
    request = dataclasses.replace(request, options=options).retyped
    arguments = _arguments(request, shapes)
    try:
        examined, choice = in_line(choice, functools.partial(_first_that_fits, request))
        registry = plugin.registry()
        told = list(
            conditions(examined, request, registry.backend(choice.name), registry.gaps(choice.name), choice.general)
        )
    except REFUSALS as error:
        return Verdict(choice.name, error, seconds=perf_counter() - began)
    return Verdict(choice.name, None, tuple(told), memory(examined, arguments), perf_counter() - began)


def _first_that_fits(request: Request, choice: BackendChoice) -> Examined:
    """The program of the pattern of lengths that are 1 which is compiled first."""
    return request.fitting(functools.partial(_examined, request, request.setting(choice)))[0]


def _examined(request: Request, setting: Setting, ones: tuple[tuple[int, int], ...]) -> Examined:
    again = functools.partial(prepared, request.variables, request.results, ones, setting)
    return examine(again(), setting, again)


def _arguments(request: Request, shapes: Mapping[Any, Any]) -> list[Shaped | None]:
    """Stand-ins for the arguments of a call, None where lengths are not known.

    Raises:
        InputError: a shape of no input, or one that does not fit it.
    """
    names = {v.name: k for k, v in enumerate(request.variables) if v.name}
    dims = {name for v in request.variables for n in v.lengths if (name := _name_of(n)) is not None}
    own: dict[int, Any] = {}
    lengths: dict[str, int] = {}
    written = (request.written or request).variables
    places = {id(v): k for k, v in enumerate(written)}
    for key, value in shapes.items():
        place = names.get(key) if isinstance(key, str) else places.get(id(key))
        if place is not None:
            own[place] = value
        elif key in dims:
            lengths[key] = int(value)
        else:
            choices = ", ".join([*names, *sorted(dims)])
            raise InputError(
                message(f"check: shapes: found {key!r}, needed an input or a named length", ("inputs", choices))
            )
    return [
        _argument(v, source, own.get(k), lengths)
        for k, (v, source) in enumerate(zip(request.variables, written, strict=True))
    ]


def _argument(v: Variable, source: Variable, like: Any, lengths: Mapping[str, int]) -> Shaped | None:
    if isinstance(source, Shared):
        array = source.snapshot
        return Shaped(tuple(array.shape), int(array.numpy) if is_count(v.type) else 0)
    if is_count(v.type):
        return None if like is None else Shaped((), int(like))
    if like is not None:
        shape = tuple(int(n) for n in getattr(like, "shape", like))
        fits = len(shape) == v.type.ndim and all(n in (None, m) for n, m in zip(v.type.shape, shape, strict=True))
        if not fits:
            raise InputError(message(f"check: shapes: {v.name or '_'}: found {list(shape)}, needed {v.type}"))
        return Shaped(shape)
    pairs = zip(v.type.shape, map(_name_of, v.lengths), strict=True)
    whole = [lengths.get(name) if name is not None else n for n, name in pairs]
    numbers = [n for n in whole if type(n) is int]
    return Shaped(tuple(numbers)) if len(numbers) == len(whole) else None


def _name_of(length: int | Length | None) -> str | None:
    """The name of a length that has one."""
    atom = length.atom if type(length) is Length else None
    return atom.name if type(atom) is NamedLength else None
