"""Interface of the function of a graph to what writes loops, whatever the language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from tg_native.loops.kernel import MOST

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.frozen import Node
    from tg.graph.op import Op
    from tg.types.lengths import Length
    from tg_native.loops.kernel import Kernel
    from tg_native.loops.repeats import Forms


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
        unit: int = 0,
    ) -> None:
        """Let threads share a loop over a space, if there are some and it is worth it: `kernel.share`.

        Args:
            unit: where parts begin along the first axis, multiples of this; 0: what rows are read in, if there is one.
            programs: the steps for each element, and the dtypes of their values.
            moved: the dtypes of what each index moves from or to memory.
            small: numbers of elements, of which none may be large.
        """

    @property
    def forms(self) -> Forms:
        """The loops that are written."""

    def rule(self, op: Op) -> Any:
        """The rule for an op on elements: of the op, operands and the dtype of the result."""
