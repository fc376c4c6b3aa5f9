"""Arguments of functions of random numbers: keys, shapes, dtypes, and parameters that broadcast to the shape."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

import numpy as np

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.nodes import Constant, Variable, size_value
from tg.ops.arranging import broadcast_shapes
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import where
from tg.ops.shape import specify_shape
from tg.ops.sized_ops import merge_sizes, split_sizes
from tg.types.dtypes import dtype_name, is_float, is_inexact, is_integer
from tg.types.lengths import same
from tg.variables.conversion import as_variable, float_name, promoted, weakly_cast
from tg.variables.structure import hint_of, short

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg.types.lengths import Length

    Shape = tuple[int | Length, ...]

P = ParamSpec("P")
R = TypeVar("R")

SCALES: Final = ("scale", "sigma")
WORDS: Final = 2  # of a key, each uint32
KEY_HINT: Final = "tg.random.key(seed) makes a key of an integer"


def shape_by_name(sampler: Callable[P, R]) -> Callable[P, R]:
    """A sampler that says what to do about one more argument by position, where NumPy has the shape.

    Raises:
        InputError: there are more arguments than parameters.
    """
    kinds = [p.kind for p in inspect.signature(sampler).parameters.values()]
    most = kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD)

    @functools.wraps(sampler)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if len(args) > most:
            text = f"{sampler.__name__}: found {len(args)} arguments by position, needed at most {most}"
            raise InputError(message(text, hint=f"shape={args[most]!r} is the shape of what is drawn"))
        return sampler(*args, **kwargs)

    return checked


def packed_key(what: str, key: Any) -> Variable:
    """The words of a key as one uint64: the first one is the high one.

    Raises:
        DtypeError: the key is no array of uint32.
        InputError: it is no array of numbers, such as a stream or a generator.
        ShapeError: it has not the shape (2,); a check where that is known at run time only.
    """
    if str(getattr(key, "dtype", "")).startswith("key<"):  # jax.random.key, where jax.random.PRNGKey has words
        text = f"{what}: key: found a key of JAX, {key.dtype}, needed uint32[2]"
        raise DtypeError(message(text, hint="jax.random.key_data(key) has its words"))
    try:
        words = as_variable(key)
    except InputError as error:
        text = f"{what}: key: found {short(key)}, needed uint32[2]"
        raise InputError(message(text, hint=hint_of(key, KEY_HINT))) from error
    if words.type.dtype != "uint32":
        raise DtypeError(message(f"{what}: key: found {words.type}, needed uint32[2]", hint=KEY_HINT))
    if words.type.ndim != 1 or words.type.shape[0] not in (WORDS, None):
        hint = "tg.vmap maps over keys: each lane has its own"
        raise ShapeError(message(f"{what}: key: found {words.type}, needed uint32[2]", hint=hint))
    high, low = (cast_variable(specify_shape(words, (WORDS,), f"{what}: key")[k], "uint64") for k in range(WORDS))
    return high << 32 | low


def drawn_shape(shape: Any) -> Shape:
    """A shape as lengths: ints and lengths that are known at run time.

    Raises:
        InputError: a length is no integer.
        ShapeError: a known length is negative.
    """
    field, sizes = split_sizes(list(shape) if isinstance(shape, tuple | list) else [shape])
    return merge_sizes(field, [size_value(v) for v in sizes])


def parameters(what: str, **arguments: Any) -> list[Any]:
    """The parameters of a distribution, none of which is a shape.

    Raises:
        InputError: one is a tuple: JAX takes a shape there.
    """
    for name, value in arguments.items():
        if isinstance(value, tuple):
            text = f"{what}: {name}: found the tuple {value!r}, needed a number or an array"
            raise InputError(message(text, hint=f"shape={value!r} is the shape of what is drawn"))
    return list(arguments.values())


def floating_dtype(what: str, dtype: object, values: Sequence[Any]) -> str:
    """The dtype of a continuous draw: the one asked for, else that of the parameters, float64 for integers.

    Raises:
        DtypeError: it is no real floating one.
    """
    if dtype is None:
        common = promoted(values)[1] if values else "bool"
        return _floating(what, common) if is_inexact(common) else float_name(None)
    return _floating(what, dtype_name(dtype))


def counting_dtype(what: str, dtype: object) -> str:
    """The dtype of counts, which can say that there is none.

    Raises:
        DtypeError: it is no signed integer.
    """
    name = dtype_name(dtype)
    if name.startswith("uint") or not is_integer(name):
        raise DtypeError(message(f"{what}: dtype: found {name}, needed a signed integer"))
    return name


def _floating(what: str, dtype: str) -> str:
    if not is_float(dtype):
        raise DtypeError(message(f"{what}: dtype: found {dtype}, needed a real floating one"))
    return dtype


def broadcast_parameters(
    what: str, arguments: Mapping[str, Any], shape: Any, dtype: str
) -> tuple[list[Variable], Shape]:
    """The parameters in a dtype, a scale below 0 as NaN, and the shape of the draw.

    Raises:
        ShapeError: they do not broadcast to it.
    """
    operands = [weakly_cast(v, dtype) for v in arguments.values()]
    lengths = common_shape(what, operands, shape)
    return [_not_negative(v) if name in SCALES else v for name, v in zip(arguments, operands, strict=True)], lengths


def _not_negative(scale: Variable) -> Variable:
    """A scale that is NaN where it is below 0: the draws would be those of its size, mirrored."""
    if isinstance(scale, Constant) and bool(np.all(scale.data >= 0)):
        return scale
    return where(scale >= 0, scale, np.nan)


def common_shape(what: str, operands: Sequence[Variable], shape: Any) -> Shape:
    """The shape of a draw: the one asked for, else what the parameters broadcast to.

    Raises:
        ShapeError: they do not broadcast to the one asked for.
    """
    return agreed_shape(what, broadcast_shapes(*(v.shape for v in operands)), shape)


def need_vectors(what: str, v: Variable) -> Variable:
    """A parameter whose last axis is that of a vector.

    Raises:
        ShapeError: it has no axis.
    """
    if not v.type.ndim:
        raise ShapeError(message(f"{what}: found {v.type}, needed at least one axis"))
    return v


def agreed_shape(what: str, common: Shape, shape: Any) -> Shape:
    """The shape of a draw: the one asked for, else the one that the parameters have in common.

    Raises:
        ShapeError: that does not broadcast to the one asked for.
    """
    if shape is None:
        return common
    target = drawn_shape(shape)
    text = f"{what}: found parameters of shape {common}, needed one that broadcasts to {target}"
    try:
        both = broadcast_shapes(common, target)
    except ShapeError as error:
        raise ShapeError(message(text)) from error
    if len(both) != len(target) or not all(map(same, both, target)):
        raise ShapeError(message(text))
    return target
