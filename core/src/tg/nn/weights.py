"""The weights of modules by their paths: drawn, listed, replaced, counted."""

from __future__ import annotations

import math
import zlib
from typing import TYPE_CHECKING, Any, TypeVar

from tg.errors import DtypeError, InputError, message, nearest
from tg.functions.make import evaluate
from tg.functions.shared import Shared, shared
from tg.graph.nodes import Constant, Variable
from tg.nn.module import Initial, Module, leaves, rebuilt
from tg.ops.random.keys import fold_in
from tg.types.dtypes import dtype_name, is_float
from tg.variables.conversion import as_variable, float_name
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Mapping

M = TypeVar("M", bound=Module)


def randomized(model: M, key: Any, dtype: object = None) -> M:
    """The model with a value for each weight that has none, drawn as its layer says.

    The key of a weight is that of the model, folded in with its path, so that a layer that is added changes no other.
    A weight that stands in two places is drawn once. Those that have values stay.

    Args:
        key: of `tg.random.key`.
        dtype: of the weights, float32 unless `tg.config(dtype=…)` says another; layers may have counters of another.
    Raises:
        InputError: no weight is without a value.
        DtypeError: the dtype is not a real floating one.
    Example:
        >>> import tg
        >>> model = tg.nn.randomized(tg.nn.Dense(3, 2), tg.random.key(0))
        >>> model
        Dense(weight=float32[2, 3], bias=float32[2])
        >>> bool((abs(model.weight.get_value()) <= 3**-0.5).all())
        True
    """
    needed = float_name(dtype, "float32")
    if not is_float(needed):
        raise DtypeError(message(f"randomized: dtype: found {needed}, needed a real floating one"))
    weights: dict[int, tuple[str, Initial]] = {}
    for path, leaf, _ in leaves(a_model("randomized", model)):
        if isinstance(leaf, Initial):
            weights.setdefault(id(leaf), (path, leaf))
    if not weights:
        hint = "a model is drawn once; keep it as it was made to draw it again"
        raise InputError(message("randomized: found no weight without a value", hint=hint))
    drawn = {}
    for number, (path, leaf) in weights.items():
        own = fold_in(key, zlib.crc32(path.encode()))
        drawn[number] = shared(_first_value(path, leaf, own, leaf.dtype or needed), path, shape=leaf.shape)
    return rebuilt(model, lambda _, part: drawn.get(id(part), part))  # type: ignore[no-any-return]


def _first_value(path: str, leaf: Initial, key: Any, dtype: str) -> Any:
    """The draw of a weight's function.

    Raises:
        InputError: it gives another shape or dtype.
    """
    value = as_variable(leaf.draw(key, leaf.shape, dtype))
    array = evaluate(value, mode="off")
    if array.shape != leaf.shape or dtype_name(array.dtype) != dtype:
        needed = f"{dtype}[{', '.join(map(str, leaf.shape))}]"
        hint = "a function that draws takes a key, a shape and a dtype, as those of tg.nn.init"
        raise InputError(message(f"randomized: {path}: found a draw {value.type}, needed {needed}", hint=hint))
    return array


def params(model: Any) -> dict[str, Shared]:
    """The weights that training moves, by path; one that stands in several places by the first. Constants stay.

    `tg.grad(loss, params)` and the optimizers of `tg.optimize` take the dict, or a part of it: what is left out stays.

    Raises:
        InputError: a weight has no value yet.
    Example:
        >>> import tg
        >>> model = tg.nn.randomized(tg.nn.Sequential(tg.nn.Dense(3, 4), tg.tanh, tg.nn.Dense(4, 1)), tg.random.key(0))
        >>> list(tg.nn.params(model))
        ['0.weight', '0.bias', '2.weight', '2.bias']
        >>> last = {path: w for path, w in tg.nn.params(model).items() if path.startswith("2.")}
    """
    return _shared("params", model, is_state=False)


def state(model: Any) -> dict[str, Shared]:
    """The variables that training changes besides, by path: running statistics.

    Raises:
        InputError: a weight has no value yet.
    Example:
        >>> import tg
        >>> list(tg.nn.state(tg.nn.randomized(tg.nn.BatchNorm(4), tg.random.key(0))))
        ['running_mean', 'running_var']
    """
    return _shared("state", model, is_state=True)


def count(model: Any) -> int:
    """The number of elements of the parameters; those of a weight that stands in two places count once.

    Example:
        >>> import tg
        >>> tg.nn.count(tg.nn.Dense(784, 10))
        7850
    """
    parameters = {id(leaf): leaf for _, leaf, is_state in leaves(a_model("count", model)) if not is_state}
    return sum(math.prod(_lengths(v)) for v in parameters.values())


def replaced(model: M, values: Mapping[str, Any]) -> M:
    """The model with other weights, or other modules, in some places.

    With variables that are inputs it is a function of them; with a weight of another place, both share it. With
    structures of `tg.vmap` it is one of many models.

    Args:
        values: by path: a variable (a constant is no parameter any more), an array, which becomes the value of a
            shared variable, or a module.
    Raises:
        InputError: the model has no such path; a weight of another shape.
    Example:
        >>> import numpy as np, tg
        >>> net, x = tg.nn.Dense(3, 1), tg.matrix("x", "float32")
        >>> models = [tg.nn.randomized(net, key) for key in tg.unstack(tg.random.split(tg.random.key(0), 5))]
        >>> many = tg.tree.map(lambda *w: tg.shared(np.stack([v.get_value() for v in w])), *map(tg.nn.params, models))
        >>> y = tg.vmap(lambda w, x: tg.nn.replaced(net, w)(x), in_axes=(0, None))(many, x)
        >>> y.eval({x: np.ones((2, 3), "float32")}).shape
        (5, 2, 1)
    """
    left = dict(values)

    def new(path: str, part: Any) -> Any:
        if path not in left or not path:
            return part
        value = left.pop(path)
        if isinstance(part, Variable | Initial) and not isinstance(value, Module):
            return _fitting(path, part, value)
        if isinstance(part, Module) and callable(value):
            return value
        raise InputError(message(f"replaced: {path}: found {short(value)} for {type(part).__name__}"))

    copy = rebuilt(a_model("replaced", model), new)
    if left:
        path = next(iter(left))
        places = {p: leaf for p, leaf, _ in leaves(model)}
        if path in places:
            first = next(p for p, leaf in places.items() if leaf is places[path])
            raise InputError(message(f"replaced: {path} is the weight of {first}, which stands in several places"))
        near = nearest(path, places)
        raise InputError(message(f"replaced: the model has no {path}", hint=f"{near[0]} exists" if near else None))
    return copy  # type: ignore[no-any-return]


def _lengths(v: Any) -> tuple[int, ...]:
    return tuple(v.shape if isinstance(v, Initial) else v.snapshot.shape if isinstance(v, Shared) else v.type.shape)


def _fitting(path: str, part: Variable | Initial, value: Any) -> Variable:
    v = as_variable(value)
    needed = part.shape if isinstance(part, Initial) else part.type.shape
    pairs = zip(v.type.shape, needed, strict=False)
    if v.type.ndim != len(needed) or any(type(a) is int and type(b) is int and a != b for a, b in pairs):
        raise InputError(message(f"replaced: {path}: found {v.type}, needed the shape {list(needed)}"))
    if isinstance(value, Variable):
        return v
    own = v.type.dtype if isinstance(part, Initial) else part.type.dtype
    return shared(value, path, dtype=own, shape=needed)  # an array is a first value, as those that are drawn


def _shared(what: str, model: Any, *, is_state: bool) -> dict[str, Shared]:
    weights: dict[int, tuple[str, Shared]] = {}
    for path, leaf, of_state in leaves(a_model(what, model)):
        if of_state == is_state:
            if isinstance(leaf, Constant):
                continue
            if not isinstance(leaf, Shared):
                hint = (
                    "model = tg.nn.randomized(model, key) draws what has no value yet, model = tg.nn.load(…) reads it"
                )
                if not isinstance(leaf, Initial):
                    hint = "the model is a function of this variable: tg.grad takes it"
                raise InputError(message(f"{what}: {path}: found {short(leaf)}, needed a shared variable", hint=hint))
            weights.setdefault(id(leaf), (path, leaf))
    named = dict(weights.values())
    if len(named) < len(weights):
        raise InputError(message(f"{what}: found two weights of one path", hint="keys of dicts go without dots"))
    return named


def a_model(what: str, model: Any) -> Any:
    """The model.

    Raises:
        InputError: it is none.
    """
    if not isinstance(model, Module | dict | list | tuple):
        raise InputError(message(f"{what}: found {short(model)}, needed a module"))
    return model
