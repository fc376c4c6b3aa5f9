"""The outputs of a graph's function: values that are made in their memory, how long they are, what is stored."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, final

from tg.ops.nn.convolved import Convolution
from tg.ops.shape import ExpandDims, Squeeze, Transpose
from tg.types.atoms import AxisLength
from tg.types.substitution import evaluate
from tg_native.graphs.failure import Failure
from tg_native.kernels.dtypes import item_size
from tg_native.plan.readers import reading
from tg_native.plan.shapes import follows_from_inputs, number_of
from tg_native.plan.values import Array, Scalar, is_one, row_major

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.types.atoms import Atom
    from tg_native.graphs.function import GraphFunction

MADE_AS_READ: Final = (Convolution,)
"""Ops whose rules ask for memory by `Site.allocate_as_read`."""


@final
class Outputs:
    """Places where the outputs of a function go.

    The printer says, with the parameters, what they are called: `pointers` to the memory of each, or to where that is
    told; `told`, of outputs in memory that is handed over, where their lengths are told; `planned`, of outputs whose
    lengths the caller had to ask for, these.
    """

    def __init__(self, function: GraphFunction) -> None:
        self.function, self.graph = function, function.graph
        self.pointers: list[str] = []
        self.told: dict[int, str] = {}
        self.planned: dict[int, list[str]] = {}
        self._viewed: set[int] = set()  # outputs that are views of what is made in their memory
        self.permuted: set[int] = set()  # values of which outputs are views with axes in another order
        self.targets = self._wanted() if not function.plans else {}  # value -> the output whose memory is its own

    def is_given(self, k: int) -> bool:
        """Whether memory for an output is the caller's."""
        return self.function.is_main or self.follows(k)

    def follows(self, k: int) -> bool:
        """Whether the lengths of an output follow from those of the inputs."""
        return follows_from_inputs(self.graph, self.graph.outputs[k])

    # --- values that are made there ----------------------------------------------------------------------------------

    def _wanted(self) -> dict[int, int]:
        """The values that are made in the memory of outputs: outputs themselves, or what these are views of."""
        graph, makers = self.graph, self.function.makers
        outputs: dict[int, int] = {}
        for k, number in enumerate(graph.outputs):
            if number in makers and self.is_given(k):
                outputs.setdefault(number, k)
        for number, k in list(outputs.items()):
            inside = self._inside(number)
            if inside != number and inside in makers and inside not in outputs and self._has_lengths(k, inside):
                del outputs[number]
                outputs[inside] = k
                self._viewed.add(k)
        return outputs

    def _inside(self, number: int) -> int:
        """The value of which an output is a view, but for axes of length 1, or of an op that minds the axes' order."""
        base = self._below(number, (ExpandDims, Squeeze, Transpose))
        maker = self.function.makers.get(base)
        is_minded = maker is not None and type(self.graph.nodes[maker].op) in MADE_AS_READ
        if is_minded and reading(self.graph, self.function.readers, base).number == number:
            self.permuted.add(base)
            return base
        return self._below(number, (ExpandDims, Squeeze))

    def _below(self, number: int, views: tuple[type, ...]) -> int:
        """The value of which another is made by views of some kinds alone."""
        nodes, makers = self.graph.nodes, self.function.makers
        while number in makers and type(nodes[makers[number]].op) in views:
            number = nodes[makers[number]].inputs[0]
        return number

    def _has_lengths(self, k: int, number: int) -> bool:
        """Whether a value has as many lengths as the caller computes for an output, those of 1 apart."""
        return self.follows(k) and len(_long(self.function.shape(number))) == len(_long(self._known(k)))

    def place(self, k: int, dtype: str, shape: Sequence[Any]) -> Array:
        """The caller's memory for an output, which has the lengths that the caller knows: they must be those found."""
        function, planned = self.function, self.planned.get(k, [])
        for n, name in zip(shape, planned, strict=False):
            function.require(function.expression("==", function.length(n), name), Failure.UNEQUAL)
        if not planned:
            self.require_known_lengths(k, shape)
        return Array(dtype, self.pointers[k], tuple(shape), row_major(shape))

    def require_known_lengths(self, k: int, shape: Sequence[Any]) -> None:
        """Leave the function unless an output is as long as the caller takes it to be."""
        lengths = self._known(k)
        if k in self._viewed:
            shape, lengths = _long(shape), _long(lengths)
        for n, m in zip(shape, lengths, strict=True):
            self.function.same(n, m)

    def _known(self, k: int) -> list[Any]:
        """The lengths of an output as the caller computes them, in terms of the function's parameters."""

        def own(atom: Atom) -> Any:
            return self.function.shape(number_of(atom))[atom.axis] if type(atom) is AxisLength else None

        symbolic: Any = self.graph.symbolic[self.graph.outputs[k]]
        return [evaluate(n, own) for n in symbolic.shape]

    # --- the end of the function -------------------------------------------------------------------------------------

    def store(self) -> None:
        """Store what has not been made where it belongs."""
        function = self.function
        for k, number in enumerate(self.graph.outputs):
            value = function.values[number]
            if isinstance(value, Scalar):
                function.store(value.dtype, value.text, self.pointers[k])
            elif not self.is_given(k):
                self._hand_over(k, value)
            elif value.pointer != self.pointers[k]:
                function.overwriting.stored(k)
                function.copy(value, self.place(k, value.dtype, value.shape))

    def _hand_over(self, k: int, value: Array) -> None:
        """An output whose lengths the caller learns here, in memory that the caller will release."""
        function = self.function
        size = function.memory.size_text(value.shape, item_size(value.dtype))
        pointer = function.handed_over(value.dtype, size, self.pointers[k])
        for axis, n in enumerate(value.shape):
            function.put(self.told[k], axis, function.length(n))
        function.copy(value, Array(value.dtype, pointer, value.shape, row_major(value.shape)))

    def store_lengths(self) -> None:
        """Store the lengths of all outputs, one output after another."""
        for at, n in enumerate(itertools.chain.from_iterable(map(self.function.shape, self.graph.outputs))):
            self.function.natural(n)
            self.function.put(self.pointers[0], at, self.function.length(n))


def _long(shape: Sequence[Any]) -> list[Any]:
    """The lengths that are not known to be 1."""
    return [n for n in shape if not is_one(n)]
