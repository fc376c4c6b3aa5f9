"""Loops that are run tile by tile: memory of one tile for what they hand on, and what totals are joined of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from tg.graph.frozen import ValueSlot
from tg.types.atoms import ScalarValue
from tg.types.lengths import floor_divide, of_atom
from tg_native.loops.folds import working_dtype
from tg_native.loops.joins import join_totals
from tg_native.loops.pointwise import uniform
from tg_native.plan.values import Array, Scalar, is_one, row_major

if TYPE_CHECKING:
    from tg.types.tensor_type import TensorType
    from tg_native.graphs.function import GraphFunction
    from tg_native.plan.tiles import Tiles
    from tg_native.plan.values import Value

ROWS: Final = -1  # the number of the value that the length of a tile is the value of, which is none of the graph


@final
class TileWriter:
    """Writes the loops of some steps inside of a loop over tiles."""

    def __init__(self, function: GraphFunction, tiles: Tiles) -> None:
        """With memory for what is read after the loops, for the tiles of the rest, and for what totals are of each."""
        self.function, self.tiles = function, tiles
        self.nodes = [(step.node, function.graph.nodes[step.node]) for step in tiles.steps]
        for step in tiles.steps:
            function.require_lengths(step.node)
        self.parts = floor_divide(tiles.length + (tiles.rows - 1), tiles.rows)
        self.memory = {k: function.allocate(k[0], (n * tiles.rows * k[1],)) for k, n in tiles.sizes.items()}
        self.whole: dict[int, Array] = {}
        self.totals: dict[int, Array] = {}
        for number in (n for _, node in self.nodes for n in node.outputs):
            t = function.shapes.types[number]
            if number in tiles.totals:
                self.totals[number] = function.allocate(working_dtype(tiles.totals[number], t.dtype), (self.parts,))
            if number not in tiles.inside:
                self.whole[number] = function.allocate(t.dtype, t.shape, number)

    def write(self) -> None:
        """Write the loops, and what comes after them."""
        function, tiles = self.function, self.tiles
        before = function.values
        self._name_lengths()
        with function.scope(), function.over_tiles(function.length(tiles.length), tiles.rows) as (first, count):
            self.first = first
            atom = ScalarValue(ValueSlot(ROWS))
            rows, function.known_atoms[atom] = of_atom(atom), count
            function.values = {}
            for k, node in self.nodes:
                for number in node.inputs:
                    if number not in function.values:
                        function.values[number] = self._part(before[number], rows)
                targets = [self._target(number, rows) for number in node.outputs]
                function.values.update(zip(node.outputs, targets, strict=True))
                function.write_part(k, targets, [self._type(number, rows) for number in node.outputs])
        function.values = before
        for number, memory in self.totals.items():
            site = function.site(self.nodes[0][1])
            dtype, parts = function.shapes.types[number].dtype, Scalar("int64", function.length(self.parts))
            join_totals(site, tiles.totals[number], dtype, memory, parts, self.whole[number])
        for number, array in self.whole.items():
            function.keep(number, array)

    def _name_lengths(self) -> None:
        """Compute what is needed of lengths before the loop: what is computed inside is not known behind it."""
        function = self.function
        inside = (function.values.get(number) for _, node in self.nodes for number in node.inputs)
        for value in (*inside, *self.whole.values()):
            if isinstance(value, Array):
                for length in (*value.shape, *value.strides):
                    function.length(length)
        function.length(self.parts)

    def _part(self, value: Value, rows: Any) -> Value:
        """The elements of a tile."""
        if isinstance(value, Scalar) or value.fill is not None or not value.shape or is_one(value.shape[0]):
            return value
        stride = self.function.length(value.strides[0])
        offset = self.function.expression("*", self.first, stride)
        if value.counts:
            first = self.function.expression("+", value.pointer, offset) if value.pointer else offset
            there = value._replace(pointer=self.function.local("int64", first))
        else:
            there = self.function.moved(value, offset)
        return there._replace(shape=(rows, *value.shape[1:]), buffer=None)

    def _target(self, number: int, rows: Any) -> Array:
        """Place where a tile of a result goes, or the total of a tile."""
        function, slot, shape = self.function, self.tiles.inside.get(number), self.function.shape(number)
        if number in self.totals:
            memory = self.totals[number]
            at = function.expression("//", self.first, function.literal(self.tiles.rows, "int64"))
            return function.moved(memory, at)._replace(shape=shape, strides=row_major(shape), buffer=None)
        if slot is None:
            part = self._part(self.whole[number], rows)
            assert isinstance(part, Array)
            return part
        memory, shape = self.memory[slot.dtype, slot.rest], (rows, *shape[1:])
        there = function.slot(memory, slot.place * self.tiles.rows * slot.rest)
        return there._replace(shape=shape, strides=row_major(shape), buffer=None)

    def _type(self, number: int, rows: Any) -> TensorType:
        t, (leading, *others) = self.function.shapes.types[number], self.function.shape(number)
        return t if number in self.totals or is_one(leading) else t.with_shape([rows, *others])


def may_be_written(function: GraphFunction, tiles: Tiles) -> bool:
    """Whether every step has an operand that differs along the axis: else its results need no memory."""
    results: set[int] = set()
    for step in tiles.steps:
        node = function.graph.nodes[step.node]
        if all(n not in results and uniform(function.values[n]) is not None for n in node.inputs):
            return False
        results.update(node.outputs)
    return True
