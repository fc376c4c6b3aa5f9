"""`Unparsed`: the results of a function that was pickled, whose text is parsed where somebody looks at them.

A call needs the rewritten program alone. Where the process finds that on disk, under the digest of the text, no
variable of the expression is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

    from tg.graph.nodes import Variable


@final
class Unparsed(Sequence["Variable"]):
    """Results in their order, as many as are said.

    Args:
        digest: of the text, and of all that decides what is made of it but for what is installed.
        constants: the large constants of the text, by digest.
        inputs: the variables that the results are over.
        over: makes the results over such variables; called once with the inputs, or by several threads at a time, of
            which the first is taken. It holds none of the inputs: shared variables may be large.
    """

    def __init__(
        self,
        digest: str,
        constants: Mapping[str, np.ndarray[Any, Any]],
        count: int,
        inputs: Sequence[Variable],
        over: Callable[[Sequence[Variable]], Sequence[Variable]],
    ) -> None:
        self.digest, self.constants, self.over = digest, constants, over
        self._count, self._inputs = count, inputs
        self._parsed: dict[str, Sequence[Variable]] = {}

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, k: Any) -> Any:
        return self.variables[k]

    @property
    def variables(self) -> Sequence[Variable]:
        """The results as variables."""
        parsed = self._parsed.get("variables")
        return self._parsed.setdefault("variables", self.over(self._inputs)) if parsed is None else parsed
