"""Matrix products: BLAS for floating and complex dtypes, transposition by its flags; plain loops for the others.

Halves are multiplied as float32 and rounded once, as on the reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops import contraction as t
from tg.ops.elementwise.arithmetic import add, multiply
from tg.ops.elementwise.cast import Cast
from tg.types.dtypes import is_complex
from tg.types.lengths import is_natural
from tg_c.prelude import Element
from tg_native.kernels.dtypes import WORDS, is_half
from tg_native.plan.values import Array, collapsed, is_one, is_zero, spread

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_c.nest import Nest
    from tg_c.site import Site
    from tg_native.plan.values import Value

LETTERS: Final = {"float64": "d", "float32": "s", "complex128": "z", "complex64": "c"}


def matmul(op: t.MatMul, site: Site) -> Value:
    """A product for each index of the leading axes."""
    x, y = (site.memory(v) for v in site.inputs)
    z = site.allocate(0)
    site.same(x.shape[-1], y.shape[-2])
    if is_half(z.dtype):
        wide = [site.temporary("float32", v.shape) for v in (x, y, z)]
        _convert(site, x, wide[0])
        _convert(site, y, wide[1])
        _by_blas(site, *wide)
        _convert(site, wide[2], z)
    elif z.dtype in LETTERS:
        _by_blas(site, x, y, z)
    else:
        _plain(site, x, y, z)
    return z


def _convert(site: Site, source: Array, target: Array) -> None:
    """Copy elements into memory of the same shape and another dtype."""
    space = collapsed(target.shape, [target.strides, source.strides])
    kernel = site.nest()
    read, place = kernel.read(source), kernel.write(target)
    indices = kernel.loops(space.shape)
    element = Element((kernel.at(read, indices, space.strides[1]),), (source.dtype,), target.dtype, site.prelude)
    kernel.line(f"{kernel.at(place, indices, space.strides[0])} = {site.element(Cast(target.dtype), element)};")
    kernel.close(len(indices))
    site.call(kernel)


def _by_blas(site: Site, x: Array, y: Array, z: Array) -> None:
    """One call for each index of the leading axes."""
    site.function.unit.blas(z.dtype)
    x, y = (v if _fits(v) else site.contiguous(v) for v in (x, y))
    kernel = site.nest()
    lead = z.shape[:-2]
    x, y = (spread(v, (*lead, *v.shape[-2:])) for v in (x, y))
    names = [kernel.read(x), kernel.read(y), kernel.write(z)]
    indices = kernel.loops(lead)
    places = [kernel.place(n, indices, v.strides[:-2]) for n, v in zip(names, (x, y, z), strict=True)]
    kernel.line(_blas(kernel, x, y, z, places))
    kernel.close(len(indices))
    site.call(kernel)


def _fits(v: Array) -> bool:
    """Whether BLAS can read a matrix where it lies: one stride is 1, the other spans it."""
    return any(
        _is_step(v.strides[inner], v.shape[inner]) and _spans(v.strides[outer], v.shape[outer])
        for inner, outer in ((-1, -2), (-2, -1))
    )


def _is_step(stride: int | Length, n: int | Length) -> bool:
    return is_one(stride) or is_one(n)


def _spans(stride: int | Length, n: int | Length) -> bool:
    """A stride that no overlap has: views are made by positive steps, reversal (negative) and repetition (0)."""
    return is_one(n) or (is_natural(stride) and not is_zero(stride))


def _blas(kernel: Nest, x: Array, y: Array, z: Array, places: list[str]) -> str:
    m, k, n = (kernel.length(v) for v in (x.shape[-2], x.shape[-1], y.shape[-1]))
    letter = LETTERS[z.dtype]
    if is_complex(z.dtype):
        flags = [_flag(kernel, v) for v in (x, y)]
        return (
            f"tg_{letter}gemm({flags[0][0]}, {flags[1][0]}, {m}, {n}, {k}, {places[0]}, {flags[0][1]}, "
            f"{places[1]}, {flags[1][1]}, {places[2]}, tg_length_max({n}, 1));"
        )
    if is_one(x.shape[-2]) and is_one(y.shape[-1]):
        steps = [_increment(kernel, x, -1), _increment(kernel, y, -2)]
        return f"*({places[2]}) = tg_{letter}dot({k}, {places[0]}, {steps[0]}, {places[1]}, {steps[1]});"
    if is_one(y.shape[-1]):
        return _gemv(kernel, letter, x, places[0], y, -2, places[1], places[2], flip=False)
    if is_one(x.shape[-2]):
        return _gemv(kernel, letter, y, places[1], x, -1, places[0], places[2], flip=True)
    flags = [_flag(kernel, v) for v in (x, y)]
    return (
        f"tg_{letter}gemm(TG_ROW, {flags[0][0]}, {flags[1][0]}, {m}, {n}, {k}, 1, {places[0]}, {flags[0][1]}, "
        f"{places[1]}, {flags[1][1]}, 0, {places[2]}, tg_length_max({n}, 1));"
    )


def _gemv(
    kernel: Nest, letter: str, a: Array, a_place: str, v: Array, axis: int, v_place: str, z: str, *, flip: bool
) -> str:
    """z = a v, or with `flip` a' v."""
    flag, lead = _flag(kernel, a)
    stored = (a.shape[-2], a.shape[-1]) if flag == "TG_AS_IS" else (a.shape[-1], a.shape[-2])
    rows, columns = (kernel.length(n) for n in stored)
    if flip:
        flag = "TG_TRANSPOSED" if flag == "TG_AS_IS" else "TG_AS_IS"
    step = _increment(kernel, v, axis)
    return f"tg_{letter}gemv(TG_ROW, {flag}, {rows}, {columns}, 1, {a_place}, {lead}, {v_place}, {step}, 0, {z}, 1);"


def _flag(kernel: Nest, v: Array) -> tuple[str, str]:
    """How a matrix lies, and its leading dimension."""
    if _is_step(v.strides[-1], v.shape[-1]) and _spans(v.strides[-2], v.shape[-2]):
        flag, span, stride, n = "TG_AS_IS", v.shape[-1], v.strides[-2], v.shape[-2]
    else:
        flag, span, stride, n = "TG_TRANSPOSED", v.shape[-2], v.strides[-1], v.shape[-1]
    least = f"tg_length_max({kernel.length(span)}, 1)"
    return flag, least if is_one(n) else f"tg_length_max({kernel.length(stride)}, {least})"


def _increment(kernel: Nest, v: Array, axis: int) -> str:
    """The distance of a vector's elements; that of a single one does not matter but must not be 0."""
    return "1" if is_one(v.shape[axis]) or is_zero(v.strides[axis]) else kernel.length(v.strides[axis])


def _plain(site: Site, x: Array, y: Array, z: Array) -> None:
    """Rows of x times the matrix y, a row of z at a time."""
    lead = z.shape[:-2]
    x, y = (spread(v, (*lead, *v.shape[-2:])) for v in (x, y))
    kernel = site.nest()
    names = [kernel.read(x), kernel.read(y), kernel.write(z)]
    indices = kernel.loops(z.shape[:-1])
    places = [
        kernel.place(name, ix, v.strides[: len(ix)])
        for name, v, ix in zip(names, (x, y, z), (indices, indices[:-1], indices), strict=True)
    ]
    kernel.line(f"{WORDS[z.dtype]} *row = {places[2]};")
    kernel.loop("j", z.shape[-1])
    kernel.line("row[j] = 0;")
    kernel.close()
    kernel.loop("l", x.shape[-1])
    kernel.line(f"const {WORDS[x.dtype]} s = ({places[0]})[{kernel.step('l', x.strides[-1])}];")
    kernel.line(f"const {WORDS[y.dtype]} *from = {kernel.place(places[1], ['l'], [y.strides[-2]])};")
    kernel.loop("j", z.shape[-1])
    factor = f"from[{kernel.step('j', y.strides[-1])}]"
    kernel.line(f"const {WORDS[z.dtype]} p = {_binary(site, multiply, 's', factor)};")
    kernel.line(f"row[j] = {_binary(site, add, 'row[j]', 'p')};")
    kernel.close(2 + len(indices))
    site.call(kernel)


def _binary(site: Site, fn: Any, x: str, y: str) -> str:
    dtype = site.types[0].dtype
    return site.element(fn.op, Element((x, y), (dtype, dtype), dtype, site.prelude))


RULES: Final[dict[object, Rule]] = {t.MatMul: matmul}
