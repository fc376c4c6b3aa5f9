"""What writes loops is given by the function of a graph, whatever the language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from tg_native.loops.kernel import MOST

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.frozen import Node
    from tg.graph.op import Op
    from tg.types.lengths import Length
    from tg.types.tensor_type import TensorType
    from tg_native.loops.blas import Blas
    from tg_native.loops.kernel import Kernel
    from tg_native.plan.values import Array, Scalar, Value


class Function(Protocol):
    """The function of a graph in the making."""

    def kernel(self, dtypes: Iterable[str] = (), vectors: int = 1, length: int | Length = MOST) -> Kernel:
        """A new loop over the lanes of some vectors, for elements of these dtypes; without dtypes, over single ones.

        There are no more lanes than the length, if that is known.
        """

    def run(self, kernel: Kernel) -> None:
        """Call a finished loop."""

    def divide(
        self,
        kernel: Kernel,
        space: Sequence[int | Length],
        programs: Iterable[tuple[Sequence[Node], Sequence[str]]],
        moved: Iterable[str],
        small: Sequence[int | Length] = (),
    ) -> None:
        """Let threads share a loop over a space, if there are some and it is worth it: `kernel.share`.

        Args:
            programs: the steps for each element, and the dtypes of their values.
            moved: the dtypes of what each index moves from or to memory.
            small: numbers of elements, of which none may be large.
        """

    def rule(self, op: Op) -> Any:
        """The rule for an op on elements: of the op, operands and the dtype of the result."""


class Site(Function, Protocol):
    """Where an op becomes code: its operands, the types of its results, and memory."""

    node: Node
    inputs: list[Value]
    types: list[TensorType]

    @property
    def is_part(self) -> bool:
        """Whether it becomes code for a part of the space, of which totals are as they are worked with."""

    @property
    def threads(self) -> int:
        """How many threads may share a loop."""

    @property
    def most_parts(self) -> int:
        """How many parts such a loop has at most."""

    def given(self, inputs: Sequence[Value], types: Sequence[TensorType] | None = None) -> Site:
        """The same with other operands; with other types, of results that are no values of the graph."""

    def allocate(self, k: int) -> Array:
        """Memory for result k, contiguous, not initialised: that of the function's output if it is one."""

    def temporary(self, dtype: str, shape: Sequence[int | Length]) -> Array:
        """Memory for the time of this op."""

    def memory(self, value: Value) -> Array:
        """An array that has a pointer; a value that all elements share gets a place for one."""

    def target(self, array: Array, offset: str) -> Array:
        """The array from an offset on."""

    def length(self, length: int | Length) -> str:
        """A length as text."""

    def same(self, a: int | Length, b: int | Length) -> None:
        """Leave the function unless two lengths are equal."""

    def require_room(self, size: int | Length, room: int | Length) -> None:
        """Leave the function where a slice has more positions than an axis has for it."""

    def contiguous(self, value: Value) -> Array:
        """An array whose elements follow one another in C order, copied if need be."""

    def blas(self, dtype: str) -> Blas | None:
        """How functions of BLAS for a dtype are called, None if there are none."""

    def copy(self, source: Value, target: Array) -> None:
        """Copy elements into memory of the same shape, which does not overlap."""

    def first(self, array: Array) -> str:
        """The first element of an array, as text."""

    def scalar(self, text: str, k: int = 0) -> Scalar:
        """Result k, which has no axes, as a text says."""

    def has_length(self, count: Array) -> None:
        """Say that the first length of the only result, which nothing but its value determines, stands in an array."""

    def single(self, program: Any, operands: Sequence[Any]) -> list[Value]:
        """The results of a scalar program that is run once, for all indices alike."""
