"""Sums of s * x + c, with s and c the same for all elements: x is summed, and the rest waits for the end of a chunk.

The sums of -z * z / 2 - c and of z * z / d then are one, of z * z, in one fused product a vector. Since a chunk has no
more than `CHUNK` rounds, the error of n terms is at most (CHUNK + log2(n)) · eps · Σ(|s · x| + |c|). A c is taken out
only where that makes two sums one, and only if x is a product, which has an error of its own.

Nothing overflows, vanishes, cancels or hides by this that would not as it is written: a chunk whose sums are not of
ordinary size, which that of a NaN is not, or of which less than a `SHARE` of the c is left, is summed again as written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

from tg_c.lanes import as_vector
from tg_native.fusion.affine import SharedSums as Shared
from tg_native.fusion.affine import shared_sums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import Node
    from tg_c.block import Block
    from tg_c.ends import Accumulator
    from tg_c.kernel import Kernel

LARGEST: Final = "0x1p900"
LEAST: Final = "0x1p-900"  # of the sum of products whose factors were divided or multiplied as they are written
SHARE: Final = "0x1p-6"  # of the sum of the shifts that must be left of a sum


class Number(NamedTuple):
    """C text for a number that all elements share."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __mul__(self, other: object) -> Number:
        return Number(f"({self} * {other})")

    def __rmul__(self, other: object) -> Number:
        return Number(f"({other} * {self})")

    def __rtruediv__(self, other: object) -> Number:
        return Number(f"({other} / {self})")

    def __add__(self, other: object) -> Number:
        return Number(f"({self} + {other})")

    def __neg__(self) -> Number:
        return Number(f"(-{self})")


@final
class SharedSums:
    """The sums of a stage: what is summed for them, and the lines that begin, feed and end that in full rounds."""

    def __init__(
        self, block: Block, kernel: Kernel, accumulators: Sequence[Accumulator], nodes: Sequence[Node]
    ) -> None:
        """The sums that float64 accumulators stand for, over values that the nodes of a stage make."""
        self.block, self.kernel, self.accumulators = block, kernel, accumulators
        single = {k: Number(v.text) for k, v in block.values.items() if not v.kind}
        found = shared_sums([a.number for a in accumulators], nodes, block.dtypes, single)
        self.pays = found is not None  # whether anything is summed but the values as they are written
        self.forms, self.summed, self.nodes = found or Shared((), (), ())
        self.is_checked = any(form.scale is not None or form.shift is not None for form in self.forms)

    def begin(self) -> None:
        """Before all chunks: the scales and shifts, and whether they are of ordinary size."""
        usual = []
        for form, accumulator in zip(self.forms, self.accumulators, strict=True):
            for word, text in (("scale", form.scale), ("shift", form.shift)):
                if text is not None:
                    name = f"{word}{accumulator.name}"
                    self.kernel.line(f"const f64 {name} = {text};")
                    usual.append(f"__builtin_fabs({name}) < {LARGEST}")
            if form.scale is not None:
                usual.append(f"__builtin_fabs(scale{accumulator.name}) > {LEAST}")
        if usual:
            self.kernel.line(f"const int usual = {' && '.join(usual)};")

    @property
    def condition(self) -> str:
        """What must hold for full rounds to be summed so, with what joins it to another condition."""
        return "usual && " if self.is_checked else ""

    def declare(self, copy: str) -> None:
        """What has summed nothing: of a chunk, or of one of the copies of its rounds."""
        for k in range(len(self.summed)):
            self.kernel.line(f"{self._type} s{k}{copy} = {{0}};")

    @property
    def _type(self) -> str:
        assert self.block.vectors is not None
        return self.block.vectors.type("f64")

    def feed(self, block: Block, copy: str) -> None:
        """Take in a full round."""
        vectors = block.vectors
        assert vectors is not None
        for k, factors in enumerate(self.summed):
            texts = [as_vector(vectors, block.values[number], "f64") for number in factors]
            name = f"s{k}{copy}"
            text = f"{name} + {texts[0]}"
            if len(texts) > 1:
                text = f"{vectors.function('fma', 'f64')}({', '.join(texts)}, {name})"
            self.kernel.line(f"{name} = {text};")

    def end(self, copies: int, start: str) -> None:
        """After the full rounds of a chunk, which end at h: they are taken in, or h is where they began."""
        for k in range(len(self.summed)):
            self.kernel.line(f"s{k} = {' + '.join(f's{k}_{copy}' if copy else f's{k}' for copy in range(copies))};")
        if any(form.shift is not None for form in self.forms):
            assert self.block.vectors is not None
            self.kernel.line(f"const f64 rounds = (h - {start}) / {self.block.vectors.count};")
        for form, accumulator in zip(self.forms, self.accumulators, strict=True):
            name, text = accumulator.name, f"s{self.summed.index(form.factors)}"
            text += f" * scale{name}" if form.scale is not None else ""
            text += f" + shift{name} * rounds" if form.shift is not None else ""
            self.kernel.line(f"a{name} = {text};")
        if self.is_checked:
            self._check(start)

    def _check(self, start: str) -> None:
        assert self.block.vectors is not None
        some = self.block.vectors.function("any", "i64")
        self.kernel.open(f"if (!usual || {some}(~({' & '.join(self._conditions())})))")
        self.kernel.line(f"h = {start};")
        for accumulator in self.accumulators:
            self.kernel.line(f"a{accumulator.name} = ({self._type}){{0}};")
        self.kernel.close()

    def _conditions(self) -> list[str]:
        """The lanes in which nothing overflowed, vanished or cancelled."""
        assert self.block.vectors is not None
        size, found = self.block.vectors.function("fabs", "f64"), []
        for form, accumulator in zip(self.forms, self.accumulators, strict=True):
            total = f"{size}(s{self.summed.index(form.factors)})"
            if form.scale is not None or form.shift is not None:
                found.append(f"({total} < {LARGEST})")
            if form.regroups:
                found.append(f"({total} > {LEAST})")
            if form.shift is not None:
                name = accumulator.name
                found.append(f"({size}(a{name}) >= __builtin_fabs(shift{name}) * rounds * {SHARE})")
        return list(dict.fromkeys(found))
