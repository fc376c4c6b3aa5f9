"""Heads that queries and keys meet in: where operands lie, and what scores become of them."""

from __future__ import annotations

import abc
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np

from tg.ops.elementwise.exponential import exp
from tg.types import lengths
from tg.types.dtypes import numpy_dtype
from tg_native.kernels.dtypes import item_size
from tg_native.kernels.functions import sqrt
from tg_native.kernels.index import Index, index
from tg_native.kernels.lanes import Lanes, constant, in_all_lanes, lane_of, select
from tg_native.kernels.routine import Block
from tg_native.loops.kernel import MOST
from tg_native.plan.values import collapsed, is_one, is_zero, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg.ops.nn.attention import Attention, AttentionGradient
    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Pointer
    from tg_native.plan.values import Array

    Size = int | Length

KEYS: Final = 128  # in a block: its keys and values, turned too, are half of a second cache with all that meets them
VECTORS: Final = 2  # of columns in a tile
REGISTERS: Final = {64: 24}  # of sums, by the bytes of vectors
FEWER: Final = 12  # where these are shorter; and rows of a tile at most
OF_KEYS: Final = frozenset(("k", "v", "dk", "dv"))


class Strides(NamedTuple):
    """Distances between elements of an operand: along the axes of pairs of heads, of a group, of rows and columns."""

    pairs: Sequence[Size | Index]
    group: Size | Index
    rows: Size | Index
    columns: Size | Index


class Meeting(NamedTuple):
    """Queries from one on, in one head, and a block of keys.

    Args:
        places: where the operands of the pair of heads begin.
        member: the number of the head in its group.
        row: the number of the first query.
        at: its row in memory of this call.
        key: the first key.
        keys: how many there are.
    """

    places: Mapping[str, Pointer]
    member: Index
    row: Index
    at: Index
    key: Index
    keys: Index

    def below(self, rows: Index | int) -> Meeting:
        """The queries from another one on."""
        return self._replace(row=self.row + rows, at=self.at + rows)


class Heads(abc.ABC):
    """The function of attention, or of its gradient, in the making.

    A head of keys meets one of queries, or a group of some. Operands have names: q, k, v, mask, y, sums and dy, and
    dq, dk and dv for what is made.
    """

    def __init__(self, op: Attention | AttentionGradient, site: Site, arrays: Mapping[str, Array]) -> None:
        self.op, self.site, self.arrays = op, site, arrays
        q, k, v = (arrays[name] for name in "qkv")
        self.dtype = q.dtype
        widest = max(q.shape[-1], v.shape[-1]) if type(q.shape[-1]) is type(v.shape[-1]) is int else MOST
        self.kernel = site.kernel([self.dtype], VECTORS, widest)
        self.body = self.kernel.body
        self.lanes = self.body.lanes
        size = self.body.machine.vector_bytes
        self.one_vector = min(size // item_size(self.dtype), self.lanes)
        vectors = max(self.lanes // self.one_vector, 1)
        self.tile_rows = min(REGISTERS.get(size, FEWER) // vectors, FEWER)
        self.whole = Block(index(self.body, 0))
        self._place()
        self.queries, self.keys = self.kernel.length(q.shape[-2], "queries"), self.kernel.length(k.shape[-2], "keys")
        self.width, self.value_width = self.size(q.shape[-1]), self.size(v.shape[-1])

    # --- heads -------------------------------------------------------------------------------------------------------

    def _place(self) -> None:
        """The strides of all operands over pairs of heads, which threads share, and the places where they begin."""
        q, k = self.arrays["q"], self.arrays["k"]
        *lead, _, _ = self.arrays["y"].shape
        self.group: Size = 1
        if self.op.is_grouped:
            self.group = lengths.floor_divide(q.shape[-3], k.shape[-3])
            lead[-1] = k.shape[-3]
        own = {name: self._strides(name, lead) for name in self.arrays}
        space = collapsed(lead, [cast("Sequence[Size]", s.pairs) for s in own.values()])
        rows, keys = q.shape[-2], k.shape[-2]
        if space.shape:
            self.site.divide(self.kernel, (*space.shape, self.group, rows, keys, q.shape[-1]), (), [self.dtype])
        self.pairs = [self.kernel.length(n, ("pairs", axis)) for axis, n in enumerate(space.shape)]
        pairs = zip(own.items(), space.strides, strict=True)
        self.strides = {name: self._as_arguments(name, s._replace(pairs=merged)) for (name, s), merged in pairs}
        self.places = {
            name: (self.kernel.read if self.is_read(name) else self.kernel.write)(a) for name, a in self.arrays.items()
        }
        self.count = self.size(self.group)

    def _as_arguments(self, name: str, strides: Strides) -> Strides:
        """Strides as arguments, but for those of 0 and 1: attention to other lengths is the same function."""

        def own(n: Any, *role: object) -> Any:
            return n if is_zero(n) or is_one(n) else self.kernel.length(n, (name, *role))

        pairs = [own(n, "pairs", axis) for axis, n in enumerate(strides.pairs)]
        return Strides(pairs, *(own(n, field) for n, field in zip(strides[1:], strides._fields[1:], strict=True)))

    @abc.abstractmethod
    def is_read(self, name: str) -> bool:
        """Whether an operand is read only."""

    def _strides(self, name: str, lead: Sequence[Size]) -> Strides:
        a, rest = self.arrays[name], 1 if name == "sums" else 2
        *axes, rows = a.strides[: a.ndim - rest + 1]
        columns = a.strides[-1] if rest == 2 else 0
        of_keys = name in OF_KEYS
        heads = a.shape[a.ndim - rest - 1] if self.op.is_grouped else 1
        shape = [*lead]
        if self.op.is_grouped and not of_keys:
            shape[-1] = heads
        axes = [*spread(a.viewed(a.shape[: a.ndim - rest], axes), shape).strides]
        group: Size = 0
        if self.op.is_grouped and not of_keys and not is_one(heads):
            group = axes[-1]
            axes[-1] = lengths.times(group, self.group)
        elif self.op.is_grouped and not of_keys:
            group = axes[-1] = 0
        if name == "mask":
            rows, columns = (0 if is_one(n) else step for n, step in zip(a.shape[-2:], a.strides[-2:], strict=True))
        return Strides(axes, group, rows, columns)

    def of_pair(self, pair: Sequence[Index]) -> dict[str, Pointer]:
        """Starts of the operands of a pair of heads."""
        return {name: self.kernel.moved(p, pair, self.strides[name].pairs) for name, p in self.places.items()}

    def row(self, name: str, place: Pointer, member: Index, row: Index) -> Pointer:
        """Start of a row of a head of queries, of a member of a group."""
        s = self.strides[name]
        return self.kernel.moved(place, [member, row], [s.group, s.rows])

    # --- numbers -----------------------------------------------------------------------------------------------------

    def size(self, n: Size) -> Index:
        """A length, which stands in the function if it is known: rows in memory are so far apart."""
        return index(self.body, n) if type(n) is int else self.kernel.length(n)

    def number(self, value: float) -> Lanes:
        """A number in all lanes."""
        return constant(self.body, numpy_dtype(self.dtype).type(value), self.dtype)

    def scale(self) -> Lanes:
        """Factor that products of queries and keys are multiplied by."""
        n = self.arrays["q"].shape[-1]
        if self.op.scale is not None:
            return self.number(self.op.scale)
        if type(n) is int:
            return self.number(1 / math.sqrt(n or 1))
        with self.body.of(0):
            factor = self.number(1) / sqrt(self.width.most(1).single(self.dtype))
        return in_all_lanes(factor)

    def exp(self, x: Lanes) -> Lanes:
        """The exponential."""
        value: Lanes = self.site.rule(exp.op)(exp.op, (x,), self.dtype)
        return value

    def across(self, x: Lanes, fn: Callable[[Lanes, Lanes], Lanes]) -> Lanes:
        """Reduce all lanes by a function to a single element."""
        if self.body.lanes < 2:
            return lane_of(x, 0)
        low, high = self.body.halves(x)
        with self.body.of(self.body.lanes // 2):
            return self.across(fn(low, high), fn)

    # --- scores ------------------------------------------------------------------------------------------------------

    def seen(self, what: Meeting, rows: int = 1) -> Index:
        """Number of keys of a block that some queries see, the last of them most."""
        if not self.op.is_causal:
            return what.keys
        return (what.row + rows - what.key).least(what.keys).most(0)

    def masked(self, x: Lanes, at: Index, visible: Index, mask: Pointer | None) -> Lanes:
        """Scores of a row with a block of lanes of keys: with the mask, and -inf where none is seen."""
        body, least = self.body, self.number(-np.inf)
        inside = (visible - at).least(body.lanes).most(0)
        if mask is not None:
            stride = self.strides["mask"].columns
            is_one_number = not isinstance(stride, Index) and is_zero(stride)
            element: Any = body.load(mask) if is_one_number else self._load_mask(mask, stride, at, visible)
            x = select(element, x, least) if element.dtype == "bool" else x + element
        return select(body.first_lanes(inside), x, least)

    def _load_mask(self, mask: Pointer, stride: Size | Index, at: Index, visible: Index) -> Any:
        """Elements of a mask; at least the first one of them is read, which may be the last of its row."""
        first = at.least((visible - 1).most(0))
        return self.kernel.load(mask, stride, Block(first, (visible - at).least(self.body.lanes).most(1)))

    def mask_of(self, what: Meeting) -> Pointer | None:
        """Start of the mask of a query for a block of keys."""
        if "mask" not in what.places:
            return None
        place = self.row("mask", what.places["mask"], what.member, what.row)
        return self.kernel.moved(place, [what.key], [self.strides["mask"].columns])
