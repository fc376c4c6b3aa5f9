"""Updates, which a program stores beside its results: new values of variables, stated where they are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from tg.errors import InputError, ShapeError, message
from tg.graph.facts import facts_of
from tg.graph.op import Op
from tg.ops.family import Family
from tg.ops.sized_ops import SpecifyShape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np

    from tg.graph.nodes import Variable
    from tg.types.tensor_type import TensorType

    Array = np.ndarray[Any, Any]


@final
class Updating(Op):
    """The first operand, beside which the second, a shared variable, gets the third as its value.

    `tg.function` reads from it what is to be stored; importing removes it.

    Shapes:
        x (...), target (*s), value (*s) -> y (...)
    Dtypes:
        target and value have one.
    """

    number: int  # of the update among those of its target: a copy of an expression has the same
    has_expansion = True

    @property
    def named_identity(self) -> str | None:
        """No name: only an identity."""
        return ""

    def infer(self, x: TensorType, target: TensorType, value: TensorType) -> tuple[TensorType, ...]:
        """The first operand's type."""
        if target.dtype != value.dtype or target.ndim != value.ndim:
            raise ShapeError(message(f"Updating: found {value} for a variable {target}"))
        return (x,)

    def perform(self, *arrays: Array) -> tuple[Array, ...]:
        """The first operand, copied."""
        return (arrays[0].copy(),)

    def expansion(self, *inputs: Variable) -> Variable:
        """The first operand."""
        return inputs[0]

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """Facts of the first operand."""
        return (facts_of(inputs[0]),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """The cotangent: what is stored is no part of the value."""
        return (cotangents[0], None, None)

    def pushforward(self, tools: Any, inputs: Any, outputs: Any, tangents: Any) -> Sequence[Variable | None]:
        """The tangent."""
        return (tangents[0],)

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Any]:
        """Store one value, or the values of all elements of a variable that is mapped.

        Raises:
            InputError: each element of the batch would store another value of one variable.
        """
        x, target, value = inputs
        if batched[1]:
            value = tools.lead(value, batched[2], size)
            while target.apply is not None and type(target.apply.op) is SpecifyShape:  # as long as other arguments are
                target = target.apply.inputs[0]
        elif batched[2]:
            raise InputError(message(f"vmap: found an update of {target!r} in each element of a batch, needed one"))
        update = self(x, target, value)
        return (update if batched[0] else tools.unbatched(update),)


FAMILY = Family("updating", ops=(Updating,))
