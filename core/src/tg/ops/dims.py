"""Lengths that have names, as values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from tg.errors import ShapeError, message
from tg.graph.op import Op
from tg.types.atoms import NamedLength
from tg.types.lengths import of_atom
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np

    from tg.graph.nodes import Variable
    from tg.types.lengths import Length

    Array = np.ndarray[Any, Any]


@final
class DimLength(Op):
    """The value of a named length, an int64 scalar; importing replaces it by the length of the input that has it.

    Shapes:
        () -> ()
    """

    dim: str

    @property
    def named_length(self) -> str | None:
        """The name of the length."""
        return self.dim

    def infer(self) -> tuple[TensorType, ...]:
        """An int64 scalar."""
        return (TensorType("int64"),)

    def perform(self) -> tuple[Array, ...]:
        """Refused: only the input of a program that has it knows a named length.

        Raises:
            ShapeError: always.
        """
        raise ShapeError(message(f"dim {self.dim}: found no input that has it"))

    def length_value(
        self, inputs: Sequence[Variable], value_of: Callable[[Variable], int | Length]
    ) -> int | Length | None:
        """The length itself."""
        return of_atom(NamedLength(self.dim))

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """A length is not below 0."""
        return (("nonnegative",),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """Nothing: there is no operand."""
        return ()


def dim_length(name: str) -> Variable:
    """The value of a named length."""
    return DimLength(name)()  # type: ignore[no-any-return]
