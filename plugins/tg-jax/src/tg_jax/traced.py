"""Compiled functions for the user's own programs of JAX: `f.traceable()`.

What is traced has 64 bits inside whatever the user's flag says, as a call has. The derivative in reverse mode is tg's:
what `tg.stop_gradient` and its like say is in no program that JAX could differentiate, loops that only forward mode
passes are no hindrance, and an edge has the derivative that `tg.grad` gives it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax
import jax.numpy as jnp
from jax import core, lax

from tg import InputError
from tg.backend import Symbols, is_inexact, message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from tg.backend import Traceable

    Scope = Callable[[], AbstractContextManager[Any]]

NARROW: Final = "a second derivative, of what has floats of 64 bits inside, needs jax_enable_x64"
WIDE_NUMBERS: Final = ("f64[", "c128[")  # in the text of a program
HINT: Final = 'jax.config.update("jax_enable_x64", True), or a program of 32 bits'


def _value(length: Any) -> Any:
    return jnp.asarray(length, jnp.int64)


def _equal(a: Any, b: Any) -> bool:
    """Whether two lengths are equal, where that is known: JAX's own comparison says no where it is not."""
    return bool(a >= b) and bool(a <= b)


SYMBOLS: Final = Symbols(
    value=_value,
    minimum=core.min_dim,
    maximum=core.max_dim,
    equal=_equal,
    undecided=(jax.errors.InconclusiveDimensionOperation,),
)
"""The lengths of `jax.export`."""


def traceable(function: Traceable, *, scope: Scope) -> Callable[..., Sequence[Any]]:
    """A function of arrays, which JAX may trace and differentiate.

    Args:
        scope: makes contexts of 64 bits.
    """
    dtypes = [t.numpy_dtype for t in function.inputs]
    compiled = {is_wide: jax.jit(_differentiable(function, scope, is_wide=is_wide)) for is_wide in (False, True)}

    def call(*arrays: Any) -> Sequence[Any]:
        is_wide = jnp.result_type(float) == jnp.float64
        if not is_wide:
            _refuse_wide_results(function)
        with scope():
            inputs = [jnp.asarray(a, dtype) for a, dtype in zip(arrays, dtypes, strict=True)]
            return compiled[is_wide](*inputs)  # type: ignore[no-any-return]

    return call


def _differentiable(function: Traceable, scope: Scope, *, is_wide: bool) -> Callable[..., Any]:
    """The function, whose derivative in reverse mode is known; `is_wide` says whether its caller has 64 bits."""
    inexact = [k for k, t in enumerate(function.inputs) if is_inexact(t.dtype)]
    results = [k for k, t in enumerate(function.outputs) if is_inexact(t.dtype)]
    derivative = _once(function, scope, is_wide=is_wide)

    def run(*arrays: Any) -> tuple[Any, ...]:
        with scope():
            return function.run(*arrays)

    def forward(*arrays: Any) -> tuple[Any, Any]:
        if not function.is_scalar:
            return run(*arrays), arrays
        with scope():
            value, *slopes = derivative(*arrays)
        return (value,), slopes

    def backward(residuals: Sequence[Any], cotangents: Sequence[Any]) -> tuple[Any, ...]:
        with scope():  # JAX comes here when the call is over
            if function.is_scalar:
                gradients = [lax.convert_element_type(cotangents[0], slope.dtype) * slope for slope in residuals]
            else:
                gradients = derivative(*residuals, *[jnp.conj(cotangents[k]) for k in results])
            gradients = [jnp.conj(dx) for dx in gradients]  # a cotangent of tg is the conjugate of JAX's
        by_place = dict(zip(inexact, gradients, strict=True))
        return tuple(by_place.get(k) for k in range(len(function.inputs)))

    run.__name__ = function.name
    differentiable: Any = jax.custom_vjp(run)
    differentiable.defvjp(forward, backward)
    return differentiable  # type: ignore[no-any-return]


def _once(function: Traceable, scope: Scope, *, is_wide: bool) -> Callable[..., Any]:
    """The derivative, which JAX may differentiate unless tg says more of it than there is to see.

    Where the caller has no 64 bits JAX has none either when it transposes: what has them inside would be cut, or not
    fit together.
    """

    def run(*arrays: Any) -> tuple[Any, ...]:
        return function.gradient().run(*arrays)

    derivative: Any = jax.custom_jvp(run)

    @derivative.defjvp  # type: ignore[untyped-decorator]
    def differentiated(arrays: Sequence[Any], tangents: Sequence[Any]) -> Any:
        refusal = function.refusal()
        if refusal is not None:
            raise refusal
        with scope():
            if not is_wide and _has_wide_numbers(jax.make_jaxpr(run)(*arrays)):
                raise InputError(message(f"traceable: {function.name}: {NARROW}", hint=HINT))
            return jax.jvp(run, arrays, tangents)

    return derivative  # type: ignore[no-any-return]


def _has_wide_numbers(program: Any) -> bool:
    text = str(program)
    return any(kind in text for kind in WIDE_NUMBERS)


def _refuse_wide_results(function: Traceable) -> None:
    """Raise if a result has 64 bits: a program that has 32 would cut it without a word.

    Raises:
        InputError: it has.
    """
    for k, t in enumerate(function.outputs):
        if jax.dtypes.canonicalize_dtype(t.numpy_dtype) != t.numpy_dtype:
            text = f"traceable: {function.name}: result {k} is {t.dtype}, which JAX has with jax_enable_x64 alone"
            raise InputError(message(text, hint=HINT))
