"""Scalar programs that are run on a convolution's results while these are in the cache or in registers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.types import lengths
from tg.types.atoms import key
from tg_native.convolutions.axes import position
from tg_native.kernels.index import Index, index
from tg_native.kernels.lanes import constant_of
from tg_native.loops.kernel import MOST
from tg_native.loops.pointwise import Place, abreast, is_worth_twice, mapped, program_of, run, uniform, write_row
from tg_native.loops.repeats import form_of
from tg_native.plan.values import Array, Scalar, collapsed, is_one, is_zero, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.types.lengths import Length
    from tg_native.fusion.epilogue import WithEpilogue
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Elements, Lanes
    from tg_native.kernels.routine import Block
    from tg_native.loops.kernel import Kernel
    from tg_native.plan.values import Value

    Lengths = Sequence[int | Length]

IMAGE: Final = 0
GROUP: Final = 1
OUTER: Final = 2


@final
class Epilogue:
    """Further computation on a convolution's results (n, g, o, p...); arrays are as over their axes, but for `results`.

    `number` is the operand of the program that the results are, and `y` where they lie before it runs: in the memory
    of an output, if one has their dtype.
    """

    def __init__(self, op: WithEpilogue, site: Site, shape: Lengths, dtype: str) -> None:
        loop: Any = op.loop
        (stage,) = loop.stages
        program = program_of(stage.program)
        self.program = program._replace(outputs=tuple(program.outputs[r.value] for r in stage.results))
        self.op, self.site, self.axes, self.shape, self.space = op, site, op.axes, tuple(shape), op.lengths(shape)
        self.number = stage.reads.index(op.place)
        self.operands = {
            k: self._operand(site.inputs[op.arity + place - (place > op.place)], place)
            for k, place in enumerate(stage.reads)
            if place != op.place
        }
        self.results = [site.allocate_as_read(k) for k in range(len(site.types))]
        self.outputs = [*map(self._over_axes, self.results)]
        same = next((y for y in self.outputs if y.dtype == dtype), None)
        self.y = self._over_axes(site.temporary(dtype, self.space)) if same is None else same

    def _operand(self, value: Value, place: int) -> Value:
        number = uniform(value)
        if number is not None:
            return number._replace(operand=place)
        return self._over_axes(spread(self.site.memory(value), self.space))

    def _over_axes(self, array: Array) -> Array:
        """An array over the loop's space as one over the axes of the convolution."""
        strides: list[int | Length] = [0] * len(self.shape)
        for own, stride in zip(self.axes, array.strides, strict=True):
            step = stride
            for axis in reversed(own):
                strides[axis], step = step, lengths.times(step, self.shape[axis])
        return array.viewed(self.shape, strides)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Dtypes of the program's values."""
        return self.program.dtypes

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The operands that are no single numbers, and what is stored."""
        return (*(v for v in self.operands.values() if isinstance(v, Array)), *self.outputs)

    @property
    def numbers(self) -> tuple[object, tuple[str, ...]]:
        """Form and texts of the operands that are single numbers."""
        return form_of(v for v in self.operands.values() if isinstance(v, Scalar))

    def form(self) -> tuple[object, ...]:
        """All that is in a function because of it."""
        kinds = ((v is self.y, v.dtype, *map(key, v.strides)) for v in self.arrays)
        return (self.op, *map(key, self.shape), *kinds, self.numbers[0])

    def bound(self, kernel: Kernel, y: Pointer) -> Bound:
        """The epilogue in a function, where y is at a place."""
        arrays = [(k, v) for k, v in self.operands.items() if isinstance(v, Array)]
        operands = [(self.number, y, self.y.strides), *((k, kernel.read(v), v.strides) for k, v in arrays)]
        results = [(k, y if v is self.y else kernel.write(v), v.strides) for k, v in enumerate(self.outputs)]
        reads, stores = (
            tuple(Strided(number, place, strides, (name, number)) for number, place, strides in some)
            for name, some in (("operand", operands), ("result", results))
        )
        return Bound(self, kernel, reads, stores)

    def run(self, y: Array) -> None:
        """Run the program on all results, which are in memory of their own."""
        operands = {**self.operands, self.number: y}
        mapped(self.site, self.program, [operands[k] for k in sorted(operands)], self.outputs)


class Strided(NamedTuple):
    """Start of an array, and distances of its elements along the axes; the number of an operand, or an output."""

    number: int
    place: Pointer
    strides: Lengths
    name: object

    def moved(self, kernel: Kernel, axis: int, at: Index) -> Strided:
        """The array from an index on along an axis."""
        stride = self.strides[axis]
        apart = stride if is_zero(stride) or is_one(stride) else kernel.length(stride, (self.name, axis))
        return self._replace(place=kernel.moved(self.place, [at], [apart]))


class Span(NamedTuple):
    """Results along an axis: the first, how many numbers the next one is farther, and how many there are."""

    axis: int
    first: Index
    step: int
    size: Index


class Bound(NamedTuple):
    """An epilogue in a function, from some position on."""

    epilogue: Epilogue
    kernel: Kernel
    reads: tuple[Strided, ...]
    stores: tuple[Strided, ...]

    def moved(self, axis: int, at: Index) -> Bound:
        """The same from an index on along an axis."""
        reads, stores = (tuple(a.moved(self.kernel, axis, at) for a in some) for some in (self.reads, self.stores))
        return self._replace(reads=reads, stores=stores)

    def over(self, spans: Sequence[Span], start: Index, count: Index, outer: tuple[Index, Index]) -> None:
        """Run on some of the results that spans have together, in C order, and on some outer channels."""
        body, (inner, strides) = self.kernel.body, self._rows(spans)
        rest, length = spans[:-inner], spans[-1].size
        for span in spans[-inner:-1]:
            length = length * span.size
        length = length.most(1)
        begin = self if inner > 1 else self.moved(spans[-1].axis, spans[-1].first)

        def step(last: Lanes) -> list[Lanes]:
            at = Index(last)
            number = start + at
            row = number // length
            column = number - row * length
            some, here = (length - column).least(count - at), begin
            for span, p in zip(rest, position(row, [span.size for span in rest]), strict=True):
                here = here.moved(span.axis, span.first + p * span.step)
            here = here._along(strides, column)
            with body.loop(*outer) as channel:
                here.moved(OUTER, channel).row(strides, some)
            return [(at + some).value]

        with body.of(0):
            body.while_loop([index(body, 0).value], lambda at: Index(at) < count, step)

    def _rows(self, spans: Sequence[Span]) -> tuple[int, list[int | Length]]:
        """Number of the last spans that are one row of elements in all arrays, and the distances of these in each."""
        windows = spans[1:]
        strides = [[a.strides[span.axis] for span in windows] for a in self.arrays]
        space = collapsed([self.epilogue.shape[span.axis] for span in windows], strides)
        if len(space.shape) <= 1 and all(span.step == 1 for span in windows):
            return len(windows), [s[0] if s else 1 for s in space.strides]
        return 1, [lengths.multiply(s[-1], windows[-1].step) for s in strides]

    @property
    def arrays(self) -> tuple[Strided, ...]:
        """Arrays that are read, then those that are stored."""
        return (*self.reads, *self.stores)

    def _along(self, strides: Lengths, at: Index) -> Bound:
        """The same from an element of a row on."""
        pairs = zip(self.arrays, strides, strict=True)
        arrays = tuple(a._replace(place=self.kernel.moved(a.place, [at], [stride])) for a, stride in pairs)
        count = len(self.reads)
        return self._replace(reads=arrays[:count], stores=arrays[count:])

    def row(self, strides: Lengths, count: Index) -> None:
        """Run on some results from here on, whose elements are as far apart in the arrays."""
        epilogue, kernel = self.epilogue, self.kernel
        body, program = kernel.body, epilogue.program
        places = [Place(a.number, a.place, n) for a, n in zip(self.reads, strides, strict=False)]
        targets = [(a.place, n) for a, n in zip(self.stores, strides[len(self.reads) :], strict=True)]
        twice = is_worth_twice(body, program.nodes, program.dtypes)
        with body.of(self._lanes() if all(is_one(n) for _, n in targets) else 0):
            write_row(
                epilogue.site, kernel, program, self._known(), places, targets,
                lambda write: kernel.rounds(index(body, 0), count, write, twice=twice, asks=not twice),
            )  # fmt: skip

    def _lanes(self) -> int:
        program = self.epilogue.program
        return self.kernel.lanes_for(program.dtypes, abreast(self.epilogue.site, program.nodes), MOST)

    def _known(self) -> dict[int, Elements]:
        """Constants of the program, and operands that are single numbers."""
        epilogue, kernel = self.epilogue, self.kernel
        program = epilogue.program
        values = {k: constant_of(kernel.body, c, program.dtypes[k]) for k, c in program.constants.items()}
        scalars = {k: v for k, v in epilogue.operands.items() if isinstance(v, Scalar)}
        return {**values, **{k: kernel.scalar(v) for k, v in scalars.items()}}

    def store(self, value: Elements, axis: int, block: Block) -> None:
        """Run on the results of a block along an axis, which are in registers; outputs follow one another along it."""
        epilogue, kernel = self.epilogue, self.kernel
        values = {**self._known(), epilogue.number: value}
        values.update((a.number, kernel.load(a.place, a.strides[axis], block)) for a in self.reads[1:])
        run(epilogue.site, epilogue.program, values)
        for number, a in zip(epilogue.program.outputs, self.stores, strict=True):
            kernel.store(values[number], a.place, a.strides[axis], block)
