"""Weights in files: safetensors, under the paths of the model, or under other names by a table."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from tg.errors import DtypeError, InputError, message
from tg.functions.shared import Shared, shared
from tg.graph.nodes import Constant, Variable
from tg.nn.module import Initial, leaves, rebuilt
from tg.nn.weights import a_model
from tg.types.dtypes import can_cast_safely, dtype_name, is_float, numpy_dtype
from tg.variables.conversion import NO_ARRAY
from tg.variables.dlpack import as_numpy
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Array = np.ndarray[Any, Any]
    Rule = tuple[str, str | None] | tuple[str, str | None, Callable[[Array], Array]]

M = TypeVar("M")

OF_FILES: Final = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "BOOL": "bool", "C64": "complex64",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16",
    "U8": "uint8",
}  # fmt: skip
COUNTERS: Final = "num_batches_tracked"  # of PyTorch's batch norms: batches are not counted here


def save(model: Any, path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None) -> None:
    """Write all values of a model, its state among them, to a file of safetensors.

    The file is there whole, or not at all. `tg.nn.load` reads it, and so does each other library that knows the format.

    Args:
        model: a module, or lists and dicts of modules and shared variables: of a training also what its optimizer
            keeps (`tg.optimize.state(updates)`).
        metadata: texts by name, which the file has beside the arrays.
    Raises:
        InputError: a weight has no value yet; safetensors is not installed.
    Example:
        >>> import tempfile, tg
        >>> model = tg.nn.randomized(tg.nn.Dense(3, 2), tg.random.key(0))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tg.nn.save(model, f"{folder}/model.safetensors")
        ...     again = tg.nn.load(tg.nn.Dense(3, 2), f"{folder}/model.safetensors")
        >>> bool((again.weight.get_value() == model.weight.get_value()).all())
        True
    """
    _safetensors("save")
    from safetensors.numpy import save as serialized

    weights: dict[int, tuple[str, Shared]] = {}
    for name, leaf, _ in leaves(a_model("save", model)):
        if isinstance(leaf, Constant):
            continue
        if not isinstance(leaf, Shared):
            hint = "model = tg.nn.randomized(model, key) draws what has no value yet"
            text = f"save: {name}: found {short(leaf)}, needed a shared variable"
            raise InputError(message(text, hint=hint if isinstance(leaf, Initial) else None))
        weights.setdefault(id(leaf), (name, leaf))
    arrays = {name: np.asarray(v.snapshot.numpy, order="C") for name, v in weights.values()}
    if len(arrays) < len(weights):
        raise InputError(message("save: found two weights of one path"))
    target = Path(path)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{target.name}.") as folder:
        written = Path(folder) / target.name
        written.write_bytes(serialized(arrays, dict(metadata) if metadata else None))  # with the rights of other files
        written.replace(target)


def load(
    model: M,
    source: Any,
    names: Sequence[Rule] = (),
    *,
    dtype: object = None,
    partial: bool = False,
) -> M:
    r"""The model with the values of a file or of a dict of arrays: of `tg.nn.save`, or a state_dict of PyTorch.

    A weight without a value gets one, in the dtype of the file or in `dtype`; one that has a value gets another, in the
    dtype it has, also for functions that are compiled. Nothing changes if something does not fit.

    Args:
        source: a path of a file of safetensors, or arrays of any library by name: those of nested dicts by their
            paths, joined by dots.
        names: which name of the source is which path, if they differ: pairs of a regular expression and what it becomes
            (`\1` stands for a group; None: the array is not wanted), or triples with a function of the array. The
            first that matches a whole name counts. What ends in "num_batches_tracked" is not wanted.
        dtype: of weights without a value, in place of the file's.
        partial: whether weights may be missing in the source; they stay as they are.
    Raises:
        InputError: the source lacks a weight, has one that the model lacks, or one of another shape; it is no file of
            safetensors, or safetensors is not installed.
        DtypeError: the cast to the dtype of a weight that has a value would lose values.
    Example:
        >>> import numpy as np, tg
        >>> arrays = {"fc.weight": np.ones((3, 2), "float32"), "fc.bias": np.zeros(2, "float32")}
        >>> names = [(r"fc\.weight", "weight", np.transpose), (r"fc\.(.*)", r"\1")]
        >>> model = tg.nn.load(tg.nn.Dense(3, 2), arrays, names)
        >>> model.weight.get_value().shape
        (2, 3)
    """
    places = {path: leaf for path, leaf, _ in leaves(a_model("load", model))}
    values: dict[int, Array] = {}
    wanted = _renamed(_arrays(source), _rules(names))
    _none_unknown(wanted, places)
    for path, (name, value) in wanted.items():
        leaf = places[path]
        shape = leaf.shape if isinstance(leaf, Initial) else leaf.type.shape
        if len(shape) != value.ndim or any(type(n) is int and n != m for n, m in zip(shape, value.shape, strict=True)):
            text = f"load: {path}: found {dtype_name(value.dtype)}{list(value.shape)}, needed the shape {list(shape)}"
            raise InputError(message(text, hint="names= may transpose it: (pattern, path, numpy.transpose)"))
        cast = _cast(path, value, leaf, dtype)
        if id(leaf) in values and not np.array_equal(values[id(leaf)], cast):
            raise InputError(
                message(f"load: {name}: found other values of {path} than in another place of this weight")
            )
        values[id(leaf)] = cast
    missing = [path for path, leaf in places.items() if id(leaf) not in values]
    if missing and not partial:
        text = f"load: the source lacks {some(missing)}"
        raise InputError(message(text, hint="partial=True leaves these as they are"))
    variables = {}
    for path, leaf in places.items():
        if id(leaf) in values and isinstance(leaf, Initial) and id(leaf) not in variables:
            variables[id(leaf)] = shared(values[id(leaf)], path, shape=leaf.shape)
        elif id(leaf) in values and isinstance(leaf, Shared):
            leaf.set_value(values[id(leaf)])
    return rebuilt(model, lambda _, part: variables.get(id(part), part)) if variables else model


def _cast(path: str, value: Array, leaf: Any, dtype: object) -> Array:
    """An array in the dtype that a weight has, or is to have."""
    if isinstance(leaf, Initial):
        needed = leaf.dtype or dtype_name(dtype or value.dtype)
        if leaf.dtype is None and not (is_float(needed) and is_float(dtype_name(value.dtype))):
            text = f"load: {path}: found {dtype_name(value.dtype)}, needed real floating numbers"
            if is_float(dtype_name(value.dtype)):
                text = f"load: dtype: found {needed}, needed a real floating one"
            raise DtypeError(message(text))
    elif isinstance(leaf, Shared):
        needed = leaf.type.dtype
        if not can_cast_safely(dtype_name(value.dtype), needed):
            text = f"load: {path}: found {dtype_name(value.dtype)}, needed {needed}"
            raise DtypeError(message(text, hint="a model that has no values yet takes dtype="))
    else:
        raise InputError(message(f"load: {path}: found {short(leaf)}, needed a shared variable"))
    return value.astype(numpy_dtype(needed), copy=False)


def _rules(names: Any) -> list[Rule]:
    """The table, looked at.

    Raises:
        InputError: a row is no pair or triple.
    """
    rows = list(names) if isinstance(names, list | tuple) else [names]
    for row in rows:
        is_row = isinstance(row, tuple) and len(row) in (2, 3) and isinstance(row[0], str)
        if not is_row or not isinstance(row[1], str | None) or not all(map(callable, row[2:])):
            hint = '[(r"layer(.*)", r"body\\1")] is a table of one row'
            raise InputError(message(f"load: names: found {short(row)}, needed (pattern, path)", hint=hint))
    return rows


def _renamed(arrays: Mapping[str, Array], rules: Sequence[Rule]) -> dict[str, tuple[str, Array]]:
    """For each path the name in the source and the value.

    Raises:
        InputError: two names of other values become one path.
    """
    by_path: dict[str, tuple[str, Array]] = {}
    for name, array in arrays.items():
        path, value = _by_rule(name, array, rules)
        if path in by_path and not np.array_equal(by_path[path][1], value):
            raise InputError(message(f"load: names: found {by_path[path][0]} and {name} for {path}, of other values"))
        if path is not None:
            by_path[path] = name, value
    return by_path


def _by_rule(name: str, array: Array, rules: Sequence[Rule]) -> tuple[str | None, Array]:
    if name.endswith(COUNTERS):
        return None, array
    for pattern, becomes, *convert in rules:
        matched = re.fullmatch(pattern, name)
        if matched:
            value = convert[0](array) if convert else array
            return None if becomes is None else matched.expand(becomes), value
    return name, array


def _none_unknown(wanted: Mapping[str, tuple[str, Array]], places: Mapping[str, Any]) -> None:
    """Refuse a source that has what the model lacks.

    Raises:
        InputError: it has.
    """
    unknown = [path if path == name else f"{path} ({name})" for path, (name, _) in wanted.items() if path not in places]
    if unknown:
        lines = [("the model has", some(list(places)))]
        hint = 'names= says which name is which path: [(r"layer(.*)", r"body\\1")]; None for what is not wanted'
        raise InputError(message(f"load: the model has no {some(unknown)}", *lines, hint=hint))


def some(names: Sequence[str]) -> str:
    """The first of names."""
    return ", ".join(names[:3]) + (" …" if len(names) > 3 else "")


def _arrays(source: Any) -> dict[str, Array]:
    """The arrays of a source by name."""
    if isinstance(source, Mapping):
        return dict(_named(source))
    if not isinstance(source, str | os.PathLike):
        hint = "model.state_dict() has those of a module of PyTorch" if hasattr(source, "state_dict") else None
        raise InputError(message(f"load: source: found {short(source)}, needed a path or arrays by name", hint=hint))
    library = _safetensors("load")
    try:
        parts = library.deserialize(Path(source).read_bytes())
    except OSError as error:
        raise InputError(message(f"load: {source}: {error.strerror or error}")) from error
    except library.SafetensorError as error:
        hint = "of PyTorch's own files torch.load(path) gives the arrays by name"
        raise InputError(message(f"load: {source}: found no file of safetensors: {error}", hint=hint)) from error
    arrays = {}
    for name, part in parts:
        kind = OF_FILES.get(part["dtype"])
        if kind is None:
            raise InputError(message(f"load: {name}: found the dtype {part['dtype']}, which tg does not have"))
        arrays[name] = np.frombuffer(part["data"], numpy_dtype(kind)).reshape(part["shape"])
    return arrays


def _named(arrays: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Array]]:
    """Arrays by name; those of nested dicts, as Flax has them, by their paths."""
    for key, value in arrays.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _named(value, f"{name}.")
        else:
            yield name, _array(name, value)


def _array(name: str, value: Any) -> Array:
    if isinstance(value, Shared):
        return np.asarray(value.snapshot.numpy)
    if isinstance(value, Variable):
        raise InputError(message(f"load: {name}: found the variable {value!r}, needed an array"))
    try:
        return as_numpy(value.detach().cpu() if hasattr(value, "detach") else value)
    except NO_ARRAY as error:
        raise InputError(message(f"load: {name}: found {short(value)}, needed an array")) from error


def _safetensors(what: str) -> Any:
    try:
        import safetensors
    except ImportError as error:
        hint = 'pip install "tg-core[nn]" brings it'
        raise InputError(message(f"{what}: safetensors is not installed", hint=hint)) from error
    return safetensors
