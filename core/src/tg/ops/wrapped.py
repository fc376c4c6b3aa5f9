"""`tg.wrap`: a Python function of NumPy arrays as an op, opaque but for its declared types and its gradient."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import DtypeError, InputError, NotDifferentiable, ShapeError, message
from tg.graph.nodes import Variable
from tg.graph.op import Op
from tg.ops.creation import zeros_like
from tg.ops.elementwise.cast import cast_variable
from tg.ops.reduction import reduce_sum
from tg.types.dtypes import is_inexact
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.variables.like import TensorLike

    Array = np.ndarray[Any, Any]


@final
class Wrapped(Op):
    """A Python function, called with read-only NumPy arrays; make one with `tg.wrap`.

    `loops` has an entry for each batch axis, outermost first: which operands carry it. The function is called for each
    element of a batch.

    Shapes:
        as declared
    """

    fn: Any
    label: str
    outputs: tuple[TensorType, ...] | None  # None: `rule` tells
    rule: Any
    gradient: Any
    loops: tuple[tuple[bool, ...], ...] = ()
    opaque = True
    has_effect = True
    calls_python = True

    @property
    def name(self) -> str:
        """The function's name."""
        return self.label

    @property
    def _inner(self) -> Wrapped:
        """The same without the outermost batch axis."""
        return Wrapped(self.fn, self.label, self.outputs, self.rule, self.gradient, self.loops[1:])

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The declared types, behind the batch axes."""
        if not self.loops:
            return self.outputs if self.outputs is not None else as_types(self.rule(*inputs), f"{self.name}: infer")
        flags = self.loops[0]
        types = self._inner.infer(*(_without_first(t, b) for t, b in zip(inputs, flags, strict=True)))
        size = next(t.shape[0] for t, b in zip(inputs, flags, strict=True) if b)
        return tuple(t.with_shape((size, *t.shape)) for t in types)

    def perform(self, *arrays: Array) -> tuple[Array, ...]:
        """Results of the function, as new arrays.

        Raises:
            InputError: another number of results than declared.
            DtypeError, ShapeError: a result of another type than declared.
        """
        declared = self.infer(*(TensorType(a.dtype, a.shape) for a in arrays))
        if not self.loops:
            return self._called(arrays, declared)
        flags, inner = self.loops[0], self._inner
        count = next(len(a) for a, b in zip(arrays, flags, strict=True) if b)
        rows = [
            inner.perform(*(a[k, ...] if b else a for a, b in zip(arrays, flags, strict=True))) for k in range(count)
        ]
        if not rows:
            return tuple(np.zeros([n if type(n) is int else 0 for n in t.shape], t.numpy_dtype) for t in declared)
        return tuple(np.stack(column) for column in zip(*rows, strict=True))

    def _called(self, arrays: Sequence[Array], declared: Sequence[TensorType]) -> tuple[Array, ...]:
        value = self.fn(*map(_readonly, arrays))
        results = value if isinstance(value, tuple | list) else (value,)
        if len(results) != len(declared):
            raise InputError(message(f"{self.name}: found {len(results)} results, declared {len(declared)}"))
        return tuple(self._result(k, v, t) for k, (v, t) in enumerate(zip(results, declared, strict=True)))

    def _result(self, k: int, value: Any, declared: TensorType) -> Array:
        array = np.asarray(value, declared.numpy_dtype if type(value) in (bool, int, float) else None)
        text = f"{self.name}: result {k}: found {array.dtype}{list(array.shape)}, declared {declared}"
        if array.dtype != declared.numpy_dtype:
            raise DtypeError(message(text, hint=f"return the result .astype({declared.dtype!r})"))
        pairs = zip(array.shape, declared.shape, strict=False)
        if array.ndim != declared.ndim or any(type(n) is int and n != m for m, n in pairs):
            raise ShapeError(message(text))
        return np.array(array)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The cotangents that the function given as `grad` builds; absent cotangents are zeros for it."""
        if self.gradient is None:
            hint = "tg.wrap(…, grad=f), where f(inputs, outputs, cotangents) gives the cotangents of the inputs"
            raise NotDifferentiable(message(f"{self.name}: the wrapped function has no gradient", hint=hint))
        if self.loops:
            return self._batched_pullback(tools, inputs, outputs, cotangents)
        dys = [
            dy if dy is not None or not is_inexact(y.type.dtype) else zeros_like(y)
            for y, dy in zip(outputs, cotangents, strict=True)
        ]
        value = self.gradient(tuple(inputs), tuple(outputs), tuple(dys))
        dxs = value if isinstance(value, tuple | list) else (value,)
        if len(dxs) != len(inputs):
            hint = "None stands for an input that does not take part"
            text = f"{self.name}: grad: found {len(dxs)} cotangents, needed {len(inputs)}"
            raise InputError(message(text, hint=hint))
        return [
            None if dx is None else self._cotangent(k, dx, x) for k, (dx, x) in enumerate(zip(dxs, inputs, strict=True))
        ]

    def _cotangent(self, k: int, value: Any, x: Variable) -> Variable | None:
        if not is_inexact(x.type.dtype):
            return None
        dx = as_variable(value)
        pairs = zip(dx.type.shape, x.type.shape, strict=False)
        if dx.type.ndim != x.type.ndim or any(None not in (a, b) and a != b for a, b in pairs):
            raise ShapeError(message(f"{self.name}: grad: cotangent {k}: found {dx.type}, needed {x.type}"))
        return cast_variable(dx, x.type.dtype)

    def _batched_pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The pullback of one element, batched; what an operand without the batch axis gets is summed over it."""
        flags = self.loops[0]
        ins = [_element(x) if b else x for x, b in zip(inputs, flags, strict=True)]
        outs = [_element(y) for y in outputs]
        dys = [None if dy is None else _element(dy) for dy in cotangents]
        element_dxs = self._inner.pullback(tools, ins, outs, dys)
        pairs = [*zip(ins, inputs, strict=True), *zip(outs, outputs, strict=True), *zip(dys, cotangents, strict=True)]
        values = {id(v): w for v, w in pairs if v is not None and v is not w}
        rows = iter(tools.vectorized([dx for dx in element_dxs if dx is not None], values, outputs[0].shape[0]))
        dxs = [None if dx is None else next(rows) for dx in element_dxs]
        return [dx if dx is None or b else reduce_sum(dx, (-dx.type.ndim,)) for dx, b in zip(dxs, flags, strict=True)]

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """The function called for each element of the batch."""
        loops = (tuple(map(bool, batched)), *self.loops)
        result = Wrapped(self.fn, self.label, self.outputs, self.rule, self.gradient, loops)(*inputs)
        return result if isinstance(result, tuple) else (result,)


def _readonly(array: Array) -> Array:
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _without_first(t: TensorType, batched: bool) -> TensorType:
    return t.with_shape(t.shape[1:]) if batched else t


def _element(v: Variable) -> Variable:
    """A leaf in the place of one element of a batch."""
    element = Variable(v.type.with_shape(v.type.shape[1:]))
    element.with_lengths(v.shape[1:])
    return element


def as_types(types: Any, what: str) -> tuple[TensorType, ...]:
    """Types given as such or by example: a type, a variable, an array, a dtype for a scalar, or a sequence of these.

    Raises:
        InputError: something else.
    """
    if isinstance(types, list | tuple):
        return tuple(_as_type(v, what) for v in types)
    return (_as_type(types, what),)


def _as_type(value: Any, what: str) -> TensorType:
    if isinstance(value, TensorType):
        return value
    if isinstance(value, Variable):
        return value.type
    if isinstance(value, np.ndarray | np.generic):
        return TensorType(value.dtype, value.shape)
    if isinstance(value, str | np.dtype):
        return TensorType(value)
    hint = 'tg.TensorType("float64", (None,)) is a vector; an array or a variable is an example of its type'
    raise InputError(message(f"{what}: found {value!r}, needed types", hint=hint))


@final
class WrappedFunction:
    """A Python function that builds a node when it is called with variables; make one with `tg.wrap`."""

    def __init__(self, fn: Callable[..., Any], op: Wrapped, several: bool | None) -> None:
        self.fn, self.op, self._several = fn, op, several
        functools.update_wrapper(self, fn)

    def __call__(self, *operands: Any) -> Any:
        """Apply the function to variables: a variable, or a tuple of them if several were declared."""
        variables = [as_variable(v) for v in operands]
        try:
            inspect.signature(self.fn).bind(*variables)
        except ValueError:  # a builtin that does not say what it takes
            pass
        except TypeError as error:
            raise InputError(message(f"{self.op.name}: {error}")) from None
        result = self.op(*variables)
        return (result,) if self._several and not isinstance(result, tuple) else result

    def __repr__(self) -> str:
        return f"<wrapped {self.op.name}>"


def wrap(
    fn: Callable[..., Any] | None = None,
    *,
    outputs: Any = None,
    infer: Callable[..., Any] | None = None,
    grad: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """A Python function of NumPy arrays as an op; without `fn`, a decorator.

    The function runs on the reference backend and on those that run node by node in Python; compiled ones refuse it. It
    gets read-only arrays, and may be called as often as the program likes, so its results may depend on nothing else.
    What it raises keeps its class.

    Args:
        fn: called with one array for each operand; returns an array, or a tuple or list of several.
        outputs: the types of the results: a `tg.TensorType` (lengths may be None), a variable or an array as an
            example, a dtype for a scalar; a tuple of them for several results.
        infer: instead of `outputs`, a function from the operands' types to these, which may pass lengths on.
        grad: `grad(inputs, outputs, cotangents)`, each a tuple of variables, builds the cotangents of the inputs, None
            for what does not take part, with ops or with functions that are wrapped themselves.
        name: in texts and messages; the function's own unless given.
    Raises:
        InputError: neither or both of `outputs` and `infer`, or something that is neither a type nor an example.
    Example:
        >>> import tg
        >>> @tg.wrap(infer=lambda x: x, grad=lambda xs, ys, dys: (-dys[0] * tg.sin(xs[0]),))
        ... def cosine(x):
        ...     return np.cos(x)
        >>> x = tg.vector("x")
        >>> tg.grad(tg.sum(cosine(x)), x).eval({x: [0.0]})
        array([-0.])
    """
    if fn is None:
        return functools.partial(wrap, outputs=outputs, infer=infer, grad=grad, name=name)
    if not callable(fn):
        raise InputError(message(f"wrap: found {fn!r}, needed a function"))
    label = name or str(getattr(fn, "__name__", "wrapped")).strip("<>")
    if (outputs is None) == (infer is None):
        fault = "neither outputs nor infer" if outputs is None else "both outputs and infer"
        raise InputError(message(f"wrap: {label}: found {fault}, needed one of them"))
    for what, function in (("infer", infer), ("grad", grad)):
        if function is not None and not callable(function):
            raise InputError(message(f"wrap: {label}: {what}: found {function!r}, needed a function"))
    types = None if outputs is None else as_types(outputs, f"wrap: {label}: outputs")
    several = isinstance(outputs, list | tuple)
    return WrappedFunction(fn, Wrapped(fn, label, types, infer, grad), several)


def debug_print(x: TensorLike, text: str = "{}") -> Variable:
    """x, which is printed each time that it is computed, behind `text.format(x)`.

    It is a Python function: the reference and backends that run node by node call it, compiled ones refuse it.

    Args:
        text: in which `{}` stands for the array.
    Example:
        >>> import tg
        >>> x = tg.scalar("x")
        >>> float(tg.debug_print(x * 2, "twice: {}").eval({x: 3.0}))
        twice: 6.0
        6.0
    """

    def shown(array: Array) -> Array:
        print(text.format(array))  # noqa: T201 (that is what it is for)
        return array

    return wrap(shown, infer=lambda t: t, grad=lambda xs, ys, dys: (dys[0],), name="debug_print")(x)  # type: ignore[no-any-return]
