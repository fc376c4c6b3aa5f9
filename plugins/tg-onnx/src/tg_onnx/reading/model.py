"""`load` and `Model`: a file of ONNX as variables of tg."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto, defs

import tg
from tg.backend import message
from tg_onnx.reading.arrays import array_of
from tg_onnx.reading.elements import element, from_held, to_held
from tg_onnx.reading.graphs import OLDEST, Reader, Scope
from tg_onnx.reading.values import MOST_FOLDED, Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from onnx import ValueInfoProto

    from tg import Function, Shared, Variable
    from tg_onnx.reading.elements import Element

LARGEST: Final = 2**31 - 1  # bytes of a message of Protocol Buffers
LAST_VERSION: Final = (1 << 31) - 1  # of an operator set, for onnx's own tables


@final
class Model:
    """A model that was read: inputs and outputs by name, and the weights, which may be trained.

    `inputs` and `outputs` map names to variables, `weights` names of floating initialisers to shared variables. All
    are ordinary: `tg.grad(loss(model.outputs["y"]), model.weights["w"])` is a gradient.
    """

    __slots__ = ("elements", "inputs", "name", "outputs", "weights")
    name: str
    inputs: Mapping[str, Variable]
    outputs: Mapping[str, Variable]
    weights: Mapping[str, Shared]
    elements: Mapping[str, Element]  # element types of inputs and outputs

    def __init__(
        self,
        name: str,
        inputs: Mapping[str, Variable],
        outputs: Mapping[str, Value],
        weights: Mapping[str, Shared],
        elements: Mapping[str, Element],
    ) -> None:
        self.name = name
        self.inputs = inputs
        self.outputs = {key: value.variable for key, value in outputs.items()}
        self.weights = weights
        self.elements = {**elements, **{key: value.element for key, value in outputs.items()}}

    def function(self, backend: Any = None, **options: Any) -> Function | Stored:
        """The model compiled: called with arrays by position or by name, it gives a dict of arrays by name.

        Args:
            options: those of `tg.function`. `inference=True` is the default: weights keep the values that they have
                now, and what depends on them alone is computed once.
        Dtypes:
            inputs and outputs of types that tg has not (float8, int4, …) are arrays of `ml_dtypes`.
        Raises:
            NoRuleError: the backend lacks an op or a dtype.
        """
        options = {"inference": True, "on_unused_input": "ignore", **options}
        function = tg.function(list(self.inputs.values()), dict(self.outputs), backend=backend, **options)
        return Stored(function, self) if any(e.is_held for e in self.elements.values()) else function

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {v.type}" for name, v in self.inputs.items())
        outputs = ", ".join(f"{name}: {v.type}" for name, v in self.outputs.items())
        return f"<model {self.name}({inputs}) -> {outputs}>"


@final
class Stored:
    """A compiled model some of whose inputs or outputs have types that tg holds in others: arrays are converted."""

    __slots__ = ("_model", "function")
    function: Function

    def __init__(self, function: Function, model: Model) -> None:
        self.function = function
        self._model = model

    def __call__(self, *arrays: Any, **named: Any) -> dict[str, Any]:
        """The outputs by name."""
        kinds = self._model.elements
        names = [*list(self._model.inputs)[: len(arrays)], *named]
        held = [
            to_held(np.asarray(a), kinds[n]) if n in kinds and kinds[n].is_held else a
            for n, a in zip(names, (*arrays, *named.values()), strict=False)
        ]
        held += arrays[len(held) :]  # one too many is the function's to refuse
        results = self.function(*held[: len(arrays)], **dict(zip(named, held[len(arrays) :], strict=True)))
        return {name: from_held(a, kinds[name]) for name, a in results.items()}


def load(
    source: str | PathLike[str] | bytes | ModelProto,
    *,
    values: Mapping[str, Any] | None = None,
    shapes: Mapping[str, Sequence[int | None]] | None = None,
) -> Model:
    """A model of ONNX, from operator set 7 on, read into variables of tg.

    Args:
        source: the path of a file, its bytes, or a `ModelProto`.
        values: arrays for inputs that decide axes, ranks or numbers of steps, which have to be known while a model is
            read. Such inputs are none of the result. None leaves an optional input out.
        shapes: lengths of inputs in place of those in the file, None for one that stays open.
    Shapes:
        lengths without a number are open; those that share a name in the file share a `tg.dim`.
    Raises:
        InputError: the file is damaged, or names a file outside its folder.
        DtypeError: an input of strings, or of sequences.
        NoRuleError: an op, or a form of one, that tg does not read; the text names the node.
        SymbolicError: an input decides what has to be known; the hint says how to fix it.
    Example:
        >>> import onnx, tg_onnx
        >>> text = '<ir_version: 9, opset_import: ["": 17]> f (float[n] x) => (float[n] y) { y = Relu(x) }'
        >>> model = tg_onnx.load(onnx.parser.parse_model(text))
        >>> model
        <model f(x: float32[?]) -> y: float32[?]>
        >>> model.function()(x=[-1.0, 2.0])["y"]
        array([0., 2.], dtype=float32)
    """
    proto, folder = _parsed(source)
    versions = _versions(proto)
    reader = Reader(proto.functions, folder)
    scope = Scope(reader, versions)
    weights = _take_weights(scope, proto)
    inputs, kinds = _take_inputs(scope, proto, dict(values or {}), dict(shapes or {}))
    reader.names.update({id(v): (v, name) for name, v in inputs.items()})
    results = scope.read(proto.graph)
    outputs = {o.name: value for o, value in zip(proto.graph.output, results, strict=True)}
    return Model(proto.graph.name or "model", inputs, outputs, weights, kinds)


def _parsed(source: str | PathLike[str] | bytes | ModelProto) -> tuple[ModelProto, Path | None]:
    if isinstance(source, ModelProto):
        return source, None
    folder = None
    if not isinstance(source, bytes):
        path = Path(source)
        if not path.is_file():
            raise tg.InputError(message(f"tg_onnx.load: found no file {str(path)!r}, needed a model"))
        if path.stat().st_size > LARGEST:
            raise tg.InputError(message(f"{path.name}: found {path.stat().st_size} bytes, needed fewer than 2 GiB"))
        source, folder = path.read_bytes(), path.parent
    try:
        proto = onnx.ModelProto.FromString(source)
    except DecodeError as error:
        raise tg.InputError(message("tg_onnx.load: found bytes that are no model, needed a file of ONNX")) from error
    if not proto.HasField("graph"):
        raise tg.InputError(message("tg_onnx.load: found a file without a graph, needed a model"))
    return proto, folder


def _versions(proto: ModelProto) -> dict[str, int]:
    """Versions of operator sets by domain."""
    versions = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in proto.opset_import}
    version, newest = versions.get("", newest_version()), newest_version()
    if not OLDEST <= version <= newest:
        hint = "onnx.version_converter.convert_version(model, 13)" if version < OLDEST else "a newer onnx"
        raise tg.NoRuleError(
            message(f"model: found operator set {version}, needed one from {OLDEST} to {newest}", hint=hint)
        )
    for domain, number in versions.items():
        if not 0 < number <= LAST_VERSION:
            raise tg.InputError(
                message(f"model: found version {number} of {domain}, needed one from 1 to {LAST_VERSION}")
            )
    return versions


def newest_version() -> int:
    """The newest operator set that the installed onnx knows."""
    return int(defs.onnx_opset_version())


def _take_weights(scope: Scope, proto: ModelProto) -> dict[str, Shared]:
    """Put floating initialisers in as shared variables, and give these by name."""
    weights: dict[str, Shared] = {}
    for t in proto.graph.initializer:
        kind = element(t.data_type, f"initialiser {t.name!r}")
        if len(t.dims) == 0 or kind.is_held or not kind.dtype.startswith(("float", "bfloat")):
            continue
        data = array_of(t, kind, scope.reader.folder)
        weight = tg.shared(data, name=_word(t.name), shape=data.shape)
        weights[t.name] = weight
        scope.values[t.name] = Value(weight, kind, data=data if data.size <= MOST_FOLDED else None)
    return weights


def _take_inputs(
    scope: Scope, proto: ModelProto, values: dict[str, Any], shapes: dict[str, Any]
) -> tuple[dict[str, Variable], dict[str, Element]]:
    """Put the inputs in, as variables or as the arrays that were given for them."""
    constants = {t.name for t in proto.graph.initializer}
    inputs: dict[str, Variable] = {}
    kinds: dict[str, Element] = {}
    for info in proto.graph.input:
        if info.name in constants:
            continue
        kind = _element_of(info)
        if info.name in values and values[info.name] is None:
            values.pop(info.name)  # an optional value that is not there
            scope.absent.add(info.name)
            continue
        if info.name in values:
            array = to_held(np.asarray(values.pop(info.name)), kind)
            scope.values[info.name] = Value(tg.constant(array), kind)
            continue
        lengths = shapes.pop(info.name, None)
        shape = _lengths(info) if lengths is None else tuple(lengths)
        inputs[info.name] = tg.tensor(info.name, kind.dtype, shape)
        kinds[info.name] = kind
        scope.values[info.name] = Value(inputs[info.name], kind)
    for what, rest in (("values", values), ("shapes", shapes)):
        if rest:
            names = ", ".join(kinds)
            raise tg.InputError(message(f"tg_onnx.load: {what}: found {', '.join(rest)}, needed inputs: {names}"))
    return inputs, kinds


def _element_of(info: ValueInfoProto) -> Element:
    return element(_tensor_type(info).elem_type, f"input {info.name!r}")


def _tensor_type(info: ValueInfoProto) -> Any:
    """The type of an input as that of a tensor; one that is optional is there."""
    proto = info.type
    if proto.WhichOneof("value") == "optional_type":
        proto = proto.optional_type.elem_type
    if proto.WhichOneof("value") != "tensor_type":
        what = str(proto.WhichOneof("value")).removesuffix("_type")
        raise tg.DtypeError(message(f"input {info.name!r}: found a value of kind {what}, needed a tensor"))
    return proto.tensor_type


def _lengths(info: ValueInfoProto) -> tuple[Any, ...]:
    tensor = _tensor_type(info)
    if not tensor.HasField("shape"):
        hint = f"tg_onnx.load(model, shapes={{{info.name!r}: (None, 3)}}) says how many axes it has"
        raise tg.ShapeError(message(f"input {info.name!r}: found no shape, needed the number of axes", hint=hint))
    shape: list[Any] = []
    for dim in tensor.shape.dim:
        if dim.HasField("dim_value"):
            shape.append(int(dim.dim_value))
        elif dim.dim_param:
            shape.append(tg.dim(_word(dim.dim_param)))
        else:
            shape.append(None)
    return tuple(shape)


def _word(name: str) -> str:
    """A name as one word."""
    word = re.sub(r"\W", "_", name)
    return word if word[:1].isalpha() or word[:1] == "_" else f"_{word}"
