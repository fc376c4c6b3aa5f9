"""Reads and writes at computed positions inside of loops. None leaves its array, whatever the indices are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg_c.lanes import Lane, as_vector
from tg_native.kernels.dtypes import WORDS
from tg_native.plan.values import is_one, is_zero

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from tg.graph.frozen import Node
    from tg_c.block import Block
    from tg_c.prelude import Prelude
    from tg_native.plan.values import Array

WRAP: Final = """\
static inline i64 @NAME(@T x, i64 n) {
  i64 i = @WIDE;
  @WRAPif (i > n - 1) i = n - 1;
  return i < 0 ? 0 : i;
}"""


FAR: Final = """\
static __attribute__((noinline)) i64 @NAME(@T x, i64 n, i64 m) {
  const i64 i = @WRAPPED(x, n);
  return i < m ? i : m > 0 ? m - 1 : 0;
}"""


def wrapping(prelude: Prelude, dtype: str, mode: str) -> str:
    """The name of the function that brings one index into the range of an axis of length n, or to 0 if that is 0."""
    clips = mode == "clip"
    name = f"tg_{'clip' if clips else 'wrap'}_index_{WORDS[dtype]}"
    wide = "x > 9223372036854775807ULL ? 9223372036854775807LL : (i64)x" if dtype == "uint64" else "x"
    text = WRAP.replace("@NAME", name).replace("@T", WORDS[dtype]).replace("@WIDE", wide)
    prelude.need(name, text.replace("@WRAP", "" if clips else "if (i < 0) i += n;\n  "))
    return name


def _far(prelude: Prelude, dtype: str, mode: str) -> str:
    """The name of the function that brings an index into the range of an axis of length n, and below m."""
    name = f"tg_far_{mode}_index_{WORDS[dtype]}"
    inside = wrapping(prelude, dtype, mode)
    prelude.need(name, FAR.replace("@NAME", name).replace("@T", WORDS[dtype]).replace("@WRAPPED", inside))
    return name


class Table(NamedTuple):
    """An array that has elements, and its lengths as texts."""

    array: Array
    lengths: tuple[str, ...]


class Limit(NamedTuple):
    """Below what a wrapped index must stay, no more than the length of its axis, and below what it needs no change."""

    text: str
    near: str


def wrapped(block: Block, node: Node, limit: Limit | None) -> Lane:
    """A step that brings indices into the range of an axis, and below a limit."""
    op: Any = node.op
    index, n = (block.values[k] for k in node.inputs)
    vectors = block.vectors
    if limit is not None and node.inputs[0] in block.near:
        return Lane(f"(i64){index.text}", "int64")
    if vectors is None or not index.kind:
        if limit is None:
            return Lane(f"{wrapping(block.site.prelude, index.dtype, op.mode)}({index.text}, {n.text})", "int64")
        far = f"{_far(block.site.prelude, index.dtype, op.mode)}({index.text}, {n.text}, {limit.text})"
        is_near = f"__builtin_expect((u64){index.text} < (u64){limit.near}, 1)"
        return Lane(f"{is_near} ? (i64){index.text} : {far}", "int64")
    kind = WORDS[index.dtype]
    if kind == "u64":
        wide = f"{vectors.function('signed', kind)}({index.text})"
    else:
        wide = index.text if kind == "i64" else vectors.converted(index.text, kind, "i64")
    most = n.text if limit is None else limit.text
    if op.mode == "clip":
        return Lane(f"{vectors.function('clamped', 'i64')}({wide}, {most})", "int64", "i64")
    far = f"{vectors.function('below', 'i64')}({vectors.function('from_end', 'i64')}({wide}, {n.text}), {most})"
    if limit is None:
        return Lane(far, "int64", "i64")
    is_far = f"__builtin_expect({vectors.function('outside', 'i64')}({wide}, {limit.near}), 0)"
    return Lane(f"{is_far} ? {far} : {wide}", "int64", "i64")


def position(block: Block, table: Table, at: Sequence[int], safe: Container[int]) -> Lane:
    """How many elements from the start the positions are; those that are not known to be safe are clamped."""
    vectors = block.vectors
    indices = [block.values[k] for k in at]
    in_lanes = vectors is not None and any(i.kind for i in indices)
    terms = []
    for number, i, n, stride in zip(at, indices, table.lengths, table.array.strides, strict=True):
        if is_zero(stride):
            continue
        if in_lanes and vectors is not None:
            text = as_vector(vectors, i, "i64")
            if number not in safe:
                text = f"{vectors.function('clamped', 'i64')}({text}, {n})"
        else:
            text = i.text if number in safe else f"{wrapping(block.site.prelude, 'int64', 'clip')}({i.text}, {n})"
        terms.append(text if is_one(stride) else f"{text} * {block.kernel.length(stride)}")
    if in_lanes and vectors is not None:
        return Lane(" + ".join(terms) or f"{vectors.function('all', 'i64')}(0)", "int64", "i64")
    return Lane(" + ".join(terms) or "0", "int64")


def gathered(block: Block, table: Table, at: Sequence[int], safe: Container[int]) -> Lane:
    """The elements of an array, which has some, at positions along all its axes."""
    where, vectors = position(block, table, at, safe), block.vectors
    array = table.array
    if vectors is None or not where.kind:
        return Lane(f"{array.pointer}[{where.text}]", array.dtype)
    if array.dtype == "bool":
        text = f"{vectors.function('at', 'i8')}((const i8 *){array.pointer}, {where.text})"
        return Lane(vectors.masks(text, block.mask), "bool", block.mask)
    kind = WORDS[array.dtype]
    return Lane(f"{vectors.function('at', kind)}({array.pointer}, {where.text})", array.dtype, kind)


def never_empty(block: Block, array: Array, name: str, *, const: str = "const ") -> Table:
    """The array, or one 0 in its place where it has no elements: a check fails then, after the loop has run."""
    kernel = block.kernel
    lengths = tuple(map(kernel.length, array.shape))
    unknown = [f"{kernel.length(n)} > 0" for n in array.shape if type(n) is not int or n <= 0]
    if not unknown:
        return Table(array, lengths)
    kind = f"{const}{WORDS[array.dtype]}"
    kernel.line(f"{kind} none{name}[1] = {{0}};")
    kernel.line(f"const int some{name} = {' && '.join(unknown)};")
    kernel.line(f"{kind} *const g{name} = some{name} ? {array.pointer} : none{name};")
    if len(lengths) > 1:
        for axis, n in enumerate(lengths):
            kernel.line(f"const i64 some{name}a{axis} = some{name} ? {n} : 1;")
        lengths = tuple(f"some{name}a{axis}" for axis in range(len(lengths)))
    return Table(array._replace(pointer=f"g{name}"), lengths)
