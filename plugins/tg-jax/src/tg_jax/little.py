"""Programs of little loops, as one function of machine code.

XLA's runtime launches a kernel for each part of a program, and where any array has more than 512 bytes it hands them to
a pool of threads: for loops whose steps take less than a microsecond this is most of the time. A call that bears the
marks below is compiled as one function instead, loops and all. XLA itself marks loops that touch less than a kilobyte;
here whole programs are, of which every part is little. XLA expects marks of itself alone, and what it has not met there
ends the process: so only what was tried is marked, with the versions that it was tried with, and where the user has
asked for it by the option `little_loops`. An operand that is a
constant, or has no elements, has no place of its own in memory, and is such a thing: constants are made inside.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, final

import jax
import jaxlib
import numpy as np
from jax import lax
from jax.experimental import xla_metadata
from jax.extend.core import Primitive
from jax.interpreters import mlir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

KNOWN: Final = ((0, 10), (0, 10))  # versions of jaxlib
MARKS: Final = {"xla_cpu_small_call": "true", "inlineable": "false"}
MARK: Final[Any] = xla_metadata.set_xla_metadata
BARRIER: Final[Any] = lax.optimization_barrier
AROUND: Final = 1 << 16  # elements of a value outside of loops: larger ones are computed by several threads
IN_A_STEP: Final = 1 << 9  # and in them: a kernel of more takes longer than its launch, and is better code
OF_VECTOR: Final = 1 << 14  # products of numbers, of a matrix and a vector
OF_MATRICES: Final = 1 << 11  # and of two matrices, for which there is a library otherwise
LOOPS: Final = frozenset({"scan", "while"})
CALLS: Final = LOOPS | {"cond", "pjit", "jit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call"}

# What is plain code in a function: not what calls a library (sorts, transforms, linear algebra), nor what XLA's pass
# that does the same to loops leaves alone (scatters).
PLAIN: Final = frozenset(
    """
    abs acos acosh add and argmax argmin asin asinh atan atan2 atanh bitcast_convert_type broadcast_in_dim cbrt ceil
    clamp complex concatenate conj convert_element_type copy copy_p cos cosh digamma div dot_general dynamic_slice
    dynamic_update_slice empty eq erf erf_inv erfc exp exp2 expm1 floor gather ge gt imag integer_pow iota is_finite le
    lgamma log log1p logistic lt max min mul ne neg nextafter not or pad population_count pow real reduce_and reduce_max
    reduce_min reduce_or reduce_precision reduce_prod reduce_sum rem reshape rev round rsqrt select_n shift_left
    shift_right_arithmetic shift_right_logical sign sin sinh slice split sqrt square squeeze stop_gradient sub tan tanh
    transpose xla_metadata_value xor
    """.split()  # noqa: SIM905
)


@final
class _Held:
    """An array as a parameter of a primitive, which must have a hash."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)


def _lowered(context: Any, *, held: _Held) -> Any:
    return [mlir.ir_constant(held.array)]


CONSTANT: Final[Any] = Primitive("tg_constant")  # JAX makes an operand of an array that a function has found
CONSTANT.def_abstract_eval(lambda *, held: jax.core.ShapedArray(held.array.shape, held.array.dtype))
mlir.register_lowering(CONSTANT, _lowered)


def as_one(function: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """The same function, to be traced by `jax.jit`: one function of machine code where it is little."""

    def traced(*arrays: Any) -> Sequence[Any]:
        program, shape = jax.make_jaxpr(function, return_shape=True)(*arrays)
        jaxpr, flat = program.jaxpr, jax.tree.leaves(arrays)
        is_one = _reads_inputs(jaxpr) and is_little(jaxpr)
        results = _called(program, flat) if is_one else _run(jaxpr, program.consts, flat)
        return jax.tree.unflatten(jax.tree.structure(shape), results)  # type: ignore[no-any-return]

    return traced


def _called(program: Any, arrays: Sequence[Any]) -> list[Any]:
    """Results of a program, computed by a call that bears the marks.

    It gives an element of each operand besides: of one that is not read the call knows no place in memory.
    """

    def one(*arguments: Any) -> list[Any]:
        return [*_run(program.jaxpr, map(_constant, program.consts), arguments), *map(_first, arguments)]

    marked = _marked(jax.jit(one)(*arrays), arrays)
    results: list[Any] = BARRIER(marked)  # or JAX would see that nobody needs the elements
    return results[: len(program.jaxpr.outvars)]


def _first(x: Any) -> Any:
    return lax.slice(lax.reshape(x, (x.size,)), (0,), (1,))


def _run(jaxpr: Any, constants: Iterable[Any], arrays: Sequence[Any]) -> list[Any]:
    return list(jax.core.eval_jaxpr(jaxpr, list(constants), *arrays))


def _constant(array: Any) -> Any:
    return CONSTANT.bind(held=_Held(array))


def is_known() -> bool:
    """Whether JAX is of a version with which programs were marked before."""
    return bool(KNOWN[0] <= jaxlib.version.__version_info__[:2] <= KNOWN[1])


def _marked(results: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
    """The results of a call, which bears the marks: one of them leads JAX there, if it is no argument handed on."""
    own = next((k for k, v in enumerate(results) if all(v is not a for a in arguments)), None)
    return [MARK(v, **MARKS) if k == own else v for k, v in enumerate(results)]


def is_little(jaxpr: Any, most: int = AROUND) -> bool:
    """Whether nothing in it calls a library, takes longer than pays, or has no elements."""
    inputs = [*jaxpr.constvars, *jaxpr.invars]
    return all(v.aval.size for v in inputs) and all(_is_little(eqn, most) for eqn in jaxpr.eqns)


def _reads_inputs(jaxpr: Any) -> bool:
    """Whether it reads what it is given: a call without operands is folded into a constant that XLA refuses."""
    used = {id(v) for eqn in jaxpr.eqns for v in eqn.invars}
    return any(id(v) in used for v in jaxpr.invars)


def _is_little(eqn: Any, most: int) -> bool:
    name = eqn.primitive.name
    if not all(v.aval.size for v in eqn.outvars):
        return False
    if name in CALLS:
        return all(is_little(each, min(most, IN_A_STEP) if name in LOOPS else most) for each in _inner(eqn))
    if name == "dot_general":
        return _is_little_product(eqn, OF_MATRICES if most == IN_A_STEP else 16 * OF_MATRICES)
    written = eqn.invars[1:2] if name == "dynamic_update_slice" else eqn.outvars
    return name in PLAIN and all(v.aval.size <= most for v in written)


def _is_little_product(eqn: Any, most: int) -> bool:
    """Whether a product of a matrix and a vector, or of small matrices: in one function these are plain loops."""
    x, y = (v.aval for v in eqn.invars)
    (summed, _), (batch, _) = eqn.params["dimension_numbers"]
    terms, lanes = (math.prod(x.shape[k] for k in axes) for axes in (summed, batch))
    count = int(eqn.outvars[0].aval.size) * terms
    is_of_vector = lanes * terms in (x.size, y.size)
    return bool(count <= (OF_VECTOR if is_of_vector else most))


def _inner(eqn: Any) -> list[Any]:
    """The jaxprs that it runs."""
    values = [v for p in eqn.params.values() for v in (p if isinstance(p, tuple | list) else (p,))]
    return [getattr(v, "jaxpr", v) for v in values if hasattr(getattr(v, "jaxpr", v), "eqns")]
