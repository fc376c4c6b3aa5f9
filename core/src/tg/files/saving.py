"""`tg.save`: functions in one file, as they were written, with what they keep, and golden values to check them by."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tg import __version__
from tg.errors import InputError, message
from tg.exports.golden import golden
from tg.files.archive import GOLDEN, MANIFEST, WEIGHTS, parts_of, write
from tg.files.kinds import structure_json, type_json
from tg.files.tensors import packed
from tg.functions.compiled import Function
from tg.functions.names import distinct
from tg.functions.pickled import table
from tg.functions.shared import snapshots
from tg.graph.dims import named_type
from tg.graph.text.printer import is_opaque, to_text_with_constants
from tg.graph.traversal import sorted_applies
from tg.nn.module import Module, leaves
from tg.plugin.registry import registry
from tg.variables.structure import short

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    import numpy as np

    from tg.functions.request import Request
    from tg.functions.shared import Shared
    from tg.graph.frozen import FrozenGraph
    from tg.graph.loc import Loc
    from tg.graph.op import Op

    Array = np.ndarray[Any, Any]

VERSION: Final = 1
READS: Final = "0.1.0"
"""The first tg that reads this version: what an older one tells its user to get."""


def save(
    f: Function | Mapping[str, Function], path: str | os.PathLike[str], *, example: Any = None, model: Any = None
) -> None:
    """Write compiled functions to one file, with their shared variables, which `tg.load` reads on any backend.

    The file has the expressions as they were written, as text, and arrays that map into memory; no pickle and no code.
    Its golden values are inputs and what f gave for them, by which `tg.load` checks what it has made. The file is there
    whole, or not at all.

    Args:
        f: a function, or several by name: shared variables that they have in common stay common.
        example: values for the inputs, by name or in the order of a call; of several functions by their names. Unless
            given they are drawn with key 0 within the domains, facts and axes that the expression says.
        model: a module of `tg.nn`, or lists and dicts of such: shared variables have its paths as names.
    Raises:
        InputError: an op that no text can hold, as wrapped Python functions are, with its line; an example that does
            not fit; a result that is not finite.
    Example:
        >>> import tempfile, tg
        >>> x, w = tg.vector("x"), tg.shared([1.0, 2.0], "w")
        >>> f = tg.function([x], tg.sum(x * w), updates={w: w + 1})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tg.save(f, f"{folder}/sum.tg")
        ...     g = tg.load(f"{folder}/sum.tg", backend="perform")
        >>> float(g([3.0, 4.0])), float(g([3.0, 4.0])), float(f([3.0, 4.0]))
        (11.0, 18.0, 11.0)
    """
    functions = _functions(f, example)
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(message(f"save: path: found {str(target)!r}, needed a folder {str(target.parent)!r}"))
    for g in functions.values():
        _need_text(g)
    examples = {None: example} if None in functions else dict(example or {})
    values = {key: golden("save", g, examples.get(key)) for key, g in functions.items()}
    requests = {key: g.request.written or g.request for key, g in functions.items()}
    shared = _shared(requests.values(), model)
    weights = {name: value.numpy for name, value in zip(shared, snapshots(list(shared.values())), strict=True)}
    numbers = {id(s): k for k, s in enumerate(shared.values())}
    records: list[Any] = []
    texts: dict[str, str] = {}
    beside: dict[str, Array] = {}
    for k, (key, request) in enumerate(requests.items()):
        texts[f"functions/{k}.tg"], constants = to_text_with_constants(table(request.variables, request.results))
        weights.update({f"constant.{digest}": array for digest, array in constants.items()})
        record = _record(request, numbers)
        for part in ("inputs", "outputs", "state"):
            arrays = getattr(values[key], part)
            record["golden"][part] = list(arrays)
            beside.update({f"{k}.{part}.{name}": array for name, array in arrays.items()})
        beside.update({f"{k}.default.{place}": array for place, array in request.defaults.items()})
        records.append({"key": key, **record})
    manifest = {
        "format": "tg model",
        "version": VERSION,
        "needs": READS,
        "written_by": __version__,
        "plugins": _plugins(requests.values()),
        "shared": [
            {"name": name, "label": s.name, "type": type_json(named_type(s)), "fixed": s.is_fixed}
            for name, s in shared.items()
        ],
        "functions": records,
    }
    members: dict[str, Any] = {MANIFEST: parts_of(json.dumps(manifest, indent=1) + "\n")}
    members |= {name: parts_of(text) for name, text in texts.items()}
    sizes = {name: sum(map(len, parts)) for name, parts in members.items()}
    members[GOLDEN], sizes[GOLDEN] = packed(beside)
    members[WEIGHTS], sizes[WEIGHTS] = packed(weights)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
        draft = Path(folder) / target.name
        write(draft, members, sizes)
        draft.replace(target)


def _functions(f: Any, example: Any) -> dict[str | None, Function]:
    """The functions by name; one alone by None."""
    if isinstance(f, Function):
        return {None: f}
    if isinstance(f, Module):
        hint = "tg.nn.save(model, path) writes its weights; tg.function([x], model(x)) is what tg.save writes"
        raise InputError(message("save: found a module, needed a compiled function", hint=hint))
    if (
        not isinstance(f, dict)
        or not f
        or not all(isinstance(k, str) and isinstance(g, Function) for k, g in f.items())
    ):
        hint = "tg.function(inputs, outputs) makes one"
        raise InputError(message(f"save: found {short(f)}, needed a compiled function, or several by name", hint=hint))
    if example is not None and not (isinstance(example, dict) and example.keys() <= f.keys()):
        raise InputError(message(f"save: example: found {short(example)}, needed one for each of {', '.join(f)}"))
    return dict(f)


def _need_text(f: Function) -> None:
    """Refuse ops that a text cannot hold.

    Raises:
        InputError: there is one; its line is named.
    """
    request = f.request.written or f.request
    for op, loc in _ops(request):
        if is_opaque(op):
            lines = (("created at", f"{loc}:  {loc.source}"),) if loc is not None else ()
            text = f"save: {f.name}: {op.name} is opaque, needed ops that a text can hold"
            raise InputError(message(text, *lines, hint="f.copy() of the Python program that makes it is all there is"))


def _ops(request: Request) -> Iterator[tuple[Op, Loc | None]]:
    """The ops of an expression with their lines, those inside of others too."""
    for node, _ in sorted_applies(request.results, boundary=request.variables):
        yield node.op, node.loc
        graphs: list[FrozenGraph] = [*node.op.inner_graphs()]
        for graph in graphs:  # which grows
            for k, inner in enumerate(graph.nodes):
                origin = graph.origins.get(k)
                yield inner.op, (origin.locs[0] if origin is not None and origin.locs else node.loc)
                graphs += inner.op.inner_graphs()


def _shared(requests: Any, model: Any) -> dict[str, Shared]:
    """The shared variables of all functions, each once, by unique names."""
    variables = {id(s): s for request in requests for s in (*request.sources, *request.targets)}
    paths = {id(leaf): path for path, leaf, _ in leaves(model)} if model is not None else {}
    names = [paths.get(k) or s.name or f"shared{n}" for n, (k, s) in enumerate(variables.items())]
    return dict(zip(distinct(names, ()), variables.values(), strict=True))


def _record(request: Request, numbers: Mapping[int, int]) -> dict[str, Any]:
    """One function but for its expression: what it takes and gives, and its options."""
    options, general = request.options, request.options.choice.general
    return {
        "name": options.name,
        "inputs": [{"name": v.name, "type": type_json(named_type(v))} for v in request.inputs],
        "arguments": None if request.nesting is None else [structure_json(s) for s in request.nesting.structures],
        "outputs": structure_json(request.structure),
        "results": request.count,
        "sources": [numbers[id(s)] for s in request.sources],
        "targets": [numbers[id(s)] for s in request.targets],
        "defaults": sorted(request.defaults),
        "donated": sorted(request.donated),
        "options": {
            "mode": options.mode,
            "exclude": sorted(options.exclude),
            "nan_guard": options.nan_guard,
            "native": options.native,
            "compile": options.compile,
            "limit": options.limit,
            "checkpointing": options.checkpointing,
        },
        "general": {"dtype": general.dtype, "amp": general.amp, "precision": general.precision},
        "golden": {},
    }


def _plugins(requests: Any) -> dict[str, Any]:
    """The distributions other than tg's own whose ops are used, each with its version and the names of these."""
    plugins: dict[str, Any] = {}
    sources = registry().op_sources()
    for name in sorted({op.name for request in requests for op, _ in _ops(request)} & sources.keys()):
        entry = sources[name]
        plugins.setdefault(entry.distribution, {"version": entry.version, "ops": []})["ops"].append(name)
    return plugins
