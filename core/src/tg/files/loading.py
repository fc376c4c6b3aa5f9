"""`tg.load`: functions of a model file, read strictly, compiled here, and compared with the file's golden values."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tg import __version__
from tg.configuration import CHECKPOINTINGS, COMPILES, MODES, current
from tg.errors import FileError, InputError, OptionError, TgError, message
from tg.files.archive import GOLDEN, MANIFEST, WEIGHTS, Archive
from tg.files.checking import compare
from tg.files.kinds import fields, structure_of, type_of
from tg.files.saving import VERSION
from tg.files.tensors import REAL, in_dtype, unpacked
from tg.functions.backends import BackendChoice
from tg.functions.backends import backend as with_options
from tg.functions.compiled import Function
from tg.functions.nesting import Nesting
from tg.functions.request import Options, Request
from tg.functions.shared import Shared, Value
from tg.functions.show import known_ops, parse
from tg.graph.nodes import Variable
from tg.plugin.records import General
from tg.types.dtypes import FLOATS, dtype_name, is_complex, is_inexact
from tg.types.requirements import Requirements

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    import numpy as np

    from tg.types.tensor_type import TensorType

    Array = np.ndarray[Any, Any]

MOST_FUNCTIONS: Final = 1000
MOST_NAMES: Final = 1 << 20  # inputs and shared variables
LONGEST_NAME: Final = 1000


def load(
    path: str | os.PathLike[str], backend: str | BackendChoice | None = None, *, check: bool = True, **options: Any
) -> Any:
    """The functions of a file that `tg.save` wrote, compiled here: one, or several by name.

    Nothing of the file is run but the program that it describes, once for its golden values, which have to come out
    again. Arrays of 64 KiB and more are mapped: they take memory when they are read, and the file stays as it is.

    Args:
        backend: as for `tg.function`, whatever it was when the file was written.
        check: whether all bytes are compared with their sums, and results with the golden values: each within the
            epsilon of the least precise dtype of the program, to the power of 2/3, of the largest of its array. False
            is for programs that no two machines compute alike, and for what is checked elsewhere.
        options: of the backend, as `tg.backend` takes them; dtype, amp and precision are the file's unless given.
    Raises:
        FileError: there is no such file; it is not of `tg.save`, is damaged, needs a newer tg or a plugin that is not
            here, or gives other values than it should.
        NoRuleError: the backend lacks an op or a dtype.
    """
    archive = Archive(Path(path))
    with refusing(archive):
        manifest = manifest_of(archive)
        if check:
            archive.check(WEIGHTS)
            archive.check(GOLDEN)
        weights = unpacked(archive.data(WEIGHTS), f"{archive.path}: {WEIGHTS}")
        beside = unpacked(archive.data(GOLDEN), f"{archive.path}: {GOLDEN}")
        _need_plugins(archive, manifest)
        shared = [
            _shared(record, weights, f"{archive.path}: shared {k}") for k, record in enumerate(manifest["shared"])
        ]
        reader = _Reader(archive, shared, weights, beside, backend, options)
        functions = {}
        for k, record in enumerate(manifest["functions"]):
            f = Function(reader.request(k, record).retyped)
            if check:
                written = {record["general"].get("dtype")} & {*FLOATS}
                compare(archive, f, *reader.golden(k, record, f), written)
            functions[record.get("key")] = f
        if len(functions) != len(manifest["functions"]) or (None in functions and len(functions) != 1):
            raise archive.refusal("found two functions of one name")
    return functions.get(None, functions)


@contextlib.contextmanager
def refusing(archive: Archive) -> Iterator[None]:
    """Make a refusal of whatever a hostile file raises that is no error of tg."""
    try:
        yield
    except TgError:
        raise
    except Exception as error:
        fact = f"found what raises {type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"
        raise archive.refusal(fact) from error


def manifest_of(archive: Archive) -> dict[str, Any]:
    """The manifest, of a version that this tg reads."""
    where = f"{archive.path}: {MANIFEST}"
    try:
        value = json.loads(archive.text(MANIFEST))
    except (ValueError, RecursionError) as error:
        raise archive.refusal(f"{MANIFEST}: found no JSON: {error}") from error
    manifest = fields(value, {"format": str, "version": int, "needs": str, "written_by": str}, where)
    if manifest["format"] != "tg model" or manifest["version"] < 1:
        raise archive.refusal(f"found the format {manifest['format'][:40]!r}, needed 'tg model'")
    if manifest["version"] > VERSION:
        fact = f"found version {manifest['version']} of the format, needed at most {VERSION}, as tg {__version__} reads"
        raise archive.refusal(fact, hint=f'pip install --upgrade "tg-core>={_release(manifest["needs"])}"')
    fields(manifest, {"plugins": dict, "shared": list, "functions": list}, where)
    if not 1 <= len(manifest["functions"]) <= MOST_FUNCTIONS or len(manifest["shared"]) > MOST_NAMES:
        counts = f"{len(manifest['functions'])} functions, {len(manifest['shared'])} shared variables"
        raise archive.refusal(f"found {counts}, needed at least one function, and fewer")
    return manifest


def _release(text: str) -> str:
    """A version for a command; of what is none nothing."""
    return text if len(text) <= 20 and text.replace(".", "").isdecimal() else "0"


def _need_plugins(archive: Archive, manifest: Mapping[str, Any]) -> None:
    """Refuse ops that are not known here, naming the distribution that had them."""
    ops = known_ops()
    named = {getattr(op, "name", name) for name, op in ops.items()} | ops.keys()
    for distribution, plugin in manifest["plugins"].items():
        where = f"{archive.path}: plugin {distribution[:40]}"
        record = fields(plugin, {"version": str, "ops": list}, where)
        missing = [str(name) for name in record["ops"] if name not in named]
        if missing:
            fact = f"found {', '.join(missing[:3])[:100]}, needed ops that are known here"
            is_name = distribution.replace("-", "").replace("_", "").isalnum() and distribution.isascii()
            hint = f"{distribution[:40]} {_release(record['version'])} has them" if is_name else None
            raise archive.refusal(fact, hint=hint)


def _shared(record: Any, weights: Mapping[str, Array], where: str) -> Shared:
    record = fields(record, {"name": str, "fixed": bool}, where)
    kind = type_of(record.get("type"), where)
    array = in_dtype(weights.get(record["name"]), kind.dtype, f"{where}: {record['name'][:80]}")
    _need_fit(array, kind, f"{where}: {record['name'][:80]}")
    return Shared(kind, Value(array), _name(record.get("label"), where), is_fixed=record["fixed"])


def _need_fit(array: Array, kind: TensorType, where: str) -> None:
    lengths = zip(kind.static.shape, array.shape, strict=False)
    if array.ndim != kind.ndim or any(n is not None and n != m for n, m in lengths):
        raise FileError(message(f"load: {where}: found the shape {list(array.shape)}, needed {kind}"))


def _name(value: Any, where: str) -> str | None:
    if value is not None and not (isinstance(value, str) and len(value) <= LONGEST_NAME):
        raise FileError(message(f"load: {where}: found the name {str(value)[:40]}, needed a string or null"))
    return value


class _Reader:
    """Reads the functions of a file, one by one."""

    def __init__(
        self,
        archive: Archive,
        shared: list[Shared],
        weights: Mapping[str, Array],
        beside: Mapping[str, Array],
        backend: str | BackendChoice | None,
        options: Mapping[str, Any],
    ) -> None:
        self.archive, self.shared, self.beside = archive, shared, beside
        self.constants = {name.removeprefix("constant."): array for name, array in weights.items()}
        self.backend, self.options = backend, options

    def request(self, k: int, record: Any) -> Request:
        """The expression of a function, over its inputs and shared variables."""
        where = f"{self.archive.path}: function {k}"
        kinds = {
            "name": str, "inputs": list, "results": int, "sources": list, "targets": list, "defaults": list,
            "donated": list, "options": dict, "general": dict, "golden": dict,
        }  # fmt: skip
        record = fields(record, kinds, where)
        _name(record["name"], where)
        if _name(record.get("key"), where) is None and k:
            raise self.archive.refusal(f"function {k}: found no name")
        inputs = [
            Variable(type_of(fields(v, {}, where).get("type"), where), name=_name(v.get("name"), where))
            for v in record["inputs"][:MOST_NAMES]
        ]
        sources, targets = (self._chosen(record[part], where) for part in ("sources", "targets"))
        outputs = structure_of(record.get("outputs"), where)
        arguments = record.get("arguments")
        nesting = None if arguments is None else Nesting(tuple(structure_of(a, where) for a in _list(arguments, where)))
        if nesting is not None and len(nesting.places) != len(inputs):
            raise self.archive.refusal(f"function {k}: found {len(nesting.places)} arguments, needed {len(inputs)}")
        results = self._results(k, [*inputs, *sources], record["results"] + len(targets))
        if record["results"] < 0 or _leaves(outputs.key) != record["results"]:
            raise self.archive.refusal(
                f"function {k}: found outputs in another structure than {record['results']} results"
            )
        for target, new in zip(targets, results[record["results"] :], strict=True):
            if target.type.dtype != new.type.dtype or target.type.ndim != new.type.ndim or target.is_fixed:
                raise self.archive.refusal(f"function {k}: found {new.type} for {target.type}, which it updates")
        places = range(len(inputs))
        defaults = {
            j: self._beside(f"{k}.default.{j}", inputs[j].type) for j in _chosen_of(record["defaults"], places, where)
        }
        donated = frozenset(_chosen_of(record["donated"], places, where))
        parts = tuple(inputs), tuple(sources), tuple(results), tuple(targets), outputs
        return Request(*parts, self._options(record, where), defaults, donated, nesting)

    def golden(self, k: int, record: Any, f: Function) -> tuple[list[Array], list[Array]]:
        """The golden inputs of a function, and the results that it is to have."""
        where, request = f"{self.archive.path}: function {k}", f.request
        golden = fields(record["golden"], {"inputs": list, "outputs": list, "state": list}, where)
        kinds = {
            "inputs": [v.type for v in request.inputs],
            "outputs": [v.type for v in request.results[: request.count]],
            "state": [v.type for v in request.results[request.count :]],
        }
        arrays: dict[str, list[Array]] = {}
        for part, types in kinds.items():
            if len(golden[part]) != len(types):
                raise self.archive.refusal(
                    f"function {k}: found {len(golden[part])} golden {part}, needed {len(types)}"
                )
            pairs = zip(golden[part], types, strict=True)
            arrays[part] = [self._golden(f"{k}.{part}.{name}", t) for name, t in pairs]
        return arrays["inputs"], [*arrays["outputs"], *arrays["state"]]

    def _golden(self, name: str, kind: TensorType) -> Array:
        """A golden array in the dtype of the program, which is another than its own if the option dtype is."""
        array, stored = self.beside.get(name), kind.dtype
        if array is not None and is_inexact(stored) and is_inexact(own := dtype_name(array.dtype)):
            pairs = {real: dtype for dtype, real in REAL.items()}
            stored = pairs.get(own, own) if is_complex(stored) else own
        return self._beside(name, kind.with_dtype(stored)).astype(kind.numpy_dtype, copy=False)

    def _beside(self, name: str, kind: TensorType) -> Array:
        where = f"{self.archive.path}: {name[:80]}"
        array = in_dtype(self.beside.get(name), kind.dtype, where)
        _need_fit(array, kind, where)
        return array

    def _chosen(self, numbers: list[Any], where: str) -> list[Shared]:
        return [self.shared[n] for n in _chosen_of(numbers, range(len(self.shared)), where)]

    def _results(self, k: int, variables: list[Variable], count: int) -> list[Variable]:
        """The results of a function's text over variables."""
        name = f"functions/{k}.tg"
        graph = parse(self.archive.text(name), self.constants)
        types = [v.type.static for v in variables]
        if list(graph.input_types) != types or len(graph.outputs) != count:
            counts = f"{graph.arity} inputs and {len(graph.outputs)} outputs"
            raise self.archive.refusal(
                f"{name}: found {counts}, needed {len(variables)} and {count}, of the manifest's types"
            )
        with Requirements():  # found again where they are imported
            return list(graph.instantiate(variables))

    def _options(self, record: Mapping[str, Any], where: str) -> Options:
        kinds = {"mode": str, "exclude": list, "nan_guard": bool, "native": bool, "compile": str, "limit": int}
        value = fields(record["options"], kinds, where)
        checkpointing: Any = value.get("checkpointing")
        is_known = (
            value["mode"] in MODES
            and value["compile"] in COMPILES
            and all(isinstance(name, str) for name in value["exclude"])
            and 1 <= value["limit"] <= 1 << 20
            and (checkpointing in CHECKPOINTINGS if type(checkpointing) is str else _is_count(checkpointing))
        )
        if not is_known:
            raise self.archive.refusal("found options that this tg does not have")
        return Options(
            self._choice(record["general"]),
            mode=value["mode"],
            exclude=frozenset(value["exclude"]),
            nan_guard=value["nan_guard"],
            name=record["name"],
            native=value["native"],
            compile=value["compile"],
            limit=value["limit"],
            checkpointing=checkpointing,
        )

    def _choice(self, record: Mapping[str, Any]) -> BackendChoice:
        """The backend to compile for, with the general options of the file where none are given."""
        allowed = {"dtype": FLOATS, "amp": ("bfloat16", "float16"), "precision": ("highest", "bfloat16x3", "bfloat16")}
        plain, general = General(), {}
        for name, values in allowed.items():
            value = record.get(name, getattr(plain, name))
            if value != getattr(plain, name):
                if value not in values:
                    raise self.archive.refusal(f"{name}: found {str(value)[:40]!r}, needed one of {', '.join(values)}")
                general[name] = value
        chosen = self.backend if self.backend is not None else current().backend
        if isinstance(chosen, BackendChoice):
            if self.options:
                hint = "tg.backend(name, …) takes them"
                raise OptionError(message(f"load: found options beside {chosen.name!r}, needed them in it", hint=hint))
            unset = {name: v for name, v in general.items() if getattr(chosen.general, name) == getattr(plain, name)}
            return dataclasses.replace(chosen, general=dataclasses.replace(chosen.general, **unset))
        if not isinstance(chosen, str):
            raise InputError(message(f"backend: found {chosen!r}, needed a name or tg.backend(name, …)"))
        return with_options(chosen, **{**general, **self.options})


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise FileError(message(f"load: {where}: found {str(value)[:40]}, needed a list"))
    return value


def _chosen_of(numbers: list[Any], places: range, where: str) -> list[int]:
    """Numbers that are places, each once."""
    if not all(type(n) is int and n in places for n in numbers) or len(set(numbers)) != len(numbers):
        raise FileError(message(f"load: {where}: found {str(numbers)[:40]}, needed numbers below {len(places)}"))
    return numbers


def _leaves(key: Any) -> int:
    """The number of leaves of a structure."""
    if key is None:
        return 0
    return 1 if isinstance(key, str) else sum(map(_leaves, key[2]))
