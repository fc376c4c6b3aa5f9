"""What the innermost loop of a nest does in one round: elements are loaded, the steps run, results are stored.

A round works on one element, or on a block of as many lanes as a vector has. In the last block of a row there may be
fewer elements than lanes: the lanes that are left over repeat the first element, and are not stored. No element outside
an array is ever read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

from tg.ops.elementwise.arithmetic import divide
from tg_c.lanes import Lane, LaneElement, as_vector, in_lanes
from tg_c.prelude import Element
from tg_c.text import lane_kind
from tg_native.kernels.dtypes import WORDS
from tg_native.plan.values import is_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import Node
    from tg.types.lengths import Length
    from tg_c.kernel import Kernel
    from tg_c.site import Site
    from tg_c.vectors import Vectors


LARGE: Final = {"float64": "0x1p1000", "float32": "0x1p100f"}
"""Below these numbers, and above their inverses, the product with an inverse is the quotient but for the last place."""


class Place(NamedTuple):
    """Where a value of the program lies: the pointer to its row, and the stride along the innermost axis."""

    number: int
    pointer: str
    stride: int | Length


@final
class Block:
    """One round of the innermost loop; `values` has what is known so far, by the numbers of the scalar program."""

    def __init__(self, kernel: Kernel, site: Site, dtypes: Sequence[str], vectors: Vectors | None) -> None:
        """A round of one element, or of one vector; `dtypes` are those of the values of the program."""
        self.kernel, self.site, self.dtypes, self.vectors = kernel, site, dtypes, vectors
        self.values: dict[int, Lane] = {}
        self._bytes: set[str] = set()  # the bools that are bytes already
        self._inverse: dict[int, str] = {}  # divisors that all elements share -> what ends the names of their inverses
        self.near: set[int] = set()  # the indices that are positions as they are
        self.rest = ""  # how many elements are left, where that may be fewer than lanes

    def share(self, number: int, text: str) -> None:
        """Say what a value is that all elements of the innermost axis share."""
        self.values[number] = Lane(text, self.dtypes[number])

    def is_shared(self, number: int) -> bool:
        """Whether a value is one that all elements of the innermost axis share."""
        return number in self.values and not self.values[number].kind

    def open(self, length: int | Length) -> None:
        """Open the loop over the innermost axis."""
        if self.vectors is None:
            self.kernel.loop("i", length)
            return
        count, n = self.vectors.count, self.kernel.length(length)
        self.kernel.open(f"for (i64 i = 0; i < {n}; i += {count})")
        if type(length) is not int or length % count:
            self.rest = f"{n} - i"

    def open_between(self, start: str, stop: str) -> None:
        """Open the loop over a part of the innermost axis, whose ends are texts."""
        count = self.vectors.count if self.vectors is not None else 1
        self.kernel.loop_between("i", start, stop, count)
        self.rest = f"{stop} - i" if count > 1 else ""

    def full(self) -> Block:
        """A round in which no lane is left over, with what is known before the loop."""
        block = Block(self.kernel, self.site, self.dtypes, self.vectors)
        block.values, block._inverse = dict(self.values), self._inverse
        return block

    # --- loads -------------------------------------------------------------------------------------------------------

    def load(self, places: Sequence[Place]) -> None:
        """Load elements, those of a block together."""
        if self.vectors is None:
            for number, pointer, stride in places:
                self.name(number, Lane(f"{pointer}[{self.kernel.step('i', stride)}]", self.dtypes[number]))
        elif not self.rest:
            for place in places:
                self.name(place.number, self._whole(place))
        else:
            self._load_either([(self._whole(place), self._last(place)) for place in places], places)

    def load_last(self, places: Sequence[Place]) -> None:
        """Load the last elements of a row, as many as `rest` says."""
        for place in places:
            self.name(place.number, self._last(place))

    def _load_either(self, loads: Sequence[tuple[Lane, Lane]], places: Sequence[Place]) -> None:
        assert self.vectors is not None
        whole, last = [], []
        for (lanes, rest), place in zip(loads, places, strict=True):
            name = f"t{place.number}"
            self.kernel.line(f"{self.vectors.type(lanes.kind)} {name};")
            self.values[place.number] = lanes._replace(text=name)
            whole.append(f"{name} = {lanes.text};")
            last.append(f"{name} = {rest.text};")
        self.either(whole, last)

    def _whole(self, place: Place) -> Lane:
        """A block of elements."""
        word = "load" if is_one(place.stride) else "gather"
        stride = [] if is_one(place.stride) else [self.kernel.length(place.stride)]
        return self._loaded(place, word, stride)

    def _last(self, place: Place) -> Lane:
        """The last elements of a row."""
        return self._loaded(place, "head", [self.kernel.length(place.stride), self.rest])

    def _loaded(self, place: Place, word: str, arguments: Sequence[str]) -> Lane:
        assert self.vectors is not None
        dtype = self.dtypes[place.number]
        kind = _memory_kind(dtype)
        text = f"{self.vectors.function(word, kind)}({', '.join([self._pointer(place), *arguments])})"
        if dtype != "bool":
            return Lane(text, dtype, kind)
        return Lane(self.vectors.masks(text, self.mask), dtype, self.mask)

    @property
    def mask(self) -> str:
        """The masks that bools in memory become: as wide as the widest element."""
        assert self.vectors is not None
        return f"i{8 * self.vectors.size}"

    def _pointer(self, place: Place) -> str:
        text = self.kernel.place(place.pointer, ["i"], [place.stride])
        dtype = self.dtypes[place.number]
        return text if _memory_kind(dtype) == WORDS[dtype] else f"({_memory_kind(dtype)} *)({text})"

    # --- steps -------------------------------------------------------------------------------------------------------

    def invert(self, nodes: Sequence[Node]) -> None:
        """Before the loop, the inverses of the divisors that all elements share: a product takes a tenth of a quotient.

        Its error is less than one unit in the last place. Divisors with which it could be more are divided by: those
        whose inverse, or they themselves, may be subnormal.
        """
        if self.site.is_strict:
            return
        for node in nodes:
            divisor = node.inputs[-1]
            if node.op.rule_key is divide and self.is_shared(divisor) and divisor not in self._inverse:
                self._invert(divisor)

    def _invert(self, divisor: int) -> None:
        dtype, text = self.dtypes[divisor], self.values[divisor].text
        if dtype in LARGE:
            self._inverse[divisor] = str(divisor)
            self.kernel.line(f"const {WORDS[dtype]} inverse{divisor} = 1 / {text};")
            size, large = f"__builtin_fabs({text})", LARGE[dtype]
            self.kernel.line(f"const int usual{divisor} = {size} < {large} && {size} > 1 / {large};")

    def run(self, nodes: Sequence[Node]) -> None:
        """The steps of the program, one local for each."""
        for node in nodes:
            (number,) = node.outputs
            operands = tuple(self.values[k] for k in node.inputs)
            self.name(number, self._step(node, operands, self.dtypes[number]))

    def _step(self, node: Node, operands: tuple[Lane, ...], result: str) -> Lane:
        inverse = self._inverse.get(node.inputs[-1]) if node.op.rule_key is divide else None
        if inverse is not None:  # then the dividend differs along the axis
            return self._divided(operands[0], operands[1], inverse)
        if self.vectors is not None and any(v.kind for v in operands):
            return in_lanes(self.site.rule(node.op), node.op, LaneElement(operands, result, self.vectors))
        texts, dtypes = tuple(v.text for v in operands), tuple(v.dtype for v in operands)
        return Lane(self.site.element(node.op, Element(texts, dtypes, result, self.site.prelude)), result)

    def _divided(self, x: Lane, y: Lane, name: str) -> Lane:
        return x._replace(text=f"__builtin_expect(usual{name}, 1) ? {x.text} * inverse{name} : {x.text} / {y.text}")

    def name(self, number: int, value: Lane) -> None:
        """A local that holds a value."""
        kind = self.vectors.type(value.kind) if value.kind and self.vectors is not None else WORDS[value.dtype]
        self.kernel.line(f"const {kind} t{number} = {value.text};")
        self.values[number] = value._replace(text=f"t{number}")

    # --- stores ------------------------------------------------------------------------------------------------------

    def store(self, places: Sequence[Place]) -> None:
        """Store results, those of a block together."""
        if self.vectors is None:
            for number, pointer, stride in places:
                self.kernel.line(f"{pointer}[{self.kernel.step('i', stride)}] = {self.values[number].text};")
            return
        stores = [self._stores(place, self._stored(place.number)) for place in places]
        self.either(*zip(*stores, strict=True))

    def _stored(self, number: int) -> str:
        """A result as it is in memory."""
        assert self.vectors is not None
        value = self.values[number]
        if value.dtype != "bool":
            return as_vector(self.vectors, value, lane_kind(value.dtype))
        kind = value.kind or "i8"
        name = f"b{number}"
        if name not in self._bytes:
            self._bytes.add(name)
            text = self.vectors.bytes(as_vector(self.vectors, value, kind), kind)
            self.kernel.line(f"const {self.vectors.type('i8')} {name} = {text};")
        return name

    def _stores(self, place: Place, value: str) -> tuple[str, str]:
        assert self.vectors is not None
        kind, pointer = _memory_kind(self.dtypes[place.number]), self._pointer(place)
        stride = self.kernel.length(place.stride)
        last = f"{self.vectors.function('tail', kind)}({pointer}, {stride}, {self.rest}, {value});" if self.rest else ""
        if is_one(place.stride):
            return f"{self.vectors.function('store', kind)}({pointer}, {value});", last
        return f"{self.vectors.function('scatter', kind)}({pointer}, {stride}, {value});", last

    def either(self, whole: Sequence[str], last: Sequence[str]) -> None:
        """Lines for a block that is full, and for the last one of a row."""
        if not self.rest or self.vectors is None:
            for line in whole:
                self.kernel.line(line)
            return
        self.kernel.either(f"{self.rest} >= {self.vectors.count}", whole, last)


def _memory_kind(dtype: str) -> str:
    """The C type of an element in memory, for vectors: that of a bool is one whose vectors can be negated."""
    return "i8" if dtype == "bool" else lane_kind(dtype)
