"""Pickling a compiled function: its program as written, as text, with its constants, shared variables and options.

A process that has the function, made or unpickled, finds it by a digest of all this: a function without shared
variables is then that very object, and one with some takes over its compiled programs. The last `KEPT` that have been
unpickled are kept, for a worker to which the same function comes with each task. Otherwise what is restored compiles
itself again, on the machine where it is, or finds its program on disk under that digest. Shared variables that several
functions of one pickle have in common stay common.
"""

from __future__ import annotations

import dataclasses
import hashlib
import pickle
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg import plugin
from tg.errors import InputError, message
from tg.functions.remembered import note_pickled
from tg.functions.request import Request
from tg.functions.retyped import stand_in
from tg.functions.show import parse
from tg.functions.unparsed import Unparsed
from tg.graph.dims import named_type
from tg.graph.frozen import FrozenGraph, Node, Origin
from tg.graph.nodes import Constant, Variable
from tg.graph.text.printer import is_opaque, to_text_with_constants
from tg.graph.timing import recorded
from tg.graph.traversal import sorted_applies
from tg.types.requirements import Requirements

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.functions.compiled import Function
    from tg.functions.request import Options
    from tg.functions.shared import Shared

KEPT: Final = 16
LARGE: Final = 1 << 24  # bytes of constants: a function that has more is not kept for them
_functions: Final[weakref.WeakValueDictionary[object, Function]] = weakref.WeakValueDictionary()
_texts: Final[weakref.WeakKeyDictionary[Request, Text]] = weakref.WeakKeyDictionary()
_recent: Final[deque[Function]] = deque(maxlen=KEPT)


class Text(NamedTuple):
    """A function but for its shared variables: its name, a pickle of text and options, and the large constants."""

    digest: str
    data: bytes
    constants: Mapping[str, np.ndarray[Any, Any]]


def reduced(f: Function) -> tuple[object, ...]:
    """The value of `Function.__reduce__`.

    Raises:
        InputError: an op is opaque, as wrapped Python functions are.
    """
    request, programs = f.request, f.programs
    is_new = request not in _texts
    text = text_of(request)
    _functions[_key(text.digest)] = f
    if is_new:
        unparsed = _unparsed(text, len(request.results), request.variables)
        for ones, program in programs.by_pattern.items():
            if program.backend == f.backend:
                note_pickled(unparsed, program.graph, ones, programs.setting)
    return (restored, (type(f), *text, request.sources, request.targets))


def text_of(request: Request) -> Text:
    """The text of a function, which does not change.

    Raises:
        InputError: an op is opaque.
    """
    text = _texts.get(request)
    return _texts.setdefault(request, _text_of(request)) if text is None else text


def _text_of(request: Request) -> Text:
    graph = table(request.variables, request.results)
    _need_text(graph, request.options.name)
    text, constants = to_text_with_constants(graph)
    inputs = [(named_type(v), v.name) for v in request.inputs]
    numbers = {id(s): k for k, s in enumerate(request.sources)}
    places = [numbers.get(id(t), -1) for t in request.targets]
    kinds = [(named_type(s), s.name, s.is_fixed) for s in (*request.sources, *request.targets)]
    rest = (request.structure, request.options, request.defaults, request.donated, request.nesting)
    parts = (text, inputs, rest, len(request.results), kinds, places, _lines(request))
    data = pickle.dumps(parts, pickle.HIGHEST_PROTOCOL)
    digest = hashlib.blake2b(data, digest_size=20)
    for name, array in constants.items():
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return Text(digest.hexdigest(), data, constants)


def _need_text(graph: FrozenGraph, name: str) -> None:
    for node in graph.nodes:
        if is_opaque(node.op):
            raise InputError(message(f"pickle: {name}: {node.op.name} is opaque, needed ops that a text can hold"))
        for inner in node.op.inner_graphs():
            _need_text(inner, name)


def _key(digest: str) -> object:
    """The name of a function here: plugins that come or go change what is made of it."""
    return digest, plugin.registry()


def restored(
    make: type[Function],
    digest: str,
    data: bytes,
    constants: Mapping[str, np.ndarray[Any, Any]],
    sources: Sequence[Shared],
    targets: Sequence[Shared],
) -> Function:
    """The function: the one that the process has, or compiled here."""
    like, text = _functions.get(_key(digest)), Text(digest, data, constants)
    if like is not None and not sources and not targets:
        return like
    if like is None or like.programs.background is not None or any(s.is_fixed for s in sources):
        f = _functions[_key(digest)] = _compiled(make, text, sources, targets)
        if not sources and not targets and sum(array.nbytes for array in constants.values()) <= LARGE:
            _recent.append(f)
        return f
    stand_ins = _stand_ins(sources, like.request.options)
    results = _unparsed(text, len(like.request.results), [*like.request.inputs, *(stand_ins or sources)])
    request = dataclasses.replace(
        like.request,
        sources=tuple(sources),
        results=results,
        targets=tuple(targets),
        stand_ins=stand_ins,
        written=None,
        places={},
    )
    _texts[request] = text
    return make(request, like=like.programs)


@recorded("unpickle")
def _compiled(make: type[Function], text: Text, sources: Sequence[Shared], targets: Sequence[Shared]) -> Function:
    _, inputs, rest, count, *_ = pickle.loads(text.data)  # noqa: S301 (a part of a pickle)
    variables = tuple(Variable(t, name=name) for t, name in inputs)
    structure, options, defaults, donated, nesting = rest
    stand_ins = _stand_ins(sources, options)
    results = _unparsed(text, count, [*variables, *(stand_ins or sources)])
    parts = variables, tuple(sources), results, tuple(targets), structure, options, defaults, donated, nesting
    request = Request(*parts, stand_ins)
    _texts[request] = text
    return make(request)


def _stand_ins(sources: Sequence[Shared], options: Options) -> tuple[Variable, ...]:
    """The variables for shared ones in a function that was re-typed; none for another."""
    dtypes = options.choice.dtypes
    return tuple(stand_in(s, dtypes) for s in sources) if dtypes else ()


def _unparsed(text: Text, count: int, inputs: Sequence[Variable]) -> Unparsed:
    """The results of a text over these variables."""

    def over(variables: Sequence[Variable]) -> Sequence[Variable]:
        program, *_, lines = pickle.loads(text.data)  # noqa: S301 (a part of a pickle)
        graph = parse(program, text.constants)
        with Requirements():  # found again where they are imported, of which this may be a part
            return (graph.with_origins(lines) if lines else graph).instantiate(variables)

    return Unparsed(text.digest, text.constants, count, inputs, over)


def _lines(request: Request) -> dict[int, Origin]:
    """The lines of nodes by their numbers, with the parts of a network; none where no compilation asks for them."""
    if request.options.checkpointing == "none":
        return {}
    applies = sorted_applies(request.results, boundary=request.variables)
    return {k: Origin((node.loc,)) for k, (node, _) in enumerate(applies) if node.loc is not None}


def table(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> FrozenGraph:
    """An expression as a numbered program just as it was written: no specialisation, no checks."""
    applies = sorted_applies(outputs, boundary=inputs)
    used = [u for node, _ in applies for u in node.inputs]
    constants = list({id(v): v for v in (*used, *outputs) if isinstance(v, Constant)}.values())
    number = {id(v): k for k, v in enumerate((*inputs, *constants))}
    types = [v.type for v in (*inputs, *constants)]
    places: dict[int, int] = {}  # of applies, by id: the number of the first result
    nodes = []

    def place(v: Variable) -> int:
        return number[id(v)] if id(v) in number else places[id(v.apply)] + v.index

    for node, _ in applies:
        operands = tuple(map(place, node.inputs))
        first = places[id(node)] = len(types)
        types.extend(t.static for t in node.types)
        nodes.append(Node(node.op, operands, tuple(range(first, len(types)))))
    names = {k: v.name for k, v in enumerate(inputs) if v.name}
    return FrozenGraph(len(inputs), types, constants, nodes, [place(v) for v in outputs], (), names)
