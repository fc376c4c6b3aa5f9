"""Reads and writes at computed positions inside of loops. None leaves its array, whatever the indices are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.link.values import is_one, is_zero
from tg.ops.elementwise.arithmetic import add
from tg.types.dtypes import is_float
from tg_c.ends import tree
from tg_c.lanes import Lane, as_vector
from tg_c.prelude import Element
from tg_c.text import C_TYPES

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from tg.graph.frozen import Node
    from tg.link.values import Array
    from tg_c.block import Block
    from tg_c.prelude import Prelude

WRAP: Final = """\
static inline i64 @NAME(@T x, i64 n) {
  i64 i = @WIDE;
  @WRAPif (i > n - 1) i = n - 1;
  return i < 0 ? 0 : i;
}"""


def wrapping(prelude: Prelude, dtype: str, mode: str) -> str:
    """The name of the function that brings one index into the range of an axis of length n, or to 0 if that is 0."""
    clips = mode == "clip"
    name = f"tg_{'clip' if clips else 'wrap'}_index_{C_TYPES[dtype]}"
    wide = "x > 9223372036854775807ULL ? 9223372036854775807LL : (i64)x" if dtype == "uint64" else "x"
    text = WRAP.replace("@NAME", name).replace("@T", C_TYPES[dtype]).replace("@WIDE", wide)
    prelude.need(name, text.replace("@WRAP", "" if clips else "if (i < 0) i += n;\n  "))
    return name


def wrapped(block: Block, node: Node, limit: str | None) -> Lane:
    """A step that brings indices into the range of an axis, and below a limit that is no larger than its length."""
    op: Any = node.op
    index, n = (block.values[k] for k in node.inputs)
    vectors = block.vectors
    if vectors is None or not index.kind:
        text = f"{wrapping(block.site.prelude, index.dtype, op.mode)}({index.text}, {n.text})"
        return Lane(
            text if limit is None else f"{wrapping(block.site.prelude, 'int64', 'clip')}({text}, {limit})", "int64"
        )
    kind = C_TYPES[index.dtype]
    if kind == "u64":
        wide = f"{vectors.function('signed', kind)}({index.text})"
    else:
        wide = index.text if kind == "i64" else vectors.converted(index.text, kind, "i64")
    if op.mode != "clip":
        wide = f"{vectors.function('from_end', 'i64')}({wide}, {n.text})"
    return Lane(f"{vectors.function('clamped', 'i64')}({wide}, {limit or n.text})", "int64", "i64")


def _position(block: Block, array: Array, at: Sequence[int], safe: Container[int]) -> Lane:
    """How many elements from the start the positions are; those that are not known to be safe are clamped."""
    kernel, vectors = block.kernel, block.vectors
    indices = [block.values[k] for k in at]
    in_lanes = vectors is not None and any(i.kind for i in indices)
    terms = []
    for number, i, n, stride in zip(at, indices, array.shape, array.strides, strict=True):
        if is_zero(stride):
            continue
        if in_lanes and vectors is not None:
            text = as_vector(vectors, i, "i64")
            if number not in safe:
                text = f"{vectors.function('clamped', 'i64')}({text}, {kernel.length(n)})"
        else:
            text = (
                i.text
                if number in safe
                else f"{wrapping(block.site.prelude, 'int64', 'clip')}({i.text}, {kernel.length(n)})"
            )
        terms.append(text if is_one(stride) else f"{text} * {kernel.length(stride)}")
    if in_lanes and vectors is not None:
        return Lane(" + ".join(terms) or f"{vectors.function('all', 'i64')}(0)", "int64", "i64")
    return Lane(" + ".join(terms) or "0", "int64")


def gathered(block: Block, table: Array, at: Sequence[int], safe: Container[int]) -> Lane:
    """The elements of an array, which has some, at positions along all its axes."""
    position, vectors = _position(block, table, at, safe), block.vectors
    if vectors is None or not position.kind:
        return Lane(f"{table.pointer}[{position.text}]", table.dtype)
    if table.dtype == "bool":
        text = f"{vectors.function('at', 'i8')}((const i8 *){table.pointer}, {position.text})"
        return Lane(vectors.masks(text, block.mask), "bool", block.mask)
    kind = C_TYPES[table.dtype]
    return Lane(f"{vectors.function('at', kind)}({table.pointer}, {position.text})", table.dtype, kind)


def never_empty(block: Block, table: Array, name: str) -> Array:
    """The array, or one 0 in its place where it has no elements: a check fails then, after the loop has run."""
    kernel = block.kernel
    lengths = [f"{kernel.length(n)} > 0" for n in table.shape if type(n) is not int or n <= 0]
    if not lengths:
        return table
    kind = C_TYPES[table.dtype]
    kernel.line(f"const {kind} none{name}[1] = {{0}};")
    kernel.line(f"const {kind} *const g{name} = {' && '.join(lengths)} ? {table.pointer} : none{name};")
    return table._replace(pointer=f"g{name}")


def add_at(block: Block, base: Array, fn: Any, value: int, at: Sequence[int], safe: Container[int]) -> None:
    """Combine the values of a round into an array by `fn`, one after the other; None replaces."""
    kernel, vectors = block.kernel, block.vectors
    lengths = [f"{kernel.length(n)} > 0" for n in base.shape if type(n) is not int or n <= 0]
    kernel.open(f"if ({' && '.join(lengths)})" if lengths else "")
    position, given = _position(block, base, at, safe), block.values[value]
    if vectors is None:
        kernel.line(f"{C_TYPES[base.dtype]} *const to = {base.pointer} + {position.text};")
        kernel.line(f"*to = {_combined(block, fn, base.dtype, given.text)};")
    else:
        _add_lanes(block, base, fn, position, given)
    kernel.close()


def _add_lanes(block: Block, base: Array, fn: Any, position: Lane, given: Lane) -> None:
    kernel, vectors = block.kernel, block.vectors
    assert vectors is not None
    kind = C_TYPES[base.dtype] if base.dtype != "bool" else given.kind or "i8"
    kernel.line(f"const {vectors.type('i64')} at = {as_vector(vectors, position, 'i64')};")
    kernel.line(f"const {vectors.type(kind)} given = {as_vector(vectors, given, kind)};")
    count = vectors.count
    limit = f"{block.rest} < {count} ? {block.rest} : {count}" if block.rest else str(count)
    kernel.line(f"const i64 many = {limit};")
    element = "given[k]" if base.dtype != "bool" else "(given[k] & 1)"
    place = f"{C_TYPES[base.dtype]} *const to = {base.pointer} + at[k];"
    each = f"for (int k = 0; k < many; k++) {{ {place} *to = {_combined(block, fn, base.dtype, element)}; }}"
    if fn is add and is_float(base.dtype):  # a run of one position, as sorted ones have, is summed before it is added
        others = (f"at[0] == at[{k}]" for k in (count - 1, *range(1, count - 1)))
        kernel.open(f"if ({' && '.join((f'many == {count}', *others))})")
        kernel.line(f"{base.pointer}[at[0]] += {tree([f'given[{k}]' for k in range(count)], '+')};")
        kernel.close()
        each = f"else {each}"
    kernel.line(each)


def _combined(block: Block, fn: Any, dtype: str, text: str) -> str:
    if fn is None:
        return text
    return block.site.element(fn.op, Element(("*to", text), (dtype, dtype), dtype, block.site.prelude))
